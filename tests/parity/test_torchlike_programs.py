"""Random programs of views, in-place operators and gradients, step by step beside torch."""

import numpy as np
import pytest
from comparison import EXACT, assert_same, ignore_warnings
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

VIEWS = [
    lambda t: t[0] if t.ndim else t,
    lambda t: t[..., -1] if t.ndim else t,
    lambda t: t[1:] if t.ndim else t,
    lambda t: t[..., ::2] if t.ndim else t,
    lambda t: t.reshape(-1),
    lambda t: t.transpose(0, -1) if t.ndim else t,
    lambda t: t.unsqueeze(0),
    lambda t: t.squeeze(),
    lambda t: t.flatten(),
    lambda t: t.narrow(0, 0, 1) if t.ndim and t.shape[0] else t,
    lambda t: t.detach(),
    lambda t: t.expand(2, *t.shape),
    lambda t: t.diagonal() if t.ndim > 1 else t,
    lambda t: t.as_strided((2, 2), (2, 1), t.storage_offset()) if t.numel() > 3 else t,
    lambda t: t.as_strided((3,), (1,)) if t.numel() > 2 else t,
]
FRESH = [
    lambda t: t * 2,
    lambda t: t.sin(),
    lambda t: t + t.sum(),
    lambda t: t * t,
    lambda t: t.exp().clamp(max=5),
    lambda t: t.clone(),
]
IN_PLACE = [
    lambda t: t.mul_(1.5),
    lambda t: t.add_(0.25),
    lambda t: t.sin_(),
    lambda t: t.zero_(),
    lambda t: t.mul_(t.detach() + 1),
    lambda t: t.sigmoid_(),
    lambda t: t.fill_(0.5),
    lambda t: t.resize_(t.numel() % 5 + 1, 2).fill_(0.25) if tuple(t.shape) != (t.numel() % 5 + 1, 2) else t,
]

PARTS = [
    lambda t: t.unbind(0),
    lambda t: t.split(1, -1),
    lambda t: t.split([1] * t.shape[0]),
    lambda t: t.chunk(2, -1),
    lambda t: t.tensor_split(2),
]


def into_integers(t, target, other):
    """Copy into integers and truth values, which never require grad; return the copies."""
    if target.grad_fn is None:  # asked first, because it may be refused
        target = target * 1
    ints = t.zeros(target.shape, dtype=t.int64)
    ints.copy_(target)
    rows = t.zeros((2, *target.shape), dtype=t.int64)
    rows[0] = target
    truths = t.zeros(target.shape, dtype=t.bool)
    truths.copy_(other.sum())
    return [ints, rows, truths]


def through_function(t, target):
    class Same(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(x.shape)

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    return Same.apply(target)


class Program:
    """The values that a program has made, and its steps by name."""

    def __init__(self, t):
        self.t = t
        self.leaf = t.tensor(np.linspace(-1, 1, 12).reshape(3, 4), requires_grad=True)
        self.other = t.tensor(np.linspace(0.5, 2, 4), requires_grad=True)
        self.values = [self.leaf, self.leaf * 1, t.zeros(3, 4, dtype=t.float64)]

    def step(self, kind, which, place):
        values, other = self.values, self.other
        target = values[place % len(values)]
        operand = values[which % len(values)]
        if kind == "view":
            values.append(VIEWS[which % len(VIEWS)](target))
        elif kind == "view under no_grad":
            with self.t.no_grad():
                values.append(VIEWS[which % len(VIEWS)](target))
        elif kind == "parts":
            values += PARTS[which % len(PARTS)](target)[:3]
        elif kind == "fresh":
            values.append(FRESH[which % len(FRESH)](target))
        elif kind == "in place":
            IN_PLACE[which % len(IN_PLACE)](target)
        elif kind == "write":
            # torch lets integers that are filled with a tensor that requires grad require grad themselves.
            source = other if target.is_floating_point() else other.detach()
            target[...] = source.sum() * 0.1 if which % 2 else source[which % 4]
        elif kind == "copy":
            operand.is_leaf or operand.grad_fn  # asked first, because it may be refused  # noqa: B018
            if operand is not target:
                target.copy_(operand)
        elif kind == "combine":
            values.append(target + operand.sum() * 0.1)
        elif kind == "no_grad in place":
            with self.t.no_grad():
                IN_PLACE[which % len(IN_PLACE)](target)
        elif kind == "integers":
            values += into_integers(self.t, target, other)
        elif kind == "function":
            values.append(through_function(self.t, target))
        elif kind == "requires_grad_":
            target.requires_grad_(bool(which % 3))
        elif kind == "detach_":
            if target.is_leaf or not target.retains_grad:  # else torch fails an assertion of its own later on
                target.detach_()
        elif kind == "data":
            if target.requires_grad and which % 2:
                target.data = self.t.ones(target.shape, dtype=self.t.int64)
            elif operand.shape == target.shape and operand.is_floating_point() and target._base is None:
                target.data = operand.detach().clone()
        elif kind == "retain_grad":
            target.retain_grad()
        elif kind == "hook":
            target.is_leaf or target.grad_fn  # as above  # noqa: B018
            # torch also calls hooks with None, where no gradient has come to one of several results.
            target.register_hook(lambda grad: None if grad is None else grad * 2)
        elif kind == "backward":
            target.sum().backward(retain_graph=True)
        else:
            raise AssertionError(kind)

    def look(self):
        found = []
        for value in self.values:
            try:
                # torch makes a view's history again when it is asked for, which may be refused.
                has_history = value.grad_fn is not None
                # A leaf of another dtype was given its gradient before.
                grad = None if value.grad is None else (tuple(value.grad.shape), value.grad.requires_grad)
            except RuntimeError:
                has_history = grad = "refused"
            base = value._base is not None
            found.append((tuple(value.shape), value.requires_grad, has_history, value._version, grad, base))
        return found


KINDS = [
    "view",
    "view under no_grad",
    "parts",
    "fresh",
    "in place",
    "write",
    "copy",
    "combine",
    "no_grad in place",
    "integers",
    "function",
    "requires_grad_",
    "detach_",
    "data",
    "retain_grad",
    "hook",
    "backward",
]
STEPS = st.tuples(st.sampled_from(KINDS), st.integers(0, 100), st.integers(0, 100))


def kept_gradient(value):
    try:
        return None if value.grad is None else value.grad.detach().numpy().copy()
    except RuntimeError:
        return "RuntimeError"


def run(t, steps):
    """Run a program; return a log of each step, the elements, and the gradients at the end."""
    program = Program(t)
    log = []
    with ignore_warnings():
        for step in steps:
            try:
                program.step(*step)
                log.append("done")
            except (RuntimeError, IndexError, NotImplementedError) as error:
                log.append(type(error).__mro__[-3].__name__ if isinstance(error, IndexError) else "RuntimeError")
            log.append(program.look())
        values = program.values
        elements = [value.detach().numpy().copy() for value in values]
        gradients = [kept_gradient(value) for value in values]
        # One by one: torch does not apply hooks to a gradient on whose path another wanted one lies.
        for value in values:
            for wanted in (program.leaf, program.other):
                try:
                    (found,) = t.autograd.grad(value.sum(), wanted, allow_unused=True, retain_graph=True)
                    gradients.append(None if found is None else found.numpy())
                except RuntimeError:
                    gradients.append("RuntimeError")
    return log, elements, gradients


#: A float may be cut to either of two integers.
TOLERANCES = {"float64": (1e-7, 1e-9), "float32": (1e-5, 1e-5), "int64": (0, 1), "bool": EXACT}


def same(ours, theirs):
    """Compare the logs and the values of two runs."""
    for mine, expected in zip(ours[0], theirs[0], strict=True):
        assert mine == expected
    for mine, expected in zip([*ours[1], *ours[2]], [*theirs[1], *theirs[2]], strict=True):
        assert type(mine) is type(expected)
        if expected is None or isinstance(expected, str):
            continue
        assert_same(mine, expected, strides=False, tolerance=TOLERANCES)


@settings(max_examples=400)
@given(st.lists(STEPS, min_size=1, max_size=12))
def test_random_programs(steps):
    same(run(torchlike, steps), run(torch, steps))


@settings(max_examples=200)
@given(st.lists(STEPS, min_size=1, max_size=12))
def test_random_programs_in_a_pipeline(steps):
    with torchlike.pipeline():
        ours = run(torchlike, steps)
    same(ours, run(torch, steps))
