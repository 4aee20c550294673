"""A small GPT and a task for it: read some tokens, write them in reverse."""

from __future__ import annotations

SYMBOLS = 8  # the tokens are 0 to 7; 8 says "now write"
IGNORED = -100  # torch's label for a place that does not count


def reversal(count, length=6, seed=0):
    """Sequences to reverse: `length` random tokens, a mark, and the same tokens backwards.

    Parameters
    ----------
    count : int
        Number of sequences.
    length : int
        Tokens to reverse.
    seed : int
        Of the tokens.

    Returns
    -------
    tokens, labels : torch.Tensor
        Both int64 (count, 2 length). The label of a place is the token that comes next; places before the mark do not
        count (`IGNORED`), as nothing tells what comes next there.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    words = torch.randint(SYMBOLS, (count, length), generator=generator)
    mark = torch.full((count, 1), SYMBOLS)
    whole = torch.cat([words, mark, words.flip(1)], dim=1)
    labels = whole[:, 1:].clone()
    labels[:, :length] = IGNORED
    return whole[:, :-1], labels


def gpt(seed=0, length=6, width=32, heads=2, layers=2):
    """A decoder-only transformer in float64: tokens (n, 2 length) in, scores (n, `SYMBOLS` + 1, 2 length) out.

    Each place sees itself and what stands before it (A. Radford et al., "Improving Language Understanding by
    Generative Pre-Training", 2018; layer norms come first, as in GPT-2). Scores stand in the second dimension, where
    torch's cross entropy looks for them.

    Parameters
    ----------
    seed : int
        Of the initial weights. The global random state of torch is left as it was.
    length : int
        Tokens to reverse, as in `reversal`.
    width, heads, layers : int
        Size of the network; 25 thousand parameters as they are.

    Returns
    -------
    torch.nn.Module
    """
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mix = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            n, places, _ = x.shape
            parts = self.mix(self.before(x)).view(n, places, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            seen = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(n, places, width))
            return x + self.feed(self.after(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(SYMBOLS + 1, width)
            self.place = nn.Embedding(2 * length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)), nn.LayerNorm(width))
            self.scores = nn.Linear(width, SYMBOLS + 1)

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1])
            return self.scores(self.blocks(self.token(tokens) + self.place(places))).transpose(1, 2)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GPT().double()
