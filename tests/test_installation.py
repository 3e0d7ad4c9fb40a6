"""The packages as a user has them: wheels of this very checkout, installed into an environment of their own."""

from __future__ import annotations

import configparser
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[1] / "packages"
#: The distributions that a compiler builds; nothing requires them.
COMPILED = {"dispatch-backend-cpu-native", "dispatch-calls-native"}
#: Distribution → folder.
DISTRIBUTIONS = {
    tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"]: path.parent
    for path in sorted(PACKAGES.glob("*/pyproject.toml"))
    if f"dispatch-{path.parent.name}" not in COMPILED
}
each_distribution = pytest.mark.parametrize("name", DISTRIBUTIONS)
installed_from_wheels = pytest.mark.skipif(
    "DISPATCH_TEST_WHEELS" not in os.environ, reason="asks about installed wheels: run nox -s tests"
)


def import_names(name: str) -> list[str]:
    """Return the import packages of a distribution, the main one first, which sorts first."""
    return [source.parent.name for source in sorted(DISTRIBUTIONS[name].glob("src/*/__init__.py"))]


def import_name(name: str) -> str:
    return import_names(name)[0]


def project(name: str) -> dict:
    return tomllib.loads((DISTRIBUTIONS[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


#: Names near ours that belong to others on Python's index.
TAKEN = frozenset(
    "dispatch dispatch-agent dispatch-agents dispatch-cli dispatch-fidelity dispatch-functions dispatch-generic dispatch-kit"
    " dispatch-proxy dispatch-py dispatch-reactor dispatch-relay dispatch-rider".split()
)


def test_no_distribution_has_a_name_of_somebody_elses():
    assert TAKEN & {*COMPILED, *DISTRIBUTIONS} == set()


def test_there_are_nine_distributions():
    assert sorted(DISTRIBUTIONS) == [
        "dispatch-backend-array-api",
        "dispatch-backend-cpu",
        "dispatch-backend-meta",
        "dispatch-backend-npu",
        "dispatch-core",
        "dispatch-devkit",
        "dispatch-frontend-torchlike",
        "dispatch-kernels-numba",
        "dispatch-operators-aten",
        "dispatch-torchlike-as-torch",
    ]


@installed_from_wheels
@each_distribution
def test_a_distribution_is_installed_from_a_wheel_of_this_session(name):
    direct = json.loads(importlib.metadata.distribution(name).read_text("direct_url.json"))
    assert "archive_info" in direct
    assert Path(direct["url"].removeprefix("file://")).parent == Path(os.environ["DISPATCH_TEST_WHEELS"])


def wheel(name: str) -> zipfile.ZipFile:
    (path,) = Path(os.environ["DISPATCH_TEST_WHEELS"]).glob(f"{name.replace('-', '_')}-*.whl")
    return zipfile.ZipFile(path)


@installed_from_wheels
@each_distribution
def test_what_is_imported_is_what_the_wheel_has(name):
    inside = Path(importlib.util.find_spec(import_name(name)).origin).parent
    assert Path(sys.prefix) in inside.parents
    assert PACKAGES not in inside.parents
    files = wheel(name)
    expected = {file: files.read(file) for file in files.namelist() if file.endswith(".py")}
    paths = [path for each in import_names(name) for path in (inside.parent / each).rglob("*.py")]
    assert expected == {path.relative_to(inside.parent).as_posix(): path.read_bytes() for path in paths}


@installed_from_wheels
def test_no_path_of_the_caller_leads_to_the_sources():
    assert "PYTHONPATH" not in os.environ
    found = [path for path in sys.path if PACKAGES in Path(path).resolve().parents]
    assert [path for path in found if Path(path).name != "tests"] == []  # what tests share


#: The types of operators whose modules the core makes while it runs: a partial stub package beside the package.
STUBS = {"dispatch-operators-aten": {"dispatch_core-stubs"}}


@installed_from_wheels
@each_distribution
def test_a_wheel_has_the_package_its_types_and_its_license_and_nothing_else(name):
    files = wheel(name).namelist()
    tops = {file.partition("/")[0] for file in files}
    # Python reads the last one when it starts; no other distribution has such a file.
    files_beside = {"torchlike_as_torch.pth"} if name == "dispatch-torchlike-as-torch" else set()
    expected = files_beside | {
        *import_names(name),
        f"{name.replace('-', '_')}-{importlib.metadata.version(name)}.dist-info",
    }
    assert tops - STUBS.get(name, set()) == expected
    assert {f"{each}/py.typed" for each in import_names(name)} <= {*files}
    assert [file for file in files if file.endswith("licenses/LICENSE")] != []


@each_distribution
def test_a_version_stands_in_one_place_and_is_the_same_for_every_package(name):
    source = DISTRIBUTIONS[name] / "src" / import_name(name)
    # A string: the version of torch that torchlike follows is an object of its own.
    stated = re.compile(r"^__version__\b.*= *[\"']", re.MULTILINE)
    places = [path.name for path in source.rglob("*.py") if stated.search(path.read_text())]
    assert places == ([] if "version" in project(name) else ["__init__.py"])
    version = importlib.metadata.version(name)
    assert version == importlib.metadata.version("dispatch-core")
    assert f"## {version}" in (DISTRIBUTIONS[name] / "CHANGELOG.md").read_text(encoding="utf-8")


@each_distribution
def test_the_metadata_names_license_python_and_bounded_siblings(name):
    metadata = importlib.metadata.metadata(name)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Author"] == "The dispatch authors"
    assert len(metadata.get_payload(decode=False) or metadata["Description"]) > 200
    requires = [line.partition(";")[::2] for line in metadata.get_all("Requires-Dist", [])]
    # Its own name represents a set of its extras, without a version.
    siblings = [
        (line, marker) for line, marker in requires if line.startswith("dispatch-") and not line.startswith(f"{name}[")
    ]
    assert all(
        re.fullmatch(r"[\w-]+(\[[\w,-]+\])?(<0\.2,>=0\.1|>=0\.1,<0\.2)", line.replace(" ", "")) for line, _ in siblings
    )
    assert (name == "dispatch-core") == all("extra ==" in marker for _, marker in siblings)


#: Where the project lives, in the words of the packages' metadata.
HOME = "https://github.com/dispatch-project/dispatch"


@each_distribution
def test_the_addresses_of_the_packages_agree(name):
    folder = DISTRIBUTIONS[name].name
    assert project(name)["urls"] == {
        "Homepage": HOME,
        "Documentation": f"{HOME}/tree/main/docs",
        "Source": f"{HOME}/tree/main/packages/{folder}",
        "Changelog": f"{HOME}/blob/main/packages/{folder}/CHANGELOG.md",
        "Issues": f"{HOME}/issues",
    }


#: What has run: the versions of Python that nox looks for, on Linux. Others are tried by the workflows, as experiments.
CLASSIFIERS = {
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Topic :: Scientific/Engineering",
    "Typing :: Typed",
}


@each_distribution
def test_the_classifiers_are_what_has_run(name, root):
    assert {*project(name)["classifiers"]} == CLASSIFIERS
    (versions,) = re.findall(r"for version in \((.*?)\):", (root / "noxfile.py").read_text(encoding="utf-8"))
    assert {
        f"Programming Language :: Python :: {version}" for version in re.findall(r'"(.*?)"', versions)
    } < CLASSIFIERS
    assert "dispatch" in project(name)["keywords"]


@each_distribution
def test_the_license_is_the_projects(name, root):
    assert (DISTRIBUTIONS[name] / "LICENSE").read_text() == (root / "LICENSE").read_text()


@each_distribution
def test_an_archive_brings_what_its_tests_share_with_others(name, root):
    folder = DISTRIBUTIONS[name]
    shared = {path.stem for path in root.glob("tests/*.py") if not path.name.startswith(("test_", "conftest"))}
    settings = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    brought = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["force-include"]
    imported = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
    wanted = {word for path in folder.glob("tests/*.py") for word in imported.findall(path.read_text(encoding="utf-8"))}
    files = [source for source, target in brought.items() if target == f"tests/{Path(source).name}"]
    assert {Path(source).stem for source in files} - {"conftest"} == wanted & shared
    assert all((folder / source).is_file() for source in brought)


def test_the_settings_of_tests_in_an_archive_are_the_roots(root):
    ours = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    parser = configparser.ConfigParser()
    parser.read(root / "tests" / "sdist-pytest.ini", encoding="utf-8")
    theirs = dict(parser["pytest"])
    assert theirs.pop("testpaths") == theirs.pop("pythonpath") == "tests"
    # Documents are the repository's.
    assert theirs.pop("addopts").split() == [line for line in ours["addopts"] if line != "--doctest-glob=*.md"]
    assert theirs.pop("xfail_strict") == str(ours["xfail_strict"]).lower()
    assert {key: value.split("\n") for key, value in theirs.items()} == {
        "minversion": [ours["minversion"]],
        "markers": ["", *ours["markers"]],
        "filterwarnings": ["", *ours["filterwarnings"]],
        "doctest_optionflags": ours["doctest_optionflags"],
    }


def entry_points(group: str) -> dict[str, tuple[str, str]]:
    """Return name → (value, distribution) of this project's entries of a group."""
    return {
        entry.name: (entry.value, entry.dist.name)
        for entry in importlib.metadata.entry_points(group=group)
        if entry.dist.name in DISTRIBUTIONS
    }


#: The distribution whose devices need libraries that are not installed here.
BRIDGE = "dispatch-backend-array-api"


def own_entry_points(group: str) -> dict[str, tuple[str, str]]:
    return {name: entry for name, entry in entry_points(group).items() if entry[1] != BRIDGE}


def test_each_device_of_an_array_library_is_an_extra_with_a_module_of_its_own():
    devices = {name: entry for name, entry in entry_points("dispatch_core.backends").items() if entry[1] == BRIDGE}
    assert {*devices} <= {*project(BRIDGE)["optional-dependencies"]}
    for name, (value, _) in devices.items():
        assert value == f"dispatch_backend_array_api.devices.{name}:backend"
        path = DISTRIBUTIONS[BRIDGE] / "src" / f"{value.partition(':')[0].replace('.', '/')}.py"
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 100
    types = [device for device, name in entry_points("dispatch_core.array_types").values() if name == BRIDGE]
    assert {*types} == {*devices}


def test_each_device_is_announced_by_its_backend():
    assert own_entry_points("dispatch_core.backends") == {
        "cpu": ("dispatch_backend_cpu.plugin", "dispatch-backend-cpu"),
        "meta": ("dispatch_backend_meta.plugin", "dispatch-backend-meta"),
        "npu": ("dispatch_backend_npu.plugin", "dispatch-backend-npu"),
    }


@pytest.mark.parametrize("group", ["dispatch_core.backends", "dispatch_core.operators"])
def test_an_entry_point_leads_to_a_module(group):
    for value, name in own_entry_points(group).values():
        assert importlib.import_module(value).__name__.startswith(import_name(name))


def test_the_kernels_of_this_project_are_announced():
    assert own_entry_points("dispatch_core.kernels") == {
        "numba": ("dispatch_kernels_numba.provider", "dispatch-kernels-numba")
    }


def test_an_array_type_is_announced_for_a_device_and_exists():
    announced = own_entry_points("dispatch_core.array_types")
    assert {"numpy.ndarray", "dispatch_backend_meta.arrays.MetaArray"} <= set(announced)
    for qualified, (device, _) in announced.items():
        module, _, kind = qualified.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), kind), type)
        assert device in entry_points("dispatch_core.backends")


def test_the_operator_namespaces_are_announced():
    assert {name: value for name, (value, _) in entry_points("dispatch_core.operators").items()} == {
        "aten": "dispatch_aten",
        "prims": "dispatch_aten",
    }


@installed_from_wheels
def test_the_command_is_installed_beside_python(tmp_path):
    program = shutil.which("dispatch", path=str(Path(sys.executable).parent))
    assert program is not None
    # A package of the current folder is none of the command's.
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported from the current folder')")
    for arguments, expected in (
        ("--version", f"dispatch-core {importlib.metadata.version('dispatch-core')}\n"),
        ("", ""),
    ):
        done = subprocess.run(
            [program, *arguments.split()], capture_output=True, check=False, cwd=tmp_path, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(expected or "usage: dispatch [-h] [--version] COMMAND ...")
    done = subprocess.run(
        [program, "verify", "cpu", "--only", "aten::relu", "--json"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fine"] is True


def test_the_command_is_the_cores():
    (entry,) = [each for each in importlib.metadata.entry_points(group="console_scripts") if each.name == "dispatch"]
    assert (entry.value, entry.dist.name) == ("dispatch_devkit.command_line:main", "dispatch-devkit")


def sh_blocks(text: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_readme_opens_with_the_two_commands(root):
    demo, tests, *_ = sh_blocks((root / "README.md").read_text(encoding="utf-8"))
    assert demo.rstrip().endswith("-s demo")
    assert tests.rstrip().endswith("-s tests")
    assert demo.count("\n") == tests.count("\n") == 1


def test_the_readme_is_read_in_three_screens(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    assert text.index("import torchlike") < text.index("-s demo")


def test_ci_runs_the_test_command_of_the_readme(root):
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    (program,) = re.findall(r"awk -v wanted=\"\$1\" '(.*?)' README.md", script)
    printed = subprocess.run(
        ["awk", "-v", "wanted=2", program, "README.md"], capture_output=True, check=True, cwd=root, text=True
    ).stdout
    assert printed == sh_blocks((root / "README.md").read_text(encoding="utf-8"))[1]
    assert "tests=$(readme_block 2)" in script
    assert os.access(root / ".ci" / "run", os.X_OK)
