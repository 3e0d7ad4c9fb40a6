"""The simulator is built by the system's compiler on demand, and found only in an environment that names it."""

import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dispatch_backend_npu.__main__ import main
from dispatch_backend_npu.simulator import NoCompilerError, Simulator, build, compiler
from dispatch_backend_npu.simulator.compilation import SOURCES, default_folder
from dispatch_backend_npu.simulator.coverage import table

pytestmark = pytest.mark.no_pipeline(reason="builds the simulator, and calls no operator")

builder = sys.modules["dispatch_backend_npu.simulator.compilation"]  # the package's own name of it is the function's
PACKAGE = Path(__file__).parents[1]
DOCUMENT = PACKAGE.parents[1] / "docs" / "npu.md"


def run(code, **environment):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_without_a_compiler_the_reason_is_reported(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(NoCompilerError, match="looked for cc, gcc and clang"):
        compiler()
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompilerError, match="looked for CC=no-such-compiler"):
        compiler()
    assert main(["simulator", str(tmp_path / "built")]) == 1
    assert "Hint: install gcc or clang, or set CC." in capsys.readouterr().err


def test_a_compiler_may_come_with_options(monkeypatch):
    monkeypatch.setenv("CC", f"{sys.executable} -m 'a compiler'")
    assert compiler() == [sys.executable, "-m", "a compiler"]


def test_a_compiler_that_fails_is_reported_without_a_traceback(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CC", f"{sys.executable} -c 'import sys; sys.exit(\"no such flag\")'")
    assert main(["simulator", str(tmp_path / "built")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "the simulator did not build" in said.err and said.err.endswith("ended with 1\nno such flag\n\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_reported_without_a_traceback(npu, capsys, tmp_path):
    (tmp_path / "file").touch()
    assert main(["simulator", str(tmp_path / "file" / "built")]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("the simulator cannot be written: ")


@pytest.fixture
def built(monkeypatch, tmp_path):
    """Return a folder that a fake compiler has built, and the files that it has written since."""
    written = []

    def run(command):
        output = Path(command[command.index("-o") + 1])
        output.write_text("built")
        written.append(output.name)

    monkeypatch.setattr(builder, "_run", run)
    monkeypatch.setattr(builder, "compiler", lambda: ["cc"])
    folder = build(tmp_path / "with blank")
    written.clear()
    return folder, written


def test_existing_libraries_are_not_built_again(built, capsys):
    folder, written = built
    assert main(["simulator", str(folder)]) == 0
    assert written == []
    # A shell takes it for one word.
    assert capsys.readouterr().out == f"export ASCEND_HOME_PATH='{folder}'\n"


def test_a_missing_library_is_built_again(built):
    folder, written = built
    (folder / "lib64" / "libopapi.so").unlink()
    assert build(folder) == folder
    assert written == list(builder.LIBRARIES)
    assert (folder / "lib64" / "libopapi.so").read_text() == "built"


def damage(content):
    """Return what a library may look like afterwards."""
    flipped = bytearray(content)
    flipped[len(flipped) // 2] ^= 4
    return [b"", content[: len(content) // 2], bytes(len(content)), b"another library", bytes(flipped), None]


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("name", ["libascendcl.so", "libopapi.so", "libopapi.so.sha256"])
def test_a_library_that_is_not_as_it_was_built_is_built_again(built, caplog, kind, name):
    folder, written = built
    path = folder / "lib64" / name
    wrong = damage(path.read_bytes())[kind]
    path.unlink() if wrong is None else path.write_bytes(wrong)
    caplog.set_level(logging.WARNING, "dispatch_core.caches")
    builder.repair(folder)
    assert written == list(builder.LIBRARIES)
    assert (folder / "lib64" / name.removesuffix(".sha256")).read_text() == "built"
    (line,) = [record.getMessage() for record in caplog.records] or [f"{folder}/lib64/{name} was deleted"]
    assert str(path).removesuffix(".sha256") in line
    builder.repair(folder)
    assert written == list(builder.LIBRARIES)


@pytest.mark.parametrize("compiler", ["no-such-compiler", pytest.param("cc", marks=pytest.mark.long)])
def test_a_damaged_library_is_never_loaded(npu, tmp_path, compiler):
    if npu is None:
        pytest.skip("needs the simulator")
    code = (
        "import torchlike, dispatch_backend_npu as n; n.is_available() or exit(n.unavailable_reason());"
        " print(torchlike.ones(3, device='npu').add(1).tolist())"
    )
    folder = shutil.copytree(npu, tmp_path / "copy")
    path = folder / "lib64" / "libnnopbase.so"  # the others load it by themselves
    path.write_bytes(damage(path.read_bytes())[4])
    found = run(code, ASCEND_HOME_PATH=str(folder), CC=compiler)
    if compiler == "cc":
        assert found.stdout == "[2.0, 2.0, 2.0]\n", found.stderr
        assert path.read_bytes() == (npu / "lib64" / path.name).read_bytes()
    else:
        assert "is damaged, and the simulator is built with a C compiler, and there is none" in found.stderr
        assert found.returncode == 1 and not path.exists()


def test_a_simulator_of_other_sources_is_replaced(built):
    folder, written = built
    stamp = (folder / "simulator.txt").read_text()
    (folder / "simulator.txt").write_text("another version")
    build(folder)
    assert written == list(builder.LIBRARIES)
    assert (folder / "simulator.txt").read_text() == stamp


def test_the_users_cache_is_absolute(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert default_folder().parent == tmp_path / ".cache" / "dispatch" / "npu"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    assert default_folder().parent == tmp_path / "there" / "dispatch" / "npu"
    monkeypatch.setenv("DISPATCH_CACHE_DIR", str(tmp_path / "ours"))
    assert default_folder().parent == tmp_path / "ours" / "npu"


def test_the_command_prints_the_environment(npu, capsys):
    if npu is None:
        pytest.skip("needs the simulator")
    assert main(["simulator", str(npu)]) == 0
    assert capsys.readouterr().out == f"export ASCEND_HOME_PATH={npu}\n"
    libraries = ["libascendcl.so", "libhccl.so", "libnnopbase.so", "libopapi.so"]
    assert sorted(path.name for path in (npu / "lib64").glob("*.so")) == libraries
    assert sorted(path.stem for path in (npu / "lib64").glob("*.sha256")) == libraries


def test_it_is_not_found_by_accident(npu, tmp_path):
    if npu is None:
        pytest.skip("needs the simulator")
    code = "import dispatch_backend_npu as n; print(n.is_available(), n.device_name() if n.is_available() else None)"
    homes = dict.fromkeys(("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "CANN_INSTALL_DIR", "LD_LIBRARY_PATH"), "")
    # Where it was built makes no difference: not even in the working folder or the user's cache.
    cache = tmp_path / "dispatch" / "npu"
    cache.mkdir(parents=True)
    (cache / default_folder().name).symlink_to(npu)
    assert run(code, **homes, XDG_CACHE_HOME=str(tmp_path), HOME=str(tmp_path)).stdout == "False None\n"
    found = run(code, **{**homes, "ASCEND_HOME_PATH": str(npu), "DISPATCH_NPU_SIMULATE": "910B"})
    assert found.stdout == "True Ascend910B1 (simulator)\n", found.stderr


def test_other_libraries_are_no_simulator(tmp_path):
    with pytest.raises(RuntimeError, match="is no simulator"):
        Simulator(tmp_path)


def test_a_simulator_of_another_version_is_refused(simulator, tmp_path):
    shutil.copytree(simulator.folder, tmp_path / "older")
    (tmp_path / "older" / "simulator.txt").write_text("another version")
    with pytest.raises(RuntimeError, match="was built by another version of this package"):
        Simulator(tmp_path / "older")


def test_processes_that_use_nothing_of_it_need_nothing_of_it():
    code = "import sys, dispatch_backend_npu.plugin; print([m for m in sys.modules if 'npu.simulator' in m])"
    assert run(code).stdout == "[]\n"


def test_sources_name_their_library():
    for path in SOURCES.iterdir():
        assert path.suffix in {".c", ".h"}
        assert path.read_text().startswith("/* "), path


def test_every_refusal_says_which_fact_it_follows():
    refusals = 0
    for path in SOURCES.glob("*.c"):
        for function in re.split(r"\n\n", path.read_text()):
            before, *rest = re.split(r"REFUSE\(|(?<!int )aclsim_error\(", function)
            refusals += len(rest)
            assert not rest or "/*" in before, f"{path.name}: {function}"
    assert refusals > 50


def test_the_documents_table_is_that_of_the_functions():
    if not DOCUMENT.is_file():
        pytest.skip("an installed package has no documents beside it")
    assert table() in DOCUMENT.read_text(), "write it again: python -m dispatch_backend_npu functions"
