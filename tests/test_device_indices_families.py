"""Every operator of several tensors refuses them on two devices of one type, before anything is written."""

import warnings

import numpy as np
import paired_devices as twins
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_aten.testing.changes import arrays_in, map_arrays
from dispatch_aten.testing.samples import op_samples

#: The operators that copy from one device to another.
COPIES = {"copy", "copy_"}
#: Those that treat each tensor by itself.
APART = {"expand_as", "view_as", "reshape_as", "type_as", "is_same_size", "broadcast_tensors"}
APART |= {f"atleast_{count}d.Sequence" for count in (1, 2, 3)}


def make_calls():
    """Yield an operator and arguments of a sample, NumPy's arrays among them, outputs included."""
    for name in ATEN_BY_NAME:
        operator = dc.registry.get(f"aten::{name}").op
        outputs = [each.name for each in operator.schema.arguments if each.is_write and each.kwarg_only]
        for sample in op_samples(name):
            arguments = {**sample.arguments, **{each: np.zeros(3, "float32") for each in outputs}}
            if sum(1 for value in arguments.values() for _ in arrays_in(value)) > 1:
                yield operator, arguments
                break


def is_refused(operator, arguments, which, like):
    """Call an operator with one array on the second device; return whether that is refused, and nothing written.

    The others are on the first. They are tensors as ``like`` is, unless that is None.
    """
    made = []

    def place(array):
        device = dc.Device("twin", int(len(made) == which))
        made.append((dc.ops.prims.device_put(np.array(array), device=device), array))
        return made[-1][0] if like is None else dc.wrap_like(like, made[-1][0])

    placed = {key: map_arrays(value, place) for key, value in arguments.items()}
    try:
        operator(**placed)
    except dc.DeviceMismatchError as error:
        words = "Expected all tensors to be on the same device, but found at least two devices, twin:0 and twin:1!"
        same = [np.array_equal(twin.array, array, equal_nan=array.dtype.kind in "fc") for twin, array in made]
        return f"{operator.name}: {words}" in str(error) and all(same)
    return False


@pytest.mark.long
@pytest.mark.parametrize("mode", ["arrays", "tensors", "pipeline"])
def test_every_operator_refuses_tensors_on_two_devices(mode):
    like = None if mode == "arrays" else torchlike.ones(1)
    number, allowed = 0, set()
    with twins.register(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torchlike.ones(1, device="twin:1")
        for operator, arguments in make_calls():
            for which in range(sum(1 for value in arguments.values() for _ in arrays_in(value))):
                number += 1
                if mode == "pipeline":
                    with torchlike.pipeline():
                        found = is_refused(operator, arguments, which, like)
                else:
                    found = is_refused(operator, arguments, which, like)
                if not found:
                    allowed.add(operator.name.removeprefix("aten::"))
        assert not twins.wrong
    assert number > 2000 and allowed == COPIES | (APART if like is not None else set())
