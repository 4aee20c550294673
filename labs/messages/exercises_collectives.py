"""Exercise: name the eight collectives from their pictures."""

from functools import partial

from labs.kit.exercise import Case, Exercise, Wrong

NAMES = ("broadcast", "scatter", "gather", "all_gather", "reduce", "all_reduce", "reduce_scatter", "all_to_all")

SHOWN = dict(
    zip(
        "ABCDEFGH",
        ("all_gather", "reduce", "scatter", "all_to_all", "broadcast", "reduce_scatter", "gather", "all_reduce"),
    )
)
"""Which collective each picture of the lesson shows."""

# What tells them apart: at how many ranks it starts, at how many it ends, and what happens to the pieces.
_KIND = {
    "broadcast": ("one", "all", "kept apart"),
    "scatter": ("one", "all", "kept apart"),
    "gather": ("all", "one", "kept apart"),
    "all_gather": ("all", "all", "kept apart"),
    "reduce": ("all", "one", "added up"),
    "all_reduce": ("all", "all", "added up"),
    "reduce_scatter": ("all", "all", "added up"),
    "all_to_all": ("all", "all", "kept apart"),
}

# Two names that are taken for each other -> hint, question, pointer.
_CONFUSED = {
    frozenset(("gather", "all_gather")): (
        "one_or_all",
        "Who holds all the pieces afterwards: one rank, or everybody?",
        "`all_` in a name says that every rank ends with the whole result.",
    ),
    frozenset(("reduce", "all_reduce")): (
        "one_or_all",
        "Who holds the sum afterwards: one rank, or everybody?",
        "`all_` in a name says that every rank ends with the whole result.",
    ),
    frozenset(("broadcast", "scatter")): (
        "same_or_parts",
        "Does every rank get the same thing, or each its own part?",
        "A broadcast repeats one thing for everybody. A scatter deals out a deck of cards.",
    ),
    frozenset(("gather", "reduce")): (
        "sum_or_pieces",
        "Look at the boxes afterwards. Are the pieces kept side by side, or added up into one box?",
        "`gather` keeps them apart, `reduce` adds them.",
    ),
    frozenset(("all_gather", "all_reduce")): (
        "sum_or_pieces",
        "Look at the boxes afterwards. Are the pieces kept side by side, or added up into one box?",
        "`gather` keeps them apart, `reduce` adds them.",
    ),
    frozenset(("reduce_scatter", "all_reduce")): (
        "part_or_whole",
        "Does each rank end with the whole sum, or with one part of it?",
        "A reduce_scatter adds up, then deals the sum out in parts. An all_gather of these parts makes it an all_reduce.",
    ),
    frozenset(("all_to_all", "all_gather")): (
        "rows_or_columns",
        "Does every rank end with the same pieces, or with different ones?",
        "In an all_to_all each rank has a different parcel for each other rank: rows become columns.",
    ),
    frozenset(("scatter", "gather")): (
        "which_way",
        "From one rank to all, or from all ranks to one? Compare before and after.",
        "A scatter read backwards is a gather.",
    ),
}


def _cases(seed):
    return [
        Case("from one rank to all: C and E", {"pictures": ["C", "E"]}),
        Case("from all ranks to one: B and G", {"pictures": ["B", "G"]}),
        Case("everybody ends with everything: A and H", {"pictures": ["A", "H"]}),
        Case("everybody ends with a part: D and F", {"pictures": ["D", "F"]}, "edge"),
    ]


def _run(answers, inputs):
    named = answers[0]()
    if named is None or isinstance(named, str):
        return named
    if not isinstance(named, dict):
        named = dict(zip("ABCDEFGH", named))
    names = {letter: getattr(name, "__name__", name) for letter, name in named.items()}
    if names and all(name == "?" for name in names.values()):
        raise NotImplementedError  # as it came with the notebook
    return {str(letter).strip().upper(): str(name) for letter, name in names.items()}


def _spelt(name):
    """`name` in the spelling of `NAMES`: AllGather, all-gather, allgather and dist.all_gather are all_gather."""
    bare = "".join(c for c in name.rpartition(".")[2].lower() if c.isalpha())
    return next((known for known in NAMES if known.replace("_", "") == bare), name.strip())


def _verify(case, output):
    if not isinstance(output, dict):
        raise Wrong(
            "no_dictionary",
            f"Your function returned {'None' if output is None else 'a text'}. How is the check to know which name"
            " belongs to which picture?",
            then=("It expects the dictionary that the cell came with.", "`return {'A': 'all_gather', ...}`."),
        )
    for letter in case.inputs["pictures"]:
        right, said = SHOWN[letter], _spelt(output.get(letter, ""))
        if said == right:
            continue
        evidence = f"\npicture {letter}: you said {said or 'nothing'}"
        picture = partial(_named_picture, letter)
        if said in ("", "?", "...", "None", "Ellipsis"):
            question = f"Picture {letter} has no name yet. What changes from left to right?{evidence}"
            raise Wrong("missing", question, picture)
        if said not in NAMES:
            text = f"`{said}` is not one of the eight. Which of {', '.join(NAMES)} is it?{evidence}"
            raise Wrong("unknown_name", text, picture)
        hint, question, pointer = _CONFUSED.get(frozenset((said, right))) or _difference(said, right)
        raise Wrong(hint, f"Picture {letter}: {question}{evidence}", picture, then=(pointer, _read(letter)))


def _difference(said, right):
    """Hint, question and pointer from the first thing in which two collectives differ."""
    (start, end, pieces), (right_start, right_end, _) = _KIND[said], _KIND[right]
    if start != right_start:
        question = f"`{said}` starts at {_ranks(start)}. How many ranks hold something here before it?"
        return "where_it_starts", question, "Count the rows of the left table that are not empty."
    if end != right_end:
        question = f"`{said}` ends at {_ranks(end)}. How many ranks hold something here afterwards?"
        return "where_it_ends", question, "Count the rows of the right table that are not empty."
    question = f"in `{said}` the pieces are {pieces}. Are there boxes with several colours here afterwards?"
    return "sum_or_pieces", question, "A box with several colours is a sum: `reduce` is part of its name."


def _ranks(count):
    return "one rank" if count == "one" else "all ranks"


def _read(letter):
    start, end, pieces = _KIND[SHOWN[letter]]
    return f"Picture {letter} starts at {_ranks(start)}, ends at {_ranks(end)}, and the pieces are {pieces}."


def _named_picture(letter):
    from labs.messages.figures import picture

    return picture(letter)


collectives = Exercise("collectives", "Name the collective from its picture", 1, _cases, _run, _verify)
