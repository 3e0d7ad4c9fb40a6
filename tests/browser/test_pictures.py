"""The pictures of pages in a real browser, as the site shows them: wide and narrow, light and dark."""

from __future__ import annotations

import importlib.util

import pytest

from dispatch_devkit.pictures.flame_graph import Cost, FlameGraph

#: Page → its picture.
PICTURES = {
    "docs/one-call.md": "one_call",
    "docs/pipeline.md": "digits_step",
    "docs/guides/debugging.md": "digits_profile",
}
WIDTHS = pytest.mark.parametrize("width", [390, 1280])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture(scope="module")
def embed(root):
    spec = importlib.util.spec_from_file_location("pictures", root / "tools" / "site" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda line, page: module.embed(line, root, page)


@WIDTHS
@SCHEMES
@pytest.mark.parametrize("page", PICTURES)
def test_the_pictures_of_pages_are_readable(visit, embed, root, tmp_path, pictures, page, width, scheme):
    name = PICTURES[page]
    [line] = [each for each in (root / page).read_text(encoding="utf-8").splitlines() if each.endswith(f"{name}.svg)")]
    shown = embed(line, page)
    assert shown.count("<svg ") == 1 + (root / "docs" / f"{name}_narrow.svg").is_file()
    address = _page(root, tmp_path, shown)
    picture = None if pictures is None else pictures / f"{name}-{width}-{scheme}.png"
    assert visit(address, width, scheme, picture=picture) == []
    # Pixels of the smallest letter.
    assert visit.measure(address, width, scheme, _SMALLEST) >= 7


@WIDTHS
@SCHEMES
def test_the_picture_of_a_call_is_readable(visit, root, tmp_path, pictures, monkeypatch, width, scheme):
    monkeypatch.syspath_prepend(str(root / "tools" / "site"))
    from made_parts import picture_of_a_call

    page = _page(root, tmp_path, picture_of_a_call())
    picture = None if pictures is None else pictures / f"call-{width}-{scheme}.png"
    assert visit(page, width, scheme, picture=picture) == []
    assert visit.measure(page, width, scheme, _SMALLEST) >= 9


def _page(root, folder, shown):
    """Return the address of a page with pictures, as wide as the site's, and its styles."""
    styles = (root / "docs" / "assets" / "site.css").read_text(encoding="utf-8")
    file = folder / "page.html"
    file.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f'<style>{styles}</style><body style="margin:16px;max-width:748px">{shown}',
        encoding="utf-8",
    )
    return file.as_uri()


_SMALLEST = """() => Math.min(...[...document.querySelectorAll("svg text")].filter((each) => each.checkVisibility()).map(
    (each) => parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a))"""


@pytest.mark.parametrize("width", [300, 700])
def test_texts_of_a_drawn_flame_graph_stay_in_their_boxes(visit, tmp_path, width):
    stacks = {("outer", f"aten::{'long_name_' * number}"): Cost(10 + number**3, 1) for number in range(12)}
    path = tmp_path / "graph.html"
    path.write_text(f"<!doctype html><body>{FlameGraph(stacks).svg(width)}", encoding="utf-8")
    assert visit(path.as_uri()) == []
