"""Run an answer on virtual ranks and write down what each message carried.

Virtual ranks record who sent how many bytes to whom, not what was inside. A hint such as "in round 2 rank 1 passed on
chunk 0 again", and a picture of the chunks round by round, need the content. So each send is noted when it is posted;
nothing else changes: no name, no argument, no time.
"""

from __future__ import annotations


def run(answers, inputs):
    """Run one answer ``answer(tensor, dist)`` on virtual ranks over an ideal network.

    It stands alone, imports and all, because a grader sends its source into a sandbox.

    Parameters
    ----------
    answers : tuple
        The learner's function.
    inputs : dict
        ``values``: int64 array (world_size, numel), a row for each rank's tensor; ``dtype``: a torch dtype's name;
        ``latency`` (s) and ``bandwidth`` (B/s) of the network.

    Returns
    -------
    dict
        As `labs.kit.ranks.outcome`; results are the tensors after the call. In addition, of tensors with at most 64
        numbers: ``sent``, by rank a list of [dst, offset, values, state] in the order of posting (offset of the first
        number in the tensor, None for a copy; state: the whole tensor at that moment), and ``returned``, by rank the
        numbers of a returned tensor, else None.
    """
    import torch

    from labs.kit.hardware import uniform
    from labs.kit.ranks import outcome

    (answer,) = answers
    values, dtype = inputs["values"], getattr(torch, inputs["dtype"])
    size, numel = values.shape
    sent, returned = [[] for _ in range(size)], [None] * size
    whole = [None] * size

    def note(rank, peer, part):
        tensor = whole[rank]
        if numel > 64:  # pictures and hints show few numbers
            return
        start, rest = divmod(part.data_ptr() - tensor.data_ptr(), tensor.element_size())
        inside = part.numel() > 0 and rest == 0 and part.dtype == dtype and 0 <= start <= numel - part.numel()
        sent[rank].append([peer, start if inside else None, part.flatten().tolist(), tensor.tolist()])

    def program(tensor, dist):
        whole[dist.get_rank()] = tensor
        back = answer(tensor, dist)
        if isinstance(back, torch.Tensor) and back.numel() <= 64:
            returned[dist.get_rank()] = back.detach().flatten().tolist()
        return tensor

    output = outcome(
        program,
        size,
        args=lambda rank: (torch.tensor(values[rank].tolist(), dtype=dtype),),
        topology=uniform(size, inputs["latency"], inputs["bandwidth"]),
        on_send=note,
    )
    return {**output, "sent": sent, "returned": returned}
