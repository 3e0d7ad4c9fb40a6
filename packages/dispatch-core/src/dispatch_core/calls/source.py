"""The text of the functions that `codegen` makes, written from an operator's signature.

A callable ors the masks of its tensor arguments without looking first. Where one has none, `reference` takes the call
over, and finds the backend of a new type, or the fault; the ``except`` block is left before that, so that no
kernel's error is chained to the failed look.
A class of tensors has a mask too, a member's descriptor; where that stands alone nothing fails before the table is asked,
which refuses it: see `call_tables`. So a mask that was not found is asked for by ``== -1``, which descriptors allow.
An argument that is its own default, by identity, needs no check.

Names that begin with two underscores are constants, which `codegen` supplies, or the functions' own variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from keyword import iskeyword

from .._record import Record
from ..arrays.protocols import ViewCode
from ..keys.table import AUTOGRAD
from .adapters import (
    SignatureAdapter,
    arguments_as_given,
    by_keyword,
    early_lines,
    fill_lines,
    has_stop,
    parameter_list,
)
from .argument_checks import check_lines
from .boundary import Boundary
from .emit import define, indent, quote, quote_name
from .overriding import are_looked_for, attempt_lines, class_lines, mode_lines
from .result_lines import result_lines
from .signature import CallParameter, CallSignature, copies_signature, has_plain_result


class SpecializedState(Record):
    """The lines of a callable for one state of the context's masks; their constants are named in strings."""

    #: The bits of a mask that do not matter, and the others as they must be.
    either: int
    mask: int
    body: Sequence[str]


class SpecializedMask(Record):
    """The mask that a callable treats itself, and how."""

    mask: int
    #: Whether the arguments are a backend's arrays, and not tensors of a frontend.
    raw: bool
    #: The lines for it; their constants are named in strings, see `emit.quote`.
    body: Sequence[str]
    #: The class of the tensors that have the mask, or None for arrays.
    tensor_type: type | None = None


def call_source(
    signature: CallSignature,
    *,
    raw: bool = False,
    specialized: SpecializedMask | None = None,
    masked: Sequence[SpecializedState] = (),
    adapter: SignatureAdapter | None = None,
) -> str:
    """Return the source of the function that a user's call runs.

    With ``raw`` it also looks at the types of arrays that are no tensors. For the ``specialized`` mask it runs the kernel
    itself, for any other it asks the table; likewise for those under ``masked`` keys. With an ``adapter``, by which
    ``signature`` is adapted already, it is a frontend's function that does as the operator does, and makes a tensor of
    the array where no argument is a tensor.
    """
    slow_path = f"return __slow_path({arguments_as_given(signature, adapter)})"
    early = [] if adapter is None else early_lines(signature, adapter, slow_path)
    if has_stop(signature, adapter) and (adapter is None or not adapter.takes_more):
        early = ["if __stop is not __nothing:", "    __refuse()", *early]
    is_open = adapter is not None and adapter.missing is not None
    given = arguments_as_given(signature, adapter)
    asks = attempt_lines(given) if adapter is not None and adapter.override is not None else []
    looks = bool(asks) and are_looked_for()
    if looks:
        early = [*mode_lines(given), *early]
    first = next((parameter for parameter in signature.parameters if parameter.tensors), None)
    rest = check_lines(signature, slow_path if is_open else "")
    if adapter is not None:
        rest += fill_lines(signature, adapter)
    if looks:
        rest = [*(class_lines(given) if first is not None else []), *rest]
    else:
        rest += ["__c = __context()"]
    if makes_tensors(signature, adapter):
        if specialized is not None:
            rest += ["if __c is None:", *indent(quote(specialized.body))]
        rest += [f"return __wrap((__table[0] if __c is None else __masked[0, __c])({values(signature)}))"]
        return _define_call(signature, adapter, [*early, *rest])
    if specialized is not None:
        rest += [f"if __m == {specialized.mask} and __c is None:", *indent(quote(specialized.body))]
    within: list[str] = []
    for number, each in enumerate(masked):
        keys = f"__m | {each.either} == {each.mask | each.either}" if each.either else f"__m == {each.mask}"
        name = f"__state{number}"
        within += [quote_name(name), f"if __c is {name} and {keys}:", *indent(quote(each.body))]
    if within:
        rest += ["if __c is not None:", *indent(within)]
    rest += [f"return (__table[__m] if __c is None else __masked[__m, __c])({values(signature)})"]
    wrapped = _mask_lines(signature, lambda name: f"{name}._dispatch_mask")
    if specialized is not None and not specialized.raw:
        mask = specialized.mask
        wrapped = _unless_specialized(signature, mask, lambda name: f"{name}._dispatch_mask == {mask}", wrapped)
    if first is None:
        lines = ["__m = 0", *rest]
    elif not raw:
        lines = ["try:", *indent(wrapped), "except (AttributeError, TypeError):", "    pass"]
        lines += ["else:", *indent(rest), *asks, slow_path]
    else:
        lines = _attempt(_mask_lines(signature, lambda name: f"__types[type({name})]"))
        if first.tensors == "tensor":
            # The first tensor tells a raw call from a wrapped one, for less than a failed look at an attribute costs;
            # its class says it for less still.
            # It is looked up once: the key of a subclass may be a weak reference, which costs more to compare.
            lines = _attempt(
                _mask_lines(signature, lambda name: "__k" if name == first.word else f"__types[type({name})]")
            )
            is_raw = f"(__k := __types.get(type({first.word}))) is not None"
            if specialized is not None and specialized.tensor_type is not None:
                is_raw = f"type({first.word}) is not __tensor and {is_raw}"
            lines = [f"if {is_raw}:", *indent(lines), "else:", *indent(_attempt(wrapped))]
        else:
            lines = [*_attempt(wrapped), "if __m == -1:", *indent(lines)]
        lines += ["if __m == -1:", f"    {slow_path}"]
        if specialized is not None and specialized.raw:
            tests = _unless_specialized(signature, specialized.mask, lambda name: f"type({name}) is __array", lines)
            lines = [quote_name("__array"), *tests]
        lines += rest
    return _define_call(signature, adapter, [*early, *lines])


def _define_call(signature: CallSignature, adapter: SignatureAdapter | None, lines: list[str]) -> str:
    lines = _trim_errors(lines)
    if adapter is not None and adapter.override is not None and signature.has_tensors:
        # See Note [Functions that may be overridden] in `overriding`.
        given = arguments_as_given(signature, adapter)
        *called, catch, trim, again = lines
        test = f"    if not __is_overridden(__e, {given}):"
        lines = [*called, catch, test, *indent([trim, again]), f"return __override({given})"]
    return define(f"__call({parameter_list(signature, adapter, stops=True)})", lines)


def makes_tensors(signature: CallSignature, adapter: SignatureAdapter | None) -> bool:
    """Return whether a frontend's function makes tensors of an operator's arrays, because it is given no tensor."""
    return adapter is not None and not signature.has_tensors


def redispatch_source(signature: CallSignature) -> str:
    """Return the source of the function that runs an operator for an explicit mask."""
    parameters = parameter_list(signature)
    lines = [
        "if type(__m) is not int:",
        "    __m = __m.mask | __m.marker if type(__m) is __keyset else __as_mask(__m)",
        "__c = __context()",
        "if __c is not None:",
        "    __m ^= __m & __c[1]",
    ]
    if any(parameter.tensors for parameter in signature.parameters):
        # A keyset that a kernel was given carries its frontend's marker; one made by hand does not, and neither it nor
        # the tensors were looked at before. A device's kernel cannot take values that a pipeline has yet to compute.
        own = [*_mask_lines(signature, lambda name: f"{name}._dispatch_mask", into="__k"), "__k &= __stays"]
        raw = [*_mask_lines(signature, lambda name: f"__types[type({name})]", into="__k"), "__k &= __stays"]
        unmarked = [*_attempt(own, "__k"), "if __k == -1:", *indent(_attempt(raw, "__k"))]
        unmarked += ["    if __k == -1:", f"        return __interpret(__m, {arguments_as_given(signature)})"]
        lines += ["if not __m & __markers:", *indent([*unmarked, "__m |= __k"])]
    lines += [*check_lines(signature), f"return __table[__m]({values(signature)})"]
    return define(f"__redispatch(__m, /{', ' if parameters else ''}{parameters})", _trim_errors(lines))


def fast_redispatch_source(signature: CallSignature) -> str:
    """Return the source of the function that runs an operator for the mask ``__at``, its arguments as they stand."""
    found = "__table[__at] if (__c := __context()) is None else __table[__at & ~__c[1]]"
    return runner_source(signature, [f"return ({found})({values(signature)})"])


def runner_source(signature: CallSignature, body: Sequence[str]) -> str:
    """Return the source of a function that takes all arguments in schema order and runs ``body``."""
    return define(f"__run({values(signature)})", body)


def body_lines(
    signature: CallSignature,
    boundary: Boundary,
    prefix: int,
    specialized: Sequence[int],
    *,
    declines: bool = False,
    is_short: bool = False,
    itself: bool = False,
    in_order: bool = False,
    views: Sequence[ViewCode] = (),
) -> list[str]:
    """Return the lines that call a backend's kernel and turn its results into those of the schema.

    ``prefix`` is the number of values that stand before the arguments; ``specialized`` are the indices of the
    arguments whose value a specialized kernel serves; ``declines`` says that the kernel may leave the call to another,
    ``is_short`` that it does so by an error, too, and ``itself`` that the array of the argument that the result belongs to
    represents that argument, and any other a fresh tensor, and ``in_order`` that the kernel takes the keyword-only
    arguments by position, too.
    By ``views`` a view is made, where one of them is for its base.
    """
    wrapped = boundary.frontend is not None
    lines = []
    branch = "if"
    for number, index in enumerate(specialized):
        arguments = kernel_arguments(signature, 0, unwrap=wrapped, leave_out=index)
        # Equal is not enough: True and 1.0 equal 1, and mean something else to a kernel.
        name, only = signature.parameters[index].word, f"__only{number}"
        lines += [f"{branch} {name} is {only} or (type({name}) is type({only}) and {name} == {only}):"]
        lines += [f"    __d = __special{number}({arguments})"]
        branch = "elif"
    call = f"__d = __kernel({kernel_arguments(signature, prefix, unwrap=wrapped, in_order=in_order)})"
    if is_short:
        lines += ["try:", f"    {call}", "except Exception:", "    __d = __declined"]
    else:
        lines += ["else:", f"    {call}"] if specialized else [call]
    if declines:
        lines += ["if __d is __declined:", f"    return __run_below({values(signature)})"]
    elif has_plain_result(signature):
        lines += ["if __d is __declined:", "    __refuse_declined()"]
    if itself:
        base = signature.parameters[signature.results[0].source].word
        lines += [f"if __d is {base}{'._dispatch_data' if wrapped else ''}:", f"    return {base}"]
        signature = copies_signature(signature)
    return lines + result_lines(signature, boundary, views)


def _trim_errors(lines: list[str]) -> list[str]:
    """Return the lines of a public call; see Note [Frames that are left out] in `tracebacks`."""
    return ["try:", *indent(lines), "except __error as __e:", "    __trim(__e)", "    raise"]


def _attempt(lines: list[str], into: str = "__m") -> list[str]:
    """Return the lines that find a mask, with -1 where an argument has no mask."""
    return ["try:", *indent(lines), "except (AttributeError, KeyError, TypeError):", f"    {into} = -1"]


def _unless_specialized(signature: CallSignature, mask: int, test: Callable[[str], str], lines: list[str]) -> list[str]:
    """Return ``lines``, which find the mask, for the case that not all tensors have just the specialized one.

    To compare masks costs less than to or them. It does not pay for a list.
    """
    tests = []
    for parameter in signature.parameters:
        name = parameter.word
        if parameter.tensors == "tensor" and parameter.default is not None:
            tests.append(test(name))
        elif parameter.tensors in ("tensor", "optional"):
            tests.append(f"({name} is None or {test(name)})")
        elif parameter.tensors:
            return lines
    # Where only optional tensors are looked at, all of them may be None.
    if all(each.startswith("(") for each in tests):
        return lines
    return [f"if {' and '.join(tests)}:", f"    __m = {mask}", "else:", *indent(lines)]


def _mask_lines(signature: CallSignature, mask: Callable[[str], str], into: str = "__m") -> list[str]:
    """Return lines that or the masks of all tensor arguments together."""
    required = [mask(p.word) for p in signature.parameters if p.tensors == "tensor" and p.default is not None]
    lines = [f"{into} = {' | '.join(required) or '0'}"]
    for parameter in signature.parameters:
        name = parameter.word
        if parameter.tensors == "optional" or (parameter.tensors == "tensor" and parameter.default is None):
            lines += [f"if {name} is not None:", f"    {into} |= {mask(name)}"]
        elif parameter.tensors in ("list", "optional_list"):
            # A tensor can be iterated too, but is not a list of tensors: __none raises the TypeError that it deserves.
            lines += [f"for __t in {name} if type({name}) is list or type({name}) is tuple else __none:"]
            if parameter.tensors == "optional_list":
                lines += ["    if __t is not None:", f"        {into} |= {mask('__t')}"]
            else:
                lines += [f"    {into} |= {mask('__t')}"]
    return lines


def history_lines(signature: CallSignature, *, asks: bool) -> list[str]:
    """Return lines that choose between the runners for tensors with a history and without.

    They are for masks with an Autograd key, which the only tensor of a call then has. With ``asks`` the context may leave
    histories out of account.
    """
    parameters = [parameter for parameter in signature.parameters if parameter.tensors]
    is_alone = [parameter.tensors for parameter in parameters] == ["tensor"]
    recorded = f"    return __recorded({values(signature)})"
    tests, loops = [], []
    for parameter in parameters:
        item = "__t" if "list" in parameter.tensors else parameter.word
        test = f"__has_history({item})" if is_alone else f"{item}._dispatch_mask & {AUTOGRAD} and __has_history({item})"
        if "optional" in parameter.tensors or parameter.default is None:
            test = f"{item} is not None and {test}"
        if item == "__t":
            loops += [f"for __t in {parameter.word}:", *indent([f"if {test}:", recorded])]
        else:
            tests.append(test)
    lines = [f"if {' or '.join(tests)}:", recorded, *loops] if tests else loops
    return [*(["if __records():", *indent(lines)] if asks else lines), f"return __short({values(signature)})"]


def values(signature: CallSignature) -> str:
    """Return all arguments in schema order, as a call spells them."""
    return ", ".join(parameter.word for parameter in signature.parameters)


def kernel_arguments(
    signature: CallSignature, prefix: int, *, unwrap: bool, leave_out: int = -1, in_order: bool = False
) -> str:
    """Return the arguments of a kernel's call, the tensors unwrapped if need be.

    The keyword-only ones are given by keyword, but for a kernel that takes all of them ``in_order``.
    """
    parts = [f"__before{number}" for number in range(prefix)]
    for index, parameter in enumerate(signature.parameters):
        if index == leave_out:
            continue
        value = _unwrap(parameter) if unwrap else parameter.word
        by_name = parameter.keyword_only and not in_order
        # A frontend's function may name it otherwise than the schema, whose name is the kernel's.
        name = signature.schema.arguments[index].name
        word = name if parameter.name != name and not iskeyword(name) else parameter.word
        parts.append(by_keyword(name, word, value) if by_name else value)
    return ", ".join(parts)


def _unwrap(parameter: CallParameter) -> str:
    name = parameter.word
    match parameter.tensors:
        case "tensor" if parameter.default is not None:
            return f"{name}._dispatch_data"
        case "tensor" | "optional":
            return f"None if {name} is None else {name}._dispatch_data"
        case "list":
            return f"[__t._dispatch_data for __t in {name}]"
        case "optional_list":
            return f"[None if __t is None else __t._dispatch_data for __t in {name}]"
    return name
