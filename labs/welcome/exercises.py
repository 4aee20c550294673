"""The exercises and questions of lesson 00, in the order of the lesson."""

from labs.kit.exercise import Question
from labs.welcome.exercises_add_one import add_one
from labs.welcome.exercises_average import average
from labs.welcome.exercises_square import square

__all__ = ["add_one", "average", "collective", "numbering", "square", "waiting"]

numbering = Question(
    "numbering",
    "A program runs with world_size=8. Which ranks are there?",
    {"a": "1 to 8", "b": "0 to 7", "c": "0 to 8"},
    right="b",
    why={
        "a": "Ranks count from 0, like positions in a list.",
        "b": "Eight ranks, the first of which is 0.",
        "c": "0 to 8 are nine numbers.",
    },
)

collective = Question(
    "collective",
    "Rank 0 already knows the average of all ranks. Should it still call all_reduce, as the others do?",
    {"a": "No, it saves time", "b": "Yes, or the others wait for it", "c": "Only if it has numbers to add"},
    right="b",
    why={
        "a": "The others would wait for rank 0. Nobody tells them that it is not coming.",
        "b": "A collective ends when every rank of the group has called it.",
        "c": "Even a rank with nothing to add has to come: with a tensor of zeros, say.",
    },
)

waiting = Question(
    "waiting",
    "Both ranks call send first and recv second, and both hang. Which change is enough?",
    {"a": "Wait a little before the send", "b": "Let one of the two receive first", "c": "Send twice as fast"},
    right="b",
    why={
        "a": "However long they wait: each send still ends only when the other side receives.",
        "b": "Then one sends while the other receives, and afterwards the other way round.",
        "c": "Speed is not the matter. Nobody is receiving.",
    },
)
