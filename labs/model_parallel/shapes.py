"""Shapes of problems, and what crosses a cut in each: one to many, many to one, many to many."""

from __future__ import annotations

from collections import OrderedDict

BATCH, LENGTH, WIDTH, SYMBOLS = 8, 16, 32, 10


def examples():
    """Small networks of each shape, in float64, with an input each.

    Returns
    -------
    dict of str to (str, torch.nn.Sequential, torch.Tensor)
        By name: the shape of its problem, its layers, and a batch. A layer takes what the one before returns: a tensor,
        or a tuple of them.
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    frames = torch.randn(BATCH, LENGTH, WIDTH, generator=generator, dtype=torch.float64)
    tokens = torch.randint(SYMBOLS, (BATCH, LENGTH), generator=generator)
    images = torch.randn(BATCH, 64, generator=generator, dtype=torch.float64)
    return {
        "tagger": ("many to many", recurrent(classify=False), frames),
        "reader": ("many to one", recurrent(classify=True), frames),
        "writer": ("one to many", writer(), images),
        "GPT": ("many to many", transformer(causal=True), tokens),
        "BERT": ("many to one", transformer(causal=False), tokens),
        "translator": ("many to many", translator(), tokens),
    }


def recurrent(classify, layers=3, seed=0):
    """Recurrent layers over frames, and a head: a label for each frame, or one for the whole sequence.

    Parameters
    ----------
    classify : bool
        Whether only the last state goes to the head.
    layers, seed : int

    Returns
    -------
    torch.nn.Sequential
        Frames (batch, length, width) in.
    """
    from torch import nn

    from labs.model_parallel.networks import seeded

    def make():
        parts = OrderedDict((f"gru{k}", _gru(WIDTH, classify and k == layers)) for k in range(1, layers + 1))
        return nn.Sequential(parts | {"head": nn.Linear(WIDTH, SYMBOLS)})

    return seeded(make, seed)


def _gru(width, last_only):
    from torch import nn

    class Gru(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.GRU(width, width, batch_first=True)

        def forward(self, frames):
            states = self.cells(frames)[0]
            return states[:, -1].contiguous() if last_only else states

    return Gru()


def writer(length=LENGTH, seed=0):
    """An image becomes one vector, and a recurrent layer writes a sequence from it (a caption, or boxes)."""
    from torch import nn

    from labs.model_parallel.networks import seeded

    class Repeat(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.GRU(WIDTH, WIDTH, batch_first=True)

        def forward(self, vector):
            return self.cells(vector.unsqueeze(1).expand(-1, length, -1))[0]

    def make():
        look = nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3, padding=1), nn.GELU())
        pool = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(128, WIDTH))
        return nn.Sequential(OrderedDict(look=look, pool=pool, write=Repeat(), head=nn.Linear(WIDTH, SYMBOLS)))

    return seeded(make, seed)


def transformer(causal, layers=3, seed=0):
    """Transformer blocks over tokens: a GPT (each place predicts the next one), or a BERT that labels the sequence."""
    import torch
    from torch import nn

    from labs.model_parallel.networks import seeded

    class Embed(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(SYMBOLS, WIDTH), nn.Embedding(LENGTH, WIDTH)

        def forward(self, tokens):
            return self.token(tokens) + self.place(torch.arange(tokens.shape[1]))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(
                WIDTH, 2, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )

        def forward(self, x):
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype) if causal else None
            return self.layer(x, src_mask=mask, is_causal=causal)

    class First(nn.Module):
        def forward(self, x):
            return x[:, 0]

    def make():
        parts = OrderedDict(embed=Embed()) | {f"block{k}": Block() for k in range(1, layers + 1)}
        head = nn.Linear(WIDTH, SYMBOLS)
        return nn.Sequential(parts | {"head": head if causal else nn.Sequential(First(), head)})

    return seeded(make, seed)


def translator(seed=0):
    """An encoder and a decoder that looks at the encoder's output in each of its layers."""
    import torch
    from torch import nn

    from labs.model_parallel.networks import seeded

    class Embed(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(SYMBOLS, WIDTH)

        def forward(self, tokens):
            return self.token(tokens)

    class Begin(nn.Module):
        """What was written so far, beside what was read: here as many places as were read."""

        def forward(self, memory):
            return memory, torch.zeros_like(memory)

    class Decode(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerDecoderLayer(WIDTH, 2, 4 * WIDTH, dropout=0.0, batch_first=True)

        def forward(self, both):
            memory, x = both
            return memory, self.layer(x, memory)

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.scores = nn.Linear(WIDTH, SYMBOLS)

        def forward(self, both):
            return self.scores(both[1])

    def make():
        encode = nn.TransformerEncoderLayer(WIDTH, 2, 4 * WIDTH, dropout=0.0, batch_first=True)
        begin = nn.Sequential(Begin(), Decode())
        return nn.Sequential(
            OrderedDict(embed=Embed(), encode=encode, decode1=begin, decode2=Decode(), decode3=Decode(), head=Head())
        )

    return seeded(make, seed)


def crossings(network, batch):
    """Bytes that cross a cut behind each layer but the last, found by running it.

    Parameters
    ----------
    network : torch.nn.Sequential
    batch : torch.Tensor

    Returns
    -------
    list of (str, int)
        Name of the layer before the cut, bytes.
    """
    import torch

    found, x = [], batch
    with torch.no_grad():
        for name, layer in network.named_children():
            x = layer(x)
            found.append((name, sum(part.nbytes for part in (x if isinstance(x, tuple) else (x,)))))
    return found[:-1]


def chain(network, batch):
    """One line: the layers, and between them what crosses, in kB: "gru1 -33-> gru2 -33-> head"."""
    names = [name for name, _ in network.named_children()]
    kB = [f"{nbytes / 1e3:.0f}" for _, nbytes in crossings(network, batch)]
    return names[0] + "".join(f" -{size}-> {name}" for size, name in zip(kB, names[1:]))


def other_cuts(layers=3):
    """Cuts across the layers: between frames, and between directions, for recurrent layers of the examples' size.

    Returns
    -------
    dict of str to int
        Bytes.
    """
    network = recurrent(classify=False, layers=layers)
    state = 8 * BATCH * WIDTH
    return {
        "between two frames: a state a layer": layers * state,
        "... and the gradients of all weights, which both halves share": sum(p.nbytes for p in network.parameters()),
        "between layers: all frames of one layer": LENGTH * state,
    }


def published():
    """The language models of 2018, built without memory: (name, layers, width, parameters).

    ELMo's recurrent layers (2 layers of 4,096 units projected to 512, for each direction) without its character
    network; GPT with 40,000 tokens and 512 places; BERT with 30,000 tokens, 512 places and its pooler.

    Returns
    -------
    list of tuple
    """
    import torch
    from torch import nn

    def blocks(layers, width, tokens, extra=0):
        layer = nn.TransformerEncoderLayer(width, 1, 4 * width)
        inside = layers * sum(parameter.numel() for parameter in layer.parameters())
        return inside + (tokens + 512) * width + extra

    with torch.device("meta"):
        lstm = nn.LSTM(512, 4096, num_layers=2, proj_size=512)
        one_way = sum(parameter.numel() for parameter in lstm.parameters())
        return [
            ("ELMo", 2, 512, 2 * one_way),
            ("GPT", 12, 768, blocks(12, 768, 40_000)),
            ("BERT base", 12, 768, blocks(12, 768, 30_000, 4 * 768 + 768 * 768 + 768)),
            ("BERT large", 24, 1024, blocks(24, 1024, 30_000, 4 * 1024 + 1024 * 1024 + 1024)),
        ]
