"""Pictures and the forms of objects for notebooks in a real browser: light and dark, narrow and wide."""

from __future__ import annotations

import pytest
from browser_cells import show_cells

import dispatch_core as dc
import torchlike as torch
from dispatch_devkit.fragments import to_page

WIDTHS = pytest.mark.parametrize("width", [390, 1280])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture(scope="module")
def fragments():
    return dict(show_cells())


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """Return the files of pictures: of a trace of a training step, and of pipelines, one of them with fused steps."""
    folder = tmp_path_factory.mktemp("drawings")
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    with dc.trace(decompose=True) as trace:
        model(torch.randn(3, 4)).sum().backward()
    made = [trace.save(folder / "trace.svg"), trace.save(folder / "trace.html")]
    with dc.pipeline() as pipe:
        x = torch.ones(8, 8)
        kept = ((x * 2 + 1).exp() - x).relu()
        kept.add_(1)
        view = kept.t()
        made += [pipe.graph().save(folder / "pipeline.svg"), pipe.graph().save(folder / "pipeline.html")]
        assert view.shape == (8, 8)
    return made


@WIDTHS
@SCHEMES
def test_every_object_that_a_notebook_shows_is_readable(visit, fragments, tmp_path, pictures, width, scheme):
    assert len(fragments) > 10
    page = tmp_path / "views.html"
    # What is folded up is looked at, too.
    shown = "\n".join(fragments.values()).replace("<details>", "<details open>")
    page.write_text(to_page("views", shown), encoding="utf-8")
    picture = None if pictures is None else pictures / f"views-{scheme}-{width}.png"
    assert visit(page.as_uri(), width, scheme, contrast=True, picture=picture) == []


@pytest.mark.parametrize("number", range(4))
@SCHEMES
def test_saved_pictures_are_readable(visit, drawings, pictures, number, scheme):
    path = drawings[number]
    picture = None if pictures is None or path.suffix == ".svg" else pictures / f"{path.stem}-{scheme}.png"
    assert visit(path.as_uri(), 1280, scheme, picture=picture) == []


def test_the_checks_find_faults(visit, tmp_path):
    """Planted faults, so that an empty list means that there are none."""
    planted = {
        "overlap": '<p style="margin:0;height:2px;line-height:20px">one</p><p style="margin:0;line-height:20px">two</p>',
        "is cut off": '<div style="width:50px;overflow:hidden;white-space:nowrap">much too long for this</div>',
        "spills out of its <div>": '<div style="width:50px;white-space:nowrap">much too long for this</div>',
        "px wide in a window": '<div style="width:3000px">wide</div>',
        "it asks for": '<img src="https://example.com/a.png" alt="">',
        "console: ": "<script>console.error('planted')</script>",
        "error: ": "<script>throw new Error('planted')</script>",
        "hard to read": '<div class="dispatch-view" style="color:#aaa;background:#fff">pale</div>',
        "out of its box in a picture": (
            '<svg role="img" width="99" height="40"><g><rect width="20" height="30"/><text y="20">too long</text></g></svg>'
        ),
        '"wider than it" spills out of its box': (
            '<svg role="img" width="99" height="40"><rect x="1" width="60" height="30"/>'
            '<text y="20">wider than it</text></svg>'
        ),
    }
    for number, (fault, html) in enumerate(planted.items()):
        page = tmp_path / f"{number}.html"
        page.write_text(to_page("planted", html), encoding="utf-8")
        found = visit(page.as_uri(), contrast=True)
        assert any(fault in each for each in found), (fault, found)
