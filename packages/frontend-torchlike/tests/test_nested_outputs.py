"""Nested tensors without a layout, as parameters, in files, and as ``out=``."""

from __future__ import annotations

import copy
import io
import random

import pytest

import torchlike
from torchlike import nested, nn


def make(*lengths, width=3, **options):
    torchlike.manual_seed(0)
    return nested.nested_tensor([torchlike.randn(length, width) for length in lengths], **options)


def rows(x):
    return [row.tolist() for row in x.unbind()]


def test_without_a_layout_rows_that_differ_in_one_dimension_are_jagged():
    x = make(2, 4)
    assert x.layout is torchlike.jagged and rows(x) == rows(make(2, 4, layout=torchlike.jagged))
    y = nested.as_nested_tensor([torchlike.ones(2, 1), torchlike.ones(2, 5)])
    assert y._ragged_idx == 2 and nested.as_nested_tensor(y) is y
    assert rows(nested.as_nested_tensor(torchlike.ones(2, 1))) == [[1], [1]]
    assert rows(nested.narrow(torchlike.arange(8).reshape(2, 4), 1, 1, torchlike.tensor([1, 2]))) == [[1], [5, 6]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([torchlike.ones(2, 3), torchlike.ones(4, 5)], r"the rows differ in the size of dimensions \[0, 1\]"),
        ([torchlike.ones(()), torchlike.ones(())], "the rows have no dimensions"),
        ([], "there are no rows"),
    ],
)
def test_rows_that_only_a_strided_nested_tensor_holds_are_refused_by_name(given, text):
    for name in ("nested_tensor", "as_nested_tensor"):
        with pytest.raises(
            NotImplementedError, match=rf"{name}\(\): {text}.*torchlike.strided here\nHint: pad the rows"
        ):
            getattr(nested, name)(given)
        with pytest.raises(RuntimeError, match="Cannot"):
            getattr(nested, name)(given, layout=torchlike.jagged)
    with pytest.raises(NotImplementedError, match=r"torchlike.strided are not supported, there is torchlike.jagged"):
        nested.nested_tensor([torchlike.ones(2)], layout=torchlike.strided)
    with pytest.raises(NotImplementedError, match="strided are not supported"):
        nested.narrow(torchlike.ones(2, 3), 1, 0, 2, layout=torchlike.strided)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(make(2, 4))
        self.register_buffer("mask", self.weight.detach() > 0)


def test_a_parameter_is_nested_and_trains():
    net = Net()
    ((name, weight),) = net.named_parameters()
    assert name == "weight" and isinstance(weight, nn.Parameter) and weight.is_leaf and weight.requires_grad
    before = rows(weight)
    optimizer = torchlike.optim.SGD(net.parameters(), 0.25)
    (net.weight * net.weight).sum().backward()
    assert weight.grad.size(1) == weight.size(1)
    optimizer.step()
    assert rows(weight) == [[[number / 2 for number in row] for row in part] for part in before]
    other = copy.deepcopy(net)
    assert isinstance(other.weight, nn.Parameter) and rows(other.weight) == rows(weight)
    assert net.double().weight.dtype is torchlike.float64 and isinstance(net.weight, nn.Parameter)
    assert (
        net.to("meta").weight.size(1) == net.mask.size(1) and net.weight.grad.is_meta and net.weight.offsets().is_meta
    )
    assert not isinstance(make(1), nn.Parameter) and not nn.Parameter(make(1), requires_grad=False).requires_grad
    assert isinstance(nn.Buffer(make(2)), nn.Buffer)


@pytest.mark.parametrize("format", ["torch", "safetensors"])
@pytest.mark.parametrize("seed", range(4))
def test_a_file_holds_nested_tensors(format, seed):
    draw = random.Random(seed)
    lengths = [draw.randint(0, 4) for _ in range(draw.randint(1, 4))]
    x = make(*lengths, requires_grad=draw.random() < 0.5)
    gaps = nested.narrow(torchlike.randn(2, 5), 1, torchlike.tensor([1, 0]), torchlike.tensor([2, 4]))
    weight = nn.Parameter(x.detach().transpose(1, 2).to(draw.choice([torchlike.bfloat16, torchlike.float64])))
    weight.note = "mine"
    file = io.BytesIO()
    torchlike.save({"x": x, "same": x.detach() * 2, "gaps": gaps, "weight": weight}, file, format=format)
    found = torchlike.load(io.BytesIO(file.getvalue()))
    assert rows(found["x"]) == rows(x) and found["x"].requires_grad == x.requires_grad and found["x"].is_leaf
    assert found["x"].size(1) == found["same"].size(1) == found["weight"].size(2)  # the offsets are one object again
    assert rows(found["gaps"]) == rows(gaps) and found["gaps"].lengths().tolist() == [2, 4]
    assert isinstance(found["weight"], nn.Parameter) and found["weight"].note == "mine"
    assert found["weight"].dtype is weight.dtype and rows(found["weight"]) == rows(weight)
    if format == "torch":
        with pytest.warns(UserWarning, match="runs whatever code"):
            trusted = torchlike.load(io.BytesIO(file.getvalue()), weights_only=False)
        assert rows(trusted["x"]) == rows(x) and isinstance(trusted["weight"], nn.Parameter)
    elsewhere = torchlike.load(io.BytesIO(file.getvalue()), map_location="meta")
    assert elsewhere["x"].is_meta and elsewhere["x"].size(1) == elsewhere["same"].size(1)


def test_a_file_whose_rows_lie_beyond_the_values_is_refused():
    x = nested.nested_tensor_from_jagged(torchlike.arange(6.0), torchlike.tensor([0, 4, 9]))
    file = io.BytesIO()
    torchlike.save(x, file)
    with pytest.raises(ValueError, match="the rows of a nested tensor lie beyond its values"):
        torchlike.load(io.BytesIO(file.getvalue()))


def test_outputs_of_functions_are_nested():
    x = make(2, 4)
    for function in (torchlike.sin, torchlike.sigmoid, torchlike.neg, lambda x, **to: torchlike.mul(x, x + 1, **to)):
        out = torchlike.empty_like(x)
        assert function(x, out=out) is out and rows(out) == rows(function(x))
    for function in (torchlike.sum, torchlike.mean, torchlike.amax, torchlike.cumsum):
        wanted = function(x, -1)
        out = torchlike.zeros_like(wanted).double()
        assert function(x, -1, out=out) is out and rows(out.float()) == rows(wanted)
    out = x.sum(-1), x.sum(-1).long()
    found = torchlike.max(x, -1, out=out)
    assert found[0] is out[0] and rows(out[1]) == rows(x.argmax(-1))
    assert torchlike.add(x, x, out=x) is x
    strided = torchlike.empty(0)
    assert torchlike.sum(x, 1, out=strided) is strided and torchlike.equal(strided, x.sum(1))


def test_an_output_that_does_not_fit_stays_as_it_is():
    x, other = make(2, 4), make(2, 4)
    before = rows(other)
    for call, text in (
        (lambda: torchlike.sin(x, out=other), "with inputs of shapes"),  # its rows are not known to be as long
        (lambda: torchlike.sin(x, out=torchlike.zeros_like(x).long()), "result type Float can't be cast"),
        (lambda: torchlike.sin(x, out=torchlike.ones(6, 3)), "the result is nested, and out is strided"),
        (lambda: torchlike.sum(x, 1, out=other), "the result is strided, and out is nested"),
        (lambda: torchlike.sum(x, 1, out=torchlike.ones(3)), "with inputs of shapes"),
        (lambda: torchlike.sin(x, out=torchlike.empty_like(x, device="meta")), "on the same device"),
        (lambda: torchlike.sin(torchlike.ones(6, 3), out=other), "no kernel"),
        (lambda: torchlike.sin(make(2, requires_grad=True), out=make(2)), "don't support automatic differentiation"),
        (lambda: torchlike.sin(x, out=make(2, 4, requires_grad=True)), "don't support automatic differentiation"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    assert rows(other) == before


def test_a_mask_selects_rows_of_their_own():
    x = nested.nested_tensor([[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]], requires_grad=True)
    found = x.masked_select(x > 2)
    assert rows(found) == [[3.0], [4.0], [5.0, 6.0]] and found.size(1) != x.size(1)
    found.sum().backward()
    assert rows(x.grad) == [[0, 0, 1], [1], [1, 1]]
    with pytest.raises(RuntimeError, match="only rows of one dimension"):
        make(2).masked_select(make(2) > 0)


def test_items_are_written_at_places_of_the_rows():
    x = make(2, 4)
    at = torchlike.tensor([0, 1]), torchlike.tensor([-1, 0])
    new = torchlike.ones(2, 3)
    found = x.index_put(at, new)
    assert rows(found)[0][1] == rows(found)[1][0] == [1, 1, 1] and rows(found)[1][1:] == rows(x)[1][1:]
    assert rows(x.index_put((at[0], None, at[0]), torchlike.tensor(5.0)))[0][1][0] == 5
    assert rows(x.index_put((torchlike.tensor([1]),), torchlike.tensor(7.0)))[1] == [[7] * 3] * 4
    assert x.index_put_(at, new, accumulate=True) is x and x.size(1) == found.size(1)
    assert rows(x.index_put_((torchlike.tensor([0]),), torchlike.tensor(0.0)))[0] == [[0] * 3] * 2
    before = rows(x)
    for place in (2, -3):
        with pytest.raises(RuntimeError, match="ragged dimension are out of bounds"):
            x.index_put_((torchlike.tensor([0]), torchlike.tensor([place])), torchlike.ones(3))
    assert rows(x) == before


def test_bags_of_a_nested_tensor_are_its_rows():
    table = torchlike.arange(12.0).reshape(6, 2)
    bags = nested.nested_tensor([[0, 1], [5], [2, 3, 4]])
    weights = nested.nested_tensor_from_jagged(torchlike.arange(6.0), bags.offsets())
    found = nn.functional.embedding_bag(bags, table, mode="sum", per_sample_weights=weights)
    wanted = [(table[row] * weight.unsqueeze(1)).sum(0).tolist() for row, weight in zip(bags, weights, strict=True)]
    assert found.tolist() == wanted
    assert nn.EmbeddingBag.from_pretrained(table)(bags).tolist() == [table[row].mean(0).tolist() for row in bags]
    with pytest.raises(ValueError, match="the same shape as the input"):
        nn.functional.embedding_bag(bags, table, mode="sum", per_sample_weights=torchlike.ones(6))
