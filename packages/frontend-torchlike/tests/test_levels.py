"""Levels of function transforms: the stack, closed tensors, versions, random numbers, and other layers around them."""

import asyncio
import gc
import threading
import weakref

import pytest

import dispatch_core as dc
import torchlike
from torchlike import func, levels
from torchlike.levels.loop import LOOPS
from torchlike.levels.stack import current_levels


def make_rows(*shape):
    return torchlike.arange(float(torchlike.zeros(shape).numel())).reshape(shape)


def loss(weight, x):
    return ((x @ weight) ** 2).sum()


def per_sample(weight, x):
    return func.vmap(func.grad(loss), in_dims=(None, 0))(weight, x)


def compute_slopes(weight=None, device="cpu"):
    weight = torchlike.tensor([0.0, 2.0]) if weight is None else weight
    return per_sample(weight.to(device), make_rows(3, 2).to(device))


def test_a_shared_argument_has_a_gradient_for_each_row():
    # With the batch above the gradient, as one bit of a key would have it, the rows are summed.
    found = compute_slopes()
    assert found.tolist() == [[0.0, 4.0], [24.0, 36.0], [80.0, 100.0]]
    assert (
        found.tolist()
        == torchlike.stack([func.grad(loss)(torchlike.tensor([0.0, 2.0]), row) for row in make_rows(3, 2)]).tolist()
    )


@pytest.mark.no_pipeline(reason="the pipeline itself includes a key")
def test_levels_are_on_the_stack_while_the_function_runs():
    depths = []

    def look(x):
        depths.append([level.kind for level in current_levels()])
        return (x * x).sum()

    func.vmap(func.grad(look))(make_rows(2, 3))
    assert depths == [["vmap", "grad"]]
    assert current_levels() == ()
    assert not dc.frontends.has_masks()


@pytest.mark.no_pipeline(reason="the pipeline itself includes a key")
def test_an_error_leaves_no_level_behind():
    def fail(x):
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        func.vmap(func.grad(fail))(make_rows(2, 3))
    assert current_levels() == ()
    assert not dc.frontends.has_masks()


def test_tensors_answer_as_the_function_sees_them():
    seen = {}

    def look(x):
        seen.update(
            shape=tuple(x.shape), stride=x.stride(), offset=x.storage_offset(), size=x.size(0), dtype=x.dtype,
            device=str(x.device), elements=x.numel(), length=len(x), requires_grad=x.requires_grad,
        )  # fmt: skip
        return x

    func.vmap(look, in_dims=1)(make_rows(4, 3)[1:])
    assert seen == {
        "shape": (3,), "stride": (3,), "offset": 3, "size": 3, "dtype": torchlike.float32, "device": "cpu",
        "elements": 3, "length": 3, "requires_grad": False,
    }  # fmt: skip


def test_tensors_of_levels_are_written_as_torch_writes_them():
    texts = []
    func.vmap(lambda x: texts.append(repr(x)) or x)(torchlike.zeros(2))
    func.vmap(func.grad(lambda y: (texts.append(repr(y)), y.sum())[1]))(torchlike.zeros(2, 1))
    assert texts[0] == "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([0., 0.])\n)"
    assert texts[1].startswith("GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n")


def escape(transform, *args):
    kept = []
    transform(lambda x: (kept.append(x), x.sum())[1])(*args)
    return kept[0]


def test_a_closed_gradient_level_leaves_the_value():
    x = torchlike.ones(3)
    escaped = escape(func.grad, x)
    assert (escaped * 2).tolist() == [2.0, 2.0, 2.0]
    assert not (escaped * 2).requires_grad
    assert func.grad(lambda y: (escaped * y).sum())(x).tolist() == [1.0, 1.0, 1.0]
    assert func.vmap(lambda y: escaped * y)(make_rows(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: x.sum(),
        lambda x: torchlike.ones(3).add_(x),
        lambda x: x.view(3),
        lambda x: x.tolist(),
        lambda x: torchlike.cat([torchlike.ones(3), x]),
        lambda x: func.vmap(lambda y: x + y)(make_rows(2, 3)),
        lambda x: func.vmap(lambda y: x * 2, out_dims=None)(make_rows(2, 3)),
        lambda x: func.grad(lambda y: (x * y).sum())(torchlike.ones(3)),
    ],
)
def test_a_closed_batch_is_refused_in_every_operator(use):
    escaped = escape(func.vmap, make_rows(2, 3))
    with pytest.raises(RuntimeError, match=r"has escaped from inside a function being vmapped: its vmap \(level \d+\)"):
        use(escaped)
    assert "BatchedTensor" in repr(escaped)


def test_writes_to_rows_reach_the_caller_and_count_once():
    whole = make_rows(3, 2)
    base = torchlike.zeros(2, 3, 2)
    part = base[1]
    func.vmap(lambda row: row.add_(1))(whole)
    func.vmap(lambda row: row.add_(1), in_dims=1)(part)
    func.vmap(func.vmap(lambda number: number.mul_(3)))(part)
    assert whole.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert (whole._version, base._version) == (1, 2)
    assert base.sum().item() == 18.0


def test_a_change_between_forward_and_backward_is_noticed():
    x, factor = torchlike.ones(3), torchlike.full((3,), 2.0)
    _, pull = func.vjp(lambda y: y * factor, x)
    factor.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        pull(torchlike.ones(3))

    def change_saved(y):
        made = y.sin()
        found = made.exp()
        found.add_(1)
        return found.sum()

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        func.grad(change_saved)(x)


def test_nothing_runs_before_a_refusal():
    shared, rows = torchlike.zeros(3), make_rows(2, 3)
    with pytest.raises(RuntimeError, match=r"aten::add_\(self, \*extra_args\) is not possible"):
        func.vmap(shared.add_)(rows)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(lambda x: torchlike.nn.functional.relu_(shared.add_(x)).sum())(torchlike.ones(3))
    with pytest.raises(RuntimeError, match="doesn't work on out= or view ops"):
        func.vmap(lambda row: torchlike.mul(row, 2, out=shared))(rows)
    assert shared.tolist() == [0.0, 0.0, 0.0]
    assert shared._version == 0


@pytest.mark.parametrize("name", ["bool", "int", "index", "numpy", "asarray", "dlpack", "contains", "format"])
def test_rows_give_no_values_to_python(name):
    import numpy as np

    use = {
        "bool": bool,
        "int": int,
        "index": lambda x: [1, 2][x.long()],
        "numpy": lambda x: x.numpy(),
        "asarray": np.asarray,
        "dlpack": np.from_dlpack,
        "contains": lambda x: 3 in x[None],
        "format": lambda x: f"{x:.2f}",
    }[name]
    with pytest.raises((RuntimeError, TypeError, BufferError)):
        func.vmap(lambda x: use(x) or x)(torchlike.tensor([0.0, 1.0]))


def test_rows_that_no_rule_serves_are_counted():
    before = LOOPS.total()
    library = dc.Library("levels_test", "DEF")
    library.define("halve(Tensor x) -> Tensor")
    library.impl("halve", lambda x: x / 2, "CPU")
    found = func.vmap(dc.ops.levels_test.halve.default)(make_rows(3, 2))
    assert found.tolist() == (make_rows(3, 2) / 2).tolist()
    assert LOOPS.total() == before + 1
    library.define("halve_(Tensor(a!) x) -> Tensor(a!)")
    library.impl("halve_", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match="Batching rule not implemented for levels_test::halve_"):
        func.vmap(dc.ops.levels_test.halve_.default)(make_rows(3, 2))
    library.close()


DRAWS = {
    "rand": lambda x: x + torchlike.rand(8),
    "randn": lambda x: torchlike.randn(2, 3),
    "randint": lambda x: torchlike.randint(0, 1000, (5,)),
    "randperm": lambda x: torchlike.randperm(20),
    "rand_like": torchlike.rand_like,
    "normal_": lambda x: x.clone().normal_(),
    "bernoulli": lambda x: torchlike.bernoulli(torchlike.full((32,), 0.5)),
    "multinomial": lambda x: torchlike.multinomial(torchlike.ones(9), 5),
    "dropout": lambda x: torchlike.nn.functional.dropout(x + 1),
    "dropout of a shared tensor": lambda x: torchlike.nn.functional.dropout(torchlike.ones(32)),
    "dropout of channels": lambda x: torchlike.nn.functional.dropout1d(x.repeat(16, 1) + 1),
    "gradient of dropout": func.grad(lambda x: torchlike.nn.functional.dropout(x).sum()),
    "gumbel": torchlike.nn.functional.gumbel_softmax,
}


@pytest.mark.parametrize("draw", DRAWS)
def test_rows_draw_different_numbers_or_the_same(draw):
    rows = torchlike.zeros(4, 32)[:, : 8 if draw == "rand" else 32]
    torchlike.manual_seed(0)
    different = func.vmap(DRAWS[draw], randomness="different")(rows)
    same = func.vmap(DRAWS[draw], randomness="same")(rows)
    in_chunks = func.vmap(DRAWS[draw], randomness="same", chunk_size=3)(rows)
    assert different.shape == same.shape
    assert different.shape[0] == len(rows)
    assert not bool((different == different[0]).all())
    assert bool((same == same[0]).all())
    assert bool((in_chunks == in_chunks[0]).all())
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        func.vmap(DRAWS[draw])(rows)


def test_draws_that_are_off_need_no_randomness():
    dropout = torchlike.nn.functional.dropout
    assert func.vmap(lambda x: dropout(x, training=False))(make_rows(2, 3)).tolist() == make_rows(2, 3).tolist()
    attend = torchlike.nn.functional.scaled_dot_product_attention
    assert func.vmap(lambda x: attend(x, x, x))(torchlike.ones(2, 3, 4)).shape == (2, 3, 4)


def test_different_numbers_are_one_block():
    torchlike.manual_seed(7)
    rows = func.vmap(lambda x: torchlike.rand(3), randomness="different")(torchlike.zeros(4))
    torchlike.manual_seed(7)
    assert rows.tolist() == torchlike.rand(4, 3).tolist()


def test_threads_and_tasks_have_stacks_of_their_own():
    seen = []

    def look(x):
        worker = threading.Thread(target=lambda: seen.append((current_levels(), (torchlike.ones(2) + 1).tolist())))
        worker.start()
        worker.join()
        return x

    func.vmap(look)(make_rows(2, 2))
    assert seen == [((), [2.0, 2.0])]
    found = []
    workers = [threading.Thread(target=lambda: found.append(compute_slopes().tolist())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [compute_slopes().tolist()] * 4

    async def compute():
        await asyncio.sleep(0)
        return compute_slopes().tolist()

    async def gather():
        return await asyncio.gather(*[compute() for _ in range(3)])

    assert asyncio.run(gather()) == found[:3]


def test_pipelines_and_captures_record_the_lowest_calls():
    expected = compute_slopes().tolist()
    with dc.pipeline():
        found = compute_slopes()
    assert found.tolist() == expected
    captured = dc.capture(per_sample)
    rows = make_rows(3, 2)
    for factor in (1.0, 1.0, 2.0, 3.0):
        weight = torchlike.tensor([0.0, 2.0]) * factor
        assert captured(weight, rows).tolist() == per_sample(weight, rows).tolist()
    second = dc.capture(func.hessian(lambda x: (x**3).sum()))
    for row in rows:
        assert second(row).tolist() == (6 * row).diag().tolist()


def test_profiles_and_traces_see_the_lowest_calls():
    with dc.profile() as profile:
        compute_slopes()
    names = [event.name for event in profile.events]
    assert "aten::mm" in names or "aten::bmm" in names or "aten::mv" in names
    with dc.trace() as trace:
        compute_slopes()
    assert "Batched" not in str(trace)
    assert len(str(trace).splitlines()) > 5


def test_the_device_may_be_meta():
    found = compute_slopes(device="meta")
    assert (found.shape, found.device.type) == ((3, 2), "meta")
    x = torchlike.ones(2, device="meta")
    assert func.hessian(lambda x: (x**3).sum())(x).shape == (2, 2)
    assert func.jacrev(func.vmap(torchlike.sin))(x).device.type == "meta"
    labels = torchlike.zeros(2, 4, dtype=torchlike.int64, device="meta")
    assert func.vmap(lambda labels: torchlike.nn.functional.one_hot(labels, 5))(labels).shape == (2, 4, 5)


def test_autocast_inside_a_gradient_computes_in_the_lower_precision():
    kinds = []

    def cast(weight, x):
        with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
            made = x[None] @ weight
        kinds.append(made.dtype)
        return (made.float() ** 2).sum()

    found = func.vmap(func.grad(cast), in_dims=(None, 0))(torchlike.tensor([0.0, 2.0]), make_rows(3, 2))
    assert kinds == [torchlike.bfloat16]
    assert found.tolist() == compute_slopes().tolist()
    assert found.dtype is torchlike.float32


def test_a_function_that_is_linearized_runs_once():
    calls = []

    def count(x):
        calls.append(x)
        return x.sin()

    _, push = func.linearize(count, torchlike.zeros(2))
    assert [push(torchlike.ones(2)).tolist(), push(torchlike.full((2,), 3.0)).tolist()] == [[1.0, 1.0], [3.0, 3.0]]
    assert len(calls) == 1
    with pytest.raises(RuntimeError, match="shape"):
        push(torchlike.ones(3))


def test_jacobians_of_numbers_by_numbers_have_no_dimensions():
    rate = torchlike.tensor(3.0)
    for jacobian in (func.jacfwd, func.jacrev, lambda f: func.jacrev(f, chunk_size=1)):
        assert jacobian(lambda x: x * x)(rate).tolist() == 6.0
        named = jacobian(lambda rates: rates["a"] * rates["b"])({"a": rate, "b": rate + 1})
        assert {name: (each.tolist(), tuple(each.shape)) for name, each in named.items()} == {
            "a": (4.0, ()),
            "b": (3.0, ()),
        }
    assert func.hessian(lambda x: x**3)(rate).tolist() == 18.0


def test_backward_of_a_transform_needs_no_graph_outside():
    x = torchlike.ones(2)
    assert not func.grad(lambda y: (y**2).sum())(x).requires_grad
    with torchlike.no_grad():
        assert func.grad(lambda y: (y**2).sum())(x).tolist() == [2.0, 2.0]
        assert not func.grad(lambda y: (y**2).sum())(x.clone().requires_grad_()).requires_grad


def test_transforms_take_nested_tensors():
    ragged = torchlike.nested.nested_tensor([torchlike.ones(2, 3), torchlike.ones(1, 3)], layout=torchlike.jagged)
    assert (func.vmap(lambda x: x * 2)(ragged).values() == 2).all()
    assert (func.grad(lambda x: x.values().sum())(ragged).values() == 1).all()
    assert func.vmap(lambda x: x * ragged.values().sum())(torchlike.ones(2)).tolist() == [9.0, 9.0]


def test_forward_mode_stands_around_transforms():
    forward = torchlike.autograd.forward_ad
    x, way = torchlike.tensor([1.0, 2.0]), torchlike.tensor([1.0, 0.0])
    with forward.dual_level():
        dual = forward.make_dual(x, way)
        for found in (func.grad(lambda y: (y**3).sum())(dual), func.jvp(lambda y: y**3, (dual,), (x * 0 + 1,))[1]):
            assert forward.unpack_dual(found).tangent.tolist() == [6.0, 0.0]
        assert forward.unpack_dual(func.vmap(lambda y: y**2)(dual)).tangent.tolist() == [2.0, 0.0]


def test_batch_norms_go_without_running_statistics():
    network = torchlike.nn.Sequential(torchlike.nn.Linear(3, 3), torchlike.nn.BatchNorm1d(3))
    assert func.replace_all_batch_norm_modules_(network) is network
    assert list(network.buffers()) == []
    assert func.vmap(network)(make_rows(2, 4, 3)).shape == (2, 4, 3)


def test_a_tensor_is_unwrapped_one_level_or_all():
    seen = []

    def look(x):
        seen.append((func.debug_unwrap(x), func.debug_unwrap(x, recurse=False)))
        return x.sum()

    rows = make_rows(2, 3)
    func.vmap(func.grad(look))(rows)
    whole, row = seen[0]
    assert whole is rows
    assert "BatchedTensor" in repr(row)


def test_custom_operators_pass_transforms_by_their_formulas():
    @dc.custom_op("levels_test_formula::cube", mutates_args=())
    def cube(x: torchlike.Tensor, factor: float) -> torchlike.Tensor:
        return x * x * x * factor

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.factor = inputs[1]

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x * ctx.factor, None

    cube.register_autograd(backward, setup_context=setup_context)
    x = torchlike.tensor([1.0, 2.0])
    assert func.grad(lambda x: cube(x, 2.0).sum())(x).tolist() == [6.0, 24.0]
    assert func.vmap(func.grad(lambda x: cube(x, 2.0)))(x).tolist() == [6.0, 24.0]
    assert func.hessian(lambda x: cube(x, 1.0).sum())(x).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert func.jvp(lambda x: cube(x, 1.0), (x,), (x,))[1].tolist() == [3.0, 24.0]


def test_gradients_of_broadcast_rows_are_summed():
    class Product(torchlike.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    x, y = make_rows(3, 2), make_rows(3, 3, 2)

    def slope(function, *args, **options):
        return func.grad(lambda x: func.vmap(function, **options)(x, *args).sum())

    for function in (Product.apply, torchlike.mul):
        assert slope(function, y)(x).tolist() == y.sum(1).tolist()
        assert slope(function, y[1], in_dims=(0, None))(x).tolist() == [y[1].sum(0).tolist()] * 3
        assert slope(function, y, in_dims=(None, 0))(x[0]).tolist() == y.sum((0, 1)).tolist()


def test_nothing_of_a_transform_lives_on():
    kept = []

    def look(x):
        made = x * 2
        kept.extend([weakref.ref(made), weakref.ref(made._dispatch_data.value)])
        return (made * made).sum()

    gc.collect()
    gc.disable()
    try:
        func.vmap(func.grad(look))(make_rows(2, 3))
        func.hessian(look)(torchlike.ones(2))
        assert [each() for each in kept] == [None] * 4
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_normalizations_have_all_derivatives(name):
    functional = torchlike.nn.functional
    normalize = {
        "layer_norm": lambda x: functional.layer_norm(x, (3,)),
        "group_norm": lambda x: functional.group_norm(x.reshape(1, 1, 3), 1).reshape(3),
        "batch_norm": lambda x: functional.batch_norm(x.reshape(3, 1), None, None, training=True).reshape(3),
    }[name]

    def compute(x):
        away = x - x.mean()
        return away / ((away * away).mean() + 1e-5).sqrt()

    x, way = torchlike.tensor([0.5, -1.0, 2.0]).double(), torchlike.tensor([1.0, 2.0, 3.0]).double()

    def differentiate(function):
        def value(x):
            return (function(x) * way).sin().sum()

        third = func.jvp(lambda x: func.jvp(func.grad(value), (x,), (way,))[1], (x,), (way,))[1]
        second = func.jvp(lambda x: func.jvp(function, (x,), (way,))[1], (x,), (way,))[1]
        return torchlike.cat([second, third, func.jacrev(func.hessian(value))(x).flatten()])

    assert torchlike.allclose(differentiate(normalize), differentiate(compute), rtol=1e-7, atol=1e-8)


ROWS_WITH_GRADIENTS = {
    "ctc_loss": (
        lambda x, labels: torchlike.nn.functional.ctc_loss(x.log_softmax(-1), labels, [6, 5], [2, 3]),
        lambda: (torchlike.randn(3, 6, 2, 4), torchlike.randint(1, 4, (3, 2, 3))),
    ),
    "ctc_loss of labels in a vector": (
        lambda x, labels: torchlike.nn.functional.ctc_loss(x.log_softmax(-1), labels, [6, 5], [2, 3], reduction="sum"),
        lambda: (torchlike.randn(3, 6, 2, 4), torchlike.randint(1, 4, (3, 5))),
    ),
    "embedding with padding": (
        lambda table, places: torchlike.nn.functional.embedding(places, table, padding_idx=1).sin().sum(),
        lambda: (torchlike.randn(3, 4, 2), torchlike.tensor([[1, 2, 2], [0, 1, 3], [1, 1, 1]])),
    ),
    "masked_scatter": (
        lambda source, x: x.masked_scatter(x > 0, source).sin().sum(),
        lambda: (torchlike.randn(3, 12), torchlike.randn(3, 4, 2)),
    ),
}


@pytest.mark.parametrize("name", ROWS_WITH_GRADIENTS)
def test_gradients_are_those_of_each_row_in_either_order(name):
    torchlike.manual_seed(0)
    function, make = ROWS_WITH_GRADIENTS[name]
    given, other = make()
    expected = torchlike.stack([func.grad(function)(*each) for each in zip(given, other, strict=True)])
    assert expected.isfinite().all()
    torchlike.testing.assert_close(func.vmap(func.grad(function))(given, other), expected)
    outside = func.grad(lambda given: func.vmap(function)(given, other).sum())
    torchlike.testing.assert_close(outside(given), expected)
    one = func.grad(lambda given: func.vmap(lambda given: function(given, other[0]))(given).sum())
    torchlike.testing.assert_close(one(given)[0], expected[0])


class Halved(levels.LevelData):
    __slots__ = ()


class Bare(levels.TransformLevel):
    kind = "bare"


@pytest.mark.no_pipeline(reason="the pipeline itself includes a key")
def test_a_level_of_ones_own_has_a_text_and_refuses_what_it_cannot_do():
    x, level = torchlike.ones(2), Bare()
    with levels.above(level):
        with pytest.raises(NotImplementedError, match="Bare has no method call"):
            x + 1
        made = levels.stand_for(Halved, x, level, is_captured=False)
        assert level.owns(made)
        assert levels.data_of(made).value is x
    with pytest.raises(RuntimeError, match=r"a tensor of <bare level \d+, closed> has left its function"):
        made + 1
    assert repr(made).startswith("Halved(lvl=1, value=")
    for other in (3, [x], None, x.numpy()):
        with pytest.raises(TypeError, match=f"represents a tensor, not for {type(other).__name__}\nHint"):
            levels.stand_for(Halved, other, level, is_captured=False)
        assert not level.owns(other)
    with pytest.raises(RuntimeError, match="below: no level is open"), levels.below():
        pass
    assert not dc.apply_masks(dc.DispatchKeySet())


@pytest.mark.parametrize("name", ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "feature_alpha_dropout"])
@pytest.mark.parametrize("is_batched", [True, False])
def test_every_dropout_draws_for_each_row_or_for_all(name, is_batched):
    shape = {"dropout1d": (3, 8, 2), "dropout2d": (2, 8, 2, 2)}.get(name, (8, 8))

    def drop(row, train):
        x = torchlike.ones(shape)
        return getattr(torchlike.nn.functional, name)(x * row if is_batched else x, 0.5, train)

    rows = torchlike.ones(4)
    for randomness in ("different", "same"):
        found = func.vmap(lambda row: drop(row, True), randomness=randomness)(rows)
        assert tuple(found.shape) == (4, *shape)
        assert all(torchlike.equal(found[0], each) for each in found) == (randomness == "same")
        assert func.vmap(lambda row: drop(row, False), randomness=randomness)(rows).eq(1).all()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        func.vmap(lambda row: drop(row, True))(rows)


def test_rows_that_are_written_to_take_the_same_draws():
    rows = torchlike.zeros(4, 50)
    found = func.vmap(lambda x: x.bernoulli_(torchlike.full((50,), 0.5)), randomness="same")(rows)
    assert torchlike.equal(found, rows)
    assert 0 < rows[0].sum() < 50
    assert all(torchlike.equal(rows[0], each) for each in rows)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor"):
        func.vmap(lambda x, p: x.bernoulli_(p), randomness="same")(rows, torchlike.full((4, 50), 0.5))
