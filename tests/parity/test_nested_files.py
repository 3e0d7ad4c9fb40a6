"""Files of nested tensors, written by torch and read here, and the other way round; parameters; calls without a layout."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
import torch

import torchlike

pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage:UserWarning"),
    pytest.mark.filterwarnings("ignore:load.weights_only=False. runs:UserWarning"),
]


def make(lib, seed):
    """Return nested tensors with one ragged size, one with gaps, and parameters, the same in both libraries."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    width, batch = draw.randint(1, 3), draw.randint(1, 4)
    arrays = [numbers.standard_normal((draw.randint(1, 4), width)).astype(np.float32) for _ in range(batch)]
    x = lib.nested.nested_tensor(
        [lib.from_numpy(each) for each in arrays], layout=lib.jagged, requires_grad=draw.random() < 0.5
    )
    lengths = [draw.randint(1, 3) for _ in range(batch)]
    starts = lib.tensor(
        [0] + [1] * (batch - 1)
    )  # torch takes rows with gaps for whole ones where the first ends its tensor
    gaps = lib.nested.narrow(lib.ones(batch, 4, width), 1, starts, lib.tensor(lengths), layout=lib.jagged)
    turned = x.detach().transpose(1, 2).to(getattr(lib, draw.choice(["float64", "bfloat16", "float16"])))
    weight = lib.nn.Parameter(x.detach() * 2, requires_grad=draw.random() < 0.5)
    weight.note = {"mine": [1]}
    return {"x": x, "gaps": gaps, "turned": turned, "weight": weight, "ints": x.detach().long()}


def describe(tensors):
    """Return what each tensor is, and which of them have the same ragged size."""
    facts = {
        name: (
            [row.tolist() for row in x.unbind()],
            x._ragged_idx,
            x.offsets().tolist(),
            None if x.lengths() is None else x.lengths().tolist(),
            str(x.dtype).rpartition(".")[2],
            x.requires_grad,
            x.is_leaf,
            type(x).__name__,
            vars(x).get("note"),
        )
        for name, x in tensors.items()
    }
    sizes = {name: x.shape[x._ragged_idx] for name, x in tensors.items()}
    return facts, {(one, other): sizes[one] == sizes[other] for one in sizes for other in sizes}


def write_file(lib, value):
    file = io.BytesIO()
    lib.save(value, file)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("writer", [torch, torchlike])
@pytest.mark.parametrize("reader", [torch, torchlike])
def test_files_of_nested_tensors_are_read_by_both(reader, writer, trusted, seed):
    found = reader.load(write_file(writer, make(writer, seed)), weights_only=not trusted)
    assert describe(found) == describe(make(torch, seed))
    assert isinstance(found["weight"], reader.nn.Parameter) and not isinstance(found["x"], reader.nn.Parameter)


@pytest.mark.parametrize("seed", range(4))
def test_parameters_train_and_are_converted_as_torchs(seed):
    found = []
    for lib in (torch, torchlike):
        net = lib.nn.Module()
        net.weight = lib.nn.Parameter(make(lib, seed)["x"].detach())
        (net.weight * net.weight).sum().backward()
        lib.optim.SGD(net.parameters(), 0.25).step()
        net.double()
        weight = net.weight
        assert isinstance(weight, lib.nn.Parameter) and weight.dtype is lib.float64
        found.append(([row.tolist() for row in weight.unbind()], [row.tolist() for row in weight.grad.unbind()]))
        assert [*net.state_dict()] == ["weight"]
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_those_of_torchs_strided_nested_tensor_where_no_layout_is_given(seed):
    draw = random.Random(seed)
    rank, ragged = draw.randint(1, 3), None
    ragged, sizes = draw.randrange(rank), [draw.randint(1, 3) for _ in range(rank)]
    rows = []
    for _ in range(draw.randint(1, 4)):
        sizes[ragged] = draw.randint(1, 4)
        rows.append(np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes))
    for name in ("nested_tensor", "as_nested_tensor"):
        made = [getattr(lib.nested, name)([lib.from_numpy(row) for row in rows]) for lib in (torch, torchlike)]
        assert [each.tolist() for each in made[0].unbind()] == [each.tolist() for each in made[1].unbind()]
        assert str(made[0].dtype) == "torch." + made[1].dtype.name.lower().replace("float", "float32")
        assert (str(made[0].layout), str(made[1].layout)) == ("torch.strided", "torchlike.jagged")


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like", "rand_like"])
def test_tensors_like_nested_ones_are_made_on_another_device(name):
    for lib in (torch, torchlike):
        x = make(lib, 0)["x"]
        like = getattr(lib, name)(x, device="meta")
        assert like.is_meta and like.shape == x.shape and like.layout is lib.jagged


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("weights_only", [True, False])
def test_a_file_with_a_strided_nested_tensor_is_refused_by_name(weights_only):
    rows = [torch.ones(2, 3), torch.ones(3, 3)]
    file = io.BytesIO()
    torch.save({"a": torch.nested.nested_tensor(rows, layout=torch.strided)}, file)
    file.seek(0)
    refusal = ValueError if weights_only else NotImplementedError
    with pytest.raises(refusal, match=r"a nested tensor of layout torch\.strided, which.*\n?.*layout=torch\.jagged"):
        torchlike.load(file, weights_only=weights_only)
