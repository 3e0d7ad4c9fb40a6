"""Files of quantized networks, whole or as states, from torch to torchlike and back."""

import inspect
import io
from importlib import import_module

import numpy as np
import pytest
from quantized_models import both, draw, equal_states, fill

import torchlike
from torchlike.serialization.torch_files.names import Name, find_name, find_value

torch = pytest.importorskip("torch", reason="parity needs torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's, that all of this has moved


def make_dynamic(t, dtype, seed=0):
    nn = t.nn
    layers = {"lstm": nn.LSTM(6, 8, 2, bidirectional=True), "gru": nn.GRU(6, 8), "linear": nn.Linear(6, 4)}
    layers |= {"step": nn.LSTMCell(6, 8), "small": nn.GRUCell(6, 8), "plain": nn.RNNCell(6, 8)}
    return t.ao.quantization.quantize_dynamic(fill(t, nn.ModuleDict(layers), seed), dtype=getattr(t, dtype))


def run_dynamic(t, model):
    x = draw(t, 5, 3, 6, seed=9)
    whole = [model["lstm"](x)[0], model["gru"](x)[0], model["linear"](x)]
    return [
        each.detach().numpy() for each in (*whole, model["step"](x[0])[0], model["small"](x[0]), model["plain"](x[0]))
    ]


def pass_on(value, source, target, **options):
    file = io.BytesIO()
    source.save(value, file)
    file.seek(0)
    return target.load(file, **options)


def directions(ours, theirs):
    return (torch, torchlike, theirs, ours), (torchlike, torch, ours, theirs)


@pytest.mark.parametrize("dtype", ["qint8", "float16"])
def test_states_of_layers_quantized_dynamically_cross(dtype):
    for at, (source, target) in enumerate(((torch, torchlike), (torchlike, torch))):
        given, taker = (make_dynamic(t, dtype, seed) for t, seed in ((source, 0), (target, 5)))
        found = taker.load_state_dict(pass_on(given.state_dict(), source, target, weights_only=False))
        assert not found.missing_keys and not found.unexpected_keys
        equal_states(*((given, taker) if at else (taker, given)))
        for mine, yours in zip(run_dynamic(target, taker), run_dynamic(source, given), strict=True):
            np.testing.assert_allclose(mine, yours, rtol=2e-3, atol=2e-3)


def test_packed_parameters_are_refused_where_the_program_does_not_trust_the_file():
    ours, theirs = both(lambda t: make_dynamic(t, "qint8"))
    for source, target, given, _ in directions(ours, theirs):
        for reader in source, target:
            with pytest.raises(Exception, match="ScriptObject"):
                pass_on(given.state_dict(), source, reader, weights_only=True)
    with torchlike.serialization.safe_globals([torchlike.ScriptObject]):
        state = pass_on(theirs["step"].state_dict(), torch, torchlike, weights_only=True)
    assert type(state["_packed_weight_ih"]) is torchlike.quantized.LinearPackedParamsBase


@pytest.mark.parametrize("dtype", ["qint8", "float16"])
def test_whole_networks_quantized_dynamically_cross(dtype):
    ours, theirs = both(lambda t: make_dynamic(t, dtype))
    for source, target, given, _ in directions(ours, theirs):
        found = pass_on(given, source, target, weights_only=False)
        for mine, yours in zip(run_dynamic(target, found), run_dynamic(source, given), strict=True):
            np.testing.assert_allclose(mine, yours, rtol=2e-3, atol=2e-3)


def quantize_layers(t, layers, shape):
    q = t.ao.quantization
    model = q.QuantWrapper(fill(t, layers)).eval()
    model.qconfig = q.get_default_qconfig("fbgemm")
    q.prepare(model, inplace=True)
    model(draw(t, *shape))
    return q.convert(model)


def test_whole_quantized_networks_cross():
    def make(t):
        nn = t.nn
        layers = nn.Linear(6, 4), nn.ELU(), nn.LeakyReLU(), nn.LayerNorm(4), nn.Hardswish(), nn.Dropout(), nn.Sigmoid()
        return quantize_layers(t, nn.Sequential(*layers), (3, 6))

    ours, theirs = both(make)
    for source, target, given, _ in directions(ours, theirs):
        found = pass_on(given, source, target, weights_only=False)
        np.testing.assert_array_equal(
            found(draw(target, 3, 6, seed=7)).numpy(), given(draw(source, 3, 6, seed=7)).numpy()
        )


@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "Conv3d"])
def test_whole_quantized_convolutions_cross(kind):
    # torch cannot call one that it has read, its own neither: it lacks hooks.
    shape = (2, 4, *[6] * int(kind[-2]))

    def make(t):
        layer = getattr(t.nn, kind)(4, 6, 3, padding=1, groups=2, stride=2)
        return quantize_layers(t, t.nn.Sequential(layer), shape)

    ours, theirs = both(make)
    for source, target, given, _ in directions(ours, theirs):
        found = pass_on(given.module[0], source, target, weights_only=False)
        np.testing.assert_array_equal(found.weight().int_repr().numpy(), given.module[0].weight().int_repr().numpy())
        assert found.padding == given.module[0].padding and found.scale == given.module[0].scale
        if target is torchlike:
            x = [t.quantize_per_tensor(draw(t, *shape), 0.01, 128, t.quint8) for t in (torchlike, torch)]
            np.testing.assert_array_equal(found(x[0]).int_repr().numpy(), given.module[0](x[1]).int_repr().numpy())


def test_packed_parameters_cross():
    def make(t):
        ops, weight = t.ops.quantized, draw(t, 4, 2, 3)
        rows = t.quantize_per_channel(weight, t.tensor([0.1, 0.2, 0.1, 0.3]), t.tensor([0, 0, 0, 0]), 0, t.qint8)
        plain = t.quantize_per_tensor(weight, 0.1, 0, t.qint8)
        scales = t.tensor([0.1, 0.2, 0.1, 0.3]), t.tensor([0.5, 1.0, 0.0, 2.0])
        return [
            ops.linear_prepack(rows[:, 0], draw(t, 4)),
            ops.linear_prepack(plain[:, 0], None),
            ops.conv1d_prepack(rows, None, [2], [1], [3], 1),
            ops.conv2d_prepack(rows.unsqueeze(2), draw(t, 4), [1, 2], [3, 4], [5, 6], 2),
            ops.conv3d_prepack(plain.unsqueeze(2).unsqueeze(2), draw(t, 4), [1, 2, 3], [1, 1, 2], [1, 1, 2], 1),
            ops.conv_transpose2d_prepack(plain.unsqueeze(2), None, [1, 2], [3, 4], [0, 1], [7, 8], 1),
            ops.embedding_bag_prepack(t.quantize_per_channel(weight[:, 0], *scales, 0, t.quint8)),
        ]

    def describe(value):
        if isinstance(value, (tuple, list)):
            return [describe(each) for each in value]
        if not isinstance(value, (torch.Tensor, torchlike.Tensor)):
            return value
        return describe(value.int_repr()) if value.is_quantized else value.tolist()

    ours, theirs = both(make)
    for source, target, given, taken in directions(ours, theirs):
        for one, other in zip(pass_on(given, source, target, weights_only=False), taken, strict=True):
            assert type(one) is type(other) and one._type() == other._type()
            assert describe(one.__getstate__()) == describe(other.__getstate__())


PACKAGES = (
    "nn.quantized nn.quantized.dynamic nn.qat nn.qat.dynamic nn.intrinsic nn.intrinsic.qat nn.intrinsic.quantized"
    " nn.intrinsic.quantized.dynamic nn.quantizable quantization"
).split()


@pytest.mark.parametrize("package", PACKAGES)
def test_classes_of_quantization_are_found_by_the_names_in_files(package):
    ours, theirs = (import_module(f"{top}.ao.{package}") for top in ("torchlike", "torch"))
    names = [name for name in ours.__all__ if hasattr(theirs, name)]
    assert names
    for name in names:
        mine, yours = getattr(ours, name), getattr(theirs, name)
        if inspect.isclass(yours) or inspect.isfunction(yours):
            assert find_value(Name(yours.__module__, yours.__qualname__)) is mine
            written = find_name(mine)
            assert getattr(import_module(written.module), written.name) is yours
