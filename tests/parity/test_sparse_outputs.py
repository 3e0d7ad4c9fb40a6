"""``out=`` of functions of one tensor on sparse tensors: torch and we write, resize and refuse alike.

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
        if (kind == "itself" and wanted != dtype) or (wanted == "complex64" and name in ("atanh", "erfinv")):
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
