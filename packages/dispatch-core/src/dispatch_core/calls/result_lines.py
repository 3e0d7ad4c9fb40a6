"""The text that makes a call's results of a kernel's.

Note [Nothing is written before everything is checked]
    Results are made and checked first; only then is a written argument given its new array, so that a call whose kernel
    returned something wrong has changed no argument.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..arrays.protocols import ViewCode
from .boundary import Boundary
from .emit import indent
from .signature import CallSignature, Result


def result_lines(signature: CallSignature, boundary: Boundary, views: Sequence[ViewCode]) -> list[str]:
    """Return lines that turn the kernel's returned value, ``__d``, into the results of the call."""
    frontend = boundary.frontend
    count = len(signature.results)
    names = ["__d"] if count == 1 else [f"__d{index}" for index in range(count)]
    made: list[str] = []
    written: list[str] = []
    outputs = []
    if count > 1:
        made += [f"if type(__d) is not tuple or len(__d) != {count}:", "    __d = __several(__d)"]
        made += [f"{', '.join(names)} = __d"]
    for index, result in enumerate(signature.results):
        # See Note [Nothing is written before everything is checked].
        first, last, output = _one_result(signature, result, names[index], f"__r{index}", boundary, views)
        if result.output_mask >= 0:
            # See Note [Results that a call leaves out] in `signature`.
            first = [f"if {left_out(signature, index)}:", f"    {output} = None", "else:", *indent(first)]
        made += first
        written += last
        outputs.append(output)
    if frontend is not None and frontend.writes is not None:
        for index in signature.writes:
            parameter = signature.parameters[index]
            name = parameter.word
            if parameter.tensors in ("list", "optional_list"):
                written += [f"for __t in {name}:", "    if __t is not None:", "        __mutated(__t)"]
            elif parameter.tensors == "optional":
                written += [f"if {name} is not None:", f"    __mutated({name})"]
            else:
                written += [f"__mutated({name})"]
    returned = "None" if not outputs else outputs[0] if count == 1 else f"({', '.join(outputs)})"
    return [*made, *written, f"return {returned}"]


def left_out(signature: CallSignature, index: int) -> str:
    """Return the condition under which a call does without a result, as `CallSignature.leaves_out` says."""
    return f"not {signature.parameters[signature.results[index].output_mask].word}[{index}]"


def _one_result(
    signature: CallSignature, result: Result, data: str, made: str, boundary: Boundary, views: Sequence[ViewCode]
) -> tuple[list[str], list[str], str]:
    """Return the lines that make one result, those that write to its argument, and the caller's name for it."""
    if result.kind == "other":
        return [], [], data
    base = signature.parameters[result.source].word if result.source >= 0 else ""
    if result.kind == "self":
        return _written_result(signature, result, data, made, boundary, base)
    if not result.is_list:
        lines, output = _made_result(signature, result, data, made, boundary, base, views)
        return lines, [], output
    lines = [f"if type({data}) is not list and type({data}) is not tuple:", f"    {data} = __list({data})"]
    if result.kind == "view" and boundary.frontend is not None and boundary.frontend.views is not None:
        # A comprehension costs as much as two such loops.
        lines += [f"for __i in {data}:", "    if type(__i) is not __array:", "        __view_of(__i)"]
        return [*lines, f"{made} = __views({base}, {data}, __op, ({all_values(signature)}))"], [], made
    lines += [f"{made} = []", f"for __i in {data}:"]
    inner, output = _made_result(signature, result, "__i", "__x", boundary, base)
    return [*lines, *(f"    {line}" for line in inner), f"    {made}.append({output})"], [], made


def _written_result(
    signature: CallSignature, result: Result, data: str, made: str, boundary: Boundary, base: str
) -> tuple[list[str], list[str], str]:
    """Treat a result that is a written argument: the kernel returned its array, None, or the array to take its place."""
    if not result.is_list:
        if boundary.frontend is None:
            check = f"if {data} is None or {data} is {base}:", f"    {data} = {base}", "else:", f"    __view_of({data})"
            return list(check), [], data
        replaced = f"if {data} is not {base}._dispatch_data and {data} is not None:"
        if len(signature.results) == 1:
            return [], [replaced, f"    __rebind({base}, __view_of({data}))"], base
        return [replaced, f"    __view_of({data})"], [replaced, f"    __rebind({base}, {data})"], base
    lines = [f"if type({data}) is not list and type({data}) is not tuple:", f"    {data} = __list({data})"]
    lines += [f"if len({data}) != len({base}):", f"    __unequal({data}, {base})"]
    each = f"for __b, __i in zip({base}, {data}):"
    if boundary.frontend is None:
        lines += [f"{made} = []", each, "    if __i is None or __i is __b:", "        __i = __b"]
        return [*lines, "    else:", "        __view_of(__i)", f"    {made}.append(__i)"], [], made
    replaced = "    if __i is not None and __i is not __b._dispatch_data:"
    last = [each, replaced, "        __rebind(__b, __i)", f"{made} = list({base})"]
    return [*lines, each, replaced, "        __view_of(__i)"], last, made


def _made_result(
    signature: CallSignature,
    result: Result,
    data: str,
    made: str,
    boundary: Boundary,
    base: str,
    views: Sequence[ViewCode] = (),
) -> tuple[list[str], str]:
    """Treat a result that is a fresh tensor or a view."""
    frontend = boundary.frontend
    is_view = result.kind == "view"
    check = "__view_of" if is_view else "__coerce"
    lines = [f"if type({data}) is not __array:", f"    {data} = {check}({data})"]
    if frontend is None:
        made = data
    elif is_view and frontend.views is not None:
        asked = [f"{made} = __view({base}, {data}, __op, ({all_values(signature)}))"]
        rest = "".join(f"{each.word}, " for index, each in enumerate(signature.parameters) if index != result.source)
        for number, view in enumerate(views):
            test = f"{base}._dispatch_mask == {view.base_mask}" + f" and {view.condition}" * bool(view.condition)
            new = [*_new(made, view.mask, data), f"{made}.{view.attribute} = {view.value}"]
            branch = [f"{'elif' if number else 'if'} {test}:", *indent(new)]
            lines += [line.replace("{base}", base).replace("{rest}", rest) for line in branch]
        lines += ["else:", *indent(asked)] if views else asked
    else:
        lines += _new(made, boundary.mask, data)
    if result.is_optional:
        lines = [f"if {data} is None:", f"    {made} = None", "else:", *(f"    {line}" for line in lines)]
    return lines, made


def _new(made: str, mask: int, data: str) -> list[str]:
    return [f"{made} = __new()", f"{made}._dispatch_mask = {mask}", f"{made}._dispatch_data = {data}"]


def all_values(signature: CallSignature) -> str:
    """Return all arguments in schema order, as the items of a tuple."""
    return "".join(f"{parameter.word}, " for parameter in signature.parameters)
