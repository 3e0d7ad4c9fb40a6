"""Nested tensors of layout jagged against torch's: values, sizes, gradients and refusals, on generated batches."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional

import torchlike
import torchlike.nn.functional

#: torch's own, at the first nested tensor of a process.
pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage:UserWarning")

SEEDS = range(3)
#: Neither library's own words are compared, but whether it refuses; torch has internal errors for some.
REFUSALS = (Exception,)


class Batch:
    """Rows of generated lengths with the same numbers in both libraries, as nested tensors that require grad."""

    def __init__(self, seed, rest, *, rank=3):
        generator = random.Random(f"{seed} {rest} {rank}")
        self.width = 2 * generator.randint(1, 3)
        lengths = [generator.randint(1, 6) for _ in range(generator.randint(2, 5))]
        numbers = np.random.default_rng(seed)
        inner = {2: (), 3: (self.width,), 4: (3, self.width)}[rank]
        self.rows = [numbers.standard_normal((length, *inner)).astype(np.float32) for length in lengths]
        self.lengths = lengths

    def to(self, library):
        rows = [library.from_numpy(row.copy()) for row in self.rows]
        return library.nested.nested_tensor(rows, layout=library.jagged, requires_grad=True)


def same_offsets(lib, x, values):
    return lib.nested.nested_tensor_from_jagged(values, x.offsets())


def heads(x):
    return x.unflatten(-1, [2, -1]).transpose(1, 2)


#: Functions of a library and a batch of sizes (B, j, D).
CASES = {
    "add": lambda lib, x: x + x * 2 - 1,
    "rsub": lambda lib, x: 1 - x / 3,
    "pow": lambda lib, x: (x * x + 1) ** 0.5,
    "unary": lambda lib, x: x.sin().exp() + x.abs().sqrt() + x.tanh() - x.sigmoid(),
    "gelu": lambda lib, x: lib.nn.functional.gelu(x) + lib.nn.functional.silu(x) + lib.nn.functional.leaky_relu(x),
    "softplus": lambda lib, x: lib.nn.functional.softplus(x) + lib.nn.functional.elu(x),
    "compare": lambda lib, x: (x > 0) | (x < -1),
    "where": lambda lib, x: lib.where(x > 0, x, x * 0.1),
    "clamp": lambda lib, x: x.clamp(-0.5, 0.5) + x.clamp(min=0),
    "round": lambda lib, x: x.round() + x.floor() + x.sign(),
    "lerp": lambda lib, x: lib.lerp(x, x * 2, 0.3),
    "same offsets": lambda lib, x: x * same_offsets(lib, x, x.values().detach() + 1),
    "one column": lambda lib, x: x * x.sum(-1, keepdim=True),
    "vector": lambda lib, x: x + lib.arange(x.size(2)).float(),
    "leading ones": lambda lib, x: x * lib.ones(1, 1, x.size(2)),
    "a row each": lambda lib, x: x * lib.arange(len(x) * x.size(2)).float().reshape(len(x), 1, -1),
    "double": lambda lib, x: x.double() + 1,
    "half": lambda lib, x: x.to(lib.bfloat16).float(),
    "linear": lambda lib, x: lib.nn.functional.linear(x, lib.arange(3.0 * x.size(2)).reshape(3, -1), lib.ones(3)),
    "matmul": lambda lib, x: x @ lib.arange(4.0 * x.size(2)).reshape(-1, 4),
    "matmul of a batch": lambda lib, x: x @ lib.arange(len(x) * 4.0 * x.size(2)).reshape(len(x), -1, 4),
    "matmul of columns": lambda lib, x: lib.ones(4, x.size(2)) @ x.transpose(1, 2),
    "bmm to strided": lambda lib, x: x.transpose(1, 2).bmm(x.detach()),
    "softmax": lambda lib, x: x.softmax(-1),
    "softmax of rows": lambda lib, x: x.softmax(1),
    "log_softmax": lambda lib, x: x.log_softmax(2),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (x.size(2),), lib.arange(x.size(2)).float()),
    "rms_norm": lambda lib, x: lib.nn.functional.rms_norm(x, (x.size(2),)),
    "l1_loss": lambda lib, x: lib.nn.functional.l1_loss(x, x.detach() * 0.5 + 1),
    "l1_loss of each": lambda lib, x: lib.nn.functional.l1_loss(x, x.detach() * 0.5 + 1, reduction="none"),
    "kl_div": lambda lib, x: lib.nn.functional.kl_div(x, x.detach().softmax(-1), reduction="batchmean"),
    "poisson_nll_loss": lambda lib, x: lib.nn.functional.poisson_nll_loss(x, x.detach().abs()),
    "one_hot": lambda lib, x: lib.nn.functional.one_hot(x.detach().abs().long(), 20),
    "softmax of rows in double": lambda lib, x: x.detach().long().softmax(1, dtype=lib.float64),
    "no dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.5, training=False),
    "sum": lambda lib, x: x.sum(),
    "mean": lambda lib, x: x.mean(),
    "max": lambda lib, x: x.max() - x.min(),
    "sum of columns": lambda lib, x: x.sum(-1),
    "sum of rows": lambda lib, x: x.sum(1),
    "sum of rows, kept": lambda lib, x: x.sum(1, keepdim=True),
    "sum of batch and rows": lambda lib, x: x.sum((0, 1)) + x.sum((0, 1), keepdim=True).sum(),
    "mean of columns": lambda lib, x: x.mean(-1, keepdim=True),
    "mean of rows": lambda lib, x: x.mean(1),
    "prod": lambda lib, x: x.prod(-1),
    "prod of rows": lambda lib, x: x.prod(1),
    "amax": lambda lib, x: x.amax(-1) + x.amin(dim=-1),
    "amax of rows": lambda lib, x: x.amax(1) - x.amin(1),
    "max with places": lambda lib, x: x.max(-1),
    "max of rows with places": lambda lib, x: x.max(1),
    "argmin": lambda lib, x: x.argmin(1) + x.argmax(1),
    "any": lambda lib, x: (x > 1).any(-1),
    "all of rows": lambda lib, x: (x > -1).all(1),
    "transpose": lambda lib, x: x.transpose(1, 2) * 2,
    "transposed sum": lambda lib, x: x.transpose(1, 2).sum(1),
    "permute": lambda lib, x: x.unsqueeze(-1).permute(0, 2, 1, 3),
    "heads": lambda lib, x: heads(x),
    "and back": lambda lib, x: heads(x).transpose(1, 2).flatten(-2),
    "reshape": lambda lib, x: x.reshape(len(x), -1, 2, x.size(2) // 2),
    "view": lambda lib, x: x.view(len(x), x.size(1), x.size(2), 1),
    "unsqueeze": lambda lib, x: x.unsqueeze(1) + x.unsqueeze(1),
    "squeeze": lambda lib, x: x.unsqueeze(2).squeeze(2),
    "expand": lambda lib, x: x.unsqueeze(2).expand(len(x), x.size(1), 3, x.size(2)),
    "select": lambda lib, x: x.select(2, 1) + x[..., 0],
    "a row": lambda lib, x: x[1] + x.select(0, 1),
    "slice": lambda lib, x: lib.ops.aten.slice.Tensor(x, 2, 1, None, 1),
    "narrow": lambda lib, x: x.narrow(2, 1, 1),
    "chunk": lambda lib, x: x.chunk(2, -1),
    "chunk of the batch": lambda lib, x: x.chunk(2, 0),
    "split": lambda lib, x: x.split([1, x.size(2) - 1], -1),
    "split evenly": lambda lib, x: x.split(1, 2),
    "unbind": lambda lib, x: list(x.unbind()),
    "cat": lambda lib, x: lib.cat([x, x * 2], 2),
    "stack": lambda lib, x: lib.stack([x, x + 1], -1),
    "values": lambda lib, x: x.values() * 2,
    "padded": lambda lib, x: x.to_padded_tensor(-2.0),
    "padded further": lambda lib, x: lib.nested.to_padded_tensor(x, 0.5, (len(x), 9, x.size(2))),
    "padded columns": lambda lib, x: x.transpose(1, 2).to_padded_tensor(1.0),
    "like": lambda lib, x: lib.zeros_like(x) + lib.ones_like(x) + lib.full_like(x, 3.0),
    "clone": lambda lib, x: x.clone() + x.detach() + x.contiguous(),
    "attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(heads(x), heads(x * 2), heads(x + 1)),
    "scaled attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(
        heads(x), heads(x), heads(x), scale=0.3
    ),
    "parts": lambda lib, x: lib.nested.as_nested_tensor([row * 2 for row in x.unbind()], layout=lib.jagged),
    "of a strided tensor": lambda lib, x: lib.nested.as_nested_tensor(x.to_padded_tensor(0.0), layout=lib.jagged),
    "masked": lambda lib, x: lib.nested.masked_select(
        x.to_padded_tensor(0.0)[..., 0], x.to_padded_tensor(0.0)[..., 1] > 0
    ),
    "narrowed": lambda lib, x: lib.nested.narrow(
        x.to_padded_tensor(0.0), 1, lib.zeros(len(x)).long(), x.offsets().diff(), layout=lib.jagged
    ),
}

#: Cases whose backward torch refuses, gets wrong (it mixes rows), or crashes in; only the results of these are compared.
#: Their gradients are compared row by row in the package's own tests.
WITHOUT_BACKWARD = {
    "bmm to strided",
    "gelu",
    "log_softmax",
    "max of rows with places",
    "mean of rows",
    "narrow",
    "one column",
    "prod",
    "prod of rows",
    "padded columns",
    "select",
    "slice",
    "softmax of rows",
    "split",
    "sum of batch and rows",
    "sum of columns",
    "sum of rows",
    "sum of rows, kept",
    "transposed sum",
    "unsqueeze",
}
#: Calls that both refuse.
REFUSED = {
    "other offsets": lambda lib, x: x + same_offsets(lib, x, x.values()).to(lib.float32) * _again(lib, x),
    "another batch": lambda lib, x: x * lib.ones(9, 1, x.size(2)),
    "another width": lambda lib, x: x * lib.ones(x.size(2) + 2),
    "sum of the batch": lambda lib, x: x.sum(0),
    "sum of rows and columns": lambda lib, x: x.sum((1, 2)),
    "cumsum of rows": lambda lib, x: x.cumsum(1),
    "softmax of the batch": lambda lib, x: x.softmax(0),
    "log_softmax of rows": lambda lib, x: x.log_softmax(1),
    "rms_norm of rows": lambda lib, x: lib.nn.functional.rms_norm(x, (x.size(1), x.size(2))),
    "transpose of the batch": lambda lib, x: x.transpose(0, 1),
    "permute of the batch": lambda lib, x: x.permute(1, 0, 2),
    "flatten of rows": lambda lib, x: x.flatten(1, 2),
    "view": lambda lib, x: x.view(len(x), -1),
    "part of rows": lambda lib, x: x[:, 0],
    "part of the batch": lambda lib, x: x[1:],
    "split of rows": lambda lib, x: x.split(1, 1),
    "chunk of rows": lambda lib, x: x.chunk(2, 1),
    "unbind of rows": lambda lib, x: x.unbind(1),
    "cat of the batch": lambda lib, x: lib.cat([x, x], 0),
    "cat of rows": lambda lib, x: lib.cat([x, x], 1),
    "expand": lambda lib, x: x.expand(len(x), 3, x.size(2)),
    "squeeze": lambda lib, x: x.squeeze(0),
    "unsqueeze": lambda lib, x: x.unsqueeze(0),
    "matmul": lambda lib, x: x @ x,
    "attention with a mask": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(
        heads(x), heads(x), heads(x), attn_mask=lib.ones(2, 2)
    ),
    "numpy": lambda lib, x: x.detach().numpy(),
    "tolist": lambda lib, x: x.tolist(),
    "bool": lambda lib, x: bool(x),
    "arithmetic of sizes": lambda lib, x: x.size(1) + 1,
    "int of a size": lambda lib, x: int(x.size(1)),
    "order of sizes": lambda lib, x: x.size(1) > 5,
    "backward": lambda lib, x: (x * 2).backward(),
    "two ragged dims": lambda lib, x: lib.nested.nested_tensor([lib.ones(1, 2), lib.ones(2, 3)], layout=lib.jagged),
    "two ranks": lambda lib, x: lib.nested.nested_tensor([lib.ones(1, 2), lib.ones(2)], layout=lib.jagged),
    "no rows": lambda lib, x: lib.nested.nested_tensor([], layout=lib.jagged),
}


def _again(lib, x):
    return lib.nested.nested_tensor([row.detach() for row in x.unbind()], layout=lib.jagged)


def flat(found):
    """Return the strided tensors of a result, with the offsets of nested ones."""
    if isinstance(found, (list, tuple)):
        return [part for each in found for part in flat(each)]
    if not found.is_nested:
        return [found]
    return [*found.unbind()] if found.lengths() is not None else [found.values(), found.offsets()]


def sizes(found):
    """Return the sizes of a result, with a letter for the ragged one."""
    if isinstance(found, (list, tuple)):
        return [sizes(each) for each in found]
    return [size if type(size) is int else "j" for size in found.shape]


def run(function, lib, batch, *, backward=True):
    x = batch.to(lib)
    with warnings.catch_warnings(), lib.set_grad_enabled(backward):
        warnings.simplefilter("ignore")
        found = function(lib, x)
        parts = flat(found)
        needed = [each for each in parts if each.requires_grad]
        total = sum(((each.double() * each.double()).sum() for each in needed), lib.zeros(()).double())
        if needed:
            total.backward()
    return found, parts, x


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_torchs(name, seed):
    batch = Batch(seed, name)
    found, parts, x = run(CASES[name], torchlike, batch)
    wanted, others, y = run(CASES[name], torch, batch, backward=name not in WITHOUT_BACKWARD)
    assert sizes(found) == sizes(wanted)
    for part, other in zip(parts, others, strict=True):
        assert str(part.dtype).removeprefix("torchlike.").rpartition(".")[2] in str(other.dtype)
        tolerance = 2e-2 if "half" in name else 1e-5
        np.testing.assert_allclose(part.detach().numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance)
    assert (x.grad is None) == (y.grad is None) or name in WITHOUT_BACKWARD
    if y.grad is not None:
        assert x.grad.is_nested and x.grad.shape == x.shape
        np.testing.assert_allclose(x.grad.values().numpy(), y.grad.values().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_torchs(name):
    for lib in (torch, torchlike):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = Batch(1, name).to(lib)
            with pytest.raises(REFUSALS):
                REFUSED[name](lib, x)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("device", ["meta"])
def test_another_device_has_the_same_sizes(seed, device):
    for name in ("linear", "layer_norm", "heads", "sum of rows", "softmax", "attention", "cat", "reshape", "padded"):
        batch = Batch(seed, name)
        with torch.no_grad():
            wanted = CASES[name](torch, batch.to(torch))
        x = batch.to(torchlike).detach().to(device)
        with torchlike.device(device):
            found = CASES[name](torchlike, x)
        assert sizes(found) == sizes(wanted) and str(found.device) == device


#: Functions of a tensor of any rank, whose ragged dimension stands anywhere.
ARRANGED = {
    "sums": lambda lib, x: [x.sum(dim) for dim in (1, -1, (0, 1, 2))],
    "sum of two": lambda lib, x: x.sum((1, 2)),
    "sum with the batch": lambda lib, x: x.sum((0, 2), keepdim=True),
    "sum with the batch, first": lambda lib, x: x.sum((0, 1)),
    "means": lambda lib, x: [x.mean(dim, keepdim=True) for dim in (1, 2)],
    "extremes": lambda lib, x: [x.amax(1), x.amin(2), x.argmax(1), *x.max(2)],
    "truths": lambda lib, x: [(x > 0).any(1), (x > 0).all(2)],
    "softmax": lambda lib, x: x.softmax(1),
    "softmax of the last": lambda lib, x: x.softmax(-1),
    "transposed": lambda lib, x: x.transpose(1, 2),
    "transposed matrices": lambda lib, x: x.transpose(-1, -2),
    "permuted": lambda lib, x: x.permute(0, *range(x.dim() - 1, 0, -1)),
    "unsqueezed": lambda lib, x: [x.unsqueeze(dim) for dim in (1, 2, -1)],
    "selected": lambda lib, x: x.select(-1, 0),
    "selected first": lambda lib, x: x.select(1, 0),
    "padded": lambda lib, x: x.to_padded_tensor(0.5),
    "rows": lambda lib, x: list(x.unbind()),
    "flattened": lambda lib, x: x.flatten(1, 2),
    "flattened last": lambda lib, x: x.flatten(-2),
    "linear": lambda lib, x: lib.nn.functional.linear(x, lib.ones(2, 4)),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (4,)),
    "layer_norm of two": lambda lib, x: lib.nn.functional.layer_norm(x, (3, 4)),
    "rms_norm": lambda lib, x: lib.nn.functional.rms_norm(x, (4,)),
    "matmul": lambda lib, x: x @ lib.ones(4, 2),
    "matmul from the left": lambda lib, x: lib.ones(2, 3) @ x,
    "matmul with itself": lambda lib, x: x @ x.transpose(-1, -2),
    "plus a vector": lambda lib, x: x + lib.arange(4.0),
    "plus a matrix": lambda lib, x: x + lib.arange(12.0).reshape(3, 4),
    "plus a batch of one": lambda lib, x: x + lib.arange(12.0).reshape(1, 1, 3, 4),
    "plus one for each": lambda lib, x: x + lib.arange(float(len(x))).reshape(-1, *[1] * (x.dim() - 1)),
    "plus padded": lambda lib, x: x + x.to_padded_tensor(1.0),
    "joined": lambda lib, x: lib.cat([x, x], -1),
    "joined first": lambda lib, x: lib.cat([x, x], 1),
    "stacked": lambda lib, x: lib.stack([x, x], -1),
    "chunks": lambda lib, x: list(x.chunk(2, -1)),
    "split": lambda lib, x: list(x.split(2, 2)),
    "expanded": lambda lib, x: x.unsqueeze(-1).expand(*x.shape, 3),
    "viewed": lambda lib, x: x.view(*x.shape, 1),
    "reshaped": lambda lib, x: x.reshape(*x.shape[:-1], 2, 2),
    "squeezed": lambda lib, x: x.unsqueeze(-1).squeeze(-1),
    "copied": lambda lib, x: [x.clone(), x.transpose(1, 2).contiguous()],
}
#: Sizes of a row, with 0 for the ragged one.
ROWS = {
    "(B, j)": (0,),
    "(B, j, 3, 4)": (0, 3, 4),
    "(B, 3, j, 4)": (3, 0, 4),
    "(B, 4, j)": (4, 0),
    "(B, 2, 3, j)": (2, 3, 0),
}


@pytest.mark.parametrize("name", ARRANGED)
@pytest.mark.parametrize("sizes_of_rows", ROWS.values(), ids=ROWS)
def test_where_torch_computes_the_result_is_torchs_wherever_the_ragged_dimension_is(name, sizes_of_rows):
    numbers = np.random.default_rng(0)
    rows = [
        numbers.standard_normal([size or length for size in sizes_of_rows]).astype(np.float32) for length in (2, 4, 1)
    ]

    def compute(lib):
        x = lib.nested.nested_tensor([lib.from_numpy(row.copy()) for row in rows], layout=lib.jagged)
        found = ARRANGED[name](lib, x)
        # As strided tensors, since torch arranges values in several ways.
        parts = [part for each in (found if isinstance(found, list) else [found]) for part in to_rows(each)]
        return sizes(found), [part.detach().numpy() for part in parts]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = compute(torch)
        except REFUSALS:
            # Ours refuses, too, or takes a dimension that torch does not yet.
            return
        found = compute(torchlike)
    assert found[0] == wanted[0]
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def to_rows(found):
    return list(found.unbind()) if found.is_nested else [found]


def train(lib, seed):
    """Return the losses of a small transformer on batches of other lengths each."""
    numbers = np.random.default_rng(seed)
    functional = lib.nn.functional

    def parameter(*size):
        return lib.from_numpy(numbers.standard_normal(size).astype(np.float32) * 0.4).requires_grad_()

    names = {"embedding": (7, 8), "qkv": (24, 8), "out": (8, 8), "up": (16, 8), "down": (8, 16), "head": (3, 8)}
    weights = {name: parameter(*size) for name, size in (names | {"norm": (8,)}).items()}
    optimizer = lib.optim.AdamW(weights.values(), lr=0.02)
    losses = []
    for _ in range(6):
        rows = [lib.from_numpy(numbers.integers(0, 7, numbers.integers(1, 7))) for _ in range(5)]
        target = lib.from_numpy(numbers.integers(0, 3, 5))
        x = functional.embedding(lib.nested.nested_tensor(rows, layout=lib.jagged), weights["embedding"])
        projected = functional.linear(functional.layer_norm(x, (8,), weights["norm"]), weights["qkv"])
        q, k, v = (heads(each.contiguous()) for each in projected.chunk(3, -1))
        attended = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
        x = x + functional.linear(attended, weights["out"])
        up = functional.linear(functional.rms_norm(x, (8,)), weights["up"])
        x = x + functional.linear(functional.gelu(up), weights["down"])
        # torch's backward lacks sums of rows.
        loss = functional.cross_entropy(functional.linear(x.to_padded_tensor(0.0).sum(1), weights["head"]), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("seed", SEEDS)
def test_a_transformer_trains_as_torchs_does(seed):
    np.testing.assert_allclose(train(torchlike, seed), train(torch, seed), rtol=2e-4)


def test_ragged_sizes_are_written_as_torchs():
    for lib in (torch, torchlike):
        x = Batch(0, "sizes").to(lib)
        size = x.size(1)
        assert str(size).startswith("j") and str(2 * size) == f"2*{size}" and size >= 2 and size != 2
        assert size == (x + 1).size(1) != _again(lib, x).size(1)
        assert repr(x).startswith(f"NestedTensor(size=({len(x)}, {size}, {x.size(2)}), offsets=tensor([ 0,")
        assert repr(x).endswith("requires_grad=True, contiguous=True)")
