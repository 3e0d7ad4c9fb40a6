"""Operators of one's own in transforms and under autocast: batching rules and casts that their authors bring."""

from __future__ import annotations

import pytest

import dispatch_core as dc
import torchlike
from torchlike import Tensor, func, tensor
from torchlike.levels import current_levels
from torchlike.levels.author_rules import VmapInfo
from torchlike.levels.loop import LOOPS


@pytest.fixture
def define():
    """Make custom operators that are taken back after the test."""
    made = []

    def define(fn, **options):
        made.append(dc.custom_op(f"test_layers_op::{fn.__name__}", fn, **{"mutates_args": (), **options}))
        return made[-1]

    yield define
    for each in made:
        each.close()


@pytest.fixture
def double(define):
    """An operator that vmap would run row by row: it reads its tensor as an array."""

    def double(x: Tensor, times: float = 2.0) -> Tensor:
        return tensor(x.numpy() * times)

    op = define(double, device_types=None)
    op.register_autograd(lambda ctx, grad: (grad * 2, None))
    return op


def make_rows(*shape):
    size = 1
    for each in shape:
        size *= each
    return torchlike.arange(size, dtype=torchlike.float32).reshape(*shape)


# Batching rules.


def test_a_rule_runs_once_for_all_rows(double):
    seen = []

    @double.register_vmap
    def rule(info, in_dims, x, times):
        seen.append((info, in_dims, tuple(x.shape), times))
        return double(x, times), in_dims[0]

    x = make_rows(3, 2)
    assert func.vmap(double)(x).tolist() == (x * 2).tolist()
    assert func.vmap(double, in_dims=1, randomness="same")(x).tolist() == (x * 2).t().tolist()
    assert seen == [
        (VmapInfo(3, "error"), (0, None), (3, 2), 2.0),
        (VmapInfo(2, "same"), (1, None), (3, 2), 2.0),
    ]
    assert callable(rule)
    assert not LOOPS["test_layers_op::double"]


def test_results_may_have_the_batch_anywhere_or_nowhere(double):
    x = make_rows(3, 2)
    double.register_vmap(lambda info, in_dims, x, times: ((x * times).t(), -1))
    assert func.vmap(double)(x).tolist() == (x * 2).tolist()
    double.register_vmap(lambda info, in_dims, x, times: (x.sum(0) * times, None))
    assert func.vmap(double)(x).tolist() == [[12.0, 18.0]] * 3
    assert func.vmap(double, out_dims=None)(x).tolist() == [12.0, 18.0]


def test_a_rule_sees_lists_and_keywords_and_returns_several_results(define):
    seen = []

    def mix(xs: list[Tensor], y: Tensor | None = None, *, times: float = 1.0) -> tuple[Tensor, list[Tensor], int]:
        return xs[0] * times, [each * 2 for each in xs], 7

    def rule(info, in_dims, xs, y=None, *, times):
        seen.append((in_dims, type(xs), y, times))
        return (xs[0] * times, [each * 2 for each in xs], 7), (0, in_dims[0], None)

    op = define(mix)
    op.register_vmap(rule)
    x, shared, numbers = make_rows(3, 2), torchlike.ones(2), []

    def call(row):
        first, rest, number = op([row, shared], times=3.0)
        numbers.append(number)
        return first, rest

    first, rest = func.vmap(call)(x)
    assert first.tolist() == (x * 3).tolist()
    assert [each.tolist() for each in rest] == [(x * 2).tolist(), [[2.0, 2.0]] * 3]
    assert (seen, numbers) == ([(([0, None], None), list, None, 3.0)], [7])


def test_rules_nest_and_call_operators_of_the_level_below(double):
    depths = []

    @double.register_vmap
    def rule(info, in_dims, x, times):
        depths.append((info.batch_size, x.dim()))
        return double(x, times), 0

    x = make_rows(2, 3, 4)
    assert func.vmap(func.vmap(double))(x).tolist() == (x * 2).tolist()
    assert depths == [(3, 2), (2, 3)]
    double.register_vmap(lambda info, in_dims, x, times: (func.vmap(torchlike.mul, in_dims=(0, None))(x, times), 0))
    assert func.vmap(func.vmap(double))(x).tolist() == (x * 2).tolist()
    assert callable(rule)


def test_rules_and_formulas_work_together(double):
    double.register_vmap(lambda info, in_dims, x, times: (double(x, times), 0))
    x = make_rows(3, 2)
    assert func.vmap(func.grad(lambda row: (double(row) ** 2).sum()))(x).tolist() == (x * 8).tolist()
    assert func.grad(lambda x: (func.vmap(double)(x) ** 2).sum())(x).tolist() == (x * 8).tolist()
    leaf = x.clone().requires_grad_()
    func.vmap(double)(leaf).sum().backward()
    assert leaf.grad.tolist() == [[2.0, 2.0]] * 3
    assert func.jvp(func.vmap(double), (x,), (x,))[1].tolist() == (x * 2).tolist()


def test_calls_without_a_batch_do_not_reach_the_rule(double):
    double.register_vmap(lambda info, in_dims, x, times: 1 / 0)
    captured = torchlike.ones(2)
    assert func.vmap(lambda x: x + double(captured))(make_rows(2, 2)).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    with pytest.raises(ZeroDivisionError):
        func.vmap(double)(make_rows(2, 2))


def test_a_rule_takes_the_place_of_a_composite_and_of_a_built_in_rule():
    x = make_rows(3, 2)
    with dc.Library("test_layers_lib", "FRAGMENT") as library, dc.Library("aten", "IMPL") as aten:
        library.define("thrice(Tensor x) -> Tensor")
        library.impl("thrice", lambda x: x * 3)
        op = dc.ops.test_layers_lib.thrice
        assert func.vmap(op)(x).tolist() == (x * 3).tolist()
        dc.register_vmap(op, lambda info, in_dims, x: (x * 30, 0), lib=library)
        assert func.vmap(op)(x).tolist() == (x * 30).tolist()
        dc.register_vmap(dc.ops.aten.sin.default, lambda info, in_dims, x: (x * 5, 0), lib=aten)
        assert func.vmap(torchlike.sin)(x).tolist() == (x * 5).tolist()
    assert func.vmap(torchlike.sin)(x).tolist() == torchlike.sin(x).tolist()


def test_a_kernel_of_another_kind_under_the_key_gets_the_rows_tensors():
    x = make_rows(3, 2)
    shapes = []

    def decompose(x):
        shapes.append(tuple(x.shape))
        return x * 3

    with dc.Library("test_layers_lib", "FRAGMENT") as library:
        library.define("thrice(Tensor x) -> Tensor")
        library.impl("thrice", lambda x: 1 / 0, "CompositeExplicitAutograd")
        library.impl("thrice", decompose, "FuncTorchBatchedDecomposition")
        assert func.vmap(dc.ops.test_layers_lib.thrice)(x).tolist() == (x * 3).tolist()
    assert shapes == [(2,)]


def test_operators_that_write_have_rules_that_write(define):
    def shift_(x: Tensor, by: Tensor) -> None:
        x.add_(by)

    def rule(info, in_dims, x, by):
        x.add_(by if in_dims[1] is None else by.reshape(-1, *[1] * (x.dim() - 1)))
        return None, None

    op = define(shift_, mutates_args=("x",))
    op.register_vmap(rule)
    x, version = torchlike.zeros(3, 2), 0

    def call(row, by):
        op(row, by)
        return row

    version = x._version
    assert func.vmap(call)(x, make_rows(3)).tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert x.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert x._version > version
    with pytest.raises(RuntimeError, match=r"vmap: test_layers_op::shift_.* is not possible"):
        func.vmap(call, in_dims=(None, 0), out_dims=None)(x[0], make_rows(3))


def test_views_are_views_and_returned_arguments_are_the_arguments():
    with dc.Library("test_layers_lib", "FRAGMENT") as library:
        library.define("head(Tensor(a) x) -> Tensor(a)")
        library.define("bump_(Tensor(a!) x) -> Tensor(a!)")
        library.impl("head", lambda x: x[:1], "CompositeExplicitAutograd")
        library.impl("bump_", lambda x: x.add_(1), "CompositeExplicitAutograd")
        ops = dc.ops.test_layers_lib
        dc.register_vmap(ops.head, lambda info, in_dims, x: (x[:, :1], 0), lib=library)
        dc.register_vmap(ops.bump_, lambda info, in_dims, x: (x.add_(1), 0), lib=library)
        x, same = torchlike.zeros(3, 2), []

        def call(row):
            ops.head(row).add_(5)
            same.append(ops.bump_(row) is row)
            return row

        assert func.vmap(call)(x).tolist() == [[6.0, 1.0]] * 3
        assert (x.tolist(), same) == ([[6.0, 1.0]] * 3, [True])


RETURNED = {
    "a tensor alone": (
        lambda x: x * 2,
        RuntimeError,
        "Expected the vmap rule of .*::double to have two returns",
    ),
    "a list": (lambda x: [x * 2, 0], RuntimeError, "Got a <class 'list'> instead"),
    "three": (lambda x: (x * 2, 0, 0), RuntimeError, "Got 3 returns"),
    "more dimensions than results": (lambda x: (x * 2, (0, 0)), RuntimeError, "incompatible .output, out_dims. tuple"),
    "a dimension in a tuple": (lambda x: (x * 2, (0,)), RuntimeError, "incompatible .output, out_dims. tuple"),
    "a text": (lambda x: (x * 2, "0"), TypeError, "returned '0' in out_dims: an out_dim is an int or None"),
    "a flag": (lambda x: (x * 2, False), TypeError, "returned False in out_dims"),
    "too far": (lambda x: (x * 2, 5), IndexError, "returned out_dim 5 for an output of shape .3, 2."),
    "another size": (
        lambda x: (x * 2, 1),
        RuntimeError,
        "out_dim 1 for an output of shape .3, 2., whose size there is 2",
    ),
    "a number": (lambda x: (x.sum(), 0), IndexError, "returned out_dim 0 for an output of shape"),
    "no tensor": (lambda x: (3, None), dc.KernelResultError, "returned int where the schema promises a Tensor"),
    "an array": (
        lambda x: (x.numpy() * 2, 0),
        dc.KernelResultError,
        "returned ndarray where the schema promises a Tensor",
    ),
    "results in a list": (
        lambda x: ([x * 2], [0]),
        dc.KernelResultError,
        "returned list where the schema promises a Tensor",
    ),
    "nothing": (lambda x: (None, None), dc.KernelResultError, "returned NoneType where the schema promises a Tensor"),
    "two results": (lambda x: ((x * 2, x * 2), 0), dc.KernelResultError, "returned tuple where the schema promises"),
    "the argument": (lambda x: (x, 0), dc.KernelResultError, "returned an argument, or a view of one"),
    "a view of it": (lambda x: (x[:, :1], 0), dc.KernelResultError, "returned an argument, or a view of one"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_rules_that_return_something_else_are_refused_by_name(double, name):
    returned, error, text = RETURNED[name]
    double.register_vmap(lambda info, in_dims, x, times: returned(x))
    with pytest.raises(error, match=text):
        func.vmap(double)(make_rows(3, 2))


def test_an_interrupt_in_a_rule_leaves_the_levels_in_order(double):
    def interrupt(info, in_dims, x, times):
        raise KeyboardInterrupt

    double.register_vmap(interrupt)
    with pytest.raises(KeyboardInterrupt):
        func.vmap(func.vmap(double))(make_rows(3, 2))
    assert current_levels() == ()
    double.register_vmap(lambda info, in_dims, x, times: (double(x, times), 0))
    assert func.vmap(double)(make_rows(2)).tolist() == [0.0, 2.0]


def test_the_key_without_a_level_leaves_the_operator_as_it_is(double):
    double.register_vmap(lambda info, in_dims, x, times: 1 / 0)
    with dc.include_keys("FuncTorchBatched"):
        assert double(torchlike.ones(2)).tolist() == [2.0, 2.0]


# Casts.


@pytest.fixture
def watch(define):
    """An operator that tells the dtypes that it sees, and whether autocast is on inside."""
    seen = []

    def watch(x: Tensor, ys: list[Tensor | None], z: Tensor | None = None, *, w: float = 1.0) -> Tensor:
        inner = torchlike.ones(2, 2) @ torchlike.ones(2, 2)
        dtypes = [None if each is None else each.dtype for each in (x, *ys, z)]
        seen.append((dtypes, torchlike.is_autocast_enabled("cpu"), inner.dtype))
        return x * w

    op = define(watch)
    op.seen = seen
    return op


def test_arguments_are_cast_and_autocast_is_off_inside(watch):
    watch.register_autocast("cpu", torchlike.float16)
    x = torchlike.ones(2)
    f16, f32, f64 = torchlike.float16, torchlike.float32, torchlike.float64
    with torchlike.autocast("cpu"):
        found = watch(x, [x, None, x.double(), x.int()], x.bfloat16(), w=2.0)
        assert torchlike.is_autocast_enabled("cpu")
    assert (found.dtype, found.tolist()) == (f16, [2.0, 2.0])
    assert watch.seen.pop() == ([f16, f16, None, f64, torchlike.int32, f16], False, f32)
    assert watch(x, []).dtype is f32
    with torchlike.autocast("cpu"), torchlike.autocast("cpu", enabled=False):
        assert watch(x, []).dtype is f32


def test_without_casts_an_operator_computes_as_it_would(watch):
    with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
        assert watch(torchlike.ones(2), []).dtype is torchlike.float32
    assert watch.seen == [([torchlike.float32, None], True, torchlike.bfloat16)]


def test_casts_are_for_their_device(watch):
    watch.register_autocast("meta", torchlike.float16)
    watch.register_fake(lambda x, ys, z, *, w: torchlike.empty_like(x))
    with torchlike.autocast("cpu"):
        assert watch(torchlike.ones(2), []).dtype is torchlike.float32
        assert watch(torchlike.ones(2, device="meta"), []).dtype is torchlike.float32
    with torchlike.autocast("meta"):
        assert watch(torchlike.ones(2), []).dtype is torchlike.float32
        assert watch(torchlike.ones(2, device="meta"), []).dtype is torchlike.float16


def test_the_newest_casts_win_whatever_the_blocks_dtype(watch):
    watch.register_autocast("cpu", torchlike.float16)
    dc.register_autocast(watch.name, "cpu", torchlike.float64)
    with torchlike.autocast("cpu", dtype=torchlike.float16):
        assert watch(torchlike.ones(2).half(), []).dtype is torchlike.float64


def test_written_arguments_are_not_cast(define):
    def shift_(x: Tensor, by: Tensor) -> None:
        assert by.dtype is torchlike.bfloat16
        x.add_(by)

    op = define(shift_, mutates_args=("x",))
    op.register_autocast("cpu", torchlike.bfloat16)
    x = torchlike.zeros(2)
    with torchlike.autocast("cpu"):
        op(x, torchlike.ones(2))
    assert (x.dtype, x.tolist()) == (torchlike.float32, [1.0, 1.0])


def test_gradients_pass_the_casts_backwards(watch):
    watch.register_autocast("cpu", torchlike.float16)
    watch.register_autograd(lambda ctx, grad: (grad * 2, [], None))
    x = torchlike.ones(2, requires_grad=True)
    with torchlike.autocast("cpu"):
        watch(x, []).sum().backward()
        slope = func.grad(lambda x: watch(x, []).sum())(torchlike.ones(2))
        rows = func.vmap(func.grad(lambda x: watch(x, []).sum()))(torchlike.ones(3, 2))
    assert (x.grad.dtype, x.grad.tolist()) == (torchlike.float32, [2.0, 2.0])
    assert (slope.dtype, slope.tolist(), rows.tolist()) == (torchlike.float32, [2.0, 2.0], [[2.0, 2.0]] * 3)
    assert all(not is_on and dtypes[0] is torchlike.float16 for dtypes, is_on, _ in watch.seen)


def test_casts_of_a_composite_hold_in_transforms_too():
    with dc.Library("test_layers_lib", "FRAGMENT") as library:
        library.define("square(Tensor x) -> Tensor")
        library.impl("square", lambda x: x @ x)
        op, dtypes = dc.ops.test_layers_lib.square, []
        dc.register_autocast(op, "cpu", torchlike.float16, lib=library)

        def call(x):
            found = op(x)
            dtypes.append(found.dtype)
            return found.sum().float()

        x = torchlike.ones(2, 2)
        with torchlike.autocast("cpu"):
            call(x)
            assert func.grad(call)(x).tolist() == [[4.0, 4.0], [4.0, 4.0]]
            func.vmap(call)(x[None])
        assert dtypes == [torchlike.float16] * 3
    with torchlike.autocast("cpu"):
        assert (torchlike.ones(2, 2) @ torchlike.ones(2, 2)).dtype is torchlike.bfloat16


def test_pipelines_and_captures_record_the_casts(watch):
    watch.register_autocast("cpu", torchlike.float16)
    watch.register_fake(lambda x, ys, z, *, w: torchlike.empty_like(x))
    with torchlike.autocast("cpu"), torchlike.pipeline():
        found = watch(torchlike.ones(2), [], w=3.0)
    assert (found.dtype, found.tolist()) == (torchlike.float16, [3.0, 3.0])
    double = torchlike.capture(lambda x: watch(x, [], w=2.0))
    with torchlike.autocast("cpu"):
        assert [double(torchlike.ones(2)).dtype for _ in range(3)] == [torchlike.float16] * 3
    assert double(torchlike.ones(2)).dtype is torchlike.float32
