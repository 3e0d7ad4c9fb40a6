"""Tutorials and guides, followed to the letter: their files are written, and their commands run in order in one folder.

``tools/site/page_blocks.py`` tells the kinds of blocks; pytest itself runs those with ``>>>``, as doctests.
A page is skipped where something is missing that it says it needs (``page_needs.py``). With ``DISPATCH_TEST_EXTRAS`` it is
followed in an empty environment, where its own commands install from this checkout, and its sessions run there, too.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import page_needs
import pytest
from page_blocks import BEFORE, blocks, change_file, commands
from page_shell import make_empty_environment, make_environment, plain

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ALONE = "DISPATCH_TEST_EXTRAS" in os.environ
PAGES = sorted([*DOCS.glob("tutorials/*.md"), *DOCS.glob("guides/*.md")])
#: Languages of blocks that nothing runs.
SHOWN = {"text", "mermaid"}


@pytest.fixture
def shell(tmp_path):
    """Run commands in an empty folder; they see what is installed here, and install into an environment of their own."""
    environment = tmp_path / "environment"
    variables = make_empty_environment(environment) if ALONE else make_environment(environment, sys.path)
    folder, state, where = tmp_path / "project", tmp_path / "state", tmp_path / "where"
    folder.mkdir()
    state.touch()
    # A worker that is told to drop an array while it computes it logs that, or not: who is first is chance.
    variables["DASK_LOGGING__DISTRIBUTED"] = "error"

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
            timeout=600 if ALONE else 120,
        )
        folder = Path(where.read_text().strip())
        return done.returncode, done.stdout

    def write(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")

    def change(name: str, lines: str) -> None:
        change_file(folder / name, lines)

    run.write, run.change = write, change
    return run


@pytest.mark.skipif(sys.platform == "win32", reason="the pages' commands are a POSIX shell's")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_a_page_followed_to_the_letter_shows_what_it_says(page, shell):
    text = page.read_text(encoding="utf-8")
    if absent := page_needs.missing(text, alone=ALONE):
        pytest.skip(f"the page needs {absent}, which is not here")
    for block in blocks(text):
        if block.language == "console":
            run_commands(page, block, shell)
        elif block.language == "diff":
            shell.change(block.title, block.text)
        elif block.title:
            shell.write(block.title, block.text)
    if ALONE and ">>>" in text:
        code, found = shell(f"python -m doctest -o ELLIPSIS {page}")
        assert code == 0, found


def run_commands(page, block, shell):
    checker = doctest.OutputChecker()
    pairs = commands(block)
    assert pairs, f"{page}:{block.line}: no command"
    for number, (command, wanted) in enumerate(pairs, 1):
        if command.startswith(BEFORE):
            if ALONE and "pip install" in command:
                code, found = shell(f"(cd {ROOT} && {command})")
                assert code == 0, found
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
def test_a_page_says_what_has_to_be_installed_before_anything_runs(page):
    text = page.read_text(encoding="utf-8")
    first = page_needs.INSTALL.search(text)
    assert first, "no line installs anything"
    assert ">>>" not in text[: first.start()]
    assert 'title="' not in text[: first.start()]
    assert page_needs.installs(text)
    assert "<!-- needs" not in text
    if page.parent.name == "guides":
        assert page_needs.SENTENCE.search(text)


def test_what_a_page_needs_is_read_from_its_lines():
    lines = "$ python -m pip install -r https://example.org/v1/cpu.txt\n$ python -m pip install einops 'jax[cuda12]'\n"
    names = [str(each) for each in page_needs.installs(lines)]
    assert {"dispatch-backend-cpu", "dispatch-frontend-torchlike[cpu]", "einops", "jax[cuda12]"} <= {*names}
    assert page_needs.missing(lines.replace("einops 'jax[cuda12]'", "no-such-thing")) == "no-such-thing"
    assert page_needs.missing(lines.replace("einops 'jax[cuda12]'", "pytest")) is None
    sentence = "**This page needs** a C compiler, in a virtual environment:\n\n"
    assert page_needs.missing(sentence) == (None if page_needs.BESIDE_PIP["a C compiler"] else "a C compiler")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_no_block_of_a_page_is_left_out(page):
    text = page.read_text(encoding="utf-8")
    left_out = [
        f"{page}:{block.line}: {block.language}"
        for block in blocks(text)
        if block.language not in SHOWN | {"console"} and not block.title and ">>>" not in block.text
    ]
    assert left_out == []
    assert len(blocks(text)) * 2 == len(re.findall(r"^```", text, re.MULTILINE))
