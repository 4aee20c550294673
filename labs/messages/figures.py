"""The pictures and widgets of lesson 01."""

SHOWN_FIRST = ("C", "E", "B", "G", "A", "H", "D", "F")
"""The order in which the lesson shows the eight pictures: from simple to hard."""


def picture(letter):
    """Picture A to H: who holds what before and after one of the eight collectives, without its name.

    Parameters
    ----------
    letter : str
        "A" to "H", as in the exercise `collectives`.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from labs.kit.draw import collective

    # Said again here, so that a sandbox without the exercises can still draw the lesson.
    which = ("all_gather", "reduce", "scatter", "all_to_all", "broadcast", "reduce_scatter", "gather", "all_reduce")
    return collective(which["ABCDEFGH".index(letter)], world_size=3, named=False)


def collectives():
    """A player over the eight pictures, each with its letter."""
    from labs.kit.draw import player

    letters = sorted(SHOWN_FIRST)
    return player(
        [picture(letter) for letter in letters],
        [f"Picture {letter}. Who holds what before, and who after?" for letter in letters],
        label="Eight collectives without their names",
    )


def predict_hang():
    """A slider for a guess: from which message size on do two real ranks that both send first hang?"""
    from labs.kit.exercise import predict

    return predict(
        "Two gloo ranks both send first. From how many bytes on do they hang?",
        unit="bytes",
        low=1,
        high=1e6,
        name="messages_hang",
        log=True,
    )


def reveal_hang(guess):
    """Show the guess beside the smallest message that the lesson tried on gloo (4 bytes, which hangs)."""
    return guess.reveal(
        4,
        "Even one number of 4 bytes hangs: gloo keeps no message for a receiver that is not there. "
        "MPI libraries usually keep small ones, so the same code runs there until the messages grow.",
    )


def both_send_first(message_bytes, eager_bytes):
    """Two virtual ranks that both send first, on a machine that buffers small messages.

    Parameters
    ----------
    message_bytes : int
        Size of each message.
    eager_bytes : int
        Messages up to this size leave at once and are kept for the receiver; larger ones wait for it.

    Returns
    -------
    labs.kit.draw.Picture
        The timeline of the run, or of the wait that never ends.
    """
    import torch

    from labs.kit.draw import timeline
    from labs.kit.ranks import Deadlock, run

    def program(dist):
        other = 1 - dist.get_rank()
        mine = torch.zeros(int(message_bytes), dtype=torch.uint8)
        theirs = torch.zeros_like(mine)
        dist.send(mine, dst=other)
        dist.recv(theirs, src=other)

    try:
        done = run(program, 2, eager_bytes=int(eager_bytes))
    except Deadlock as deadlock:
        waits = [(w.rank, w.operation) for w in deadlock.waiting]
        return endless(waits, name=f"Deadlock: {message_bytes:,} bytes wait for a receiver, for ever")
    return timeline(done, name=f"Both messages of {message_bytes:,} bytes left at once and were kept")


def endless(waits, name="Deadlock"):
    """A timeline of ranks whose waiting never ends: an open bar each, which says for what the rank waits.

    Parameters
    ----------
    waits : list of (int, str)
        Rank, and what it waits in: (0, "send to rank 1 (8 B)").
    name : str
        What happened; the text alternative begins with it.

    Returns
    -------
    labs.kit.draw.Picture
    """
    from matplotlib.patches import Rectangle

    from labs.kit.draw import Picture, timeline
    from labs.kit.draw.style import INK, PAPER, SMALL, drawing, text_width

    ranks = max(rank for rank, _ in waits) + 1
    figure = timeline([(rank, "wait", None, 0, 0.0, 1.0, "") for rank, _ in waits], world_size=ranks).figure
    axes = figure.axes[0]
    points = axes.get_position().width * figure.get_size_inches()[0] * 72
    with drawing():
        for rank, operation in waits:
            words = f"waits in {operation} … for ever"
            half = (text_width(words, SMALL) / 2 + 4) / points
            axes.add_artist(Rectangle((0.5 - half, rank - 0.26), 2 * half, 0.52, facecolor=PAPER, lw=0, zorder=4))
            axes.text(0.5, rank, words, ha="center", va="center_baseline", fontsize=SMALL, color=INK, zorder=5)
            arrow = {"arrowstyle": "->", "color": INK, "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (1 + 13 / points, rank), (1, rank), arrowprops=arrow, annotation_clip=False)
        axes.set_xticks([])
        axes.set_xlabel("time, without end", labelpad=6)
        axes.get_legend().remove()
    sentences = [f"Rank {rank} waits in {operation}, and this never ends" for rank, operation in waits]
    return Picture(figure, f"{name}. {'. '.join(sentences)}.")


def explore_eager():
    """Sliders for the size of the message and for the size that a machine buffers, over `both_send_first`."""
    from labs.kit.draw import explore

    sizes = [8, 64, 512, 4096, 32768]
    return explore(
        both_send_first,
        label="When do two ranks that both send first get through?",
        frames=[{"message_bytes": size, "eager_bytes": 512} for size in sizes],
        message_bytes=sizes,
        eager_bytes=[0, 64, 512, 4096, 32768],
    )


def watch_exchange(exchange, world_size=4):
    """A player that steps through a run of the learner's own `exchange`, or a sentence if it is not solved yet."""
    import torch

    return _watch(exchange, world_size, lambda rank: (torch.full((250_000,), float(rank)),), "Your exchange")


def watch_scatter(scatter, world_size=4):
    """A player that steps through a run of the learner's own `scatter`, or a sentence if it is not solved yet."""
    import torch

    def args(rank):
        pieces = [torch.full((250_000,), float(r)) for r in range(world_size)]
        return torch.zeros(250_000), pieces if rank == 0 else None, 0

    return _watch(scatter, world_size, args, "Your scatter")


def _watch(program, world_size, args, label):
    from labs.kit.draw import messages
    from labs.kit.ranks import RunFailure, run

    try:
        return messages(run(program, world_size, args=args), label=label)
    except (RunFailure, NotImplementedError):
        print(f"Solve `{program.__name__}` first; then this shows its messages.")
