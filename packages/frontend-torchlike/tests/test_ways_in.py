"""The ways by which torchlike stands in for torch: the call, the notebook's extension, pytest's plugin."""

import os
import subprocess
import sys

import pytest

import torchlike


def run(*arguments, cwd=None):
    environment = {name: value for name, value in os.environ.items() if name != "TORCHLIKE_AS_TORCH"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("line", ["torchlike.install_as_torch()", "torchlike.load_ipython_extension(None)"])
def test_a_first_line_lets_torchlike_stand_in(line):
    ended = run(
        "-c",
        f"import torchlike; {line}; {line}; import torch.nn as nn, torch; print(torch.ones(1), nn is torchlike.nn)",
    )
    assert ended.stdout == "tensor([1.]) True\n", ended.stderr


@pytest.mark.parametrize("before", ["import torch; ", "import torch.nn; "])
def test_after_torch_itself_it_is_an_error_that_names_it(tmp_path, before):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").touch()
    (tmp_path / "torch/nn.py").touch()
    ended = run("-c", before + "import torchlike; torchlike.install_as_torch()", cwd=tmp_path)
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: torch is imported already in this process, from ") and str(tmp_path) in last


def test_a_notebook_loads_it_as_an_extension():
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed: run nox -s browser")
    assert shell
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "torchlike")
shell.run_cell("import torch; print(torch.ones(1))")
"""
    assert "tensor([1.])" in run("-c", code).stdout


TESTS = """
import torch

def test_one():
    assert torch.ones(2).sum() == 2 and hasattr(torch, "install_as_torch")

def test_missing():
    assert not hasattr(torch, "no_such_name")
"""


def test_a_suite_of_tests_runs_on_it(tmp_path):
    (tmp_path / "test_program.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("from torch import nn\n")
    ended = run(
        "-m", "pytest", "-p", "torchlike.as_torch", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", str(tmp_path)
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "2 passed" in ended.stdout and "torch.no_such_name" in ended.stdout


def test_a_plugin_that_has_imported_torch_is_an_error_of_usage(tmp_path):
    (tmp_path / "torch.py").touch()
    (tmp_path / "early.py").write_text("import torch\n")
    ended = run("-m", "pytest", "-p", "early", "-p", "torchlike.as_torch", str(tmp_path), cwd=tmp_path)
    assert ended.returncode == 4 and "ERROR: -p torchlike.as_torch: torch is imported already" in ended.stderr


def test_importing_the_plugin_changes_nothing():
    ended = run(
        "-c", "import torchlike.as_torch, sys; print([type(each).__name__ for each in sys.meta_path].count('Finder'))"
    )
    assert ended.stdout == "0\n"
    assert "install_as_torch" in dir(torchlike)
