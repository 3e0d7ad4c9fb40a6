"""Which operators devices have kernels for: counts, names, text and HTML."""

from __future__ import annotations

import pytest
from markup import read_fragment

import dispatch_core as dc


@pytest.fixture(scope="module")
def found():
    return dc.coverage("cpu", "meta")


def test_each_operator_is_a_kernel_a_composition_or_not_served(found):
    counts = found.count("cpu")
    assert sum(counts.values()) == len(found.rows) > 1500
    assert counts["kernel"] > 300
    assert "aten::mm" in found.operators("cpu", "kernel")
    assert "aten::matmul" in found.operators("cpu", "composed")
    entry = dc.registry.get("aten::mm")
    assert entry.newest(dc.DispatchKey.CPU) is not None
    assert set(found.operators("cpu")) == {row.operator for row in found.rows if row.services[0] == "none"}


def test_the_counts_are_shown_as_text_and_in_notebooks(found):
    lines = str(found).splitlines()
    assert lines[0].split() == ["device", "kernels", "on", "the", "host", "composed", "not", "served", "served"]
    assert lines[2].split()[0] == "cpu"
    assert lines[-1].endswith("operators of aten")
    html = read_fragment(found._repr_html_())
    assert html.rows[1][:2] == ["cpu", f"{found.count('cpu')['kernel']:,}"]
    assert repr(found) == f"<coverage of {len(found.rows)} operators of aten: cpu, meta>"


def test_questions_that_have_no_answer_say_what_there_is(found):
    with pytest.raises(dc.ArgumentError, match=r"takes the names of devices\nHint: dc\.backends"):
        dc.coverage()
    with pytest.raises(dc.ArgumentError, match="takes the names of devices"):
        dc.coverage(3)
    with pytest.raises(dc.BackendNotFoundError, match="nowhere"):
        dc.coverage("nowhere")
    with pytest.raises(dc.ArgumentError, match="'npu' is not among the devices\nHint: they are cpu, meta"):
        found.count("npu")
    with pytest.raises(dc.ArgumentError, match="no way of serving is 'fast'"):
        found.operators("cpu", "fast")


def test_a_namespace_without_operators_has_no_rows():
    empty = dc.coverage("cpu", namespace="absent")
    assert empty.rows == ()
    assert "0 operators of absent" in str(empty)
    read_fragment(empty._repr_html_())
