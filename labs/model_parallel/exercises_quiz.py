"""Check yourself: five questions of lesson 11."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

faster = Question(
    "faster",
    "A network fits on one GPU. You cut it in four, on four such GPUs, and train with the same batch, one at a time. A step "
    "then takes",
    {
        "a": "a quarter of the time",
        "b": "about as long as before, a little longer",
        "c": "four times as long",
        "d": "as long as the slowest of the four stages",
    },
    "b",
    {
        "a": "The work is divided, but not in time: stage 2 cannot begin before stage 1 is done.",
        "b": "All stages run one after another, as they did on one GPU, and activations travel on top. You buy memory, not "
        "speed.",
        "c": "The same operations are done once, only in different places.",
        "d": "That is the time between two *requests* of a full stream. One batch has to pass all four stages.",
    },
)

late_freeze = Question(
    "late_freeze",
    "You set requires_grad=False for the last 3 of 12 layers and train the first 9. For which layers does forward still store "
    "something that backward needs?",
    {
        "a": "for the first 9",
        "b": "for the last 3",
        "c": "for all 12, a little less in the last 3",
        "d": "for none",
    },
    "c",
    {
        "a": "How would the gradient get from the loss to layer 9? It passes layers 12, 11 and 10, and their nonlinearities "
        "must know where they stood.",
        "b": "The first 9 are trained, and the gradient of a weight needs the layer's input.",
        "c": "Backward passes all layers down to the first trained one. The frozen linear parts spare their own inputs, "
        "nothing more. Freezing pays at the beginning of the network, where backward can stop.",
        "d": "Then nothing could be trained.",
    },
)

balance = Question(
    "balance",
    "Four equal GPUs. Plan A gives the stages 4, 1, 1 and 1 ms, plan B 2, 2, 2 and 1 ms; both fit. Transfers take no time. Which "
    "statement is true?",
    {
        "a": "B trains faster, one batch at a time",
        "b": "one batch takes 7 ms with either, but B serves twice as many requests a second",
        "c": "A serves more requests, since three GPUs are quick",
        "d": "there is no difference at all",
    },
    "b",
    {
        "a": "One batch passes all stages one after another: 7 ms with A and with B.",
        "b": "A sum does not care how it is divided. A stream does: it is as fast as its slowest stage, one request every 4 "
        "or every 2 ms.",
        "c": "Quick GPUs behind a slow one wait for it.",
        "d": "Not for one batch. For a stream there is.",
    },
)

batch_norm = Question(
    "batch_norm",
    "A network with BatchNorm: once on 4 ranks with a quarter of the batch each (data parallel), once cut into 4 stages (model "
    "parallel). Which one computes the same as one process?",
    {
        "a": "both",
        "b": "only data parallel",
        "c": "only model parallel",
        "d": "neither",
    },
    "c",
    {
        "a": "In data parallel each rank's BatchNorm sees a quarter of the batch, and takes the mean of that (lesson 07).",
        "b": "There each BatchNorm sees only a part of the batch.",
        "c": "A stage sees the whole batch, so its mean is that of one process. Cutting a composition changes no function in "
        "it. (Cutting the batch as well, as in lesson 12, brings the difference back.)",
        "d": "Which statistics differ when a stage gets the whole batch?",
    },
)

fits_anyway = Question(
    "fits_anyway",
    "A trained network fits easily on one of your four GPUs. You want to answer as many requests a second as you can. What do you "
    "do?",
    {
        "a": "cut it in four stages: pipelines are faster",
        "b": "put a whole copy on each GPU and deal out the requests",
        "c": "use one GPU only: communication costs more than it brings",
        "d": "cut it in two stages, and use two copies of that",
    },
    "b",
    {
        "a": "At best the same rate, with perfectly even stages. And each request pays for three transfers.",
        "b": "Four copies never wait for one another, need no balance, and send nothing. Cut a network when it does not fit.",
        "c": "Copies do not communicate at all.",
        "d": "A compromise without need. It is the plan when two GPUs together can hold it and one cannot.",
    },
)
