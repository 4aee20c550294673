"""The exercises and questions of lesson 01, in the order of the lesson."""

from labs.kit.exercise import Question
from labs.messages.exercises_collectives import collectives
from labs.messages.exercises_exchange import exchange
from labs.messages.exercises_mean_loss import mean_loss
from labs.messages.exercises_scatter import scatter
from labs.messages.exercises_stream import stream

__all__ = ["collectives", "exchange", "groups", "mean_loss", "mismatch", "rendezvous", "scatter", "stream", "who_calls"]

rendezvous = Question(
    "rendezvous",
    "When does a blocking send end, on gloo and on virtual ranks?",
    {"a": "As soon as it is called", "b": "When the receiver has taken the data", "c": "At the next barrier"},
    right="b",
    why={
        "a": "That is what isend does. It hands you a request; the data may still be on its way.",
        "b": "Sender and receiver meet. This is called a rendezvous.",
        "c": "A barrier waits for ranks to arrive there. It does not know about your message.",
    },
)

who_calls = Question(
    "who_calls",
    "A program of 8 ranks broadcasts from rank 0. Which ranks call dist.broadcast?",
    {"a": "Rank 0", "b": "Ranks 1 to 7", "c": "All 8"},
    right="c",
    why={
        "a": "Then nobody receives. Rank 0 would wait for the others.",
        "b": "Then nobody sends.",
        "c": "The root gives, the others receive, and all of them make the same call.",
    },
)

mismatch = Question(
    "mismatch",
    "Rank 0 sends 3 numbers, rank 1 receives into a tensor of 4. What can you rely on?",
    {
        "a": "On an error",
        "b": "On 3 of the 4 being filled",
        "c": "On nothing: it depends on release and backend",
    },
    right="c",
    why={
        "a": "Some backends and debug modes raise one. Others do not.",
        "b": "Often that is what you see, without a word. Another backend or release may do something else.",
        "c": "The interface leaves it open. So the course checks sizes for you: always on virtual ranks.",
    },
)

groups = Question(
    "groups",
    "Ranks 0 and 1 want a group of their own out of 4 ranks. Who has to call dist.new_group([0, 1])?",
    {"a": "Ranks 0 and 1", "b": "All 4 ranks", "c": "Rank 0"},
    right="b",
    why={
        "a": "Ranks 2 and 3 would be out of step at the next group that is made.",
        "b": "Making a group is itself a collective of everybody, even of those who will not be in it.",
        "c": "The others would not know of it.",
    },
)
