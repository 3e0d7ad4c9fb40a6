"""The picture of the way of one call is what its tool draws, and nothing in it is cut off or lies on something else."""

from __future__ import annotations

import importlib.util
import sys
from itertools import combinations
from xml.etree.ElementTree import fromstring

import pytest

pytestmark = pytest.mark.texts


@pytest.fixture(scope="module")
def tool(root):
    spec = importlib.util.spec_from_file_location("draw_one_call", root / "tools" / "draw_one_call.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_picture_is_up_to_date(tool):
    assert tool.PICTURE.read_text(encoding="utf-8") == tool.draw(), "run python tools/draw_one_call.py"


def test_boxes_lie_apart_and_inside_the_picture(tool):
    _, _, width, height = map(float, fromstring(tool.draw()).get("viewBox").split())
    for name, box in tool.BOXES.items():
        assert box.left > 0 and box.right < width and box.top > 0 and box.bottom < height, name
    for one, other in combinations(tool.BOXES.values(), 2):
        apart = one.right < other.left or other.right < one.left or one.bottom < other.top or other.bottom < one.top
        assert apart, (one, other)


def test_the_picture_has_a_text_and_asks_for_nothing(tool):
    picture = fromstring(tool.draw())
    namespace = "{http://www.w3.org/2000/svg}"
    assert "one call" in picture.find(f"{namespace}title").text
    assert {element.tag.removeprefix(namespace) for element in picture.iter()} == {
        "svg",
        "title",
        "rect",
        "path",
        "text",
    }
    assert not [name for element in picture.iter() for name in element.attrib if name.endswith("href")]
