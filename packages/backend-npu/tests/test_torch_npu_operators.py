"""Operators of torch_npu against their formulas in NumPy, on an npu, with gradients."""

import math

import numpy as np
import pytest

import dispatch_torch_npu as torch_npu
import torchlike

pytestmark = pytest.mark.usefixtures("npu")


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def to_npu(array):
    return torchlike.from_numpy(np.ascontiguousarray(array)).to("npu")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def gelu_by_tanh(x):
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def rms(x, gamma, epsilon):
    dims = tuple(range(-gamma.ndim, 0))
    rstd = 1 / np.sqrt((x**2).mean(dims, keepdims=True) + epsilon)
    return x * rstd * gamma, rstd


def norm(x, dims, epsilon):
    mean = x.mean(dims, keepdims=True)
    rstd = 1 / np.sqrt(x.var(dims, keepdims=True) + epsilon)
    return (x - mean) * rstd, mean, rstd


def turn(x, mode):
    if mode == "half":
        first, second = np.split(x, 2, -1)
        return np.concatenate([-second, first], -1)
    return np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


X, Y, G, B = draw(2, 3, 8), draw(2, 3, 8, seed=1), draw(8, seed=2), draw(8, seed=3)
HALVES = np.split(X.astype(float), 2, -1)
MASK = draw(2, 3, 8, seed=4) > 0
HIDDEN = np.where(MASK, -10000.0, X.astype(float) * 0.5)
DEEP = norm(0.3 * X.astype(float) + Y, (-1,), 1e-6)
GROUPS = norm(draw(2, 4, 3).astype(float).reshape(2, 2, 6), (-1,), 1e-5)
GROUPED = GROUPS[0].reshape(2, 4, 3) * B[:4, None] + G[:4, None]
NAMES = {
    "npu_rms_norm": ((X, G), rms(X.astype(float), G, 1e-6)),
    "npu_rms_norm of matrices": ((X, draw(3, 8), 1e-3), rms(X.astype(float), draw(3, 8), 1e-3)),
    "npu_add_rms_norm": ((X, Y, G), (*rms(X.astype(float) + Y, G, 1e-6), X + Y)),
    "npu_deep_norm": ((X, Y, B, G), (DEEP[1], DEEP[2], DEEP[0] * G + B)),
    "npu_layer_norm_eval": ((X, [8], G, B), norm(X.astype(float), (-1,), 1e-5)[0] * G + B),
    "npu_group_norm_silu": (
        (draw(2, 4, 3), B[:4], G[:4], 2),
        (GROUPED * sigmoid(GROUPED), GROUPS[1][..., 0], GROUPS[2][..., 0]),
    ),
    "npu_gelu": ((X,), gelu(X.astype(float))),
    "npu_gelu by tanh": ((X,), gelu_by_tanh(X.astype(float)), {"approximate": "tanh"}),
    "npu_fast_gelu": ((X,), X * sigmoid(1.702 * X.astype(float))),
    "fast_gelu": ((X,), X * sigmoid(1.702 * X.astype(float))),
    "npu_gelu_mul": ((X,), gelu(HALVES[0]) * HALVES[1]),
    "npu_geglu": ((X,), (HALVES[0] * gelu_by_tanh(HALVES[1]), gelu_by_tanh(HALVES[1]))),
    "npu_geglu of the left": ((X, -1, 0, True), (HALVES[1] * gelu(HALVES[0]), gelu(HALVES[0]))),
    "npu_swiglu": ((X,), HALVES[0] * sigmoid(HALVES[0]) * HALVES[1]),
    "npu_swiglu of dimension 0": ((X, 0), X[:1] * sigmoid(X[:1].astype(float)) * X[1:]),
    "npu_silu": ((X,), X * sigmoid(X.astype(float))),
    "npu_mish": ((X,), X * np.tanh(np.log1p(np.exp(X.astype(float))))),
    "npu_scaled_masked_softmax": ((X, MASK, 0.5), softmax(HIDDEN)),
    "npu_rotary_mul": ((X, Y, X[::-1]), X * Y + turn(X, "half") * X[::-1]),
    "npu_rotary_mul of pairs": ((X, Y, X[::-1], "interleave"), X * Y + turn(X, "interleave") * X[::-1]),
    "npu_rotary_mul by a matrix": ((X, Y, G, "half", draw(8, 8)), X * Y + X @ draw(8, 8) * G),
    "npu_apply_rotary_pos_emb": ((X, Y, G, B), (X * G + turn(X, "half") * B, Y * G + turn(Y, "half") * B)),
    "npu_confusion_transpose": ((X, (1, 0, 2), (3, 16), True), X.transpose(1, 0, 2).reshape(3, 16)),
    "npu_confusion_transpose after": ((X, (1, 0, 2), (6, 2, 4), False), X.reshape(6, 2, 4).transpose(1, 0, 2)),
    "npu_transpose": ((X, (2, 0, 1)), X.transpose(2, 0, 1)),
    "npu_reshape": ((X, (6, 8)), X.reshape(6, 8)),
    "npu_broadcast": ((G, (3, 8)), np.broadcast_to(G, (3, 8))),
    "npu_slice": ((X, (0, 1, 2), (1, 2, 3)), X[:1, 1:3, 2:5]),
    "npu_stride_copy": ((X, (3, 2), (8, 2), 5), np.lib.stride_tricks.as_strided(X.ravel()[5:], (3, 2), (32, 8))),
    "npu_linear": ((X, draw(5, 8), draw(5)), X @ draw(5, 8).T + draw(5)),
    "npu_bmmV2": ((X, Y.transpose(0, 2, 1), []), X @ Y.transpose(0, 2, 1)),
    "npu_bmmV2 of a shape": ((X, Y.transpose(0, 2, 1), (6, 3)), (X @ Y.transpose(0, 2, 1)).reshape(6, 3)),
    "npu_conv2d": (
        (draw(1, 1, 3, 4), draw(1, 1, 3, 4, seed=1), None, [1, 1], [0, 0], [1, 1], 1),
        (draw(1, 1, 3, 4) * draw(1, 1, 3, 4, seed=1)).sum((2, 3), keepdims=True),
    ),
    "npu_conv3d": (
        (draw(1, 1, 2, 3, 4), draw(1, 1, 2, 3, 4, seed=1), None, [1, 1, 1], [0, 0, 0], [1, 1, 1], 1),
        (draw(1, 1, 2, 3, 4) * draw(1, 1, 2, 3, 4, seed=1)).sum((2, 3, 4), keepdims=True),
    ),
    "npu_max": ((X, 1), (X.max(1), X.argmax(1).astype(np.int32))),
    "npu_min": ((X, -1, True), (X.min(-1, keepdims=True), X.argmin(-1, keepdims=True).astype(np.int32))),
    "npu_sort_v2": ((X, -1, True), np.sort(X, -1)[..., ::-1]),
    "npu_softmax_cross_entropy_with_logits": (
        (X[0], softmax(Y[0])),
        -(softmax(Y[0].astype(float)) * np.log(softmax(X[0].astype(float)))).sum(-1),
    ),
    "npu_one_hot": ((np.array([1, 0, 3]), -1, 4), np.eye(4)[[1, 0, 3]]),
    "npu_one_hot first": (
        (np.array([[1, 0]]), 0, 3, 5, -1),
        np.where(np.eye(3)[[[1, 0]]].transpose(2, 0, 1) > 0, 5, -1),
    ),
}


@pytest.mark.parametrize("case", NAMES)
def test_an_operator_follows_its_formula(case):
    given, wanted, *options = NAMES[case]
    arguments = [to_npu(each) if isinstance(each, np.ndarray) else each for each in given]
    found = getattr(torch_npu, case.partition(" ")[0])(*arguments, **(options[0] if options else {}))
    several = isinstance(wanted, tuple)
    assert isinstance(found, tuple) is several
    for result, expected in zip(found if several else (found,), wanted if several else (wanted,), strict=True):
        assert result.is_npu and result.shape == expected.shape
        assert expected.dtype != np.int32 or result.dtype is torchlike.int32
        np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=2e-5, atol=2e-6)


def test_every_operator_has_a_case():
    told = {name.partition(" ")[0] for name in NAMES} | {"Format", "npu_fusion_attention"}
    others = (
        "empty_with_format get_npu_format npu_dtype_cast npu_dtype_cast_ npu_format_cast npu_format_cast_ npu_silu_"
    )
    assert {*torch_npu.OPERATORS} == told | {*others.split()}


def test_formats_are_nd():
    x = torchlike.ones(2, 3, device="npu")
    assert torch_npu.npu_format_cast(x, 29) is x and torch_npu.npu_format_cast_(x, torch_npu.Format.NC1HWC0) is x
    assert torch_npu.get_npu_format(x) == 2 == torch_npu.Format.ND
    assert (
        torch_npu.empty_with_format((2, 3), dtype=torchlike.float16, device="npu", acl_format=2).dtype
        == torchlike.float16
    )
    with pytest.raises(ValueError, match="5 is not a valid Format"):
        torch_npu.npu_format_cast(x, 5)


def test_casts_and_writes():
    x = torchlike.tensor([1.5, -2.0], device="npu", requires_grad=True)
    y = torch_npu.npu_dtype_cast(x, torchlike.float16)
    y.sum().backward()
    assert y.dtype is torchlike.float16 and x.grad.tolist() == [1.0, 1.0]
    into = torchlike.zeros(2, dtype=torchlike.int32, device="npu")
    assert torch_npu.npu_dtype_cast_(into, x.detach()) is into and into.tolist() == [1, -2]
    written = torchlike.ones(1, device="npu")
    assert torch_npu.npu_silu_(written) is written and round(written.item(), 4) == 0.7311
    with pytest.raises(torch_npu.NotServedError, match="name one of torch's"):
        torch_npu.npu_dtype_cast(x, 291)
    with pytest.raises(torch_npu.NotServedError, match="fixed_triu_mask"):
        torch_npu.npu_scaled_masked_softmax(x, x > 0, 1.0, True)
    with pytest.raises(ValueError, match="it is 'half' or 'interleave'"):
        torch_npu.npu_rotary_mul(x, x, x, "quarter")


@pytest.mark.parametrize("name", ["npu_rms_norm", "npu_swiglu", "npu_rotary_mul", "npu_gelu", "npu_geglu"])
def test_gradients(name):
    extra = {"npu_rms_norm": [draw(4)], "npu_rotary_mul": [draw(4), draw(4, seed=1)]}.get(name, [])
    tensors = [torchlike.from_numpy(each.astype(float)).requires_grad_() for each in (draw(2, 4), *extra)]

    def function(*arguments):
        found = getattr(torch_npu, name)(*arguments)
        return found[0] if isinstance(found, tuple) else found

    if name == "npu_rms_norm":  # it computes in float32
        function(*tensors).square().sum().backward()
        step = 1e-3
        for tensor in tensors:
            change = torchlike.zeros_like(tensor)
            change.view(-1)[1] = step
            ends = [
                function(*(each + sign * change if each is tensor else each for each in tensors)).square().sum()
                for sign in (1, -1)
            ]
            assert abs(((ends[0] - ends[1]) / (2 * step) - tensor.grad.view(-1)[1]).item()) < 1e-3
    else:
        assert torchlike.autograd.gradcheck(function, tensors)


def test_norms_keep_the_dtype_of_halves():
    x = to_npu(draw(2, 8).astype(np.float16))
    y, rstd = torch_npu.npu_rms_norm(x, torchlike.ones(8, dtype=torchlike.float16, device="npu"))
    assert y.dtype is torchlike.float16 and rstd.dtype is torchlike.float32
