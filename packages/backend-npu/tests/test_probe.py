import shutil
import subprocess
import sys

import pytest

import dispatch_backend_npu
from dispatch_backend_npu import ascend, plugin
from dispatch_backend_npu.acl import toolkit
from dispatch_backend_npu.acl.prototypes import BASE, OPERATORS, RUNTIME
from dispatch_backend_npu.runtime import probe

pytestmark = pytest.mark.no_pipeline(reason="looks for a toolkit, and calls no operator")

RUNTIMES = toolkit.FILES[RUNTIME]


@pytest.fixture
def no_toolkit(monkeypatch):
    """A machine without a toolkit, whatever this one has."""
    monkeypatch.setattr(toolkit, "find_folder", lambda environment=None: None)


def make_folder(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return str(folder)


def test_without_a_toolkit_nothing_raises_and_the_reason_is_given(no_toolkit):
    assert dispatch_backend_npu.is_available() is False
    assert dispatch_backend_npu.device_count() == 0
    assert dispatch_backend_npu.device_name() == ""
    assert dispatch_backend_npu.versions() == {"runtime": "", "toolkit": "", "folder": ""}
    answer = plugin.dispatch_is_available()
    assert not answer
    assert answer.reason == dispatch_backend_npu.unavailable_reason()


def test_the_reason_says_what_was_looked_for_and_where():
    reason = toolkit.describe_search({"ASCEND_HOME_PATH": "/nowhere"})
    for part in (*RUNTIMES, *toolkit.DEFAULT_HOMES, "ASCEND_TOOLKIT_HOME=None", "ASCEND_HOME_PATH='/nowhere'"):
        assert part in reason
    assert "LD_LIBRARY_PATH" in reason and "CANN_INSTALL_DIR" in reason


@pytest.mark.parametrize("variable", toolkit.HOME_VARIABLES)
@pytest.mark.parametrize("name", RUNTIMES)
def test_a_toolkit_is_found_where_the_environment_says(tmp_path, variable, name):
    folder = make_folder(tmp_path / "lib64", name)
    assert toolkit.find_folder({variable: str(tmp_path)}) == folder
    assert toolkit.find_files(folder, RUNTIME) == [f"{folder}/{name}"]


def test_an_architectures_folder_and_the_loaders_path_are_looked_at_too(tmp_path):
    folder = make_folder(tmp_path / "x86_64-linux" / "lib64", "libascendcl.so")
    make_folder(tmp_path / "aarch64-linux" / "lib64", "libascendcl.so")
    assert toolkit.find_folder({"ASCEND_HOME_PATH": str(tmp_path)}).endswith("-linux/lib64")
    assert toolkit.find_folder({"LD_LIBRARY_PATH": f":{folder}"}) == folder


def test_the_environments_first_folder_wins(tmp_path):
    first, second = (make_folder(tmp_path / name / "lib64", "libascendcl.so") for name in ("first", "second"))
    homes = {"ASCEND_TOOLKIT_HOME": str(tmp_path / "second"), "ASCEND_HOME_PATH": str(tmp_path / "first")}
    assert toolkit.find_folder(homes) == first
    assert toolkit.find_folder({**homes, "ASCEND_HOME_PATH": "/nowhere"}) == second


def test_the_files_of_older_and_newer_toolkits_are_found_in_order(tmp_path):
    older = make_folder(tmp_path / "a", "libopapi.so", "libaclnn_math.so", "libaclnn_ops_infer.so", "libnnopbase.so")
    newer = make_folder(tmp_path / "b", "libopapi_nn.so", "libopapi_math.so", "libopapi.so")
    names = lambda folder, library: [path.rpartition("/")[2] for path in toolkit.find_files(folder, library, {})]
    assert names(older, OPERATORS) == ["libopapi.so", "libaclnn_ops_infer.so", "libaclnn_math.so"]
    assert names(newer, OPERATORS) == ["libopapi_math.so", "libopapi_nn.so", "libopapi.so"]
    assert names(older, BASE) == ["libnnopbase.so", "libopapi.so"]
    custom = tmp_path / "custom"
    make_folder(custom / "op_api" / "lib", "libcust_opapi.so")
    found = toolkit.find_files(newer, OPERATORS, {"ASCEND_CUSTOM_OPP_PATH": f"/nowhere:{custom}"})
    assert found[0] == f"{custom}/op_api/lib/libcust_opapi.so"


@pytest.mark.parametrize("value", ["", "\0", "x" * 10_000])
def test_odd_environments_raise_nothing(value):
    environment = {"ASCEND_HOME_PATH": value, "LD_LIBRARY_PATH": value, "ASCEND_OPP_PATH": value}
    toolkit.find_folder(environment)
    probe.model_directory(environment)


@pytest.mark.parametrize(
    ("file", "text"),
    [("version.cfg", "# version: 1\nVersion=8.1.RC1\n"), ("version.cfg", "runtime_running_version=[7.7:8.1.RC1]\n")],
)
def test_the_toolkit_says_its_version(tmp_path, file, text):
    (tmp_path / file).write_text(text)
    assert toolkit.version(f"{tmp_path}/lib64") == "8.1.RC1"
    assert toolkit.version("/nowhere/lib64") == ""


@pytest.mark.parametrize(
    ("told", "is_refused"),
    [
        *((told, True) for told in ("8.0.RC3", "7.0.0", "6.3.2.1", "8.0.RC2.alpha003")),
        *((told, False) for told in ("8.1.RC1", "8.1", "8.5.0", "10.0.0", "7.6.0.1.220", "", "new")),
    ],
)
def test_a_toolkit_that_is_too_old_is_refused_by_name(tmp_path, simulator, told, is_refused):
    shutil.copytree(simulator.folder / "lib64", tmp_path / "lib64")
    (tmp_path / "version.cfg").write_text(f"Version={told}\n")
    code = """
import dispatch_backend_npu as npu, torchlike
print(npu.is_available(), npu.versions()["toolkit"], npu.unavailable_reason(), sep="|")
try:
    torchlike.ones(3, device="npu")
except Exception as error:
    print(type(error).__name__, str(error).replace(chr(10), " "))
"""
    environment = {"ASCEND_HOME_PATH": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    if not is_refused:
        assert done.stdout == f"True|{told}|\n"
        return
    words = f"the toolkit in {tmp_path}/lib64 is CANN {told}, and this backend needs CANN 8.1 or newer"
    assert done.stdout.startswith(f"False|{told}|{words}")
    assert done.stdout.count(words) == 2


def test_the_model_directory_is_what_the_environment_says_or_beside_the_libraries(tmp_path):
    make_folder(tmp_path / "lib64", "libascendcl.so")
    home = {"ASCEND_HOME_PATH": str(tmp_path)}
    assert probe.model_directory(home) is None
    (tmp_path / "opp").mkdir()
    assert probe.model_directory(home) == str(tmp_path / "opp")
    assert probe.model_directory({**home, "ASCEND_OPP_PATH": "/nowhere"}) == str(tmp_path / "opp")
    assert probe.model_directory({**home, "ASCEND_OPP_PATH": str(tmp_path)}) == str(tmp_path)


def test_a_file_that_is_no_library_is_a_reason(tmp_path):
    make_folder(tmp_path / "lib64", "libascendcl.so")
    code = "import dispatch_backend_npu as npu; print(npu.is_available(), npu.unavailable_reason())"
    environment = {"ASCEND_HOME_PATH": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False ")
    assert "libascendcl.so cannot be loaded" in done.stdout and "set_env.sh" in done.stdout


def test_the_older_name_has_the_same_objects():
    assert ascend.plugin is plugin and ascend.is_available is dispatch_backend_npu.is_available


def test_the_backend_describes_itself():
    info = plugin.dispatch_backend_info()
    assert (info.name, info.dispatch_key, len(info.array_types)) == ("npu", "NPU", 1)


def test_loading_imports_neither_numpy_nor_the_toolkit_and_changes_no_variable():
    code = """
import os, sys
before = dict(os.environ)
import dispatch_backend_npu.plugin
from dispatch_backend_npu.acl.library import is_loaded
assert "numpy" not in sys.modules and not is_loaded() and dict(os.environ) == before
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
