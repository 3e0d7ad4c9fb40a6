"""Chips by name, deterministic algorithms, and calls that are waited for."""

import ctypes
import gc

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError
from dispatch_backend_npu.acl.constants import ACL_OPT_DETERMINISTIC
from dispatch_backend_npu.acl.library import open_library
from dispatch_backend_npu.aclnn.row_kernels import operator_row
from dispatch_backend_npu.runtime import chips, device

pytestmark = pytest.mark.no_pipeline(reason="opens devices, and counts the calls of the runtime")

#: A name that a chip of each family has (source: the toolkit's table of kernels' folders).
NAMES = {
    "910B": "Ascend910B1 Ascend910B2 Ascend910B2C Ascend910B3 Ascend910B4 Ascend910B4-1",
    "910_93": "Ascend910_9391 Ascend910_9381 Ascend910_9372 Ascend910_9392 Ascend910_9382 Ascend910_9362",
    "910": "Ascend910A Ascend910B Ascend910ProA Ascend910ProB Ascend910PremiumA",
    "310P": "Ascend310P1 Ascend310P3 Ascend310P5 Ascend310P7",
    "310B": "Ascend310B1 Ascend310B4",
    "950": "Ascend950PR_9579 Ascend910_9579",
}


@pytest.fixture
def closed(npu, simulator, monkeypatch):
    """A closed runtime before and after, of a chip that is supported."""
    monkeypatch.delenv("DISPATCH_NPU_SIMULATE", raising=False)
    monkeypatch.delenv(chips.VARIABLE, raising=False)
    gc.collect()
    runtime.finalize(force=True)
    yield simulator
    runtime.finalize(force=True)


@pytest.mark.parametrize("family", NAMES)
def test_each_name_has_its_family(family):
    assert {chips.find_chip(name).family for name in NAMES[family].split()} == {family}


def test_a_chip_that_the_toolkit_does_not_name_is_taken_for_one_that_is_supported():
    assert chips.check_chip("").family == "910B"


@pytest.mark.parametrize("asked", ["910B", "910_93"])
def test_chips_that_are_supported_are_opened(asked, closed, monkeypatch):
    monkeypatch.setenv("DISPATCH_NPU_SIMULATE", asked)
    assert torchlike.ones(2, device="npu").tolist() == [1, 1]
    assert device.chip().family == asked


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("910A", r"the chip Ascend910A \(simulator\) \(Atlas training series\) is not supported: .* bfloat16"),
        (
            "310P",
            r"Ascend310P3 .*\(Atlas inference series\) is not supported: it computes products of floats by halves",
        ),
        ("310B", r"Ascend310B1 .*\(Atlas 200I/500 A2\) is not supported: most of the functions"),
        ("950", r"Ascend950PR_9579 .* is not supported"),
        ("77", r"is not known to this backend; Atlas A2 and Atlas A3 are"),
    ],
)
def test_others_are_refused_by_name_and_tried_where_the_environment_asks(asked, text, closed, monkeypatch):
    monkeypatch.setenv("DISPATCH_NPU_SIMULATE", asked)
    with pytest.raises(dc.BackendUnavailableError, match=text) as refused:
        runtime.ensure()
    assert "DISPATCH_NPU_UNSUPPORTED=1" in str(refused.value)
    assert not runtime.is_available() and "DISPATCH_NPU_UNSUPPORTED=1" in runtime.unavailable_reason()
    monkeypatch.setenv(chips.VARIABLE, "1")
    assert runtime.is_available() and runtime.ensure() == 0
    assert (torchlike.eye(3, device="npu") @ torchlike.ones(3, 2, device="npu")).sum().item() == 6


@pytest.mark.parametrize(("asked", "expected"), [("910B", 0), ("310P", 2)])
def test_products_of_floats_are_asked_for_as_the_chip_computes_them(asked, expected, closed, monkeypatch):
    monkeypatch.setenv("DISPATCH_NPU_SIMULATE", asked)
    monkeypatch.setenv(chips.VARIABLE, "1")
    for dtype, number in ((torchlike.float32, expected), (torchlike.float16, 0)):
        x = torchlike.ones(2, 2, dtype=dtype, device="npu")
        assert (x @ x).tolist() == [[2, 2], [2, 2]]
        *_, latest = operator_row("mm")._templates.values()
        assert latest.arguments[-1] == ("int8_t", number)


def _is_deterministic(simulator, index):
    """Return the option of a device's context, as the toolkit has it; None where it was not set."""
    found = ctypes.c_int64(-1)
    with runtime.guard(index):
        get = open_library(str(simulator.folder / "lib64" / "libascendcl.so")).aclrtCtxGetSysParamOpt
        status = get(ACL_OPT_DETERMINISTIC, ctypes.byref(found))
    assert status in (0, 107021)
    return None if status else found.value


def test_deterministic_algorithms_are_asked_for_on_each_device_that_is_open_or_opened_later(closed):
    torchlike.ones(1, device="npu:0")
    assert _is_deterministic(closed, 0) is None
    torchlike.use_deterministic_algorithms(True)
    try:
        assert _is_deterministic(closed, 0) == 1
        torchlike.ones(1, device="npu:1")
        assert _is_deterministic(closed, 1) == 1
        runtime.finalize(force=True)
        runtime.ensure()
        assert _is_deterministic(closed, 0) == 1
    finally:
        torchlike.use_deterministic_algorithms(False)
    assert _is_deterministic(closed, 0) == 0


def test_a_choice_that_a_device_refuses_stays_as_it_was(closed):
    torchlike.ones(1, device="npu")
    with closed.failing("aclrtCtxSetSysParamOpt", 1), pytest.raises(AclError, match="aclrtCtxSetSysParamOpt"):
        torchlike.use_deterministic_algorithms(True)
    assert not torchlike.are_deterministic_algorithms_enabled()


@pytest.mark.of_functions
@pytest.mark.parametrize("variable", device.BLOCKING)
def test_calls_are_waited_for_where_the_environment_asks(variable, closed, monkeypatch):
    x = torchlike.ones(2, device="npu")
    torchlike.npu.synchronize()
    closed.fail_task(1)
    y = x + 1
    with pytest.raises(AclError):
        torchlike.npu.synchronize()
    del x, y
    closed.reset()
    runtime.finalize(force=True)
    monkeypatch.setenv(variable, "1")
    x = torchlike.ones(2, device="npu")
    closed.fail_task(1)
    with pytest.raises(AclError):
        x + 1
    with dc.pipeline():
        z = x * 3
        w = z - 1
    assert w.tolist() == [2, 2]
