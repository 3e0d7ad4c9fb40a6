"""Mistakes of a first day, each with the error's type and a part of its text that says what to do."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn

F = nn.functional


def vector(**options):
    return torchlike.tensor([1.0, 2.0], **options)


class Forgotten(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)


class WithoutForward(nn.Module):
    pass


def go_back_twice():
    total = (vector(requires_grad=True) * 2).sum()
    total.backward()
    total.backward()


def go_back_through_nothing():
    with torchlike.no_grad():
        total = (vector(requires_grad=True) * 2).sum()
    total.backward()


def write_to_a_leaf():
    x = vector(requires_grad=True)
    x += 1


def write_to_what_is_saved():
    y = vector(requires_grad=True).exp()
    y += 1
    y.sum().backward()


def ask_for_gradients(value):
    vector().requires_grad = value


@torchlike.capture
def decide(x):
    return x if x.sum() > 0 else -x


MISTAKES = {
    "shapes that do not fit": (
        lambda: vector() + torchlike.ones(3),
        RuntimeError,
        r"size of tensor a \(2\) must match",
    ),
    "a product of two rows": (lambda: torchlike.ones(2, 3) @ torchlike.ones(2, 3), RuntimeError, r"\(2x3 and 2x3\)"),
    "a layer of other width": (lambda: nn.Linear(3, 2)(torchlike.ones(4, 5)), RuntimeError, r"4x5 and 3x2"),
    "a layer of other dtype": (
        lambda: nn.Linear(3, 2)(torchlike.ones(4, 3, dtype=torchlike.float64)),
        RuntimeError,
        "same dtype, but got Double and Float",
    ),
    "an array in a layer": (lambda: nn.Linear(3, 2)(np.ones((4, 3), np.float32)), TypeError, "with from_numpy"),
    "a list in a layer": (lambda: nn.Linear(3, 2)([[1.0]]), TypeError, "'input' .* must be Tensor, not list"),
    "rows of two lengths": (lambda: torchlike.tensor([[1, 2], [3]]), ValueError, "expected sequence of length 2"),
    "a word as data": (lambda: torchlike.tensor("hello"), TypeError, "str"),
    "a device that is none": (lambda: torchlike.zeros(3, device="gpu"), dc.BackendError, "did you mean 'npu' or 'cpu'"),
    "another vendor's device": (lambda: torchlike.zeros(3, device="cuda"), dc.BackendError, "Installed devices"),
    "a dtype as a word": (lambda: torchlike.zeros(3, dtype="float32"), TypeError, "did you mean torchlike.float32"),
    "NumPy's dtype": (lambda: torchlike.zeros(3, dtype=np.int8), TypeError, "did you mean torchlike.int8"),
    "a dtype as a device": (lambda: vector().to("float32"), dc.BackendError, "did you mean torchlike.float32"),
    "torch's dtype as a device": (lambda: vector().to("torch.int64"), RuntimeError, "did you mean torchlike.int64"),
    "NumPy's dtype in to": (lambda: vector().to(np.dtype("int8")), TypeError, "did you mean torchlike.int8"),
    "a negative size": (lambda: torchlike.zeros(-3), RuntimeError, "non-negative"),
    "a word as size": (lambda: torchlike.zeros("3"), TypeError, "type str at pos 0"),
    "a size that is not an int": (lambda: torchlike.zeros((2.5, 3)), TypeError, "type float at pos 0"),
    "more than there is memory for": (lambda: torchlike.ones(10**6, 10**6), MemoryError, "3.64 TiB .* float32"),
    "backward of a constant": (lambda: vector().sum().backward(), RuntimeError, "Hint: no input .* requires_grad=True"),
    "backward after no_grad": (go_back_through_nothing, RuntimeError, "Hint: .* under no_grad or by detach"),
    "backward of a vector": (
        (vector(requires_grad=True) * 2).backward,
        RuntimeError,
        r"shape \[2\] first, for example by sum\(\), or pass the gradient",
    ),
    "backward twice": (go_back_twice, RuntimeError, "Specify retain_graph=True"),
    "gradients of integers": (
        lambda: torchlike.tensor([1, 2], requires_grad=True),
        RuntimeError,
        "torchlike.int64; write 1. for 1",
    ),
    "requires_grad as a word": (lambda: ask_for_gradients("yes"), RuntimeError, "must be a bool, not str"),
    "a leaf as an array": (lambda: vector(requires_grad=True).numpy(), RuntimeError, r"Use tensor.detach\(\)"),
    "a leaf written to": (write_to_a_leaf, RuntimeError, "Hint: write under no_grad"),
    "a saved tensor written to": (write_to_what_is_saved, RuntimeError, "is at version 1; expected version 0"),
    "two elements as a number": (lambda: float(vector()), ValueError, "only one element"),
    "two elements as a truth": (lambda: bool(vector() == vector()), RuntimeError, "is ambiguous"),
    "an index behind the end": (
        lambda: vector()[5],
        IndexError,
        "index 5 is out of bounds for dimension 0 with size 2",
    ),
    "a word as index": (lambda: vector()["a"], IndexError, r"got str"),
    "a shape of other size": (lambda: torchlike.ones(2, 3).view(4), RuntimeError, "invalid for input of size 6"),
    "a turned tensor's view": (lambda: torchlike.ones(2, 3).t().view(6), RuntimeError, r"Use .reshape"),
    "a dimension too far": (lambda: torchlike.ones(2, 3).sum(dim=2), IndexError, r"range of \[-2, 1\], but got 2"),
    "the mean of integers": (lambda: torchlike.tensor([1, 2]).mean(), RuntimeError, "floating point or complex"),
    "cat of two arguments": (lambda: torchlike.cat(vector(), vector()), TypeError, "tuple of Tensors, not Tensor"),
    "cat of two widths": (
        lambda: torchlike.cat([torchlike.ones(1, 2), torchlike.ones(1, 3)]),
        RuntimeError,
        "must match",
    ),
    "softmax along nothing": (lambda: vector().softmax(), TypeError, "missing 1 required positional argument: 'dim'"),
    "targets that are floats": (lambda: F.cross_entropy(torchlike.ones(2, 3), vector()), RuntimeError, "Long or Byte"),
    "targets behind the end": (
        lambda: F.cross_entropy(torchlike.ones(2, 3), torchlike.tensor([0, 5])),
        IndexError,
        "Target 5 is out of bounds",
    ),
    "no parameters": (lambda: torchlike.optim.SGD([], lr=0.1), ValueError, "empty parameter list"),
    "a model for parameters": (lambda: torchlike.optim.SGD(nn.Linear(2, 2), lr=0.1), TypeError, r"its parameters\(\)"),
    "a negative rate": (lambda: torchlike.optim.SGD([vector()], lr=-1), ValueError, "Invalid learning rate: -1"),
    "a module without __init__": (Forgotten, AttributeError, r"before Module.__init__\(\) call"),
    "a module without forward": (
        lambda: WithoutForward()(vector()),
        NotImplementedError,
        'missing the required "forward"',
    ),
    "a class for a layer": (lambda: nn.Sequential(nn.ReLU), TypeError, r"write ReLU\(\)"),
    "a list of layers": (lambda: nn.Sequential([nn.ReLU()]), TypeError, "a star before the list"),
    "weights of other shape": (
        lambda: nn.Linear(2, 2).load_state_dict({"weight": torchlike.ones(3, 2)}),
        RuntimeError,
        r"size mismatch for weight",
    ),
    "a file that is not there": (lambda: torchlike.load("nothing.pt"), FileNotFoundError, "nothing.pt"),
    "channels that do not fit": (
        lambda: nn.Conv2d(3, 8, 3)(torchlike.ones(1, 1, 9, 9)),
        RuntimeError,
        r"to have 3 channels, but got 1",
    ),
    "a function misspelt": (lambda: torchlike.arrange(5), AttributeError, "did you mean arange"),
    "a layer for a function": (lambda: nn.relu(vector()), AttributeError, "did you mean ReLU"),
    "an operator misspelt": (lambda: dc.ops.aten.ad(np.ones(2)), dc.DispatchError, "aten::add"),
    "a key misspelt": (lambda: dc.DispatchKey.Cpu, AttributeError, "did you mean CPU"),
    "two devices": (lambda: vector() + torchlike.ones(2, device="meta"), RuntimeError, "Hint: move them to one device"),
    "values of meta": (lambda: torchlike.ones(2, device="meta").numpy(), TypeError, "meta"),
    "a decision that is captured": (lambda: decide(vector()), dc.DispatchError, "where Python decides"),
    "an index behind an embedding's end": (
        lambda: nn.Embedding(3, 2)(torchlike.tensor([0, 3])),
        IndexError,
        "Hint: index 3 is asked for, and the size is 3",
    ),
    "a negative index of an embedding": (
        lambda: nn.Embedding(3, 2)(torchlike.tensor([0, -1])),
        IndexError,
        "Hint: index -1 is asked for, and the size is 3",
    ),
    "classes in a column": (
        lambda: F.cross_entropy(torchlike.ones(2, 3), torchlike.ones(2, 1, dtype=torchlike.int64)),
        RuntimeError,
        r"Hint: the target has shape \[2, 1\]: squeeze\(1\) it",
    ),
    "classes as one-hot rows": (
        lambda: F.cross_entropy(torchlike.ones(2, 3), torchlike.ones(2, 3, dtype=torchlike.int64)),
        RuntimeError,
        r"Hint: argmax\(1\) turns one-hot rows into class indices",
    ),
    "classes in two columns": (
        lambda: F.cross_entropy(torchlike.ones(2, 3), torchlike.ones(2, 2, dtype=torchlike.int64)),
        RuntimeError,
        r"Hint: .* \[2, 2\]: class indices are one for each row of the scores",
    ),
    "probabilities of other classes": (
        lambda: F.cross_entropy(torchlike.ones(2, 3), torchlike.ones(2, 4)),
        RuntimeError,
        r"Hint: .* the shape of the scores, \[2, 3\]",
    ),
    "more classes than one_hot has": (
        lambda: F.one_hot(torchlike.tensor([0, 5]), 3),
        RuntimeError,
        "Hint: the largest is 5, and num_classes is 3",
    ),
    "more of the largest than there are": (
        lambda: vector().topk(3),
        RuntimeError,
        "Hint: k is 3, and dim 0 has size 2",
    ),
    "mm of batches": (
        lambda: torchlike.mm(torchlike.ones(2, 3, 4), torchlike.ones(4, 2)),
        RuntimeError,
        r"self must be a matrix .*Hint: it has shape \[2, 3, 4\]; matmul",
    ),
    "bmm of matrices": (
        lambda: torchlike.bmm(torchlike.ones(2, 3, 4), torchlike.ones(4, 2)),
        RuntimeError,
        r"batch2 must be a 3D tensor .*Hint: it has shape \[4, 2\]; matmul",
    ),
    "a loss of its class": (
        lambda: nn.CrossEntropyLoss(torchlike.ones(2, 3), torchlike.tensor([0, 1])),
        TypeError,
        r"must be bool, not Tensor\nHint: a loss is made first",
    ),
    "an LSTM's state without its cell": (
        lambda: nn.LSTM(4, 8)(torchlike.ones(2, 3, 4), torchlike.ones(1, 3, 8)),
        TypeError,
        r"'hx' must be a pair of Tensors, not Tensor\nHint: pass \(h_0, c_0\)",
    ),
    "a pair for a GRU's state": (
        lambda: nn.GRU(4, 8)(torchlike.ones(2, 3, 4), (torchlike.ones(1, 3, 8),) * 2),
        TypeError,
        "'hx' must be Tensor, not tuple",
    ),
    "an LSTM before a layer": (
        lambda: nn.Sequential(nn.LSTM(4, 8), nn.Linear(8, 2))(torchlike.ones(2, 3, 4)),
        TypeError,
        "must be Tensor, not tuple.*Hint: it is a tuple of 2: pass one of its elements",
    ),
    "heads that do not divide": (
        lambda: nn.MultiheadAttention(8, 3),
        AssertionError,
        "embed_dim is 8, and num_heads is 3",
    ),
    "parameters that were read before": (
        lambda: torchlike.optim.SGD(iter(()), lr=0.1),
        ValueError,
        r"Hint: parameters\(\) can be read once",
    ),
    "a rate as a word": (
        lambda: torchlike.optim.SGD([vector()], lr="0.1"),
        TypeError,
        "lr takes numbers, but got '0.1'",
    ),
    "betas as words": (lambda: torchlike.optim.Adam([vector()], betas=("a", 0)), TypeError, "betas takes numbers"),
    "a model to clip": (
        lambda: nn.utils.clip_grad_norm_(nn.Sequential(nn.Linear(2, 2)), 1.0),
        TypeError,
        r"but got Sequential\nHint: pass its parameters\(\)",
    ),
    "a path before the object": (lambda: torchlike.save("a.pt", vector()), TypeError, r"Hint: .* save\(obj, path\)"),
    "a path for a state": (lambda: nn.Linear(2, 2).load_state_dict("a.pt"), TypeError, "Hint: read the file first"),
    "a model for a state": (
        lambda: nn.Linear(2, 2).load_state_dict(nn.Linear(2, 2)),
        TypeError,
        r"Hint: pass its state_dict\(\)",
    ),
    "a state of a wrapped model": (
        lambda: nn.Linear(2, 1).load_state_dict({"module.weight": torchlike.ones(1, 2), "module.bias": vector()[:1]}),
        RuntimeError,
        r"Hint: all keys begin with 'module\.'; .*consume_prefix_in_state_dict_if_present",
    ),
    "tensors of two lengths": (
        lambda: torchlike.utils.data.TensorDataset(vector(), torchlike.ones(3)),
        AssertionError,
        r"Hint: their first sizes are \[2, 3\]",
    ),
    "from_numpy of a list": (lambda: torchlike.from_numpy([1, 2]), TypeError, r"got list\)\nHint: as_tensor"),
    "parts of other lengths": (
        lambda: torchlike.utils.data.random_split([1, 2, 3], [1, 1]),
        ValueError,
        r"Hint: the lengths are \[1, 1\], and the data set has 3 samples",
    ),
    "a batch size as a word": (
        lambda: torchlike.utils.data.DataLoader([1], batch_size="4"),
        ValueError,
        "but got batch_size='4'",
    ),
    "a number of samples": (
        lambda: torchlike.distributions.Normal(0.0, 1.0).sample(3),
        TypeError,
        r"sequence of ints, not int\nHint: write \(3,\)",
    ),
    "an LBFGS's step without a loss": (
        lambda: torchlike.optim.LBFGS([vector(requires_grad=True)]).step(),
        TypeError,
        "missing 1 required positional argument: 'closure'",
    ),
    "a step backwards": (lambda: vector()[::-1], ValueError, r"Hint: flip\(x, dims\)"),
    "a format for two elements": (lambda: f"{vector():.2f}", TypeError, r"Hint: the tensor has shape \[2\]"),
    "shape for size": (lambda: torchlike.zeros(shape=(2, 3)), TypeError, "Hint: its name is size, not shape"),
    "a move to cuda": (lambda: vector().cuda(), AssertionError, "Hint: .*`dispatch list`"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_error_says_what_to_do(mistake):
    call, kind, text = MISTAKES[mistake]
    with pytest.raises(kind, match=f"(?s){text}") as caught:
        call()
    assert len(str(caught.value)) < 2000


def _draw_overloads(seed, count=60):
    """Return overloads that need nothing but tensors, numbers and lists, each with arguments for an array."""
    found = []
    for name in random.Random(seed).sample(sorted(dc.registry.names_in("aten")), 3 * count):
        packet = getattr(dc.ops.aten, name, None)
        for op in [getattr(packet, each) for each in ([] if packet is None else packet.overloads())]:
            required = [each for each in op.schema.arguments if not each.has_default]
            if required and all(str(each.type).partition("(")[0] in _EASY for each in required):
                found.append((op, required))
    return found[:count]


_EASY = {"Tensor": np.ones((2, 2), "float32"), "int": 1, "Scalar": 2, "float": 1.0, "int[]": [2], "bool": True}


def _call(function, required, value_of):
    args = [value_of(each) for each in required if not each.kwarg_only]
    return function(*args, **{each.name: value_of(each) for each in required if each.kwarg_only})


@pytest.mark.parametrize("seed", range(2))
def test_the_class_of_tensors_is_refused_by_name_by_every_operator(seed):
    refused = 0
    for op, required in _draw_overloads(seed):
        if any(str(each.type).startswith("Tensor") for each in required):
            values = {"Tensor": torchlike.Tensor} | {name: value for name, value in _EASY.items() if name != "Tensor"}
            with pytest.raises(dc.ArgumentError, match=r"argument '\w+' .*must be Tensor, not"):
                _call(op, required, lambda each, values=values: values[str(each.type).partition("(")[0]])
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("key", ["CUDA", "XLA"])
def test_a_key_without_kernels_is_refused_in_the_called_operators_name(key):
    texts = {}
    for op, required in _draw_overloads(key):
        try:
            _call(partial(op.redispatch, {key}), required, lambda each: _EASY[str(each.type).partition("(")[0]])
        except dc.NoKernelError as error:
            texts[op.name] = str(error)
        except (ArithmeticError, TypeError, ValueError, LookupError, RuntimeError, Warning):
            pass  # the drawn arguments do not fit the operator
    assert [text for name, text in texts.items() if not text.startswith(f"{name}: ")] == []
    assert len(texts) > 20
