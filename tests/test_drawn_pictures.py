"""The pictures of pages are what their tools draw: nothing is cut off or lies on something else."""

from __future__ import annotations

import importlib.util
import sys
from itertools import combinations, pairwise
from xml.etree.ElementTree import fromstring

import pytest
from markup import read_svg

pytestmark = pytest.mark.texts


@pytest.fixture(scope="module")
def load(root):
    """Return a function that imports a tool."""
    loaded = []

    def load(name):
        spec = importlib.util.spec_from_file_location(name, root / "tools" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        loaded.append(spec.name)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    yield load
    for name in loaded:
        del sys.modules[name]


@pytest.fixture(scope="module")
def tool(load):
    return load("draw_one_call")


@pytest.fixture(params=[0, 1], ids=["wide", "narrow"])
def drawing(tool, request):
    return tool.DRAWINGS[request.param]


def test_the_picture_is_up_to_date(tool, drawing):
    assert drawing.path.read_text(encoding="utf-8") == tool.draw(drawing), "run python tools/draw_one_call.py"


def test_boxes_lie_apart_and_inside_the_picture(tool, drawing):
    _, _, width, height = map(float, fromstring(tool.draw(drawing)).get("viewBox").split())
    for name, box in drawing.boxes.items():
        assert box.left > 0 and box.right < width and box.top > 0 and box.bottom < height, name
    for one, other in combinations(drawing.boxes.values(), 2):
        apart = one.right < other.left or other.right < one.left or one.bottom < other.top or other.bottom < one.top
        assert apart, (one, other)


def test_lines_cross_no_box(drawing):
    """A point of a line lies on the edge of a box or outside of all."""
    for points, _ in drawing.arrows:
        for (x0, y0), (x1, y1) in pairwise(points):
            for step in range(1, 40):
                x, y = x0 + (x1 - x0) * step / 40, y0 + (y1 - y0) * step / 40
                for box in drawing.boxes.values():
                    assert not (box.left < x < box.right and box.top < y < box.bottom), (points, box)


def test_the_picture_has_a_text_and_asks_for_nothing(tool, drawing):
    picture = fromstring(tool.draw(drawing))
    namespace = "{http://www.w3.org/2000/svg}"
    assert "one call" in picture.find(f"{namespace}title").text
    tags = {element.tag.removeprefix(namespace) for element in picture.iter()}
    assert tags == {"svg", "title", "rect", "path", "text"}
    assert not [name for element in picture.iter() for name in element.attrib if name.endswith("href")]


def test_the_profile_is_up_to_date(load):
    for path, text in load("draw_profile").draw().items():
        assert path.read_text(encoding="utf-8") == text, "run python tools/draw_profile.py"
        assert "optimizer" in read_svg(text)
