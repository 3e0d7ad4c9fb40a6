"""The tutorials' notebooks have everything that the pages have, in their order; ``nox -s browser`` executes them."""

from __future__ import annotations

import ast
import doctest
import json
import re
from pathlib import Path

import pytest
from notebooks import add_link, cells, notebook, pages
from page_blocks import BEFORE, blocks, commands

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/guides/*.md")])
PAGES = [path.read_text(encoding="utf-8") for path in FILES]
each_page = pytest.mark.parametrize("text", PAGES, ids=lambda text: text.partition("\n")[0].removeprefix("# "))


def code(text):
    return [cell for cell in cells(text) if cell.kind == "code"]


@each_page
def test_a_notebook_has_the_sessions_of_its_page_and_their_outputs(text):
    examples = [example for block in blocks(text) for example in doctest.DocTestParser().get_examples(block.text)]
    sources = "\n".join(cell.source for cell in code(text))
    at = 0
    for example in examples:
        found = sources.find(example.source.strip(), at)
        assert found >= at, example.source
        at = found
    outputs = [cell.wanted for cell in code(text) if not cell.source.startswith(("!", "%%bash"))]
    assert [output for output in outputs if output] == [example.want for example in examples if example.want]


@each_page
def test_a_notebook_has_the_commands_files_and_changes_of_its_page(text):
    for block in blocks(text):
        if block.language == "console":
            for command, output in commands(block):
                if command.startswith(BEFORE):
                    assert any(cell.kind == "markdown" and f"$ {command}" in cell.source for cell in cells(text))
                elif not command.startswith(("cd ", "export ")):
                    plain = command.strip().replace("$", "$$").replace("{", "{{").replace("}", "}}")
                    assert any(plain in cell.source and cell.wanted == output for cell in code(text)), command
        elif block.title:
            start = "change_file(" if block.language == "diff" else f"%%writefile {block.title}"
            assert [cell for cell in code(text) if cell.source.startswith(start) and block.text.strip() in cell.source]


@each_page
def test_a_notebook_has_the_prose_of_its_page(text):
    prose = "\n".join(cell.source for cell in cells(text) if cell.kind == "markdown")
    ran = [(block.start, block.end) for block in blocks(text) if block.language not in {"text", "mermaid"}]
    for line in re.finditer(r"^(?!<!--).*\S.*$", text, re.MULTILINE):
        if not any(start <= line.start() < end for start, end in ran):
            assert line[0].strip() in prose


@each_page
def test_a_notebook_is_json_whose_links_lead_to_the_project(text):
    found = json.loads(notebook(text, "https://example.org/a/docs/tutorials"))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in found["cells"]}) == len(found["cells"])
    for cell in found["cells"]:
        if cell["cell_type"] == "markdown":
            for link in re.findall(r"\]\(([^()\s]+)\)", cell["source"]):
                assert link.startswith(("#", "https://")), link
                assert "/../" not in link
        elif not re.match(r"[!%]", cell["source"]):
            ast.parse(cell["source"])


def test_a_file_that_is_changed_is_changed_by_the_first_cell_of_code(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("one\n\n  two\nthree\n")
    monkeypatch.chdir(tmp_path)
    text = '# A page\n\nBegin.\n\n```diff title="a.py"\n one\n\n-  two\n+  zwei\n three\n```\n\nEnd.\n'
    assert [cell.kind for cell in cells(text)] == ["markdown", "code", "code", "markdown"]
    names = {}
    for cell in code(text):
        exec(cell.source, names)
    assert (tmp_path / "a.py").read_text() == "one\n\n  zwei\nthree\n"
    with pytest.raises(ValueError, match="stand there 0 times"):
        exec(code(text)[-1].source, names)


def test_the_notebooks_of_the_site_are_the_tutorials_and_each_is_linked():
    names = {path.stem for path in ROOT.glob("docs/tutorials/*.md")}
    assert pages(ROOT).keys() == {f"tutorials/{name}.ipynb" for name in names}
    assert "\n\n[Download this page as a notebook](use.ipynb)" in add_link("# Title\n\nText.\n", "tutorials/use.md")
    assert add_link("# Title\n\nText.\n", "guides/use.md") == "# Title\n\nText.\n"
