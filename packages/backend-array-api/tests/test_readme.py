"""The README's blocks: its program, and its vendor's device for a library of a made-up name."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import array_api_strict
import pytest

README = Path(__file__).parents[1] / "README.md"
USE = """
import acme, torchlike
import dispatch_core as dc
x = torchlike.arange(6.0, device="acme").reshape(2, 3).requires_grad_()
(x.T @ x).relu().sum().backward()
print(x.grad.tolist(), type(x.grad._dispatch_data).__module__)
print(dc.device(dc.ops.aten.exp(acme.zeros(2))))
"""


@pytest.fixture(scope="module")
def found():
    return re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_program_runs(found):
    program, module = (text for kind, text in found if kind == "python")
    assert "import acme" in module
    assert run_python(program + "print(type(layer.weight.grad._dispatch_data).__name__)") == ["ArrayImpl"]


def test_the_module_and_the_entry_points_make_a_device_of_a_library(found, tmp_path):
    (points,) = (text for kind, text in found if kind == "toml")
    (module,) = (text for kind, text in found if kind == "python" and "import acme" in text)
    acme = tmp_path / "acme"
    shutil.copytree(Path(array_api_strict.__file__).parent, acme, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    for path in acme.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("array_api_strict", "acme"), encoding="utf-8")
    with (acme / "__init__.py").open("a", encoding="utf-8") as init:
        init.write("from ._array_object import Array\n")
    (tmp_path / "acme_dispatch.py").write_text(module)
    folder = tmp_path / "acme_dispatch-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dispatch\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(points.replace("[project.entry-points.", "[").replace('"', ""))
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert run_python(USE, PYTHONPATH=path) == ["[[6.0, 6.0, 6.0], [24.0, 24.0, 24.0]] acme._array_object", "acme"]
