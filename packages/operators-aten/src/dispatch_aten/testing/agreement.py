"""Whether an operator does the same on a device as on the cpu: results, writes, memory, for every sample."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Final

import numpy as np

import dispatch_core as dc
from dispatch_core import ops
from dispatch_core.runtime import count_devices

from ..dtypes import BY_NAME
from ..errors import AtenError, DataDependentShapeError, DtypeError, MetaDataError
from ..operators import ATEN_BY_NAME, KIND_OF
from ..variants import base_name, functional_of
from .changes import arrays_in
from .claims import claimed_dtypes
from .comparing import (
    DisagreementError,
    coarsest_of,
    compare_signs,
    compare_values,
    has_no_values,
    may_have_either_zero,
)
from .drawing import Array
from .further import SEED, further_samples, large_samples, list_refusals
from .outcomes import Outcome
from .places import place_of_error, place_of_kernel
from .placing import (
    GUARDED,
    OUTS,
    SHAPED,
    GuardedArray,
    arguments_on,
    call,
    dtype_name,
    dtypes_of,
    get,
    is_in_numpy,
    leaves,
    put,
)
from .samples import Sample, names_written, op_samples

#: Operators that show how their argument lies in memory: arrays without strides lie row by row.
_IN_MEMORY: Final = frozenset({"as_strided", "as_strided_copy"})
#: Changes after which results are written to, too, to find out whether they share memory with an argument.
_DEEP: Final = frozenset({"float32", "int64", "int32", "uint8", "bool", "0-d", "float16", "special values"})
#: Results for the operator's own gradient alone, which each device fills in its own way: by operator, where they are
#: among the results and how they are called among the arguments of its ``out`` overload.
_PRIVATE: Final = {"log_sigmoid_forward": (1, "buffer")}
#: Fourier transforms of real numbers to real numbers, which are complex in between.
_COMPLEX_INSIDE: Final = re.compile(r"fft_(irfft|hfft)")
#: Errors of a call whose result depends on values.
_WITHOUT_VALUES: Final = (MetaDataError, DataDependentShapeError)


@dataclass(frozen=True, slots=True)
class TestedDevice:
    """A device under test: its name, its key and the dtypes that it has."""

    __test__: ClassVar = False  # pytest would take it for tests by its name

    name: str
    key: Any
    dtypes: frozenset[str]
    is_mutable: bool
    has_values: bool = True
    #: The dtypes that its interface lists, none where it lists none.
    claimed: frozenset[str] = frozenset()
    #: How many devices of the type there are.
    count: int = 1

    @classmethod
    def find(cls, name: str) -> TestedDevice:
        """Load a device's backend and ask it for its dtypes: those that its interface lists, or all that come back.

        >>> TestedDevice.find("cpu").is_mutable
        True
        """
        key = dc.device_key(name)
        if name == "meta":  # it has no values, so nothing comes back
            return cls(name, key, dtypes_of("cpu"), is_mutable=True, has_values=False)
        claimed = claimed_dtypes(name)
        dtypes = dtypes_of(name) if claimed is None else frozenset(filter(is_in_numpy, claimed))
        probe = ops.prims.device_put(np.ones(1, min(dtypes, default="float32")), device=dc.Device(name))
        return cls(name, key, dtypes, dc.is_mutable(probe), claimed=claimed or frozenset(), count=count_devices(name))

    def kernel_of(self, name: str) -> str:
        """Return "own", "composed" or, where nothing serves an operator, ""."""
        registration = dc.registry.get(f"aten::{name}").slot(self.key).registration
        if registration is None:
            return ""
        return "own" if registration.key is self.key else "composed"

    def is_own_call(self, event: Any) -> bool:
        """Return whether a call that a profile has seen ran one of the device's own kernels, copies from it left out."""
        if event.name.startswith("prims::") or self.key not in event.keys:
            return False
        registration = dc.registry.get(event.name).slot(self.key).registration
        return registration is not None and registration.key is self.key


def check_operator(device: TestedDevice, name: str, *, limit: int | None = None, seed: int = SEED) -> Outcome:
    """Compare an operator's samples, or the first ``limit`` of them, with the cpu, and then the calls that it refuses.

    ``seed`` draws the further samples.

    >>> check_operator(TestedDevice.find("cpu"), "relu").status
    'passed'
    """
    kernel, compared, calls, unfit, missing = device.kernel_of(name), 0, 0, set(), set()
    if names_written(name) and not device.is_mutable:
        return Outcome(f"aten::{name}", "not run", "arrays cannot be written to; tensors are", kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = [*op_samples(name)]
        large = large_samples(name, device.dtypes, plain[0]) if plain and kernel == "own" else ()
        for sample in chain(plain, large, further_samples(name, device.dtypes, seed, plain)):
            if limit is not None and compared >= limit:
                break
            expected = run_on_cpu(sample)
            if expected is None or _converts_nan(sample, expected):
                continue
            if lacking := _dtypes(sample, expected) - device.dtypes:
                unfit |= lacking
                continue
            if sample.layout and base_name(name) in _IN_MEMORY and not dc.has_strides(device.name):
                continue  # no array of the device lies otherwise
            try:
                if compared:
                    compare_sample(device, sample, expected, deeply=sample.change in _DEEP)
                else:
                    with dc.profile(record_shapes=False) as profile:
                        compare_sample(device, sample, expected, deeply=True)
                    calls = sum(device.is_own_call(event) for event in profile.events)
            except dc.NoKernelError as error:
                if not compared:
                    missing.add(find_needed(error) or f"aten::{name}")
                    break
                continue  # with other dtypes or layouts it is composed of other operators
            except Exception as error:  # noqa: BLE001  # whatever a vendor's kernel raises is the finding
                if lacking := lacking_dtypes(device, name, error):
                    unfit |= lacking
                    continue
                if isinstance(error, _WITHOUT_VALUES) and not device.has_values:
                    reason = "the result depends on values, which the device does not have"
                    return Outcome(f"aten::{name}", "not run", reason, kernel)
                raised = error if compared else _raise_plainly(device, sample, error)
                return fault_of(device, sample, raised, kernel, compared)
            compared += 1
        if compared and (limit is None or compared < limit):
            for sample in list_refusals(plain[0]):
                try:
                    compared += check_refusal(device, sample)
                except DisagreementError as error:
                    return fault_of(device, sample, error, kernel, compared)
    if missing:
        return Outcome(f"aten::{name}", "missing", f"no kernel for {', '.join(missing)}", kernel, 0, tuple(missing))
    if compared:
        return Outcome(f"aten::{name}", "passed", "", kernel, compared, calls=calls)
    reason = f"the device has no {', '.join(sorted(unfit))}" if unfit else "there are no samples"
    return Outcome(f"aten::{name}", "not run", reason, kernel)


def _raise_plainly(device: TestedDevice, sample: Sample, error: Exception) -> Exception:
    """Return the error of a call without a profile, whose layer would be named; the one within it where there is none."""
    try:
        if expected := run_on_cpu(sample):
            compare_sample(device, sample, expected, deeply=True)
    except Exception as plain:  # noqa: BLE001  # as above
        return plain
    return error


def _converts_nan(sample: Sample, expected: Expected) -> bool:
    """Return whether a call makes integers of nan or infinities, for which every processor has values of its own."""
    if sample.change not in ("nan", "special values") or KIND_OF[sample.name] != "copy":
        return False
    return all(array.dtype.kind in "iu" for array in arrays_in(expected.results))


def fault_of(device: TestedDevice, sample: Sample, error: Exception, kernel: str, compared: int) -> Outcome:
    """Return the outcome of a call that differs or raises, with the device's own kernels that it runs."""
    check = f"aten::{sample.name}"
    text = str(error) if isinstance(error, DisagreementError) else f"{type(error).__name__}: {error}"
    is_of_result = isinstance(error, DisagreementError | dc.KernelResultError)
    place = place_of_kernel(device.key, check) if is_of_result else place_of_error(device.key, error)
    kernels = own_kernels(device, sample)
    return Outcome(check, "failed", f"{sample}: {text}", kernel, compared, place=place, kernels=kernels)


def own_kernels(device: TestedDevice, sample: Sample) -> tuple[str, ...]:
    """Return the device's own kernels that a call runs, sorted, until an error of it."""
    with suppress(Exception), dc.profile(record_shapes=False) as profile:
        arguments = arguments_on(device.name, sample)
        if expected := run_on_cpu(sample):
            arguments |= {name: OUTS[""](out, device.name, []) for name, out in expected.outs.items()}
        call(sample, arguments)
    _drain(device)
    return tuple(sorted({event.name for event in profile.events if device.is_own_call(event)}))


def _drain(device: TestedDevice) -> None:
    """Wait for a device whose commands may have failed, so that no other check meets their errors."""
    with suppress(Exception):
        dc.synchronize(device.name)


def lacking_dtypes(device: TestedDevice, name: str, error: Exception) -> set[str]:
    """Return the dtypes for which a kernel refuses a call, of those that the device does not have.

    They are the ones that a ``DtypeError`` names; Fourier transforms compute in complex numbers, whatever it says.
    """
    if not isinstance(error, DtypeError):
        return set()
    lacking = set(BY_NAME) - device.dtypes
    found = {dtype for dtype in lacking if re.search(rf"\b{dtype}\b", str(error))}
    is_complex = KIND_OF.get(name) == "fft" or re.search("complex", str(error), re.IGNORECASE)
    return found or ({"complex64", "complex128"} & lacking if is_complex else set())


def lacks_library(error: Exception) -> bool:
    """Return whether an operator has refused a call because a library is not installed."""
    return isinstance(error, AtenError) and isinstance(error.__cause__, ImportError)


@dataclass(frozen=True, slots=True)
class Expected:
    """The results of the cpu, the written arguments afterwards, and which results are arguments themselves."""

    results: list[Any]
    outs: dict[str, Array]
    arguments: dict[str, Any]
    returned: dict[int, str]


def run_on_cpu(sample: Sample) -> Expected | None:
    """Return the cpu's results; None where it refuses the call, which is not a sample then.

    Raises the cpu's refusal where a library is not installed that computes them.
    """
    try:
        outs, arguments = arguments_on_cpu(sample)
        results = [*leaves(call(sample, arguments))]
    except Exception as error:
        if lacks_library(error):
            raise
        return None  # the cpu decides which are calls
    is_view = "inplace_view" in ATEN_BY_NAME[sample.name].tags
    returned = {
        index: name
        for index, result in enumerate(results)
        for name in names_written(sample.name)
        if arguments[name] is result and not is_view
    }
    return Expected(results, outs, arguments, returned)


def arguments_on_cpu(sample: Sample) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays like the functional operator's results, by the names of ``out=`` arguments, and all arguments."""
    arguments = arguments_on("cpu", sample)
    outs: dict[str, Array] = {}
    if names := [name for name in names_written(sample.name) if name not in arguments]:
        made = Sample(functional_of(sample.name) or "", sample.arguments, sample.change, sample.layout)
        results = [*leaves(call(made, arguments_on("cpu", made)))]
        outs = {name: np.empty_like(result) for name, result in zip(names, results, strict=True)}
    return outs, arguments | {name: OUTS[sample.out](out, "cpu", []) for name, out in outs.items()}


def _dtypes(sample: Sample, expected: Expected) -> set[str]:
    arrays = [*arrays_in(sample.arguments), *arrays_in(expected.results)]
    inside = {"complex128"} if _COMPLEX_INSIDE.match(sample.name) else set()
    return {array.dtype.name for array in arrays} | inside


def _writes_raw(sample: Sample) -> bool:
    return bool(names_written(sample.name))


def find_needed(error: dc.NoKernelError) -> str:
    """Return the name of the operator for which there is no kernel."""
    found = re.search(r"(aten|prims)::[\w.]+", str(error))
    return found[0].rstrip(".") if found else ""


def compare_sample(
    device: TestedDevice, sample: Sample, expected: Expected, *, deeply: bool = False, precision: str = ""
) -> None:
    """Compare a call on the device with the cpu's results.

    ``precision`` is a dtype by whose tolerance its floats are compared, where the device computes with fewer digits.
    Raises ``DisagreementError`` where they differ, and the device's own errors.
    """
    guards: list[GuardedArray] = []
    coarsest = precision or coarsest_of([*arrays_in(sample.arguments), *arrays_in(expected.results)])
    loosely = sample.change.startswith("size") and "pointwise" not in ATEN_BY_NAME[sample.name].tags
    can_guard = dc.has_strides(device.name) and device.has_values
    arguments = arguments_on(device.name, sample, guards if can_guard else None)
    for name, out in expected.outs.items():
        made = "" if sample.out in GUARDED and not can_guard else sample.out
        arguments[name] = OUTS[made](out, device.name, guards)
    results = [*leaves(call(sample, arguments))]
    if len(results) != len(expected.results):
        raise DisagreementError(f"{len(results)} results, the cpu has {len(expected.results)}")
    for index, (result, other) in enumerate(zip(results, expected.results, strict=True)):
        where = f"result {index}" if len(results) > 1 else "the result"
        private = index in _PRIVATE.get(base_name(sample.name), ())
        compare_value(device, sample.name, where, result, other, coarsest, loosely=loosely, private=private)
        if isinstance(other, np.ndarray) and not expected.outs:
            _compare_strides(device, where, result, other)
            if device.has_values and sample.change == "special values" and not may_have_either_zero(sample.name):
                compare_signs(where, get(result), other)
        given = expected.returned.get(index)
        if device.is_mutable and given is not None and result is not arguments[given]:
            raise DisagreementError(f"{where} is another array than argument {given!r}, which the operator returns")
    for guard in guards:
        if damage := guard.find_damage():
            raise DisagreementError(f"an output lies within a larger array, and {damage}")
    if not device.has_values or has_no_values(sample.name):
        return
    for name, value in arguments.items():
        if sample.out in SHAPED and name in expected.outs:
            continue  # the result takes the place of an output of another size
        if name in expected.outs and name in _PRIVATE.get(base_name(sample.name), ()):
            continue
        ours, theirs = [*leaves(value)], [*leaves(expected.arguments.get(name))]
        for array, other in zip(ours, theirs, strict=False):
            if isinstance(other, np.ndarray):
                compare_values(
                    sample.name, f"argument {name!r} afterwards", get(array), other, coarsest, loosely=loosely
                )
    if deeply and device.is_mutable:
        _compare_memory(results, arguments, expected)


def _compare_strides(device: TestedDevice, where: str, result: Any, other: Array) -> None:
    """Compare strides where they say how elements lie: sizes above 1 of an array that is not empty."""
    if not other.size or not dc.has_strides(device.name) or any(step < 0 for step in other.strides):
        return
    found = dc.strides(result)
    wanted = tuple(step // other.itemsize for step in other.strides)
    if any(size > 1 and ours != theirs for size, ours, theirs in zip(other.shape, found, wanted, strict=True)):
        raise DisagreementError(f"{where} has strides {tuple(found)}, the cpu's {wanted}")


def check_refusal(device: TestedDevice, sample: Sample) -> bool:
    """Check that a call which the cpu refuses is refused, and that nothing has changed then; return whether it was.

    Raises ``DisagreementError``.
    """
    try:
        theirs = arguments_on_cpu(sample)[1]
    except Exception:  # noqa: BLE001  # the functional call is refused, too: the output's size is not known
        return False
    before = [*_contents(theirs, device=False)]
    try:
        call(sample, theirs)
    except (AtenError, dc.DispatchError):
        is_unchanged = before == [*_contents(theirs, device=False)]
    except Exception:  # noqa: BLE001  # an accident, from which no rule follows
        return False
    else:
        return False
    if _writes_raw(sample) and not device.is_mutable:
        return False
    try:
        arguments = arguments_on(device.name, sample)
        arguments |= {name: _like(theirs[name], device.name) for name in set(theirs) - set(arguments)}
        before = [*_contents(arguments, device=True)] if device.has_values else []
    except Exception:  # noqa: BLE001  # a dtype that the device lacks
        return False
    try:
        results = [*leaves(call(sample, arguments))]
        for result in results:
            if device.has_values and _is_array(result):
                get(result)
    except Exception:  # noqa: BLE001  # a device refuses in its own way
        _drain(device)
        # Arrays that a failed command has written to raise its error: nothing reads a changed one.
        with suppress(dc.AsyncDeviceError):
            if is_unchanged and device.has_values and before != [*_contents(arguments, device=True)]:
                raise DisagreementError("the call is refused, and an argument has changed") from None
        return True
    raise DisagreementError("the cpu refuses the call, and the device does not")


def _like(array: Array, device: str) -> Any:
    return put(np.zeros_like(array), device)


def compare_value(
    device: TestedDevice,
    name: str,
    where: str,
    result: Any,
    other: Any,
    coarsest: str = "",
    *,
    loosely: bool = False,
    private: bool = False,
) -> None:
    """Compare a result with the cpu's: type, dtype, shape, strides, and elements, unless they are ``private``.

    Raises ``DisagreementError``.
    """
    if other is None or result is None:
        if result is not other:
            raise DisagreementError(f"{where} is {_kind(result)}, the cpu's {_kind(other)}")
        return
    if not isinstance(other, np.ndarray | np.generic):
        same = result == other or str(result) == str(other) == "nan"
        close = isinstance(other, float) and isinstance(result, float) and bool(np.isclose(result, other, 1e-5))
        if device.has_values and not (same or close) and not has_no_values(name):
            raise DisagreementError(f"{where} is {result!r}, the cpu's {other!r}")
        return
    if dc.device(result).type != device.name:
        raise DisagreementError(f"{where} lies on {dc.device(result)}")
    for what, found, wanted in (
        ("dtype", dtype_name(result), dtype_name(other)),
        ("shape", tuple(dc.shape(result)), other.shape),
    ):
        if found != wanted:
            raise DisagreementError(f"{where} has {what} {found}, the cpu's {wanted}")
    if not device.has_values or has_no_values(name) or private:
        return
    compare_values(name, where, get(result), np.asarray(other), coarsest, loosely=loosely)


def _kind(result: Any) -> str:
    return "None" if result is None else type(result).__name__


def _compare_memory(results: list[Any], arguments: dict[str, Any], expected: Expected) -> None:
    """Write to each result, and see whether the arguments change where they do on the cpu."""
    for index, (result, other) in enumerate(zip(results, expected.results, strict=True)):
        if not isinstance(other, np.ndarray) or not other.size or not other.flags.writeable:
            continue
        if set(zip(other.strides, other.shape, strict=True)) and 0 in other.strides:
            continue  # an expanded result lies in one place several times
        before = [*_contents(arguments, device=True)], [*_contents(expected.arguments, device=False)]
        value = 0 if np.all(np.asarray(other).reshape(-1)[0] != 0) else 1
        ops.aten.fill_(result, value)
        ops.aten.fill_(other, value)
        after = [*_contents(arguments, device=True)], [*_contents(expected.arguments, device=False)]
        for (name, old), (_, new), (_, cpu_old), (_, cpu_new) in zip(
            before[0], after[0], before[1], after[1], strict=True
        ):
            ours, theirs = old != new, cpu_old != cpu_new
            if ours != theirs:
                how = "shares" if ours else "does not share"
                raise DisagreementError(f"result {index} {how} memory with argument {name!r}, other than on the cpu")


def _contents(arguments: dict[str, Any], *, device: bool) -> Iterator[tuple[str, bytes]]:
    for name, value in arguments.items():
        for each in leaves(value):
            if isinstance(each, np.ndarray) if not device else _is_array(each):
                yield name, get(each).tobytes()


def _is_array(value: Any) -> bool:
    try:
        dc.device(value)
    except dc.ArgumentError:
        return False
    return True
