"""The error of a step that failed when it was run."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dispatch_core.arrays import access, owners
from dispatch_core.errors import DispatchError

from .pending import Pending, storage_key

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .steps import Step

E = TypeVar("E", bound=BaseException)


class PipelineError(DispatchError, RuntimeError):
    """A recorded step failed when it was run; the cause is its kernel's error, and it is of that class too."""

    __module__ = "dispatch_core"  # as users import it, in tracebacks
    hint = None
    #: Whether reading a value has raised it: see Note [Unread errors] in `scheduler`.
    has_been_raised = False
    #: Whether it was found in an error word, after its program had run: then it is that error wherever a call meets it.
    is_late = False

    def __reduce__(self) -> Any:
        kind = next((base for base in type(self).__bases__ if not issubclass(base, DispatchError)), None)
        return _unpickle, (kind if type(self) in _made else None, self.args, _attributes(self))

    def release_arrays(self) -> None:
        """Allow reading arrays that the failed step should have written to: the flush that raises the error has ended."""
        for key in [key for key, (_, error) in list(_poisoned.items()) if error is self]:
            _poisoned.pop(key, None)


#: Classes made by `_class_for`.
_made: Final[set[type]] = set()


def step_error(step: Step, raised: BaseException) -> PipelineError:
    """Return the error for a step whose kernel raised: the operator, its arguments, and where it was called."""
    if isinstance(raised, PipelineError) and raised.is_late:
        return raised
    return located_error(describe_call(step), "a pipeline", step.line, raised)


def late_error(call: str, line: str, raised: BaseException) -> PipelineError:
    """Return the error for a call of a captured replay that was found to be wrong after it had run."""
    error = located_error(call, "a captured replay", line, raised)
    error.is_late = True
    return error


#: Represents an array where a captured function dies: an error found then is raised later, in the thread that ran it.
GIVEN_UP: Final = object()
#: Devices' functions that raise faults that programs have found, before an array's values are read; see `on_read`.
READERS: Final[list[Callable[[Any], None]]] = []

#: Operators for which the values of their first argument do not matter; see `on_read`.
OVERWRITES: Final[set[str]] = set()


def on_read(check: Callable[[Any], None], *, overwrites: Iterable[str] = ()) -> None:
    """Call ``check`` before values leave their device: with the array, and with None where all programs are looked at.

    That is where a pipeline's block ends, where recorded programs are given up, and in ``synchronize()``.
    A call of an operator in ``overwrites`` does not read its first argument: it writes all of it, or asks for its shape.
    """
    READERS.append(check)
    OVERWRITES.update(overwrites)


def before_read(array: object = None) -> None:
    """Raise the error of a program that has run, and has found wrong values."""
    for check in READERS:
        check(array)


def located_error(call: str, place: str, line: str, raised: BaseException) -> PipelineError:
    """Return the error for a call that was recorded at ``line`` and has raised in ``place``."""
    where = f"\nRecorded at {line}" if line else ""
    message = f"{call} failed in {place}: {type(raised).__name__}: {_text(raised)}{where}"
    kind: Any = type(raised)
    error = _bare(_class_for(kind), raised)
    error.args = (message,)
    error.__cause__ = raised
    _take_over(error, _attributes(raised))
    return error


def missing_error(value: Pending) -> PipelineError:
    """Return the error for a value whose step has begun and not ended."""
    return PipelineError(
        f"the value of {value!r} is not there: the step that makes it has begun and not ended",
        hint="its kernel, or a callback meanwhile, asks for the result; or the step was interrupted as it wrote",
    )


def without_traceback(error: E) -> E:
    """Return an error to be raised, perhaps again, without the traceback that it had the last time."""
    if isinstance(error, PipelineError):
        error.has_been_raised = True
    return error.with_traceback(None)


def describe_call(step: Step) -> str:
    """Return a step as a call with the dtypes and shapes of its tensors."""
    return f"{step.name}({', '.join(map(_describe_array, step.inputs()))})"


def _describe_array(value: object) -> str:
    return access.show_look(value.meta if isinstance(value, Pending) else value)


def _text(raised: BaseException) -> str:
    try:
        return str(raised)
    except Exception as error:  # noqa: BLE001  # an error's own text may be wrong, and must not hide the error
        return f"<its text cannot be had: {type(error).__name__}>"


# Arrays.

#: Storage key of an array that was there → the array and the error of the step that should have written to it.
_poisoned: Final[dict[Hashable, tuple[Any, PipelineError]]] = {}


def poison(value: object, error: PipelineError) -> None:
    """Make reads of a value raise ``error``, because a step that should have written to it has failed.

    For an array that was there before, until the flush that raises the error has ended.
    """
    if isinstance(value, Pending):
        value.memory.error = error
        if value.value is None:
            return
        value = value.value
    _poisoned[storage_key(value)] = value, error


def has_poisoned_arrays() -> bool:
    """Return whether there is an array that a failed step should have written to."""
    return bool(_poisoned)


def error_of(value: object) -> BaseException | None:
    """Return the error that reading a value raises, or None."""
    if isinstance(value, Pending):
        error = value.error or value.memory.error
        if error is not None or value.value is None:
            return error
    if _poisoned and type(value) in owners.ARRAY_TYPES:
        found = _poisoned.get(storage_key(value))
        return None if found is None else found[1]
    return None


# Classes.


def _bare(kind: type[PipelineError], raised: BaseException) -> PipelineError:
    """Make an error without running a constructor in Python."""
    base: Any = kind
    while base.__flags__ & _HEAP_TYPE:
        base = base.__base__
    try:
        error: PipelineError = base.__new__(kind)
    except TypeError:
        try:
            # An exception group cannot be made without its exceptions.
            error = base.__new__(kind, *raised.args)
        except Exception:  # noqa: BLE001  # whatever is wrong with that class, this error can be made
            error = PipelineError.__new__(PipelineError)
    return error


#: Marks classes that are made at run time, whose ``__new__`` may be Python code (``Py_TPFLAGS_HEAPTYPE``).
_HEAP_TYPE: Final = 1 << 9


def _attributes(raised: BaseException) -> dict[str, Any]:
    """Return the attributes that handlers of an error's class read: ``errno``, ``filename``, its own."""
    found: dict[str, Any] = {}
    for base in type(raised).__mro__:
        if base not in (BaseException, Exception, object):
            for name, member in vars(base).items():
                if not name.startswith("_") and isinstance(member, _MEMBERS):
                    with suppress(Exception):
                        found[name] = getattr(raised, name)
    own = getattr(raised, "__dict__", {})
    return found | {name: value for name, value in own.items() if name not in _NOT_TAKEN}


def _take_over(error: PipelineError, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        with suppress(Exception):
            setattr(error, name, value)
    if "msg" in attributes:
        # Some builtin errors are printed by it, whatever their str().
        error.msg = error.args[0]  # type: ignore[attr-defined]


_NOT_TAKEN: Final = frozenset({"__notes__", "hint", "has_been_raised"})
_MEMBERS: Final = types.MemberDescriptorType, types.GetSetDescriptorType


@lru_cache(maxsize=256)
def _class_for(kind: Any) -> Any:
    """Return a class that a handler of ``kind`` catches too, where Python lets one be made."""
    if issubclass(PipelineError, kind):
        return PipelineError
    if issubclass(kind, PipelineError):
        return kind
    try:
        own = {"__str__": lambda self: str(self.args[0]), "__module__": kind.__module__}
        made = type(kind.__name__, (PipelineError, kind), own)
    except Exception:  # noqa: BLE001  # a class may refuse to be inherited from, in any way
        return PipelineError
    _made.add(made)
    return made


def _unpickle(kind: Any, args: tuple[Any, ...], attributes: dict[str, Any]) -> PipelineError:
    """Make an error again in another process."""
    error = _bare(PipelineError if kind is None else _class_for(kind), PipelineError(""))
    error.args = args
    _take_over(error, attributes)
    return error
