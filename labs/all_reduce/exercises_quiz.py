"""Check yourself: four questions of lesson 08."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

doubled_ranks = Question(
    "doubled_ranks",
    "You go from 64 to 128 ranks with the same 1 GB of gradients and the same links. The ring all-reduce takes ...",
    {"a": "twice as long", "b": "half as long", "c": "hardly longer", "d": "seven rounds instead of six"},
    "c",
    {
        "a": "Twice as many rounds, yes, but each moves chunks half as long. The bytes a rank sends go from "
        "2 * 63/64 GB to 2 * 127/128 GB: 0.8 % more. Only the latency part doubles, and it is small here.",
        "b": "Each chunk is half as long, but there are twice as many rounds. The two cancel.",
        "c": "The bytes a rank sends go from 2 * 63/64 GB to 2 * 127/128 GB, 0.8 % more. The latency part doubles, "
        "from 126 to 254 messages of a few microseconds: for 1 GB that does not show; for 1 kB it would.",
        "d": "That would be a tree: its rounds are counted by a logarithm. A ring needs n - 1 rounds, twice.",
    },
)

bytes_sent = Question(
    "bytes_sent",
    "8 ranks, 800 MB of gradients each. How much does one rank send in a ring all-reduce?",
    {"a": "800 MB", "b": "1,400 MB", "c": "5,600 MB", "d": "700 MB"},
    "b",
    {
        "a": "Nearly one full tensor for the reduce-scatter alone. And then the sums must come back.",
        "b": "7 chunks of 100 MB to sum and 7 to hand out: 2 * 7/8 * 800 MB.",
        "c": "That is what one collector would have to send: 7 whole tensors. In a ring each message is a chunk.",
        "d": "That is the reduce-scatter. Who tells the others the sums?",
    },
)

last_bit = Question(
    "last_bit",
    "The same float32 gradients, summed by a ring and by a tree, differ in the last digits. What does that tell you?",
    {
        "a": "one of the two has a bug",
        "b": "float32 sums depend on the order, and the two add in different orders",
        "c": "a message was damaged on the way",
        "d": "the ranks of the ring now hold different sums",
    },
    "b",
    {
        "a": "It may, but this alone does not show it. Try integers: there both must agree to the last digit.",
        "b": "Each addition rounds, so another order rounds elsewhere. That is also why a comparison needs a tolerance, "
        "and why the same run on another number of GPUs is not bitwise the same.",
        "c": "Links check and repeat their packets. A damaged float would rarely be off by just a last digit.",
        "d": "No: each chunk is summed once, on one path, and then copied. All ranks hold the same bits. That is what "
        "keeps the replicas of a model together.",
    },
)

small_message = Question(
    "small_message",
    "1,024 ranks must agree on one float, four bytes, on an ideal network. Which all-reduce is quickest?",
    {"a": "the ring", "b": "the binomial tree", "c": "they take the same time, four bytes are nothing"},
    "b",
    {
        "a": "2,046 messages, one after another, each with its latency. At 5 µs that is 10 ms for four bytes.",
        "b": "20 messages in a row instead of 2,046. At 5 µs: 0.1 ms instead of 10 ms.",
        "c": "The bytes are nothing. The messages are not: each one pays its latency, and the ring has 2,046 in a row.",
    },
)
