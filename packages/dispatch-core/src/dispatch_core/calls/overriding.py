"""Calls that the class of an argument takes over, for frontends whose functions may be overridden.

Note [Functions that may be overridden]
    An adapter's `override` gets a call's arguments and returns the call's result, or ``NotImplemented`` where no argument
    overrides the function. Objects that are not tensors are handed to it where a caller finds that an argument has no mask,
    or that the call fails. Tensors of overriding classes have the key ``TorchFunction`` in their mask, and modes include
    ``TorchFunctionMode``; but callers look for these keys only once `look_for_overrides` was called, which a frontend does
    with the first class or mode that there is: their code is made again then, and before it costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from opcode import EXTENDED_ARG, opmap
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..keys.table import DispatchKey
from .signature import CallSignature

if TYPE_CHECKING:
    from .adapters import SignatureAdapter

#: Returns the result of a call with these arguments, or ``NotImplemented`` where none of them overrides the function.
Override: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]

#: The keys of tensors whose classes override functions, and of the modes that do.
CLASSES: Final = DispatchKey.TorchFunction.value
MODES: Final = DispatchKey.TorchFunctionMode.value
#: Marks an error that came from the override of a call, so that the callers around it do not try theirs.
_MARK: Final = "_dispatch_overridden"
_is_looked_for: list[bool] = [False]
#: Called with an overload or a packet whose arguments fit no schema, and the arguments: the result, or ``NotImplemented``.
refused_calls: Final[list[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]]] = []


def answer_refused(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result that a frontend has for a call which fits no schema, ``NotImplemented`` where none has one."""
    for answer in refused_calls:
        found = answer(called, args, kwargs)
        if found is not NotImplemented:
            return found
    return NotImplemented


def are_looked_for() -> bool:
    """Return whether callers look for overriding classes and modes; see Note [Functions that may be overridden]."""
    return _is_looked_for[0]


def note_overrides() -> bool:
    """Write into the code of callers from now on that they look; return whether they did so before."""
    known, _is_looked_for[0] = _is_looked_for[0], True
    return known


def make_attempt(signature: CallSignature, adapter: SignatureAdapter) -> Callable[..., Any]:
    """Return the function by which generated code hands a call's arguments, as it has bound them, to `override`.

    Arguments that equal their defaults are left out; those behind them, and those that the caller has named, are given
    by keyword.
    """
    override = adapter.override
    assert override is not None  # for other adapters there is no such code
    positional = [each for each in signature.parameters if not each.keyword_only and each.name != adapter.star]
    names = [each.name for each in positional]
    defaults = [adapter.missing if each.required else each.default for each in positional]
    count = len(positional)
    by_name = {each.name: each.default for each in signature.parameters if each.keyword_only and not each.required}
    by_name |= adapter.extra

    def attempt(*args: object, **kwargs: object) -> object:
        own, more = args[:count], args[count:]
        given = find_keywords(sys._getframe(2)) if count > 1 else ()
        named = {name: value for name, value in kwargs.items() if name not in by_name or value is not by_name[name]}
        if not more:
            omitted = [value is default for value, default in zip(own, defaults, strict=False)]
            apart = [place for place, name in enumerate(names[: len(own)]) if omitted[place] or name in given]
            if apart:
                kept = apart[0]
                further = zip(names[kept:], own[kept:], omitted[kept:], strict=False)
                named = {name: value for name, value, is_omitted in further if not is_omitted} | named
                own = own[:kept]
        try:
            return override((*own, *more), named)
        except Exception as error:
            mark(error)
            raise

    return attempt


def find_keywords(frame: FrameType) -> Sequence[str]:
    """Return the names by which the call that a frame is at gives arguments; none where its code does not say so.

    Code that has bound its arguments no longer knows which of them had names. The compiler writes the names of a call beside
    it: 3.11 and 3.12 by an instruction before, later versions as a constant that the call takes.

    >>> def call(*_, **__):
    ...     return find_keywords(sys._getframe(1))
    >>> call(1, dim=2, out=None), call(1, **{"dim": 2})
    (('dim', 'out'), ())
    """
    code, place = frame.f_code.co_code, frame.f_lasti
    while place > 0 and code[place] == _CACHE:  # those of the call itself
        place -= 2
    if place < 2 or code[place] != _CALL:
        return ()
    place -= 2
    while place > 0 and code[place] in _BETWEEN:
        place -= 2
    if code[place] != _NAMES:
        return ()
    index, shift = code[place + 1], 8
    while place > 1 and code[place - 2] == EXTENDED_ARG:
        place -= 2
        index |= code[place + 1] << shift
        shift += 8
    names = frame.f_code.co_consts[index]
    return names if type(names) is tuple else ()


_HAS_OWN: Final = "KW_NAMES" in opmap
_CACHE: Final = opmap["CACHE"]
_CALL: Final = opmap["CALL" if _HAS_OWN else "CALL_KW"]
_BETWEEN: Final = {_CACHE, opmap["PRECALL"]} if "PRECALL" in opmap else set()
_NAMES: Final = opmap["KW_NAMES" if _HAS_OWN else "LOAD_CONST"]


def mark(error: Exception) -> None:
    """Note that an error came from an override."""
    try:
        setattr(error, _MARK, True)
    except (AttributeError, TypeError):
        return  # an error without a dictionary: an outer caller may try again


def make_error_test(adapter: SignatureAdapter) -> Callable[..., bool]:
    """Return the function that says whether a call failed because an argument overrides the function."""

    def is_overridden(error: Exception, *args: object, **kwargs: object) -> bool:
        return adapter.overrides((*args, *kwargs.values())) and not hasattr(error, _MARK)

    return is_overridden


def attempt_lines(given: str) -> list[str]:
    """Return the lines that ask for an override with the arguments as text."""
    return [f"__r = __override({given})", "if __r is not __not_overridden:", "    return __r"]


def class_lines(given: str) -> list[str]:
    """Return the lines that look for overriding classes in the mask of the arguments."""
    return [f"if __m & {CLASSES}:", *(f"    {line}" for line in attempt_lines(given))]


def mode_lines(given: str) -> list[str]:
    """Return the lines that read the context, and look for modes in it."""
    test = f"if __c is not None and __c[0] & {MODES}:"
    return ["__c = __context()", test, *(f"    {line}" for line in attempt_lines(given))]


def first_is_other(signature: CallSignature, further: Sequence[str] = ()) -> str:
    """Return the test whether the first argument is of another class than the frontend's own, or a further test holds."""
    first = signature.parameters[0]
    word = first.word
    own = [f"(type({word}) is not __tensor and type({word}) not in __plain)"] if first.tensors == "tensor" else ["True"]
    return " or ".join([*own, *further])
