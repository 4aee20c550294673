"""The pictures and widgets of lesson 00."""


def predict_messages():
    """A slider for a guess: how many messages until four ranks all know the average of their four numbers?

    Returns
    -------
    labs.kit.exercise.Prediction
    """
    from labs.kit.exercise import predict

    return predict(
        "Four ranks hold one number each. How many messages until all four know the average?",
        unit="messages",
        low=0,
        high=20,
        step=1,
        name="welcome_messages",
    )


def reveal_messages(guess):
    """Show the guess beside the least number of messages, 2 (n - 1), and why it is the least.

    The bound is that of one-way gossip: F. Harary and A. J. Schwenk, "The communication problem on graphs and
    digraphs", Journal of the Franklin Institute 297 (1974).
    """
    return guess.reveal(
        6,
        "Three messages bring all numbers to one rank, three more carry the average back. Fewer cannot do: until "
        "somebody knows all four numbers takes three messages, and at that moment the other three ranks still wait "
        "for one each. So n ranks need 2 (n - 1).",
    )


def all_reduce_timeline(world_size, megabytes):
    """What every rank does during one all-reduce on an ideal network (5 µs, 50 GB/s each way).

    Parameters
    ----------
    world_size : int
        Number of ranks.
    megabytes : float
        Size of each rank's tensor in MB (10^6 bytes).

    Returns
    -------
    labs.kit.draw.Picture
    """
    import torch

    from labs.kit.draw import timeline
    from labs.kit.ranks import run

    def one_all_reduce(tensor, dist):
        dist.all_reduce(tensor)

    tensors = (torch.ones(int(megabytes * 1e6 / 4)),)
    done = run(one_all_reduce, int(world_size), tensors, collectives="messages")
    return timeline(done, name=f"All-reduce of {megabytes:g} MB over {world_size} ranks")


def explore_all_reduce():
    """Sliders for the number of ranks and the size of the tensor, over `all_reduce_timeline`."""
    from labs.kit.draw import explore

    frames = [{"world_size": n, "megabytes": 8} for n in (2, 3, 4, 6, 8)]
    return explore(
        all_reduce_timeline,
        label="One all-reduce, rank by rank",
        frames=frames,
        world_size=(2, 8, 1, 4),
        megabytes=[1, 2, 4, 8, 16],
    )


def average_picture(world_size=4):
    """Who holds what before and after the average: each rank its own number, then all ranks the same one."""
    from labs.kit.draw import holdings

    before = [[str(10 * (r + 1))] for r in range(world_size)]
    mean = sum(10 * (r + 1) for r in range(world_size)) / world_size
    return holdings(before, [[f"{mean:g}"] for _ in range(world_size)], name="The average of everybody's number")
