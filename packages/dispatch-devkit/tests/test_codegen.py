"""Explanations of generated calls."""

from __future__ import annotations

import dispatch_core as dc
from dispatch_core.operators import result_watch


def test_a_device_kernel_takes_the_place_of_what_came_first(toy, tensors):
    registry = dc.Registry()
    registry.register_schema("t::f", "f(Tensor x) -> Tensor")
    registry.register_kernel("t::f", toy.key, lambda x: x)
    registry.register_kernel("t::f", "AutogradToy", lambda x: x)
    op, x = registry.ops.t.f.default, tensors.wrap(toy.array([1]))
    graded = tensors.wrap(toy.array([1]))
    graded._dispatch_mask |= dc.DispatchKey.AutogradToy
    op(graded)
    assert op._entry.specialized_mask == graded._dispatch_mask
    for _ in range(result_watch._QUIET + 1):  # until the results are no longer compared
        assert op._entry.specialized_mask == graded._dispatch_mask
        op(x)
    assert op._entry.specialized_mask == x._dispatch_mask
    op(graded)
    assert op._entry.specialized_mask == x._dispatch_mask
    assert str(x._dispatch_mask) in dc.explain(op, x).source
