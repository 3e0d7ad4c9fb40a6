"""Explanations of custom operators."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core import Tensor


@pytest.fixture
def custom_op(registry):
    """``custom_op`` in the test's own registry."""

    def custom_op(name, fn=None, **options):
        return dc.custom_op(name, fn, registry=registry, **{"mutates_args": (), **options})

    return custom_op


@pytest.fixture
def double(custom_op, toy, tensors):
    """An operator for every device, on tensors and raw arrays of the toy backend."""

    def double(x: Tensor, times: int = 2) -> Tensor:
        data = getattr(x, "_dispatch_data", x)
        return dc.wrap_like(x, type(data)(data.a * times))

    return custom_op("t::double", double)


class Half:
    """A dtype."""

    __schema_type__ = "ScalarType"

    def __repr__(self):
        return "Half"


def rows(info, in_dims, x, times=2):
    return x, in_dims[0]


def test_kernels_are_named_by_the_authors_parts(double, toy):
    def backward(ctx, grad): ...

    def explain():
        with dc.include_keys("FuncTorchBatched", "AutocastToy", "AutogradToy"):
            return str(dc.explain(double.op, toy.array([1])))

    assert "made on first use by no formula (autograd kernel)" in explain()
    double.register_autograd(backward)
    double.register_vmap(rows)
    double.register_autocast("toy", Half())
    functions = [f"{each.__module__}.{each.__qualname__} at " for each in (rows, backward)]
    for text in (*functions, "casts to Half (kernel)"):
        assert f"made on first use by {text}" in explain()
