"""Each README as a newcomer follows it: a new environment, its blocks in order, and nothing that it does not name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: That of the array libraries' devices needs these; its own tests run it.
READMES = [
    ROOT / "README.md",
    *sorted(set(ROOT.glob("packages/*/README.md")) - set(ROOT.glob("*/backend-array-api/*"))),
]
#: The commands of continuous integration: these make environments of their own.
BY_NOX = ("-s demo", "-s tests")

pytestmark = [
    pytest.mark.skipif("DISPATCH_TEST_WHEELS" not in os.environ, reason="installs the wheels: run nox -s tests"),
    pytest.mark.skipif(sys.platform == "win32", reason="the README's commands are a POSIX shell's"),
]


def blocks(text: str) -> list[tuple[str, str]]:
    """Return language and text of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path):
    """Run a command in a new environment, where our distributions' names stand for the wheels of this session."""
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    wheels = sorted(Path(os.environ["DISPATCH_TEST_WHEELS"]).glob("*.whl"))
    names = [wheel.name.partition("-")[0].replace("_", "-") for wheel in wheels]
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("".join(f"{name} @ {wheel.as_uri()}\n" for name, wheel in zip(names, wheels, strict=True)))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DISPATCH_"))}
    environment |= {"PATH": os.pathsep.join([str(tmp_path / "venv" / "bin"), os.environ["PATH"]])}
    # Pip's switch for ``compile``: of the libraries only what the blocks import is compiled.
    environment |= {"PIP_NO_COMPILE": "0"}

    def run(*command: str, cwd: Path = tmp_path, **more: str) -> str:
        # Folders of the checkout are no versions of a wheel: a constraint is for names.
        by_name = "./packages/" not in command[-1]
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=environment | ({"PIP_CONSTRAINT": str(constraints)} if by_name else {}) | more,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.parent.name if path.parent != ROOT else "root")
def test_every_block_of_a_readme_runs_where_exactly_what_it_names_is_installed(readme, run, tmp_path):
    found = blocks(readme.read_text(encoding="utf-8"))
    commands = [text for kind, text in found if kind == "sh" and not text.rstrip().endswith(BY_NOX)]
    assert "pip install" in commands[0], "the first command for users installs the package"
    for text in commands:
        if "simulator" in text and not compiler():
            continue  # The README says that the simulator needs one.
        run("bash", "-euo", "pipefail", "-c", text, cwd=ROOT if readme.parent == ROOT else tmp_path)
    run("python", "-m", "doctest", "-o", "ELLIPSIS", str(readme))
    programs = [text for kind, text in found if kind == "python" and ">>>" not in text]
    if readme.parent == ROOT:
        check_the_vendors_part(found, programs, run, tmp_path / "acme")
        return
    for text in programs:
        run("python", "-c", text)


#: The array library that the README's vendor has already.
ACME = """
import numpy as np
from dispatch_aten.dtypes import BY_NAME


class Array:
    def __init__(self, data):
        self.data = np.asarray(data)
        self.shape = self.data.shape
        self.strides = tuple(step // self.data.itemsize for step in self.data.strides)


def scalar_type(array):
    return BY_NAME[str(array.data.dtype)]


def exp(array):
    return Array(np.exp(array.data))


def scaled_add(x, y, *, alpha=1):
    return Array(x.data + alpha * y.data)
"""
USE = """
import acme, numpy
import dispatch_core as dc

ones = acme.Array(numpy.ones(3))
print(dc.ops.aten.exp(dc.ops.aten.add(ones, ones, alpha=-1)).data)
print(dc.ops.aten.sub(ones, ones, alpha=3).data)
"""


def check_the_vendors_part(found, programs, run, site):
    """Make the distribution that the README's TOML and module describe; its kernels serve acme's arrays."""
    (metadata,) = (text for kind, text in found if kind == "toml")
    (module,) = (text for text in programs if "import acme" in text)
    site.mkdir()
    (site / "acme.py").write_text(ACME)
    (site / "acme_dispatch.py").write_text(module)
    folder = site / "acme_dispatch-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dispatch\nVersion: 1.0\n")
    points = metadata.replace("[project.entry-points.", "[").replace('"', "")
    (folder / "entry_points.txt").write_text(points)
    assert run("python", "-c", USE, PYTHONPATH=str(site)).splitlines() == ["[1. 1. 1.]", "[-2. -2. -2.]"]
    assert "acme" in run("python", "-m", "dispatch_core", "list", PYTHONPATH=str(site))
    # Every Python block of the root was run: by doctest, or here.
    assert programs == [module]


def compiler() -> bool:
    """Return whether there is a C compiler."""
    done = subprocess.run(["sh", "-c", "command -v cc gcc clang"], capture_output=True, check=False)
    return bool(done.stdout)
