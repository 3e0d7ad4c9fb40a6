"""Docstrings link to pages about names that torch documents."""

import importlib
import re
from importlib.resources import files

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

pytestmark = pytest.mark.no_pipeline(reason="the tests compute nothing")

_PAGES = dict(
    re.findall(
        r"^\[(.+)\]\n([^\[]*)",
        files("dispatch_aten.texts").joinpath("torch_pages.txt").read_text("utf-8"),
        re.MULTILINE,
    )
)


@pytest.mark.parametrize("namespace", _PAGES)
def test_every_name_that_has_a_page_is_torchs_and_has_a_docstring(namespace):
    if namespace in ("torch", "Tensor"):
        owner = torch if namespace == "torch" else torch.Tensor
    else:
        owner = importlib.import_module(f"torch.{namespace}")
    assert [name for name in _PAGES[namespace].split() if not getattr(owner, name).__doc__] == []
