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
]


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
    return value.to(device) if is_plain and not value.requires_grad else value


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


def differences(name):
    found = []
    make, kwargs = calls.CALLS[name][0]
    for what, given in calls.mutate(name, calls.bind(name, make, kwargs)):
        if "on meta" in what or "requires grad" in what:
            continue
        right = refusal(name, given, "cpu", _eager)
        for mode, (device, run) in MODES.items():
            error = refusal(name, given, device, run)
            if kind_of(error) == kind_of(right) or (isinstance(error, CaptureError) and "captured" in mode):
                continue  # what reads a value cannot be captured at all
            known = [
                why
                for why, names, changes, modes in DEVIATIONS
                if re.fullmatch(names, name) and re.fullmatch(changes, what) and re.fullmatch(modes, mode)
            ]
            if not known:
                found.append(f"{what}, {mode}: {error!r}, on the cpu {right!r}"[:300])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_wrong_calls_are_refused_by_the_same_errors_everywhere(name):
    found = differences(name)
    assert not found, f"{len(found)} differences\n" + "\n".join(found[:20])
