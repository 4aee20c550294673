"""What both exercises of lesson 00 need: a run's outcome or the question its failure deserves, and a picture."""

from labs.kit.exercise import completed


def completed_here(output, **questions):
    """As `completed`, with a question of its own for whoever called torch.distributed itself."""
    failure = output.get("failure") if isinstance(output, dict) else None
    if "uses torch.distributed itself" in str((failure or {}).get("text", "")):
        questions["misuse"] = (
            "module_not_argument",
            "You called torch.distributed itself. Which `dist` was your function given?",
            "The argument `dist` has the same functions, and it works on every kind of rank.",
            "Remove the import inside your function: then `dist` is the argument again.",
        )
    return completed(output, **questions)


def values_picture(want, got):
    """What was expected and what came, a pair of points for each rank."""
    from labs.kit.draw import curves

    ranks = list(range(len(want)))
    shown = [(r, v) for r, v in zip(ranks, got, strict=True) if v is not None]
    series = {"expected": (ranks, want)}
    if shown:
        series["yours"] = ([r for r, _ in shown], [v for _, v in shown])
    return curves(series, xlabel="rank", ylabel="value returned", name="What each rank returned", points=list(series))
