"""A library's refusals, as every device's: in the operator's own words, as errors of the operators."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, Final

from dispatch_aten.errors import DataDependentShapeError, DimensionError, MetaDataError, OperatorError, UnsupportedError
from dispatch_aten.shapes import RULES
from dispatch_core import DispatchError

from .library import ArrayLibrary, Kernel
from .value_checks import leaves

#: Errors that a kernel raises as they are: ours, those of the machine, and warnings that the program made errors.
_KEPT: Final = (DispatchError, MemoryError, OSError, RecursionError, Warning)
#: The errors that a rule raises because it sees no values.
_OF_VALUES: Final = (DataDependentShapeError, MetaDataError)
_CLASSES: Final = {IndexError: DimensionError, NotImplementedError: UnsupportedError}


def translate_refusals(library: ArrayLibrary, name: str, kernel: Kernel) -> Kernel:
    """Make a kernel raise the error of its operator's shape rule where both refuse a call.

    Any other error of the library's becomes one that names the operator and the device.
    """

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return kernel(*args, **kwargs)
        except _KEPT:
            raise
        except Exception as error:
            raise _refusal(library, name, args, kwargs, error) from error

    return run


def _refusal(
    library: ArrayLibrary, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Exception:
    with suppress(Exception):  # a rule may lack a case of the kernel, and an array may be none that it can describe
        known = all(map(_is_known, library.meta((args, list(kwargs.values())))))
        ask: Callable[..., Any] = RULES[name]
        if known:
            try:
                ask(*map(library.meta, args), **{key: library.meta(value) for key, value in kwargs.items()})
            except _OF_VALUES:
                pass
            except DispatchError as refusal:
                return refusal
    if library.explain is not None:
        given = leaves((*args, *kwargs.values()))
        if (ours := library.explain(f"aten::{name}" if "::" not in name else name, error, given)) is not None:
            return ours
    made = next((each for kind, each in _CLASSES.items() if isinstance(error, kind)), OperatorError)
    operator = name if "::" in name else f"aten::{name}"
    text = str(error) or "no reason is given"
    return made(f"the device {library.name!r} refuses it: {type(error).__name__}: {text}", operator=operator)


def _is_known(value: Any) -> bool:
    """Return whether all sizes are numbers; an array whose sizes are not has nan for them."""
    if isinstance(value, list):
        return all(map(_is_known, value))
    return all(size == size for size in getattr(value, "shape", ()))  # noqa: PLR0124  # nan is not equal to itself
