"""A language model too large for one GPU, planned without owning the memory: everything is built on `meta`."""

from __future__ import annotations

from collections import OrderedDict


def language_model(layers=24, width=2048, tokens=32_000, places=1024):
    """A decoder-only transformer in float32 on the device `meta`: shapes without numbers.

    Parameters
    ----------
    layers, width : int
        1.3 billion parameters as they are.
    tokens, places : int
        Vocabulary, and length of a sequence.

    Returns
    -------
    torch.nn.Sequential
        Tokens (batch, places) in, scores out; children embed, block1, ..., scores.
    """
    import torch
    from torch import nn

    class Embed(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(tokens, width), nn.Embedding(places, width)

        def forward(self, x):
            return self.token(x) + self.place(torch.arange(x.shape[1], device=x.device))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            n, length, _ = x.shape
            parts = self.mix(self.before(x)).view(n, length, 3, width // 128, 128).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(n, length, width))
            return x + self.feed(self.after(x))

    with torch.device("meta"):
        blocks = {f"block{k}": Block() for k in range(1, layers + 1)}
        scores = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, tokens, bias=False))
        return nn.Sequential(OrderedDict(embed=Embed()) | blocks | {"scores": scores})


def costs_of(network, batch=1, places=1024):
    """What its layers cost in training with Adam, counted on `meta`.

    Returns
    -------
    tuple of labs.model_parallel.memory.Cost
    """
    import torch

    from labs.model_parallel.memory import costs

    return costs(network, torch.zeros(batch, places, dtype=torch.int64, device="meta"))
