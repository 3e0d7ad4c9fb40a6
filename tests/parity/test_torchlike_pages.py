"""Docstrings link to pages about names that torch documents."""

import importlib

import pytest

from dispatch_aten.torch_names import TORCH_NAMES, is_documented

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

pytestmark = pytest.mark.no_pipeline(reason="the tests compute nothing")


@pytest.mark.parametrize("namespace", TORCH_NAMES)
def test_every_name_that_has_a_page_is_torchs_and_has_a_docstring(namespace):
    if namespace in ("torch", "Tensor"):
        owner = torch if namespace == "torch" else torch.Tensor
    else:
        owner = importlib.import_module(f"torch.{namespace}")
    documented = [name for name in TORCH_NAMES[namespace] if is_documented(namespace, name)]
    assert [name for name in documented if not getattr(owner, name).__doc__] == []
