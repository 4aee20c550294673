"""Tensors that are not contiguous: virtual ranks accept what gloo gets right, and refuse in words what it does not.

The table was found by running each line on two gloo ranks of torch 2.13 (`test_gloo_does_what_the_table_says` does so
again). Where gloo gives wrong numbers without a word ("silent"), virtual ranks refuse, too.
"""

import pytest
import torch

from labs.kit import ranks
from labs.kit.virtual import Mismatch, RankFailed, simulate

# What each collective makes of a transposed tensor ("order") and of one with gaps ("gaps"), for each of its tensors.
TABLE = {
    ("all_reduce", "tensor"): {"order": "right", "gaps": "silent"},
    ("broadcast", "tensor"): {"order": "right", "gaps": "silent"},
    ("reduce", "tensor"): {"order": "right", "gaps": "silent"},
    ("reduce_scatter_single", "output"): {"order": "right", "gaps": "right"},
    ("reduce_scatter_single", "input"): {"order": "right", "gaps": "right"},
    ("all_gather_single", "output"): {"order": "right", "gaps": "right"},
    ("all_gather_single", "input"): {"order": "right", "gaps": "right"},
    ("all_gather", "output"): {"order": "right", "gaps": "right"},
    ("all_gather", "input"): {"order": "right", "gaps": "right"},
    ("gather", "output"): {"order": "right", "gaps": "right"},
    ("gather", "input"): {"order": "right", "gaps": "right"},
    ("scatter", "output"): {"order": "silent", "gaps": "silent"},
    ("scatter", "input"): {"order": "silent", "gaps": "silent"},
    ("scatter", "both"): {"order": "right", "gaps": "silent"},
    ("all_to_all_single", "output"): {"order": "silent", "gaps": "silent"},
    ("all_to_all_single", "input"): {"order": "refused", "gaps": "refused"},
    ("send", "tensor"): {"order": "refused", "gaps": "refused"},
    ("recv", "tensor"): {"order": "refused", "gaps": "refused"},
}
ROWS = [(*key, layout, answer) for key, answers in TABLE.items() for layout, answer in answers.items()]


def attempt(name, which, layout, dist):
    """One collective with an odd layout of one of its tensors on two ranks: "right", "silent" or "refused"."""
    import torch

    rank = dist.get_rank()
    numbers = torch.arange(12.0).view(4, 3)
    mine, both = numbers + 100 * rank, torch.cat([numbers, numbers + 100])

    def made(values, role):
        if role != which and not (which == "both" and role in ("input", "output")):
            return values.clone()
        new = torch.empty(values.shape[::-1]).t() if layout == "order" else torch.empty(*values.shape, 2)[..., 0]
        return new.copy_(values)

    zeros, output = torch.zeros(4, 3), None
    try:
        if name in ("all_reduce", "broadcast", "reduce"):
            output = made(mine, "tensor")
            getattr(dist, name)(output, *(() if name == "all_reduce" else (0,)))
            expected = numbers if name == "broadcast" else 2 * numbers + 100
            if name == "reduce" and rank == 1:
                output = expected
        elif name == "reduce_scatter_single":
            output, expected = made(zeros, "output"), (3 * both)[4 * rank : 4 * rank + 4]
            dist.reduce_scatter_single(output, made(both * (rank + 1), "input"))
        elif name == "all_gather_single":
            output, expected = made(torch.zeros(8, 3), "output"), both
            dist.all_gather_single(output, made(mine, "input"))
        elif name in ("all_gather", "gather"):
            outputs, expected = [made(zeros, "output") for _ in range(2)], both
            if name == "all_gather":
                dist.all_gather(outputs, made(mine, "input"))
            else:
                dist.gather(made(mine, "input"), outputs if rank == 0 else None, dst=0)
            output = torch.cat(outputs) if rank == 0 or name == "all_gather" else both
        elif name == "scatter":
            output, expected = made(zeros, "output"), numbers + 10 * rank
            parts = [made(numbers + 10 * k, "input") for k in range(2)]
            dist.scatter(output, parts if rank == 0 else None, src=0)
        elif name == "all_to_all_single":
            output, expected = made(zeros, "output"), both.view(2, 2, 2, 3)[:, rank].reshape(4, 3)
            dist.all_to_all_single(output, made(mine, "input"))
        elif (name == "send") == (rank == 0):  # the odd side; the other one only if the odd one does not raise
            output = expected = made(mine, "tensor")
            dist.send(output, dst=1) if name == "send" else dist.recv(output, src=0)
        else:
            return "refused"
    except (ValueError, RuntimeError) as error:
        assert "contiguous" in str(error), error
        return "refused"
    return "right" if torch.equal(output, expected) else "silent"


@pytest.mark.parametrize("mode", ["model", "messages"])
@pytest.mark.parametrize("name, which, layout, answer", ROWS)
def test_virtual_ranks_accept_what_gloo_gets_right(name, which, layout, answer, mode):
    def program(dist):
        found = attempt(name, which, layout, dist)
        if found == "refused":  # raise it again: a rank that goes on would leave the other one waiting
            raise ValueError("contiguous")
        return found

    if answer == "right":
        assert simulate(program, 2, collectives=mode).results == ("right", "right")
    else:
        with pytest.raises(RankFailed, match="contiguous"):
            simulate(program, 2, collectives=mode)


def every_row(rows, dist):
    found = []
    for name, which, layout, _ in rows:
        found.append(attempt(name, which, layout, dist))
        dist.barrier()
    return found


def test_gloo_does_what_the_table_says():
    run = ranks.run(every_row, 2, (ROWS,), on="gloo", check=False, timeout=60)
    for row, *found in zip(ROWS, *run.results):
        answer = row[-1]
        expected = {"right": {"right"}, "refused": {"refused"}, "silent": {"silent", "right"}}[answer]
        assert set(found) <= expected and (answer != "silent" or "silent" in found), (row, found)


def test_layouts_that_differ_between_ranks_are_a_mismatch():
    def program(dist):
        tensor = torch.zeros(3, 4).t() if dist.get_rank() else torch.zeros(4, 3)
        dist.all_reduce(tensor)

    with pytest.raises(Mismatch) as caught:
        simulate(program, 2)
    text = str(caught.value)
    assert "disagree about one all_reduce" in text and "(12 x float32, strides (1, 4), SUM)" in text
    assert "different orders" in text and "tensor.contiguous() on all ranks" in text


@pytest.mark.parametrize(
    "tensor, accepted",
    [
        (torch.zeros(2, 3, 4).permute(2, 0, 1), True),
        (torch.zeros(4, 1, 3).transpose(0, 2), True),
        (torch.zeros(1).expand(4), False),
        (torch.zeros(6)[::2], False),
        (torch.zeros(4, 4)[:, :2], False),
        (torch.zeros(0, 4)[:, ::2], True),
        (torch.zeros(8)[::8], True),
    ],
)
def test_dense_is_any_order_without_gaps(tensor, accepted):
    def program(dist):
        dist.all_reduce(tensor)

    if accepted:
        simulate(program, 2)
    else:
        with pytest.raises(RankFailed, match="side by side in memory"):
            simulate(program, 2)


def test_an_output_of_uneven_rows_is_refused():
    def program(dist):
        dist.all_gather_single(torch.zeros(4, 3).t(), torch.zeros(6))

    with pytest.raises(RankFailed, match="its 3 rows divide by 2 ranks"):
        simulate(program, 2)
