"""Operators beyond their values: results on the second device of the type, and memory after repeated calls."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core.tools import find_interface

from ..agreement import Expected, TestedDevice, compare_value, fault_of, lacking_dtypes, run_on_cpu
from ..changes import arrays_in
from ..comparing import DisagreementError, coarsest_of
from ..outcomes import Outcome
from ..placing import OUTS, arguments_on, call, leaves
from ..samples import Sample, op_samples

#: The figure of bytes that arrays have.
ALLOCATED: Final = "allocated_bytes.all.current"
#: How often a kernel is called before its memory is looked at, and then.
_FIRST: Final = 2
_TIMES: Final = 8


def check_place_and_memory(device: TestedDevice, name: str, outcome: Outcome) -> Outcome:
    """Call an operator that agrees with the cpu on the second device, and its own kernel many times; return the outcome.

    The second device and the figures of memory are those that the device has.

    >>> passed = Outcome("aten::relu", "passed")
    >>> check_place_and_memory(TestedDevice.find("cpu"), "relu", passed) is passed
    True
    """
    if outcome.status != "passed" or not device.has_values:
        return outcome
    checks: list[Callable[[TestedDevice, Sample, Expected], int]] = []
    if device.count > 1:
        checks.append(_check_second)
    if outcome.kernel == "own" and find_interface(device.name).memory is not None:
        checks.append(_check_repeated)
    found = _find_sample(device, name) if checks else None
    if found is None:
        return outcome
    sample, count = found[0], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for check in checks:
            try:
                count += check(device, *found)
            except dc.NoKernelError:
                continue
            except Exception as error:  # noqa: BLE001  # whatever a vendor's kernel raises is the finding
                if not lacking_dtypes(device, name, error):
                    return fault_of(device, sample, error, outcome.kernel, outcome.samples + count)
    return replace(outcome, samples=outcome.samples + count)


def _find_sample(device: TestedDevice, name: str) -> tuple[Sample, Expected] | None:
    """Return the first sample that the cpu takes, and whose dtypes the device has, with what the cpu makes of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in op_samples(name):
            expected = run_on_cpu(sample)
            if (
                expected is None
                or {array.dtype.name for array in arrays_in([sample.arguments, expected.results])} - device.dtypes
            ):
                continue
            return sample, expected
    return None


def _make_arguments(device: str, sample: Sample, outs: dict[str, Any]) -> dict[str, Any]:
    return arguments_on(device, sample) | {name: OUTS[""](out, device, []) for name, out in outs.items()}


def _check_second(device: TestedDevice, sample: Sample, expected: Expected) -> int:
    """Call with arrays of the second device, where every result has to lie."""
    place = f"{device.name}:1"
    results = [*leaves(call(sample, _make_arguments(place, sample, expected.outs)))]
    coarsest = coarsest_of([*arrays_in(sample.arguments), *arrays_in(expected.results)])
    for index, (result, other) in enumerate(zip(results, expected.results, strict=False)):
        where = f"result {index}" if len(results) > 1 else "the result"
        if isinstance(other, np.ndarray) and dc.device(result).index != 1:
            raise DisagreementError(f"{where} of a call on {place} lies on {dc.device(result)}")
        compare_value(device, sample.name, f"{where} of a call on {place}", result, other, coarsest)
    return 1


def _check_repeated(device: TestedDevice, sample: Sample, expected: Expected) -> int:
    """Call a kernel many times: the bytes that arrays have are as before."""
    memory = find_interface(device.name).memory
    if ALLOCATED not in memory.stats(0):
        return 0
    arguments = _make_arguments(device.name, sample, expected.outs)

    def repeat(times: int) -> int:
        for _ in range(times):
            call(sample, arguments)
        dc.synchronize(device.name)
        return int(memory.stats(0)[ALLOCATED])

    before = repeat(_FIRST)  # what is made once and kept: compiled kernels, numbers
    if repeat(_TIMES) <= before:
        return _TIMES
    # It may wait for the collector, or be a cache: it is a leak where it grows as much again.
    gc.collect()
    before = repeat(1)
    grown = _grow(repeat, before)
    if grown > 0 and (again := _grow(repeat, before + grown)) > 0:
        raise DisagreementError(
            f"{ALLOCATED} grows by {again} bytes in {_TIMES} calls whose results are dropped, at each call by about"
            f" {again // _TIMES}: the kernel keeps memory"
        )
    return _TIMES


def _grow(repeat: Callable[[int], int], before: int) -> int:
    repeat(_TIMES)
    gc.collect()
    return repeat(0) - before
