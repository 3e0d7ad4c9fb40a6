"""Quantized tensors beside torch's: integers, scales, zero points and dtypes are equal.

torch rounds the elements behind its last whole block of 128 in another way, so the tensors are whole blocks where an
operator rounds.
"""

import io
import warnings

import numpy as np
import pytest
import torch

import torchlike

warnings.filterwarnings("ignore", message=".*quantize_per_tensor.*", category=UserWarning)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
DTYPES = ["qint8", "quint8", "qint32"]
#: Expressions on a tensor q of (2, 4, 8, 16) that is quantized as a whole, x the numbers, t the library, F its functional.
WHOLE = """
q.clone(); q.view(-1); q.reshape(4, -1); q.transpose(0, 1); q.permute(0, 2, 3, 1); q[0]; q[:, 1]; q[:, 1:3]; q[..., ::2]
q.select(0, 1); q.narrow(2, 1, 2); q.unsqueeze(0); q[:1].squeeze(0); q.flatten(2); q.unflatten(1, (2, 2))
q[:1].expand(3, 4, 8, 16); q.contiguous(memory_format=t.channels_last); q.detach(); q.flip(0); q.flip([2, 3])
q.index_select(1, t.tensor([1, 0, 1])); q[t.tensor([1, 0])]; q[:, t.tensor([True, False, True, True])]; q[x > 0]
q.unbind(1); q.split(3, 2); q.chunk(2, 1); q.unfold(2, 2, 1); q.repeat(2, 1, 1, 1); q.repeat_interleave(2, 0)
q[0, 0].t(); q.mT; q.movedim(0, 1); q.as_strided((2, 2), (1, 2)); q.diagonal(); q.rot90(); t.cat([q, q]); t.stack([q, q], 1)
t.cat([q, r]); t.cat([r, q], 2); t.hstack([q, r]); t.stack([q, r]); t.relu(q); F.relu6(q); F.hardtanh(q, -0.55, 0.35)
q.clamp(-0.55, 0.35); q.clamp(min=0.2); q.clamp(max=0.5); F.leaky_relu(q, 0.1); F.leaky_relu(q.clone(), 0.1, True)
q.sigmoid(); F.hardsigmoid(q); F.gelu(q); F.gelu(q, approximate="tanh"); F.threshold(q, 0.5, 1.0); q.clone().relu_()
q.mean(); q.mean(dim=1); q.mean((2, 3)); q.mean((2, 3), keepdim=True); q.mean(-1); q.std(1); q.std((2, 3), unbiased=False)
q.max(); q.min(); q.max(1); q.min(2); q.max(-1, True); q.sort(dim=1, stable=True)[0]; q.topk(2)[0]; q.topk(2, 1, False)[0]
F.max_pool1d(q[0], 2); F.max_pool2d(q, 2); F.max_pool2d(q, 3, 2, 1); F.max_pool2d(q, 2, ceil_mode=True)
F.avg_pool1d(q[0], 2); F.avg_pool2d(q, 2); F.avg_pool2d(q, 3, 2, 1); F.avg_pool2d(q, 3, 2, 1, count_include_pad=False)
F.avg_pool2d(q, 3, 2, 1, False, True, 5); F.adaptive_avg_pool1d(q[0], 2); F.adaptive_avg_pool2d(q, (2, 3))
F.adaptive_avg_pool2d(q, 1); F.interpolate(q, scale_factor=2); F.interpolate(q, size=(4, 9))
F.interpolate(q, scale_factor=2, mode="bilinear"); F.interpolate(q, size=(5, 9), mode="bilinear", align_corners=True)
F.interpolate(q, scale_factor=2, mode="nearest-exact"); F.pixel_shuffle(q, 2); F.pixel_unshuffle(q, 2)
F.pad(q, (1, 1)); F.pad(q, (1, 1), value=1.0); F.pad(q, (1, 1, 1, 1), mode="reflect"); q == q; q == 0.5; q > 0; q >= r; q < x
q != 1; q <= t.tensor(0.0); t.equal(q, q); t.equal(q, r); q.masked_fill(x > 0, 0.5); q.clone().masked_fill_(x > 0, 0.5)
q.clone().fill_(1.0); q.clone().copy_(r); q.clone().copy_(x); t.full_like(q, 1.0); q[0, 0, 0, 0].item(); q.stride(); len(q)
F.embedding(t.tensor([1, 0]), q[0, 0]); q.index_put((t.tensor([0]),), t.tensor(1.0)); write(q.clone(), 0, 1.0)
write(q.clone(), 0, q[1]); write(q.clone(), x > 0, 0.0); q.clone().transpose_(0, 1); q.clone().unsqueeze_(0); q.to("cpu")
q.dequantize(); q.int_repr(); q.q_scale(); q.q_zero_point(); t.dequantize([q, r]); list(q[0, 0, 0])[0]; q.type_as(q)
t.quantized_max_pool2d(q, [2, 2]); t.quantized_max_pool1d(q[0], [2]); t.quantized_max_pool2d(q, [3, 3], [2, 2], [1, 1])
q.element_size(); q.nbytes; q.numel(); q.is_floating_point(); float(q[0, 0, 0, 0]); bool(q[0, 0, 0, 0]); q.squeeze_()
"""
#: The same for a tensor whose channels, of dimension 1, have parameters of their own.
CHANNELS = """
q.clone(); q[0]; q[:, 1]; q[:, 1:3]; q[..., ::2]; q[1:]; q.select(0, 1); q.narrow(1, 1, 2); q.unsqueeze(0); q.unsqueeze(-1)
q[:1].squeeze(0); q.flatten(2); q.contiguous(); q.detach(); q.unbind(0); q.unbind(1); q.split(3, 2); q.chunk(2, 1)
q.view(2, 4, -1); q == q; q > 0; q < x; t.equal(q, q); q.clone().fill_(1.0); q.clone().copy_(x); q.dequantize(); q.int_repr()
q.q_per_channel_scales(); q.q_per_channel_zero_points(); q.q_per_channel_axis(); write(q.clone(), 0, 1.0)
q[0, 0, 0, 0].item()
"""
#: Views that no channels outlast, and questions for another scheme.
REFUSED = """
q.transpose(1, 2); q.permute(0, 2, 3, 1); q.expand(2, 2, 4, 8, 16); q.flip(0); q.index_select(0, t.tensor([1]))
q[t.tensor([1, 0])]; q.repeat(2, 1, 1, 1); t.cat([q, q]); q.q_scale(); q.q_zero_point(); q.float(); q.to(t.int8)
x.clone().copy_(q); q.requires_grad_(); t.nn.Parameter(q)
"""


def _list(text):
    return [each.strip() for line in text.strip().splitlines() for each in line.split("; ")]


def write(tensor, index, value):
    tensor[index] = value
    return tensor


def draw(seed, dtype, per_channel=False):
    """Return the facts of a quantized tensor of (2, 4, 8, 16), as both libraries take them."""
    generator = np.random.default_rng(seed)
    low, high = (torch.iinfo(getattr(torch, dtype)).min, torch.iinfo(getattr(torch, dtype)).max)
    low, high = max(low, -1000), min(high, 1000)
    numbers = (generator.standard_normal((2, 4, 8, 16)) * 3).astype(np.float32)
    count = 4 if per_channel else 1
    scales = generator.choice([0.05, 0.1, 0.125, 0.07, 1 / 3, 0.033], count)
    points = generator.integers(low // 4, high // 4, count)
    return numbers, scales, points


def make(library, facts, dtype, per_channel=False):
    numbers, scales, points = facts
    kind = getattr(library, dtype)
    if per_channel:
        scales, points = library.tensor(scales.tolist(), dtype=library.float64), library.tensor(points.tolist())
        return library.quantize_per_channel(library.tensor(numbers), scales, points, 1, kind)
    return library.quantize_per_tensor(library.tensor(numbers), float(scales[0]), int(points[0]), kind)


def facts_of(value):
    """Return what is compared of a result."""
    if isinstance(value, (list, tuple)):
        return [facts_of(each) for each in value]
    if not isinstance(value, (torch.Tensor, torchlike.Tensor)):
        return repr(value).replace("torchlike.", "torch.")
    name = str(value.dtype).replace("torch.", "")
    shape = tuple(value.shape)
    steps = [step for size, step in zip(shape, value.stride(), strict=True) if size > 1]
    if not value.is_quantized:
        return name, shape, value.tolist()
    scheme = repr(value.qscheme()).replace("torchlike.", "torch.")
    if "tensor" in scheme:
        parameters = value.q_scale(), value.q_zero_point()
    else:
        channels = value.q_per_channel_scales().tolist(), value.q_per_channel_zero_points().tolist()
        parameters = *channels, value.q_per_channel_axis()
    return name, shape, steps, scheme, parameters, value.int_repr().tolist()


def run(library, expression, seed, dtype, per_channel=False):
    q = make(library, draw(seed, dtype, per_channel), dtype, per_channel)
    r = make(library, draw(seed + 1, dtype), dtype)
    x = library.tensor(draw(seed + 2, dtype)[0])
    functional = library.nn.functional
    names = {"t": library, "F": functional, "q": q, "r": r, "x": x, "write": write}
    return eval(expression, names)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", _list(WHOLE))
def test_a_tensor_that_is_quantized_as_a_whole(expression, dtype):
    if dtype == "qint32" and "sigmoid" in expression:
        pytest.skip("2 ** 32 steps are finer than float32")
    for seed in (0, 10, 20):
        try:
            wanted = run(torch, expression, seed, dtype)
        except (NotImplementedError, RuntimeError) as error:
            if dtype == "qint32":
                pytest.skip(f"torch refuses it for qint32: {error}")
            raise
        assert facts_of(run(torchlike, expression, seed, dtype)) == facts_of(wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", _list(CHANNELS))
def test_a_tensor_that_is_quantized_per_channel(expression, dtype):
    for seed in (0, 10):
        wanted = run(torch, expression, seed, dtype, True)
        assert facts_of(run(torchlike, expression, seed, dtype, True)) == facts_of(wanted)


@pytest.mark.parametrize("expression", _list(REFUSED))
def test_what_torch_refuses_of_channels_is_refused(expression):
    with pytest.raises(RuntimeError):
        run(torch, expression, 0, "qint8", True)
    with pytest.raises(RuntimeError):
        run(torchlike, expression, 0, "qint8", True)


def _build(t):
    x = t.tensor([[1.0, 2.0, -3.0], [0.5, 0.0, 9.0]])
    q = t.quantize_per_tensor(x, 0.1, 10, t.quint8)
    c = t.quantize_per_channel(x, t.tensor([0.1, 0.2]), t.tensor([1, 2]), 0, t.qint8)
    rows = t.quantize_per_channel(x, t.tensor([0.1, 0.2]), t.tensor([1.5, 2.0]), 0, t.quint8)
    wide = t.quantize_per_tensor(x, 0.1, 10, t.qint32)
    made = {"q": q, "part": q[1:], "turned": q.t(), "c": c, "rows": rows, "wide": wide, "x": x}
    return made | {"parameter": t.nn.Parameter(c, False)}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    ("writer", "reader"), [(torch, torchlike), (torchlike, torch), (torchlike, torchlike)], ids=["read", "write", "own"]
)
def test_files_and_texts_are_torchs(writer, reader, weights_only):
    file = io.BytesIO()
    writer.save({"tensors": _build(writer), "scheme": writer.per_channel_affine, "dtype": writer.qint8}, file)
    file.seek(0)
    found = reader.load(file, weights_only=weights_only)
    assert found["scheme"] is reader.per_channel_affine and found["dtype"] is reader.qint8
    wanted = _build(torch)
    for name, value in found["tensors"].items():
        assert facts_of(value) == facts_of(wanted[name])
        assert repr(value).replace("torchlike", "torch") == repr(wanted[name])
    assert isinstance(found["tensors"]["parameter"], reader.nn.Parameter)


DYNAMIC = [[-1.0, 0.0, 5.3], [1.0, 5.3], [-3.0, -1.0], [0.0, 0.0], [1e-9], [1e-38, -1e-38], [1e30, 1.0]]


@pytest.mark.parametrize("dtype", ["qint8", "quint8"])
@pytest.mark.parametrize("numbers", DYNAMIC, ids=str)
def test_dynamic_parameters(numbers, dtype):
    for reduce_range in (False, True):
        wanted, found = (
            t.quantize_per_tensor_dynamic(t.tensor(numbers), getattr(t, dtype), reduce_range)
            for t in (torch, torchlike)
        )
        assert facts_of(found) == facts_of(wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_and_saturation(dtype):
    generator = np.random.default_rng(3)
    for scale, point in ((0.1, 3), (0.07, 0), (1 / 3, 77), (0.0123, 5)):
        halves = ((generator.integers(-300, 300, 4096) + 0.5) * np.float32(scale)).astype(np.float32)
        halves[:6] = [np.nan, np.inf, -np.inf, 1e20, -1e20, 0.0]
        wanted, found = (
            t.quantize_per_tensor(t.tensor(halves), scale, point, getattr(t, dtype)) for t in (torch, torchlike)
        )
        assert facts_of(found) == facts_of(wanted)
        both = [
            t.quantize_per_channel(
                t.tensor(halves[6:4006].reshape(4, -1)),
                t.tensor([scale, 0.1, 0.3, 1.0]),
                t.tensor([point, 0, 1, 2]),
                0,
                getattr(t, dtype),
            )
            for t in (torch, torchlike)
        ]
        assert facts_of(both[1]) == facts_of(both[0])
        assert both[1].dequantize().tolist() == both[0].dequantize().tolist()


def _pack(t, x):
    return t.ops.quantized.linear_prepack(t.quantize_per_tensor(x, 0.1, 0, t.qint8))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t, x: t.quantize_per_tensor(x.double(), 0.1, 0, t.qint8),
        lambda t, x: t.quantize_per_tensor(x, 0.1, 300, t.qint8),
        lambda t, x: t.quantize_per_tensor(x, 0.1, 0, t.int8),
        lambda t, x: t.quantize_per_tensor(x.int(), 0.1, 0, t.qint8),
        lambda t, x: t.quantize_per_channel(x, t.tensor([0.1]), t.tensor([0]), 0, t.qint8),
        lambda t, x: t.quantize_per_channel(x, t.tensor([0.1, 0.2]), t.tensor([0, 0]), 4, t.qint8),
        lambda t, x: t.quantize_per_tensor_dynamic(x, t.qint32, False),
        lambda t, x: t.quantize_per_tensor_dynamic(x * float("inf"), t.qint8, False),
        lambda t, x: x.q_scale(),
        lambda t, x: x.int_repr(),
        lambda t, x: x.qscheme(),
        lambda t, x: t._make_per_tensor_quantized_tensor(x, 0.1, 0),
        lambda t, x: t.nn.Parameter(t.quantize_per_tensor(x, 0.1, 0, t.qint8)),
        lambda t, x: t.quantize_per_tensor(x, 0.1, 0, t.qint8).requires_grad_(),
        lambda t, x: t.quantize_per_tensor(x, 0.1, 0, t.qint8).q_per_channel_scales(),
        lambda t, x: t.quantize_per_tensor(x, 0.1, 0, t.qint8).copy_(t.quantize_per_tensor(x, 0.1, 0, t.quint8)),
        lambda t, x: t.ops.quantized.linear(
            x, t.ops.quantized.linear_prepack(t.quantize_per_tensor(x, 0.1, 0, t.qint8)), 1.0, 0
        ),
        lambda t, x: t.ops.quantized.linear_prepack(x),
        lambda t, x: t.quantize_per_tensor(x, 0.1, 0, t.qint8).numpy(),
    ],
)
def test_refusals_have_torchs_class(wrong):
    with pytest.raises((RuntimeError, NotImplementedError, TypeError)) as wanted:
        wrong(torch, torch.tensor([[1.0, -2.0], [0.5, 3.0]]))
    with pytest.raises(wanted.type):
        wrong(torchlike, torchlike.tensor([[1.0, -2.0], [0.5, 3.0]]))
