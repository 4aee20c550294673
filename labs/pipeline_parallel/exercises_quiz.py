"""Check yourself: five questions of lesson 12."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

what_1f1b_saves = Question(
    "what_1f1b_saves",
    "You replace GPipe by 1F1B, with the same stages and the same micro-batches. What changes?",
    {
        "a": "the bubble shrinks; the memory stays",
        "b": "the bubble stays; the activations held shrink from m to at most p",
        "c": "both shrink",
        "d": "the gradients: 1F1B uses older weights",
    },
    "b",
    {
        "a": "The first backward can begin earlier, but the pipeline still fills and empties once: p - 1 slots of forward "
        "and backward. Your two timelines ended at the same time.",
        "b": "Filling and emptying take as long as before. But a backward frees its activation sooner. That room may pay for "
        "more micro-batches, and those shrink the bubble.",
        "c": "The memory does. The step took exactly as long.",
        "d": "That is PipeDream's first version, which does not wait for the pipeline to empty. Here all micro-batches of a "
        "step use the same weights.",
    },
)

more_micro_batches = Question(
    "more_micro_batches",
    "8 stages. You raise the number of micro-batches from 8 to 56, and the batch stays as it is. The share of the bubble?",
    {"a": "7/15 becomes 7/63", "b": "it stays: m must equal p", "c": "7/8 becomes 1/8", "d": "it becomes 0"},
    "a",
    {
        "a": "(p-1)/(m+p-1): 47 % becomes 11 %. The micro-batches are 7 times smaller, so see whether each is still large "
        "enough to keep a GPU busy.",
        "b": "m is free. m = p is only where drawings fit the page.",
        "c": "7/8 is the share for a single micro-batch.",
        "d": "Filling the pipeline always costs p - 1 slots. Their share shrinks, but not to nothing.",
    },
)

slow_backward = Question(
    "slow_backward",
    "Recomputing activations makes backward three times as long as forward instead of twice. The bubble's share of the step, "
    "with GPipe?",
    {"a": "grows", "b": "shrinks", "c": "stays", "d": "depends on m"},
    "c",
    {
        "a": "The bubble's time grows: a slot is longer. So does everything else.",
        "b": "Idle time and useful time grow alike.",
        "c": "Bubble and work consist of the same slots, (p - 1) and m of them. The step gets longer, the share stays.",
        "d": "The share depends on m and p, but not on how long backward takes.",
    },
)

norm_tells = Question(
    "norm_tells",
    "After a change to your pipeline the loss of the first step is the same to six digits, and Adam trains well. What "
    "could still be wrong?",
    {
        "a": "nothing: the loss would show it",
        "b": "the gradients, by a factor: Adam hides it, and clipping does not",
        "c": "the learning rate",
        "d": "the schedule: a wrong order gives another loss",
    },
    "b",
    {
        "a": "The first loss comes from forward alone. It says nothing about gradients.",
        "b": "Adam divides by the gradient's own size, so a factor cancels. But clipping by norm, weight decay in the loss "
        "and every other optimiser see it. Compare the gradient norm with that of one process.",
        "c": "Nothing here has changed it.",
        "d": "A wrong order hangs or mixes up messages. A wrong *scale* is silent.",
    },
)

who_deadlocks = Question(
    "who_deadlocks",
    "A pipeline uses plain send and recv, each as soon as it has something to send or needs something. GPipe runs. With 1F1B "
    "on the same ranks it hangs. Why?",
    {
        "a": "1F1B needs more messages",
        "b": "a rank sends an activation forward while its neighbour sends a gradient back",
        "c": "the warm-up is one forward too short",
        "d": "gloo mixes up the messages",
    },
    "b",
    {
        "a": "It has exactly the same messages, in another order.",
        "b": "Both wait for the other to receive. In GPipe the traffic goes one way at a time. Send without waiting (isend), "
        "or post the send and the receive together.",
        "c": "The order of the computing is fine: with isend it runs.",
        "d": "Messages between two ranks arrive in the order in which they were sent.",
    },
)
