"""A notebook that is executed by a real kernel, and its export in a real browser."""

from __future__ import annotations

import textwrap

import pytest
from browser_cells import CELLS

nbformat = pytest.importorskip("nbformat", reason="the notebook tools are not installed: run nox -s browser")
nbclient = pytest.importorskip("nbclient", reason="the notebook tools are not installed: run nox -s browser")
nbconvert = pytest.importorskip("nbconvert", reason="the notebook tools are not installed: run nox -s browser")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Return a notebook whose cells have shown each kind of object."""
    cells = [nbformat.v4.new_code_cell(textwrap.dedent(source).strip(), id=name) for name, source in CELLS.items()]
    found = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    folder = tmp_path_factory.mktemp("notebook")
    nbclient.NotebookClient(found, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return found


def test_every_cell_shows_html_and_no_error(notebook):
    for cell in notebook.cells[1:]:
        kinds = [output["output_type"] for output in cell.outputs]
        assert "error" not in kinds
        assert "stderr" not in [output.get("name") for output in cell.outputs]
        shown = [output for output in cell.outputs if output["output_type"] == "execute_result"]
        assert len(shown) == 1, cell.id
        assert "dispatch-view" in shown[0]["data"]["text/html"], cell.id
        assert shown[0]["data"]["text/plain"], cell.id


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_exported_notebook_is_readable(visit, notebook, tmp_path, pictures, width, scheme):
    # The addresses of libraries for formulas and widgets, which no cell here has, are left out.
    exporter = nbconvert.HTMLExporter(
        theme=scheme, mathjax_url="", require_js_url="", jquery_url="", mermaid_js_url="", widget_renderer_url=""
    )
    body, _ = exporter.from_notebook_node(notebook)
    page = tmp_path / "notebook.html"
    page.write_text(body, encoding="utf-8")
    picture = None if pictures is None else pictures / f"notebook-{scheme}-{width}.png"
    # The cells' code is laid out by the exporter.
    assert visit(page.as_uri(), width, scheme, contrast=True, within=".dispatch-view", picture=picture) == []
