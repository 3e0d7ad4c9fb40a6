"""The arguments of a module's ``to``, as libraries read them for theirs."""

import pytest

import torchlike
from torchlike.nn.conversions import parse_to

CPU = torchlike.device("cpu")


@pytest.mark.parametrize(
    ("args", "kwargs", "expected"),
    [
        ((), {}, (None, None, False, None)),
        (("cpu", torchlike.float64, True), {}, (CPU, torchlike.float64, True, None)),
        ((torchlike.float64, True), {}, (None, torchlike.float64, True, None)),
        ((torchlike.ones(1).half(),), {}, (CPU, torchlike.float16, False, None)),
        ((), {"tensor": torchlike.ones(1).half()}, (CPU, torchlike.float16, False, None)),
        ((None, torchlike.half), {}, (None, torchlike.half, False, None)),
        ((), {"device": "meta", "dtype": None}, (torchlike.device("meta"), None, False, None)),
        ((), {"memory_format": torchlike.channels_last}, (None, None, False, torchlike.channels_last)),
    ],
)
def test_each_form_gives_four_values(args, kwargs, expected):
    assert parse_to(*args, **kwargs) == expected


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (([1],), {}),
        (("cpu", None, 1), {}),
        ((torchlike.half, torchlike.half), {}),
        (("cpu",), {"device": "cpu"}),
        ((), {"other": 1}),
        (("cpu",), {"memory_format": "channels_last"}),
        (("cpu",), {"copy": None}),
    ],
)
def test_other_arguments_are_refused(args, kwargs):
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments - got"):
        parse_to(*args, **kwargs)


def test_modules_are_not_copied():
    with pytest.raises(RuntimeError, match="does not accept copy"):
        parse_to("cpu", copy=True)


def test_a_module_takes_the_same_arguments():
    conv = torchlike.nn.Sequential(torchlike.nn.Conv2d(1, 2, 2), torchlike.nn.BatchNorm2d(2))
    conv.to(torchlike.float64, memory_format=torchlike.channels_last)
    assert conv[0].weight.stride() == (4, 1, 2, 1)
    assert [each.dtype for each in conv.buffers()] == [torchlike.float64, torchlike.float64, torchlike.int64]
    with pytest.raises(RuntimeError, match="does not accept copy"):
        conv.to("cpu", copy=True)
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        conv.to(dtype=torchlike.int32)
    with pytest.raises(TypeError, match=r"got \(str, str\), but expected"):
        conv.to("cpu", "cpu")
