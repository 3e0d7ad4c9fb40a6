"""Operators of quantized tensors with parameters of their own, ``ops.quantized``, beside torch's: integers are equal."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from test_quantized import facts_of

import torchlike

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
LIBRARIES = (torch, torchlike)


def numbers(seed, *shape, size=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * size).astype(np.float32)


def quantize(t, array, scale=0.05, zero_point=7, dtype="quint8"):
    return t.quantize_per_tensor(t.tensor(array), scale, zero_point, getattr(t, dtype))


def channels(t, array, seed, axis=0, zero_points=False, dtype="qint8"):
    draw = np.random.default_rng(seed)
    scales = draw.uniform(0.002, 0.02, array.shape[axis])
    points = draw.integers(-5, 6, array.shape[axis]) if zero_points else np.zeros(array.shape[axis], int)
    scales, points = t.tensor(scales.tolist(), dtype=t.float64), t.tensor(points.tolist())
    return t.quantize_per_channel(t.tensor(array), scales, points, axis, getattr(t, dtype))


def compare(build):
    wanted, found = (facts_of(build(t)) for t in LIBRARIES)
    assert found == wanted


ELEMENTWISE = """
Q.add(q, r, 0.13, 9); Q.add_relu(q, r, 0.13, 9); Q.mul(q, r, 0.3, 4); Q.mul_relu(q, r, 0.3, 4); Q.add(q, q, 0.1, 0)
Q.add(q, 0.5); Q.add(q, 100.0); Q.add(q, -100.0); Q.add_relu(q, 0.5); Q.add(0.25, q); Q.add_relu(q, 100.0)
Q.mul(q, 2.0); Q.mul(q, -0.5); Q.mul(q, 0.0); Q.mul_relu(q, 2.0); Q.mul_relu(q, -0.5); Q.mul(0.25, q)
Q.add_scalar(q, 0.5); Q.mul_scalar(q, 0.5); Q.add_scalar_relu(q, 0.5); Q.mul_scalar_relu(q, -0.5)
Q.add(q, r, out=r.clone()); Q.mul(q, r, out=r.clone()); Q.add_out(q, r, r.clone()); Q.mul_relu_out(q, r, r.clone())
Q.cat([q, r], 1, 0.1, 3); Q.cat([q, r], 0, None, None); Q.cat_relu([q, r], 2, 0.1, 3); Q.hardswish(q, 0.07, 3)
Q.sigmoid(q, 0.01, 2); Q.elu(q, 0.07, 20, 0.7); Q.celu(q, 0.07, 20, 0.7); Q.leaky_relu(q, 0.2, False, 0.07, 20)
Q.softmax(q, 1, 1 / 256, 0); Q.relu6(q); Q.clamp(q, -0.3, 0.8); Q.threshold(q, 0.3, 0.1); Q.dropout(q, 0.1, 2)
Q.max_pool2d(q, [2, 2], [2, 2], [0, 0], [1, 1], False); Q.max_pool1d(q[0], [2], [2], [0], [1], False)
Q.matmul(q, r.transpose(2, 3), 0.4, 60); Q.cat_out([q, r], 0, q.repeat(2, 1, 1, 1))
Q.cat_relu_out([q, r], 1, q.repeat(1, 2, 1, 1))
Q.add_scalar_out(q, 0.5, r.clone()); Q.mul_scalar_out(q, -0.5, r.clone()); Q.add_scalar_relu_out(q, 100.0, r.clone())
Q.mul_scalar_relu_out(q, 2.0, r.clone()); Q.add(q, 0.5, out=r.clone()); Q.mul_relu(q, 2.0, out=r.clone())
"""


@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
@pytest.mark.parametrize(
    "expression", [each.strip() for line in ELEMENTWISE.strip().splitlines() for each in line.split("; ")]
)
def test_element_wise_operators(expression, dtype):
    if "max_pool1d" in expression and dtype == "qint8":
        pytest.skip("as quint8")

    def build(t, seed):
        q = quantize(t, numbers(seed, 2, 4, 8, 16), dtype=dtype)
        r = quantize(t, numbers(seed + 1, 2, 4, 8, 16), 0.11, 3, dtype)
        return eval(expression, {"Q": t.ops.quantized, "q": q, "r": r})

    for seed in (0, 5):
        compare(partial(build, seed=seed))


LINEAR = [(3, 7, 5), (33, 511, 16), (9, 512, 16), (5, 513, 8), (5, 515, 8), (4, 4096, 8)]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("sizes", LINEAR)
def test_linear_layers(sizes, per_channel):
    rows, inner, outputs = sizes

    def build(t):
        q = quantize(t, numbers(0, rows, inner), 0.03, 111)
        weight = numbers(1, outputs, inner, size=0.3)
        w = channels(t, weight, 2) if per_channel else quantize(t, weight, 0.01, 3, "qint8")
        found = []
        for bias in (None, t.tensor(numbers(3, outputs))):
            packed = t.ops.quantized.linear_prepack(w, bias)
            found += [t.ops.quantized.linear(q, packed, 0.2, 97), t.ops.quantized.linear_relu(q, packed, 0.2, 97)]
            found += [*t.ops.quantized.linear_unpack(packed)]
        return found

    compare(build)


@pytest.mark.parametrize("inner", [511, 512, 513, 515, 4096])
def test_products_of_extreme_numbers_are_exact(inner):
    def build(t):
        x = t.full((2, inner), 255, dtype=t.uint8)
        x[1] = 0
        q = t._make_per_tensor_quantized_tensor(x, 1.0, 0)
        w = t.full((2, inner), -128, dtype=t.int8)
        w[1] = 127
        w[1, 0] = 126
        packed = t.ops.quantized.linear_prepack(t._make_per_tensor_quantized_tensor(w, 1.0, 0), None)
        # One step of the output is one unit of the sum, around each of the two extreme sums.
        return [t.ops.quantized.linear(q, packed, float(2 * 255 * 128 * inner // 255), 128), _sums(t, q, packed)]

    compare(build)


def _sums(t, q, packed):
    return t.ops.quantized.linear_dynamic(q.dequantize(), packed)


@pytest.mark.parametrize("reduce_range", [False, True])
def test_dynamic_layers(reduce_range):
    def build(t):
        w = channels(t, numbers(1, 16, 40, size=0.3), 2)
        packed = t.ops.quantized.linear_prepack(w, t.tensor(numbers(3, 16)))
        x = t.tensor(numbers(0, 2, 5, 40))
        return [
            t.ops.quantized.linear_dynamic(x, packed, reduce_range),
            t.ops.quantized.linear_relu_dynamic(x, packed, reduce_range),
        ]

    wanted, found = (build(t) for t in LIBRARIES)
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-5)


CONVOLUTIONS = [
    # dims, channels in, out, kernel, stride, padding, dilation, groups
    (1, 4, 6, 3, 1, 0, 1, 1),
    (1, 4, 8, 3, 2, 1, 1, 2),
    (2, 4, 6, 3, 1, 1, 1, 1),
    (2, 8, 8, 3, 2, 1, 1, 8),
    (2, 64, 16, 3, 1, 1, 2, 1),
    (2, 8, 16, 1, 1, 0, 1, 2),
    (3, 4, 6, 3, 1, 1, 1, 1),
]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case, per_channel):
    dims, inputs, outputs, kernel, stride, padding, dilation, groups = case
    torch.backends.quantized.engine = "fbgemm"

    def build(t):
        quantized = t.ops.quantized
        q = quantize(t, numbers(0, 2, inputs, *[9] * dims), 0.03, 111)
        weight = numbers(1, outputs, inputs // groups, *[kernel] * dims, size=0.3)
        w = channels(t, weight, 2) if per_channel else quantize(t, weight, 0.01, 0, "qint8")
        sizes = [stride] * dims, [padding] * dims, [dilation] * dims, groups
        found = []
        for bias in (None, t.tensor(numbers(3, outputs))):
            packed = getattr(quantized, f"conv{dims}d_prepack")(w, bias, *sizes)
            for name in (f"conv{dims}d", f"conv{dims}d_relu"):
                found.append(getattr(quantized, name)(q, packed, 0.1, 97))
            found += [*getattr(quantized, f"conv{dims}d_unpack")(packed)]
            found += [packed.stride(), packed.padding(), packed.dilation(), packed.groups(), packed.transpose()]
        return found

    compare(build)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolutions(dims):
    torch.backends.quantized.engine = "fbgemm"

    def build(t):
        quantized = t.ops.quantized
        q = quantize(t, numbers(0, 2, 4, *[5] * dims), 0.03, 111)
        w = quantize(t, numbers(1, 4, 6, *[3] * dims, size=0.3), 0.01, 0, "qint8")
        packed = getattr(quantized, f"conv_transpose{dims}d_prepack")(
            w, t.tensor(numbers(3, 6)), [2] * dims, [1] * dims, [1] * dims, [1] * dims, 1
        )
        return getattr(quantized, f"conv_transpose{dims}d")(q, packed, 0.1, 97)

    compare(build)


@pytest.mark.parametrize("name", ["batch_norm1d", "batch_norm2d", "batch_norm2d_relu", "batch_norm3d", "batch_norm"])
def test_batch_norm(name):
    dims = 2 if name == "batch_norm" else int(name[10])

    def build(t):
        q = quantize(t, numbers(0, 2, 16, *[8] * dims), 0.03, 111)
        given = [t.tensor(numbers(seed, 16)) for seed in (1, 2, 3)]
        return getattr(t.ops.quantized, name)(q, *given, t.tensor(numbers(4, 16)).abs() + 0.1, 1e-5, 0.1, 97)

    compare(build)


def test_norms():
    def build(t):
        quantized = t.ops.quantized
        q = quantize(t, numbers(0, 2, 16, 8, 8), 0.03, 111)
        weight, bias = t.tensor(numbers(1, 16)), t.tensor(numbers(2, 16))
        return [
            quantized.layer_norm(q, [8], t.tensor(numbers(1, 8)), t.tensor(numbers(2, 8)), 1e-5, 0.1, 97),
            quantized.group_norm(q, 4, weight, bias, 1e-5, 0.1, 97),
            quantized.instance_norm(q, weight, bias, 1e-5, 0.1, 97),
        ]

    compare(build)


def test_rows_of_bytes():
    def build(t):
        packed = t.ops.quantized.embedding_bag_byte_prepack(t.tensor(numbers(0, 10, 8)))
        indices = t.tensor([1, 3, 5, 3, 0])
        bag = t.ops.quantized.embedding_bag_byte_rowwise_offsets
        weights = t.tensor(numbers(1, 5))
        return packed, [
            t.ops.quantized.embedding_bag_byte_unpack(packed),
            bag(packed, indices, t.tensor([0, 2])),
            bag(packed, indices, t.tensor([0, 2, 5]), per_sample_weights=weights, include_last_offset=True),
            bag(packed, indices.reshape(1, 5)),
        ]

    (bytes_, wanted), (own_bytes, found) = (build(t) for t in LIBRARIES)
    assert own_bytes.tolist() == bytes_.tolist()
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("name", ["linear_tanh", "linear_leaky_relu", "conv2d_add"])
def test_layers_with_a_function_or_a_sum_as_onednn_computes_them(name, per_channel):
    if "onednn" not in torch.backends.quantized.supported_engines:
        pytest.skip("this torch has no oneDNN")

    def build(t):
        quantized = t.ops.quantized
        if name == "conv2d_add":
            q, other = quantize(t, numbers(0, 2, 4, 9, 9), 0.03, 111), quantize(t, numbers(4, 2, 6, 9, 9), 0.07, 100)
            weight = numbers(1, 6, 4, 3, 3, size=0.3)
            w = channels(t, weight, 2) if per_channel else quantize(t, weight, 0.01, 0, "qint8")
            packed = quantized.conv2d_prepack(w, t.tensor(numbers(3, 6)), [1, 1], [1, 1], [1, 1], 1)
            sizes = quantized.conv2d_stride(packed), quantized.conv2d_groups(packed), quantized.conv2d_transpose(packed)
            return [quantized.conv2d_add(q, other, packed, 0.1, 97), *sizes]
        q, weight = quantize(t, numbers(0, 33, 40), 0.03, 111), numbers(1, 16, 40, size=0.3)
        w = channels(t, weight, 2) if per_channel else quantize(t, weight, 0.01, 0, "qint8")
        packed = quantized.linear_prepack(w, t.tensor(numbers(3, 16)))
        return getattr(quantized, name)(q, packed, 1 / 128, 128, *([0.1] if "leaky" in name else []))

    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "onednn"
    try:
        compare(build)
    finally:
        torch.backends.quantized.engine = before


def test_a_sum_with_relu_is_that_of_the_sum():
    t = torchlike
    q, other = quantize(t, numbers(0, 1, 4, 5, 5)), quantize(t, numbers(1, 1, 3, 5, 5))
    packed = t.ops.quantized.conv2d_prepack(
        quantize(t, numbers(2, 3, 4, 3, 3), 0.02, 0, "qint8"), None, [1, 1], [1, 1], [1, 1], 1
    )
    plain, limited = (
        getattr(t.ops.quantized, f"conv2d_add{relu}")(q, other, packed, 0.1, 30) for relu in ("", "_relu")
    )
    assert t.equal(limited, t.relu(plain)) and plain.dequantize().min() < 0


def test_linear_layers_of_numbers_that_become_integers():
    def build(t):
        packed = t.ops.quantized.linear_prepack(channels(t, numbers(1, 16, 40, size=0.3), 2), t.tensor(numbers(3, 16)))
        call, x = "linear_with_input_q_dq_qweight_dq{}_output_fp32", t.tensor(numbers(0, 5, 40))
        return [getattr(t.ops.quantized, call.format(relu))(x, 0.03, 111, packed) for relu in ("", "_relu")]

    torch.backends.quantized.engine = "fbgemm"
    for one, other in zip(*(build(t) for t in LIBRARIES), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-5)


def test_embeddings():
    def build(t):
        weight = numbers(0, 10, 8)
        scales = t.tensor(np.linspace(0.01, 0.05, 10).astype(np.float32))
        points = t.tensor(np.linspace(100, 130, 10).astype(np.float32))
        q = t.quantize_per_channel(t.tensor(weight), scales, points, 0, t.quint8)
        packed = t.ops.quantized.embedding_bag_prepack(q)
        indices = t.tensor([1, 3, 5, 3, 0])
        return [
            t.ops.quantized.embedding_byte(packed, indices),
            t.ops.quantized.embedding_bag_byte(packed, indices, t.tensor([0, 2])),
            t.ops.quantized.embedding_bag_byte(packed, indices, t.tensor([0, 2, 5]), include_last_offset=True),
            t.ops.quantized.embedding_bag_unpack(packed).int_repr(),
        ]

    wanted, found = (build(t) for t in LIBRARIES)
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-5, atol=1e-5)


def test_packed_parameters_can_be_copied():
    packed = torchlike.ops.quantized.linear_prepack(channels(torchlike, numbers(0, 3, 4), 1), torchlike.ones(3))
    w, _ = packed.unpack()
    for made in (copy.deepcopy(packed), pickle.loads(pickle.dumps(packed))):
        weight, bias = torchlike.ops.quantized.linear_unpack(made)
        assert torchlike.equal(weight, w) and torchlike.equal(bias, torchlike.ones(3))
