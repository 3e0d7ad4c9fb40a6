"""Tracebacks of failing calls: all frames of the user's, and at most two of ours in a row."""

from __future__ import annotations

import copy
import os
import traceback
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn
from torchlike.nn import functional as F
from torchlike.utils.checkpoint import checkpoint, checkpoint_sequential

MOST = 2
PACKAGES = ("dispatch_core", "dispatch_aten", "dispatch_backend_cpu", "dispatch_backend_meta", "torchlike")
#: How the file names of our frames begin: those of generated code, and of the packages.
OURS = ("<", *(f"{Path(find_spec(name).origin).parent}{os.sep}" for name in PACKAGES))

x, y, row = torchlike.ones(2, 3), torchlike.ones(2, 3), torchlike.ones(4)
leaf = torchlike.ones(2, 3, requires_grad=True)
linear, network = nn.Linear(4, 5), nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(4, 4)), nn.Softmax(1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, value):
        return self.inner(value)


class Doubled(torchlike.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value * 2

    @staticmethod
    def backward(ctx, grad):
        return grad @ grad


def step(optimizer, gradient):
    weight = nn.Parameter(torchlike.ones(2, 3))
    found = optimizer([weight])
    weight._state.grad = gradient
    found.step()


def pending_error(read):
    """Read a value that a pipeline could not compute."""
    with pytest.raises(IndexError), dc.pipeline():  # the block's end flushes
        found = x.index_select(0, torchlike.tensor([9]))
    read(found)


def flush():
    with torchlike.pipeline() as pipe:
        found = x.index_select(0, torchlike.tensor([9]))
        pipe.flush()
    return found


def leave_block():
    with torchlike.pipeline():
        found = x.index_select(0, torchlike.tensor([9]))
    return found


def in_pipeline(function):
    with torchlike.pipeline():
        function()


def backward_twice():
    result = (leaf * leaf).sum()
    result.backward()
    result.backward()


CALLS = {
    "operator": lambda: x @ y,
    "operator on a leaf": lambda: leaf @ leaf,
    "operator in a pipeline": lambda: in_pipeline(lambda: x @ y),
    "operator with a number": lambda: torchlike.ones(2, dtype=torchlike.bool) - True,
    "reflected operator": lambda: 2 ** torchlike.zeros(2, dtype=torchlike.int64).__neg__().__sub__(row),
    "in-place operator": lambda: x.__iadd__(row),
    "comparison": lambda: x < row,
    "function of two tensors": lambda: torchlike.add(x, row),
    "function by keyword": lambda: torchlike.add(input=x, other=row, alpha=2),
    "function of one tensor": lambda: torchlike.relu("text"),
    "function": lambda: torchlike.mm(x, y),
    "function with out": lambda: torchlike.add(x, row, out=y),
    "adapted function": lambda: torchlike.cat([x, row]),
    "adapted function without tensors": lambda: torchlike.stack([]),
    "split": lambda: torchlike.split(x, 2, 7),
    "where": lambda: torchlike.where(x > 0, x, row),
    "method": lambda: x.mm(y),
    "method of sizes": lambda: x.view(7),
    "method of a dimension": lambda: x.sum(dim=5),
    "in-place method": lambda: x.add_(row),
    "unknown argument": lambda: x.sum(nonsense=1),
    "index": lambda: x[9],
    "indices": lambda: x[torchlike.tensor([9]), 0],
    "index write": lambda: x.__setitem__(slice(None), row),
    "factory": lambda: torchlike.zeros(-1),
    "factory of a text": lambda: torchlike.zeros("text"),
    "factory like another": lambda: torchlike.zeros_like("text"),
    "tensor": lambda: torchlike.tensor([[1.0], [1.0, 2.0]]),
    "tensor of texts": lambda: torchlike.tensor([1, [2, "text"]]),
    "as_tensor": lambda: torchlike.as_tensor([[1.0], [1.0, 2.0]]),
    "class": lambda: torchlike.Tensor("text"),
    "array": lambda: torchlike.from_numpy(np.array(["text"])),
    "array beside a tensor": lambda: x + np.ones(4, np.float32),
    "ufunc": lambda: np.add(np.ones(4, np.float32), x),
    "other ufunc": lambda: np.hypot(x, row),
    "item": x.item,
    "float": lambda: float(x),
    "bool": lambda: bool(x),
    "numpy": leaf.numpy,
    "asarray": lambda: np.asarray(leaf),
    "to": lambda: x.to("nowhere"),
    "to a wrong type": lambda: x.to(1.5),
    "pickle of a copy": lambda: copy.deepcopy(leaf * 2),
    "module": lambda: linear(x),
    "modules in modules": lambda: network(x),
    "loss": lambda: nn.CrossEntropyLoss()(x, torchlike.tensor([9, 9])),
    "functional": lambda: F.linear(x, linear.weight),
    "functional loss": lambda: F.mse_loss(x, x, reduction="nonsense"),
    "functional cross entropy": lambda: F.cross_entropy(x, row),
    "functional softmax": lambda: F.softmax(x, 7),
    "initialization": lambda: nn.init.xavier_uniform_(row),
    "state": lambda: linear.load_state_dict({"weight": x, "bias": x}),
    "module to": lambda: network.to("nowhere"),
    "backward": leaf.backward,
    "backward without history": x.backward,
    "autograd.backward": lambda: torchlike.autograd.backward(leaf),
    "autograd.grad": lambda: torchlike.autograd.grad(leaf, leaf),
    "backward twice": backward_twice,
    "custom function": lambda: Doubled.apply(leaf).sum().backward(),
    "gradient assignment": lambda: setattr(leaf, "grad", row),
    "SGD": lambda: step(lambda weights: torchlike.optim.SGD(weights, lr=0.1), row),
    "SGD with momentum": lambda: step(lambda weights: torchlike.optim.SGD(weights, lr=0.1, weight_decay=1), row),
    "Adam": lambda: step(torchlike.optim.Adam, row),
    "end of a pipeline": leave_block,
    "flush": flush,
    "read of a failed value": lambda: pending_error(lambda value: value.tolist()),
    "print of a failed value": lambda: pending_error(repr),
    "array of a failed value": lambda: pending_error(lambda value: value.numpy()),
    "number of a failed value": lambda: pending_error(lambda value: float(value.sum())),
    "overload": lambda: dc.ops.aten.add.Tensor(x, row),
    "overloads": lambda: dc.ops.aten.add(x, row),
    "dispatch by name": lambda: dc.dispatch("add", x, row),
}


def frames(call):
    """Return the frames of the error that a call raises, as pairs of file and function."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  # each call has an error of its own
        return [(frame.filename, frame.name) for frame in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("the call did not fail")


def longest_run(found):
    """Return the most frames of ours that follow each other."""
    most = run = 0
    for file, _ in found:
        run = run + 1 if file.startswith(OURS) else 0
        most = max(most, run)
    return most


#: In a pipeline these fail when they run, not where they are called.
BY_VALUES = pytest.mark.no_pipeline(reason="the error depends on values")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=BY_VALUES) if name in {"indices", "loss"} else name for name in CALLS]
)
def test_a_failing_call_shows_at_most_two_frames_of_ours(name):
    found = frames(CALLS[name])
    assert longest_run(found) <= MOST, found


def test_the_frames_of_users_stay():
    def hook(grad):
        raise ValueError("a hook's")

    def backward():
        result = leaf * 2
        result.register_hook(hook)
        result.sum().backward()

    assert [name for _, name in frames(lambda: Net()(x))] == ["<lambda>", "forward"]
    assert [name for _, name in frames(backward)] == ["backward", "hook"]
    assert [name for _, name in frames(lambda: Doubled.apply("text").missing)] == ["<lambda>"]
    assert [name for _, name in frames(lambda: Doubled.apply(leaf).sum().backward())][-1] == "backward"


def fails(*values):
    raise ValueError("the user's own")


#: Functions that call one of the user's.
OF_FUNCTIONS = {
    **{name: getattr(torchlike.func, name) for name in ("functionalize", "grad", "grad_and_value", "hessian")},
    **{name: getattr(torchlike.func, name) for name in ("jacfwd", "jacrev", "vmap")},
    "linearize": lambda function: lambda value: torchlike.func.linearize(function, value),
    "vjp": lambda function: lambda value: torchlike.func.vjp(function, value),
    "jvp": lambda function: lambda value: torchlike.func.jvp(function, (value,), (value,)),
    "capture": dc.capture,
    "gradcheck": lambda function: lambda value: torchlike.autograd.gradcheck(function, (value.double(),)),
    "checkpoint": lambda function: lambda value: checkpoint(function, value, use_reentrant=False),
    "sequential": lambda function: lambda value: checkpoint_sequential([function], 1, value, use_reentrant=False),
    "jacobian": lambda function: lambda value: torchlike.autograd.functional.jacobian(function, value),
    "autograd's hessian": lambda function: lambda value: torchlike.autograd.functional.hessian(function, value),
    "autograd's vjp": lambda function: lambda value: torchlike.autograd.functional.vjp(function, value),
    "hvp": lambda function: lambda value: torchlike.autograd.functional.hvp(function, value, value),
}


@pytest.mark.parametrize("inner", [None, "capture", "vmap"])
@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_an_error_of_the_users_function_shows_no_frame_of_ours(name, inner):
    function = fails if inner is None else OF_FUNCTIONS[inner](fails)
    called = OF_FUNCTIONS[name](function)
    found = [frame for frame in frames(lambda: called(torchlike.ones(2, 3))) if frame[0].startswith(OURS)]
    assert found == []


def test_all_frames_stay_where_that_is_asked_for(monkeypatch):
    monkeypatch.setenv("DISPATCH_TRACEBACK", "full")
    assert longest_run(frames(lambda: x @ y)) > MOST
    assert longest_run(frames(row.softmax)) > MOST
