"""Kernels for sets of types, called with tensors of two devices."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.dtypes import BY_NAME


class Box:
    """An array of a device of the tests' own, which cannot be written to."""

    def __init__(self, values):
        self.values = np.array(values, np.float32)


def values_of(array):
    return array.values if isinstance(array, Box) else array


def put(data, *, device):
    return Box(data)


@pytest.fixture(scope="module", autouse=True)
def mixed():
    """The device ``box``, and operators with kernels for arrays of it and of cpu."""
    boxes = dc.ArrayType(
        Box, shape=lambda box: box.values.shape, dtype=lambda box: BY_NAME[box.values.dtype.name], mutable=False
    )
    kernels = {
        "prims::device_get": lambda self: self.values.copy(),
        "prims::device_put": put,
        "aten::empty.memory_format": lambda size, **options: Box(np.empty(size)),
        "aten::copy": lambda self, src, non_blocking: Box(np.broadcast_to(src.values, self.values.shape)),
        "aten::fill.Scalar": lambda self, value: Box(np.full_like(self.values, value)),
        "aten::mul.Scalar": lambda self, other: Box(self.values * np.float32(other)),
        "aten::mul.Tensor": lambda self, other: Box(self.values * other.values),
    }
    with contextlib.ExitStack() as opened:
        opened.enter_context(dc.register_backend(dc.BackendInfo("box", array_types=(boxes,)), kernels))
        library = opened.enter_context(dc.Library("mixed", "DEF"))
        types = np.ndarray, Box
        for schema, kernel in {
            "dot(Tensor a, Tensor b) -> Tensor": lambda a, b: np.asarray((values_of(a) * values_of(b)).sum()),
            "add(Tensor a, Tensor b) -> Tensor": lambda a, b: (
                type(a)(values_of(a) + values_of(b)) if isinstance(a, Box) else a + values_of(b)
            ),
            "both(Tensor a, Tensor b) -> (Tensor, Tensor)": lambda a, b: (values_of(a) + 0, Box(values_of(b))),
            "all(Tensor[] xs) -> Tensor[]": lambda xs: [Box(values_of(each)) for each in xs],
            "head(Tensor(a) a, Tensor b) -> Tensor(a)": lambda a, b: a[:1],
            "add_(Tensor(a!) a, Tensor b) -> Tensor(a!)": lambda a, b: np.add(a, values_of(b), out=a),
            "count(Tensor a, Tensor b) -> int": lambda a, b: a.size + values_of(b).size,
        }.items():
            library.impl(library.define(schema), kernel, types=types)
        yield library


ops = dc.ops.mixed


def here(*values):
    return torchlike.tensor(values)


def there(*values):
    return torchlike.tensor(values, device="box")


def test_results_are_tensors_of_the_devices_of_their_arrays():
    a, b = here(1.0, 2.0), there(3.0, 4.0)
    assert ops.dot(a, b).item() == ops.dot(b, a).item() == 11.0
    assert [(str(each.device), each.tolist()) for each in ops.both(a, b)] == [("cpu", [1.0, 2.0]), ("box", [3.0, 4.0])]
    assert [str(each.device) for each in ops.all([a, b, a])] == ["box"] * 3
    assert (str(ops.add(a, b).device), str(ops.add(b, a).device), ops.count(a, b)) == ("cpu", "box", 4)


def test_a_write_and_a_view_are_seen():
    a, b = here(1.0, 2.0), there(3.0, 4.0)
    before = a._version
    assert ops.add_(a, b) is a
    assert (a.tolist(), a._version) == ([4.0, 6.0], before + 1)
    head = ops.head(a, b)
    head.add_(1)
    assert a.tolist() == [5.0, 6.0]


def test_a_formula_differentiates_a_mixture():
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b.to(a.device), (grad * a.cpu()).to(b.device)

    def dot_of(a, b):
        return np.asarray((values_of(a) * values_of(b)).sum())

    with dc.Library("mixed", "FRAGMENT") as library:
        library.impl(library.define("dot2(Tensor a, Tensor b) -> Tensor"), dot_of, types=(np.ndarray, Box))
        dc.register_autograd(
            "mixed::dot2", backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
        )
        a, b = here(1.0, 2.0).requires_grad_(), there(3.0, 4.0).requires_grad_()
        ops.dot2(a, b).backward()
    assert (a.grad.tolist(), b.grad.tolist(), str(b.grad.device)) == ([3.0, 4.0], [1.0, 2.0], "box")


def test_a_mixture_without_formula_has_no_gradient():
    found = ops.dot(here(1.0).requires_grad_(), there(2.0))
    with pytest.raises(NotImplementedError, match="derivative for mixed::dot is not implemented"):
        found.backward()


def test_transforms_and_modes_see_a_mixture():
    b = there(3.0, 4.0)
    assert torchlike.vmap(lambda row: ops.dot(row, b))(torchlike.ones(2, 2)).tolist() == [7.0, 7.0]
    with dc.profile() as profile:
        ops.dot(here(1.0), there(1.0))
    assert ("mixed::dot", 1) in [(stats.name, stats.calls) for stats in profile.key_averages()]


def test_another_mixture_is_refused_as_before():
    with pytest.raises(dc.DeviceMismatchError, match=r"types=\(ndarray, Box\)"):
        ops.dot(here(1.0), torchlike.ones(1, device="meta"))


def test_a_captured_function_refuses_a_mixture():
    with pytest.raises(dc.CaptureError, match="a kernel for a set of types"):
        dc.capture(lambda a, b: ops.dot(a * 1, b))(here(1.0), there(2.0))


@pytest.mark.parametrize("start", range(8))
def test_drawn_programs_give_the_same_in_a_pipeline(start):
    expected, found = run_drawn(start, contextlib.nullcontext), run_drawn(start, dc.pipeline)
    assert found == expected


def run_drawn(start, block):
    """Return the values of a drawn program, whose calls mix devices, read and write."""
    draw = random.Random(start)
    mine, theirs = [here(1.0, 2.0), here(3.0, 5.0)], [there(0.5, 1.0)]
    numbers = []
    with block():
        for _ in range(12):
            a, b, action = draw.choice(mine), draw.choice(theirs), draw.randrange(6)
            if action == 0:
                mine.append(a * 0.5)
            elif action == 1:
                theirs.append(b * 0.5)
            elif action == 2:
                ops.add_(a, b)
            elif action == 3:
                mine.append(ops.add(a, b))
            elif action == 4:
                a.mul_(0.5)
            else:
                theirs.append(ops.both(a, b)[1])
            numbers.append(ops.count(a, b))
        mine.append(ops.dot(draw.choice(mine), draw.choice(theirs)))
    return [each.tolist() for each in (*mine, *theirs)], numbers
