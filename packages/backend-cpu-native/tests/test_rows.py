"""Every compiled kernel, for every dtype that it serves, against NumPy's own call and the kernel in Python, bit by bit."""

from __future__ import annotations

import itertools
import random
import re
import warnings

import numpy as np
import pytest

pytest.importorskip("dispatch_backend_cpu_native._loops", reason="the extension is not built: run nox -s native")

from dispatch_aten.errors import OperatorError
from dispatch_backend_cpu.arrays import coerce
from dispatch_backend_cpu.kernels import KERNELS, SHORT_WAYS, SPECIALIZED
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

if LOOPS is None:
    pytest.skip("compiled kernels are turned off", allow_module_level=True)

from special_values import values

COMPILED = {
    f"{name}{mark}": LOOPS.facts(kernel) | {"kernel": kernel}
    for table, mark in ((KERNELS, ""), (SPECIALIZED, " with a factor of 1"))
    for name, kernel in sorted(table.items())
    if type(kernel) is LOOPS.Kernel
}
COMPILED |= {
    f"{name} by a short way": LOOPS.facts(way) | {"kernel": way}
    for name, (way, _) in sorted(SHORT_WAYS.items())
    if type(way) is LOOPS.Kernel and LOOPS.facts(way)["way"] in ("chain", "rows")
}
CASES = [(name, number) for name, facts in COMPILED.items() for number in facts["types"]]
SHAPES = [(), (1,), (7,), (1, 1), (3, 5), (1, 6), (6, 1), (2, 3, 4), (64,), (33, 31), (4097,), (130, 500)]
#: Shapes of two operands, the one with each row, column or element of the other.
PAIRS = [((3, 5), (5,)), ((3, 5), (3, 1)), ((5,), (3, 5)), ((3, 1), (3, 5)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (4,))]
PAIRS += [
    ((), (3, 5)),
    ((3, 5), ()),
    ((1,), (1, 1)),
    ((1, 5), (3, 5)),
    ((3, 4), (2, 3, 4)),
    ((1, 6), (6,)),
    ((6,), (6, 1)),
    ((33, 31), (33, 1)),
    ((64, 64), (64,)),
    ((8,), (5, 8)),
]


def ways(*names):
    found = [case for case in CASES if COMPILED[case[0]]["way"] in names]
    assert found
    return pytest.mark.parametrize(("name", "number"), found)


def dtype_of(number):
    (dtype,) = {np.dtype(char) for char in "?bhilqBHILQfdFD" if np.dtype(char).num == number}
    return dtype


def plain(dtype, shape, seed):
    """Draw finite elements, in which the order of additions shows."""
    found = values(dtype, shape, seed)
    return np.where(np.isfinite(found) & (np.abs(found) < 1e9), found, found.dtype.type(3)).astype(dtype)


def same(found, wanted):
    found, wanted = coerce(found), coerce(wanted)
    assert found.dtype is wanted.dtype
    assert found.shape == wanted.shape
    assert found.strides == wanted.strides
    assert found.flags.writeable == wanted.flags.writeable
    assert found.tobytes() == wanted.tobytes()


def compare(name, *args, served=True, numpy=None, **options):
    """Call a kernel, the one in Python, and NumPy, and compare; nothing may warn."""
    facts = COMPILED[name]
    before = LOOPS.counts()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = facts["kernel"](*args, **options)
        except OperatorError as error:
            with pytest.raises(OperatorError, match=re.escape(str(error))):
                facts["python"](*args, **options)
            assert not served
            return
        counts = LOOPS.counts()
        same(found, facts["python"](*args, **options))
    # It was served, or was left.
    if served is not None:
        assert (counts[0] - before[0] > 0) == served
    if numpy is not None:
        with np.errstate(all="ignore"):
            same(found, numpy())


@ways("unary")
def test_a_ufunc_of_one_array(name, number):
    dtype, ufunc, most = dtype_of(number), COMPILED[name]["ufunc"], COMPILED[name]["most"]
    for shape in SHAPES:
        a = values(dtype, shape, 1)
        compare(name, a, served=a.size <= most, numpy=(lambda a=a: ufunc(a)) if a.size <= most else None)


#: The greatest number of elements for which all formulas are served, and calls tell what is.
LONGEST = 4095
#: The formulas that are more than calls of ufuncs and choices.
UNTRACED = {"sign", "sgn", "heaviside"}


#: The options that formulas take behind arrays: by position, and by name.
OPTIONS = {
    "add.Tensor": [((), {"alpha": 2}), ((), {"alpha": -0.5}), ((), {"alpha": 1}), ((), {"alpha": 1e300})],
    "sub.Tensor": [((), {"alpha": 2}), ((), {"alpha": -0.0})],
    "addcdiv": [((), {"value": 1}), ((), {"value": -0.5}), ((), {"value": 0.0}), ((), {"value": -0.0})],
    "addcmul": [((), {"value": 1}), ((), {"value": 2.5})],
    "gelu": [((), {"approximate": "tanh"}), ((), {"approximate": "none"})],
    "gelu_backward": [((), {"approximate": "tanh"}), ((), {"approximate": "none"})],
    "hardshrink_backward": [((0.5,), {})],
    "hardtanh_backward": [((-1, 1), {}), ((0.0, 6.0), {})],
    "leaky_relu": [((0.01,), {}), ((-0.2,), {}), ((2,), {})],
    "leaky_relu_backward": [((0.01, False), {})],
    "lerp.Scalar": [((0.3,), {}), ((0.7,), {}), ((1,), {})],
    "round.decimals": [((), {"decimals": 2}), ((), {"decimals": -1}), ((), {"decimals": 0})],
    "softplus": [((1, 20), {}), ((2.0, 1.5), {})],
    "softplus_backward": [((1, 20), {}), ((2.0, 1.5), {})],
    "softshrink_backward": [((0.5,), {})],
    "threshold": [((0.5, -3.0), {}), ((0, -0.0), {})],
    "elu": [((1.0, 1, 1), {}), ((0.5, 1.1, 1), {})],
    "celu": [((1.0,), {}), ((0.3,), {})],
    "hardshrink": [((0.5,), {}), ((0.1,), {})],
    "softshrink": [((0.5,), {}), ((0.1,), {})],
}


@ways("chain")
def test_a_formula_with_options(name, number):
    dtype, facts, count = dtype_of(number), COMPILED[name], COMPILED[name]["arity"]
    # A kernel that knows no options yet.
    options = {"most": facts["most"], "arity": count, "maker": facts["maker"]}
    fresh = LOOPS.Kernel("chain", facts["python"], None, facts["types"], **options)
    COMPILED[name] = facts | {"kernel": fresh}
    for args, options in OPTIONS.get(name, []):
        for shape in [(1,), (7,), (3, 5), (1000,), (2048,), (2049,), (4095,), (4096,), (40_001,)]:
            served = None if shape[0] > LONGEST else True
            compare(name, *[values(dtype, shape, seed) for seed in range(count)], *args, served=served, **options)
    if name == "lerp.Scalar":
        a = values(dtype, (3,), 1)
        # A bool is left, and so are options beyond the first few, and those beyond a type's numbers.
        compare(name, a, a, True, served=False)
        for weight in (0.11, 0.12, 0.13):
            compare(name, a, a, weight, served=False)
        compare(name, a, a, 0.3, served=True)


@ways("chain")
def test_a_formula(name, number):
    dtype, count = dtype_of(number), COMPILED[name]["arity"]
    if name.partition(" ")[0] in {"addcdiv", "addcmul", "round.decimals"} or name in OPTIONS:
        return  # above
    is_served = name.partition(" ")[0] not in UNTRACED
    for shape in SHAPES:
        for draw in (values, plain):
            arrays = [draw(dtype, shape, seed) for seed in range(count)]
            if "by a short way" in name and arrays[0].size > 1 << 14:
                continue
            is_plain = is_served and arrays[0].size > 0 and len(shape) > 0
            compare(name, *arrays, served=None if arrays[0].size > LONGEST else is_plain)
    for size in (LONGEST, LONGEST + 1, 1024, 1025, 512, 40_001):
        arrays = [values(dtype, (size,), seed) for seed in range(count)]
        compare(name, *arrays, served=None if size > LONGEST else is_served)
    if count > 1:
        compare(name, *[values(dtype, (3, 1), 1)] * (count - 1), values(dtype, (3, 4), 1), served=False)


@pytest.mark.parametrize("size", [4096, 5000, 65_536, 300_001, 1 << 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "name", ["sigmoid", "silu", "gelu", "elu", "silu_backward", "lerp.Tensor", "mish", "hardshrink"]
)
def test_long_formulas_are_computed_in_parts_where_no_nan_comes_out(name, dtype, size):
    arrays = [plain(np.dtype(dtype), (size,), seed) for seed in range(COMPILED[name]["arity"])]
    arrays = [np.clip(each, -30, 30) for each in arrays]
    args, options = OPTIONS.get(name, [((), {})])[0]
    compare(name, *arrays, *args, served=True, **options)
    # NumPy may give the one nan or the other of two, by the length.
    arrays[0][[7, -1]] = np.nan, -np.nan
    compare(name, *arrays, *args, served=False, **options)


@ways("binary")
def test_a_ufunc_of_two_arrays(name, number):
    dtype, ufunc, most = dtype_of(number), COMPILED[name]["ufunc"], COMPILED[name]["most"]
    for shape in SHAPES:
        a, b = values(dtype, shape, 1), values(dtype, shape, 2)
        compare(name, a, b, served=a.size <= most, numpy=(lambda a=a, b=b: ufunc(a, b)) if a.size <= most else None)
    for one, two in PAIRS:
        a, b = values(dtype, one, 3), values(dtype, two, 4)
        compare(name, a, b, served=None, numpy=lambda a=a, b=b: ufunc(a, b))
    a = values(dtype, (3, 5), 5)
    with np.errstate(all="ignore"):
        has_nan = bool((ufunc(a, a[0]) != ufunc(a, a[0])).any())
    compare(name, a, a[0].copy(), served=not has_nan)
    compare(name, a, a, served=True)


NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    0.0,
    -0.0,
    0.1,
    -2.5,
    1e30,
    1e300,
    float("inf"),
    float("nan"),
    2**53,
    2**53 + 1,
    2**62,
    True,
]


@ways("number")
def test_a_ufunc_of_an_array_and_a_number(name, number):
    dtype = dtype_of(number)
    for shape, given in itertools.product(SHAPES, NUMBERS):
        is_served = type(given) is int or (type(given) is float and dtype.kind == "f")
        if dtype.kind == "f" and type(given) is int and abs(given) > 2**53:
            is_served = False
        compare(name, values(dtype, shape, 1), given, served=is_served)


@ways("bounded")
def test_relu(name, number):
    for shape in SHAPES:
        compare(name, values(dtype_of(number), shape, 1), served=True)


@ways("clamp", "clamp min", "clamp max")
def test_bounds_that_are_numbers(name, number):
    dtype, both = dtype_of(number), COMPILED[name]["way"] == "clamp"
    for shape in SHAPES:
        a = values(dtype, shape, 1)
        for low, high in [(-1, 1), (0.5, -0.5), (-0.0, 0.0), (0.0, -0.0), (float("nan"), 1), (1e300, -1e300)]:
            compare(name, a, *((low, high) if both else (low,)), served=True)
    if name == "clamp":
        for low, high in [(None, 1), (0, None), (None, 2**60), (None, True)]:
            compare(name, a, low, high, served=high is not True and high != 2**60)


@ways("gate")
def test_the_gradient_of_relu(name, number):
    dtype = dtype_of(number)
    for shape, threshold in itertools.product(SHAPES, (0, 0.0, 1, 0.5)):
        compare(name, values(dtype, shape, 1), values(dtype, shape, 2), threshold, served=not threshold)


def compare_written(name, args, served=True):
    """Call an in-place kernel and the one in Python on copies, and compare what is written and returned."""
    facts = COMPILED[name]
    mine, wanted = ([each.copy() if isinstance(each, np.ndarray) else each for each in args] for _ in range(2))
    before = LOOPS.counts()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, counts = facts["kernel"](*mine), LOOPS.counts()[0]
        facts["python"](*wanted)
    assert found is mine[0]
    assert (counts > before) == served
    for one, two in zip(mine, wanted, strict=True):
        if isinstance(one, np.ndarray):
            same(one, two)


@ways("unary into")
def test_a_ufunc_in_place(name, number):
    for shape in SHAPES:
        compare_written(name, [values(dtype_of(number), shape, 1)])


@ways("binary into")
def test_a_ufunc_of_two_arrays_in_place(name, number):
    dtype = dtype_of(number)
    for shape in SHAPES:
        compare_written(name, [values(dtype, shape, 1), values(dtype, shape, 2)])
        compare_written(name, [values(dtype, shape, 1), values(dtype, (), 3)])
    a = values(dtype, (4, 3), 1)
    mine, wanted = a.copy(), a.copy()
    COMPILED[name]["kernel"](mine, mine)
    COMPILED[name]["python"](wanted, wanted)
    same(mine, wanted)
    compare_written(name, [values(dtype, (4, 3), 1), values(dtype, (3,), 2)], served=False)


@ways("number into")
def test_a_ufunc_of_a_number_in_place(name, number):
    dtype = dtype_of(number)
    for shape, given in itertools.product(SHAPES, NUMBERS[:12]):
        compare_written(name, [values(dtype, shape, 1), given])
        compare_written(name, [values(dtype, shape, 1), given, 1])
    compare_written(name, [values(dtype, (3,), 1), 2**53 + 1], served=False)


def compare_fold(name, a, *args, served, **options):
    facts = COMPILED[name]
    reduce = facts["ufunc"].reduce
    axis = None if not args else args[0] if isinstance(args[0], int) else tuple(args[0])
    keep = args[1] if len(args) > 1 else False
    is_mean = name.startswith("mean")
    compare(
        name, a, *args, served=served, numpy=None if is_mean else lambda: reduce(a, axis, None, None, keep), **options
    )


LENGTHS = [
    1,
    2,
    3,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    33,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    130,
    255,
    257,
    1000,
    1023,
    2049,
    4095,
    4096,
]


@ways("fold")
def test_a_fold_of_all_elements(name, number):
    dtype = dtype_of(number)
    is_served = bool(
        np.dtype(dtype) == np.dtype(bool) or COMPILED[name]["ufunc"] not in (np.logical_or, np.logical_and)
    )
    for length, draw in itertools.product(LENGTHS, (values, plain)):
        compare_fold(name, draw(dtype, (length,), length), served=is_served)
    for shape in [(), (1, 1), (3, 5), (17, 33), (2, 3, 4), (16, 16, 16)]:
        compare_fold(name, plain(dtype, shape, 1), served=is_served)
    for length in (4097, 9000):
        compare(name, plain(dtype, (length,), 1), served=False)
    zeros = np.zeros(5, dtype)
    compare_fold(name, zeros, served=is_served)
    compare_fold(name, -zeros if dtype.kind != "b" else zeros, served=is_served)


@ways("fold along")
def test_a_fold_along_one_dimension(name, number):
    dtype = dtype_of(number)
    logical = COMPILED[name]["ufunc"] in (np.logical_or, np.logical_and) and dtype.kind != "b"
    takes_lists = not name.startswith(("any", "all", "prod"))
    draw = random.Random(number)
    sizes = [(n, m) for n in (1, 2, 3, 8, 17, 64) for m in (1, 2, 5, 8, 16, 33, 64)] + [
        (4, 1000),
        (1000, 4),
        (2, 2048),
        (2048, 2),
    ]
    for (n, m), dim in itertools.product(sizes, (0, 1, -1)):
        a = draw.choice([values, plain])(dtype, (n, m), n * m)
        given = draw.choice([dim, [dim], (dim,)]) if takes_lists else dim
        compare_fold(name, a, given, draw.random() < 0.5, served=not logical)
    for shape, dim in itertools.product([(2, 3, 4), (1, 3, 4), (4, 3, 1), (5, 1, 7)], (0, 1, 2, -2)):
        compare_fold(name, plain(dtype, shape, 1), dim, served=None)
    zeros = np.zeros((3, 4), dtype)
    for dim in (0, 1):
        compare_fold(name, -zeros if dtype.kind != "b" else zeros, dim, served=not logical)


@ways("mm")
def test_products_of_matrices(name, number):
    dtype = dtype_of(number)
    for n, m, k in [(1, 1, 1), (2, 3, 4), (8, 8, 8), (1, 7, 5), (33, 17, 9)]:
        a, b = plain(dtype, (n, m), 1), plain(dtype, (m, k), 2)
        compare(name, a, b, served=True)
        compare(name, a, np.asfortranarray(b), served=True)
        compare(name, np.asfortranarray(a), b, served=True)
    great = np.full((2, 2), np.finfo(dtype).max, dtype)
    compare(name, great, great, served=True)
    compare(name, great[:, ::-1], great, served=False)


@ways("mv")
def test_products_of_a_matrix_and_a_vector(name, number):
    dtype = dtype_of(number)
    for n, m in [(1, 1), (2, 3), (8, 8), (7, 1), (1, 9), (33, 17)]:
        a, b = plain(dtype, (n, m), 1), plain(dtype, (m,), 2)
        compare(name, a, b, served=True)
        compare(name, np.asfortranarray(a), b, served=True)
    great = np.full((2, 2), np.finfo(dtype).max, dtype)
    compare(name, great, great[0], served=True)
    compare(name, great, great[:, 0], served=False)


@ways("addmm")
def test_products_of_matrices_with_a_bias(name, number):
    dtype = dtype_of(number)
    for n, m, k in [(1, 1, 1), (2, 3, 4), (8, 8, 8), (1, 7, 5), (64, 17, 33)]:
        a, b = plain(dtype, (n, m), 1), plain(dtype, (m, k), 2)
        for bias in (plain(dtype, (k,), 3), plain(dtype, (n, k), 4)):
            compare(name, bias, a, b, served=True)
            compare(name, bias, a, b, beta=1, alpha=1, served=True)
            compare(name, bias, a, b, beta=1, alpha=2, served=False)
    great = np.full((2, 2), np.finfo(dtype).max, dtype)
    compare(name, great, great, great, served=True)


VIEWED = [
    np.zeros((3, 1)),
    np.zeros((1, 1)),
    np.arange(3.0),
    np.arange(24.0),
    np.arange(24).reshape(2, 3, 4),
    np.zeros((4, 6)).T,
    np.zeros((1, 6, 1)),
    np.zeros(()),
    np.zeros((0, 3)),
]
VIEWED += [
    np.arange(24).reshape(4, 6)[::2, 1::2],
    np.zeros((2, 2), np.float16),
    np.zeros((2, 2), ">f4"),
    np.zeros((3, 3), bool),
]


def outcome(kernel, args):
    """Return a view's description, and the places that it shows of its array's memory; or its error."""
    try:
        found = kernel(*args)
    except Exception as error:  # noqa: BLE001 - compared
        return type(error), str(error)
    start = found.__array_interface__["data"][0] - args[0].__array_interface__["data"][0]
    owner = found.base is not None and (found.base is args[0] or found.base is args[0].base)
    return (
        found.dtype,
        found.shape,
        found.strides,
        found.flags.num,
        owner and found.size and start,
        owner,
        found.size < 1 << 20 and found.tobytes(),
    )


ARGUMENTS = {
    "permute": [
        ((0,),),
        ((1, 0),),
        ([1, 0],),
        ((-1, 0),),
        ((0, 0),),
        ((2, 0, 1),),
        ((0, 2, 1),),
        ((),),
        ((0, 5),),
        ((0, True),),
    ],
    "unsqueeze": [(0,), (1,), (-1,), (2,), (-2,), (3,), (4,), (-5,), (True,)],
    "squeeze": [()],
    "squeeze dim": [(0,), (1,), (-1,), (2,), (5,), (-5,), (True,)],
    "expand": [
        *[((24,),), ((2, 24),), ((-1,),), ((5, -1),), ((2, 3, 4),), ((2, 2, 3, 4),), ((1, 2, 3, 4),), ((1, 1, 24),)],
        *[
            ((4, 6),),
            ((3, 1, 4, 6),),
            ((2, 6, 3),),
            ((5, 6, 1),),
            ((-1, -1, -1),),
            ((7,),),
            ((),),
            ((3,),),
            ((1,),),
            ((2, 2),),
        ],
        *[((0, 24),), ((-2, 24),), ([24],), ((1, 0, 3),), ((2, 1),), ((2**40, 24),)],
    ],
    "view": [
        ((24,),),
        ([24],),
        ((2, -1),),
        ((-1, 4, 3),),
        ((1, 24),),
        ((-1, -1),),
        ((5,),),
        ((-2, 12),),
        ((0, 3),),
        ((True, 24),),
        ((6,),),
        ((1,),),
        ((),),
        ((1, 1, 6),),
        ((2, 3, 4),),
        ((2**62, 2**62),),
        ("24",),
    ],
    "alias": [()],
    "t": [()],
    "transpose": [(0, 1), (1, 0), (-1, 0), (0, 2), (1, 1), (0, 3), (-4, 0), (0, True), (0, 2**70)],
    "select": [(0, 0), (0, -1), (1, 2), (2, 3), (-1, 0), (3, 0), (0, 9), (0, -9), (0, 2**70), (0, True)],
    "slice": [
        (),
        (0,),
        (0, 1),
        (0, 1, 2),
        (0, None, None, 2),
        (1, 0, 99, 3),
        (-1, -2, None),
        (0, 5, 2),
        (0, 0, 1, 0),
        (0, 0, 1, -1),
        (2, 1, 3),
        (3,),
        (0, -99, 99),
        (0, 2**70),
    ],
}


@pytest.mark.parametrize("name", [name for name, facts in COMPILED.items() if facts["way"] in ARGUMENTS])
def test_views_are_those_of_python(name):
    facts = COMPILED[name]
    before = LOOPS.counts()[0]
    for array, args in itertools.product(VIEWED, ARGUMENTS[facts["way"]]):
        readonly = array.copy("K")
        readonly.flags.writeable = False
        for each in (array, readonly):
            assert outcome(facts["kernel"], (each, *args)) == outcome(facts["python"], (each, *args)), (each, args)
    assert LOOPS.counts()[0] > before


UNSERVED = [
    np.zeros((4, 4), np.float32)[:, ::2],
    np.zeros((4, 4), np.float32).T,
    np.zeros((0, 3), np.float32),
    np.zeros(3, ">f4"),
    np.zeros(3, np.float16),
    np.zeros(3, np.longdouble),
    np.zeros(70_000, np.float32),
    np.zeros(13, np.uint8)[1:].view(np.float32),
    np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (1, 3), (400, 4)),
    np.ma.masked_array([1.0, 2.0]),
]


@pytest.mark.parametrize(
    "name", [name for name, facts in COMPILED.items() if facts["way"] in ("unary", "binary", "fold")]
)
def test_arrays_that_are_not_plain_are_left_to_python(name):
    facts = COMPILED[name]
    for array in UNSERVED:
        before = LOOPS.counts()
        args = (array,) * (2 if facts["way"] == "binary" else 1)
        outcomes = []
        for kernel in (facts["kernel"], facts["python"]):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = coerce(kernel(*args))
                outcomes.append((found.dtype, found.shape, found.strides, found.tobytes()))
            except Exception as error:  # noqa: BLE001 - compared
                outcomes.append((type(error), str(error)))
        assert outcomes[0] == outcomes[1]
        assert LOOPS.counts()[0] == before[0] or (facts["halves"] and array.dtype == np.float16)
