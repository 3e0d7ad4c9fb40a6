"""Checks of the results of a custom operator's function: they fit the schema, and none shares memory with an input."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any

from ..arrays.access import storage_of, to_data
from ..arrays.frontend import frontend_of
from ..arrays.owners import ARRAY_TYPES, is_tensor
from ..arrays.protocols import Kernel
from ..calls.signature import CallSignature, bad_count, bad_list
from ..calls.traits import KernelTraits
from ..errors import CaptureError, KernelResultError
from ..schema.check import checker


def check_results(fn: Kernel, signature: CallSignature, *, composite: bool) -> Kernel:
    """Return ``fn`` with its results held against the schema: their number and types, and that none is an input.

    A ``composite`` sees the caller's arguments and returns the call's results; else a backend's boundary stands between.
    """
    check = _Check(signature, composite=composite).check

    @functools.wraps(fn)
    def kernel(*args: object, **kwargs: object) -> object:
        try:
            found = fn(*args, **kwargs)
        except CaptureError as error:
            if not hasattr(error, "__notes__"):
                error.add_note(
                    f"Hint: a captured function records the operators that {signature.name} calls; where it reads"
                    " values, register it by custom_op(..., device_types=...), which takes arrays and is one step"
                )
            raise
        values = (*args, *kwargs.values())
        check(found, values)
        if composite and signature.writes:
            # As the boundary does for a backend's kernels.
            signature.report_writes(_report_write, values)
        return found

    # See Note [Results of a composite below Autograd] in `runners`.
    return KernelTraits(answers_for_results=True)(kernel)


class _Check:
    """The check of an operator's results; those of a ``composite`` are as its caller gets them."""

    def __init__(self, signature: CallSignature, *, composite: bool) -> None:
        self._signature, self._composite = signature, composite
        self._plain = [checker(item.type, is_tensor) for item in signature.schema.returns]

    def check(self, found: object, values: tuple[Any, ...]) -> None:
        """Raise ``KernelResultError`` where results do not fit the schema and the call's arguments."""
        signature = self._signature
        seen: dict[Hashable, str] = {}
        like = None
        for index, tensor in signature.tensors(values):
            seen[storage_of(tensor)] = f"argument {signature.parameters[index].name!r}"
            like = tensor if like is None and self._composite else like
        if found is not None and not signature.results:
            raise bad_count(signature.name, 0, found)
        for index, (result, value) in enumerate(zip(signature.results, signature.unpack(found), strict=True)):
            if result.is_list and not isinstance(value, list | tuple):
                raise bad_list(signature.name, value)
            if result.kind == "other":
                self._check_plain(index, value)
            if signature.leaves_out(index, values):
                continue
            for item in value if result.is_list else (value,):
                if result.kind != "other" and not (item is None and result.is_optional):
                    self._check_tensor(index, item, values, like, seen)

    def _check_plain(self, index: int, value: object) -> None:
        try:
            self._plain[index](value)
        except TypeError as error:
            fault = KernelResultError(f"{self._signature.name}: result {index} {error}")
        else:
            return
        raise fault

    def _check_tensor(
        self, index: int, item: object, values: tuple[Any, ...], like: object, seen: dict[Hashable, str]
    ) -> None:
        """Check a tensor among the results; of a composite, its frontend must be that of ``like``, unless that is None.

        ``seen`` has the memory of the arguments and of the results before it.
        """
        name, result = self._signature.name, self._signature.results[index]
        if type(to_data(item)) not in ARRAY_TYPES:
            # A backend's boundary makes arrays of other values where it can, and refuses the rest; a composite has none.
            if self._composite:
                raise KernelResultError(
                    f"{name}: result {index} is {type(item).__module__}.{type(item).__qualname__} where the schema"
                    " promises a Tensor"
                )
            return
        if like is not None and frontend_of(item) is not frontend_of(like):
            raise KernelResultError(
                f"{name}: result {index} is {type(item).__qualname__}, but the arguments are {type(like).__qualname__}",
                hint="dispatch_core.wrap_like makes a tensor of an array; a function written for a device's arrays is"
                " registered for that device, with device_types",
            )
        if result.kind == "view":
            return
        if result.kind == "self":
            source = values[result.source]
            if item is not source and not isinstance(source, list | tuple) and like is not None:
                argument = self._signature.parameters[result.source].name
                raise KernelResultError(
                    f"{name}: result {index} is not argument {argument!r}, which the schema promises"
                )
            return
        place = storage_of(item)
        if place in seen:
            raise KernelResultError(
                f"{name}: result {index} is {seen[place]}, or shares its memory, where the schema promises a Tensor"
                " of its own",
                hint="return a copy; or declare views, and arguments that are returned, with schema=",
            )
        seen[place] = f"result {index}"


def _report_write(tensor: object) -> None:
    """Report to the frontend of a tensor that it was written to."""
    frontend = frontend_of(tensor)
    if frontend is not None and frontend.writes is not None:
        frontend.writes.note_write(tensor)
