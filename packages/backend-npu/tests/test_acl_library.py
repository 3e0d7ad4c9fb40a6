"""Loading the toolkit, binding its functions, and the errors of those that fail."""

import ctypes
import os
import shutil
import subprocess
import sys

import pytest

import dispatch_core as dc
from dispatch_backend_npu.acl import AclError, FunctionNotFoundError, OutOfMemoryError, ToolkitNotFoundError, library
from dispatch_backend_npu.acl.prototypes import RUNTIME, Prototype, prototypes

pytestmark = pytest.mark.no_pipeline(reason="loads libraries, and calls no operator")


def run(code, **environment):
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": os.environ["PATH"], **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_toolkit_binding_names_the_files_of_the_search():
    code = """
from dispatch_backend_npu.acl import library, toolkit
toolkit.DEFAULT_HOMES = ()
try:
    library.bind("aclInit")
except library.ToolkitNotFoundError as error:
    print(error)
print(library.is_loaded())
"""
    printed = run(code, ASCEND_HOME_PATH="/nowhere")
    assert "looked for libascendcl.so and libacl_rt.so" in printed and "ASCEND_HOME_PATH='/nowhere'" in printed
    assert "python -m dispatch_backend_npu simulator" in printed
    assert printed.endswith("False\n")


def test_a_failure_that_was_repaired_is_not_kept(tmp_path, simulator):
    home = simulator.folder
    code = f"""
import os
from dispatch_backend_npu.acl import library, toolkit
toolkit.DEFAULT_HOMES = ()
try:
    library.bind("aclInit")
except library.ToolkitNotFoundError:
    os.environ["ASCEND_HOME_PATH"] = {str(home)!r}
print(library.bind("aclInit") is library.bind("aclInit"), library.is_loaded(), library.folder())
"""
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libascendcl.so").touch()
    assert run(code, ASCEND_HOME_PATH=str(tmp_path)) == f"True True {home}/lib64\n"


WORK = """
import os
before = dict(os.environ)
import torchlike, dispatch_core as dc
from dispatch_backend_npu.acl import library
x = torchlike.tensor([1.0, -2.0], device="npu")
with dc.pipeline():
    found = (x + 1).relu().sum()
print(found.item(), torchlike.npu.get_device_name(), sorted(path.rpartition("/")[2] for path in library._handles))
from dispatch_backend_npu import runtime
runtime.finalize(force=True)
assert dict(os.environ) == before
"""


def test_the_names_of_newer_toolkits_work_from_an_installers_folder(tmp_path, simulator):
    folder = tmp_path / "Ascend" / "cann" / "lib64"
    folder.mkdir(parents=True)
    for old, new in (("ascendcl", "acl_rt"), ("nnopbase", "nnopbase"), ("opapi", "opapi_math")):
        shutil.copy(simulator.folder / "lib64" / f"lib{old}.so", folder / f"lib{new}.so")
    (folder / "libopapi_cv.so").symlink_to(folder / "libnnopbase.so")  # one that has none of these operators
    printed = run(WORK, HOME=str(tmp_path))
    assert (
        printed
        == "2.0 Ascend910B1 (simulator) ['libacl_rt.so', 'libnnopbase.so', 'libopapi_cv.so', 'libopapi_math.so']\n"
    )


def test_working_with_a_device_changes_no_variable(simulator):
    # As the code itself asserts.
    assert run(WORK, ASCEND_HOME_PATH=str(simulator.folder)).startswith("2.0 Ascend910B1 (simulator) ")


def test_without_a_toolkit_every_kernel_is_registered_and_opening_says_why():
    code = """
from dispatch_backend_npu.acl import library, toolkit
toolkit.DEFAULT_HOMES = ()
import dispatch_core as dc
from dispatch_backend_npu.kernels import KERNELS
dc.load_backend("npu")
names = [name if "." in name else f"{name}.default" for name in KERNELS]
operators = [getattr(getattr(dc.ops.aten, name.partition(".")[0]), name.partition(".")[2]) for name in names]
print(sum(not operator.has_kernel_for_dispatch_key("NPU") for operator in operators), len(operators) >= 120)
try:
    dc.ops.aten.zeros.default([2], device=dc.Device("npu"))
except dc.BackendUnavailableError as error:
    print("the Ascend runtime was not found: looked for libascendcl.so" in str(error))
print(library.is_loaded())
"""
    assert run(code).split() == ["0", "True", "True", "False"]


def test_errors_are_subclasses_of_those_that_callers_expect():
    assert issubclass(ToolkitNotFoundError, dc.BackendError)
    assert issubclass(AclError, dc.BackendError) and issubclass(AclError, RuntimeError)
    assert issubclass(OutOfMemoryError, MemoryError) and issubclass(OutOfMemoryError, AclError)


def test_an_error_has_function_code_name_and_message():
    error = AclError("aclrtMalloc", 207001, " E19999: no memory \n")
    assert (error.function, error.code, error.symbol) == ("aclrtMalloc", 207001, "ACL_ERROR_RT_MEMORY_ALLOCATION")
    assert str(error) == "aclrtMalloc failed with 207001 (ACL_ERROR_RT_MEMORY_ALLOCATION): E19999: no memory"
    assert str(AclError("aclnnAdd", 4)) == "aclnnAdd failed with 4 (a code that no header names)"


def test_a_bound_function_has_its_types(npu):
    function = library.bind("aclrtMemcpy")
    assert function is library.bind("aclrtMemcpy")
    assert function.restype is ctypes.c_int
    assert function.argtypes == [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t),
        ctypes.c_int,
    ]
    with pytest.raises(ctypes.ArgumentError):
        function(0, 1, "text", 1, 0.5)


def test_a_function_that_the_toolkit_lacks_is_named_with_its_libraries(npu, monkeypatch):
    monkeypatch.setitem(prototypes(), "aclrtFly", Prototype(RUNTIME, "aclError", ()))
    with pytest.raises(FunctionNotFoundError, match=r"has no function aclrtFly: looked in libascendcl\.so"):
        library.bind("aclrtFly")


def test_a_call_that_fails_raises_with_the_toolkits_message(npu):
    with pytest.raises(AclError) as caught:
        library.call("aclrtMalloc", ctypes.byref(ctypes.c_void_p()), 0, 0)
    error = caught.value
    # The size 0 is refused (aclrtMalloc).
    assert (error.function, error.code, error.symbol) == ("aclrtMalloc", 100000, "ACL_ERROR_INVALID_PARAM")
    assert str(error).startswith("aclrtMalloc failed with 100000 (ACL_ERROR_INVALID_PARAM)")


def test_the_toolkits_message_is_reported_once(simulator):
    with pytest.raises(AclError) as caught:
        library.call("aclrtFree", None)
    assert caught.value.detail
    assert library.recent_message() == ""
