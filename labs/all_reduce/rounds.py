"""Players that step through a run of the learner's own ring: who holds which sum after each round."""

from __future__ import annotations

import numpy as np

from labs.all_reduce.watched import run

SIZE = 4  # ranks, and chunks of one number each: small enough to read every digit
CELLS = [(rank, chunk) for rank in range(SIZE) for chunk in range(SIZE)]


def watch_reduce_scatter(reduce_scatter):
    """Step through `reduce_scatter` on 4 ranks that start with 1, 10, 100 and 1000 in every chunk.

    Parameters
    ----------
    reduce_scatter : callable
        The learner's ``reduce_scatter(tensor, dist)``.

    Returns
    -------
    labs.kit.draw.Player or None
        None, with a sentence printed, when there is nothing to show yet.
    """
    start = np.repeat(10 ** np.arange(SIZE)[:, None], SIZE, axis=1)
    return _watch(reduce_scatter, start, start.sum(axis=0), "reduce_scatter", "Your reduce-scatter")


def watch_all_gather(all_gather):
    """Step through `all_gather` on 4 ranks, of which rank r holds the finished sum of chunk r.

    So that one chunk can be told from another, the finished sums are 1111, 2222, 3333 and 4444.

    Parameters
    ----------
    all_gather : callable
        The learner's ``all_gather(tensor, dist)``.

    Returns
    -------
    labs.kit.draw.Player or None
        None, with a sentence printed, when there is nothing to show yet.
    """
    finished = 1111 * np.arange(1, SIZE + 1)
    start = np.repeat(10 ** np.arange(SIZE)[:, None], SIZE, axis=1)
    np.fill_diagonal(start, finished)
    return _watch(all_gather, start, finished, "all_gather", "Your all-gather")


def _watch(answer, start, finished, name, label):
    from labs.kit.draw import chunks, player

    output = run((answer,), {"values": start, "dtype": "float32", "latency": 5e-6, "bandwidth": 50e9})
    if failure := output.get("failure"):
        if failure.get("exception") == "NotImplementedError":
            print(f"Solve {name} first: then this cell steps through your own code.")
        else:
            print(f"{label} did not get to its end, so there is nothing to step through yet.")
            print(failure.get("text", ""))
        return None
    states, sent = _states(output), output["sent"]
    if len(states) == 2 and not any(sent):
        print(f"{label} sends nothing, so there is nothing to step through yet.")
        return None
    frames, captions, tables = [], [], []
    for step, state in enumerate(states):
        before = states[max(step - 1, 0)]
        changed = [(rank, chunk) for rank, chunk in CELLS if state[rank][chunk] != before[rank][chunk]]
        sums = [[_summed(value, total) for value, total in zip(row, finished)] for row in state]
        text = [[f"{value:.0f}" for value in row] for row in state]
        frames.append(chunks(sums, total=SIZE, text=text, marks=changed, name=label, step=step))
        moved = [(rank, messages[step - 1]) for rank, messages in enumerate(sent) if 0 < step <= len(messages)]
        tables.append([_row(rank, message) for rank, message in moved])
        captions.append(_caption(step, moved, changed, state))
    return player(frames, captions, tables, label=f"{label}, round by round")


def _states(output):
    """All tensors before the first round, after each round and at the end, as lists (SIZE, SIZE)."""
    sent = output["sent"]
    end = [np.asarray(tensor).reshape(-1).tolist() for tensor in output["results"]]
    rounds = {len(messages) for messages in sent}
    if len(rounds) > 1 or max(rounds) > 10 or max(rounds) == 0:  # no rounds that all ranks share: first and last only
        first = [messages[0][3] if messages else final for messages, final in zip(sent, end)]
        return [first, end]
    return [*([messages[k][3] for messages in sent] for k in range(rounds.pop())), end]


def _summed(value, total):
    """How many ranks' numbers are in a cell: all in a finished one, else as many as it has ones."""
    return SIZE if value == total else max(1, min(SIZE - 1, f"{abs(value):.0f}".count("1")))


def _row(rank, message):
    dst, offset, values, _ = message
    return {
        "from": f"rank {rank}",
        "to": f"rank {dst}",
        "chunk": "a copy" if offset is None else offset,
        "carries": " ".join(f"{value:.0f}" for value in values),
    }


def _caption(step, moved, changed, state):
    if step == 0:
        return "Before the first round."
    said = [
        f"{rank} → {message[0]}: {'a copy' if message[1] is None else f'chunk {message[1]}'}" for rank, message in moved
    ]
    now = [f"rank {rank} has {state[rank][chunk]:.0f} in chunk {chunk}" for rank, chunk in changed]
    return f"Round {step}. Sent: {', '.join(said) or 'nothing'}. Now {', '.join(now) or 'nothing has changed'}."
