"""Attention by one function and its gradient by another, beside the composition on the cpu."""

import itertools

import pytest

import dispatch_core as dc

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

F = torchlike.nn.functional
pytestmark = pytest.mark.usefixtures("npu")
FORWARD, BACKWARD = "aclnnFlashAttentionScore", "aclnnFlashAttentionScoreGrad"
TOLERANCE = {"float32": 2e-5, "float16": 1e-2, "bfloat16": 6e-2, "float64": 1e-9}
BATCH, HEADS, ROWS, COLUMNS, WIDTH = 2, 4, 5, 7, 16

#: Masks, true where a score takes part.
MASKS = {
    "none": lambda: None,
    "rows and columns": lambda: torchlike.arange(35).reshape(5, 7) % 3 > 0,
    "columns of a sample": lambda: torchlike.arange(14).reshape(2, 1, 1, 7) % 3 > 0,
    "heads": lambda: torchlike.arange(28).reshape(4, 1, 7) % 3 > 0,
    "every score": lambda: torchlike.arange(280).reshape(2, 4, 5, 7) % 5 > 1,
    "a row without scores": lambda: torchlike.arange(35).reshape(5, 7) > 6,
}
#: The order of dimensions in memory.
ORDERS = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "SBH": (2, 0, 1, 3), "BNDS": (0, 1, 3, 2)}


def draw(order, *shape):
    """Return numbers that lie in memory in an order of dimensions."""
    dims = ORDERS[order]
    drawn = torchlike.randn([shape[dim] for dim in dims])
    return drawn.permute([dims.index(dim) for dim in range(4)])


def attend(device, dtype="float32", order="BNSD", mask="none", shared=HEADS, width=WIDTH, **options):
    """Return attention and the gradients of its operands."""
    torchlike.manual_seed(1)
    drawn = [draw(order, BATCH, *each, width) for each in ((HEADS, ROWS), (shared, COLUMNS), (shared, COLUMNS))]
    given = [each.to(device, getattr(torchlike, dtype)).requires_grad_() for each in drawn]
    shown = MASKS[mask]()
    y = F.scaled_dot_product_attention(
        *given, None if shown is None else shown.to(device), enable_gqa=shared != HEADS, **options
    )
    factors = torchlike.arange(y.numel()).reshape(y.shape).sin().to(device, y.dtype)
    return [y, *torchlike.autograd.grad((y * factors).sum(), given)]


def close(found, expected, dtype="float32"):
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if not number:
            assert one.stride() == other.stride()
        tolerance = TOLERANCE[dtype]
        assert torchlike.allclose(one.cpu().double(), other.double(), rtol=tolerance, atol=tolerance), number


def calls_of(simulator, run):
    """Return the functions that a call runs, in order."""
    simulator.reset()
    run()
    torchlike.npu.synchronize()
    return [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]


@pytest.mark.parametrize("mask", [*MASKS, "causal"])
@pytest.mark.parametrize(("order", "shared"), [*itertools.product(ORDERS, (4, 2, 1))])
def test_values_and_gradients_are_the_composition_s(mask, order, shared):
    options = {"is_causal": True} if mask == "causal" else {"mask": mask}
    given = {"order": order, "shared": shared, **options}
    close(attend("npu", **given), attend("cpu", **given))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mask", [*MASKS, "causal"])
def test_dtypes_of_16_bits(dtype, mask):
    options = {"is_causal": True} if mask == "causal" else {"mask": mask}
    given = {"dtype": dtype, "order": "BSND", "scale": 0.4, **options}
    close(attend("npu", **given), attend("cpu", **given), dtype)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 1), (1, 9), (9, 4), (2049, 3), (3, 2050)])
def test_causal_attention_of_any_size(rows, columns):
    torchlike.manual_seed(0)
    q, k, v = torchlike.randn(1, 1, rows, 4), torchlike.randn(1, 1, columns, 4), torchlike.randn(1, 1, columns, 4)

    def run(device):
        given = [each.to(device).requires_grad_() for each in (q, k, v)]
        y = F.scaled_dot_product_attention(*given, is_causal=True)
        return [y, *torchlike.autograd.grad(y.cos().sum(), given)]

    close(run("npu"), run("cpu"))


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, 0),
        ({"order": "BSND"}, 0),
        ({"order": "SBH"}, 0),
        ({"shared": 2}, 0),
        ({"is_causal": True}, 0),
        ({"mask": "rows and columns"}, 1),
    ],
)
def test_forward_and_gradient_are_a_function_each(simulator, options, more):
    attend("npu", **options)  # makes the mask that is kept
    calls = calls_of(simulator, lambda: attend("npu", **options))
    assert (calls.count(FORWARD), calls.count(BACKWARD)) == (1, 1)
    assert calls.count("aclnnLogicalNot") == 2 * more
    assert not {"aclnnBatchMatMul", "aclnnSoftmax", "aclnnExp", "aclnnLog", "aclnnTriu"} & {*calls}


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="looks at counters")
@pytest.mark.parametrize(
    "options",
    [
        {"width": 770},
        {"dtype": "float64"},
    ],
)
def test_what_the_function_refuses_is_composed(simulator, options):
    calls = calls_of(simulator, lambda: attend("npu", **options))
    assert FORWARD not in calls
    assert dc.computed_on_host("npu") == {}
    close(attend("npu", **options), attend("cpu", **options), "float64" if "dtype" in options else "float32")


@pytest.mark.parametrize(
    "program",
    [
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v[..., :3]),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torchlike.full((5, 7), 0.5, device=q.device)),
        lambda q, k, v: F.scaled_dot_product_attention(q[0], k[0], v[0]),
        lambda q, k, v: F.scaled_dot_product_attention(q[:, :, :0], k, v),
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, torchlike.arange(35, device=q.device).reshape(5, 7) % 3 > 0, is_causal=True
        ),
    ],
)
def test_other_calls_are_composed(program):
    def run(device):
        torchlike.manual_seed(0)
        given = [torchlike.randn(2, 4, each, 8).to(device).requires_grad_() for each in (5, 7, 7)]
        y = program(*given)
        return [y, *torchlike.autograd.grad(y.sin().sum(), given, allow_unused=True)]

    found, expected = run("npu"), run("cpu")
    for one, other in zip(found, expected, strict=True):
        torchlike.testing.assert_close(one.detach().cpu(), other.detach(), rtol=2e-5, atol=2e-5)


def test_the_results_of_the_operator_are_the_rule_s():
    torchlike.manual_seed(0)
    q, k, v = (torchlike.randn(2, 4, each, 8) for each in (5, 7, 7))
    shown = torchlike.arange(35).reshape(5, 7) > 6
    expected = torchlike.ops.aten._scaled_dot_product_efficient_attention(q, k, v, shown, True)
    given = [each.to("npu") for each in (q, k, v, shown)]
    found = torchlike.ops.aten._scaled_dot_product_efficient_attention(*given, True)
    assert torchlike.isinf(expected[1][:, :, 0]).all()
    for one, other in zip(found, expected, strict=True):
        torchlike.testing.assert_close(one.cpu(), other, rtol=2e-5, atol=2e-5)
    assert torchlike.ops.aten._scaled_dot_product_efficient_attention(*given, False)[1].shape == (0,)
    # Statistics that a program has read, or brings from elsewhere, serve the gradient as well.
    grad = torchlike.randn(2, 4, 5, 8)
    wanted = torchlike.ops.aten._scaled_dot_product_efficient_attention_backward(
        grad, q, k, v, shown, *expected, 0.0, [True, True, True, False]
    )
    for results in (found, [each.to("npu") for each in expected]):
        grads = torchlike.ops.aten._scaled_dot_product_efficient_attention_backward(
            grad.to("npu"), *given, *results, 0.0, [True, True, True, False]
        )
        for one, other in zip(grads, wanted, strict=True):
            torchlike.testing.assert_close(one.cpu(), other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("mask", [(True, False, False), (False, True, False), (False, False, True)])
def test_gradients_that_are_not_asked_for_have_no_elements(mask):
    q, k, v = (torchlike.randn(2, 4, each, 8, device="npu") for each in (5, 7, 7))
    results = torchlike.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, True)
    none = torchlike.empty(0, dtype=torchlike.bool, device="npu")
    grads = torchlike.ops.aten._scaled_dot_product_efficient_attention_backward(
        q, q, k, v, none, *results, 0.0, [*mask, False]
    )
    for grad, array, asked in zip(grads, (q, k, v, none), (*mask, False), strict=True):
        assert grad.shape == (array.shape if asked else (0,))


def test_dropout_keeps_the_same_weights_for_the_gradient():
    torchlike.manual_seed(3)
    q, k = (torchlike.zeros(1, 2, 64, 16, device="npu") for _ in range(2))
    v = torchlike.eye(64, 64, device="npu").expand(1, 2, 64, 64)[..., :16].contiguous().requires_grad_()
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    weights = y.detach().cpu() * 64
    assert {round(each, 4) for each in weights.flatten().tolist()} == {0.0, 1.3333}
    assert 0.2 < (weights == 0).float().mean().item() < 0.3
    # Each output is a weight times a one: the gradient by the values is the sum of the weights of a column.
    (grad,) = torchlike.autograd.grad(y.sum(), v)
    torchlike.testing.assert_close(grad.cpu()[0, :, :16, 0], weights.sum(2)[0] / 64)
    again = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    assert not torchlike.equal(y.cpu(), again.cpu())


def test_dropout_is_drawn_by_the_device_s_generator():
    q = torchlike.randn(1, 2, 8, 16, device="npu")

    def run():
        torchlike.npu.manual_seed(5)
        return F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    assert torchlike.equal(run().cpu(), run().cpu())


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="reads the state of a generator")
def test_dropout_advances_the_generator_by_a_number_for_each_weight():
    q = torchlike.randn(1, 2, 8, 16, device="npu")
    torchlike.npu.manual_seed(5)
    F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    state = bytes(torchlike.npu.get_rng_state().tolist())
    assert int.from_bytes(state[8:16], "little") == 2 * 8 * 8


def test_the_weights_that_dropout_keeps_are_truth_values_where_a_program_reads_them():
    q, k, v = (torchlike.randn(1, 2, each, 8, device="npu", requires_grad=True) for each in (5, 6, 6))
    run = torchlike.ops.aten._scaled_dot_product_efficient_attention
    results = run(q, k, v, None, True, 0.5)
    grads = torchlike.autograd.grad(results[0].cos().sum(), (q, k, v))
    kept = results[2].cpu()
    assert (kept.dtype, kept.shape) == (torchlike.bool, (1, 2, 5, 6))
    given = [each.detach().cpu().requires_grad_() for each in (q, k, v)]
    expected, _ = torchlike.ops.aten._scaled_dot_product_attention_math(*given, None, 0.5, False, kept)
    torchlike.testing.assert_close(results[0].detach().cpu(), expected.detach(), rtol=2e-5, atol=2e-5)
    wanted = torchlike.autograd.grad(expected.cos().sum(), given)
    for one, other in zip(grads, wanted, strict=True):
        torchlike.testing.assert_close(one.cpu(), other, rtol=2e-5, atol=2e-5)


def test_a_gradient_of_a_gradient_of_the_function():
    def run(device):
        torchlike.manual_seed(0)
        q, k, v = (torchlike.randn(2, 2, each, 8).to(device).requires_grad_() for each in (5, 7, 7))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        grads = torchlike.autograd.grad(y.sin().sum(), (q, k, v), create_graph=True)
        return [y, *torchlike.autograd.grad(sum(each.cos().sum() for each in grads), (q, k, v))]

    close(run("npu"), run("cpu"))


def test_tangents_and_rows_of_a_batch():
    torchlike.manual_seed(0)
    x = torchlike.randn(3, 2, 2, 5, 8)

    def attend(q):
        return F.scaled_dot_product_attention(q, q.sin(), q.cos(), is_causal=True)

    for transform in (
        torchlike.func.vmap(attend),
        lambda x: torchlike.func.jvp(attend, (x[0],), (x[1],))[1],
        torchlike.func.vmap(torchlike.func.grad(lambda q: attend(q).sin().sum())),
        lambda x: torchlike.func.jacrev(attend)(x[0, :1, :1]),
    ):
        torchlike.testing.assert_close(transform(x.to("npu")).cpu(), transform(x), rtol=2e-5, atol=2e-5)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_rows_of_a_batch_are_one_call(simulator):
    x = torchlike.randn(3, 2, 2, 5, 8, device="npu")

    def run():
        def slope(q):
            return torchlike.func.grad(lambda q: F.scaled_dot_product_attention(q, q, q).sum())(q)

        return torchlike.func.vmap(slope)(x)

    calls = calls_of(simulator, run)
    assert (calls.count(FORWARD), calls.count(BACKWARD)) == (1, 1)


@pytest.mark.parametrize("drawn", ["no dropout", "dropout"])
@pytest.mark.parametrize("mask", ["none", "causal", "rows and columns"])
def test_pipelines_and_captured_functions(mask, drawn):
    p = 0.5 if drawn == "dropout" else 0.0
    torchlike.manual_seed(0)
    q, k, v = (torchlike.randn(2, 2, each, 8, device="npu", requires_grad=True) for each in (5, 7, 7))
    shown = torchlike.arange(35, device="npu").reshape(5, 7) % 3 > 0

    def run():
        given = {"attn_mask": shown} if mask == "rows and columns" else {"is_causal": mask == "causal"}
        y = F.scaled_dot_product_attention(q * 2, k.sin(), v + 1, dropout_p=p, **given)
        return [y, *torchlike.autograd.grad(y.cos().sum(), (q, k, v))]

    torchlike.npu.manual_seed(9)
    expected = [each.detach().cpu() for each in run()]
    for _ in range(3):
        torchlike.npu.manual_seed(9)
        with dc.pipeline():
            found = run()
            found = [each.detach().cpu() for each in found]
        for one, other in zip(found, expected, strict=True):
            torchlike.testing.assert_close(one, other)
    captured = torchlike.capture(run)
    for _ in range(4):
        torchlike.npu.manual_seed(9)
        for one, other in zip(captured(), expected, strict=True):
            torchlike.testing.assert_close(one.detach().cpu(), other)


def test_autocast_calls_it_in_16_bits(simulator):
    q = torchlike.randn(1, 2, 5, 8, device="npu", requires_grad=True)
    with torchlike.autocast("npu", torchlike.float16):
        y = F.scaled_dot_product_attention(q, q, q)
        assert y.dtype is torchlike.float16
        y.float().sum().backward()
    assert q.grad.dtype is torchlike.float32
    c = q.detach().cpu()
    expected = F.scaled_dot_product_attention(c, c, c)
    torchlike.testing.assert_close(y.detach().cpu().float(), expected, rtol=0.01, atol=0.01)


def test_work_on_another_stream_uses_the_mask_that_is_kept():
    q = torchlike.randn(1, 1, 6, 8)
    expected = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    x = q.to("npu")
    torchlike.npu.synchronize()
    for stream in (torchlike.npu.Stream(), torchlike.npu.Stream()):
        with torchlike.npu.stream(stream):
            y = F.scaled_dot_product_attention(x, x, x, is_causal=True)
            torchlike.testing.assert_close(y.cpu(), expected, rtol=2e-5, atol=2e-5)


def train(steps=3):
    """Return the losses of a transformer's steps, and its parameters after them."""
    nn = torchlike.nn
    torchlike.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=first) for first in (True, False)]
    model = nn.Sequential(*layers).to("npu")
    optimizer = torchlike.optim.SGD(model.parameters(), 0.1)
    x = torchlike.randn(3, 9, 32).to("npu")
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [each.detach().cpu() for each in model.parameters()]


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="counts functions")
def test_training_steps_are_those_without_the_function(simulator, monkeypatch):
    results = {}
    assert calls_of(simulator, lambda: results.update(fused=train())).count(BACKWARD) == 6
    monkeypatch.setattr("dispatch_aten.families.attention.composites.takes_fused", lambda *given: False)
    assert FORWARD not in calls_of(simulator, lambda: results.update(parts=train()))
    torchlike.testing.assert_close(*[torchlike.tensor(each) for each, _ in results.values()])
    for one, other in zip(*[parameters for _, parameters in results.values()], strict=True):
        torchlike.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
