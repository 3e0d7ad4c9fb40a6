"""Every pair of layers, one inside the other, computes what eager calls do, or is refused by an error that says why."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import dispatch_core as dc

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

from composed_layouts import COMPOSED  # noqa: E402  # a tool's folder is not a package
from composed_layouts import DEVICES as LAYOUT_DEVICES  # noqa: E402  # a tool's folder is not a package
from list_compositions import (  # noqa: E402  # a tool's folder is not a package
    AROUND_LAYOUTS,
    COMPUTES,
    DEVICES,
    LAYERS,
    PAGE,
    page,
    try_layout,
    try_pair,
)

_DENSE = ("Pipeline", "Capture", "Autograd", "Autocast", "Profiler", "Tracer", "modes")
#: Pairs that may not be refused, in both orders, and those that may not with the first outside.
COMPUTED = {
    ("vmap", "vmap"),
    ("vmap", "grad"),
    ("grad", "grad"),
    *(("Autocast", name) for name in _DENSE),
    *(("Profiler", layer.name) for layer in LAYERS),
    *(("modes", layer.name) for layer in LAYERS),
}
COMPUTED_OUTSIDE = {(outer, inner) for outer in ("Pipeline", "Capture") for inner in ("vmap", "grad")}
#: What an error that refuses may be; a bare KeyError or AttributeError is none.
REFUSALS = {"RuntimeError", "NotImplementedError", "NoKernelError", "CaptureError", "ValueError", "TypeError"}

#: What may be refused of layouts: integers have no gradients.
LAYOUTS_REFUSED = {("quantized", "grad")}

needs_jax = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("jax", "dispatch_backend_array_api"))), reason="jax is not installed here"
)
each_device = pytest.mark.parametrize(
    "device", [pytest.param(name, marks=needs_jax if name == "jax" else ()) for name in DEVICES]
)


@each_device
@pytest.mark.parametrize("inner", LAYERS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("outer", LAYERS, ids=lambda layer: layer.name)
def test_a_pair_computes_or_is_refused(outer, inner, device):
    outcome = try_pair(outer, inner, device)
    names = (outer.name, inner.name)
    if names in COMPUTED or names[::-1] in COMPUTED or names in COMPUTED_OUTSIDE:
        assert outcome.kind == COMPUTES, outcome
    if outcome.kind != COMPUTES:
        assert outcome.kind in REFUSALS
        assert len(outcome.text) > 30
    assert dc.apply_masks(dc.DispatchKeySet()) == dc.DispatchKeySet()  # nothing is left on


@pytest.mark.parametrize("device", LAYOUT_DEVICES)
@pytest.mark.parametrize("layer", AROUND_LAYOUTS, ids=lambda layer: layer.name)
@pytest.mark.parametrize("layout", COMPOSED, ids=lambda layout: layout.name)
def test_a_layout_computes_within_a_layer_or_is_refused(layout, layer, device):
    outcome = try_layout(layout, layer, device)
    if outcome.kind != COMPUTES:
        assert outcome.kind in REFUSALS and len(outcome.text) > 30, outcome
        assert (layout.name, layer.name) in LAYOUTS_REFUSED, outcome
    assert dc.apply_masks(dc.DispatchKeySet()) == dc.DispatchKeySet()


@needs_jax
def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page()
