"""Check yourself: four questions of lesson 10."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

first_bucket = Question(
    "first_bucket",
    "A network is a stack of layers, registered from input to output. Which parameters should the first bucket hold?",
    {
        "a": "those of the first layers",
        "b": "those of the last layers",
        "c": "the largest ones",
        "d": "it does not matter, as long as all buckets are equally large",
    },
    "b",
    {
        "a": "Their gradients come last. A bucket with them in it could not leave before backward is over.",
        "b": "Backward starts at the loss. The last layers' gradients are there first, so their bucket can leave first. "
        "PyTorch starts with the reverse of registration, and after the first backward it takes the order that it saw.",
        "c": "Size decides how long the transfer takes, not when it may begin.",
        "d": "The values would be right. But a bucket leaves when its last gradient arrives, so the order decides how much of "
        "the transfer is hidden.",
    },
)

off_by_one = Question(
    "off_by_one",
    "Two ranks accumulate over two pieces. By mistake the first piece runs with averaging and the second one under no_sync. "
    "What happens?",
    {
        "a": "an error: the ranks disagree",
        "b": "the same result, one all-reduce earlier",
        "c": "the replicas drift apart, and nothing reports it",
        "d": "only the second piece counts",
    },
    "c",
    {
        "a": "Both ranks make the same calls, so nobody can notice.",
        "b": "Each rank adds its own second piece after the average. The other one never hears of it.",
        "c": "4.0 on one rank and 7.0 on the other, where 5.5 and 5.5 is right: different gradients, different steps, and "
        "from then on two different models. Compare the weights of all ranks now and then.",
        "d": "Both pieces count. But the second one only at home.",
    },
)

clip_when = Question(
    "clip_when",
    "You limit the norm of the whole gradient to 1. When do you compute that norm?",
    {
        "a": "after the average",
        "b": "before the average, on each rank",
        "c": "either way, the results agree",
        "d": "in the hook of each parameter",
    },
    "a",
    {
        "a": "The gradient of the batch is the average. Its norm is the same on all ranks, so all take the same step.",
        "b": "That limits each rank's own gradient. The average of clipped gradients is not the clipped average: a rank with "
        "one wild image loses its weight, and the result depends on the number of ranks.",
        "c": "They agree only if nothing is clipped, or all ranks are by the same factor.",
        "d": "There the other gradients are not finished, and the norm is one over all parameters.",
    },
)

smaller_buckets = Question(
    "smaller_buckets",
    "You make the buckets 100 times smaller. What may get worse?",
    {
        "a": "the number of bytes",
        "b": "the time, as every bucket pays its latencies",
        "c": "the averages: they become less accurate",
        "d": "nothing; smaller is always better",
    },
    "b",
    {
        "a": "Every gradient still travels once.",
        "b": "Every all-reduce pays 2(n-1) latencies in a ring. With many small ones they add up to more than the overlap "
        "saves. Too large is bad as well: the last bucket leaves when nothing is left to hide it behind.",
        "c": "The same additions, only in other packets.",
        "d": "Then one all-reduce for each parameter would be best. You have seen what that costs.",
    },
)
