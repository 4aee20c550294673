"""The small GPT: its task is what it says, it sees no future, and it learns."""

import pytest
import torch

from labs.data_parallel import gpt, training


@pytest.mark.parametrize("length", [1, 2, 6])
def test_the_labels_are_the_tokens_backwards(length):
    tokens, labels = gpt.reversal(50, length, seed=4)
    for line, wanted in zip(tokens.tolist(), labels.tolist()):
        assert line[length] == gpt.SYMBOLS
        assert wanted[:length] == [gpt.IGNORED] * length
        assert wanted[length:] == line[:length][::-1]
        assert line[length + 1 :] == wanted[length:-1]  # the next token is read in the next place


def test_no_place_sees_what_comes_after_it():
    model, (tokens, _) = gpt.gpt(), gpt.reversal(1)
    before = model(tokens)
    changed = tokens.clone()
    changed[0, 7] = (changed[0, 7] + 1) % gpt.SYMBOLS
    after = model(changed)
    assert torch.equal(before[..., :7], after[..., :7])
    assert not torch.allclose(before[..., 7:], after[..., 7:])


def test_the_same_seed_gives_the_same_weights_and_leaves_torch_s_state_alone():
    state = torch.get_rng_state()
    one, two, other = (training.flat(gpt.gpt(seed)) for seed in (0, 0, 1))
    assert torch.equal(one, two) and not torch.equal(one, other)
    assert torch.equal(state, torch.get_rng_state())


def test_it_learns_to_reverse_new_sequences():
    model, (tokens, labels) = gpt.gpt(length=3), gpt.reversal(512, length=3)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for batch in training.batches_of(len(tokens), 64, number=120):
        training.backward(model, tokens[batch], labels[batch])
        optimiser.step()
    new, wanted = gpt.reversal(100, length=3, seed=1)
    assert (model(new).argmax(1) == wanted)[:, 3:].double().mean() > 0.95
