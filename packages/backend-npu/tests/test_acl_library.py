"""Loading the toolkit, binding its functions, and what is raised where they fail."""

import ctypes
import os
import subprocess
import sys

import pytest

import dispatch_core as dc
from dispatch_backend_npu.acl import AclError, FunctionNotFoundError, OutOfMemoryError, ToolkitNotFoundError, library
from dispatch_backend_npu.acl.prototypes import RUNTIME, Prototype, prototypes


def run(code, **environment):
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": os.environ["PATH"], **environment}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_a_toolkit_binding_says_what_was_looked_for():
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


def test_a_failure_that_was_repaired_is_forgotten(tmp_path, simulator):
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


def test_errors_are_what_callers_expect():
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


def test_the_toolkits_message_is_told_once(simulator):
    with pytest.raises(AclError) as caught:
        library.call("aclrtFree", None)
    assert caught.value.detail
    assert library.recent_message() == ""
