import subprocess
import sys

import pytest

import dispatch_backend_npu
from dispatch_backend_npu import plugin
from dispatch_backend_npu.runtime.probe import DEFAULT_HOMES, LIBRARIES, find_library, unavailable_reason


def test_no_npu_can_be_opened():
    assert dispatch_backend_npu.is_available() is False
    answer = plugin.dispatch_is_available()
    assert not answer
    assert answer.reason == dispatch_backend_npu.unavailable_reason()


def test_the_reason_says_what_was_looked_for_and_where():
    reason = unavailable_reason({"ASCEND_HOME_PATH": "/nowhere"})
    for part in (
        *LIBRARIES,
        *DEFAULT_HOMES,
        "ASCEND_TOOLKIT_HOME=None",
        "ASCEND_HOME_PATH='/nowhere'",
        "LD_LIBRARY_PATH",
    ):
        assert part in reason


@pytest.mark.parametrize("variable", ["ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_toolkit_is_found_where_the_environment_says(tmp_path, variable, name):
    (tmp_path / "lib64").mkdir()
    library = tmp_path / "lib64" / name
    library.touch()
    assert find_library({variable: str(tmp_path)}) == library
    assert str(library) in unavailable_reason({variable: str(tmp_path)})


def test_a_library_on_the_loaders_path_is_found(tmp_path):
    (tmp_path / "libacl_rt.so").touch()
    assert find_library({"LD_LIBRARY_PATH": f":{tmp_path}"}) == tmp_path / "libacl_rt.so"


@pytest.mark.parametrize("value", ["", "\0", "x" * 10_000])
def test_odd_environments_raise_nothing(value):
    find_library({"ASCEND_HOME_PATH": value, "LD_LIBRARY_PATH": value})


def test_the_backend_describes_itself():
    info = plugin.dispatch_backend_info()
    assert (info.name, info.dispatch_key, info.array_types) == ("npu", "NPU", ())


def test_numpy_is_not_imported():
    code = "import sys, dispatch_backend_npu.plugin; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
