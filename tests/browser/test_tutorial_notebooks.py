"""The notebooks of the tutorials, executed by a real kernel: each cell shows what the page shows."""

from __future__ import annotations

import doctest
import json
import os
import re
import sys
from pathlib import Path

import pytest
from notebooks import cells, notebook
from page_shell import make_environment, plain

nbformat = pytest.importorskip("nbformat", reason="the notebook tools are not installed: run nox -s browser")
nbclient = pytest.importorskip("nbclient", reason="the notebook tools are not installed: run nox -s browser")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pages' commands are a POSIX shell's")

PAGES = sorted(Path(__file__).parents[2].glob("docs/tutorials/*.md"))
SOURCE = "https://example.org/docs/tutorials"
#: Outputs are compared but for their lines' ends: a cell's command writes to a terminal, and some break long lines there.
MEANING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: The colours of a terminal.
COLOR = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return the name of a kernel in an environment of its own, and the variables to start it with."""
    variables = make_environment(tmp_path / "environment", sys.path)
    folder = tmp_path / "share" / "kernels" / "page"
    folder.mkdir(parents=True)
    start = [str(tmp_path / "environment" / "bin" / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": start, "display_name": "page", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    # The notebook itself puts its environment on the path.
    return "page", {**variables, "PATH": os.environ["PATH"]}


def output_of(cell):
    """Return what a cell has printed and displayed, and the kind and text of its exception."""
    parts, error = [], None
    for output in cell.outputs:
        if output["output_type"] == "stream":
            parts.append(output["text"])
        elif output["output_type"] == "error":
            error = f"{output['ename']}: {output['evalue']}"
        else:
            parts.append(output["data"]["text/plain"])
    return COLOR.sub("", "".join(parts)).replace("\r\n", "\n"), error


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_notebook_of_a_tutorial_shows_what_the_page_shows(page, kernel, tmp_path):
    text = page.read_text(encoding="utf-8")
    found = nbformat.reads(notebook(text, SOURCE), as_version=4)
    nbformat.validate(found)
    folder = tmp_path / "project"
    folder.mkdir()
    name, variables = kernel
    client = nbclient.NotebookClient(
        found, timeout=120, kernel_name=name, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=variables)
    checker = doctest.OutputChecker()
    for cell, ran in zip(cells(text), found.cells, strict=True):
        if cell.kind != "code":
            continue
        output, error = output_of(ran)
        wanted = cell.wanted
        if cell.raises:
            # A page shows an exception's class with its module.
            wanted = re.sub(
                r"^[\w.]*\.(?=\w+: )", "", doctest.DocTestParser().get_examples(f">>> 0\n{wanted}")[0].exc_msg
            )
            output = f"{error}\n"
        elif cell.source.startswith(("%%writefile ", "os.environ[")) or not wanted:
            assert error is None
            continue
        message = f"{page}: {ran.source}\n{output}"
        assert checker.check_output(plain(wanted), plain(output), MEANING), message
