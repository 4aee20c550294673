"""Check yourself: four questions of lesson 07."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

step_length = Question(
    "step_length",
    "8 ranks. A program sums the gradients instead of averaging them, and also multiplies the learning rate by 8. Compared "
    "with the averaged gradient and the old rate, each SGD step is ...",
    {"a": "8 times as long", "b": "64 times as long", "c": "as long, the two cancel", "d": "16 times as long"},
    "b",
    {
        "a": "That would be one of the two mistakes. The sum is 8 averages long, and the rate multiplies it again.",
        "b": "The sum is 8 averages long, and the rate multiplies that by 8 again. Do one of the two: DDP averages, and "
        "then the rate is yours to scale.",
        "c": "Both make the step longer. Nothing cancels.",
        "d": "8 plus 8 it is not: a step is rate times gradient, so the factors multiply.",
    },
)

forgot_epoch = Question(
    "forgot_epoch",
    "You use DistributedSampler and forget sampler.set_epoch(epoch). What do you see?",
    {
        "a": "an error in the second epoch",
        "b": "all ranks train on the same samples",
        "c": "no error; every epoch has the same order, and each rank the same samples in it",
        "d": "samples are lost",
    },
    "c",
    {
        "a": "Nothing complains. The sampler cannot know that an epoch is over.",
        "b": "The ranks still deal from one order. Only that this order never changes.",
        "c": "The seed of the shuffle is seed + epoch, and the epoch stays 0. Each rank repeats its own samples in its own "
        "order for ever; the loss still falls, only a little worse.",
        "d": "Each epoch still covers all samples. It is always the same epoch.",
    },
)

batch_norm = Question(
    "batch_norm",
    "A network with BatchNorm, 8 ranks with 4 images each, averaged gradients. Is this one process with 32 images?",
    {
        "a": "yes, averaging makes it so",
        "b": "no: each rank normalises with the statistics of its own 4 images",
        "c": "no: BatchNorm cannot be trained in parallel",
        "d": "yes, if the learning rate is scaled",
    },
    "b",
    {
        "a": "Averaging does so where the loss is a mean over samples. With BatchNorm an image's output depends on the other "
        "images of its batch, and there are 4 of them, not 32.",
        "b": "The mean and variance come from 4 images instead of 32, so the gradients differ. SyncBatchNorm computes them "
        "over all ranks, for the price of more messages; LayerNorm has no such problem.",
        "c": "It can, and often is. It is just not the same computation any more.",
        "d": "The rate changes how far you go, not which gradient you get.",
    },
)

one_batch_fewer = Question(
    "one_batch_fewer",
    "Rank 3 has one batch fewer than the others. Each step ends with an all-reduce of the gradients. What happens?",
    {
        "a": "rank 3 is skipped, the others average over three",
        "b": "an error on rank 3",
        "c": "the others wait in their last step for rank 3, which has left its loop",
        "d": "the last batch is trained twice",
    },
    "c",
    {
        "a": "all_reduce does not know how to skip anybody: every rank of the group has to come.",
        "b": "Rank 3 does nothing wrong in its own eyes: its loop is over. It is the others that stand still.",
        "c": "A collective needs everybody. Rank 3 goes on to whatever comes next, the others wait, and after some minutes a "
        "time-out ends the job far from the cause. Equal steps (padding, or dropping) or Join cure it.",
        "d": "Nobody repeats anything by itself. That would be padding, one of the cures.",
    },
)
