"""A device that the program registers itself, as the users of a frontend see it."""

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.dtypes import BY_NAME
from dispatch_core.planning import PlannedStep


class Box:
    """A NumPy array in a box, which is not written to."""

    def __init__(self, values):
        self.values = np.asarray(values)


INFO = dc.BackendInfo(
    "boxes",
    array_types=(
        dc.ArrayType(
            Box, shape=lambda box: box.values.shape, dtype=lambda box: BY_NAME[box.values.dtype.name], mutable=False
        ),
    ),
)
KERNELS = {
    "prims::device_get": lambda self: self.values,
    "prims::device_put": lambda data, *, device=None: Box(data.copy()),
    "add.Tensor": lambda self, other, *, alpha=1: Box(self.values + alpha * other.values),
    "mul.Tensor": lambda self, other: Box(self.values * other.values),
}


def test_tensors_gradients_and_pipelines_use_it():
    with dc.register_backend(INFO, KERNELS):
        x = torchlike.tensor([1.0, 2.0], device="boxes")
        y = x * x + x
        assert (y.device.type, y.tolist()) == ("boxes", [2, 6])
        with torchlike.pipeline() as pipe:
            y = x * x
            assert y._pending
        assert (y.tolist(), pipe.stats().recorded) == ([1, 4], 1)
        x.requires_grad_()
        (gradient,) = torchlike.autograd.grad(x * x + x, x, torchlike.tensor([1.0, 1.0], device="boxes"))
        assert gradient.tolist() == [3, 5]


def test_its_plan_runs_a_pipelines_steps():
    """The planned step of two nodes stands for ``(x * x) + (x * x)``."""

    def plan(program):
        first, last = program.nodes
        (x,) = {value.index for value in first.inputs()}
        (result,) = last.outputs

        def run(values):
            ran.append([node.name for node in program.nodes])
            values[result.index] = Box(2 * values[x].values ** 2)

        return [PlannedStep((0, 1), run)]

    ran = []
    with dc.register_backend(INFO, KERNELS, plan=plan):
        x = torchlike.tensor([1.0, 2.0], device="boxes")
        with torchlike.pipeline():
            z = x * x
            z = z + z
        assert z.tolist() == [2, 8]
    assert ran == [["aten::mul.Tensor", "aten::add.Tensor"]]


def test_closing_runs_what_is_pending_first():
    with torchlike.pipeline():
        handle = dc.register_backend(INFO, KERNELS)
        x = torchlike.tensor([1.0, 2.0], device="boxes")
        y = x + x
        handle.close()
    with pytest.raises(dc.NoKernelError, match=r"aten::add\.Tensor: no kernel for Boxes"):
        x + x
    with pytest.raises(dc.BackendNotFoundError, match="provides the device 'boxes'"):
        torchlike.ones(2, device="boxes")
    with dc.register_backend(INFO, KERNELS):
        assert (x + y).tolist() == [3, 6]


WRITES = {
    "add_.Tensor": ("add.Tensor", lambda x: (x, x)),
    "add_.Scalar": ("add.Scalar", lambda x: (x, 1)),
    "mul_.Scalar": ("mul.Scalar", lambda x: (x, 2.0)),
    "exp_": ("exp", lambda x: (x,)),
    "relu_": ("relu", lambda x: (x,)),
    "clamp_": ("clamp", lambda x: (x, 0.0, 1.0)),
    "fill_.Scalar": ("fill.Scalar", lambda x: (x, 1.0)),
    "copy_": ("copy", lambda x: (x, x)),
    "index_put_": ("index_put", lambda x: (x, [x], x)),
    "t_": ("t", lambda x: (x,)),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_a_raw_array_that_cannot_be_written_to_says_what_to_call_instead(name):
    functional, arguments = WRITES[name]
    with dc.register_backend(INFO, KERNELS):
        x = Box([1.0, 2.0])
        for call in (lambda: dc.dispatch(name, *arguments(x)), lambda: dc.ops.aten.add(x, x, out=x)):
            with pytest.raises(dc.RegistrationError) as caught:
                call()
            text = str(caught.value)
            assert (
                "arrays of Boxes cannot be written to, and a raw array, unlike a frontend's tensor, cannot be bound"
                in text
            )
            found = ("add.out", "add.Tensor") if text.startswith("aten::add.out") else (name, functional)
            assert text.startswith(f"aten::{found[0]}: ")
            assert text.endswith(f"\nHint: call aten::{found[1]} and use its result")
        assert x.values.tolist() == [1, 2]
