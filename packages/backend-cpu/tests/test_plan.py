"""Chains that run together give, bit by bit, the results of the kernels one after the other."""

from __future__ import annotations

import functools
import gc
import threading

import numpy as np
import pytest
from comparison import assert_same, assert_same_bits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.plan import folds, functions, tiled
from dispatch_pipelines.program import plan as plans
from dispatch_pipelines.run import executors as runs

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

aten = dc.ops.aten


@pytest.fixture(autouse=True, params=["whole", "tiled"])
def form(request, monkeypatch):
    """Run each test in both forms, the second with tiles so small that there are many."""
    plans.clear()
    if request.param == "tiled":
        monkeypatch.setattr(functions, "WHOLE", 0)
        monkeypatch.setattr(tiled, "TILE", 160)
    yield request.param
    plans.clear()


def read(value):
    """Return an array, or a pending value's."""
    return value.result() if hasattr(value, "result") else value


def same(found, expected):
    """Compare a result, which may be pending, with that of the kernels one after the other."""
    assert_same(read(found), read(expected), values=assert_same_bits, strides="elements")


def normal(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_a_chain_runs_together_and_its_plan_is_found_again():
    a, b = normal(7, 60), normal(60, seed=1)

    def chain():
        return aten.relu(aten.add.Tensor(a, b))

    expected = chain()
    for hits in (0, 1):
        with dc.pipeline() as pipe:
            found = chain()
        same(found, expected)
        assert (pipe.stats().fused, pipe.stats().cache_hits) == (2, hits)
        assert pipe.stats().bytes_saved == expected.nbytes


def test_without_fuse_the_kernels_run_one_by_one():
    a = normal(300)
    with dc.pipeline(fuse=False) as pipe:
        found = aten.exp(aten.neg(a))
    same(found, np.exp(-a))
    assert pipe.stats().fused == 0


def test_another_kernel_of_the_user_is_not_passed_over():
    a = normal(300)
    with dc.Library("aten", "IMPL", "CPU") as library:
        library.impl("exp", lambda self: self * 0 + 7, allow_override=True)
        with dc.pipeline() as pipe:
            found = aten.neg(aten.exp(aten.neg(a)))
        same(found, np.full(300, -7, np.float32))
    with dc.pipeline() as pipe:
        found = aten.neg(aten.exp(aten.neg(a)))
    same(found, -np.exp(-a))
    assert pipe.stats().fused == 3


def test_a_kernel_of_the_user_that_wraps_ours_is_not_passed_over():
    a, ran = normal(300), []

    def wrapping(before):
        @functools.wraps(before)
        def kernel(*args, **kwargs):
            ran.append(before)
            return before(*args, **kwargs)

        return kernel

    with dc.Library("aten", "IMPL", "CPU") as library:
        library.impl("exp", wrapping(KERNELS["exp"]), allow_override=True)
        library.impl("sum", wrapping(KERNELS["sum"]), allow_override=True)
        with dc.pipeline() as pipe:
            found = aten.sum(aten.exp(aten.neg(aten.neg(a))))
        same(found, aten.sum(np.exp(a)))
    assert ran == [KERNELS[name] for name in ("exp", "sum", "sum")]
    assert pipe.stats().fused == 2


@pytest.mark.parametrize("alpha", [1, 2, 1.0, 2.0])
@pytest.mark.parametrize("only", [1, 1.0])
def test_a_covered_kernel_of_the_user_is_not_passed_over(alpha, only):
    a = normal(300)
    with dc.Library("aten", "IMPL", "CPU") as library:
        library.impl("add.Tensor", lambda self, other: self * 0 + 7, when=("alpha", only), allow_override=True)
        for _ in range(2):
            with dc.pipeline():
                found = aten.neg(aten.add.Tensor(a, a, alpha=alpha))
            expected = aten.neg(aten.add.Tensor(a, a, alpha=alpha))
            same(found, expected)
        assert (expected[0] == -7) == (type(alpha) is type(only) and alpha == only)


def test_floats_are_given_to_a_plan_and_no_part_of_its_structure():
    a = normal(300)
    for hits, factor in enumerate((2.0, 3.5, -0.0, float("nan"), 1e300)):
        with dc.pipeline() as pipe:
            found = aten.add.Scalar(aten.mul.Scalar(a, factor), factor)
        same(found, aten.add.Scalar(aten.mul.Scalar(a, factor), factor))
        assert pipe.stats().cache_hits == min(hits, 1)


@pytest.mark.parametrize("number", [2, True, 2.0])
def test_a_number_keeps_its_type(number):
    a = np.arange(300)
    with dc.pipeline():
        found = aten.mul.Tensor(aten.add.Scalar(a, number), a)
    same(found, aten.mul.Tensor(aten.add.Scalar(a, number), a))


def test_results_that_are_kept_are_stored():
    a = normal(300)
    with dc.pipeline() as pipe:
        first = aten.exp(a)
        last = aten.neg(first)
    same(first, np.exp(a))
    same(last, -np.exp(a))
    assert pipe.stats().bytes_saved == 0


def test_writing_in_place_joins_a_chain():
    def program(x, y):
        x = aten.neg(x)
        total = aten.mul.Tensor(x, y)
        aten.add_.Tensor(x, total, alpha=0.5)
        aten.mul_.Scalar(x, 0.9)
        return x, aten.sub.Tensor(x, y)

    x, y = normal(20, 30), normal(20, 30, seed=1)
    with dc.pipeline() as pipe:
        found = program(x, y)
    for one, two in zip(found, program(x, y), strict=True):
        same(one, two)
    assert pipe.stats().fused == 5


def test_views_of_what_is_written_are_seen():
    def program(x):
        row = x[3]
        doubled = aten.add.Tensor(row, row)
        aten.mul_.Scalar(x, 3.0)
        again = aten.add.Tensor(row, doubled)
        aten.neg_(row)
        return doubled, again, aten.add.Scalar(x, 1.0)

    x = normal(20, 30)
    other = x.copy()
    expected = program(other)
    with dc.pipeline():
        found = program(x)
    same(x, other)
    for one, two in zip(found, expected, strict=True):
        same(one, two)


def test_read_only_arrays_are_refused_by_the_operator_that_writes():
    x, y = normal(300), normal(300, seed=1)
    x.flags.writeable = False
    before = x.copy()
    with dc.pipeline() as pipe:
        product = aten.mul.Tensor(y, y)
        with pytest.raises(RuntimeError, match="read-only"):
            aten.add_.Tensor(x, product)
        other = aten.exp(y)
    same(x, before)
    same(product, y * y)
    same(other, np.exp(y))
    assert pipe.stats().executed == 2


@pytest.mark.parametrize("shape", [(5000,), (50, 101), (7, 11, 65), (1, 4097), (700, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64])
def test_reductions_at_the_end_give_the_bits_of_the_whole(shape, dtype):
    a = (normal(*shape) * 10).astype(dtype)
    programs = {
        "sum": aten.sum,
        "mean": lambda x: aten.mean(x) if dtype is not np.int64 else aten.sum(x),
        "last": lambda x: aten.sum.dim_IntList(x, [-1]),
        "keep": lambda x: aten.sum.dim_IntList(x, [len(shape) - 1], True),
        "first": lambda x: aten.sum.dim_IntList(x, [0]),
        "amax": lambda x: aten.amax(x, [-1]),
        "mean of rows": lambda x: aten.mean.dim(x, [-1]) if dtype is not np.int64 else aten.sum(x),
    }
    for program in programs.values():
        expected = program(aten.mul.Tensor(aten.add.Tensor(a, a), a))
        with dc.pipeline():
            found = program(aten.mul.Tensor(aten.add.Tensor(a, a), a))
        same(found, expected)


def test_a_sum_is_part_of_its_chain():
    a = normal(5000)
    with dc.pipeline() as pipe:
        found = aten.sum(aten.mul.Tensor(a, a))
    same(found, np.asarray((a * a).sum()))
    assert pipe.stats().fused == 2
    assert pipe.stats().bytes_saved == a.nbytes


@pytest.mark.parametrize("size", [8191, 8192, 8193, 100_003])
def test_the_sum_of_a_long_chain_has_the_bits_of_numpys(size):
    a = normal(size)
    with dc.pipeline():
        found = aten.sum(aten.mul.Tensor(a, a))
    same(found, np.asarray((a * a).sum()))


def test_halves_are_numpys():
    for size in (129, 1000, 4097, 8192, 100_003):
        if size > folds.LONGEST_ROW:
            break
        a = normal(size)
        tree = folds.halve(0, size, 300)
        sums = [a[start:stop].sum() for start, stop in folds.leaves(tree)]
        assert folds.add_up(tree, sums[::-1]) == a.sum()


def test_plans_are_bounded(monkeypatch):
    monkeypatch.setattr(plans, "KEPT", 3)
    for size in range(200, 210):
        a = normal(size)
        with dc.pipeline():
            found = aten.neg(aten.exp(a))
        same(found, -np.exp(a))
    assert len(plans._plans) == 3


def test_plans_hold_no_arrays():
    a = normal(300)
    with dc.pipeline():
        found = aten.neg(aten.exp(a))
    del found
    gc.collect()
    assert not any(
        each is a for referrer in gc.get_referrers(a) for each in (referrer if type(referrer) is tuple else ())
    )


def test_threads_share_plans():
    a = [normal(20_000, seed=seed) for seed in range(4)]
    wrong = []

    def work(x):
        expected = -np.exp(x) * x
        for _ in range(30):
            with dc.pipeline():
                found = aten.mul.Tensor(aten.neg(aten.exp(x)), x)
            if read(found).tobytes() != expected.tobytes():
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in a]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def choosing(x, y):
    """Run a chain of operators that are compiled, with a write in place."""
    t = aten.add.Tensor(aten.mul.Tensor(x, y), x, alpha=0.25)
    t = aten.maximum(aten.div.Tensor(t, y), x)
    y = aten.neg(y)
    aten.mul_.Scalar(y, 0.5)
    t = aten.where.self(aten.gt.Scalar(t, 0.5), aten.sqrt(aten.abs(t)), aten.neg(y))
    return aten.clamp_min(aten.sub.Tensor(t, x), -0.5), aten.lt.Tensor(t, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1,), (300,), (30, 50)])
def test_a_compiled_chain_gives_what_the_kernels_give(shape, dtype, tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="numba, the optional extra `jit`, is not installed")
    monkeypatch.setenv("DISPATCH_CPU_JIT", "1")
    monkeypatch.setenv("DISPATCH_CPU_CACHE", str(tmp_path))
    x, y = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype, seed=1)
    x.flat[0] = np.nan
    for _ in range(3):
        with dc.pipeline() as pipe:
            found = choosing(x, y)
        for one, two in zip(found, choosing(x, y), strict=True):
            same(one, two)
    assert pipe.stats().fused == 14
    assert len(list(tmp_path.rglob("*.nbi"))) == 1


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 2.5, -2.5, 1e-40, 1e30, -1e30]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name",
    "abs add ceil div eq floor ge gt isnan le lt maximum minimum mul ne neg relu sqrt sub trunc div_trunc clamp".split(),
)
def test_a_compiled_chain_gives_nan_inf_and_signed_zeros_as_the_kernels_do(name, dtype, tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="numba, the optional extra `jit`, is not installed")
    monkeypatch.setenv("DISPATCH_CPU_JIT", "1")
    monkeypatch.setenv("DISPATCH_CPU_CACHE", str(tmp_path))
    x, y = (np.ascontiguousarray(each.ravel(), dtype) for each in np.meshgrid(SPECIAL, SPECIAL))
    two = "add sub mul div maximum minimum eq ne lt le gt ge".split()
    call = {
        "div_trunc": lambda a, b: aten.div.Tensor_mode(a, b, rounding_mode="trunc"),
        "clamp": lambda a, b: aten.clamp(a, -0.5, 1.0),
    }.get(name, lambda a, b: getattr(aten, name)(a, b) if name in two else getattr(aten, name)(a))
    for _ in range(3):
        with dc.pipeline() as pipe:
            found = call(aten.neg(aten.neg(x)), aten.neg(aten.neg(y)))
        same(found, call(x, y))
    assert pipe.stats().fused


def test_what_a_compiled_chain_does_not_take_is_left_to_numpy(tmp_path, monkeypatch):
    pytest.importorskip("numba", reason="numba, the optional extra `jit`, is not installed")
    monkeypatch.setenv("DISPATCH_CPU_JIT", "1")
    monkeypatch.setenv("DISPATCH_CPU_CACHE", str(tmp_path))
    for writable in (True, True, False):
        x = normal(300)
        x.flags.writeable = writable
        with dc.pipeline() as pipe:
            found = aten.neg(aten.mul.Tensor(x, x))
        same(found, -(x * x))
        assert pipe.stats().fused == 2


def test_without_numba_or_with_exponentials_nothing_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("DISPATCH_CPU_JIT", "1")
    monkeypatch.setenv("DISPATCH_CPU_CACHE", str(tmp_path))
    x = normal(300)
    for _ in range(3):
        with dc.pipeline():
            found = aten.neg(aten.exp(x))
        same(found, -np.exp(x))
    assert list(tmp_path.iterdir()) == []


UNARY = (
    "neg exp log sqrt abs sign relu sigmoid tanh reciprocal rsqrt sin floor silu gelu erf isnan logical_not"
    " square log1p frac round"
).split()
BINARY = (
    "add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum eq.Tensor lt.Tensor pow.Tensor_Tensor atan2"
    " logical_and remainder.Tensor fmod.Tensor floor_divide"
).split()
NUMBER = (
    "add.Scalar sub.Scalar mul.Scalar div.Scalar pow.Tensor_Scalar gt.Scalar eq.Scalar clamp_min leaky_relu"
    " remainder.Scalar rsub.Scalar"
).split()
INPLACE = "add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor".split()
INPLACE_UNARY = "neg_ exp_ sqrt_ relu_ sigmoid_ tanh_".split()
SHAPES = [(), (1,), (5,), (40, 5), (1, 5), (40, 1), (3, 40, 5), (200,), (3, 1, 5)]
DTYPES = [np.float32] * 4 + [np.float64, np.float16, np.int64, np.int32, np.bool_, np.uint8, np.complex64]


@st.composite
def inputs(draw):
    shape = draw(st.sampled_from(SHAPES))
    dtype = draw(st.sampled_from(DTYPES))
    array = np.asarray(np.random.default_rng(draw(st.integers(0, 9))).standard_normal(shape) * 3).astype(dtype)
    match draw(st.sampled_from(["plain", "plain", "transposed", "strided", "fortran"])):
        case "transposed" if array.ndim > 1:
            array = np.ascontiguousarray(array.T).T
        case "fortran" if array.ndim > 1:
            array = np.asfortranarray(array)
        case "strided" if array.ndim:
            array = np.repeat(array, 2, axis=-1)[..., ::2]
    return array


number = st.one_of(st.floats(-3, 3, width=32), st.integers(-2, 3), st.booleans())
pick = st.integers(0, 1000)
step = st.one_of(
    st.tuples(st.just("unary"), st.sampled_from(UNARY), pick),
    st.tuples(st.just("binary"), st.sampled_from(BINARY), pick, pick),
    st.tuples(st.just("binary"), st.sampled_from(BINARY), pick, pick),
    st.tuples(st.just("number"), st.sampled_from(NUMBER), pick, number),
    st.tuples(st.just("scaled"), st.sampled_from(["add.Tensor", "sub.Tensor", "add_.Tensor"]), pick, pick, number),
    st.tuples(st.just("inplace"), st.sampled_from(INPLACE), pick, pick),
    st.tuples(st.just("inplace_unary"), st.sampled_from(INPLACE_UNARY), pick),
    st.tuples(st.just("inplace_number"), st.sampled_from(["mul_.Scalar", "add_.Scalar"]), pick, number),
    st.tuples(st.just("where"), pick, pick, pick),
    st.tuples(st.just("addcmul"), st.sampled_from(["addcmul", "addcmul_", "addcdiv_"]), pick, pick, pick, number),
    st.tuples(st.just("lerp"), st.sampled_from(["lerp.Scalar", "lerp_.Scalar"]), pick, pick, number),
    st.tuples(st.just("view"), st.sampled_from(["t", "select", "expand", "slice"]), pick),
    st.tuples(st.just("fold"), st.sampled_from(["sum", "mean", "last", "amax"]), pick),
    st.tuples(st.just("drop"), pick),
    st.tuples(st.just("read"), pick),
)


def overload(name):
    base, _, rest = name.partition(".")
    return getattr(getattr(aten, base), rest or "default")


def perform(one, pool):
    """Run one step of a program on the values in ``pool``; a call that is refused makes nothing."""
    kind, *rest = one
    take = [pool[index % len(pool)] if type(index) is int else index for index in rest]
    match kind:
        case "unary" | "inplace_unary":
            made = overload(rest[0])(take[1])
        case "binary" | "inplace":
            made = overload(rest[0])(take[1], take[2])
        case "number" | "inplace_number":
            made = overload(rest[0])(take[1], rest[2])
        case "scaled":
            made = overload(rest[0])(take[1], take[2], alpha=rest[3])
        case "where":
            made = aten.where.self(aten.gt.Scalar(take[0], 0), take[1], take[2])
        case "addcmul":
            made = overload(rest[0])(take[1], take[2], take[3], value=rest[4])
        case "lerp":
            made = overload(rest[0])(take[1], take[2], rest[3])
        case "fold":
            calls = {
                "sum": aten.sum,
                "mean": aten.mean,
                "last": lambda x: aten.sum.dim_IntList(x, [-1]),
                "amax": lambda x: aten.amax(x, [-1]),
            }
            made = calls[rest[0]](take[1])
        case "view":
            x = take[1]
            calls = {
                "t": lambda: aten.transpose.int(x, 0, -1),
                "select": lambda: aten.select.int(x, 0, 0),
                "expand": lambda: aten.unsqueeze(x, 0),
                "slice": lambda: aten.slice.Tensor(x, 0, 0, None, 2),
            }
            made = calls[rest[0]]()
    pool.append(made)


def play(steps, arrays):
    """Run a program; return its values and the steps that were not refused."""
    # Raw arrays are written to at once, and copied here later.
    pool, done = [*arrays, *map(aten.clone, arrays)], []
    least = len(pool)
    for one in steps:
        if one[0] == "drop":
            if len(pool) > least:
                del pool[least + one[1] % (len(pool) - least)]
        elif one[0] == "read":
            read(pool[one[1] % len(pool)])
        else:
            try:
                perform(one, pool)
            except dc.DispatchError:
                continue
        done.append(one)
    return pool, done


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(inputs(), min_size=1, max_size=4), st.lists(step, min_size=2, max_size=14), st.booleans())
def test_programs_give_the_bits_that_they_give_step_by_step(arrays, steps, again):
    theirs = [x.copy(order="K") for x in arrays]
    # Calls that are refused because of values or addresses are refused late in a pipeline; they are left out.
    expected, steps = play(steps, theirs)
    for _ in range(1 + again):
        ours = [x.copy(order="K") for x in arrays]
        with pytest.MonkeyPatch.context() as patch, dc.pipeline():
            # Were a planned step to fail, its nodes would give the same results one by one.
            patch.setattr(runs.PlanRun, "_run_rest", None)
            found, done = play(steps, ours)
        assert done == steps
        for one, two in zip(found, expected, strict=True):
            same(one, two)


CALLS_IN_PLACE = {
    "add_.Tensor": 1,
    "add_.Scalar": 0.5,
    "mul_.Tensor": 1,
    "addcmul_": 2,
    "addcdiv_": 2,
    **dict.fromkeys(INPLACE_UNARY, 0),
}


@pytest.mark.parametrize("is_computed", [False, True])
@pytest.mark.parametrize("name", CALLS_IN_PLACE)
def test_calls_in_place_return_the_very_argument(name, is_computed):
    others = CALLS_IN_PLACE[name]
    arguments = [np.full(3, 2, np.float32)] * others if isinstance(others, int) else [others]
    with dc.pipeline():
        value = aten.clone(np.ones(3, np.float32))
        if is_computed:
            value.result()
        assert overload(name)(value, *arguments) is value
