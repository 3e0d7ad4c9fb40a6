"""Quantized tensors against NumPy: their numbers, views and writes, the fallback, products, and what is refused."""

import copy
import io
import pickle
import threading
import warnings

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import per_channel_affine, per_tensor_affine, qint8, qint32, quint8, tensor
from torchlike.quantized import fallback, quantized_fallback
from torchlike.quantized.kernels import RULES
from torchlike.quantized.products import multiply

NUMBERS = [[-1.0, 0.0, 1.26], [2.0, 3.0, 400.0]]


@pytest.fixture
def q():
    return torchlike.quantize_per_tensor(tensor(NUMBERS), 0.1, 10, quint8)


@pytest.fixture
def c():
    return torchlike.quantize_per_channel(tensor(NUMBERS), tensor([0.1, 0.2]), tensor([1, 2]), 0, qint8)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The operator .* is not supported for quantized tensors")
        yield


def test_numbers_become_integers_and_come_back(q, c):
    assert q.int_repr().tolist() == [[0, 10, 23], [30, 40, 255]]
    np.testing.assert_allclose(np.asarray(q.dequantize()), [[-1, 0, 1.3], [2, 3, 24.5]], rtol=1e-6)
    assert (q.dtype, q.is_quantized, q.qscheme(), q.q_scale(), q.q_zero_point()) == (
        quint8,
        True,
        per_tensor_affine,
        0.1,
        10,
    )
    assert (c.qscheme(), c.q_per_channel_axis(), c.q_per_channel_zero_points().tolist()) == (
        per_channel_affine,
        0,
        [1, 2],
    )
    assert c.int_repr().tolist() == [[-9, 1, 14], [12, 17, 127]]
    assert q.layout is torchlike.strided and q.stride() == (3, 1) and not q.is_floating_point() and not q.requires_grad


def test_a_text_has_the_numbers_and_the_parameters(q):
    assert repr(q) == (
        "tensor([[-1.0000,  0.0000,  1.3000],\n        [ 2.0000,  3.0000, 24.5000]], size=(2, 3), dtype=torchlike.quint8,\n"
        "       quantization_scheme=torchlike.per_tensor_affine, scale=0.1, zero_point=10)"
    )


def test_views_share_the_integers(q):
    q[0].fill_(5.0)
    q.t()[2, 1] = 0.0
    q.view(-1)[3:5].copy_(tensor([1.0, 2.0]))
    np.testing.assert_allclose(np.asarray(q.dequantize()), [[5, 5, 5], [1, 2, 0]], rtol=1e-6)


def test_channels_outlast_views_that_leave_their_dimension_whole(c):
    assert c[:, 1:].q_per_channel_scales().tolist() == c.q_per_channel_scales().tolist()
    assert c[1].q_scale() == pytest.approx(0.2) and c[1].q_zero_point() == 2
    assert c.unsqueeze(0).q_per_channel_axis() == 1
    for wrong in (c.t, lambda: c.view(-1), lambda: c.flip(0), lambda: c.expand(2, 2, 3)):
        with pytest.raises(RuntimeError, match="Setting strides is possible only on uniformly quantized tensor"):
            wrong()


def test_a_channels_dimension_keeps_its_place_where_another_is_selected():
    # torch counts the channels' dimension one less here, whichever was selected.
    x = torchlike.ones(2, 3, 4)
    made = torchlike.quantize_per_channel(x, tensor([0.1, 0.2, 0.5]), tensor([0, 0, 0]), 1, qint8)
    assert made[:, :, 1].q_per_channel_axis() == 1 and made[0].q_per_channel_axis() == 0


def test_the_fallback_computes_with_the_numbers_of_the_first_tensor(q):
    other = torchlike.quantize_per_tensor(torchlike.ones(2, 3), 0.5, 0, quint8)
    x = np.asarray(q.dequantize())
    for found, wanted in (
        (q + other, x + 1),
        (q * 2, x * 2),
        (tensor(NUMBERS).clamp(max=9) + q, np.minimum(NUMBERS, 9) + x),
        (-q, -x),
        (q.abs().sqrt(), np.sqrt(abs(x))),
        (q @ other.t(), x @ np.ones((3, 2))),
        (torchlike.nn.functional.linear(q, torchlike.eye(3)), x),
        (q.sum(0), x.sum(0)),
        (q.cumsum(1), x.cumsum(1)),
    ):
        assert found.is_quantized and (found.q_scale(), found.q_zero_point(), found.dtype) == (0.1, 10, quint8)
        np.testing.assert_allclose(np.asarray(found.dequantize()), np.clip(wanted, -1, 24.5), atol=0.1001)
    assert (q + other).equal(q + other)
    assert (other + q).q_scale() == 0.5


def test_other_results_of_the_fallback_stay(q):
    assert q.argmax().tolist() == 5 and q.isnan().dtype is torchlike.bool and q.nonzero().shape == (6 - 1, 2)
    assert q.sort()[1].dtype is torchlike.int64 and (q > 1).tolist() == [[False, False, True], [True, True, True]]


def test_calls_in_place_and_outputs_write_to_the_tensor_that_was_given(q):
    base = q[0]
    assert q.add_(1.0) is q and q.q_scale() == 0.1
    np.testing.assert_allclose(np.asarray(base.dequantize()), [0, 1, 2.3], atol=1e-6)
    out = torchlike.quantize_per_tensor(torchlike.zeros(2, 3), 0.5, 3, quint8)
    assert torchlike.mul(q, 2.0, out=out) is out and out.q_scale() == 0.5
    np.testing.assert_allclose(np.asarray(out.dequantize())[0], [0, 2, 4.5], atol=1e-6)
    plain = torchlike.zeros(2, 3)
    assert torchlike.mul(q, 2.0, out=plain) is plain and not plain.is_quantized
    np.testing.assert_allclose(np.asarray(plain)[0], [0, 2, 4.6], atol=1e-6)


def test_the_fallback_is_counted_and_warns_once(q, monkeypatch):
    monkeypatch.setattr(fallback, "_counts", type(fallback._counts)())
    with pytest.warns(UserWarning, match=r"The operator 'aten::exp' is not supported for quantized tensors"):
        q.exp()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q.exp()
        torchlike.relu(q)
    assert quantized_fallback.counts() == {"aten::exp": 2}


def test_the_fallback_can_be_switched_off(q):
    with quantized_fallback(False):
        assert not quantized_fallback.is_enabled()
        for refused in (lambda: q + q, q.exp, lambda: q.add_(1), lambda: q @ q.t()):
            with pytest.raises(NotImplementedError, match="'QuantizedCPU' backend"):
                refused()
        assert torchlike.relu(q).is_quantized
        with quantized_fallback():
            assert (q + q).is_quantized
    seen = []
    quantized_fallback.set(False)
    try:
        thread = threading.Thread(target=lambda: seen.append(quantized_fallback.is_enabled()))
        thread.start()
        thread.join()
    finally:
        quantized_fallback.set(True)
    assert seen == [False] and quantized_fallback.is_enabled()


def test_an_authors_operator_is_computed_with_the_numbers(q):
    with dc.Library("quantized_test", "FRAGMENT") as library:
        library.define("twice(Tensor x, float by=2.0) -> Tensor")
        library.impl("twice", lambda x, by: x * by, "CPU")
        found = dc.ops.quantized_test.twice(q)
        assert found.is_quantized and found.q_scale() == 0.1
        np.testing.assert_allclose(np.asarray(found.dequantize())[0], [-1, 0, 2.6], atol=1e-6)


def test_a_failed_call_changes_nothing(q):
    before = q.clone()
    for wrong in (lambda: q.add_(torchlike.ones(7)), lambda: q.copy_(torchlike.ones(9)), lambda: q.to(torchlike.int8)):
        with pytest.raises(RuntimeError):
            wrong()
    assert torchlike.equal(q, before)


def test_copies_pickles_and_files(q, c):
    for each in (q, c):
        file = io.BytesIO()
        torchlike.save(each, file)
        file.seek(0)
        for made in (
            copy.deepcopy(each),
            pickle.loads(pickle.dumps(each)),
            torchlike.load(file),
            each.clone(),
            each.to("cpu"),
        ):
            assert torchlike.equal(made, each)
        assert not torchlike.equal(q, c)
    kept = copy.deepcopy(q)
    q.fill_(0.0)
    assert not torchlike.equal(q, kept)


def test_no_quantized_tensor_requires_grad(q):
    with pytest.raises(RuntimeError, match="can require gradients"):
        q.requires_grad_()
    with pytest.raises(RuntimeError, match="can require gradients"):
        torchlike.nn.Parameter(q)
    assert torchlike.nn.Parameter(q, requires_grad=False).is_quantized
    x = torchlike.ones(2, requires_grad=True)
    assert not torchlike.quantize_per_tensor(x, 0.1, 0, qint8).requires_grad


@pytest.mark.parametrize("inner", [1, 511, 512, 513, 515, 4096])
def test_products_of_extreme_integers_are_exact(inner):
    generator = np.random.default_rng(inner)
    x = generator.choice([0, 255, 254, -255], (4, inner))
    weight = generator.choice([-128, 127, -127], (inner, 5))
    x[0], weight[:, 0] = 255, -128
    x[1], weight[:, 1] = -255, 127
    found = multiply(*(tensor(each.tolist(), dtype=torchlike.float32) for each in (x, weight)))
    assert found.dtype is (torchlike.float32 if inner <= 512 else torchlike.int32)
    assert found.tolist() == (x @ weight).tolist()


@pytest.mark.parametrize("kernel", [1, 3, 25])
def test_convolutions_of_extreme_integers_are_exact(kernel):
    channels = 64 if kernel == 3 else 4
    x = torchlike.full((1, channels, 26, 26), 255, dtype=torchlike.uint8)
    weight = torchlike.full((2, channels, kernel, kernel), -128, dtype=torchlike.int8)
    weight[1] = 127
    weight[1, 0, 0, 0] = 126
    ops = torchlike.ops.quantized
    w = torchlike._make_per_tensor_quantized_tensor(weight, 1.0, 0)
    packed = ops.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1)
    found = ops.conv2d_dynamic(torchlike._make_per_tensor_quantized_tensor(x, 1.0, 0).dequantize(), packed)
    count = channels * kernel * kernel
    assert {*found[0, 0].flatten().tolist()} == {float(np.float32(-128 * 255 * count))}
    assert {*found[0, 1].flatten().tolist()} == {float(np.float32(255 * (127 * count - 1)))}


def test_layers_with_packed_parameters():
    ops = torchlike.ops.quantized
    weight = torchlike.quantize_per_tensor(tensor([[1.0, -2.0], [0.5, 0.0]]), 0.02, 0, qint8)
    packed = ops.linear_prepack(weight, tensor([0.5, -0.5]))
    q = torchlike.quantize_per_tensor(tensor([[1.0, 2.0]]), 0.05, 10, quint8)
    assert ops.linear(q, packed, 0.1, 50).int_repr().tolist() == [[25, 50]]
    assert ops.linear_relu(q, packed, 0.1, 50).int_repr().tolist() == [[50, 50]]
    np.testing.assert_allclose(np.asarray(ops.linear_dynamic(tensor([[1.0, 2.0]]), packed)), [[-2.5, 0.0]], atol=0.02)
    assert repr(packed) == "LinearPackedParamsBase((2, 2), torchlike.per_tensor_affine)"
    with pytest.raises(NotImplementedError, match="linear_dynamic takes numbers"):
        ops.linear(tensor([[1.0, 2.0]]), packed, 0.1, 0)
    with pytest.raises(RuntimeError, match="columns"):
        ops.linear(torchlike.quantize_per_tensor(torchlike.ones(1, 3), 0.1, 0, quint8), packed, 0.1, 0)


def test_pipelines_captures_and_modes_take_quantized_tensors(q):
    with torchlike.pipeline():
        made = torchlike.relu(torchlike.quantize_per_tensor(tensor(NUMBERS) * 2, 0.1, 10, quint8))
        total = made + q
    assert total.is_quantized and made.int_repr().tolist() == [[10, 10, 35], [50, 70, 255]]
    captured = torchlike.capture(lambda x: torchlike.relu(x).dequantize() * 2)
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(captured(q)), [[0, 0, 2.6], [4, 6, 49]], rtol=1e-6)


def test_a_captured_layer_keeps_its_packed_parameters(q):
    ops = torchlike.ops.quantized
    packed = ops.linear_prepack(torchlike.quantize_per_tensor(torchlike.eye(3), 0.1, 0, qint8), torchlike.ones(3))
    captured = torchlike.capture(lambda x: ops.linear(x, packed, 0.2, 5) + x)
    wanted = (ops.linear(q, packed, 0.2, 5) + q).int_repr().tolist()
    assert [captured(q).int_repr().tolist() for _ in range(4)] == [wanted] * 4


def test_function_transforms_take_quantized_tensors(q):
    x = q.dequantize()
    assert torchlike.func.vmap(torchlike.relu)(q).int_repr().tolist() == torchlike.relu(q).int_repr().tolist()
    assert torchlike.func.vmap(lambda row: row.dequantize().sum())(q).tolist() == x.sum(1).tolist()
    weights = torchlike.ones(2, 3)
    assert torchlike.func.grad(lambda w: (w * q.dequantize()).sum())(weights).tolist() == x.tolist()


def test_gradients_do_not_pass_through_quantized_results(q):
    weights = torchlike.ones(2, 3, requires_grad=True)
    assert not (weights * q).requires_grad and not torchlike.quantize_per_tensor(weights, 0.1, 0, qint8).requires_grad
    (weights * q.dequantize()).sum().backward()
    assert weights.grad.tolist() == q.dequantize().tolist()


def test_autocast_leaves_quantized_tensors(q):
    with torchlike.autocast("cpu", torchlike.bfloat16):
        assert (q @ torchlike.ones(3, 2)).dtype is quint8 and torchlike.relu(q).q_scale() == 0.1


def test_a_copy_on_another_device_keeps_the_parameters(q):
    made = q.to("meta")
    assert made.is_meta and made.q_scale() == 0.1 and "device='meta'" in repr(made)


def test_meta_tensors_have_sizes_alone():
    x = torchlike.ones(2, 3, device="meta")
    made = torchlike.quantize_per_tensor(x, 0.1, 0, qint32)
    assert made.is_meta and made.is_quantized and torchlike.relu(made).shape == (2, 3) and "..." in repr(made)


def test_each_rule_is_of_an_operator():
    from dispatch_aten.operators import ATEN_BY_NAME

    names = {*ATEN_BY_NAME, *(name.partition(".")[0] for name in ATEN_BY_NAME)}
    assert [name for name in RULES if name.removesuffix(".default") not in names] == []


def test_a_bias_of_another_size_is_refused_when_it_is_packed():
    ops = torchlike.ops.quantized
    weight = torchlike.quantize_per_tensor(torchlike.ones(3, 4), 0.1, 0, torchlike.qint8)
    filters = torchlike.quantize_per_tensor(torchlike.ones(3, 2, 1, 1), 0.1, 0, torchlike.qint8)
    for pack in (
        lambda: ops.linear_prepack(weight, torchlike.ones(1)),
        lambda: ops.conv2d_prepack(filters, torchlike.ones(1), [1, 1], [0, 0], [1, 1], 1),
    ):
        with pytest.raises(RuntimeError, match=r"bias should have 3 elements(.|\n)*got size \[1\]"):
            pack()
    with pytest.raises(RuntimeError, match="should have 2 dimensions"):
        ops.linear_prepack(filters, None)
