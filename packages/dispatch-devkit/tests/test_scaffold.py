"""The package that ``new-backend`` writes: its files, the names it refuses. `tests/test_vendor_backend.py` installs it."""

import compileall
import tomllib
from pathlib import Path

import pytest

import dispatch_core as dc
import dispatch_devkit
from dispatch_core.__main__ import main
from dispatch_devkit.scaffold import PARTS, SORTS, new_backend, templates


@pytest.mark.parametrize("sort", SORTS)
def test_a_package_has_every_part_and_the_devices_name_alone(sort, tmp_path):
    project = new_backend("gale", tmp_path, sort=sort)
    found = sorted(path.relative_to(project.folder).as_posix() for path in project.folder.rglob("*") if path.is_file())
    assert found == list(project.files)
    assert {".github/workflows/test.yml", ".gitignore", "LICENSE", "README.md", "tests/test_gale.py"} < {*found}
    for name in found:
        text = (project.folder / name).read_text(encoding="utf-8")
        assert "acme" not in text.lower()
        assert all(line == line.rstrip() and len(line) <= 125 for line in text.splitlines() if not line.startswith("|"))
    assert compileall.compile_dir(project.folder, quiet=2)
    assert [path.name for path in tmp_path.iterdir()] == ["gale-backend"]
    configured = tomllib.loads((project.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    plugin = "gale_backend.plugin:backend" if sort == "array-api" else "gale_backend.plugin"
    assert configured["entry-points"]["dispatch_core.backends"] == {"gale": plugin}
    minor = ".".join(dc.__version__.split(".")[:2])
    assert any(line.startswith(f"dispatch-core>={minor},<") for line in configured["dependencies"])


def test_every_template_is_part_of_a_package():
    folder = Path(dispatch_devkit.__file__).parent / "templates"
    stored = {path for path in folder.rglob("*") if path.is_file()}
    assert {path.suffix for path in stored} == {".template"}
    assert {path.name for path in folder.iterdir()} == {
        "common",
        "interface",
        *(sort.replace("-", "_") for sort in SORTS),
    }
    assert len(stored) >= max(len(templates(sort)) for sort in SORTS)


@pytest.mark.parametrize("groups", [*([each] for each in PARTS), [*PARTS]], ids="-".join)
def test_a_package_has_the_parts_of_an_interface_that_were_asked_for(groups, tmp_path, run_python):
    project = new_backend("gale", tmp_path, sort="immutable", interface=groups)
    assert "src/gale_backend/interface.py" in project.files
    configured = tomllib.loads((project.folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert configured["entry-points"]["dispatch_core.accelerators"] == {"gale": "gale"}
    program = (
        "from gale_backend.interface import INTERFACE; from gale_backend import plugin;"
        " assert plugin.dispatch_device_interface() is INTERFACE; print(INTERFACE)"
    )
    done = run_python("-c", program, site=[project.folder / "src"])
    parts = {part for group in groups for part in PARTS[group]}
    assert set(done.stdout.strip().removeprefix("DeviceInterface(").rstrip(")").split(", ")) == parts, done.stderr


def test_parts_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(dc.ArgumentError, match=r"no part is named 'fans'\nHint: the parts are devices, streams"):
        new_backend("gale", tmp_path, interface=["fans"])
    with pytest.raises(dc.ArgumentError, match="the plugin of a library's arrays is made whole"):
        new_backend("gale", tmp_path, sort="array-api", interface=["memory"])


REFUSED = {
    "Gale": "'Gale' is not a name for a new device",
    "my-device": "is not a name for a new device",
    "9lives": "is not a name for a new device",
    "_hidden": "is not a name for a new device",
    "zéphyr": "is not a name for a new device",
    "z" * 41: "is not a name for a new device",
    "": "'' is not a name for a new device",
    "lambda": "'lambda' is a keyword of Python",
    "match": "'match' is a keyword of Python",
    "array": "'array' is a module of Python's own",
    "cpu": "the device name 'cpu' belongs to dispatch-backend-cpu",
    "meta": "the device name 'meta' belongs to dispatch-backend-meta",
    "npu": "the device name 'npu' belongs to dispatch-backend-npu",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_cannot_be_had_is_refused_and_nothing_written(name, tmp_path, capsys):
    assert main(["new-backend", name, "--directory", str(tmp_path)]) == 2
    assert REFUSED[name] in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == []


def test_names_of_installed_distributions_are_refused(install, run_python, tmp_path):
    site = install("gale-backend", "2.0")
    other = install("other", backends={"breeze": "other_plugin"}, to="other")
    for name, text in (
        ("gale", "the distribution gale-backend 2.0 is"),
        ("breeze", "'breeze' is that of other 1.0"),
    ):
        done = run_python("-m", "dispatch_core", "new-backend", name, site=[site, other])
        assert (done.returncode, text in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("declared", ["gale", "gale.core.Array"])
def test_a_library_whose_arrays_have_a_device_is_refused(declared, install, run_python, tmp_path):
    site = install("other", backends={"breeze": "other_plugin"}, array_types={declared: "breeze"})
    for name, sort, refused in (
        ("gale", "--array-api", True),
        ("gal", "--array-api", False),
        ("gale", "--immutable", False),
    ):
        done = run_python("-m", "dispatch_core", "new-backend", name, sort, "--directory", str(tmp_path), site=[site])
        assert done.returncode == (2 if refused else 0), done.stderr
        text = f"the arrays of gale belong to the device 'breeze': other 1.0 declares '{declared}' for it"
        assert (text in done.stderr) == refused


def test_a_folder_that_is_there_is_left_alone(tmp_path, capsys):
    (tmp_path / "gale-backend").mkdir()
    assert main(["new-backend", "gale", "--directory", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'gale-backend'} is there already\n"
    assert main(["new-backend", "gale", "--directory", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'nowhere'} is not a folder\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["gale-backend"]
    with pytest.raises(
        dc.ArgumentError, match="no sort of backend is named 'sparse'\nHint: choose one of strided, imm"
    ):
        new_backend("gale", tmp_path, sort="sparse")


def test_a_package_that_cannot_be_written_whole_leaves_nothing(tmp_path, monkeypatch):
    written = []

    def write(path, text, encoding, newline):
        written.append(path)
        if len(written) == 3:
            raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_text", write)
    with pytest.raises(OSError, match="no space left"):
        new_backend("gale", tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("sort", SORTS)
def test_the_command_names_the_folder_and_the_next_steps(sort, tmp_path, capsys):
    assert (
        main(["new-backend", "gale", "--directory", str(tmp_path), *([] if sort == "strided" else [f"--{sort}"])]) == 0
    )
    printed = capsys.readouterr().out
    assert printed.startswith(f"{tmp_path / 'gale-backend'}: the device 'gale', with {SORTS[sort]}\n")
    assert "\nNext steps:\n" in printed
    assert "python -m dispatch_core verify gale" in printed
    assert (tmp_path / "gale-backend" / "pyproject.toml").is_file()
