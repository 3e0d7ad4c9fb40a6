"""``out=`` of functions of one tensor and of two, some of them sparse: torch and we write, resize and refuse alike.

Of the calls some are drawn; ``DISPATCH_PARITY_SPELLINGS=all`` makes all of them.
"""

import itertools
import os
import random

import pytest
import torch
from comparison import assert_same, ignore_warnings

import torchlike

OUTPUT_FUNCTIONS = (
    "abs absolute sign sgn sqrt sin sinh tan tanh asin asinh atan atanh ceil floor trunc round frac expm1 log1p erf erfinv"
    " deg2rad rad2deg nan_to_num isposinf isneginf signbit neg negative conj_physical square pow"
    " fix arcsin arcsinh arctan arctanh"
).split()
OUTPUT_DTYPES = ("bool", "uint8", "int64", "float32", "float64", "complex64")
#: Indices, number of values and sizes of outputs; what is written has sizes (2, 3).
OUTPUTS = {
    "alike": ([[0, 1], [2, 0]], [2, 3]),
    "without elements": ([[], []], [2, 3]),
    "larger": ([[0, 1], [2, 0]], [3, 3]),
    "of one dimension": ([[0, 1]], [3]),
    "of no size": ([[]], [0]),
    "strided": None,
    "itself": None,
}


def make_coo(t, indices, values, size, dtype):
    places = t.tensor(indices, dtype=t.int64)
    return t.sparse_coo_tensor(places, t.tensor(values, dtype=t.float64).to(getattr(t, dtype)), size)


def write_output(t, name, dtype, is_twice, kind, wanted):
    twice = [[0, 1, 1], [2, 0, 0]] if is_twice else [[0, 1], [2, 0]]
    x = make_coo(t, twice, [1, 0, 1] if is_twice else [1, 0], [2, 3], dtype)
    x = x if is_twice else x.coalesce()
    match kind:
        case "itself":
            out = x
        case "strided":
            out = t.zeros(2, 3, dtype=getattr(t, wanted))
        case _:
            indices, size = OUTPUTS[kind]
            out = make_coo(t, indices, [7] * len(indices[0]), size, wanted)
    before, error = out.to_dense() if kind != "strided" else out, None
    try:
        found = t.pow(x, 2, out=out) if name == "pow" else getattr(t, name)(x, out=out)
        assert found is out
    except Exception as caught:  # noqa: BLE001  # compared
        error = caught
    if error is not None and t is torch:
        return error, None, None  # torch leaves outputs half written, which cannot be read
    return error, out.to_dense() if kind != "strided" else out, before


@pytest.mark.parametrize("name", OUTPUT_FUNCTIONS)
def test_functions_of_one_tensor_write_sparse_outputs_as_torch_does(name):
    combinations = list(itertools.product(OUTPUT_DTYPES, (False, True), OUTPUTS, OUTPUT_DTYPES))
    if os.environ.get("DISPATCH_PARITY_SPELLINGS") != "all":
        combinations = random.Random(f"{os.environ.get('DISPATCH_PARITY_SEED', '0')} {name}").sample(combinations, 25)
    for call in combinations:
        dtype, _, kind, wanted = call
        if (kind == "itself" and wanted != dtype) or (wanted == "complex64" and name in ("atanh", "arctanh", "erfinv")):
            continue  # of infinities torch's imaginary parts are nan
        with ignore_warnings():
            (refused, theirs, _), (error, ours, before) = (write_output(t, name, *call) for t in (torch, torchlike))
        where = f"{name}{call}: torch {refused!r}, ours {error!r}"
        assert (refused is None) == (error is None), where
        if error is None:
            assert_same(ours, theirs, where, strides=False, tolerance=(1e-6, 1e-6))
        else:
            assert isinstance(error, RuntimeError) == isinstance(refused, RuntimeError), where
            assert ours.tolist() == before.tolist(), where


#: Functions of two tensors, or of a tensor and a number, that may write to a sparse output.
BINARY = "add sub subtract mul multiply div divide true_divide floor_divide mm matmul".split()
OPERANDS = ("sparse", "twice", "strided", "vector", "number")


def make_operand(t, kind, dtype, draw):
    values = [draw.choice([-2, -1, 1, 2, 3]) for _ in range(9)]
    if kind == "number":
        return draw.choice([2, 3.0])
    if kind in ("strided", "vector"):
        made = t.tensor(values, dtype=t.float64).to(getattr(t, dtype)).reshape(3, 3)
        return made if kind == "strided" else made[0]
    twice = [[0, 0, 2], [1, 1, 0]] if kind == "twice" else [[0, 2], [1, 2]]
    made = make_coo(t, twice, values[: len(twice[0])], [3, 3], dtype)
    return made if kind == "twice" else made.coalesce()


def call_with_output(t, name, kinds, dtypes, out, alpha, seed):
    draw = random.Random(seed)
    one, two = (make_operand(t, kind, dtype, draw) for kind, dtype in zip(kinds, dtypes, strict=False))
    options = {"alpha": alpha} if alpha != 1 and name in ("add", "sub", "subtract") else {}
    match out:
        case "one":
            target = one
        case "two":
            target = two
        case "strided":
            target = t.zeros(0, dtype=getattr(t, dtypes[2]))
        case "full":
            target = make_coo(t, [[1], [1]], [7], [3, 3], dtypes[2])
        case _:
            target = make_coo(t, [[], []], [], [3, 3] if out == "empty" else [0, 0], dtypes[2])
    before = dense(target)
    try:
        assert getattr(t, name)(one, two, out=target, **options) is target
    except Exception as error:  # noqa: BLE001  # compared
        return error, before, dense(target) if t is torchlike else before
    return None, before, dense(target)


def dense(value):
    return value.to_dense().tolist() if hasattr(value, "to_dense") else value


def is_torchs_accident(name, kinds, out, dtypes):
    """Return whether torch cuts products off to integers, refuses to convert some, or writes to what it is reading."""
    written = {"one": 0, "two": 1}.get(out)
    kept = dtypes[2 if written is None else written]
    converts = name in ("mul", "multiply") and {*dtypes[:2]} != {kept}
    return "number" in (kinds[0], kinds[written or 0]) or converts or name in ("mm", "matmul")


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors_write_sparse_outputs_as_torch_does(name):
    dtypes = "int64 float32 float64".split()
    every = list(
        itertools.product(
            itertools.product(OPERANDS, OPERANDS),
            itertools.product(dtypes, dtypes, dtypes),
            ("one", "two", "strided", "full", "empty", "of no size"),
            (1, 2),
        )
    )
    draw = random.Random(f"{os.environ.get('DISPATCH_PARITY_SEED', '0')} {name}")
    for kinds, kind_of, out, alpha in draw.sample(every, 120):
        if not {"sparse", "twice"} & {*kinds} or (name in ("mm", "matmul") and out in ("one", "two")):
            continue
        call = name, kinds, kind_of, out, alpha, draw.random()
        with ignore_warnings():
            refused, _, theirs = call_with_output(torch, *call)
            error, before, ours = call_with_output(torchlike, *call)
        where = f"{call}: torch {refused!r}, ours {error!r}"
        if not is_torchs_accident(name, kinds, out, kind_of) or (refused is None and error is None):
            assert (refused is None) == (error is None), where
        if refused is None and error is None:
            assert same(ours, theirs), where
        elif error is not None:
            assert ours == before, where


def same(ours, theirs):
    return torch.allclose(torch.tensor(ours).double(), torch.tensor(theirs).double(), atol=1e-6)


def test_products_write_strided_outputs():
    for t in (torch, torchlike):
        s, d = make_operand(t, "sparse", "float64", random.Random(0)), t.arange(9.0, dtype=t.float64).reshape(3, 3)
        out = t.empty(0, dtype=t.float64)
        assert t.mm(s, d, out=out) is out and t.equal(out, s.to_dense() @ d)
        assert t.addmm(d, s, d, beta=2, alpha=0.5, out=out) is out
        assert t.equal(out, 2 * d + 0.5 * (s.to_dense() @ d))
        zeros = t.zeros(2, 2, out=make_coo(t, [[1], [1]], [7], [3, 3], "float32"))
        assert zeros.is_sparse and zeros.shape == (2, 2) and not zeros._nnz()
