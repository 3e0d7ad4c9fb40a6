"""Drawn programs of views and writes have one derivative, whatever computes it.

The oracle is NumPy, whose views alias as torch's do: a complex step in each element of the argument gives the Jacobian to
the last bits. A program is a list of steps on a list of tensors, so the same one runs on both.
"""

import os
import random
from typing import NamedTuple

import numpy as np
import pytest

import torchlike as torch
from torchlike.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

SEED = int(os.environ.get("DISPATCH_VIEW_SEED", "0"))
PROGRAMS = int(os.environ.get("DISPATCH_VIEW_PROGRAMS", "8"))
SHAPES = [(6,), (2, 3), (3, 2), (2, 2, 2)]
STEP = 1e-30


class Drawn(NamedTuple):
    """A tensor of a program that is drawn: an array that lies as it does, its storage, and whether it is a part."""

    array: np.ndarray
    root: int
    is_part: bool = False


class Program:
    """A drawn program: its steps as functions of a list of tensors, for both libraries."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.shape = self.rng.choice(SHAPES)
        self.drawn = [Drawn(np.zeros(self.shape), 0), Drawn(np.zeros(self.shape), 1)]
        self.steps, self.text = [], [f"x: {self.shape}", "t1 = x.clone()"]
        self.outdated = set()
        for _ in range(self.rng.randrange(3, 9)):
            self.rng.choice([self.add_view, self.add_view, self.add_write, self.add_write, self.add_sine])()
        self.results = self.rng.sample(self.usable(), min(len(self.usable()), self.rng.choice([1, 1, 2])))

    def usable(self):
        """Return the numbers of the tensors that may be read: no parts whose base was written to, and not the argument."""
        return [number for number in range(1, len(self.drawn)) if number not in self.outdated]

    def add(self, text, step, root, is_part=False):
        """Add a step that makes a tensor of the others."""
        self.steps.append(lambda tensors: tensors.append(step(tensors)))
        self.text.append(f"t{len(self.drawn)} = {text}")
        self.drawn.append(Drawn(step([each.array for each in self.drawn]), root, is_part))

    def add_view(self):
        number = self.rng.choice(self.usable())
        array, root, is_part = self.drawn[number]
        text, view, splits = self.choose_view(array)
        self.add(f"t{number}{text}", lambda tensors: view(tensors[number]), root, is_part or splits)

    def choose_view(self, array):
        """Return a view as text and function, and whether torch makes it together with others."""
        if not array.ndim:
            return "[None]", lambda t: t[None], False
        dim = self.rng.randrange(array.ndim)
        size, ahead = array.shape[dim], (slice(None),) * dim
        start, step = self.rng.randrange(size), self.rng.choice([1, 1, 2])
        before = ":, " * dim
        choices = [
            (f"[{before}{start}, ...]", lambda t: t[(*ahead, start, ...)], False),
            (f"[{before}{start}::{step}]", lambda t: t[(*ahead, slice(start, None, step))], False),
            (f"[{before}None]", lambda t: t[(*ahead, None)], False),
            (f".unbind({dim})[{start}]", lambda t: unbind(t, dim, start), True),
            (f".chunk(2, {dim})[0]", lambda t: chunk(t, dim), True),
        ]
        if array.ndim > 1:
            other = (dim + 1) % array.ndim
            choices += [
                (f".transpose({dim}, {other})", lambda t: swap(t, dim, other), False),
                (f".diagonal(0, {dim}, {other})", lambda t: diagonal(t, dim, other), False),
            ]
        if array.flags.c_contiguous:
            choices.append((".view(-1)", lambda t: t.reshape(-1) if is_numpy(t) else t.view(-1), False))
        return self.rng.choice(choices)

    def add_write(self):
        number = self.rng.choice([each for each in self.usable() if not self.drawn[each].is_part])
        array, root, _ = self.drawn[number]
        factor = self.rng.choice([-1.5, 0.5, 3.0])
        others = [each for each in self.usable() if self.drawn[each].array.shape == array.shape and each != number]
        other = self.rng.choice(others or [0])
        choices = [
            ("sin_()", lambda t, o: np.sin(t), lambda t, o: t.sin_()),
            (f"mul_({factor})", lambda t, o: t * factor, lambda t, o: t.mul_(factor)),
            ("square_()", lambda t, o: t * t, lambda t, o: t.square_()),
            (f"add_(t{other}.sum())", lambda t, o: t + o.sum(), lambda t, o: t.add_(o.sum())),
            (f"fill_({factor})", lambda t, o: factor, lambda t, o: t.fill_(factor)),
            (f"[...] = t{other}.sum()", lambda t, o: o.sum(), lambda t, o: t.__setitem__(..., o.sum())),
        ]
        if others:
            choices += [
                (f"copy_(t{other} * 2)", lambda t, o: o * 2, lambda t, o: t.copy_(o * 2)),
                (f"mul_(t{other}.clone())", lambda t, o: t * o, lambda t, o: t.mul_(o.clone())),
            ]
        text, value, write = self.rng.choice(choices)

        def step(tensors):
            t, o = tensors[number], tensors[other]
            if is_numpy(t):
                t[...] = value(t, o)
            else:
                write(t, o)

        self.steps.append(step)
        self.text.append(f"t{number}.{text}")
        parts = [each for each, drawn in enumerate(self.drawn) if drawn.is_part and drawn.root == root]
        self.outdated.update(parts)

    def add_sine(self):
        """Add a tensor that is not a view, and saves none that a later write could change."""
        number = self.rng.choice(self.usable())
        self.add(f"(t{number} * 2).sin()", lambda tensors: double_sine(tensors[number]), len(self.drawn))

    def __call__(self, x):
        tensors = [x, np.array(x) if is_numpy(x) else x.clone()]
        for step in self.steps:
            step(tensors)
        return tuple(tensors[each] for each in self.results)

    def __repr__(self):
        return "; ".join([*self.text, f"return {', '.join(f't{each}' for each in self.results)}"])


def is_numpy(t):
    return isinstance(t, np.ndarray)


def double_sine(t):
    return np.asarray(np.sin(t * 2)) if is_numpy(t) else (t * 2).sin()


def swap(t, dim, other):
    return np.swapaxes(t, dim, other) if is_numpy(t) else t.transpose(dim, other)


def diagonal(t, dim, other):
    found = t.diagonal(0, dim, other)
    if is_numpy(t):
        found.flags.writeable = True
    return found


def unbind(t, dim, place):
    return np.moveaxis(t, dim, 0)[place, ...] if is_numpy(t) else t.unbind(dim)[place]


def chunk(t, dim):
    size = -(-t.shape[dim] // 2)
    return t[(slice(None),) * dim + (slice(0, size),)] if is_numpy(t) else t.chunk(2, dim)[0]


def find_jacobian(program, x):
    """Return the Jacobian by complex steps: a row for each element of the results, a column for each of the argument."""
    columns = []
    for place in range(x.size):
        moved = x.astype(complex).reshape(-1)
        moved[place] += 1j * STEP
        results = program(moved.reshape(x.shape))
        columns.append(np.concatenate([np.asarray(each).imag.reshape(-1) / STEP for each in results]))
    return np.stack(columns, 1)


def flat(results):
    """Return the results in one vector."""
    return torch.cat([each.reshape(-1) for each in results])


def by_backward(program, x, weights):
    leaf = x.clone().requires_grad_()
    results = flat(program(leaf))
    (results * weights).sum().backward() if results.requires_grad else None
    return torch.zeros_like(x) if leaf.grad is None else leaf.grad


def by_views_backward(program, x, weights):
    """Differentiate the results themselves, which are views."""
    leaf, results = x.clone().requires_grad_(), None
    results = program(leaf)
    parts = weights.split([each.numel() for each in results])
    reached = [
        (each, part.reshape(each.shape)) for each, part in zip(results, parts, strict=True) if each.requires_grad
    ]
    if reached:
        torch.autograd.backward(*zip(*reached, strict=True))
    return torch.zeros_like(x) if leaf.grad is None else leaf.grad


def by_vjp(program, x, weights):
    results, multiply = vjp(program, x)
    parts = weights.split([each.numel() for each in results])
    return multiply(tuple(part.reshape(each.shape) for each, part in zip(results, parts, strict=True)))[0]


def by_jvp(program, x, weights):
    rows = [flat(jvp(program, (x,), (unit,))[1]) for unit in torch.eye(x.numel(), dtype=x.dtype).view(-1, *x.shape)]
    return (torch.stack(rows) @ weights).view(x.shape)


def by_jacobian(jacobian):
    def differentiate(program, x, weights):
        parts = [each.reshape(-1, x.numel()) for each in jacobian(program)(x)]
        return (weights @ torch.cat(parts)).view(x.shape)

    return differentiate


def number(program, weights):
    return lambda x: (flat(program(x)) * weights).sum()


def by_grad(program, x, weights):
    return grad(number(program, weights))(x)


def by_grad_and_value(program, x, weights):
    return grad_and_value(number(program, weights))(x)[0]


def by_vmapped_grad(program, x, weights):
    rows = vmap(grad(number(program, weights)))(torch.stack([x * 2, x]))
    return rows[1]


def by_functionalize(program, x, weights):
    return vjp(functionalize(lambda x: flat(program(x))), x)[1](weights)[0]


def inside_pipeline(differentiate):
    def run(program, x, weights):
        with torch.pipeline():
            return differentiate(program, x, weights)

    return run


def inside_capture(differentiate):
    def run(program, x, weights):
        step = torch.capture(lambda x, weights: differentiate(program, x, weights))
        for _ in range(3):
            found = step(x, weights)
        return found

    return run


WAYS = {
    "backward": by_backward,
    "backward of views": by_views_backward,
    "vjp": by_vjp,
    "jvp": by_jvp,
    "jacrev": by_jacobian(jacrev),
    "jacfwd": by_jacobian(jacfwd),
    "grad": by_grad,
    "grad_and_value": by_grad_and_value,
    "vmap of grad": by_vmapped_grad,
    "functionalize": by_functionalize,
    "backward in a pipeline": inside_pipeline(by_views_backward),
    "vjp in a pipeline": inside_pipeline(by_vjp),
    "backward, captured": inside_capture(by_backward),
    "vjp, captured": inside_capture(by_vjp),
}


def make_argument(program, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(0.2, 1.2, program.shape)
    jacobian = find_jacobian(program, x)
    weights = random.uniform(0.5, 1.5, len(jacobian))
    return x, jacobian, weights


@pytest.mark.parametrize("way", WAYS)
def test_programs_of_views_and_writes_have_one_gradient(way):
    for seed in range(SEED, SEED + PROGRAMS):
        program = Program(seed)
        x, jacobian, weights = make_argument(program, seed)
        found = WAYS[way](program, torch.tensor(x), torch.tensor(weights))
        wanted = (weights @ jacobian).reshape(x.shape)
        np.testing.assert_allclose(found.numpy(), wanted, 1e-9, 1e-12, err_msg=f"seed {seed}: {program!r}")


def test_second_derivatives_of_programs_of_views_and_writes_are_the_same_both_ways():
    for seed in range(SEED, SEED + PROGRAMS // 4):
        program = Program(seed)
        x, _, weights = make_argument(program, seed)
        f, x = number(program, torch.tensor(weights)), torch.tensor(x)
        found, backward = hessian(f)(x).numpy(), jacrev(grad(f))(x).numpy()
        np.testing.assert_allclose(found, backward, 1e-9, 1e-12, err_msg=f"seed {seed}: {program!r}")
        leaf = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(f(leaf), leaf, create_graph=True, materialize_grads=True)
        rows = [
            torch.autograd.grad(each, leaf, retain_graph=True, materialize_grads=True)[0].numpy()
            if each.requires_grad
            else np.zeros(x.shape)
            for each in slope.reshape(-1)
        ]
        np.testing.assert_allclose(np.stack(rows).reshape(found.shape), found, 1e-9, 1e-12, err_msg=repr(program))


def test_a_view_that_outlives_its_transform_is_never_taken_for_one_without_a_gradient():
    kept = []

    def f(x):
        y = x.clone()
        kept.append(y[0])
        return y.sin_().sum()

    grad(f)(torch.ones(2))
    with pytest.raises(RuntimeError, match="the transform that recorded it is over"):
        _ = kept[0].grad_fn


def view_then_write(x):
    y = x.clone()
    v = y[0]
    y.sin_()
    return v


def test_what_is_written_after_a_transform_leaves_its_gradients_alone():
    x = torch.ones(2, 2)
    z = x.clone()
    _, multiply = vjp(lambda x: x[0], z)
    z.mul_(3)
    assert multiply(torch.ones(2))[0].tolist() == [[1.0, 1.0], [0.0, 0.0]]
    results, multiply = vjp(view_then_write, x)
    results.mul_(3)
    np.testing.assert_allclose(multiply(torch.ones(2))[0].numpy(), [[np.cos(1)] * 2, [0, 0]], 1e-6)


def test_a_view_of_a_transform_around_keeps_its_history():
    def f(x):
        v = view_then_write(x)
        result, multiply = vjp(lambda z: v, x)
        return result.sum() + multiply(torch.ones(2))[0].sum() + grad(lambda z: (z * v).sum())(x[0]).sum()

    np.testing.assert_allclose(grad(f)(torch.ones(2, 2)).numpy(), [[2 * np.cos(1)] * 2, [0, 0]], 1e-6)


def test_gradients_of_views_reach_through_containers_auxiliary_values_and_levels():
    x, slope = torch.ones(2, 2), np.array([[np.cos(1)] * 2, [0, 0]])
    _, multiply = vjp(lambda x: {"a": view_then_write(x), "b": [view_then_write(x) * 2]}, x)
    leaf = x.clone().requires_grad_()
    grad(lambda x: (view_then_write(x) ** 2).sum() / 2)(leaf).sum().backward()
    found = {
        "containers": (multiply({"a": torch.ones(2), "b": [torch.ones(2)]})[0], slope * 3),
        "aux": (
            grad(lambda x: grad(lambda z: (z.sum(), view_then_write(z * x)), has_aux=True)(x)[1].sum())(x),
            slope * 2,
        ),
        "vmap inside": (grad(lambda x: vmap(view_then_write)(torch.stack([x, x])).sum())(x), slope * 2),
        "vmap outside": (vmap(lambda x: vjp(view_then_write, x)[1](torch.ones(2))[0])(torch.stack([x, x]))[1], slope),
        "jvp inside": (
            grad(lambda x: jvp(view_then_write, (x,), (x,))[1].sum())(x),
            slope * (1 - np.tan(1)),
        ),
        "backward outside": (leaf.grad, np.array([[np.cos(2)] * 2, [0, 0]])),
    }
    for name, (got, wanted) in found.items():
        np.testing.assert_allclose(got.numpy(), wanted, 1e-5, 1e-6, err_msg=name)
