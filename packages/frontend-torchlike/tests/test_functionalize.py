"""Functions whose writes become values: the same results, views and gradients, and graphs without operators that write.

Random programs of views, writes and fresh values run as they are and under `functionalize`, and must agree in results,
errors, and in what a later write to any result reaches.
"""

from __future__ import annotations

import random

import pytest

import dispatch_core as dc
import torchlike as torch
from torchlike.func import functionalize, grad, jacrev, vmap

VIEWS = (
    lambda r, x: x.transpose(r.randrange(x.dim()), r.randrange(x.dim())) if x.dim() else x.unsqueeze(0),
    lambda r, x: x[r.randrange(x.shape[0])] if x.dim() and x.shape[0] else x.view(-1),
    lambda r, x: x[r.randrange(2) :: r.choice((1, 2))] if x.dim() else x.unsqueeze(0),
    lambda r, x: x[..., : r.randrange(1, 4)] if x.dim() else x.reshape(1),
    lambda r, x: x.reshape(-1),
    lambda r, x: x.view(-1),
    lambda r, x: x.flatten(),
    lambda r, x: x.unsqueeze(r.randrange(x.dim() + 1)),
    lambda r, x: x.squeeze(),
    lambda r, x: x.diagonal() if x.dim() >= 2 else x.unsqueeze(0),
    lambda r, x: r.choice(x.split(r.choice((1, 2)), 0)) if x.dim() and x.numel() else x.unsqueeze(0),
    lambda r, x: r.choice(x.unbind(0)) if x.dim() and x.shape[0] else x.unsqueeze(0),
    lambda r, x: r.choice(x.chunk(2)) if x.dim() and x.shape[0] else x.unsqueeze(0),
    lambda r, x: x.expand(2, *x.shape),
    lambda r, x: x.contiguous(),
    lambda r, x: x.permute(*r.sample(range(x.dim()), x.dim())),
    lambda r, x: x.unfold(0, 1, 1) if x.dim() and x.shape[0] else x.unsqueeze(0),
    lambda r, x: x.to(torch.float32),
    lambda r, x: x.detach(),
    lambda r, x: x.view(torch.int32).view(torch.float32),
)
FRESH = (
    lambda r, x, y: x + 1,
    lambda r, x, y: x.clone().t_(),
    lambda r, x, y: x.clone().unsqueeze_(0),
    lambda r, x, y: (x + 0).squeeze_(),
    lambda r, x, y: x * y if x.shape == y.shape else x * 2,
    lambda r, x, y: torch.zeros_like(x),
    lambda r, x, y: torch.ones(x.shape),
    lambda r, x, y: torch.cat([x, x]) if x.dim() else x - 1,
)
WRITES = (
    lambda r, x, y: x.add_(1),
    lambda r, x, y: x.mul_(2),
    lambda r, x, y: x.zero_(),
    lambda r, x, y: x.fill_(3),
    lambda r, x, y: x.copy_(y),
    lambda r, x, y: x.add_(y),
    lambda r, x, y: x.__setitem__(0, 7.0),
    lambda r, x, y: x.__setitem__(..., y),
    lambda r, x, y: x.masked_fill_(x > 2, -1.0),
    lambda r, x, y: torch.add(x, 1, out=x),
    lambda r, x, y: x.index_fill_(0, torch.tensor([0]), 4.0),
    lambda r, x, y: x.index_put_((torch.tensor([0]),), torch.tensor(2.0)),
    lambda r, x, y: x.cumsum_(0),
    lambda r, x, y: x.uniform_(),
    lambda r, x, y: x.fill_diagonal_(2.0),
    lambda r, x, y: x.pow_(2),
)


def make_program(seed, *, differentiable=False):
    """Return a function of two tensors that runs random steps, and returns all tensors that it has and its errors."""
    rng = random.Random(seed)
    length = rng.randrange(3, 14)
    views = VIEWS[:-2] if differentiable else VIEWS

    def program(*inputs):
        rng = random.Random(seed)
        pool, errors = list(inputs), []
        for _ in range(length):
            kind, x, y, own = rng.random(), rng.choice(pool), rng.choice(pool), random.Random(rng.random())
            try:
                if kind < 0.45:
                    pool.append(own.choice(views)(own, x))
                elif kind < 0.6:
                    pool.append(own.choice(FRESH)(own, x, y))
                else:
                    own.choice(WRITES)(own, x, y)
            except (RuntimeError, IndexError) as error:
                errors.append((type(error).__name__, str(error)))
        return pool, errors

    return program


def make_inputs(seed):
    torch.manual_seed(seed)
    base = torch.randn(3, 4)
    return base, [base.t()[1:] if seed % 3 else base, torch.randn(2, 3, 2)]


def assert_equal(found, expected):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert torch.allclose(found, expected, equal_nan=True)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("seed", range(20))
def test_a_random_program_does_the_same_without_writes(seed, remove):
    program = make_program(seed)
    base, given = make_inputs(seed)
    expected, errors = program(*given)
    if any("some elements of the input" in text for _, text in errors):
        return  # it reads the memory that it writes to, which is refused
    own_base, own = make_inputs(seed)
    with dc.trace() as trace:
        found, own_errors = functionalize(program, remove=remove)(*own)
    assert [name for name, _ in own_errors] == [name for name, _ in errors]
    writing = [step.op.name for step in trace.graph.steps if getattr(step, "op", None) and step.op.schema.is_mutable]
    assert writing in ([], ["aten::copy_"], ["aten::copy_"] * 2)
    for one, other in zip([own_base, *own, *found], [base, *given, *expected], strict=True):
        assert_equal(one, other)
    # Equal results share memory with each other, and with the inputs, as they do without.
    for one, other in zip(found, expected, strict=True):
        assert [one is each for each in own] == [other is each for each in given]
        try:
            other.add_(1)
        except RuntimeError:
            continue
        one.add_(1)
        for left, right in zip([*own, *found], [*given, *expected], strict=True):
            assert_equal(left, right)


@pytest.mark.parametrize("seed", range(20))
def test_gradients_of_a_random_program_are_the_same_without_writes(seed):
    program = make_program(seed, differentiable=True)

    def total(x, y):
        pool, errors = program(x * 1, y * 1)
        return sum(((each.clamp(-3, 3) * each.cos()).sum() for each in pool), torch.zeros(())), errors

    def run(function):
        _, given = make_inputs(seed)
        given = [each.clone().requires_grad_() for each in given]
        found, errors = function(*given)
        return torch.autograd.grad(found, given, allow_unused=True), errors

    try:
        expected, errors = run(total)
    except RuntimeError:
        return  # a value that backward needs was written to
    if errors:
        return  # what autograd refuses is computed where nothing is written
    found, _ = run(functionalize(total))
    for one, other in zip(found, expected, strict=True):
        assert (one is None) is (other is None)
        if one is not None:
            assert_equal(one, other)


def write_and_sum(x):
    y = x.clone()
    y[0].mul_(3)
    y[1:].add_(x[:2])
    return (y * y).sum()


def test_it_composes_with_the_other_transforms_in_both_orders():
    x = torch.tensor([1.0, 2.0, 3.0])
    rows = torch.stack([x, x + 1])
    expected, each = grad(write_and_sum)(x), vmap(grad(write_and_sum))(rows)
    for composed in (grad(functionalize(write_and_sum)), functionalize(grad(write_and_sum))):
        assert_equal(composed(x), expected)
    for composed in (
        functionalize(vmap(grad(write_and_sum))),
        vmap(functionalize(grad(write_and_sum))),
        vmap(grad(functionalize(write_and_sum))),
    ):
        assert_equal(composed(rows), each)
    assert_equal(jacrev(functionalize(lambda x: x.clone().mul_(x)))(x), torch.diag(2 * x))
    for composed in (functionalize(vmap(lambda row: row.add_(1))), vmap(functionalize(lambda row: row.add_(1)))):
        given = torch.zeros(2, 3)
        assert composed(given).tolist() == given.tolist() == [[1.0] * 3] * 2


def test_arguments_captured_tensors_and_their_views_are_written_to_once():
    x, captured = torch.zeros(3), torch.zeros(2, 2)
    column = captured.t()[0]

    def function(x):
        for _ in range(3):
            x.add_(1)
            column.add_(x[:2])
        return x, captured[0], column, x[1:]

    with dc.trace() as trace:
        whole, row, same, part = functionalize(function)(x)
    assert [step.op.name for step in trace.graph.steps].count("aten::copy_") == 2
    assert (x.tolist(), captured.tolist()) == ([3] * 3, [[6, 0], [6, 0]])
    assert whole is x
    assert same is column
    assert row._base is captured
    assert part._base is x
    x.zero_()
    assert part.tolist() == [0, 0]


def test_a_trace_without_writes_is_replayed_and_leaves_ordinary_tensors():
    x, parameter = torch.ones(3), torch.nn.Parameter(torch.ones(3))
    tail = x[1:]
    with dc.trace(functional=True) as trace:
        y = x * 2
        first = y[0]
        first.mul_(5)
        x.add_(y)
        tail.zero_()
        with torch.no_grad():
            parameter.sub_(0.5)
        trace.returns(x.sum(), y, x)
    writing = [step.op.name for step in trace.graph.steps if step.op.schema.is_mutable]
    assert writing == ["aten::copy_"] * 2
    assert [step.op.name for step in trace.graph.steps[-2:]] == writing
    assert (x.tolist(), parameter.tolist(), y.tolist()) == ([11, 0, 0], [0.5] * 3, [10, 2, 2])
    y.zero_()
    assert first.item() == 0
    total, product, same = trace.replay(torch.ones(3) * 2, torch.zeros(3))
    assert (total.item(), product.tolist(), same.tolist()) == (22, [20, 4, 4], [22, 0, 0])
    assert (x + 1)._dispatch_mask == torch.ones(1)._dispatch_mask


def test_a_trace_without_writes_takes_the_composites_apart_that_write_to_their_buffers():
    layer, x = torch.nn.BatchNorm1d(2), torch.randn(4, 2)
    expected = torch.nn.BatchNorm1d(2)
    with dc.trace(functional=True) as trace:
        found = layer(x)
    assert {step.op.name for step in trace.graph.steps if step.op.schema.is_mutable} == {"aten::copy_"}
    assert_equal(found, expected(x))
    assert_equal(layer.running_var, expected.running_var)
    found.sum().backward()


def test_what_has_no_functional_form_is_refused_by_name():
    shared = torch.zeros(4)
    x, y = shared.detach()[:2], shared.detach()[1:]

    def write(x, y):
        x.add_(1)
        return y.sum()

    with pytest.raises(RuntimeError, match="shares its memory with another one in a way that is not known"):
        functionalize(write)(x, y)
    with pytest.raises(RuntimeError, match=r"cannot change the shape or the strides of a tensor from outside.*\n?.*t_"):
        functionalize(lambda x: x.t_())(torch.zeros(2, 3))
    with pytest.raises(RuntimeError, match="as_strided takes a contiguous tensor that is not a view"):
        functionalize(lambda x: x.t().as_strided((2,), (1,)))(torch.zeros(2, 3))
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
        functionalize(write, remove="views")
    with pytest.raises(RuntimeError, match="backward\\(\\) called inside a functorch transform"):
        functionalize(lambda x: (x * x).sum().backward())(torch.ones(2, requires_grad=True))
    with dc.Library("lonely", "DEF") as library:
        library.impl(library.define("write_(Tensor(a!) x) -> Tensor(a!)"), lambda x: x, "CPU")
        with pytest.raises(RuntimeError, match="neither a functional overload nor a composite tells what it writes"):
            functionalize(dc.ops.lonely.write_)(torch.ones(2))


def test_an_error_in_the_function_leaves_the_writes_before_it_as_without():
    x = torch.zeros(2)

    def fail(x):
        x.add_(1)
        raise OSError("on purpose")

    with pytest.raises(OSError, match="on purpose"):
        functionalize(fail)(x)
    assert x.tolist() == [1, 1]
    assert torch.func.grad(torch.sin)(torch.zeros(())).item() == 1


def set_to_a_view(x):
    y = x * 1
    y.set_(x[0])
    y.add_(1)
    return y


def write_lists(x):
    torch._foreach_mul_([x, x[0] * 1], 2.0)
    x[x > 0] = 0
    return x


def write_what_decides(x):
    x.add_(1)
    return (x * 2 if x.sum().item() > 0 else x * 3), x.tolist()


def drop(x):
    return torch.nn.functional.dropout(x, 0.5, training=True, inplace=True).mul_(2)


def write_by_several_outs(x):
    values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(x, 0, out=(values, places))
    values.add_(1)
    return values, places


def write_parts_of_complex_numbers(x):
    z = torch.complex(x, x)
    z.real.add_(1)
    z.imag.zero_()
    return z.abs()


def carry_rows(x):
    carried, rows = torch.zeros(4), torch.empty(3, 4)
    for number in range(3):
        carried = carried * 0.5 + x[number]
        rows[number] = carried
    return rows


def take_a_step(x):
    parameter = torch.nn.Parameter(x.detach().clone())
    optimizer = torch.optim.Adam([parameter], lr=0.1)
    parameter.grad = torch.ones_like(x)
    optimizer.step()
    return parameter.detach()


@pytest.mark.parametrize(
    "program",
    [
        set_to_a_view, write_lists, write_what_decides, drop, write_by_several_outs, write_parts_of_complex_numbers,
        carry_rows, take_a_step,
    ],
)  # fmt: skip
def test_programs_of_many_kinds_do_the_same_without_writes(program):
    outcomes = []
    for function in (program, functionalize(program)):
        torch.manual_seed(0)
        x = torch.randn(3, 4)
        with dc.trace() as trace:
            found = function(x)
        outcomes.append([x, *(found if isinstance(found, tuple) else [found])])
    for one, other in zip(*outcomes, strict=True):
        assert one == other if isinstance(one, list) else torch.allclose(one, other)
    assert {step.op.name for step in trace.graph.steps if getattr(step, "op", None) and step.op.schema.is_mutable} <= {
        "aten::copy_"
    }


def test_an_optimizers_step_is_traced_without_writes():
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    before = [parameter.detach().clone() for parameter in layer.parameters()]
    for functional in (False, True):
        for parameter in layer.parameters():
            parameter.grad = torch.ones_like(parameter)
        with dc.trace(functional=functional) as trace:
            optimizer.step()
    assert [step.op.name for step in trace.graph.steps if step.op.schema.is_mutable] == ["aten::copy_"] * 4
    for parameter, first in zip(layer.parameters(), before, strict=True):
        assert torch.allclose(first - parameter, torch.full_like(first, 0.1 + 0.19))


# Sparse tensors.

PLACES = torch.tensor([[0, 1, 1], [2, 0, 2]])
SPARSE_PROGRAMS = {
    "products": lambda s, x: (s @ x).relu_().mul_(2),
    "torch.sparse.mm": lambda s, x: torch.sparse.mm(s, x).add_(1),
    "sparse results": lambda s, x: (s @ s.t()) + (s * x.t()) @ s.t(),
    "written to by sparse ones": lambda s, x: x.t().clone().add_(s, alpha=2).mul_(s),
    "an argument that is written to": lambda s, x: x.mul_(2).sum() + (s @ x),
    "parts": lambda s, x: s.coalesce().values().sin() + s.coalesce().indices().sum(),
    "rows": lambda s, x: [row.to_dense().add_(1) for row in s.unbind(0)],
    "sparse ones of its own": lambda s, x: torch.sparse_coo_tensor(PLACES, x.mul_(2)[:, 0], (2, 3)) @ x,
    "to_sparse": lambda s, x: (x * (x > 0)).to_sparse(),
    "the tensor itself": lambda s, x: s,
}


def make_sparse():
    torch.manual_seed(0)
    return torch.sparse_coo_tensor(PLACES, torch.tensor([3.0, 4.0, 5.0]), (2, 3)), torch.randn(3, 2)


@pytest.mark.parametrize("is_captured", [True, False])
@pytest.mark.parametrize("name", SPARSE_PROGRAMS)
def test_programs_use_sparse_tensors(name, is_captured):
    program = SPARSE_PROGRAMS[name]
    s, x = make_sparse()
    expected = program(s, x)
    other, y = make_sparse()
    found = functionalize(lambda y: program(other, y))(y) if is_captured else functionalize(program)(other, y)
    pairs = [(found, expected)] if isinstance(expected, torch.Tensor) else zip(found, expected, strict=True)
    for one, two in [*pairs, (y, x)]:
        assert one.layout is two.layout
        torch.testing.assert_close(one.to_dense(), two.to_dense())


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (lambda s, x: (s._values().mul_(2), s @ x), "that was written to is a part of a sparse one"),
        (lambda s, x: (s @ x, s._values().mul_(2)), "that is written to is a part of a sparse one(.|\n)*Hint: "),
        (lambda s, x: s.coalesce().values().mul_(2), "is a part of a sparse one"),
        (lambda s, x: (torch.sparse_coo_tensor([[0, 1, 1]], x, (2, 2)), x[0].zero_()), "is a part of a sparse one"),
        (lambda s, x: s.mul_(2), "cannot write to a sparse tensor(.|\n)*Hint: "),
        (lambda s, x: s.clone().zero_(), "cannot write to a sparse tensor"),
    ],
)
def test_writes_to_sparse_tensors_and_their_parts_are_refused(program, text):
    with pytest.raises(RuntimeError, match=text):
        functionalize(program)(*make_sparse())


def test_gradients_go_through_programs_with_sparse_tensors():
    s, x = make_sparse()

    def loss(x):
        return (s @ x).relu_().pow(2).sum()

    expected = grad(lambda x: (s.to_dense() @ x).relu().pow(2).sum())(x)
    torch.testing.assert_close(grad(functionalize(loss))(x), expected)
    torch.testing.assert_close(functionalize(grad(loss))(x), expected)


def test_a_functional_trace_has_the_calls_on_the_parts_of_sparse_tensors():
    s, x = make_sparse()
    with dc.trace(functional=True) as trace:
        found = (s @ x).add_(1)
        trace.returns(found)
    assert [step.op.name for step in trace.graph.steps] == ["coo::mm", "aten::add.Scalar"]
    torch.testing.assert_close(found, s @ x + 1)
