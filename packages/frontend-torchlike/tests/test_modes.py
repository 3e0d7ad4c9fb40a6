"""Modes on tensors: backward's calls, factories, views, writes, and what stands around and inside a mode."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pytest

import dispatch_core as dc
import torchlike as torch
from torchlike import nn
from torchlike.utils._python_dispatch import TorchDispatchMode


class Noting(TorchDispatchMode):
    """Note the names of the calls, and pass them on."""

    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.name.removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


class Answering(TorchDispatchMode):
    """Answer for operators by functions, found by name, and pass other calls on."""

    def __init__(self, **answers):
        self.answers = answers

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        answer = self.answers.get(func.__name__.split(".")[0], func)
        return answer(*args, **(kwargs or {}))


def test_a_training_step_is_seen_from_forward_to_update():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(5, 3), torch.randn(5, 1)
    with Noting() as mode:
        nn.functional.mse_loss(model(inputs), targets).backward()
        forward_and_backward = list(mode.seen)
        optimizer.step()
    assert forward_and_backward[:6] == ["t", "addmm", "tanh", "t", "addmm", "mse_loss"]
    assert {"mse_loss_backward", "tanh_backward", "mm"} <= set(forward_and_backward[6:])
    assert mode.seen[len(forward_and_backward) :] == ["add_.Tensor"] * 4


def test_a_training_step_computes_the_same_under_a_mode():
    def train(*modes):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(3):
            inputs, targets = torch.randn(4, 1, 6, 6), torch.tensor([0, 1, 2, 0])
            for mode in modes:
                mode.__enter__()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            for mode in reversed(modes):
                mode.__exit__(None, None, None)
        return [loss.item(), *[parameter.tolist() for parameter in model.parameters()]]

    expected = train()
    mode = Noting()
    assert train(mode) == train(Answering(), mode, Answering()) == expected
    assert "convolution_backward" in mode.seen


def test_what_a_handler_returns_is_differentiated_as_the_calls_result():
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with Answering(sin=lambda self: torch.zeros(2) + 7):
        y = x.sin() * x
    assert y.tolist() == [14, 21]
    y.sum().backward()
    # The gradient of sin as it is, and that of the product by the handler's value.
    assert torch.allclose(x.grad, torch.cos(x.detach()) * x.detach() + 7)


def test_calls_in_a_handler_are_not_recorded_for_backward():
    seen = []

    def exp(self):
        made = self * 2
        seen.append((made.requires_grad, made.grad_fn))
        return self.exp()

    x = torch.ones(1, requires_grad=True)
    with Answering(exp=exp):
        x.exp().backward()
    assert seen == [(False, None)]
    assert torch.allclose(x.grad, torch.exp(torch.ones(1)))


def test_backward_with_create_graph_is_seen_and_differentiable():
    x = torch.tensor(2.0, requires_grad=True)
    with Noting() as mode:
        (first,) = torch.autograd.grad(x**3, x, create_graph=True)
        count = len(mode.seen)
        (second,) = torch.autograd.grad(first, x)
    assert (first.item(), second.item()) == (12, 12)
    assert 0 < count < len(mode.seen)


def test_a_factory_gives_the_handler_a_tensor_and_the_caller_the_handlers():
    seen = []

    def zeros(size, **kwargs):
        seen.append(torch.ops.aten.zeros.default(size, **kwargs))
        return seen[-1] + 5

    with Noting() as outer, Answering(zeros=zeros):
        made = torch.zeros(2, dtype=torch.float64)
        like = torch.zeros_like(made, requires_grad=True)
    assert made.tolist() == [5, 5] and made.dtype == torch.float64
    assert type(seen[0]) is torch.Tensor
    assert like.requires_grad
    assert outer.seen == ["zeros", "add.Tensor", "zeros_like"]


def test_views_and_writes_are_those_of_a_program_without_modes():
    base = torch.arange(6.0)
    with Noting():
        view = base[1:4].view(3, 1)
        view.mul_(10)
        out = torch.empty(3, 1)
        assert torch.add(view, view, out=out) is out
        assert view.add_(1) is view
        first, _ = base.split(3)
        transposed = out.t()
    assert view._base is base and first._base is base and transposed._base is out
    assert base.tolist() == [0, 11, 21, 31, 4, 5]
    assert base._version == 2
    base.zero_()
    assert first.tolist() == [0, 0, 0]


def test_a_write_under_a_mode_is_told_to_backward():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y.exp()
    with Noting():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.no_pipeline(reason="pipelines record composites as one step")
def test_composites_are_seen_by_their_parts_with_and_without_gradients():
    for requires_grad in (False, True):
        x = torch.ones(2, 2, requires_grad=requires_grad)
        with Noting() as mode:
            torch.matmul(x, x)
            x.softmax(0)
            with torch.no_grad():
                nn.functional.linear(x, x)
        assert mode.seen == ["mm", "_softmax", "t", "mm"]


def test_the_rest_of_the_stack_stands_around_and_inside_a_mode():
    x = torch.ones(2, requires_grad=True)

    @dc.capture
    def double(x):
        return x * 2

    with dc.profile() as profile, dc.trace() as trace, torch.no_grad(), Noting() as mode:
        (x * 2).exp()
    assert mode.seen == ["mul.Tensor", "exp"]
    assert [step.op.name for step in trace.graph.steps] == ["aten::mul.Scalar", "aten::exp"]
    assert [event.name for event in profile.events] == [
        name for name in ("aten::mul.Scalar", "aten::exp") for _ in "12"
    ]
    with Noting() as mode, torch.pipeline() as pipe:
        y = x.detach() * 3
        assert y._pending
        assert pipe.stats().recorded == 1
    assert y.tolist() == [3, 3]
    for _ in range(4):
        with Noting() as mode:
            # A captured function runs eagerly under a mode, so that the mode sees its calls.
            assert double(x.detach()).tolist() == [2, 2]
        assert mode.seen[-2] == "mul.Tensor"
    with Noting() as mode:
        dc.opcheck(torch.ops.aten.mul.Tensor, (torch.ones(2), torch.ones(2)))
    assert "mul.Tensor" in mode.seen


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_mode_serves_every_device(device):
    with Noting() as mode:
        x = torch.ones(2, device=device, requires_grad=True)
        (x + x).sum().backward()
    assert x.grad.device.type == device
    assert mode.seen[:3] == ["ones", "add.Tensor", "sum"]


def test_a_handler_tells_operators_apart_as_one_written_for_torch_does():
    seen = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            aten = torch.ops.aten
            seen.append(
                (
                    func is aten.mul.Tensor,
                    func.overloadpacket is aten.mul,
                    func._overloadname,
                    func._schema.name,
                    func.name(),
                )
            )
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Names():
        _ = x * x, x * 2, x.relu()
    assert seen == [
        (True, True, "Tensor", "aten::mul", "aten::mul.Tensor"),
        (True, True, "Tensor", "aten::mul", "aten::mul.Tensor"),
        (False, False, "default", "aten::relu", "aten::relu"),
    ]


def test_results_of_the_wrong_kind_are_refused():
    x = torch.ones(2)
    for answer in (np.ones(2), 3, None, [x]):
        with Answering(add=lambda *_, answer=answer: answer), pytest.raises(TypeError, match="promises one tensor"):
            x + x
    for answer in ("text", 3, None, [x]):
        with (
            Answering(zeros=lambda *_, answer=answer, **__: answer),
            pytest.raises(TypeError, match="promises one array"),
        ):
            torch.zeros(2)
    with Answering(split=lambda *_: x), pytest.raises(TypeError, match="promises a list of tensors"):
        x.split(1)
    with (
        Answering(add=lambda *_: NotImplemented),
        pytest.raises(TypeError, match="Multiple dispatch failed for 'aten::add"),
    ):
        x + x
    assert (x + x).tolist() == [2, 2]


def test_a_handler_is_named_as_in_torch():
    class Empty(TorchDispatchMode):
        pass

    with Empty(), pytest.raises(NotImplementedError, match="Empty does not define __torch_dispatch__"):
        torch.ones(2)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_modes_stand_below_and_inside_of_transforms(device):
    def loss(x):
        y = x.clone()
        y[1:].mul_(x[1:])
        return (y * y).sum()

    x = torch.arange(3.0).to(device)
    rows = x.expand(2, 3)
    plain = {
        "grad": torch.func.grad(loss)(x),
        "rows": torch.func.vmap(torch.func.grad(loss))(rows),
        "functional": torch.func.functionalize(loss)(x),
    }
    with Noting() as mode:
        found = {
            "grad": torch.func.grad(loss)(x),
            "rows": torch.func.vmap(torch.func.grad(loss))(rows),
            "functional": torch.func.functionalize(loss)(x),
        }
    assert {"clone", "mul_.Tensor", "copy_", "slice_scatter"} <= set(mode.seen)
    for name, expected in plain.items():
        assert found[name].shape == expected.shape
        assert device == "meta" or torch.equal(found[name], expected)

    seen = []

    def watched(x):
        with Noting() as inner:
            result = x.sin() * 2
        seen.append(inner.seen)
        return result

    for transformed in (
        lambda: torch.func.vmap(watched)(rows),
        lambda: torch.func.grad(lambda x: watched(x).sum())(x),
        lambda: torch.func.functionalize(watched)(x),
    ):
        transformed()
    assert seen == [["sin", "mul.Tensor"]] * 3


def test_values_in_the_place_of_writes_pass_through_the_rest_of_the_stack():
    def write(x):
        y = x.clone()
        y[0].add_(1)
        return y.sum()

    x, function = torch.ones(3), torch.func.functionalize(write)
    with torch.pipeline():
        later = function(x)
        assert later._pending
    captured = torch.capture(lambda x: function(x) * 2)
    assert [captured(x).item() for _ in range(4)] == [8] * 4
    with dc.profile() as profile:
        function(x)
    assert "aten::slice_scatter" in {event.name for event in profile.events}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = torch.func.functionalize(lambda x: x.mm(x).add_(1))(torch.ones(2, 2))
    assert half.dtype == torch.bfloat16
    assert (later.item(), half.tolist()) == (4, [[3, 3], [3, 3]])


class Scaled(TorchDispatchMode):
    """Multiplies what calls return, and counts them."""

    def __init__(self, factor):
        self.factor, self.count = factor, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {})) * self.factor


def test_code_that_knows_a_mode_serves_other_modes_states_and_kernels():
    x, leaf = torch.ones(2), torch.ones(2, requires_grad=True)

    def add(*blocks, times=1):
        with ExitStack() as stack:
            for block in blocks:
                stack.enter_context(block)
            for _ in range(times):
                found = torch.sub(x, x, alpha=-1)
        return found.tolist()

    often = 100  # results of a kernel are compared for some calls, before code knows it
    first = Scaled(2)
    assert add(first, times=often) == [4, 4]
    assert first.count == often
    with first:
        recorded = torch.sub(leaf, x, alpha=-1)
    assert recorded.grad_fn is not None
    # The outer one sees the call of the inner handler, and its product.
    assert add(Scaled(3), Scaled(2)) == [36, 36]
    assert add(Scaled(5)) == [10, 10]
    assert add() == [2, 2]
    assert add(torch.autocast("cpu"), times=often) == [2, 2]
    assert add(torch.autocast("cpu"), Scaled(2)) == [4, 4]
    assert add(torch.pipeline(), times=often) == [2, 2]
    with dc.Library("aten", "IMPL", "CPU") as library:
        library.impl("sub.Tensor", lambda self, other, *, alpha=1: self + 10, allow_override=True)
        assert add() == [11, 11]
        assert add(Scaled(2)) == [22, 22]
        assert add(torch.autocast("cpu")) == [11, 11]
    assert add(Scaled(2)) == [4, 4]
