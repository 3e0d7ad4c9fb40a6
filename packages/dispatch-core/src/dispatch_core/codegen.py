"""Calls and kernels as generated Python functions, specialised to one operator's schema.

Note [What the generated code may assume]
    A callable ors the masks of its tensor arguments without looking first. Where one has none, `interpret` takes the call
    over, and finds the backend of a new type, or the fault; the ``except`` block is left before that, so that no
    kernel's error is chained to the failed look.
    An argument that is its own default, by identity, needs no check.

Note [Raw arrays change the code]
    Most operators are called either on a frontend's tensors or on raw arrays. A callable starts with the code for tensors
    alone; the first raw array makes it take over the code that also looks at the arguments' types.

`interpret` says in plain code what every function made here means.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from . import interpret, masks
from .arrays import TYPE_MASKS
from .boundary import Boundary, Covered, Parameter, Plan, Result, bad_count, bad_list, coercer, view_checker
from .keys import MARKERS
from .keyset import DispatchKeySet, as_mask
from .schema.check import argument_error

if TYPE_CHECKING:
    from .entry import OperatorEntry

__all__ = ["backend_runner", "call_source", "caller", "caller_runner", "redispatch_source", "redispatcher"]

Runner = Callable[..., Any]

#: Tests that let a value of the usual type pass without a call; others go to the argument's checker.
_QUICK: Final = MappingProxyType(
    {
        "int": "type({0}) is not int",
        "SymInt": "type({0}) is not int",
        "float": "type({0}) is not float",
        "bool": "{0} is not True and {0} is not False",
        "Scalar": "type({0}) is not int and type({0}) is not float",
        "Any": "",
    }
)


def caller(entry: OperatorEntry) -> Runner:
    """Return the generated function that a user's call runs (see `interpret.caller`)."""
    plan = entry.plan
    if plan is None or not plan.can_generate:
        return interpret.caller(entry)
    interpreted = interpret.caller(entry)

    def otherwise(*args: Any, **kwargs: Any) -> Any:
        # See Note [Raw arrays change the code].
        if args and not hasattr(args[0], "_dispatch_mask"):
            entry.op._late[0].take(_call(entry, plan, interpreted, raw=True))
        return interpreted(*args, **kwargs)

    return _call(entry, plan, otherwise, raw=False)


def _call(entry: OperatorEntry, plan: Plan, otherwise: Runner, *, raw: bool) -> Runner:
    names = _constants(plan)
    names |= {
        "__table": entry.call_table,
        "__masked": entry.lookup_masked,
        "__context": masks.current,
        "__types": TYPE_MASKS,
        "__otherwise": otherwise,
    }
    return _compile(call_source(plan, raw=raw), names, plan)


def redispatcher(entry: OperatorEntry) -> Runner:
    """Return the generated function for an explicit mask (see `interpret.redispatcher`)."""
    if entry.plan is None or not entry.plan.can_generate:
        return interpret.redispatcher(entry)
    plan = entry.plan
    names = _constants(plan)
    names |= {
        "__table": entry.explicit_table,
        "__context": masks.current,
        "__markers": MARKERS,
        "__types": TYPE_MASKS,
        "__interpret": interpret.redispatcher(entry),
        "__keyset": DispatchKeySet,
        "__as_mask": as_mask,
    }
    return _compile(redispatch_source(plan), names, plan)


def caller_runner(entry: OperatorEntry, kernel: Runner, prefix: tuple[Any, ...]) -> Runner:
    """Return a generated runner for a kernel that sees what the caller passed (see `interpret.caller_runner`)."""
    plan = entry.plan
    if plan is None or not plan.can_generate:
        return interpret.caller_runner(entry, kernel, prefix)
    if not prefix and not any(parameter.keyword_only for parameter in plan.parameters):
        return kernel
    names, before = _prefix(prefix)
    source = f"def __run({_values(plan)}):\n    return __kernel({_kernel_arguments(plan, before, unwrap=False)})\n"
    return _compile(source, names | {"__kernel": kernel}, plan)


def backend_runner(
    entry: OperatorEntry, boundary: Boundary, kernel: Runner, prefix: tuple[Any, ...], covered: Covered = ()
) -> Runner:
    """Return a generated runner for a kernel that sees a backend's arrays (see `interpret.backend_runner`)."""
    plan = entry.plan
    if plan is None or not plan.can_generate:
        return interpret.backend_runner(entry, boundary, kernel, prefix, covered)
    names, before = _prefix(prefix)
    wrapped = boundary.frontend is not None
    lines = [f"def __run({_values(plan)}):"]
    branch = "if"
    for number, (index, only, special) in enumerate(covered):
        parameter = plan.parameters[index]
        arguments = _kernel_arguments(plan, "", unwrap=wrapped, leave_out=index)
        # Equal is not enough: True and 1.0 equal 1, and mean something else to a kernel.
        same = "{0} is {1} or (type({0}) is type({1}) and {0} == {1})".format(parameter.name, f"__only{number}")
        lines += [f"    {branch} {same}:", f"        __d = __special{number}({arguments})"]
        names |= {f"__only{number}": only, f"__special{number}": special}
        branch = "elif"
    call = f"__d = __kernel({_kernel_arguments(plan, before, unwrap=wrapped)})"
    lines += ["    else:", f"        {call}"] if covered else [f"    {call}"]
    lines += _result_lines(plan, boundary)
    frontend = boundary.frontend
    names |= {
        "__kernel": kernel,
        "__array": boundary.array_type,
        "__coerce": coercer(boundary, plan.name),
        "__check_view": view_checker(boundary, plan.name),
        "__bad_count": bad_count,
        "__bad_list": bad_list,
        "__name": plan.name,
        "__mask": boundary.mask,
        "__op": entry.op,
    }
    if frontend is not None:
        names |= {
            "__new": frontend.new,
            "__view": frontend.view,
            "__rebind": frontend.rebind,
            "__mutated": frontend.mutated,
        }
    return _compile("\n".join(lines) + "\n", names, plan)


def call_source(plan: Plan, *, raw: bool = False) -> str:
    """Return the source of the function that a user's call runs, with or without a way for raw arrays."""
    lines = [f"def __call({_signature(plan)}):"]
    rest = [
        *_check_lines(plan),
        "    __c = __context()",
        f"    return (__table[__m] if __c is None else __masked(__m, __c))({_values(plan)})",
    ]
    wrapped = _mask_lines(plan, lambda name: f"{name}._dispatch_mask")
    first = next((parameter for parameter in plan.parameters if parameter.tensors), None)
    if first is None:
        lines += ["    __m = 0", *rest]
    elif not raw:
        lines += ["    try:", *(f"        {line}" for line in wrapped)]
        lines += ["    except (AttributeError, TypeError):", "        pass", "    else:"]
        lines += [*(f"    {line}" for line in rest), f"    return __otherwise({_arguments_as_given(plan)})"]
    else:
        types = _mask_lines(plan, lambda name: f"__types[type({name})]")
        # The first tensor tells a raw call from a wrapped one, for less than a failed look at an attribute costs.
        one = first.name if first.tensors == "tensor" else "None"
        lines += [f"    if type({one}) not in __types:", *_attempt(wrapped), "    else:", "        __m = -1"]
        lines += ["    if __m < 0:", *_attempt(types), "        if __m < 0:"]
        lines += [f"            return __otherwise({_arguments_as_given(plan)})", *rest]
    return "\n".join(lines) + "\n"


def _attempt(lines: list[str], into: str = "__m") -> list[str]:
    """Return the lines that find a mask, with -1 where an argument is not what they expect."""
    return [
        "        try:",
        *(f"            {line}" for line in lines),
        "        except (AttributeError, KeyError, TypeError):",
        f"            {into} = -1",
    ]


def redispatch_source(plan: Plan) -> str:
    """Return the source of the function that runs an operator for an explicit mask."""
    signature = _signature(plan)
    lines = [
        f"def __redispatch(__m, /{', ' if signature else ''}{signature}):",
        "    if type(__m) is not int:",
        "        __m = __m.mask | __m.marker if type(__m) is __keyset else __as_mask(__m)",
        "    __c = __context()",
        "    if __c is not None:",
        "        __m ^= __m & __c[1]",
    ]
    if any(parameter.tensors for parameter in plan.parameters):
        # A keyset that a kernel was given carries its frontend's marker; one made by hand does not, and neither it nor
        # the tensors were looked at before.
        wrapped = _mask_lines(plan, lambda name: f"{name}._dispatch_mask", into="__k")
        raw = _mask_lines(plan, lambda name: f"__types[type({name})]", into="__k")
        lines += ["    if not __m & __markers:", *_attempt(wrapped, "__k"), "        if __k < 0:"]
        lines += [f"    {line}" for line in _attempt(raw, "__k")]
        lines += ["            if __k < 0:", f"                return __interpret(__m, {_arguments_as_given(plan)})"]
        lines += ["        __m |= __k & __markers"]
    lines += _check_lines(plan)
    lines += [f"    return __table[__m]({_values(plan)})"]
    return "\n".join(lines) + "\n"


def _mask_lines(plan: Plan, mask: Callable[[str], str], into: str = "__m") -> list[str]:
    """Return lines that or the masks of all tensor arguments together."""
    required = [mask(p.name) for p in plan.parameters if p.tensors == "tensor" and p.default is not None]
    lines = [f"{into} = {' | '.join(required) or '0'}"]
    for parameter in plan.parameters:
        name = parameter.name
        if parameter.tensors == "optional" or (parameter.tensors == "tensor" and parameter.default is None):
            lines += [f"if {name} is not None:", f"    {into} |= {mask(name)}"]
        elif parameter.tensors in ("list", "optional_list"):
            # A tensor can be iterated too, but is no list of tensors: __none raises the TypeError that it deserves.
            lines += [f"for __t in {name} if type({name}) is list or type({name}) is tuple else __none:"]
            if parameter.tensors == "optional_list":
                lines += ["    if __t is not None:", f"        {into} |= {mask('__t')}"]
            else:
                lines += [f"    {into} |= {mask('__t')}"]
    return lines


def _check_lines(plan: Plan) -> list[str]:
    """Return lines that check the arguments without tensors, and coerce them where the schema allows it."""
    lines = []
    for index, parameter in enumerate(plan.parameters):
        if parameter.tensors:
            continue
        name, quick = parameter.name, _QUICK.get(parameter.type, "True")
        if not quick:
            continue
        tests = [] if parameter.required else [f"{name} is not __default{index}"]
        tests += [] if quick == "True" else [quick.format(name)]
        condition = " and ".join(tests) or "True"
        lines += [f"    if {condition}:", f"        {name} = __check{index}({name})"]
    return lines


def _result_lines(plan: Plan, boundary: Boundary) -> list[str]:
    """Return lines that turn what the kernel returned, ``__d``, into what the caller gets."""
    frontend = boundary.frontend
    lines: list[str] = []
    count = len(plan.results)
    outputs = ["None"]
    if count == 1:
        outputs = ["__d"]
    elif count > 1:
        outputs = [f"__d{index}" for index in range(count)]
        lines += [
            f"    if not isinstance(__d, (tuple, list)) or len(__d) != {count}:",
            f"        raise __bad_count(__name, {count}, __d)",
            f"    {', '.join(outputs)} = __d",
        ]
    final = []
    for index, result in enumerate(plan.results):
        made, output = _one_result(plan, result, outputs[index], f"__r{index}", boundary)
        lines += made
        final.append(output)
    if frontend is not None and frontend.mutated is not None:
        for index in plan.writes:
            parameter = plan.parameters[index]
            name = parameter.name
            if parameter.tensors in ("list", "optional_list"):
                lines += [f"    for __t in {name}:", "        if __t is not None:", "            __mutated(__t)"]
            elif parameter.tensors == "optional":
                lines += [f"    if {name} is not None:", f"        __mutated({name})"]
            else:
                lines += [f"    __mutated({name})"]
    returned = "None" if not final else final[0] if count == 1 else f"({', '.join(final)})"
    return [*lines, f"    return {returned}"]


def _one_result(plan: Plan, result: Result, data: str, made: str, boundary: Boundary) -> tuple[list[str], str]:
    """Return the lines for one result, and the expression that holds what the caller gets for it."""
    if result.kind == "other":
        return [], data
    base = plan.parameters[result.source].name if result.source >= 0 else ""
    if result.is_list:
        pairs = f"zip({base}, {data}, strict=True)" if result.kind == "self" else data
        target = "__b, __i" if result.kind == "self" else "__i"
        lines = [f"    if not isinstance({data}, (list, tuple)):", f"        raise __bad_list(__name, {data})"]
        if result.kind == "self":
            lines += [f"    if len({data}) != len({base}):", f"        raise __bad_count(__name, len({base}), {data})"]
        lines += [f"    {made} = []", f"    for {target} in {pairs}:"]
        inner, output = _tensor_result(plan, result, "__i", "__x", boundary, "__b" if result.kind == "self" else base)
        return [*lines, *(f"    {line}" for line in inner), f"        {made}.append({output})"], made
    return _tensor_result(plan, result, data, made, boundary, base)


def _tensor_result(
    plan: Plan, result: Result, data: str, made: str, boundary: Boundary, base: str
) -> tuple[list[str], str]:
    wrapped = boundary.frontend is not None
    if result.kind == "self":
        if not wrapped:
            return [], f"({base} if {data} is None or {data} is {base} else __check_view({data}))"
        lines = [f"    if {data} is not {base}._dispatch_data and {data} is not None:"]
        return [*lines, f"        __rebind({base}, __check_view({data}))"], base
    is_view = result.kind == "view"
    check = "__check_view" if is_view else "__coerce"
    lines = [f"    if type({data}) is not __array:", f"        {data} = {check}({data})"]
    if not wrapped:
        made = data
    elif is_view and boundary.frontend is not None and boundary.frontend.view is not None:
        values = "".join(f"{parameter.name}, " for parameter in plan.parameters)
        lines += [f"    {made} = __view({base}, {data}, __op, ({values}))"]
    else:
        lines += [f"    {made} = __new()", f"    {made}._dispatch_mask = __mask", f"    {made}._dispatch_data = {data}"]
    if result.is_optional:
        lines = [f"    if {data} is None:", f"        {made} = None", "    else:", *(f"    {line}" for line in lines)]
    return lines, made


def _signature(plan: Plan) -> str:
    """Return the parameter list of the schema, defaults as named constants."""
    parts, star = [], False
    for index, parameter in enumerate(plan.parameters):
        if parameter.keyword_only and not star:
            parts.append("*")
            star = True
        parts.append(parameter.name if parameter.required else f"{parameter.name}=__default{index}")
    return ", ".join(parts)


def _values(plan: Plan) -> str:
    return ", ".join(parameter.name for parameter in plan.parameters)


def _arguments_as_given(plan: Plan) -> str:
    return ", ".join(f"{p.name}={p.name}" if p.keyword_only else p.name for p in plan.parameters)


def _kernel_arguments(plan: Plan, before: str, *, unwrap: bool, leave_out: int = -1) -> str:
    parts = [before] if before else []
    for index, parameter in enumerate(plan.parameters):
        if index == leave_out:
            continue
        value = _unwrapped(parameter) if unwrap else parameter.name
        parts.append(f"{parameter.name}={value}" if parameter.keyword_only else value)
    return ", ".join(parts)


def _unwrapped(parameter: Parameter) -> str:
    name = parameter.name
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


def _prefix(prefix: tuple[Any, ...]) -> tuple[dict[str, Any], str]:
    names = {f"__before{index}": value for index, value in enumerate(prefix)}
    return names, ", ".join(names)


def _constants(plan: Plan) -> dict[str, Any]:
    """Return the constants of a call: the arguments' defaults and checkers."""
    names: dict[str, Any] = {"__none": None}
    for index, parameter in enumerate(plan.parameters):
        if not parameter.required:
            names[f"__default{index}"] = parameter.default
        if not parameter.tensors:
            names[f"__check{index}"] = _named_checker(plan, index)
    return names


def _named_checker(plan: Plan, index: int) -> Callable[[object], object]:
    """Return the argument's checker, with errors that name operator and argument."""
    check = plan.parameters[index].check

    def checked(value: object) -> object:
        try:
            return check(value)
        except TypeError as error:
            fault = argument_error(plan.schema, index, value, str(error))
        raise fault

    return checked


def _compile(source: str, names: dict[str, Any], plan: Plan) -> Runner:
    """Compile one function; the operator's name and signature are what CPython's own argument errors begin with."""
    code = compile(source, f"<dispatch of {plan.name}>", "exec")
    exec(code, names)  # noqa: S102  # the source is made above, from a parsed schema's identifiers alone
    function: Any = next(names[name] for name in ("__call", "__redispatch", "__run") if name in names)
    function.__name__ = plan.name
    function.__qualname__ = f"{plan.schema}\n{plan.name}"
    return function
