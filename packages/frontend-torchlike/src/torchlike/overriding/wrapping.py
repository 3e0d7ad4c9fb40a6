"""Functions that are written in Python, with a look at the arguments before each call.

Note [Functions written in Python]
    Operators' functions look for overrides in their own code; see Note [Functions that may be overridden] in
    `dispatch_core.calls`. A function of several operators is behind a generated one with the same arguments, which compares
    the types of its tensors with `PLAIN` and calls it. What torch's own function of Python hands on stands in `table`:
    it asks some of its arguments, and gives the others by name, also those that the call has left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial, update_wrapper
from typing import Any, Final

from dispatch_core.calls import LazyFunction, define, make_function
from dispatch_core.tracebacks import trim_traceback

from ..tensors.tensor import Tensor
from .handling import (
    PLAIN,
    are_classes_asked,
    are_modes_asked,
    call_override,
    has_override,
    is_skipped,
    list_overloaded,
    make_override,
)
from .mode_stack import ENTERED
from .table import PythonFunction, read

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
#: Functions that take their tensors in a list, too, and hand them on one by one.
_SPREAD: Final = ("einsum",)


def make_method(plain: Callable[..., Any], find_public: Callable[[], Any], name: str) -> Callable[..., Any]:
    """Return a method of overriding classes that asks for overrides, and else does as the plain one."""
    override = _Asking(plain, find_public, "Tensor", name)

    def method(*args: Any, **kwargs: Any) -> Any:
        found = override(args, kwargs)
        try:
            return plain(*args, **kwargs) if found is NotImplemented else found
        except Exception as error:
            trim_traceback(error)
            raise

    update_wrapper(method, plain)
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    return method


def make_overridable(plain: Callable[..., Any], section: str = "torch", name: str = "") -> Callable[..., Any]:
    """Return a function that asks the classes of its arguments for overrides, and else does as the plain one.

    ``section`` and ``name`` are torch's, by which `table` tells what the function hands on.
    """
    override = _Asking(plain, lambda: function, section, name or plain.__name__)

    def ask(*args: Any, **kwargs: Any) -> Any:
        found = override(args, kwargs)
        return plain(*args, **kwargs) if found is NotImplemented else found

    def make() -> Callable[..., Any]:
        return _generate(plain, ask)

    def first_calls(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return partial(ask, **kwargs) if kwargs else ask, args, False

    function = LazyFunction(make, first_calls=first_calls, name=plain.__name__).function
    update_wrapper(function, plain)
    return function


def _generate(plain: Callable[..., Any], ask: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the arguments of ``plain`` that calls it where the types of its tensors are plain ones."""
    parameters = inspect.signature(plain, follow_wrapped=False).parameters.values()
    kinds = {each.kind for each in parameters}
    names: dict[str, Any] = {"__tensor": Tensor, "__plain": PLAIN, "__modes": ENTERED, "__run": plain, "__ask": ask}
    names |= {"__error": Exception, "__trim": trim_traceback}
    if not kinds <= {*_POSITIONAL, inspect.Parameter.KEYWORD_ONLY} or hasattr(plain, "__signature__"):
        return _make("*args, **kwargs", _ANY, plain, names)
    heading, given, tests = [], [], []
    has_star = False
    for number, each in enumerate(parameters):
        default = ""
        if each.default is not each.empty:
            default, names[f"__default{number}"] = f"=__default{number}", each.default
        if each.kind is each.KEYWORD_ONLY and not has_star:
            heading.append("*")
            has_star = True
        heading.append(f"{each.name}{default}")
        given.append(f"{each.name}={each.name}" if has_star else each.name)
        if each.annotation is each.empty or "Tensor" in str(each.annotation) or str(each.annotation) == "Any":
            tests.append(f"(type({each.name}) is __tensor or type({each.name}) in __plain)")
    lines = [
        f"if {' and '.join([*tests, 'not __modes'])}:",
        f"    return __run({', '.join(given)})",
        f"return __ask({', '.join(given)})",
    ]
    return _make(", ".join(heading), lines, plain, names)


#: The lines of a function that takes any arguments: tensors, plain values and lists of them need no second look. One
#: argument is handed on as it is: to spread arguments costs as much as the check of them.
_ANY: Final = """\
if not __modes:
    for __x in args:
        if type(__x) is __tensor or type(__x) in __plain:
            continue
        if type(__x) is list or type(__x) is tuple:
            for __i in __x:
                if type(__i) is not __tensor and type(__i) not in __plain:
                    break
            else:
                continue
        break
    else:
        if not kwargs:
            if len(args) == 1:
                return __run(__x)
            if len(args) == 2:
                return __run(args[0], __x)
            return __run(*args)
        for __x in kwargs.values():
            if type(__x) not in __plain:
                break
        else:
            return __run(*args, **kwargs)
return __ask(*args, **kwargs)
""".splitlines()


def _make(heading: str, lines: list[str], plain: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    body = ["try:", *(f"    {line}" for line in lines), "except __error as __e:", "    __trim(__e)", "    raise"]
    made: Callable[..., Any] = make_function(define(f"__call({heading})", body), f"override of {plain.__name__}", names)
    made.__name__ = plain.__name__
    return made


class _Asking:
    """Hands the calls of a function that is written in Python to overrides, with the arguments that torch's hands on."""

    def __init__(self, plain: Callable[..., Any], find_public: Callable[[], Any], section: str, name: str) -> None:
        self._plain, self._find, self._place = plain, find_public, (section, name)
        self._ask = make_override(find_public)
        self._form: PythonFunction | bool | None = False

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._place[1] in _SPREAD and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])
        form = self._form
        if form is False:
            section, name = self._place
            form = read().get(section, {}).get(name)
            if form is None and section == "torch":
                functional = read()["functional"]
                # Those without a form hand on what the method does.
                form = functional.get(name) or (read()["Tensor"].get(name) if name in functional else None)
            self._form = form
        if not isinstance(form, PythonFunction) or not _is_overridden(args, kwargs):
            return self._ask(args, kwargs)
        try:
            given = _bind(self._plain, form, args, kwargs)
        except (TypeError, KeyError):  # the classes are asked about a wrong call, too
            return self._ask(args, kwargs)
        asked, own_args, own_kwargs = given
        found = list_overloaded(asked)
        if not found and not are_modes_asked():
            return self._ask(args, kwargs)
        if is_skipped(self._find()):
            return NotImplemented
        return call_override(self._find(), found, own_args, own_kwargs)


def _is_overridden(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if are_modes_asked():
        return True
    return are_classes_asked() and any(map(has_override, _flatten((*args, *kwargs.values()))))


def _flatten(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def _bind(
    plain: Callable[..., Any], form: PythonFunction, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], tuple[Any, ...], dict[str, Any]]:
    """Return the arguments that are asked, and those that are handed on by position and by name.

    Raises ``TypeError`` or ``KeyError`` where the function does not take a call so.
    """
    signature = inspect.signature(plain)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    values = dict(bound.arguments)
    own = list(signature.parameters)
    expected = [each.lstrip("*") for each in form.positional]
    # The names of arguments that are given by position may differ.
    for place, name in enumerate(expected):
        if name not in values and place < len(own):
            values[name] = values[own[place]]
    asked = [each for name in form.asked for each in _flatten([values[name.lstrip("*")]])]
    positional: list[Any] = []
    for name in form.positional:
        if name.startswith("*"):
            positional += values[name[1:]]
        else:
            positional.append(values[name])
    named = {name: values[name] for name in form.named if name in values}
    return asked, tuple(positional), named
