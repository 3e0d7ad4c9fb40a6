"""The site's tools: faults of built pages are found, and files of the repository that are linked have pages."""

from __future__ import annotations

import importlib.util
import json
import re
from xml.etree import ElementTree as ET

import pytest

from dispatch_core.surroundings import distributions

pytestmark = pytest.mark.texts

GOOD = '<link rel="stylesheet" href="s.css"><h1 id="top">x</h1><img src="a.svg" alt="two boxes"><a href="b/c.html#end">c</a>'
OTHER = '<p id="end"></p><a href="../index.html">home</a><a href="#end">here</a><a href="https://example.org/">out</a>'

#: Constants of the core: the groups of entry points that it reads.
GROUPS = ["ARRAY_TYPES", "BACKENDS", "FRONTENDS", "KERNELS", "OPERATORS", "TOOLS"]


@pytest.fixture(scope="module")
def tool(root):
    """Return a function that imports a module of the site's tools."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, root / "tools" / "site" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def site(tmp_path):
    """Return the folder of a small site without faults."""
    (tmp_path / "b").mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "b" / "c.html").write_text(OTHER)
    (tmp_path / "s.css").write_text("a { background: url(a.svg) }")
    (tmp_path / "a.svg").write_text('<svg><g id="one"/><use href="#one"/></svg>')
    return tmp_path


def test_a_sound_site_has_no_faults(tool, site):
    assert list(tool("html_check").find_faults(site)) == []


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        (
            "d.html",
            '<script src="https://cdn.example.org/x.js"></script>',
            "asks another host for https://cdn.example.org/x.js",
        ),
        ("d.html", '<script src="//cdn.example.org/x.js"></script>', "asks another host for //cdn.example.org/x.js"),
        ("d.html", '<link rel="preconnect" href="https://fonts.example.org">', "asks another host"),
        ("d.html", '<img src="a.svg" srcset="a.svg 1x, https://example.org/b.png 2x" alt="x">', "asks another host"),
        ("d.html", "<style>@import 'https://example.org/f.css';</style>", "asks another host"),
        ("d.html", '<p style="background: url(http://example.org/p.png)">', "asks another host"),
        ("d.html", '<img src="a.svg">', "picture without a text"),
        ("d.html", '<img src="a.svg" alt=" ">', "picture without a text"),
        ("d.html", '<img src="/a.svg" alt="x">', "loads /a.svg by an absolute path"),
        ("d.html", '<img src="gone.svg" alt="x">', "loads gone.svg, which is not there"),
        ("d.html", '<a href="gone.html">x</a>', "leads to gone.html, which is not there"),
        ("d.html", '<a href="../index.html">x</a>', "leads to ../index.html, which is not there"),
        ("d.html", '<a href="/index.html">x</a>', "leads to /index.html by an absolute path"),
        ("d.html", '<a href="b/c.html#gone">x</a>', "leads to b/c.html#gone, whose anchor is not there"),
        ("d.html", '<a href="#gone">x</a>', "leads to #gone, whose anchor is not there"),
        ("d.html", '<i id="a"></i><i id="a"></i>', "anchor 'a' stands twice"),
        ("d.html", '<pre class="mermaid">flowchart</pre>', "a mermaid diagram"),
        ("d.svg", '<svg><image href="https://example.org/p.png"/></svg>', "asks another host"),
        ("d.css", "@font-face { src: url('https://example.org/f.woff2') }", "asks another host"),
    ],
)
def test_a_fault_is_found_and_the_page_named(tool, site, capsys, file, text, fault):
    (site / file).write_text(text)
    faults = list(tool("html_check").find_faults(site))
    assert len(faults) == 1
    assert faults[0].startswith(f"{file}: ")
    assert fault in faults[0]
    assert tool("html_check").main(str(site)) == 1
    assert fault in capsys.readouterr().err


def test_an_empty_folder_is_no_site(tool, tmp_path):
    assert tool("html_check").main(str(tmp_path)) == 1


def test_sections_and_examples_of_docstrings_become_markdown(tool):
    text = """Return the sum.

    Arguments:
        input: the tensor
        dim: the ``dimension``

    Returns:
        values: the sums

    Calls:
        sum(input: Tensor) -> Tensor

    See:
        https://docs.pytorch.org/docs/stable/generated/torch.sum.html

    Example:
        >>> sum([1])
        1
    """
    assert tool("docstrings").to_markdown(text).split("\n\n") == [
        "Return the sum.",
        "| argument | meaning |\n| --- | --- |\n| `input` | the tensor |\n| `dim` | the `dimension` |",
        "Returns",
        "* values: the sums",
        "```python\nsum(input: Tensor) -> Tensor\n```",
        "See [`torch.sum`](https://docs.pytorch.org/docs/stable/generated/torch.sum.html).",
        "\n```pycon\n>>> sum([1])\n1\n```",
    ]


def test_a_chart_has_a_bar_for_each_ratio_on_its_side_of_torchs_line(tool):
    picture = ET.fromstring(tool("benchmark_pages").chart("Two", {"a": (0.5,), "b & c": (3.0,)}))
    (line,) = (each for each in picture.iter("line") if each.get("class") == "one")
    one = float(line.get("x1"))
    bars = {each.get("class"): (float(each.get("x")), float(each.get("width"))) for each in picture.iter("rect")}
    assert sum(bars["faster"]) == pytest.approx(one)
    assert bars["slower"][0] == pytest.approx(one)
    assert {"a", "b & c", "0.50", "3.00"} <= {each.text for each in picture.iter("text")}
    assert picture.get("aria-label") == "Two"


def test_a_chart_has_a_second_bar_for_compiled_packages(tool):
    picture = ET.fromstring(tool("benchmark_pages").chart("Both", {"a": (2.0, 0.5), "b": (3.0,)}))
    bars = list(picture.iter("rect"))
    assert [each.get("class") for each in bars] == ["slower", "faster", "slower"]
    tops = [float(each.get("y")) for each in bars]
    assert tops == sorted(tops)
    assert float(bars[1].get("height")) < float(bars[0].get("height"))
    texts = [each.text for each in picture.iter("text")]
    assert [each for each in texts if each in {"a", "compiled", "b", "2.00", "0.50", "3.00"}] == [
        *("a", "2.00", "compiled", "0.50", "b", "3.00")
    ]
    assert tool("benchmark_pages").shown((2.0, 0.5)) == "2.00 / 0.50"


def test_the_figures_of_the_site_tell_the_machines_kind_and_nothing_else_about_it(root):
    results = json.loads((root / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    assert sorted(results) == ["arrays", "breadth", "calls", "dispatch", "pipeline", "steps"]
    for kept in results.values():
        assert sorted(kept) == ["day", "machine", "options", "rows", "versions"]
        assert re.fullmatch(r"\w+ on \w+, \d+ cores", kept["machine"])
        assert all(sorted(row.keys() - {"compiled"}) == ["goal", "group", "name", "ratio"] for row in kept["rows"])
        assert all(row["ratio"] > 0 and row.get("compiled", 1) > 0 for row in kept["rows"])


def test_files_of_the_repository_have_pages(tool, root):
    files = tool("repository_files")
    pages = files.pages(root)
    assert pages["contributing.md"].startswith("# Contributing")
    assert pages["changes/dispatch-core.md"].startswith("# dispatch-core\n")
    assert "$ python examples/train_digits.py" in pages["examples/train_digits.md"]
    assert files.page_of("packages/dispatch-core") == "packages/dispatch-core.md"
    assert files.page_of("packages/dispatch-core/CHANGELOG.md") == "changes/dispatch-core.md"
    assert files.page_of("docs/npu.md") == "npu.md"
    assert files.page_of("noxfile.py") is None


def test_guides_are_found_before_rules_and_rules_before_pages_that_are_made(tool, root):
    boost = tool("search_ranks").boost
    guides = [path.relative_to(root / "docs").as_posix() for path in root.glob("docs/guides/*.md")]
    made = [f"reference/torchlike/{page}.md" for page in ("nn", "functions-rest", "tensor")]
    made += ["coverage/devices.md", "operators.md", "changes/dispatch-core.md", "reference/plugins/hooks.md"]
    rules = ["pipeline.md", "capture.md", "vendors.md", "errors.md", "reference/environment.md", "index.md"]
    # A word in a title has a thousand times the score of one in a text: of pages that are made, not that of a guide's text.
    assert min(map(boost, guides)) > max(map(boost, rules))
    assert max(map(boost, made)) * 1000 <= min(map(boost, rules))


def test_a_page_that_is_made_can_be_edited_where_its_source_is(tool, root):
    files = tool("repository_files")
    files.pages(root)
    sources = {"contributing.md": "CONTRIBUTING.md", "packages/backend-npu.md": "packages/backend-npu/README.md"}
    sources["operators.md"] = "tools/list_operators.py"
    for page, source in sources.items():
        assert files.edit_url(page, "its/own", "https://host") == f"https://host/edit/main/{source}"
        assert (root / source).is_file()
    assert files.edit_url("guides/sparse.md", "its/own", "https://host") == "its/own"
    assert files.edit_url("reference/torchlike/nn.md", None, "https://host") is None


def test_every_environment_variable_that_a_package_reads_is_listed(root):
    read = re.compile(r"""["'](DISPATCH_[A-Z_]+)["']""")
    paths = [*root.glob("packages/*/src/**/*.py"), *root.glob("packages/*/src/**/*.c")]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    listed = set(
        re.findall(r"^\| `(DISPATCH_\w+)=", (root / "docs/reference/environment.md").read_text(), re.MULTILINE)
    )
    # The list of keys is no variable, and the other stands in an example.
    others = {"DISPATCH_KEY_PRIORITY", "DISPATCH_NOWHERE_SET"}
    assert {name for text in sources for name in read.findall(text)} - others == listed


def test_every_group_of_entry_points_is_listed(root):
    page = (root / "docs/reference/plugins/entry-points.md").read_text()
    groups = [getattr(distributions, name) for name in GROUPS]
    assert sorted(re.findall(r"^\| `(dispatch_core\.\w+)` \|", page, re.MULTILINE)) == sorted(groups)


def test_pictures_become_a_part_of_their_page(tool, tmp_path):
    (tmp_path / "docs" / "guides").mkdir(parents=True)
    for name, width in (("a", 1000), ("b", 800), ("b_narrow", 300)):
        (tmp_path / "docs" / f"{name}.svg").write_text(
            f'<svg role="img" width="{width}" height="9">\n<title>all</title>\n<g><title>one</title></g>\n</svg>\n'
        )
    page = "![two <boxes>](../a.svg)\n\ntext ![in a line](../a.svg)\n\n![b](../b.svg)\n\n![gone](../c.svg)\n"
    first, line, wide, narrow, gone = tool("pictures").embed(page, tmp_path, "docs/guides/page.md").split("\n\n")
    assert first == (
        '<div class="picture" data-search-exclude><svg aria-label="two &lt;boxes&gt;" role="img"'
        ' style="--size:1000px;--least:650px"><g><title>one</title></g></svg></div>'
    )
    assert line == "text ![in a line](../a.svg)"
    assert wide.startswith('<div class="picture wide" ') and "--size:800px" in wide
    assert narrow.startswith('<div class="picture narrow" ') and "--size:300px;--least:255px" in narrow
    assert gone == "![gone](../c.svg)\n"
