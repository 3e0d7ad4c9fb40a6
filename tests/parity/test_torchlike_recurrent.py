"""Recurrent layers, cells and packed sequences beside torch's: values, gradients, layouts, texts and refusals."""

import itertools

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

from torch.nn.utils import rnn as theirs  # noqa: E402  # after the skip

from torchlike.nn.utils import rnn as ours  # noqa: E402  # after the skip

LAYERS = [
    (name, options)
    for name, layers, both, first, bias in itertools.product(
        ("LSTM", "GRU", "RNN"), (1, 2), (False, True), (False, True), (True, False)
    )
    for options in [{"num_layers": layers, "bidirectional": both, "batch_first": first, "bias": bias}]
] + [("LSTM", {"proj_size": 2, "bidirectional": True}), ("RNN", {"nonlinearity": "relu"})]


def make(name, *args, **options):
    """Return torch's layer and ours with the same weights."""
    layer = getattr(torch.nn, name)(*args, dtype=torch.float64, **options)
    mine = getattr(torchlike.nn, name)(*args, dtype=torchlike.float64, **options)
    mine.load_state_dict({key: copy(value) for key, value in layer.state_dict().items()})
    return layer, mine


def copy(value):
    return torchlike.from_numpy(value.detach().numpy().copy())


def flatten(value):
    """Return the tensors in nested results."""
    if isinstance(value, (tuple, list)):
        return [each for part in value for each in flatten(part)]
    return [] if value is None else [value]


def agree(wanted, found):
    wanted, found = flatten(wanted), flatten(found)
    assert len(wanted) == len(found)
    for one, other in zip(wanted, found, strict=True):
        assert tuple(one.shape) == tuple(other.shape) and one.stride() == tuple(other.stride())
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-9, atol=1e-12)


def run_backward(results, parameters):
    sum((each * each).sum() for each in flatten(results)).backward()
    return [each.grad for each in parameters]


@pytest.mark.parametrize(("name", "options"), LAYERS)
def test_layers_agree_on_values_and_gradients(name, options):
    torch.manual_seed(0)
    layer, mine = make(name, 3, 4, **options)
    assert repr(layer) == repr(mine)
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    wanted, found = layer(x), mine(copy(x))
    agree(wanted, found)
    agree(run_backward(wanted, layer.parameters()), run_backward(found, mine.parameters()))
    agree(layer(x[0]), mine(copy(x[0])))


@pytest.mark.parametrize(("name", "options"), LAYERS[::4])
def test_packed_sequences_agree(name, options):
    torch.manual_seed(1)
    layer, mine = make(name, 3, 4, **options)
    parts = [torch.randn(length, 3, dtype=torch.float64) for length in (2, 4, 1)]
    packed = theirs.pack_sequence(parts, enforce_sorted=False)
    ours_packed = ours.pack_sequence([copy(part) for part in parts], enforce_sorted=False)
    agree(packed, ours_packed)
    wanted, found = layer(packed), mine(ours_packed)
    agree([tuple(wanted[0]), wanted[1]], [tuple(found[0]), found[1]])
    first = options.get("batch_first", False)
    agree(theirs.pad_packed_sequence(wanted[0], first, -1.0, 6), ours.pad_packed_sequence(found[0], first, -1.0, 6))
    agree(theirs.unpack_sequence(packed), ours.unpack_sequence(ours_packed))
    state = torch.randn(layer.num_layers * (1 + layer.bidirectional), 3, 4, dtype=torch.float64)
    given = (state[..., : layer.proj_size or 4], state) if name == "LSTM" else state
    mine_given = tuple(map(copy, given)) if name == "LSTM" else copy(given)
    agree(layer(packed, given)[1], mine(ours_packed, mine_given)[1])
    agree(
        run_backward([wanted[0].data, wanted[1]], layer.parameters()),
        run_backward([found[0].data, found[1]], mine.parameters()),
    )


@pytest.mark.parametrize(("name", "options"), LAYERS[:32:3])
def test_layers_of_single_precision_agree(name, options):
    torch.manual_seed(3)
    layer, mine = getattr(torch.nn, name)(3, 4, **options), getattr(torchlike.nn, name)(3, 4, **options)
    mine.load_state_dict({key: copy(value) for key, value in layer.state_dict().items()})
    x = torch.randn(5, 2, 3).requires_grad_()
    ours = copy(x).requires_grad_()
    wanted, found = layer(x), mine(ours)
    grads = run_backward(wanted, [*layer.parameters(), x])
    for one, other in zip(
        [*flatten(wanted), *grads], [*flatten(found), *run_backward(found, [*mine.parameters(), ours])], strict=True
    ):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells_agree(name, bias):
    torch.manual_seed(2)
    cell, mine = make(name, 3, 4, bias=bias)
    assert repr(cell) == repr(mine)
    for x in (torch.randn(2, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)):
        wanted, found = cell(x), mine(copy(x))
        agree(wanted, found)
        state = tuple(map(copy, wanted)) if name == "LSTMCell" else copy(wanted)
        agree(cell(x, wanted), mine(copy(x), state))


def test_layers_begin_with_torchs_weights():
    torch.manual_seed(7)
    torchlike.manual_seed(7)
    wanted, found = torch.nn.LSTM(3, 4, 2, bidirectional=True), torchlike.nn.LSTM(3, 4, 2, bidirectional=True)
    assert [name for name, _ in wanted.named_parameters()] == [name for name, _ in found.named_parameters()]
    agree(list(wanted.parameters()), list(found.parameters()))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_padding_agrees(batch_first, side):
    parts = [torch.arange(2 * length).reshape(length, 2) for length in (3, 1, 2)]
    agree(
        theirs.pad_sequence(parts, batch_first, 9, side),
        ours.pad_sequence(list(map(copy, parts)), batch_first, 9, side),
    )


REFUSED = {
    "rank": lambda t, layer: layer(t.zeros(1, 1, 1, 3)),
    "width": lambda t, layer: layer(t.zeros(2, 1, 5)),
    "dtype": lambda t, layer: layer(t.zeros(2, 1, 3, dtype=t.float32)),
    "state": lambda t, layer: layer(t.zeros(2, 1, 3, dtype=t.float64), t.zeros(2, 1, 4, dtype=t.float64)),
    "state dtype": lambda t, layer: t.nn.GRU(3, 4)(t.zeros(2, 1, 3), t.zeros(1, 1, 4, dtype=t.bfloat16)),
    "state rank": lambda t, layer: layer(t.zeros(2, 3, dtype=t.float64), t.zeros(1, 1, 4, dtype=t.float64)),
    "dropout": lambda t, layer: t.nn.GRU(3, 4, dropout=2),
    "proj_size": lambda t, layer: t.nn.GRU(3, 4, proj_size=2),
    "hidden_size": lambda t, layer: t.nn.LSTM(3, 0),
    "nonlinearity": lambda t, layer: t.nn.RNN(3, 4, nonlinearity="sin"),
    "cell": lambda t, layer: t.nn.GRUCell(3, 4)(t.zeros(1, 1, 3)),
    "lengths": lambda t, layer: t.nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2), t.tensor([1, 2])),
    "batch": lambda t, layer: t.nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2), [3]),
    "zero": lambda t, layer: t.nn.utils.rnn.pack_padded_sequence(t.zeros(3, 2), [1, 0]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_agree(case):
    layer, mine = make("GRU", 3, 4)
    with pytest.raises(Exception) as wanted:  # the oracle's error is compared
        REFUSED[case](torch, layer)
    with pytest.raises(type(wanted.value)) as found:
        REFUSED[case](torchlike, mine)
    text = str(wanted.value).replace("torch.", "torchlike.")
    assert text.splitlines()[0][:60] in str(found.value)
