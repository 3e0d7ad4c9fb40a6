"""The example over OpenCL, as text: its size, and the names that it takes. The session ``opencl`` runs it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from test_vendor_backend import documented_names, names_used

PACKAGE = Path(__file__).parents[1] / "examples" / "opencl_backend" / "src" / "opencl_backend"


def test_the_example_takes_documented_names_only():
    allowed = {(module, name) for module, names in documented_names().items() for name in names}
    taken = {name for path in PACKAGE.glob("*.py") for name in names_used(path)}
    assert ("dispatch_core", "DeviceInterface") in taken
    assert taken <= allowed


def test_the_example_fits_into_900_lines_of_code():
    """Statements are counted, one a line; blank lines, comments and docstrings are not."""
    code = "\n".join(ast.unparse(ast.parse(path.read_text(encoding="utf-8"))) for path in PACKAGE.glob("*.py"))
    code = re.sub(r'^ *"""[\s\S]*?"""$', "", code, flags=re.MULTILINE)
    assert len([line for line in code.splitlines() if line.strip()]) <= 900


def test_the_readme_names_every_module():
    text = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in PACKAGE.glob("[!_]*.py")} == set(re.findall(r"`(\w+\.py)`", text))
