"""Tutorials and guides, followed to the letter: their files are written, and their commands run in order in one folder.

A block ``python title="train.py"`` is a file, and ``diff title="train.py"`` changes it; a block ``console`` has commands
after ``$`` and their output, in which ``...`` stands for any text; pytest itself runs blocks with ``>>>``, as doctests.
``<!-- fails -->`` above a block says that its last command ends with an error, and ``<!-- needs: NAME -->`` names a module,
a command or a platform without which the page is skipped.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([*DOCS.glob("tutorials/*.md"), *DOCS.glob("guides/*.md")])
FENCE = re.compile(r'(<!-- fails -->\n)?^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
#: Languages of blocks that nothing runs.
SHOWN = {"text", "mermaid"}
#: The commands that make an environment, enter it and install the packages from a clone: the fixture has done so.
BEFORE = ("python -m venv ", "source ", "python -m pip install -r requirements/")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that it stands for, its text and line, and whether its last command fails."""

    language: str
    title: str
    text: str
    line: int
    fails: bool


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[2], found[3] or "", found[4], text.count("\n", 0, found.start()) + 1, found[1] is not None)
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a ``console`` block, each with its output; lines after ``>`` go on with a command."""
    parts = re.findall(r"^\$ (.+\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE)
    return [(re.sub(r"^> ", "", command, flags=re.MULTILINE), output) for command, output in parts]


@pytest.fixture
def shell(tmp_path):
    """Run commands in an empty folder; they see what is installed here, and install into an environment of their own."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    site = sysconfig.get_path("purelib", "venv", vars={"base": str(environment)})
    shared = [path for path in sys.path if path.endswith("-packages")]
    # Not only their modules: editable installations are lines of files beside them.
    Path(site, "shared.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in shared))
    for script in metadata.entry_points(group="console_scripts"):
        path = environment / "bin" / script.name
        module, _, function = script.value.partition(":")
        if function.isidentifier() and not path.exists():
            lines = ["import sys", f"from {module} import {function}", f"sys.exit({function}())"]
            path.write_text("\n".join([f"#!{environment}/bin/python", *lines, ""]))
            path.chmod(0o755)
    variables = {
        name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "DISPATCH_", "PIP_"))
    }
    variables |= {
        "PATH": os.pathsep.join([str(environment / "bin"), os.environ["PATH"]]),
        "OMP_NUM_THREADS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say: without
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_QUIET": "1",
    }
    folder, state, where = tmp_path / "project", tmp_path / "state", tmp_path / "where"
    folder.mkdir()
    state.touch()

    def run(command: str) -> tuple[int, str]:
        nonlocal folder
        # A page's commands are typed into one shell: the next one has this one's folder and variables.
        done = subprocess.run(
            ["bash", "-c", f"source {state}\ntrap 'pwd >{where}; export -p >{state}' EXIT\n{command}"],
            check=False,
            cwd=folder,
            env=variables,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
        )
        folder = Path(where.read_text().strip())
        return done.returncode, done.stdout

    def write(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")

    def change(name: str, lines: str) -> None:
        path = folder / name
        before = path.read_text(encoding="utf-8")
        old, new = (
            re.sub(rf"^(?:[{gone}].*\n|[ {kept}])", "", lines, flags=re.MULTILINE) for gone, kept in ("+-", "-+")
        )
        assert before.count(old) == 1, f"{name} has not once\n{old}"
        path.write_text(before.replace(old, new), encoding="utf-8")

    run.write, run.change = write, change
    return run


def plain(text: str) -> str:
    """Return a text without blanks at the ends of its lines, and without the lines that tell slow machines' progress."""
    lines = (line.rstrip() for line in text.rstrip().splitlines())
    return "".join(f"{line}\n" for line in lines if not re.match(r" *\d+ %  \d+ of \d+ checks", line))


@pytest.mark.skipif(sys.platform == "win32", reason="the pages' commands are a POSIX shell's")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_a_page_followed_to_the_letter_shows_what_it_says(page, shell):
    for needed in re.findall(r"<!-- needs: (\w+) -->", page.read_text(encoding="utf-8")):
        if needed != sys.platform and find_spec(needed) is None and shutil.which(needed) is None:
            pytest.skip(f"the page needs {needed}, which is not here")
    for block in blocks(page):
        if block.language == "console":
            run_commands(page, block, shell)
        elif block.language == "diff":
            shell.change(block.title, block.text)
        elif block.title:
            shell.write(block.title, block.text)


def run_commands(page, block, shell):
    checker = doctest.OutputChecker()
    pairs = commands(block)
    assert pairs, f"{page}:{block.line}: no command"
    for number, (command, wanted) in enumerate(pairs, 1):
        if command.startswith(BEFORE):
            continue
        code, found = shell(command)
        at = f"{page}:{block.line}: {command}{found}"
        assert (code != 0) == (block.fails and number == len(pairs)), at
        assert "does not provide the extra" not in found, at
        if wanted.strip() or block.fails:
            example = doctest.Example(command, plain(wanted))
            assert checker.check_output(example.want, plain(found), doctest.ELLIPSIS), (
                f"{page}:{block.line}: {command}"
                + checker.output_difference(example, plain(found), doctest.ELLIPSIS | doctest.REPORT_NDIFF)
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_no_block_of_a_page_is_left_out(page):
    left_out = [
        f"{page}:{block.line}: {block.language}"
        for block in blocks(page)
        if block.language not in SHOWN | {"console"} and not block.title and ">>>" not in block.text
    ]
    assert left_out == []
    assert len(blocks(page)) * 2 == len(re.findall(r"^```", page.read_text(encoding="utf-8"), re.MULTILINE))
