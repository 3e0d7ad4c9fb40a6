"""Tensors as notebooks show them."""

import pytest
from markup import read_fragment

import torchlike
from torchlike import tensor


def read(x):
    return read_fragment(x._repr_html_())


def test_a_matrix_is_a_table_with_its_indices_and_facts():
    found = read(tensor([[1.0, -2.5], [1000.0, 4.0]], requires_grad=True))
    assert found.rows == [["", "0", "1"], ["0", "1.0000", "-2.5000"], ["1", "1000.0000", "4.0000"]]
    assert found.texts[:7] == ["Tensor", "[2, 2]", "float32", "cpu", "4 elements", "16 B", "requires_grad"]


def test_a_vector_has_the_indices_of_its_elements():
    assert read(tensor([True, False])).rows == [["0", "1"], ["True", "False"]]
    assert read(tensor([1 + 2j])).rows == [["0"], ["1.+2.j"]]


def test_only_the_edges_of_large_matrices_are_shown():
    found = read(torchlike.arange(10_000).reshape(100, 100))
    numbers = [*map(str, range(6)), "…", *map(str, range(94, 100))]
    assert found.rows[0] == ["", *numbers]
    assert [row[0] for row in found.rows[1:]] == numbers
    assert found.rows[7] == ["…"] * 14
    assert found.rows[-1][-1] == "9999"
    assert found.rows[1][7] == "…"
    assert "10,000 elements" in found.texts
    assert "78.1 KiB" in found.texts


def test_what_edges_leave_out_does_not_decide_how_the_others_are_written():
    x = torchlike.ones(100)
    x[50] = 1e9
    assert read(x).rows[1][0] == "1."


@pytest.mark.parametrize("shape", [(), (2, 3, 4), (0, 3)])
def test_other_shapes_are_shown_as_text(shape):
    x = torchlike.zeros(shape)
    found = read(x)
    assert found.rows == []
    assert ("pre" in found.tags) == bool(x.numel())
    assert f"{list(shape)}" in found.texts


def test_a_tensor_on_meta_has_no_elements():
    found = read(torchlike.ones(2, 3, device="meta"))
    assert "pre" not in found.tags
    assert found.rows == []
    assert "meta" in found.texts


def test_history_and_classes_are_named():
    x = tensor([1.0], requires_grad=True)
    assert "grad_fn=MulBackward0" in read(x * 2).texts
    assert read(torchlike.nn.Parameter(torchlike.ones(1))).texts[0] == "Parameter"


def test_dtypes_that_numpy_has_not_are_shown():
    assert read(tensor([1.5], dtype=torchlike.bfloat16)).rows == [["0"], ["1.5000"]]


def test_a_pending_value_is_computed_as_for_its_text():
    with torchlike.pipeline():
        x = torchlike.ones(2) + 1
        assert read(x).rows[1] == ["2.", "2."]
        assert not x._pending
        y = torchlike.ones(2, device="meta") + 1
        assert read(y).rows == []


def test_a_class_with_a_text_of_its_own_keeps_it():
    class Named(torchlike.Tensor):
        def __repr__(self):
            return "<named>"

    assert torchlike.ones(2).as_subclass(Named)._repr_html_() is None


def test_options_of_printing_hold():
    torchlike.set_printoptions(precision=2)
    try:
        assert read(tensor([1.23456])).rows[1] == ["1.23"]
    finally:
        torchlike.set_printoptions(profile="default")
