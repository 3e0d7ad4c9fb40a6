"""Wrong arguments of the functions that make, read and simulate quantized tensors: refused with torch's classes."""

import itertools

import numpy as np
import pytest
import torch

import torchlike

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
LIBRARIES = (torch, torchlike)


def tensors(t):
    x = t.ones(2, 3)
    q = t.quantize_per_tensor(x, 0.1, 3, t.quint8)
    c = t.quantize_per_channel(x, t.tensor([0.1, 0.2]), t.tensor([0, 1]), 0, t.qint8)
    integers = {name: x.to(getattr(t, name)) for name in ("int8", "uint8", "int32", "int64")}
    return {
        "float": x,
        "double": x.double(),
        "half": x.half(),
        "bool": x > 0,
        "q": q,
        "c": c,
        "coo": x.to_sparse(),
        "list": [1.0],
        "none": None,
        "text": "a",
        "number": 1,
        "floats": [x, x],
        "qs": [q, q],
        "empty": x[:0],
        "csr": x.to_sparse_csr(),
        "complex": x.to(t.complex64),
        "array": np.ones(3),
        "scalar": t.tensor(1.0),
        **integers,
    }


def parameters(t):
    return {
        "0.1": 0.1,
        "1": 1,
        "-1.0": -1.0,
        "0.0": 0.0,
        "nan": float("nan"),
        "inf": float("inf"),
        "300": 300,
        "-5": -5,
        "text": "a",
        "none": None,
        "list": [0.1, 0.2],
        "ints": [0, 1],
        "true": True,
        "complex": 1j,
        "3.0": 3.0,
        "float32": np.float32(0.1),
        "int64": np.int64(3),
        "t": t.tensor(0.1),
        "t1": t.tensor([0.1]),
        "ti": t.tensor(3),
        "t2": t.tensor([0.1, 0.2]),
        "ti2": t.tensor([0, 1]),
        "t3": t.tensor([0.1, 0.2, 0.3]),
        "far": t.tensor([-1, 300]),
        "t2d": t.ones(2, 2),
        "tb": t.tensor([True, False]),
        "big": 2**40,
    }


DTYPES = ("quint8", "qint8", "qint32", "float32", "int8")
SOME = ("0.1", "1", "300", "3.0", "true", "text", "t2", "ti2", "far", "t2d", "list")
#: The function, and what its arguments are drawn from: tensors, parameters, dtypes, or plain values.
CASES = [
    ("quantize_per_tensor", tensors, ["0.1"], ["1"], ["quint8"]),
    ("quantize_per_tensor", tensors, ["t2"], ["ti2"], ["quint8"]),
    ("quantize_per_tensor", ["float", "floats"], parameters, parameters, ["quint8"]),
    ("quantize_per_tensor", ["float"], ["0.1"], ["1", "300", "-5"], DTYPES),
    ("quantize_per_tensor_dynamic", tensors, ["quint8"], ["true"]),
    ("quantize_per_tensor_dynamic", ["float"], DTYPES, ["true"]),
    ("quantize_per_tensor_dynamic", ["float"], ["quint8"], parameters),
    ("quantize_per_channel", tensors, ["t2"], ["ti2"], [0], ["qint8"]),
    ("quantize_per_channel", ["float"], SOME, SOME, [0, 1, 2, -1, 0.0, "a", None, True], ["qint8"]),
    ("quantize_per_channel", ["float"], ["t2"], ["ti2", "far"], [0], DTYPES),
    ("_make_per_tensor_quantized_tensor", ["float", "int8", "int64", "none", "list", "array"], SOME, SOME),
    ("_make_per_channel_quantized_tensor", ["int8", "none", "list"], SOME, SOME, [0, -1, "a", None, True]),
    *[(name, tensors) for name in ("dequantize", "int_repr", "q_scale", "q_zero_point")],
    *[(f"q_per_channel_{name}", tensors) for name in ("scales", "zero_points", "axis")],
    ("fake_quantize_per_tensor_affine", ["float", "int8", "none", "list"], SOME, SOME, ["1"], ["300"]),
    ("fake_quantize_per_channel_affine", ["float", "int8", "none"], SOME, SOME, [0, -1, "a", True], ["1"], ["300"]),
]
#: Zero points of channels that are floating point are of one dtype, and abort torch's process with another.
FLOATING = ("t", "t1", "t2", "t3", "t2d", "tb")


def choices(t, each):
    if not isinstance(each, list | tuple):
        return list(each(t))
    return each


def call(t, known, name, values):
    try:
        return getattr(t, name)(*[known.get(each, each) if isinstance(each, str) else each for each in values]), None
    except Exception as error:  # noqa: BLE001  # its class is compared
        return None, error


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{CASES.index(case)}")
def test_arguments_are_refused_with_torchs_classes(case):
    name, *drawn = case
    known = [tensors(t) | parameters(t) | {each: getattr(t, each) for each in DTYPES} for t in LIBRARIES]
    count = 0
    for values in itertools.product(*[choices(torch, each) for each in drawn]):
        if name == "quantize_per_channel" and values[2] in FLOATING:
            continue
        (_, theirs), (_, ours) = (call(t, each, name, values) for t, each in zip(LIBRARIES, known, strict=True))
        if _is_more(name, values):
            continue
        assert (theirs is None) == (ours is None), (values, theirs, ours)
        if theirs is not None:
            wanted = next(each for each in type(theirs).__mro__ if each.__module__ == "builtins")
            assert isinstance(ours, wanted), (values, theirs, ours)
        count += 1
    assert count


def _is_more(name, values):
    """Return whether torchlike computes or refuses otherwise on purpose."""
    if name == "_make_per_channel_quantized_tensor":  # torch takes scales of another length, and reads beyond them
        return values[0] != "int8" or values[1] == "t2d" or values[3] == -1
    return name == "quantize_per_tensor" and values[0] == "floats" and {"t3", "t2d"} & {*values[1:3]}


@pytest.mark.parametrize("dtype", ["quint8", "qint8", "qint32"])
@pytest.mark.parametrize("scale", [0.1, 0.0])
def test_numbers_that_are_not_finite_and_scales_of_zero(scale, dtype):
    numbers = [float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 1e10, -3e9, 0.0, 1.0, -1.0, 0.05, 0.25]

    def run(t):
        kind, x = getattr(t, dtype), t.tensor([numbers])
        whole = [t.quantize_per_tensor(x, scale, zero_point, kind) for zero_point in (0, 3)]
        channels = t.quantize_per_channel(x, t.tensor([scale]), t.tensor([3]), 0, kind)
        return [each.int_repr().tolist() for each in (*whole, channels)]

    assert run(torchlike) == run(torch)


def test_errors_say_what_helps():
    q = torchlike.quantize_per_tensor(torchlike.ones(2), 0.1, 3, torchlike.quint8)
    with pytest.raises(TypeError, match=r"numpy\(\) is not supported for quantized tensors.*\n.*dequantize\(\) has"):
        q.numpy()
    with pytest.raises(NotImplementedError, match=r"'Quantized\w*CPU' backend.\nHint: x.dequantize\(\)"):
        torchlike.quantize_per_tensor(q, 0.1, 3, torchlike.quint8)
