"""Wrong calls are refused on every device and in every mode by the errors of the cpu's eager calls."""

import os
import random
import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="its calls are changed one argument at a time")
pytest.importorskip("jax")

import operator_calls as calls  # noqa: E402  # after the skips

import torchlike  # noqa: E402
from dispatch_aten.errors import DataDependentShapeError, MetaDataError  # noqa: E402
from dispatch_core.errors import CaptureError  # noqa: E402

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines themselves")

#: The part of the operators whose calls are compared: compiling takes long. ``nox -s release`` sets 1.
SHARE = float(os.environ.get("DISPATCH_REFUSALS_SHARE", "0.015"))
_DRAW = random.Random(os.environ.get("DISPATCH_REFUSALS_SEED", "0"))
NAMES = sorted(_DRAW.sample(sorted(calls.MUTATED), round(len(calls.MUTATED) * SHARE)))
#: Why a difference stays; the operators, the change, the modes.
DEVIATIONS = [
    ("arrays without strides never share elements", ".*", ".* expanded", "jax.*"),
    ("its gradient is a composition there, which meets other dtypes first", ".*_backward.grad_input", ".*", "jax.*"),
    ("a gradient's shape is the caller's business", "diagonal_backward", ".*", "jax.*"),
    (
        "the functional kernel, which serves in-place calls there, meets its own rule first",
        "cum.*_",
        "dtype .*",
        "jax.*",
    ),
    ("the cpu's own error is an accident", "norm.out", "p 1j", "jax.*"),
    ("its gradient is a composition there, which takes complex numbers", "softplus_backward", ".*complex.*", "jax.*"),
    ("the cpu's own error is an accident", "(linalg_vector_)?norm.*", "(p|ord) 1j", "meta"),
    ("the cpu's own error is an accident", "(std|var|var_mean).correction.*", "correction 1j", "meta"),
    ("a gradient's shape is the caller's business", "(diagonal|embedding_dense|select|slice)_backward", ".*", "meta"),
    ("torch's Meta tensors end nowhere, either", "as_strided_?", ".*", "meta"),
    ("the probability is asked for where numbers are drawn", "native_dropout", "p .*", "meta"),
]
#: What the cpu says of values; Meta tensors have none.
OF_VALUES = "(index|Target) .* is out of bounds|out of range|ones? in mask|mask has ones|Class values must be"


def _eager(call):
    return call()


def _in_pipeline(call):
    with torchlike.pipeline():
        return call()


def _capture(call):
    return torchlike.capture(call)()


#: Where and how a call is made.
MODES = {
    "cpu in a pipeline": ("cpu", _in_pipeline),
    "cpu captured": ("cpu", _capture),
    "jax": ("jax", _eager),
    "jax in a pipeline": ("jax", _in_pipeline),
    "jax captured": ("jax", _capture),
}


def move(value, device):
    """Return a tensor of the cpu on another device, and anything else as it is."""
    if isinstance(value, list | tuple):
        return type(value)(move(each, device) for each in value)
    is_plain = isinstance(value, torchlike.Tensor) and value.device.type == "cpu" and value.layout is torchlike.strided
    if not is_plain or value.requires_grad:
        return value
    if device == "meta":  # a move keeps no elements that share a place
        return torchlike.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)
    return value.to(device)


def refusal(name, given, device, run):
    """Return the error of a call, or None."""
    mirror = calls.Mirror()
    ours = {key: move(mirror(value), device) for key, value in given.items()}

    def call():
        found, error = calls.call_ours(name, ours)
        if error is not None:
            raise error
        return found

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning refuses nothing, though the suite makes an error of it
            run(call)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is compared
        return error
    return None


def kind_of(error):
    """Return the class of an error, that of its kernel where a pipeline has raised it."""
    return next((each.__name__ for each in type(error).__mro__ if each.__name__ != "PipelineError"), "")


def wrong_calls(name):
    """Yield wrong calls of an operator: what was changed, the arguments, and the cpu's error."""
    make, kwargs = calls.CALLS[name][0]
    for what, given in calls.mutate(name, calls.bind(name, make, kwargs)):
        if "on meta" not in what and "requires grad" not in what:
            yield what, given, refusal(name, given, "cpu", _eager)


def is_listed(name, what, mode):
    return any(
        re.fullmatch(names, name) and re.fullmatch(changes, what) and re.fullmatch(modes, mode)
        for _, names, changes, modes in DEVIATIONS
    )


def differences(name):
    found = []
    for what, given, right in wrong_calls(name):
        for mode, (device, run) in MODES.items():
            error = refusal(name, given, device, run)
            if kind_of(error) == kind_of(right) or (isinstance(error, CaptureError) and "captured" in mode):
                continue  # what reads a value cannot be captured at all
            if not is_listed(name, what, mode):
                found.append(f"{what}, {mode}: {error!r}, on the cpu {right!r}"[:300])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_wrong_calls_are_refused_by_the_same_errors_everywhere(name):
    found = differences(name)
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:20])


@pytest.mark.parametrize("name", sorted(calls.MUTATED))
def test_wrong_calls_are_refused_on_meta_but_for_their_values(name):
    found = []
    for what, given, right in wrong_calls(name):
        error = refusal(name, given, "meta", _eager)
        if kind_of(error) == kind_of(right) or isinstance(error, MetaDataError | DataDependentShapeError):
            continue
        if error is None and re.search(OF_VALUES, str(right)):
            continue
        if not is_listed(name, what, "meta"):
            found.append(f"{what}: {error!r}, on the cpu {right!r}"[:300])
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:20])
