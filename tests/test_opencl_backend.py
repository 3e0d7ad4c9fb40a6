"""The example over OpenCL, as text: its size, and the names that it takes. The session ``opencl`` runs it."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

from test_vendor_backend import documented_names, names_used

PACKAGE = Path(__file__).parents[1] / "examples" / "opencl_backend" / "src" / "opencl_backend"


def test_the_example_takes_documented_names_only():
    allowed = {(module, name) for module, names in documented_names().items() for name in names}
    taken = {name for path in PACKAGE.glob("*.py") for name in names_used(path)}
    assert ("dispatch_core", "DeviceInterface") in taken
    assert taken <= allowed


def code_lines(text):
    """Return the numbers of the lines with code: blank lines, comments and docstrings are left out."""
    aside = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type not in aside]
    lines = {line for each in tokens for line in range(each.start[0], each.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            lines -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    return lines


def test_lines_of_code_are_those_that_do_something():
    text = '"""Say.\n\nMore.\n"""\n\n# note\nx = """\n\n"""  # note\n\n\ndef f(\n    a,\n):\n    """Say."""\n    return a\n'
    assert code_lines(text) == {7, 8, 9, 12, 13, 14, 16}


def test_the_example_fits_into_900_lines_of_code():
    assert 0 < sum(len(code_lines(path.read_text(encoding="utf-8"))) for path in PACKAGE.glob("*.py")) <= 900


def test_the_readme_names_every_module():
    text = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in PACKAGE.glob("[!_]*.py")} == set(re.findall(r"`(\w+\.py)`", text))
