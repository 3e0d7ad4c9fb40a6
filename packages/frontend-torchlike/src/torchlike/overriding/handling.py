"""The order in which modes and the classes of arguments are asked for a call, and the states in which none is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import current_masks, refused_calls

from ..tensors.overriding_classes import CLASSES, DISABLED, MODES
from ..tensors.tensor import Tensor
from . import mode_stack
from .callers import find_called, leave_out_defaults

#: Types of common arguments that override nothing.
PLAIN: Final[set[type]] = {Tensor, int, float, bool, complex, str, type(None), slice, type(Ellipsis), dc.Device}
_SEQUENCES: Final = (list, tuple)
#: Whether a class or a mode that overrides has been met.
BEGUN: Final[list[bool]] = [False]
#: Set where the next question about overrides is answered with no; see `skip_once`.
_skip: Final[ContextVar[tuple[Any, bool] | None]] = ContextVar("torchlike.overrides.skip", default=None)


def has_override(value: object) -> bool:
    """Return whether the class of a value overrides torch's functions, in whatever state."""
    kind = type(value)
    if kind in PLAIN:
        return False
    found = getattr(kind, "__torch_function__", None)
    return found is not None and found is not DISABLED


def is_tensor_like(value: object) -> bool:
    """Return whether a value is a tensor, or one whose class overrides functions of tensors."""
    return type(value) is Tensor or hasattr(value, "__torch_function__")


def find_overriding(values: Iterable[object]) -> list[Any]:
    """Return one value of each overriding class among some values and the lists among them, in the order of asking.

    Subclasses stand before their bases, otherwise the first comes first.
    """
    found: list[Any] = []
    for value in values:
        if type(value) in PLAIN:
            continue
        if isinstance(value, _SEQUENCES):
            for each in value:
                if has_override(each):
                    add_overriding(found, each)
                elif isinstance(each, _SEQUENCES) and not PLAIN.issuperset(map(type, each)):
                    for inner in filter(has_override, each):  # of an index
                        add_overriding(found, inner)
        elif has_override(value):
            add_overriding(found, value)
    return found


def add_overriding(found: list[Any], value: object) -> None:
    """Put a value into the order of asking, unless one of its class is there."""
    kind = type(value)
    place = len(found)
    for index, each in enumerate(found):
        if type(each) is kind:
            return
        if place == len(found) and issubclass(kind, type(each)):
            place = index
    found.insert(place, value)


def list_overloaded(asked: Iterable[Any]) -> list[Any]:
    """Return one argument of each class that takes part in overriding, tensors among them where another does."""
    if not are_classes_asked():
        return []
    found: list[Any] = []
    for each in asked:
        if type(each) is Tensor or has_override(each):
            add_overriding(found, each)
    return found


def are_classes_asked() -> bool:
    """Return whether the classes of arguments are asked in this context."""
    state = current_masks()
    return state is None or not state[1] & CLASSES


def are_modes_asked() -> bool:
    """Return whether a mode is on in this context, and asked."""
    state = current_masks()
    return state is not None and bool(state[0] & MODES & ~state[1])


def skip_once(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that does not ask for overrides itself, while the functions that it calls do."""
    token = _skip.set((func, False))
    try:
        return func(*args, **kwargs)
    finally:
        _skip.reset(token)


def is_skipped(public: Any = None) -> bool:
    """Return whether this question is the one that `skip_once` answers with no; the next is not.

    ``public`` is the function that asks. The one that is called may ask twice, where its code is made in between.
    """
    state = _skip.get()
    if state is None:
        return False
    func, is_answered = state
    is_next = is_answered and public is not func
    _skip.set(None if is_next else (func, True))
    return not is_next


def overrides_any(values: tuple[Any, ...]) -> bool:
    """Return whether one of some values overrides a function in this context."""
    return are_classes_asked() and bool(find_overriding(values))


def make_override(find_public: Callable[[], Any]) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return the function by which a public function's calls are handed to overrides, or ``NotImplemented`` returned."""

    def override(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found: list[Any] = []
        if are_classes_asked():
            found = find_overriding((*args, *kwargs.values()) if kwargs else args)
        if not found and not are_modes_asked():
            return NotImplemented
        public = find_public()
        if is_skipped(public):
            return NotImplemented
        if not BEGUN[0]:
            begin()
        return call_override(public, found, args, kwargs)

    return override


class Override:
    """Hands the calls of a function that is still to be made to overrides: `public` is that function."""

    __slots__ = ("hook", "public")

    public: Any

    def __init__(self, public: Any = None) -> None:
        self.public = public
        self.hook = make_override(lambda: self.public)


def _answer_refused(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a program's call of an overload or a packet to the classes of its arguments, where these are not tensors."""
    if not are_classes_asked():
        return NotImplemented
    found = find_overriding((*args, *kwargs.values()))
    func = find_called(called) if found else None  # functions of ours have asked already
    if func is None or is_skipped():
        return NotImplemented
    return call_override(func, found, *leave_out_defaults(called, args, kwargs))


refused_calls.append(_answer_refused)


def begin() -> None:
    """Make callers look for overriding classes and modes from now on."""
    BEGUN[0] = True
    dc.registry.look_for_overrides()


def call_override(func: Any, overriding: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the innermost mode, or the first class of arguments that answers, makes of a call.

    Raises ``TypeError`` where all of them return ``NotImplemented``.
    """
    types = tuple(map(type, overriding))
    mode = mode_stack.innermost() if are_modes_asked() else None
    if mode is not None:
        handler = mode.__torch_function__
        if getattr(handler, "__self__", mode) is type(mode):
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
            )
        with mode_stack.without_innermost():
            result = handler(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if are_classes_asked():
        for each in overriding:
            result = each.__torch_function__(func, types, args, kwargs)
            if result is not NotImplemented:
                return result
    raise _not_handled(func, mode, overriding)


def _not_handled(func: Any, mode: Any, overriding: list[Any]) -> TypeError:
    name = f"{getattr(func, '__module__', None) or 'torch'}.{getattr(func, '__name__', func)}"
    lines = [] if mode is None else [f"  - mode object {mode!r}"]
    lines += [f"  - tensor subclass {type(each)!r}" for each in overriding]
    return TypeError(
        f"Multiple dispatch failed for {name!r}; all __torch_function__ handlers returned NotImplemented:\n\n"
        + "\n".join(lines)
        + f"\n\nno implementation found for {name!r} on types that implement __torch_function__:"
        f" {[type(each) for each in overriding]}"
    )
