"""An operator with a frontend's tensors: results, writes, gradients; eagerly and in a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc

from ..operators import ATEN_BY_NAME
from .agreement import TestedDevice, find_needed, lacking_dtypes, run_on_cpu
from .changes import map_arrays
from .comparing import DisagreementError, compare_values, has_no_values, is_up_to_sign
from .drawing import Array
from .frontends import Adapter
from .outcomes import Outcome
from .places import place_of_error
from .placing import call, leaves
from .samples import Sample, names_written, op_samples

#: The ways in which a call is made: name → a block around it.
MODES: Final[dict[str, Callable[[], AbstractContextManager[Any]]]] = {"eager": nullcontext, "pipeline": dc.pipeline}
#: Tags of operators whose results have other values, or another memory, each time.
_VARYING: Final = frozenset({"nondeterministic_seeded", "inplace_view"})


def check_tensor_calls(device: TestedDevice, adapter: Adapter, name: str) -> Outcome:
    """Compare an operator's first sample, made with tensors, with the cpu in every mode, gradients included.

    A pipeline runs twice: its second run has the plan of the first.
    """
    check, kernel = f"tensors: {name}", device.kernel_of(name)
    sample = next(iter(op_samples(name)), None)
    if sample is None or _VARYING & set(ATEN_BY_NAME[name].tags) or has_no_values(name) or is_up_to_sign(name):
        return Outcome(check, "not run", "its results differ from call to call, or there are no samples", kernel)
    if lacking := {array.dtype.name for array in _arrays(sample)} - device.dtypes:
        return Outcome(check, "not run", f"the device has no {', '.join(sorted(lacking))}", kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on_arrays = run_on_cpu(sample)
        if on_arrays is None:
            return Outcome(check, "not run", "the cpu refuses it", kernel)
        make = partial(_run, adapter, sample, outs=on_arrays.outs)
        expected, differentiate = _run_first(make)
        if {array.dtype.name for array in expected.values()} - device.dtypes:
            return Outcome(check, "not run", "the device lacks a dtype of the results", kernel)
        for mode in ("eager", "pipeline", "pipeline"):
            try:
                found = make(device.name, mode, differentiate=differentiate)
                for where, array in expected.items():
                    if where not in found:
                        raise DisagreementError(f"there is no {where}")
                    compare_values(name, where, found[where], array)
            except dc.NoKernelError as error:
                needed = find_needed(error) or f"aten::{name}"
                return Outcome(check, "missing", f"no kernel for {needed}", kernel, 0, (needed,))
            except Exception as error:  # noqa: BLE001  # whatever is raised is the finding
                if refused := lacking_dtypes(device, name, error):
                    return Outcome(check, "not run", f"the device has no {', '.join(sorted(refused))}", kernel)
                text = str(error) if isinstance(error, DisagreementError) else f"{type(error).__name__}: {error}"
                place = place_of_error(device.key, error)
                return Outcome(check, "failed", f"{mode}: {sample}: {text}", kernel, place=place)
    return Outcome(check, "passed", "", kernel, len(MODES) + 1)


def _arrays(sample: Sample) -> list[Array]:
    return [each for value in sample.arguments.values() for each in leaves(value) if isinstance(each, np.ndarray)]


def _run_first(make: Callable[..., dict[str, Array]]) -> tuple[dict[str, Array], bool]:
    """Run on the cpu, with gradients where the cpu has them; return the values, and whether it has."""
    try:
        return make("cpu", "eager", differentiate=True), True
    except Exception:  # noqa: BLE001  # the cpu decides what can be differentiated
        return make("cpu", "eager", differentiate=False), False


def _run(
    adapter: Adapter, sample: Sample, device: str, mode: str, *, outs: dict[str, Array], differentiate: bool
) -> dict[str, Array]:
    """Return the values of the results, of the written arguments and of the gradients, by the names of reports."""
    writes = names_written(sample.name)
    differentiate = differentiate and not writes
    inputs: list[Any] = []

    def make(array: Array) -> Any:
        tensor = adapter.make(array, device, requires_grad=array.dtype.kind in "fc" and differentiate)
        if array.dtype.kind in "fc":
            inputs.append(tensor)
        return tensor

    arguments = map_arrays(sample.arguments, make)
    arguments = {key: dc.Device(device) if isinstance(value, dc.Device) else value for key, value in arguments.items()}
    if any(each.name == "device" for each in sample.schema.arguments):
        arguments["device"] = dc.Device(device)
    arguments |= {name: adapter.make(np.zeros_like(out), device) for name, out in outs.items()}
    grads: list[Any] = []
    with MODES[mode]():
        results = [*leaves(call(sample, arguments))]
        outputs = [each for each in results if getattr(each, "requires_grad", False)]
        if outputs and differentiate:
            grads = adapter.gradients(outputs, inputs)
    found = {f"result {index}": result for index, result in enumerate(results)}
    found |= {f"argument {name!r} afterwards": arguments[name] for name in writes if name in arguments}
    found |= {f"gradient {index}": grad for index, grad in enumerate(grads)}
    return {where: adapter.read(value) for where, value in found.items() if _is_tensor(value)}


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "_dispatch_data")
