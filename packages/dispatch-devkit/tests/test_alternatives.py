"""Alternatives in explanations."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core.keys.table import alternative_key

FIRST, SECOND, OTHER = (
    alternative_key(*each)
    for each in (("first", dc.DispatchKey.XPU), ("second", dc.DispatchKey.XPU), ("other", dc.DispatchKey.HPU))
)


@pytest.fixture
def scale(registry, library, make_backend):
    """An operator with a kernel of the device's, and functions that register others and note what runs."""
    backend = make_backend("oven", "XPU")
    library.define("scale(Tensor self, int by=2) -> Tensor")
    noted = []

    class Scale:
        array = backend.array([1.0, 2.0])
        op = registry.ops.t.scale

        @staticmethod
        def register(key, who, level="program", serves=lambda by: True, **options):
            def kernel(self, by=None):
                if not serves(by):
                    return NotImplemented
                noted.append(who)
                return self

            with registry.transaction(level=level):
                library = dc.Library("t", "IMPL", registry=registry)
                library.impl("scale", kernel, key, allow_override=True, **options)
            return library

        def who(self, *args, include=()):
            with dc.include_keys(*include):
                self.op(self.array, *args)
            (found,) = noted
            noted.clear()
            return found

    found = Scale()
    found.register("XPU", "device", "backend")
    return found


def test_an_explanation_names_the_winner_and_those_passed_over(scale, registry):
    scale.register(FIRST, "first", "alternative")
    with dc.include_keys(FIRST, SECOND, OTHER):
        steps = {step.key: step for step in dc.explain("t::scale", scale.array, registry=registry).steps}
    assert [steps[key].outcome for key in ("XPU_first", "XPU_second", "HPU_other", "XPU")] == [
        "runs", "passed over", "passed over", "below"
    ]  # fmt: skip
    assert steps["HPU_other"].reason == "not for its device"
    assert steps["XPU_first"].reason == "alternative kernel"
