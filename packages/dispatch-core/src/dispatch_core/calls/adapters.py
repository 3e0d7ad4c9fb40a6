"""How frontends write the arguments of overloads, and the lines by which generated code finds calls written otherwise.

Note [Calls that are written otherwise]
    A function with `SignatureAdapter.missing` takes every call. One that the schema takes as it stands, with arguments of
    the common types, goes on; all others, wrong ones among them, are handed to the slow path, which finds the overload and
    names the fault. So such a function may represent an operator with several overloads, if the others take no call that
    goes on.

Note [Keyword-only arguments cost more]
    CPython looks up the default of each keyword-only argument in a dictionary, and makes a tuple for a starred one. So
    generated code has ``__stop`` where the star stood, which gets a positional argument too many: the call is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from .._record import Record, replace
from . import overriding
from .signature import CallSignature


class SignatureAdapter(Record):
    """How a frontend's function writes the arguments of an overload, and which calls are another function's."""

    name: str
    #: An argument's name in the schema → its name in the function.
    names: Mapping[str, str]
    #: Further keyword-only arguments and their defaults. A call that gives one takes the slow path.
    extra: Mapping[str, Any]
    #: The frontend's tensor class, and types of the last positional argument that take the slow path without a look at it.
    tensor_type: type
    slow_path_types: frozenset[type]
    slow_path: Callable[..., Any]
    #: Whether a call with more positional arguments than the schema has takes the slow path, and is not an error yet.
    takes_more: bool = False
    #: Represents arguments that a call leaves out; see Note [Calls that are written otherwise]. None: CPython says so.
    missing: object = None
    #: The last positional argument, a list, if its items may be written one by one.
    star: str = ""
    #: The function for calls with the first argument alone, where the schema requires another; None for the slow path.
    alone: Callable[..., Any] | None = None
    #: The function for calls that give ``out`` besides tensors of the frontend, with the schema's own arguments.
    with_out: Callable[..., Any] | None = None
    #: An argument's name → the function that gives its value where that is None.
    fill: Mapping[str, Callable[[], Any]] = MappingProxyType({})
    #: Serves calls in which the class of an argument, or a mode, overrides the function; see Note [Functions that may be
    #: overridden] in `overriding`. Its companion says whether one of some values does.
    override: overriding.Override | None = None
    overrides: Callable[[tuple[Any, ...]], bool] = bool
    #: The function that ``slow_path`` calls for a tensor and a plain number, where that is all it does; or None.
    numbers: Callable[..., Any] | None = None
    #: Further types of tensors that override nothing.
    plain_types: Collection[type] = frozenset()


#: The value of ``__stop`` in calls without a positional argument too many.
NOTHING: Final = object()


def has_stop(signature: CallSignature, adapter: SignatureAdapter | None) -> bool:
    """Return whether a function has ``__stop``; see Note [Keyword-only arguments cost more]."""
    if adapter is not None and (adapter.missing is not None or adapter.star):
        return False
    behind = [each for each in signature.parameters if each.keyword_only]
    return bool(behind or (adapter is not None and adapter.extra)) and not any(each.required for each in behind)


def make_refusal(signature: CallSignature, name: str) -> Callable[[], NoReturn]:
    """Return a function that raises CPython's error for a call of ``name`` with a positional argument too many."""
    positional = [each for each in signature.parameters if not each.keyword_only]
    required = sum(each.required for each in positional)
    count = len(positional)
    takes = f"{count}" if required == count else f"from {required} to {count}"

    def refuse() -> NoReturn:
        raise TypeError(f"{name}() takes {takes} positional argument{'s' * (count != 1)} but {count + 1} were given")

    return refuse


def adapt_signature(signature: CallSignature, adapter: SignatureAdapter) -> CallSignature:
    """Return ``signature`` with the arguments' names as a frontend writes them."""
    given = [replace(each, name=adapter.names.get(each.name, each.name)) for each in signature.parameters]
    return replace(signature, parameters=tuple(given))


def early_lines(signature: CallSignature, adapter: SignatureAdapter, slow_path: str) -> list[str]:
    """Return the lines that come before all others: they hand calls written otherwise to the slow path."""
    looks = adapter.override is not None and overriding.are_looked_for() and bool(signature.parameters)
    attempt = overriding.attempt_lines(arguments_as_given(signature, adapter)) if looks else []
    tests = [f"{name} is not __extra_{name}" for name in adapter.extra]
    if adapter.missing is not None:
        tests += ["__keywords"] if adapter.star else ["__keywords", "__more"]
    elif adapter.takes_more:
        tests += ["__stop is not __nothing" if has_stop(signature, adapter) else "__more"]
    further = list(tests)  # of arguments beside the operator's own
    if adapter.missing is not None:
        others = [each for each in signature.parameters if each.name != adapter.star and each.required]
        # A first tensor that is missing has no mask, which is found out anyway.
        tests += [f"{each.word} is __missing" for each in others if each.tensors != "tensor"]
    if adapter.slow_path_types:
        last = [parameter.word for parameter in signature.parameters if not parameter.keyword_only][-1]
        tests.append(f"(type({last}) is not __tensor and type({last}) in __slow_path_types)")
    lines = [f"if {' or '.join(tests)}:", f"    {slow_path}"] if tests else []
    if adapter.with_out is not None and lines:
        lines[1:1] = [f"    {line}" for line in _out_lines(signature, adapter)]
    if adapter.alone is not None:
        lines[1:1] = [f"    {line}" for line in _alone_lines(signature)]
    if looks and lines:
        asks = [f"if {overriding.first_is_other(signature, further)}:", *(f"    {line}" for line in attempt)]
        lines[1:1] = [f"    {line}" for line in asks]
    if not adapter.star:
        return lines
    slow = [slow_path]
    if looks:
        slow = [f"if {overriding.first_is_other(signature)}:", *(f"    {line}" for line in attempt), slow_path]
    word = next(each.word for each in signature.parameters if each.name == adapter.star)
    return [
        *lines,
        f"{word} = __star",
        f"if len({word}) < 2:",
        f"    if not {word}:",
        *(f"        {line}" for line in slow),
        f"    if type({word}[0]) is not int:",
        f"        {word} = {word}[0]",
        f"        if not isinstance({word}, (tuple, list)):",
        *(f"            {line}" for line in slow),
    ]


def fill_lines(signature: CallSignature, adapter: SignatureAdapter) -> list[str]:
    """Return the lines that replace None by the values of `SignatureAdapter.fill`."""
    filled = [each.word for each in signature.parameters if each.name in adapter.fill]
    return [line for word in filled for line in (f"if {word} is None:", f"    {word} = __fill_{word}()")]


def _out_lines(signature: CallSignature, adapter: SignatureAdapter) -> list[str]:
    """Return the lines of a call that gives ``out``, which the tests before them have let pass."""
    is_open = adapter.missing is not None
    tests = [f"type({each.word}) is __tensor" for each in signature.parameters if each.tensors == "tensor"]
    if is_open:
        tests += ["len(__keywords) == 1", "type(__keywords.get('out')) is __tensor"]
        tests += [] if adapter.star else ["not __more"]
        tests += [f"{each.word} is not __missing" for each in signature.parameters if each.required]
    else:
        tests += ["type(out) is __tensor"]
        tests += [f"{name} is __extra_{name}" for name in adapter.extra if name != "out"]
        if has_stop(signature, adapter):
            tests.append("__stop is __nothing")
    given = [by_keyword(each.name, each.word) if each.keyword_only else each.word for each in signature.parameters]
    given.append("**__keywords" if is_open else "out=out")
    return [f"if {' and '.join(tests)}:", f"    return __with_out({', '.join(given)})"]


def _alone_lines(signature: CallSignature) -> list[str]:
    """Return the lines of a call with the first argument alone."""
    first, *others = signature.parameters
    tests = [
        f"{each.word} is {'__missing' if each.required else f'__default{index}'}"
        for index, each in enumerate(others, 1)
    ]
    return [f"if not __keywords and not __more and {' and '.join(tests)}:", f"    return __alone({first.word})"]


def parameter_list(signature: CallSignature, adapter: SignatureAdapter | None = None, *, stops: bool = False) -> str:
    """Return the parameter list of the schema, with the adapter's additions; defaults are named constants.

    With ``stops`` it may have ``__stop``.
    """
    stops = stops and has_stop(signature, adapter)
    # The slow path is given two arguments too many as they are.
    stop = "__stop=__nothing" if adapter is None or not adapter.takes_more else "__stop=__nothing, __stop1=__nothing"
    extra: Sequence[str] = () if adapter is None else tuple(adapter.extra)
    takes_all = adapter is not None and adapter.missing is not None
    named = adapter is not None and adapter.star
    more = "" if adapter is None else "__star" if named else "__more" if takes_all or adapter.takes_more else ""
    parts, is_open = [], False
    for index, parameter in enumerate(signature.parameters):
        if named and parameter.name == named:
            continue
        if parameter.keyword_only and not is_open:
            parts.append(stop if stops else f"*{more}")
            is_open = True
        default = f"__default{index}" if not parameter.required else "__missing" if takes_all else ""
        parts.append(f"{parameter.word}={default}" if default else parameter.word)
    if (extra or more) and not is_open:
        parts.append(stop if stops else f"*{more}")
    parts += [f"{name}=__extra_{name}" for name in extra]
    return ", ".join([*parts, "**__keywords"] if takes_all else parts)


def arguments_as_given(signature: CallSignature, adapter: SignatureAdapter | None = None) -> str:
    """Return all arguments, as the call of a slow path spells them."""
    named = "" if adapter is None else adapter.star
    takes_all = adapter is not None and adapter.missing is not None
    parts = [each.word for each in signature.parameters if not each.keyword_only and each.name != named]
    if named:
        parts.append("*__star")
    elif adapter is not None and (takes_all or adapter.takes_more):
        has_more = has_stop(signature, adapter)
        parts.append("*[__x for __x in (__stop, __stop1) if __x is not __nothing]" if has_more else "*__more")
    parts += [by_keyword(each.name, each.word) for each in signature.parameters if each.keyword_only]
    parts += [f"{name}={name}" for name in (() if adapter is None else adapter.extra)]
    return ", ".join([*parts, "**__keywords"] if takes_all else parts)


def by_keyword(name: str, word: str, value: str = "") -> str:
    """Return an argument as a call gives it by its own name, which need not be one that Python can spell."""
    return f"{name}={value or word}" if word == name else f"**{{{name!r}: {value or word}}}"
