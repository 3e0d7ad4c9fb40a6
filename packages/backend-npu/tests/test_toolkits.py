"""Toolkits that are installed in part, wrongly, or in an old release are named, with a remedy; whole ones are not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dispatch_core as dc
from dispatch_backend_npu.acl import installation, toolkit
from dispatch_backend_npu.acl.errors import AclError
from dispatch_backend_npu.acl.prototypes import OPERATORS
from dispatch_backend_npu.acl.releases import Release, describe_age, list_releases

pytestmark = pytest.mark.no_pipeline(reason="looks at toolkits, and calls no operator")

LIBRARIES = ("libascendcl.so", "libnnopbase.so", "libopapi.so")
CONFIG = "opp/built-in/op_impl/ai_core/tbe/kernel/config"
NEW = 'Version=7.7.0.1.238\nversion_dir=8.1.RC1\nrequired_opp_abi_version=">=6.3, <=7.7"\n'
OLD = "Version=7.5.0.1.129\nversion_dir=8.0.0\n"


def write(root, files):
    for name, text in files.items():
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make_toolkit(root, *, arch=False, without=(), **files):
    """Write a toolkit like the installer's: libraries, the versions of its parts, kernels for a chip."""
    inner = root / "x86_64-linux" if arch else root
    whole = {f"{part}/version.info": NEW for part in ("runtime", "opp", "opp_kernel", "compiler")}
    whole |= {f"{CONFIG}/ascend910b/{name}.json": "{}" for name in ("abs", "add")}
    whole |= {"version.cfg": "# version: 1.0\nruntime_running_version=[7.7.0.1.238:8.1.RC1]\n"} | files
    write(root, {name: text for name, text in whole.items() if text is not None and name not in without})
    write(inner, {f"lib64/{name}": "" for name in LIBRARIES if name not in without})
    return str(inner / "lib64"), {"ASCEND_HOME_PATH": str(inner), "ASCEND_OPP_PATH": str(root / "opp")}


def faults_of(folder, environment, **chip):
    return [fault.text for fault in installation.find_faults(folder, environment, **chip)]


A2, A3, INFERENCE = (
    {"chip": chip, "family": family}
    for chip, family in (("Ascend910B1", "910B"), ("Ascend910_9391", "910_93"), ("Ascend310P3", "310P"))
)


@pytest.mark.parametrize("arch", [False, True])
def test_a_whole_toolkit_has_no_fault_in_either_layout(tmp_path, arch):
    folder, environment = make_toolkit(tmp_path, arch=arch)
    assert toolkit.find_folder(environment) == folder
    assert faults_of(folder, environment) == faults_of(folder, environment, **A2) == []
    assert toolkit.version(folder) == "8.1.RC1"


@pytest.mark.parametrize("arch", [False, True])
@pytest.mark.parametrize(
    ("without", "told"),
    [
        (LIBRARIES[1:], "has the runtime alone: neither libnnopbase.so nor operators"),
        (LIBRARIES[1:2], "has no libnnopbase.so, which every operator needs"),
        (LIBRARIES[2:], "has no operators (libopapi.so, libopapi_*.so)"),
    ],
)
def test_a_toolkit_without_libraries_is_named(tmp_path, without, told, arch):
    folder, environment = make_toolkit(tmp_path, arch=arch, without=without)
    [fault] = installation.find_faults(folder, environment)
    assert told in fault.text and folder in fault.text and fault.is_fatal
    assert "Ascend-cann-toolkit" in fault.hint


def test_operators_in_several_libraries_are_enough(tmp_path):
    folder, environment = make_toolkit(tmp_path, without=["libopapi.so"])
    write(folder, {"libopapi_nn.so": "", "libopapi_math.so": ""})
    assert faults_of(folder, environment) == []


def test_kernels_that_are_missing_are_named(tmp_path):
    folder, environment = make_toolkit(tmp_path)
    assert faults_of(folder, environment, **INFERENCE) == [
        f"the operators' folder {tmp_path}/opp has kernels for ascend910b, and none for this chip, Ascend310P3"
    ]
    [fault] = installation.find_faults(folder, environment, **INFERENCE)
    assert "Ascend-cann-kernels-310p" in fault.hint and not fault.is_fatal
    shutil.rmtree(tmp_path / CONFIG)
    assert faults_of(folder, environment) == [f"the operators' folder {tmp_path}/opp has no kernels for any chip"]
    shutil.rmtree(tmp_path / "opp")
    assert faults_of(folder, environment) == [
        f"ASCEND_OPP_PATH names {tmp_path}/opp, which is not a folder: the operators have no kernels"
    ]
    del environment["ASCEND_OPP_PATH"]
    assert faults_of(folder, environment) == [
        f"the toolkit in {folder} has no folder opp, and ASCEND_OPP_PATH is not set: the operators have no kernels"
    ]


def test_a_shell_without_the_toolkits_script_is_named(tmp_path):
    folder, environment = make_toolkit(tmp_path)
    del environment["ASCEND_OPP_PATH"]
    [fault] = installation.find_faults(folder, environment)
    assert (
        f"ASCEND_OPP_PATH is not set, by which the toolkit finds its kernels (they are in {tmp_path}/opp)" in fault.text
    )
    assert "set_env.sh" in fault.hint


def test_kernels_in_folders_of_their_operators_are_found(tmp_path):
    folder, environment = make_toolkit(tmp_path)
    shutil.rmtree(tmp_path / CONFIG)
    write(tmp_path, {f"{CONFIG}/ascend910_93/ops_math/abs.json": "{}", f"{CONFIG}/ascend910b/readme.txt": ""})
    assert installation.list_kernels(f"{tmp_path}/opp") == {"ascend910_93": 1}
    assert faults_of(folder, environment, **A3) == []


@pytest.mark.parametrize("arch", [False, True])
@pytest.mark.parametrize(
    "file",
    [
        "runtime/version.info",
        "opp/version.info",
        "opp_kernel/version.info",
        "hccl/version.info",
        "tools/aoe/version.info",
        "share/info/opp/version.info",
    ],
)
def test_an_old_part_of_a_newer_toolkit_is_refused_by_name(tmp_path, file, arch):
    folder, environment = make_toolkit(tmp_path, arch=arch, **{file: OLD})
    [told] = faults_of(folder, environment)
    assert f"the toolkit in {folder} is CANN 8.0.0, and this backend needs CANN 8.1 or newer" in told
    assert f"({file} has 8.0.0, " in told and "has 8.1.RC1)" in told
    assert toolkit.version(folder) == "8.0.0"


def test_an_old_operators_folder_elsewhere_is_refused_by_name(tmp_path):
    folder, environment = make_toolkit(tmp_path / "new")
    write(tmp_path / "old", {"opp/version.info": OLD, f"{CONFIG}/ascend910b/abs.json": "{}"})
    [told] = faults_of(folder, environment | {"ASCEND_OPP_PATH": str(tmp_path / "old" / "opp")})
    assert "is CANN 8.0.0" in told and "($ASCEND_OPP_PATH/version.info has 8.0.0, " in told


def test_a_part_with_nothing_but_a_version_counts_and_a_tool_does_not(tmp_path):
    folder, environment = make_toolkit(tmp_path, **{"runtime/version.info": "Version=8.0.RC3\n"})
    assert "runtime/version.info has 8.0.RC3" in faults_of(folder, environment)[0]
    # CANN 8.1.RC1 as it is installed: this MindStudio comes with it.
    folder, environment = make_toolkit(tmp_path, **{"mindstudio-toolkit/version.info": "Version=8.0.RC1.B110\n"})
    assert faults_of(folder, environment) == []


def test_the_script_of_an_older_installer_is_read(tmp_path):
    folder, environment = make_toolkit(tmp_path, **{"x86_64-linux/ascend_toolkit_install.info": "version=8.0.RC2\n"})
    assert "x86_64-linux/ascend_toolkit_install.info has 8.0.RC2" in faults_of(folder, environment)[0]


def test_versions_that_were_installed_once_do_not_count(tmp_path):
    text = (
        "opp_running_version=[7.7.0.1.238:8.1.RC1]\nopp_installed_version=[7.6.0.1.220:8.0.0],[7.7.0.1.238:8.1.RC1]\n"
    )
    folder, environment = make_toolkit(tmp_path, **{"version.cfg": text})
    assert faults_of(folder, environment) == []
    assert Release("opp", "8.1.RC1", "version.cfg") in list_releases(folder)


def test_a_toolkit_that_names_no_release_is_not_refused(tmp_path):
    folder, environment = make_toolkit(tmp_path, without=["version.cfg"])
    for path in tmp_path.rglob("version.info"):
        path.write_bytes(b"\xff\0" * 100)
    assert list_releases(folder) == [] and faults_of(folder, environment) == []
    assert describe_age(folder, []) == ""


def test_custom_operators_come_by_variable_then_by_the_vendors_priority(tmp_path):
    folder, environment = make_toolkit(tmp_path)
    library = "op_api/lib/libcust_opapi.so"
    write(tmp_path, {f"opp/vendors/{vendor}/{library}": "" for vendor in "abc"} | {f"own/{library}": ""})
    environment["ASCEND_CUSTOM_OPP_PATH"] = f"{tmp_path}/own:{tmp_path}/opp/vendors/b"

    def order():
        return [
            path.removesuffix(f"/{library}").rpartition("/")[2]
            for path in toolkit.find_files(folder, OPERATORS, environment)
        ]

    assert order() == ["own", "b", "a", "c", "libopapi.so"]
    write(tmp_path, {"opp/vendors/config.ini": "# vendors\nload_priority=c, a,none\n"})
    assert order() == ["own", "b", "c", "a", "libopapi.so"]
    write(tmp_path, {"opp/vendors/config.ini": "other=c\n"})
    assert order() == ["own", "b", "libopapi.so"]
    assert toolkit.find_files(folder, "libascendcl.so", environment) == [f"{folder}/libascendcl.so"]


def break_simulator(simulator, folder, *, keep=LIBRARIES, **files):
    """Return the environment of a toolkit that has some of the simulator's libraries, and does not say that it is one."""
    for name in keep:
        target = folder / "lib64" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(simulator.folder / "lib64" / name, target)
    write(folder, files)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND")}
    return kept | {"ASCEND_HOME_PATH": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def run(environment, *arguments):
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("keep", "files", "told"),
    [
        (LIBRARIES[:1], {}, "has the runtime alone"),
        ((LIBRARIES[0], LIBRARIES[2]), {}, "has no libnnopbase.so"),
        (LIBRARIES[:2], {}, "has no operators"),
        (LIBRARIES, {"opp/version.info": OLD}, "is CANN 8.0.0"),
    ],
)
def test_devices_of_a_broken_toolkit_are_unavailable_and_the_doctor_and_errors_say_why(
    simulator, tmp_path, keep, files, told
):
    environment = break_simulator(simulator, tmp_path, keep=keep, **files)
    code = "import dispatch_backend_npu as npu; print(npu.is_available(), npu.unavailable_reason())"
    assert told in (said := run(environment, "-c", code).stdout) and said.startswith("False ")
    code = "import torchlike; torchlike.ones(2, device='npu')"
    assert told in run(environment, "-c", code).stderr
    done = run(environment, "-m", "dispatch_core", "doctor", "npu")
    assert done.returncode == 1 and done.stdout.startswith("faulty"), done.stdout
    assert told in " ".join(done.stdout.split()) and "\n           Hint: " in done.stdout and "\\n" not in done.stdout


def test_the_doctor_names_a_toolkit_without_kernels_of_which_the_device_can_be_opened(simulator, tmp_path):
    environment = break_simulator(simulator, tmp_path) | {"DISPATCH_NPU_SIMULATE": "910B"}
    done = run(environment, "-m", "dispatch_core", "doctor", "npu")
    assert done.returncode == 1 and "the operators have no kernels" in " ".join(done.stdout.split())
    write(tmp_path, {f"{CONFIG}/ascend310p/abs.json": "{}"})
    done = run(environment | {"ASCEND_OPP_PATH": f"{tmp_path}/opp"}, "-m", "dispatch_core", "doctor", "npu")
    assert done.returncode == 1
    assert "has kernels for ascend310p, and none for this chip, Ascend910B1" in " ".join(done.stdout.split())


def test_without_a_toolkit_the_doctors_hint_is_a_line_of_its_own(tmp_path):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND")}
    environment = kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ASCEND_HOME_PATH": str(tmp_path)}
    write(tmp_path, {"lib64/libascendcl.so": ""})
    done = run(environment, "-m", "dispatch_core", "doctor", "npu")
    assert "\\n" not in done.stdout and "Hint: source the toolkit's set_env.sh" in " ".join(done.stdout.split())


@pytest.mark.of_functions
@pytest.mark.parametrize("code", [561003, 561107, 561112])
def test_an_error_of_missing_kernels_names_the_installations_fault(simulator, tmp_path, code):
    program = f"""
import dispatch_core as dc
from dispatch_backend_npu.simulator import Simulator
one = dc.ops.aten.ones([2], device=dc.Device("npu"))
Simulator().fail_nth("aclnnNegGetWorkspaceSize", 1, {code})
dc.ops.aten.neg(one)
"""
    said = run(break_simulator(simulator, tmp_path), "-c", program).stderr
    assert f"aclnnNegGetWorkspaceSize failed with {code}" in said
    assert f"Hint: the toolkit in {tmp_path}/lib64 has no folder opp" in said and "Ascend-cann-kernels-" in said


@pytest.mark.of_functions
def test_an_error_of_missing_kernels_has_a_general_hint_where_the_installation_is_whole(simulator, npu):
    with simulator.failing("aclnnNegGetWorkspaceSize", 1, 561107), pytest.raises(AclError) as caught:
        dc.ops.aten.neg(dc.ops.aten.ones([2], device=dc.Device("npu")))
    assert "set_env.sh, which sets ASCEND_OPP_PATH" in str(caught.value)
