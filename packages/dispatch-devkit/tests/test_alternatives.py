"""Alternatives in explanations."""

from __future__ import annotations

from core_fixtures import FIRST, OTHER, SECOND

import dispatch_core as dc


def test_an_explanation_names_the_winner_and_those_passed_over(scale, registry):
    scale.register(FIRST, "first", "alternative")
    with dc.include_keys(FIRST, SECOND, OTHER):
        steps = {step.key: step for step in dc.explain("t::scale", scale.array, registry=registry).steps}
    assert [steps[key].outcome for key in ("XPU_first", "XPU_second", "HPU_other", "XPU")] == [
        "runs", "passed over", "passed over", "below"
    ]  # fmt: skip
    assert steps["HPU_other"].reason == "not for its device"
    assert steps["XPU_first"].reason == "alternative kernel"
