"""Explanations inside of pipelines."""

from __future__ import annotations

import dispatch_core as dc


def test_explain_shows_the_pipeline_where_a_call_would_go_there(work):
    assert "Pipeline" not in str(dc.explain(work.ops.double.default, work.array(1)))
    with work.pipeline():
        told = str(dc.explain(work.ops.double.default, work.array(1)))
        pending = work.ops.double(work.array(1))
    assert "Pipeline" in told
    assert work.ran == ["double"]
    # A value that was pending still comes by, to be given its array.
    assert "Pipeline" in str(dc.explain(work.ops.double.default, pending))
    assert work.ran == ["double"]
