"""Check yourself: four questions of lesson 09."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

always_bottleneck = Question(
    "always_bottleneck",
    "8 workers and 8 servers of their own, equal links, push and pull overlapped. Which link is the busiest?",
    {"a": "a server's", "b": "a worker's", "c": "none: all are equally busy", "d": "the one of the slowest worker"},
    "c",
    {
        "a": "A server receives one eighth of S from each of 8 workers: S in all. And a worker sends how much?",
        "b": "A worker sends S and receives S. How much does a server receive, and how much does it send?",
        "c": "S in each direction, on all sixteen. With fewer servers theirs are the busier ones, with more the workers'.",
        "d": "All workers send equally much. How long one computes does not change what its link carries.",
    },
)

more_servers = Question(
    "more_servers",
    "The same 8 workers get a ninth server. One exchange of large gradients then takes ...",
    {"a": "8/9 of the time", "b": "as long as before", "c": "longer, because there are more messages"},
    "b",
    {
        "a": "The servers' links have less to carry, yes. But each worker still sends S over its own link, and that takes "
        "S/B however many receive it.",
        "b": "From k = n on the workers' own links decide. (With quicker servers earlier, with slower ones later.)",
        "c": "Each worker sends nine messages instead of eight. For large gradients a few microseconds do not show.",
    },
)

same_loss = Question(
    "same_loss",
    "16 equally quick workers. An asynchronous server answers every gradient at once. To the same loss this is ...",
    {
        "a": "faster: nobody ever waits",
        "b": "not faster: equally many gradients a second, and most of them are stale",
        "c": "exactly as fast, since the same gradients are added in another order",
    },
    "b",
    {
        "a": "Equally quick workers hardly wait in the synchronous case either. What do they compute their gradients from?",
        "b": "There is little waiting to save, and 15 other gradients arrive between a worker's pull and its push. At a "
        "learning rate that suits one worker the loss swung far above where it began, as you have seen.",
        "c": "They are not the same gradients: each is computed at the weights that its worker happened to have.",
    },
)

legal = Question(
    "legal",
    "Which property of mathematics makes the asynchronous server legal, as regrouping a sum makes all-reduce legal?",
    {
        "a": "addition is commutative, so the order of updates does not matter",
        "b": "addition is associative, so updates may be grouped",
        "c": "none: the gradients are computed at other weights, so it is another algorithm",
    },
    "c",
    {
        "a": "The order in which given gradients are added does not matter. But which gradients are they?",
        "b": "That would be enough if the gradients were given. They depend on the weights, and these on the order.",
        "c": "It often converges, with a smaller learning rate and a bound on staleness. That is a matter of the problem, "
        "and of experiments like yours, not an identity.",
    },
)
