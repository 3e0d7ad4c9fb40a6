"""Nested tensors of layout jagged: each operator against the same on every row, and what is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import dispatch_core as dc
import torchlike
import torchlike.nn.functional as F
from torchlike.nested import ragged_sizes

JAGGED = {"layout": torchlike.jagged}


def make(*lengths, rest=(4,), requires_grad=False, device=None):
    torchlike.manual_seed(0)
    rows = [torchlike.randn(length, *rest) for length in lengths]
    return torchlike.nested.nested_tensor(rows, requires_grad=requires_grad, device=device, **JAGGED)


@pytest.fixture
def x():
    return make(2, 0, 5, 3, requires_grad=True)


def same(found, wanted):
    assert found.shape == wanted.shape and found.dtype is wanted.dtype
    assert torchlike.allclose(found, wanted, atol=1e-6, equal_nan=True)


# What a nested tensor is.


def test_its_ragged_size_equals_only_itself(x):
    other = make(2, 0, 5, 3)
    size = x.size(1)
    assert size == x.shape[1] == (x * 2).size(1) != other.size(1)
    assert size != 3 and {size: 1}[x.size(1)] == 1 and size >= 2 and repr(3 * size) == f"3*{size}" == str(size * 3)
    assert x.shape == (4, size, 4) and x.dim() == x.ndim == 3 and len(x) == 4 and x.numel() == 40
    assert x.stride() == (4 * size, 4, 1)
    for wrong in (
        lambda: size + 1,
        lambda: int(size),
        lambda: 7 // size,
        lambda: pickle.dumps(size),
        lambda: size * size,
        lambda: round(size),
        lambda: torchlike.tensor(size),
        lambda: torchlike.tensor([size]),
        lambda: x.values()[:size],
        lambda: x.values()[size:, 0],
    ):
        with pytest.raises(TypeError, match="the size of a ragged dimension"):
            wrong()
    with pytest.raises(ValueError, match="indeterminate"):
        assert size > 5


def test_threads_agree_on_a_ragged_size(x):
    made = torchlike.nested.nested_tensor_from_jagged(x.values(), x.offsets().clone())
    barrier = threading.Barrier(4)

    def read(_):
        barrier.wait()
        return made.size(1)

    with ThreadPoolExecutor(4) as pool:
        assert len({*pool.map(read, range(4))}) == 1


def test_ragged_sizes_die_with_their_offsets():
    before = len(ragged_sizes._known)
    y = make(1, 2)
    assert y.shape and len(ragged_sizes._known) > before
    del y
    gc.collect()
    assert len(ragged_sizes._known) <= before


def test_it_says_what_it_is(x):
    assert x.is_nested and x.layout is torchlike.jagged and not x.is_sparse and x.is_cpu and str(x.device) == "cpu"
    assert x.dtype is torchlike.float32 and x.is_leaf and x.requires_grad and x.grad is None and x.is_contiguous()
    size = x.size(1)
    assert (
        repr(x.detach()) == f"NestedTensor(size=(4, {size}, 4), offsets=tensor([ 0,  2,  2,  7, 10]), contiguous=True)"
    )
    assert "requires_grad=True" in repr(x) and "grad_fn=<MulBackward0>" in repr(x * 2)
    assert x.offsets().tolist() == [0, 2, 2, 7, 10] and x.lengths() is None and x.values().shape == (10, 4)
    assert dc.shape(x) == x.shape and dc.dtype(x) is x.dtype and str(dc.device(x)) == "cpu"


def test_data_that_no_nested_tensor_has_are_refused():
    ones = torchlike.ones
    for rows, text in (
        ([], "empty tensor list"),
        ([ones(2, 3), ones(4, 5)], "single ragged dimension"),
        ([ones(2, 3), ones(4)], "the same dim"),
        ([ones(2), ones(4).double()], "the same dtype"),
        ([ones(2), ones(4, device="meta")], "the same device"),
        ([ones(()), ones(())], "zero-dim"),
        ([make(1)], "from nested tensors"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torchlike.nested.nested_tensor(rows, **JAGGED)
    with pytest.raises(RuntimeError, match=r"unsupported for nested tensors: torchlike\.sparse_coo"):
        torchlike.nested.nested_tensor([ones(2)], layout=torchlike.sparse_coo)
    with pytest.raises(TypeError, match="tensor or a list"):
        torchlike.nested.as_nested_tensor([[1.0]], **JAGGED)
    with pytest.raises(RuntimeError, match=r"dim\(\) > 1"):
        torchlike.nested.as_nested_tensor(ones(3), **JAGGED)


def test_components_that_do_not_fit_are_refused():
    values, offsets = torchlike.ones(4, 2), torchlike.tensor([0, 1, 4])
    make_jagged = torchlike.nested.nested_tensor_from_jagged
    for given, error, text in (
        ((values,), RuntimeError, "At least one"),
        ((values, offsets.float()), RuntimeError, "vector of integers"),
        ((values, offsets.reshape(1, 3)), RuntimeError, "vector of integers"),
        ((values, offsets.to("meta")), RuntimeError, "offsets on meta"),
        ((values, offsets, torchlike.tensor([1])), RuntimeError, "are 2 and 1"),
        ((values, offsets, None, 0), ValueError, "jagged_dim >=1"),
        ((values, offsets, None, 4), RuntimeError, "not a dimension"),
        ((make(1), offsets), TypeError, "values must be a strided tensor"),
        ((values, [0, 4]), TypeError, "offsets must be a strided tensor, not list"),
    ):
        with pytest.raises(error, match=text):
            make_jagged(*given)
    with pytest.raises(RuntimeError, match="do not divide"):
        make_jagged(values, torchlike.tensor([0, 1, 3])).unbind()


def test_it_is_made_of_components():
    values = torchlike.arange(6.0, requires_grad=True)
    y = torchlike.nested.nested_tensor_from_jagged(values, lengths=torchlike.tensor([2, 4]))
    assert [row.tolist() for row in y] == [[0, 1], [2, 3, 4, 5]] and not y.is_leaf
    (y * 2).sum().backward()
    assert values.grad.tolist() == [2] * 6
    gaps = torchlike.nested.nested_tensor_from_jagged(values, torchlike.tensor([0, 3, 6]), torchlike.tensor([2, 1]))
    assert [row.tolist() for row in gaps] == [[0, 1], [3]] and gaps.numel() == 3 and not gaps.is_contiguous()
    assert gaps.contiguous().values().tolist() == [0, 1, 3] and gaps.lengths().tolist() == [2, 1]
    with pytest.raises(RuntimeError, match="gaps between its rows"):
        gaps.sum(1)


def test_it_is_part_of_a_strided_tensor():
    base = torchlike.arange(12.0).reshape(3, 4)
    y = torchlike.nested.narrow(base, 1, torchlike.tensor([0, 1, 2]), torchlike.tensor([2, 3, 1]), **JAGGED)
    assert [row.tolist() for row in y] == [[0, 1], [5, 6, 7], [10]]
    y.add_(100)
    assert base[0, 0] == 100
    assert [row.tolist() for row in torchlike.nested.narrow(base, 1, 1, 2, **JAGGED)][1] == [105, 106]
    for wrong, text in (
        ((base, 2, 0, 1), "dim=1"),
        ((base, 1, "0", 1), "start must"),
        ((base, 1, 0, None), "length must"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torchlike.nested.narrow(*wrong, **JAGGED)
    rows = torchlike.nested.as_nested_tensor(base, **JAGGED)
    assert rows.unbind()[1].tolist() == base[1].tolist()


# Operators.


def sizes(x):
    return (x.shape[0], x.size(1), 4)


#: What both a nested tensor and each of its rows, with a dimension for the batch, are given.
ROW_WISE = {
    "exp": lambda x: x.exp(),
    "a number": lambda x: 2 * x - x / 3 + 1,
    "comparison": lambda x: (x > 0) & ~(x < -1),
    "a vector": lambda x: x * torchlike.arange(4.0) + torchlike.ones(1, 1, 4),
    "where": lambda x: torchlike.where(x > 0, x, -x),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "gelu": lambda x: F.gelu(x) + F.silu(x) + F.softplus(x),
    "dtype": lambda x: x.double().to(torchlike.float16),
    "linear": lambda x: F.linear(x, torchlike.ones(3, 4), torchlike.arange(3.0)),
    "matmul": lambda x: x @ torchlike.arange(12.0).reshape(4, 3),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: F.log_softmax(x, 2),
    "softmax of the rows": lambda x: x.softmax(1),
    "layer_norm": lambda x: F.layer_norm(x, (4,), torchlike.arange(4.0)),
    "rms_norm": lambda x: F.rms_norm(x, (4,)),
    "sum": lambda x: x.sum(-1),
    "sum of the rows": lambda x: x.sum(1),
    "mean, kept": lambda x: x.mean(2, keepdim=True),
    "mean of the rows": lambda x: x.mean(1, keepdim=True),
    "maximum": lambda x: x.amax(-1) + x.max(dim=2).values,
    "var": lambda x: x.var(2) + x.logsumexp(-1),
    "cumsum": lambda x: x.cumsum(2).flip(-1),
    "sort": lambda x: x.sort(-1).values,
    "topk": lambda x: torchlike.topk(x, 2).values,
    "transpose": lambda x: x.transpose(1, 2).exp().transpose(1, 2),
    "permute": lambda x: x.unsqueeze(-1).permute(0, 3, 1, 2).permute(0, 2, 3, 1).squeeze(-1),
    "heads": lambda x: x.unflatten(-1, (2, 2)).transpose(1, 2).mul(3).transpose(1, 2).flatten(-2),
    "reshape": lambda x: x.reshape(x.shape[0], x.shape[1], 2, 2).sum(-1),
    "slice": lambda x: x[:, :, 1:3] + x[..., 0:1],
    "select": lambda x: x[..., 2],
    "greater of two": lambda x: torchlike.max(x, x * 2) - x.min(-x),
    "sizes of another": lambda x: x.view_as(x * 2) + x.unsqueeze(2).reshape_as(x),
    "chunk": lambda x: x.chunk(2, -1)[1] * x.split([1, 3], 2)[0],
    "cat": lambda x: torchlike.cat([x, x * 2], -1),
    "stack": lambda x: torchlike.stack([x, x], 2),
    "like": lambda x: torchlike.ones_like(x) + torchlike.zeros_like(x),
    "movedim": lambda x: x.movedim(-1, 1).mT,
    "expand": lambda x: x.unsqueeze(2).expand(x.shape[0], x.shape[1], 3, 4).sum(2),
}


@pytest.mark.parametrize("name", ROW_WISE)
def test_an_operator_is_that_of_each_row(name):
    function = ROW_WISE[name]
    x = make(2, 4, 1, requires_grad=True)
    rows = [row.detach().requires_grad_() for row in x.unbind()]
    found = function(x)
    wanted = [function(row.unsqueeze(0)).squeeze(0) for row in rows]
    for one, other in zip(found.unbind(), wanted, strict=True):
        same(one, other)
    if found.requires_grad:
        total = found.double().values() if found.is_nested else found.double()
        (total * total).sum().backward()
        sum((each.double() ** 2).sum() for each in wanted).backward()
        same(x.grad.values(), torchlike.cat([row.grad for row in rows]))


def test_reductions_of_everything_and_of_the_batch_with_the_rows(x):
    values = x.values().detach()
    for found, wanted in (
        (x.sum(), values.sum()),
        (x.mean(), values.mean()),
        (x.amax(), values.amax()),
        (x.sum((0, 1)), values.sum(0)),
        (x.mean((0, 1, 2), keepdim=True), values.mean().reshape(1, 1, 1)),
        ((x > 0).any(), (values > 0).any()),
    ):
        same(found, wanted)


def test_rows_without_elements_have_the_neutral_sum(x):
    assert x.sum(1)[1].tolist() == [0] * 4 and torchlike.isnan(x.mean(1)[1]).all()
    empty = torchlike.nested.nested_tensor([torchlike.ones(0, 2), torchlike.ones(0, 2)], **JAGGED)
    assert empty.sum(1).tolist() == [[0, 0]] * 2 and empty.to_padded_tensor(1.0).shape == (2, 0, 2)
    assert [row.shape for row in empty] == [(0, 2)] * 2 and (empty + 1).values().shape == (0, 2)


def test_a_strided_operand_with_a_batch_is_spread_over_the_rows():
    x = make(2, 4, 1)
    each = torchlike.arange(12.0).reshape(3, 1, 4)
    padded = torchlike.arange(48.0).reshape(3, 4, 4)
    for number, row in enumerate((x * each).unbind()):
        same(row, x[number] * each[number])
    for number, row in enumerate((padded + x).unbind()):
        same(row, padded[number, : len(row)] + x[number])
    for number, row in enumerate((x.transpose(1, 2) - each.transpose(1, 2)).unbind()):
        same(row, x[number].T - each[number].T)
    for wrong in (torchlike.ones(2, 1, 4), torchlike.ones(3, 2, 4), torchlike.ones(7, 4), make(2, 4, 1)):
        with pytest.raises(
            RuntimeError, match=r"cannot call binary pointwise function mul.Tensor(.|\n)*Hint: nested tensors fit"
        ):
            x * wrong
    with pytest.raises(NotImplementedError, match="a tensor of 4"):
        x * torchlike.ones(2, 3, 1, 4)
    same((x + torchlike.nested.nested_tensor_from_jagged(torchlike.ones(7, 4), x.offsets())).values(), x.values() + 1)


def test_writes_reach_the_values():
    x = make(2, 3)
    values, before = x.values(), x.values().clone()
    assert x.add_(1) is x and x._version == 1
    x[0].zero_()
    assert values[:2].sum() == 0
    same(values[2:], before[2:] + 1)
    x *= 2
    x.copy_(torchlike.ones_like(x))
    assert values.sum() == values.numel()
    with pytest.raises(RuntimeError, match="cannot take the values"):
        torchlike.ones(2, 3, 4).add_(x)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        make(2, requires_grad=True).add_(1)


def test_products_of_ragged_matrices():
    q, k = make(2, 4, 1), make(2, 4, 1)
    k = torchlike.nested.nested_tensor_from_jagged(k.values() + 1, q.offsets())
    weights = torchlike.arange(36.0).reshape(3, 4, 3)
    for number, row in enumerate((q @ weights).unbind()):
        same(row, q[number] @ weights[number])
    for number, row in enumerate((weights.mT @ q.transpose(1, 2)).unbind()):
        same(row, weights[number].T @ q[number].T)
    for number, found in enumerate(q.transpose(1, 2).bmm(k)):
        same(found, q[number].T @ k[number])
    wide = q.unsqueeze(-1) @ k.unsqueeze(2)
    same(wide[1], q[1].unsqueeze(-1) @ k[1].unsqueeze(1))
    for wrong in (lambda: q @ make(1, 1, 1), lambda: q @ q, lambda: torchlike.ones(4, 4) @ q):
        with pytest.raises(RuntimeError, match=r"matmul\(\): not supported between inputs of shapes"):
            wrong()


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_stays_in_its_row(is_causal):
    def split(tensor):
        return tensor.unflatten(-1, (2, 3)).transpose(-3, -2)

    x = make(3, 1, 5, rest=(18,), requires_grad=True)
    rows = [row.detach().requires_grad_() for row in x]
    found = F.scaled_dot_product_attention(*map(split, x.chunk(3, -1)), is_causal=is_causal)
    assert found.shape == (3, 2, x.size(1), 3)
    wanted = [F.scaled_dot_product_attention(*map(split, row.chunk(3, -1)), is_causal=is_causal) for row in rows]
    for one, other in zip(found, wanted, strict=True):
        same(one, other)
    (found * found).sum().backward()
    sum((each * each).sum() for each in wanted).backward()
    same(x.grad.values(), torchlike.cat([row.grad for row in rows]))


def test_attention_between_rows_of_two_lengths():
    q, kv = make(3, 1, rest=(2, 4)).transpose(1, 2), make(2, 5, rest=(2, 4)).transpose(1, 2)
    found = F.scaled_dot_product_attention(q, kv, kv)
    for number, row in enumerate(found):
        same(row, F.scaled_dot_product_attention(q[number], kv[number], kv[number]))
    with pytest.raises(ValueError, match="Masks are not yet supported"):
        F.scaled_dot_product_attention(q, kv, kv, attn_mask=torchlike.ones(3, 5))
    for wrong, text in (((q, kv, q), "the same rows"), ((q, torchlike.ones(2, 2, 3, 4), kv), "must all be nested")):
        with pytest.raises(RuntimeError, match=text):
            F.scaled_dot_product_attention(*wrong)
    with pytest.raises(RuntimeError, match=r"of sizes \(B, heads, j, D\)"):
        F.scaled_dot_product_attention(*[make(3, 1)] * 3)


def test_dropout_and_embedding():
    x = make(3, 5)
    dropped = F.dropout(x, 0.5)
    assert dropped.size(1) == x.size(1) and 0 < (dropped.values() == 0).sum() < x.numel()
    indices = torchlike.nested.nested_tensor([[1, 2], [0]], **JAGGED)
    weight = torchlike.arange(6.0).reshape(3, 2).requires_grad_()
    found = F.embedding(indices, weight)
    assert found.values().tolist() == [[2, 3], [4, 5], [0, 1]] and found.size(1) == indices.size(1)
    found.sum().backward()
    assert weight.grad.tolist() == [[1, 1]] * 3


def test_padded_tensors():
    x = make(2, 0, 3, requires_grad=True)
    padded = x.to_padded_tensor(-1.0)
    assert padded.shape == (3, 3, 4) and (padded[1] == -1).all() and padded[0, 2].tolist() == [-1] * 4
    same(padded[2], x[2])
    assert torchlike.nested.to_padded_tensor(x, 0.0, (3, 7, 4)).shape == (3, 7, 4)
    assert x.transpose(1, 2).to_padded_tensor(0.0).shape == (3, 4, 3)
    (padded * padded).sum().backward()
    same(x.grad.values(), 2 * x.values().detach())
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        x.to_padded_tensor(0.0, (3, 2, 4))
    with pytest.raises(RuntimeError, match="does not fit"):
        x.to_padded_tensor(0.0, (3, 7, 5))
    with pytest.raises(RuntimeError, match="strided already"):
        torchlike.nested.to_padded_tensor(torchlike.ones(2), 0.0)


REFUSED = [
    (lambda x: x.sum(0), "reducing along the batch dimension"),
    (lambda x: x.sum((1, 2)), "ragged and non-batch dimension"),
    (lambda x: x.cumsum(1), "on ragged dim"),
    (lambda x: x.cumsum(0), "on dim=0"),
    (lambda x: x.logsumexp(1), "on ragged dim"),
    (lambda x: x.var(), "no kernel|reducing all dimensions"),
    (lambda x: x.norm(), "reducing all dimensions"),
    (lambda x: x.softmax(0), "across the batch dimension"),
    (lambda x: x.log_softmax(1), "along the ragged dimension"),
    (lambda x: x[:, 0], "on ragged dim"),
    (lambda x: x[1:], "on dim=0"),
    (lambda x: x[torchlike.tensor([0])], "not Tensor"),
    (lambda x: x[9], "out of range"),
    (lambda x: x[0, 0, 0, 0, 0], "too many indices|invalid index"),
    (lambda x: x.transpose(0, 1), "batch dimension"),
    (lambda x: x.permute(1, 0, 2), "batch dimension"),
    (lambda x: x.permute(0, 1), "does not match the length"),
    (lambda x: x.permute(0, 1, 1), "duplicate dims"),
    (lambda x: x.flatten(0, 1), "on dim=0"),
    (lambda x: x.view(4, -1), "cannot view shape"),
    (lambda x: x.reshape(40, 4), "cannot view shape"),
    (lambda x: x.unbind(1), "only supported for NestedTensor on dim=0"),
    (lambda x: x.split(1, 0), "on dim=0"),
    (lambda x: torchlike.cat([x, x], 0), "on dim=0"),
    (lambda x: torchlike.cat([x, make(1)], 2), "same nested structure"),
    (lambda x: x.expand(4, 3, 4), "cannot expand shape"),
    (lambda x: F.layer_norm(x, (x.size(1), 4)), "over the ragged dim"),
    (lambda x: F.linear(x.transpose(1, 2), torchlike.ones(2, 3)), "on ragged dim"),
    (lambda x: F.linear(torchlike.ones(2, 4), x), "torchlike.jagged in this argument"),
    (lambda x: F.conv1d(x, torchlike.ones(1, 1, 1)), "aten::conv1d.* no kernel"),
    (lambda x: torchlike.add(x, 1, out=x), "don't support automatic differentiation"),
    (lambda x: x.sum(5), "Dimension out of range"),
    (lambda x: x.nonzero(), "aten::nonzero"),
    (torchlike.where, "aten::where"),
    (lambda x: torchlike.einsum("bij->bji", x), "einsum"),
    (lambda x: x.numpy(), r"numpy\(\) is not supported"),
    (lambda x: x.tolist(), "not supported for tensors of layout torchlike.jagged"),
    (bool, "ambiguous"),
    (lambda x: x.backward(), "implicitly created only for scalar outputs"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_nested_tensors_do_not_have_is_refused_before_anything_runs(x, call, text):
    x.detach_()
    x.requires_grad_()
    with dc.profile() as profile, pytest.raises(Exception, match=f"(?s){text}"):
        call(x)
    computed = {event.name for event in profile.events} & {"aten::mul.Tensor", "aten::cat", "aten::sum"}
    assert computed <= {"aten::cat"}


# Gradients and copies.


def test_a_leafs_gradient_is_nested(x):
    (x * x).sum().backward()
    assert x.grad.is_nested and x.grad.shape == x.shape
    same(x.grad.values(), 2 * x.values().detach())
    (found,) = torchlike.autograd.grad((x * 3).sum(), x)
    assert found.is_nested and (found.values() == 3).all()
    (x * 2).backward(torchlike.ones_like(x))
    same(x.grad.values(), 2 * x.values().detach() + 2)
    x.grad = None
    assert x.grad is x._grad is None
    x.grad = torchlike.ones_like(x).detach()
    del x.grad
    assert x.grad is None and x.output_nr == 0
    for wrong in (make(1), torchlike.ones(3)):
        with pytest.raises(RuntimeError, match="same sizes"):
            x.grad = wrong


def test_a_leaf_is_cut_off_in_place(x):
    assert x.detach_() is x and not x.requires_grad and x.is_leaf
    copied = torchlike.nested.nested_tensor([torchlike.ones(2, requires_grad=True)], **JAGGED)
    assert not copied.requires_grad and copied.is_leaf


def test_hooks_see_nested_gradients(x):
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient) or gradient * 10)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert seen[0].is_nested and (x.grad.values() == 20).all() and (y.grad.values() == 1).all() and y.retains_grad


def test_gradients_of_gradients(x):
    (first,) = torchlike.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torchlike.autograd.grad(first.sum(), x)
    same(second.values(), 6 * x.values().detach())


def test_a_nested_tensor_is_made_of_tensors_with_a_history():
    a, b = torchlike.ones(2, requires_grad=True), torchlike.ones(3, requires_grad=True)
    y = torchlike.nested.as_nested_tensor([a, b], **JAGGED)
    assert not y.is_leaf
    (y * torchlike.tensor([[2.0], [5.0]])).sum().backward()
    assert a.grad.tolist() == [2, 2] and b.grad.tolist() == [5] * 3
    assert not torchlike.nested.nested_tensor([a, b], **JAGGED).requires_grad


def test_copies(x):
    made = copy.deepcopy(x)
    assert made.is_leaf and made.requires_grad and made.size(1) != x.size(1)
    same(made.values().detach(), x.values().detach())
    again = pickle.loads(pickle.dumps(x))  # our own
    assert again.is_nested and again.requires_grad and again.offsets().tolist() == x.offsets().tolist()
    assert x.detach().values().data_ptr() == x.values().data_ptr() and not x.detach().requires_grad
    assert x.clone().grad_fn is not None and x.data.size(1) == x.size(1)


# Devices and layers.


@pytest.mark.parametrize("device", ["meta"])
def test_other_devices_have_the_same_ragged_size(x, device):
    there = x.to(device)
    assert there.size(1) == x.size(1) and there.is_meta and str(there.device) == device and there.offsets().is_meta
    found = F.layer_norm(F.linear(there, torchlike.ones(3, 4, device=device)), (3,)).softmax(-1).mean(1)
    assert found.shape == (4, 3) and str(found.device) == device
    with pytest.raises(RuntimeError, match="same device"):
        there + x


def attend(x):
    q, k, v = (each.unflatten(-1, (2, 2)).transpose(1, 2) for each in (x, x * 2, x + 1))
    return F.layer_norm(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2), (4,)) + x.mean(
        1, keepdim=True
    )


def test_a_pipeline_records_the_calls_on_the_values():
    x = make(2, 4, 1, requires_grad=True)
    attend(x).sum().backward()
    wanted, gradient = attend(x).detach(), x.grad.values().clone()
    x.grad = None
    with torchlike.pipeline() as pipeline:
        found = attend(x)
        found.sum().backward()
        assert found._pending and x.grad._pending
        assert not pipeline.stats().flushes
    assert not found._pending
    same(found.values().detach(), wanted.values())
    same(x.grad.values(), gradient)


@pytest.mark.no_pipeline(reason="it opens a pipeline of its own, and counts what ends its parts")
def test_values_that_decide_flush_a_pipeline():
    x = make(2, 4, 1)
    with torchlike.pipeline() as pipeline:
        rows = (x + 1).unbind()
        assert [len(row) for row in rows] == [2, 4, 1] and rows[0]._pending
        assert sum(pipeline.stats().boundaries.values()) == 1
    same(rows[1], x[1] + 1)


def test_a_captured_function_replays_with_other_rows():
    calls = []

    @torchlike.capture
    def run(x):
        calls.append(1)
        return attend(x), x.sum(1)

    for lengths in ((2, 4, 1), (2, 4, 1), (1, 4, 2), (4, 1, 2), (2, 4, 1)):
        x = make(*lengths)
        found, total = run(x)
        same(found.values(), attend(x).values())
        same(total, x.sum(1))
        assert found.size(1) == x.size(1)
    assert len(calls) < 5


def test_sums_of_rows_read_no_lengths():
    values, offsets = torchlike.arange(12.0).reshape(6, 2), torchlike.tensor([0, 2, 2, 6])

    def add(values, offsets):
        x = torchlike.nested.nested_tensor_from_jagged(values, offsets)
        return x.sum(1), x.mean(1, keepdim=True), (x * x.sum(1, keepdim=True)).values()

    wanted = add(values, offsets)
    assert wanted[0].tolist() == [[2, 4], [0, 0], [28, 32]]
    with torchlike.pipeline() as pipeline:
        found = add(values, offsets)
        assert not pipeline.stats().boundaries
    captured = torchlike.capture(add)
    for results in (found, *[captured(values, offsets) for _ in range(3)]):
        for one, other in zip(results, wanted, strict=True):
            same(one, other)
    other = captured(values, torchlike.tensor([0, 1, 5, 6]))[0]
    assert other.tolist() == [[0, 1], [20, 24], [10, 11]]


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "bfloat16", "float64", "complex64"])
def test_sums_of_rows_have_the_dtype_of_strided_sums(dtype):
    x = make(3, 2).to(getattr(torchlike, dtype))
    for found, row in zip(x.sum(1), x.unbind(), strict=True):
        assert found.dtype is row.sum(0).dtype
        same(found.to(torchlike.complex128), row.sum(0).to(torchlike.complex128))
    assert x.sum(1, dtype=torchlike.float64).dtype is torchlike.float64
    if dtype in ("int32", "bool"):
        with pytest.raises(RuntimeError, match="dtype"):
            x.mean(1)


def test_a_profile_has_the_call_and_its_parts(x, tmp_path):
    with dc.profile() as profile:
        F.linear(x, torchlike.ones(3, 4))
    assert {"aten::linear"} <= {event.name for event in profile.events}
    assert "aten::linear" in str(profile)
    profile.export_chrome_trace(tmp_path / "trace.json")
    assert f'[4, "{x.size(1)}", 4]' in (tmp_path / "trace.json").read_text()


def test_a_trace_has_the_calls_on_the_values(x):
    with dc.trace() as trace:
        y = (x.detach() * 2).values()
        trace.returns(y)
    assert "aten::mul" in str(trace)
    same(trace.replay(torchlike.ones(3)), torchlike.full((3,), 2.0))


def test_autocast_casts_the_calls_on_the_values(x):
    weight = torchlike.ones(3, 4, requires_grad=True)
    with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
        y = F.linear(x, weight)
        assert y.dtype is torchlike.bfloat16 and (x + 1).dtype is torchlike.float32
        y.sum().backward()
    assert x.grad.dtype is weight.grad.dtype is torchlike.float32


def test_transforms_take_nested_tensors_that_a_function_captures(x):
    weight, x = torchlike.randn(3, 4), x.detach()
    found = torchlike.func.grad(lambda weight: F.linear(x, weight).sum())(weight)
    same(found, x.values().sum(0).expand(3, 4))
    each = torchlike.func.vmap(lambda weight: F.linear(x, weight).sum(1))(torchlike.stack([weight, weight * 2]))
    same(each[1], 2 * F.linear(x, weight).sum(1))

    def loss(values):
        return torchlike.nested.nested_tensor_from_jagged(values, x.offsets()).square().sum()

    same(torchlike.func.grad(loss)(x.values()), 2 * x.values())
    same(torchlike.func.vmap(lambda x: x.sum())(x), torchlike.stack([row.sum() for row in x.unbind()]))

    def make_inside(weight):
        rows = torchlike.nested.nested_tensor([torchlike.ones(2, 4), torchlike.ones(1, 4)], **JAGGED)
        return F.linear(rows, weight).sum()

    same(torchlike.func.grad(make_inside)(weight), torchlike.full((3, 4), 3.0))
    same(torchlike.func.vmap(make_inside)(torchlike.ones(2, 1, 4)), torchlike.tensor([12.0, 12.0]))


def test_transforms_that_pull_gradients_take_nested_arguments(x):
    func, x = torchlike.func, x.detach()
    found, value = func.grad_and_value(lambda x: (x**3).sum())(x)
    assert found.is_nested and found.size(1) == x.size(1) and not found.requires_grad
    same(found.values(), 3 * x.values() ** 2)
    same(value, (x.values() ** 3).sum())
    twice = func.grad(lambda x: func.grad(lambda x: (x**3).sum())(x).square().sum())(x)
    same(twice.values(), 36 * x.values() ** 3)
    weight = torchlike.ones(3, 4)
    by_x, by_weight = func.grad(lambda x, w: F.linear(x, w).sum(), argnums=(0, 1))(x, weight)
    same(by_x.values(), torchlike.full_like(x.values(), 3.0))
    same(by_weight, x.values().sum(0).expand(3, 4))
    result, multiply = func.vjp(lambda x: x * x, x)
    same(multiply(torchlike.ones_like(result))[0].values(), 2 * x.values())
    for call in (
        lambda: func.jacrev(lambda x: x.sum(1))(x),
        lambda: func.jacrev(lambda w: F.linear(x, w))(weight),
        lambda: func.jacfwd(lambda x: x.sum(1))(x),
        lambda: func.jacfwd(lambda w: F.linear(x, w))(weight),
        lambda: func.hessian(lambda x: x.sum())(x),
    ):
        with pytest.raises(TypeError, match=r"inputs and outputs of layout torchlike\.jagged are not supported"):
            call()


def test_forward_mode_gives_the_values_tangents(x):
    forward, x = torchlike.autograd.forward_ad, x.detach()
    way = torchlike.ones_like(x)
    with forward.dual_level():
        dual = forward.make_dual(x, way)
        primal, tangent = forward.unpack_dual(dual * dual)
        assert tangent.is_nested and tangent.size(1) == x.size(1)
        same(primal.values(), x.values() ** 2)
        same(tangent.values(), 2 * x.values())
        same(forward.unpack_dual(dual.sum(1)).tangent, way.sum(1))
        assert forward.unpack_dual(x).tangent is None
        with pytest.raises(RuntimeError, match="different size"):
            forward.make_dual(x, make(1))


def test_modes_see_the_calls_on_the_values(x):
    seen = []

    class Mode(dc.DispatchMode):
        def __dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(op.name)
            return op(*args, **(kwargs or {}))

    with Mode():
        y = x * 2
    assert seen and "aten::mul" in seen[0] and y.is_nested


def test_what_would_lose_a_gradient_is_refused(x):
    class Double(torchlike.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    with pytest.raises(TypeError, match=r"Double.apply\(\) records no tensors of layout torchlike.jagged"):
        Double.apply(x)
    assert Double.apply(x.detach()).is_nested


def test_an_optimizer_moves_a_nested_leaf():
    x = make(2, 3, requires_grad=True)
    before = x.values().detach().clone()
    (x * x).sum().backward()
    torchlike.optim.SGD([x], 0.25).step()
    same(x.values().detach(), before / 2)


def test_explanations_name_the_kernel(x):
    assert "AutogradNestedTensor" in str(dc.explain("aten::add.Tensor", x, x))


def test_it_has_the_names_that_programs_for_torch_read_components_by(x):
    assert (
        (x._offsets is x.offsets())
        and x._lengths is None
        and x._ragged_idx == 1
        and x._values is x._dispatch_data.values
    )
    y = torchlike.nested.nested_tensor_from_jagged(x.values(), x.offsets(), x.offsets().diff())
    assert (y._max_seqlen, y._min_seqlen, y._get_max_seqlen(), x.transpose(1, 2)._ragged_idx) == (5, 0, 5, 2)


def test_operators_of_a_program_take_nested_tensors(x):
    with dc.Library("ragged", "DEF") as library:
        for name in ("composite", "kernel", "nothing"):
            library.define(f"{name}(Tensor x) -> Tensor")
        library.impl("composite", lambda x: x * 3)
        library.impl("kernel", lambda x: x * 3, "NestedTensorCPU")
        library.impl("nothing", lambda x: x, "CPU")
        for op in (dc.ops.ragged.composite, dc.ops.ragged.kernel):
            y = op(x)
            assert y.size(1) == x.size(1) and type(y) is type(x)
            (found,) = torchlike.autograd.grad(y.sum(), x)
            assert (found.values() == 3).all()
        with pytest.raises(
            dc.NoKernelError, match=r"no kernel for NestedTensorCPU(.|\n)*Hint: x\.unbind\(\) has the rows"
        ):
            dc.ops.ragged.nothing(x)


def test_a_program_may_replace_a_rule(x):
    with dc.Library("aten", "IMPL") as library:
        mine = torchlike.ones(2)
        library.impl("neg", lambda self: mine, "AutogradNestedTensor", allow_override=True)
        assert (-x).tolist() == [1, 1]
    assert (-x).is_nested


def test_a_small_transformer_trains_on_nested_batches():
    torchlike.manual_seed(3)
    nn = torchlike.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.qkv, self.out = nn.Embedding(5, 8), nn.Linear(8, 24), nn.Linear(8, 2)
            self.norm, self.drop = nn.LayerNorm(8), nn.Dropout(0.0)

        def forward(self, x):
            x = self.embedding(x)
            q, k, v = (each.unflatten(-1, (2, 4)).transpose(1, 2) for each in self.qkv(self.norm(x)).chunk(3, -1))
            x = x + self.drop(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
            return self.out(x.mean(1))

    net = Net()
    optimizer = torchlike.optim.Adam(net.parameters(), 0.02)
    rows = [torchlike.randint(0, 5, (length,)) for length in (2, 5, 3, 4, 6, 2)]
    batch = torchlike.nested.nested_tensor(rows, **JAGGED)
    target = torchlike.stack([(row == 0).any() for row in rows]).long()
    losses = []
    for _ in range(25):
        loss = F.cross_entropy(net(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 5


# Losses.

LOSSES = (
    "l1_loss mse_loss smooth_l1_loss huber_loss soft_margin_loss poisson_nll_loss kl_div binary_cross_entropy"
    " binary_cross_entropy_with_logits"
).split()


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_an_element_wise_loss_is_that_of_the_values(name, reduction):
    x = make(2, 0, 5, 3).sigmoid().requires_grad_()
    target = (x * 0.5 + 0.1).detach()
    values = x.values().detach().requires_grad_()
    found = getattr(F, name)(x, target, reduction=reduction)
    wanted = getattr(F, name)(values, target.values(), reduction=reduction)
    assert found.is_nested is (reduction == "none")
    same(found.values() if found.is_nested else found, wanted)
    (found.values() if found.is_nested else found).sin().sum().backward()
    wanted.sin().sum().backward()
    same(x.grad.values(), values.grad)


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_broadcasts_strided_targets_and_refuses_other_rows(x):
    same(F.l1_loss(x, torchlike.ones(4)), F.l1_loss(x.values(), torchlike.ones(10, 4)))
    each = torchlike.arange(4.0).reshape(4, 1, 1)
    wanted = [F.mse_loss(row, torchlike.full((len(row), 4), float(at)), reduction="sum") for at, row in enumerate(x)]
    same(F.mse_loss(x, each, reduction="sum"), torchlike.stack(wanted).sum())
    for target in (make(2, 0, 5, 3), make(1, 2), torchlike.ones(3, 1, 4)):
        with pytest.raises(RuntimeError, match="with inputs of shapes"):
            F.l1_loss(x, target)


def test_classes_become_rows_of_zeros_and_a_one():
    tokens = torchlike.nested.nested_tensor([torchlike.tensor([0, 2]), torchlike.tensor([1])], **JAGGED)
    hot = F.one_hot(tokens, 3)
    assert hot.size(1) == tokens.size(1) and hot.values().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_sizes_are_the_same_only_where_the_ragged_ones_are(x):
    assert (
        x.is_same_size(x * 2) and not x.is_same_size(make(2, 0, 5, 3)) and not x.is_same_size(x.to_padded_tensor(0.0))
    )


def test_softmax_of_integers_along_the_rows_wants_a_dtype(x):
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        x.detach().long().softmax(1)
    found = x.detach().long().softmax(1, dtype=torchlike.float64)
    same(found.values(), x.detach().long().double().softmax(1).values())
