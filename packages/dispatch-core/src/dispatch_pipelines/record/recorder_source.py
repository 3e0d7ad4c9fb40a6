"""Generated recorders: their text, written from an operator's signature, which becomes part of the operator's call.

They record as the plain recorder in `recording` does, for most operators, and leave unusual calls to it: those whose shape
rule cannot infer the result, or whose result takes the place of an argument's array.

Names that begin with two underscores are constants, or the functions' own variables (see `source`): ``__c`` are the masks
of the context, ``__t`` is the block and then its session, ``__x0`` the array or pending value of the first argument and
``__b0`` its array spec and ``__p0`` its storage key, ``__i`` the spec of the result, ``__d`` the result, ``__r`` the
records, ``__h`` bits of the arguments in memory that is held outside.

Note [Answers of shape rules]
    A generated recorder asks the shape rule only for answers that are not kept. A kernel under Meta whose trait
    ``cache_key`` is a function that returns a key promises that its answers depend on the key alone. The key's
    ``text(names)`` is the text of a tuple's elements, given the names of the arguments, for tensors of their specs; the
    text calls its ``settings`` by the name ``__settings``. ``cache(ask)`` returns a dictionary, and a function that
    asks and keeps the answer there. The operator library's shape rules have that trait.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dispatch_core.arrays.lent_memory import LENT, is_lent
from dispatch_core.calls import codegen
from dispatch_core.calls.boundary import Boundary
from dispatch_core.calls.emit import indent
from dispatch_core.calls.result_lines import left_out
from dispatch_core.calls.signature import CallParameter, CallSignature
from dispatch_core.calls.source import values
from dispatch_core.calls.traits import AnswerKey
from dispatch_core.keys import context
from dispatch_core.keys.table import DispatchKey
from dispatch_core.layers.stages import watch

from .array_specs import ARRAY_SPECS, UNKNOWN, intern_spec, row_major_spec
from .blocks import Block, innermost
from .callers import INSIDE
from .pending import Pending, known_storage_key
from .steps import is_tied

if TYPE_CHECKING:
    from .recording import Recorder

Runner = Callable[..., Any]


def is_specializable(signature: CallSignature) -> bool:
    """Return whether there is text for an operator.

    It makes fresh results or one view, or writes to one argument, which it returns, and takes no lists of tensors then.
    """
    if not signature.is_specializable or not signature.results:
        return False
    if signature.writes and any("list" in each.tensors for each in signature.parameters):
        return False
    if len(signature.results) > 1:
        plain = all(each.kind == "fresh" and not each.is_list and not each.is_optional for each in signature.results)
        return plain and not signature.writes
    result = signature.results[0]
    if result.is_list or result.is_optional or result.kind == "other":
        return False
    written = (result.source,) if result.kind == "self" else ()
    if signature.writes != written:
        return False
    source = signature.parameters[result.source] if result.source >= 0 else None
    return source is None or not ("list" in source.tensors or _may_be_none(source))


def make_inlined_recorder(plain: Recorder, boundary: Boundary, below: Runner, otherwise: Runner) -> Runner:
    """Return the generated form of ``plain``; it calls ``below`` for a view at once, ``otherwise`` for unusual calls."""
    entry, signature, frontend = plain.entry, plain.signature, boundary.frontend
    cache_key = None if plain.cache_key is None else plain.cache_key()
    ask = _make_ask(plain.meta, entry.name, has_strides=plain.has_strides)
    constants = {
        "__ask": ask,
        "__below": below,
        "__context": context.current,
        "__frame": sys._getframe,
        "__elsewhere": plain.is_elsewhere,
        "__home": plain.home,
        "__id": id,
        "__innermost": innermost,
        "__is_lent": is_lent,
        "__is_pending": _is_pending,
        "__its_inside": INSIDE,
        "__its_specs": ARRAY_SPECS,
        "__its_lent": LENT,
        "__made": plain.made,
        "__storage_key": known_storage_key,
        "__record_op": entry.op,
        "__step": plain.step,
        "__unusual": otherwise,
        "__its_user": [None],
    }
    if cache_key is not None:
        constants["__settings"] = cache_key.settings
        constants["__its_answers"], constants["__ask"] = cache_key.cache(ask)
    if frontend is not None:
        constants["__record_new"] = frontend.new
        if frontend.views is not None:
            constants["__record_view"] = frontend.views.view
        if frontend.writes is not None:
            constants["__record_mutated"] = frontend.writes.note_write
    has_effect = bool(signature.writes) or is_tied(entry.tags)

    def lines(spelled: Any) -> list[str]:
        return _recorder_lines(
            spelled,
            boundary,
            cache_key=cache_key,
            has_index=plain.made.index is not None,
            copies_lent=plain.copies_lent,
            has_effect=has_effect,
            is_pointwise="pointwise" in entry.tags,
        )

    deferral = None if has_effect else _make_deferral(plain, boundary, cache_key)
    inlined = codegen.Inlined(lines, constants, DispatchKey.Pipeline.value, deferral)
    return codegen.make_inlined_runner(entry, signature, inlined)


def _make_deferral(plain: Recorder, boundary: Boundary, cache_key: AnswerKey | None) -> dict[str, Any] | None:
    """Return the spec by which the compiled front records calls that make one array; None for other operators."""
    signature, results = plain.signature, plain.signature.results
    if cache_key is None or not hasattr(cache_key, "reads") or boundary.frontend is None:
        return None
    if signature.device_index is not None or len(results) != 1 or results[0].kind != "fresh":
        return None
    attribute, by_type = cache_key.reads()
    return {
        "blocks": innermost.__self__,  # type: ignore[attr-defined]  # the variable that this reads
        "block_type": Block,
        "made": plain.made,
        "step": plain.step,
        "specs": ARRAY_SPECS,
        "lent": LENT,
        "inside": INSIDE,
        "settings": cache_key.settings,
        "attribute": attribute,
        "by_type": tuple(map(int, by_type)),
        "mask": boundary.mask,
    }


def _is_pending(value: object) -> bool:
    return isinstance(value, Pending)


def _make_ask(rule: Runner, name: str, *, has_strides: bool) -> Runner:
    """Return a function that asks a shape rule; it returns None where the rule cannot infer the result.

    Arrays whose type knows no strides are row-major, whatever a rule would make of the elements' order.
    """

    def ask(*values: Any) -> Any:
        if any(value is UNKNOWN or (type(value) in (list, tuple) and UNKNOWN in value) for value in values):
            return None
        try:
            found = intern_spec(watch("meta", name, rule)(*values))
        except NotImplementedError:
            return None
        if has_strides:
            return found
        return tuple(map(row_major_spec, found)) if isinstance(found, tuple) else row_major_spec(found)

    return ask


def _recorder_lines(
    signature: CallSignature,
    boundary: Boundary,
    *,
    cache_key: AnswerKey | None,
    has_index: bool,
    copies_lent: bool,
    has_effect: bool,
    is_pointwise: bool,
) -> list[str]:
    """Return the lines that record a call.

    ``cache_key`` is that of Note [Answers of shape rules], or None where the rule is asked each time, ``copies_lent`` that
    of the plain recorder.
    ``has_effect`` says that the operator writes or draws random numbers, ``is_pointwise`` that it may read the array that it
    writes.
    """
    arguments = values(signature)
    wrapped = boundary.frontend is not None
    otherwise = f"    return __unusual({arguments})"
    lines = ["__t = __innermost()", "if __t is None or not __t.takes_records:", otherwise, "__t = __t.session"]
    if signature.device_index is not None and not signature.is_factory:
        device = signature.parameters[signature.device_index].word
        other = f"__elsewhere({device})" if has_index else f"{device}.type != __home"
        lines += [f"if {device} is not None and {other}:", f"    return __below({arguments})"]
    result = signature.results[0]
    # A view of an array that is there is made at once, and reads nothing.
    lent = otherwise if result.kind != "view" else ""
    tensors = [index for index, each in enumerate(signature.parameters) if each.tensors]
    copied = [index for index in tensors if "list" not in signature.parameters[index].tensors] if copies_lent else []
    lines += ["__h = 0"] if copied else []
    for index in tensors:
        # The table is mostly empty, and its entries may be out of date: the plain recorder looks closer.
        held = f"    if __is_lent(__p{index}): __h |= {1 << index}" if index in copied else lent
        lines += _spec_lines(
            index, signature.parameters[index], lent and held, wrapped=wrapped, keyed=bool(signature.writes)
        )
    if result.kind == "view":
        # A view of an array that is there is made at once.
        at_once = ["    __t.stats.views += 1", f"    return __below({arguments})"] if wrapped else [otherwise]
        if has_index and wrapped:
            # What was recorded while one device was in use has a class without an index.
            at_once = [f"    if __is_pending(__x{result.source}):", f"    {otherwise}", *at_once]
        lines += [f"if type(__x{result.source}) is not __made:", *at_once]
    doubts = _doubts(signature, wrapped=wrapped, is_pointwise=is_pointwise) if signature.writes else ""
    if doubts:
        lines += [f"if {doubts}:", otherwise]
    lines += _answer_lines(signature, cache_key)
    refused = ["__i is None"] + [f"__i is not __b{result.source}"] * (result.kind == "self")
    lines += [f"if {' or '.join(refused)}:", otherwise]
    lines += _copy_lines(copied, otherwise) if copied else []
    if result.kind == "self":
        lines += _step_lines(signature, "None")
    elif len(signature.results) == 1:
        memory = f"__x{result.source}.memory" if result.kind == "view" else "None"
        lines += [*_made_lines("__d", "__i", memory), *_step_lines(signature, "__d")]
    else:
        names = _several(signature)
        for index, (name, result) in enumerate(zip(names, signature.results, strict=True)):
            made = _made_lines(name, f"__i[{index}]", "None")
            # See Note [Results that a call leaves out] in `signature`.
            absent = [f"if {left_out(signature, index)}:", f"    {name} = None", "else:"]
            lines += made if result.output_mask < 0 else [*absent, *indent(made)]
        lines += _step_lines(signature, f"({', '.join(names)})")
    lines += ["__t.has_effects = True"] if has_effect else []
    lines += [f"__t.written_keys.add(__p{index})" for index in signature.writes]
    return [*lines, "if len(__r) >= __t.remaining:", "    __t.check_limits()", *_return_lines(signature, boundary)]


def _made_lines(name: str, spec: str, memory: str) -> list[str]:
    """Return lines that make a pending value, as `Pending.of` does."""
    return [
        f"{name} = __made()",
        f"{name}.meta = {spec}",
        f"{name}.shared = {memory}",
        f"{name}.session = __t",
        f"{name}.value = {name}.error = None",
    ]


def _several(signature: CallSignature) -> list[str]:
    """Return the names of several results."""
    return [f"__d{index}" for index in range(len(signature.results))]


def _spec_lines(index: int, parameter: CallParameter, lent: str, *, wrapped: bool, keyed: bool) -> list[str]:
    """Return lines that find the data of an argument's tensor, its spec and, where it is ``keyed``, its storage key.

    ``lent`` is the line for memory that is held outside; empty for views.
    """
    name, data, spec, key = parameter.word, f"__x{index}", f"__b{index}", f"__p{index}"
    source = f"{name}._dispatch_data" if wrapped else name
    if "list" in parameter.tensors:
        return [
            f"{data}, {spec} = __t.take_list({name})",
            *([f"if __its_lent and not __t.ignores_lent and __t.has_lent({data}):", lent] if lent else []),
        ]
    usual = " and ".join([f"{data}.session is __t", f"{data}.value is None", f"{data}.error is None"])
    known = f"__its_specs[__id({data})]"
    lines = [
        f"{data} = {source}",
        f"if type({data}) is __made and {usual}:",
        f"    {spec} = {data}.meta",
        *([f"    {key} = {data}.shared and __storage_key({data})"] if keyed else []),
        "else:",
        "    try:",
        f"        __d, {spec}, {key} = {known}" if lent else f"        {spec} = {known}[1]",
        "    except KeyError:",
        f"        {data}, {spec}, {key} = __t.take({data})",
        # A tensor whose value has been computed by now holds the array from the next call on.
        *([f"        {source} = {data}"] if wrapped else []),
        *([f"    if __its_lent and {key} in __its_lent and not __t.ignores_lent:", f"    {lent}"] if lent else []),
    ]
    if not _may_be_none(parameter):
        return lines
    nothing = f"    {data} = {spec} = {f'{key} = ' if keyed else ''}None"
    return [f"if {name} is None:", nothing, "else:", *indent(lines)]


def _copy_lines(lent: Sequence[int], otherwise: str) -> list[str]:
    """Return lines that copy the arrays of arguments whose bits are set; see Note [Copies of lent memory] in `recording`."""
    lines = ["if __h:"]
    ones = [f"__x{index} = __t.copy_lent(__made, __x{index}, __b{index})" for index in lent]
    if len(lent) == 1:
        return [*lines, f"    __d = {ones[0]}", "    if __d is None:", f"    {otherwise}"]
    names = ", ".join([f"__x{index}" for index in lent])
    # Mostly one memory is lent, or each argument lies in another.
    shared = [
        f"(__h & {1 << one | 1 << other} == {1 << one | 1 << other} and __p{one} == __p{other})"
        for one, other in combinations(lent, 2)
    ]
    lines += [
        f"    if __h & (__h - 1) and ({' or '.join(shared)}):",
        f"        __d = __t.copy_all_lent(__made, ({names}))",
        f"        {names} = __d or ({names})",
        "    else:",
        "        __d = __t",
    ]
    for index, one in zip(lent, ones, strict=True):
        lines += [f"        if __h & {1 << index} and __d is not None:", f"            __d = {one}"]
    return [*lines, "    if __d is None:", f"    {otherwise}"]


def _doubts(signature: CallSignature, *, wrapped: bool, is_pointwise: bool) -> str:
    """Return the condition under which a write may have to run at once: see `Recorder.reason_not_deferrable`."""
    target, key = f"__x{signature.writes[0]}", f"__p{signature.writes[0]}"
    doubts = [] if wrapped else [f"type({target}) is not __made"]
    for index, parameter in enumerate(signature.parameters):
        if parameter.tensors and index not in signature.writes:
            other = f"__p{index}"
            if not is_pointwise:
                doubts.append(f"__x{index} is {target}")
            doubts.append(f"({other} is not None and {other} == {key} and __x{index} is not {target})")
    return " or ".join(doubts)


def _answer_lines(signature: CallSignature, cache_key: AnswerKey | None) -> list[str]:
    """Return lines that look up the shape rule's answer, or ask for it."""
    names = [f"__b{index}" if each.tensors else each.word for index, each in enumerate(signature.parameters)]
    given = [
        f"[*{name}]" if "list" in each.tensors else name for name, each in zip(names, signature.parameters, strict=True)
    ]
    if signature.device_index is not None:
        given[signature.device_index] = "None"
    if cache_key is None:
        return [f"__i = __ask({', '.join(given)})"]
    key = f"__d = ({cache_key.text(names)},)"
    # Only a list that is none fails to become part of the key.
    before = ["__d = None", "try:", f"    {key}"] if "tuple(" in key else [key, "try:"]
    return [
        *before,
        "    __i = __its_answers[__d]",
        "except (KeyError, TypeError):",
        f"    __i = __ask({', '.join(['__d', *given])})",
    ]


def _step_lines(signature: CallSignature, made: str) -> list[str]:
    """Return lines that record the call; see Note [Records become steps] in `step_queue`."""
    return [
        "__x = __frame(1)",
        "__b = __x.f_code",
        # See Note [The user's line] in `callers`. It is mostly the same code as the last time.
        "while __b is not __its_user[0]:",
        "    if not __its_inside[__b.co_filename] or (__i := __x.f_back) is None:",
        "        __its_user[0] = __b",
        "        break",
        "    __x = __i",
        "    __b = __x.f_code",
        "__r = __t.records",
        f"__r.append((__step, ({_values_text(signature)}), {made}, __b, __x.f_lasti, __c))",
    ]


def _values_text(signature: CallSignature) -> str:
    """Return the arguments as a step keeps them."""
    return "".join(
        f"{f'__x{index}' if parameter.tensors else parameter.word}, "
        for index, parameter in enumerate(signature.parameters)
    )


def _return_lines(signature: CallSignature, boundary: Boundary) -> list[str]:
    """Return lines that return to the caller as the schema says."""
    frontend, result = boundary.frontend, signature.results[0]
    base = signature.parameters[result.source].word if result.source >= 0 else ""
    if result.kind == "self":
        if frontend is None:
            return [f"return __x{result.source}"]
        return [*(["__record_mutated(" + base + ")"] if frontend.writes is not None else []), f"return {base}"]
    if len(signature.results) > 1:
        names = _several(signature)
        if frontend is None:
            return [f"return {', '.join(names)}"]
        tensors, lines = [f"__r{index}" for index in range(len(names))], []
        for name, tensor, each in zip(names, tensors, signature.results, strict=True):
            made = _tensor_lines(tensor, boundary, name)
            lines += made if each.output_mask < 0 else [f"{tensor} = {name}", f"if {name} is not None:", *indent(made)]
        return [*lines, f"return {', '.join(tensors)}"]
    if frontend is None:
        return ["return __d"]
    if result.kind == "view" and frontend.views is not None:
        return [
            f"return __record_view({base}, __d, __record_op, ({''.join(f'{each.word}, ' for each in signature.parameters)}))"
        ]
    return [*_tensor_lines("__r", boundary, "__d"), "return __r"]


def _tensor_lines(name: str, boundary: Boundary, data: str) -> list[str]:
    """Return lines that make the tensor of a pending value."""
    return [f"{name} = __record_new()", f"{name}._dispatch_mask = {boundary.mask}", f"{name}._dispatch_data = {data}"]


def _may_be_none(parameter: CallParameter) -> bool:
    return parameter.tensors == "optional" or parameter.default is None
