"""A device that the program registers itself, as the users of a frontend see it."""

import warnings

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
    """The planned step of two nodes represents ``(x * x) + (x * x)``."""

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


MINE = dc.BackendInfo("mine")
NUMPY = dc.ArrayType(np.ndarray, shape=np.shape, dtype=lambda array: array.dtype.name)


@pytest.fixture(autouse=True)
def _nothing_is_left():
    yield
    assert not {"mine", "boxes"} & {*dc.backends()}


def test_numpys_arrays_are_reserved_where_the_cpu_backend_is_installed():
    with pytest.raises(
        dc.RegistrationError, match=r"'mine' claims .* numpy\.ndarray, which dispatch-backend-cpu \S+ declares"
    ):
        dc.register_backend(dc.BackendInfo("mine", array_types=(NUMPY,)), {})


@pytest.mark.parametrize(
    ("variable", "names", "reason"),
    [
        ("DISPATCH_BACKENDS_BLOCK", "mine", "it is blocked by DISPATCH_BACKENDS_BLOCK"),
        ("DISPATCH_BACKENDS", "cpu", "DISPATCH_BACKENDS does not name it"),
        ("DISPATCH_BACKENDS", "cpu,mine", ""),
        ("DISPATCH_AUTOLOAD", "0", ""),
    ],
)
def test_the_environment_decides_on_the_programs_devices_too(monkeypatch, variable, names, reason):
    monkeypatch.setenv(variable, names)
    dc.refresh()
    try:
        if reason:
            with pytest.raises(dc.BackendError, match=reason):
                dc.register_backend(dc.BackendInfo("mine"), {})
        else:
            with dc.register_backend(dc.BackendInfo("mine"), {}):
                # An allow-list may name a device that only the program has.
                assert dc.load_backend("cpu").name == "cpu"
    finally:
        monkeypatch.undo()
        dc.refresh()


@pytest.mark.parametrize("key", ["CPU", "AutogradCPU", "CompositeExplicitAutograd", "Autograd"])
def test_kernels_under_keys_that_are_not_its_own_are_refused(key):
    def register(registry):
        registry.register_kernel("aten::relu", key, lambda self: self, allow_override=True)

    with pytest.raises(dc.RegistrationError) as caught:
        dc.register_backend(MINE, register)
    assert str(caught.value).startswith(
        f"the program's backend for device 'mine' registers a kernel of aten::relu under {key}"
    )
    assert str(caught.value).endswith("set DISPATCH_FOREIGN_KEYS=mine")


def test_a_misspelt_operator_is_a_warning_at_the_programs_line_and_as_an_error_leaves_nothing():
    with pytest.warns(dc.UnknownOperatorWarning, match=r"did you mean aten::add\.Tensor\?") as caught:
        dc.register_backend(MINE, {"add.Tensr": print}).close()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dc.UnknownOperatorWarning):
            dc.register_backend(MINE, {"aten::add.Tensr": print})


def test_a_private_registry_may_own_any_array_type():
    registry = dc.Registry()
    registry.register_schema("mine::double", "double(Tensor self) -> Tensor")
    kernels = {"mine::double": lambda self: 2 * self}
    with dc.register_backend(dc.BackendInfo("mine", array_types=(NUMPY,)), kernels, registry=registry):
        assert registry.ops.mine.double(np.ones(2)).tolist() == [2, 2]
        assert dc.device(np.ones(2)) == dc.Device("cpu")
        assert dc.backends()["mine"].state == "loaded"
    with pytest.raises(dc.NoKernelError):
        registry.ops.mine.double(np.ones(2))
    with pytest.raises(dc.ArgumentError, match="expected a Registry or None, not int"):
        dc.register_backend(MINE, {}, registry=3)
