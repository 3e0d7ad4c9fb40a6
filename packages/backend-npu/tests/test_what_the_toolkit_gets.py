"""What functions of the toolkit get, as from torch's own adapter: formats, scalars, flags, optional tensors, precision."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError, constants, library
from dispatch_backend_npu.aclnn import descriptors, pools

F = torchlike.nn.functional
pytestmark = pytest.mark.no_pipeline(reason="it looks at single calls, and opens devices")


@pytest.fixture
def heard(simulator, monkeypatch):
    """Name and arguments of each call of the toolkit, from the opening of the device on."""

    def restart():
        gc.collect()
        pools.clear()
        runtime.finalize(force=True)

    restart()
    calls, find = [], library._bind

    def bind(name):
        function = find(name)

        def note(*args):
            calls.append((name, args))
            return function(*args)

        library._functions[name] = note
        return note

    monkeypatch.setattr(library, "_functions", {})
    monkeypatch.setattr(library, "_bind", bind)
    yield calls
    restart()


def arguments_of(heard, name):
    return [args for each, args in heard if each == name]


def tensors(heard):
    """Return shape, dtype, format and dimensions of the storage of each descriptor of a tensor."""
    made = arguments_of(heard, "aclCreateTensor")
    return [(tuple(shape), dtype, form, dims) for shape, _, dtype, _, _, form, _, dims, _ in made]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no toolkit")
def test_libraries_are_loaded_lazily_and_by_their_whole_paths(heard, monkeypatch):
    loaded = []

    class Library(ctypes.CDLL):
        def __init__(self, name, mode=ctypes.DEFAULT_MODE, **options):
            loaded.append((name, mode))
            super().__init__(name, mode, **options)

    monkeypatch.setattr(library, "_handles", {})
    monkeypatch.setattr(library.ctypes, "CDLL", Library)
    assert torchlike.ones(2, device="npu").tolist() == [1, 1]
    assert loaded
    assert all(Path(path).is_absolute() and mode == os.RTLD_LAZY for path, mode in loaded)


def test_streams_launch_and_are_waited_for_quickly_and_have_the_default_priority(heard):
    stream = torchlike.Stream("npu")
    with stream:
        assert torchlike.ones(2, device="npu").sum().item() == 2
    made = arguments_of(heard, "aclrtCreateStreamWithConfig")
    assert made
    assert {args[1:] for args in made} == {(0, constants.ACL_STREAM_FAST_LAUNCH | constants.ACL_STREAM_FAST_SYNC)}


@pytest.mark.parametrize("timing", [False, True])
def test_events_serve_order_and_times_alone_where_they_are_asked_for(timing, heard):
    event = torchlike.Event("npu", enable_timing=timing)
    event.record(torchlike.accelerator.current_stream("npu"))
    event.synchronize()
    expected = constants.ACL_EVENT_SYNC | constants.ACL_EVENT_CAPTURE_STREAM_PROGRESS
    assert arguments_of(heard, "aclrtCreateEventExWithFlag")[-1][1] == expected | (
        constants.ACL_EVENT_TIME_LINE if timing else 0
    )


FORMATS = {
    0: constants.ACL_FORMAT_ND,
    1: constants.ACL_FORMAT_ND,
    2: constants.ACL_FORMAT_ND,
    3: constants.ACL_FORMAT_NCL,
    4: constants.ACL_FORMAT_NCHW,
    5: constants.ACL_FORMAT_NCDHW,
    6: constants.ACL_FORMAT_ND,
}


@pytest.mark.of_functions
@pytest.mark.parametrize("dims", FORMATS)
def test_the_format_is_that_of_the_number_of_dimensions_and_storages_have_one(dims, heard):
    x = torchlike.ones((2,) * dims, device="npu")
    heard.clear()
    assert (x + x).sum().item() == 2 * 2**dims
    found = [each for each in tensors(heard) if len(each[0]) == dims]
    assert {(form, storage) for _, _, form, storage in found} == {(FORMATS[dims], 1)}


@pytest.mark.of_functions
@pytest.mark.parametrize("elements", [0, 1], ids=["without elements", "of no dimension"])
def test_the_smallest_tensors_are_described_too(elements, heard):
    x = torchlike.ones((0, 3) if not elements else (), device="npu")
    heard.clear()
    assert (x * 2).tolist() == (2 if elements else [])
    assert {shape for shape, *_ in tensors(heard)} <= {tuple(x.shape)}


@pytest.mark.of_functions
def test_more_than_eight_dimensions_are_the_toolkits_to_refuse(heard):
    with pytest.raises(AclError, match=r"161002|more than 8 dimensions"):
        torchlike.ones((1,) * 9, device="npu").exp().tolist()


@pytest.mark.of_functions
def test_scalars_have_the_type_that_their_number_has(heard):
    x = torchlike.ones(2, dtype=torchlike.int64, device="npu")
    heard.clear()
    (x * 3).tolist()
    (x.float() * 2.5).tolist()
    x.bool().eq(True).tolist()
    kinds = [args[1] for args in arguments_of(heard, "aclCreateScalar")]
    assert {constants.ACL_INT64, constants.ACL_DOUBLE, constants.ACL_BOOL} == set(kinds)
    held = descriptors.Descriptors()
    with suppress(AclError):  # the simulator has no complex numbers
        held.add("const aclScalar*", 1 + 2j)
    assert arguments_of(heard, "aclCreateScalar")[-1][1] == constants.ACL_COMPLEX128


def last_number(heard, function, place=-3):
    """Return an argument of a function's first phase; the last two are the pair that ends all of them."""
    return arguments_of(heard, f"{function}GetWorkspaceSize")[-1][place]


@pytest.mark.of_functions
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_convolutions_of_floats_have_less_precision_and_products_their_own(dtype, heard):
    kind = getattr(torchlike, dtype)
    image = torchlike.ones(1, 2, 4, 4, dtype=kind, device="npu")
    weight = torchlike.ones(2, 2, 2, 2, dtype=kind, device="npu")
    assert F.conv2d(image, weight).sum().item() == 144
    assert last_number(heard, "aclnnConvolution") == (1 if dtype == "float32" else 0)
    a = torchlike.ones(2, 2, dtype=kind, device="npu")
    assert (a @ a).sum().item() == 8
    assert last_number(heard, "aclnnMm") == 0
    F.avg_pool2d(image, 2).tolist()
    assert last_number(heard, "aclnnAvgPool2d", -4) == 0


@pytest.mark.of_functions
def test_batch_norm_of_an_evaluation_saves_nothing(heard):
    layer = torchlike.nn.BatchNorm2d(2).to("npu").eval()
    heard.clear()
    layer(torchlike.ones(2, 2, 3, 3, device="npu")).tolist()
    assert len(arguments_of(heard, "aclnnBatchNormGetWorkspaceSize")) == 1
    assert [math.prod(shape) for shape, *_ in tensors(heard)][-2:] == [0, 0]


@pytest.mark.of_functions
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_layer_norm_saves_floats_or_the_type_of_its_input(dtype, heard):
    x = torchlike.ones(3, 4, dtype=getattr(torchlike, dtype), device="npu")
    heard.clear()
    F.layer_norm(x, [4]).tolist()
    *_, mean, inverse = tensors(heard)
    assert mean[0] == inverse[0] == (3, 1)
    assert {mean[1], inverse[1]} <= {constants.DATA_TYPES[each] for each in (torchlike.float32, x.dtype)}


@pytest.mark.of_functions
def test_a_loss_of_classes_has_weights_and_a_total_of_one_element(heard):
    x = torchlike.zeros(4, 3, device="npu")
    heard.clear()
    F.nll_loss(x, torchlike.tensor([0, 1, 2, 0], device="npu")).item()
    arguments = arguments_of(heard, "aclnnNLLLossGetWorkspaceSize")[-1]
    assert arguments[2] is not None
    shapes = [shape for shape, *_ in tensors(heard)]
    assert (3,) in shapes
    assert shapes[-1] == ()


@pytest.mark.of_functions
def test_a_dimension_without_positions_gets_an_empty_tensor_of_integers(heard):
    x = torchlike.arange(6.0, device="npu").view(2, 3)
    positions = torchlike.tensor([0, 2], device="npu")
    heard.clear()
    assert x[:, positions].tolist() == [[0, 2], [3, 5]]
    assert "aclnnIndexGetWorkspaceSize" in [name for name, _ in heard]
    empty = [(shape, dtype) for shape, dtype, *_ in tensors(heard) if not math.prod(shape)]
    assert empty == [((0,), constants.DATA_TYPES[torchlike.int64])]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32"])
def test_the_function_of_infinities_that_no_chip_has_is_not_called(dtype, heard):
    x = torchlike.tensor([1.0, -1.0, 0.0, 2.0]).to(getattr(torchlike, dtype))
    if dtype != "int32":
        x[0], x[1], x[2] = float("inf"), float("-inf"), float("nan")
    assert x.to("npu").isinf().tolist() == x.isinf().tolist()
    assert not any("IsInf" in name for name, _ in heard)


@pytest.mark.of_functions
def test_repetition_is_asked_for_directly_after_the_first_phase(heard):
    a = torchlike.ones(3, device="npu")
    with dc.pipeline():
        found = (a.exp() * 2 + 1).sum()
    assert found.item() == pytest.approx(3 * (2 * math.e + 1), rel=1e-5)
    names = [name for name, _ in heard]
    asked = [before for before, name in pairwise(names) if name == "aclSetAclOpExecutorRepeatable"]
    assert asked
    assert all(name.endswith("GetWorkspaceSize") for name in asked)


def test_the_environment_is_read_and_never_written(heard):
    before = dict(os.environ)
    assert torchlike.ones(2, device="npu").sum().item() == 2
    assert dict(os.environ) == before
