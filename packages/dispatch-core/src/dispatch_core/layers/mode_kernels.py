"""The kernels of modes: for each operator a function that calls the innermost mode's handler.

In torch every tensor has an Autograd key, under which a CompositeImplicitAutograd kernel is taken apart before a mode
sees the call. Here most tensors have none, so it is taken apart under ``Python``: a mode sees the parts, whether a
gradient may be asked for or not. Any other composite is one call.

Note [Results of a mode]
    A result that the schema calls the written argument is that argument, whatever tensor the handler returns. Elsewhere the
    schema says whether there is a tensor, a list of them, a number or another value; any other result is refused where
    it is returned, and not in the kernel that meets it later.
    A factory returns a raw array, as ever, and its caller makes a tensor of it. But to a handler whose mode names a class of
    tensors, ``func`` returns tensors everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Number
from typing import Any, Final, TypeAlias

from .._record import replace
from ..arrays.access import to_data
from ..arrays.frontend import FRONTENDS, Frontend
from ..arrays.owners import TYPE_MASKS
from ..arrays.protocols import Kernel
from ..calls.boundary import frontend_of_type
from ..calls.codegen import Inlined, make_inlined_runner
from ..calls.conformance import ALWAYS, find_strange_memory, memory_error
from ..calls.emit import indent
from ..calls.signature import CallSignature, Result
from ..calls.source import values
from ..calls.traits import Runner
from ..errors import KernelResultError
from ..keys import context
from ..keys.keyset import DispatchKeySet
from ..keys.table import DispatchKey
from ..operators.entry import OperatorEntry
from ..operators.kernel_handle import fast_redispatch
from ..operators.overloads import OpOverload
from ..operators.registration import kernel_factory
from ..operators.resolution import Resolution, resolve
from ..operators.runners import exclude_masked_off
from .mode_stack import PYTHON, ActiveMode, current_entry, current_variable, find_entry, find_inner, note_keys

_Refuse: TypeAlias = Callable[[ActiveMode, tuple[Any, ...]], object]
_Accept: TypeAlias = Callable[[Any, tuple[Any, ...]], Any]
#: Returns the result that the classes of a call's tensors give, or ``NotImplemented``.
_AskClasses: TypeAlias = Callable[[tuple[Any, ...]], object]
#: Gives the arguments of a call by position and by name, as its caller would write them.
_Split: TypeAlias = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]


def _make(op: OpOverload, keyset: DispatchKeySet) -> Kernel:
    """Return the kernel of an operator under ``Python``, for one keyset."""
    signature = op._entry.signature
    below = keyset - DispatchKey.Python
    note_keys()
    if signature is None or signature.schema.is_vararg:
        return _make_general(
            op,
            lambda *args, **kwargs: op.redispatch(below, *args, **kwargs),
            _split_nothing,
            _pass_on,
            _make_refusal(op, None),
        )
    composite = _find_composite(op._entry, below)
    if composite is not None:
        return composite
    frontend = FRONTENDS.get(keyset.marker)
    split, accept = _make_split(signature), _make_acceptance(op, signature, frontend)
    ask = _make_class_call(op, frontend, signature, split)
    down, refuse = _make_choice(ask, fast_redispatch(op, below)), _make_refusal(op, ask)
    general = _make_general(op, down, split, accept, refuse, is_factory=not signature.has_tensors)
    if not (signature.is_specializable and signature.has_tensors):
        return general
    return _generate(op, signature, frontend, general, split, accept, refuse)


def _make_class_call(
    op: OpOverload, frontend: Frontend[Any] | None, signature: CallSignature, split: _Split
) -> _AskClasses | None:
    """Return a function that hands a call to the classes of its tensors; None where no tensor can have one that handles it.

    In their handlers all modes are on.
    """
    layers = None if frontend is None else frontend.layers
    if layers is None or not signature.has_tensors:
        return None
    call_class, accept = layers.call_class, _make_acceptance(op, signature, frontend, of_class=True)

    def ask(given: tuple[Any, ...]) -> object:
        if not any(tensor._dispatch_mask & PYTHON for _, tensor in signature.tensors(given)):
            return NotImplemented
        token = context.set_state[find_inner(context.current(), 0)]
        try:
            result = call_class(op, *split(given, {}))
        finally:
            context.reset_state(token)
        return result if result is NotImplemented else accept(result, given)

    return ask


def _make_choice(ask: _AskClasses | None, down: Runner) -> Runner:
    """Return a function that hands calls which no mode has to the classes of tensors, and else goes on below."""
    if ask is None:
        return down

    def choose(*given: object) -> object:
        found = ask(given)
        return down(*given) if found is NotImplemented else found

    return choose


LAYER: Final = kernel_factory(_make, in_order=True)


def _find_composite(entry: OperatorEntry, below: DispatchKeySet) -> Kernel | None:
    """Return a function that runs an operator's parts with modes on; None where it is one call."""
    mask = below.mask | below.marker
    autograd = sum(DispatchKey[f"Autograd{key.backend}"].value for key in below.iter_keys() if key.kind == "device")
    for each in (mask, mask | autograd):
        found = resolve(entry, each, 0)
        slot = found.slot.registration if isinstance(found, Resolution) else None
        if slot is None or slot.key is not DispatchKey.CompositeImplicitAutograd:
            return None
    found = resolve(entry, mask, 0)
    assert isinstance(found, Resolution)
    # A part may be seen; see Note [A composite below masked keys] in `runners`.
    return exclude_masked_off(entry, replace(found, explicit=False).runner(), found.mask | DispatchKey.Python)


def _make_general(
    op: OpOverload,
    down: Runner,
    split: _Split,
    accept: _Accept,
    refuse: _Refuse,
    *,
    is_factory: bool = False,
) -> Kernel:
    """Return a kernel that does everything step by step."""
    registry = op._entry.registry

    def run(*given: object, **keywords: object) -> object:
        entry = find_entry(registry)
        if entry is None:
            return down(*given, **keywords)
        handler = entry.handler
        if handler is None:
            found = entry.run(lambda: run(*given, **keywords))
            return _wrap_arrays(entry.tensor_type, found) if is_factory else found
        args, kwargs = split(given, keywords)
        makes_tensors = is_factory and entry.tensor_type is not None
        result = entry.run(lambda: handler(op, (), args, kwargs), makes_tensors=makes_tensors)
        if result is NotImplemented:
            return refuse(entry, given)
        if entry.tensor_type is not None and is_factory and isinstance(result, entry.tensor_type):
            return result  # its class, and the tensor itself, may matter
        return accept(result, given)

    return run


def _generate(
    op: OpOverload,
    signature: CallSignature,
    frontend: Frontend[Any] | None,
    general: Kernel,
    split: _Split,
    accept: _Accept,
    refuse: _Refuse,
) -> Kernel:
    """Return a kernel that calls the handler itself where one mode is on, in the state that it was called in last.

    A caller can do so in its place.
    """
    constants: dict[str, Any] = {
        "__context": context.current,
        "__current": current_entry,
        "__registry": op._entry.registry,
        "__general": general,
        "__split": split,
        "__set_state": context.set_state,
        "__reset": context.reset_state,
        "__op": op,
        "__tensor": None if frontend is None else frontend.tensor_type,
        "__refuse": refuse,
        "__accept": accept,
    }
    optional = [index for index, each in enumerate(signature.parameters) if not each.required or each.keyword_only]
    constants |= {f"__left_out{index}": signature.parameters[index].default for index in optional}
    only = signature.results[0] if len(signature.results) == 1 else None
    is_fresh = frontend is not None and only is not None and only.kind == "fresh" and not only.is_list

    def lines(spelled: CallSignature) -> list[str]:
        given, words = values(spelled), [each.word for each in spelled.parameters]
        required = "".join(f"{word}, " for index, word in enumerate(words) if index not in optional)
        plain = [f"__p, __d = ({required}), {{}}"]
        if optional:
            tests = " and ".join(f"{words[index]} is __left_out{index}" for index in optional)
            plain = [f"if {tests}:", *indent(plain), "else:", f"    __p, __d = __split(({given},), None)"]
        made = [
            "__b = __current()",
            "if __b is None or not __b.is_alone or __b.registry is not __registry:",
            f"    return __general({given})",
            "__x, __i = __b.states",
            "if __x is not __c:",
            f"    return __general({given})",
            *plain,
            "__t = __set_state[__i]",
            "try:",
            "    __r = __b.handler(__op, (), __p, __d)",
            "finally:",
            "    __reset(__t)",
        ]
        if is_fresh:
            made += ["if type(__r) is __tensor:", "    return __r"]
        return [
            *made,
            "if __r is NotImplemented:",
            f"    return __refuse(__b, ({given},))",
            f"return __accept(__r, ({given},))",
        ]

    defaults = [(each.default,) if index in optional else () for index, each in enumerate(signature.parameters)]
    step = {
        "top": current_variable,
        "entry_type": ActiveMode,
        "registry": op._entry.registry,
        "split": split,
        "refuse": refuse,
        "accept": accept,
        "op": op,
        "tensor": frontend.tensor_type if frontend is not None and is_fresh else None,
        "left_out": tuple(defaults),
    }
    return make_inlined_runner(op._entry, signature, Inlined(lines, constants, 0, step=step))


def _make_refusal(op: OpOverload, ask: _AskClasses | None) -> _Refuse:
    """Return a function that hands a call which a mode leaves alone to the classes of tensors, or refuses it."""

    def refuse(entry: ActiveMode, given: tuple[Any, ...]) -> object:
        found = NotImplemented if ask is None else ask(given)
        if found is not NotImplemented:
            return found
        raise KernelResultError(
            f"Multiple dispatch failed for {op.name!r}; all {getattr(type(entry.mode), 'handler_name', '')} handlers"
            f" returned NotImplemented:\n  - mode object {entry.mode!r}",
            hint="return func(*args, **kwargs) for calls that the mode leaves as they are",
        )

    return refuse


def _wrap_arrays(tensor_type: type | None, found: object) -> object:
    """Return the result of a factory with tensors instead of arrays."""
    if tensor_type is None:
        return found
    wrap = frontend_of_type(tensor_type).wrap
    if isinstance(found, list | tuple):
        return type(found)(wrap(each) if type(each) in TYPE_MASKS else each for each in found)
    return wrap(found) if type(found) in TYPE_MASKS else found


def _split_nothing(given: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return given, keywords


def _pass_on(result: object, _: tuple[Any, ...]) -> object:
    return result


def _make_split(signature: CallSignature) -> _Split:
    """Return a function that gives the arguments as a caller writes them, without those that equal their defaults."""
    parameters = signature.parameters
    count = sum(not each.keyword_only for each in parameters)
    # To compare tensors is a call, True equals 1: so a default is compared with values of its own type.
    defaults = [_NO_DEFAULT if each.required else (each.default, type(each.default)) for each in parameters]
    optional = [(index, *defaults[index]) for index in range(count) if not parameters[index].required][::-1]
    named = [(index, each.name, *defaults[index]) for index, each in enumerate(parameters) if each.keyword_only]

    def split(given: tuple[Any, ...], _: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        last, keywords = count, {}
        for index, default, kind in optional:
            value = given[index]
            if value is not default and (type(value) is not kind or value != default):
                break
            last = index
        for index, name, default, kind in named:
            value = given[index]
            if value is not default and (type(value) is not kind or value != default):
                keywords[name] = value
        return given[:last], keywords

    return split


#: The value and the type of no default.
_NO_DEFAULT: Final[tuple[object, type | None]] = (object(), None)
#: How many results of a handler are held against the schema.
_FIRST_CALLS: Final = 32
#: The types of results that are numbers.
_NUMBERS: Final = frozenset({"bool", "int", "SymInt", "float", "Scalar"})


def _accept_number(op: OpOverload, value: object, given: tuple[Any, ...]) -> object:
    """Return a call's only result, a number or an element of an array."""
    if not isinstance(value, Number) and not hasattr(type(value), "dtype"):
        got = f"{type(value).__module__}.{type(value).__qualname__}"
        raise KernelResultError(
            f"{op.name}: the handler of a mode returned {got} where the schema promises a number: {op.schema}",
            hint="return the result of func(*args, **kwargs), or one of the same kind",
        )
    return value


def _make_acceptance(
    op: OpOverload, signature: CallSignature, frontend: Frontend[Any] | None, *, of_class: bool = False
) -> _Accept:
    """Return a function that makes a call's results of a handler's; see Note [Results of a mode].

    With ``of_class`` the handler is that of a class of tensors, whose own memory says nothing about views.
    """
    thing = "array" if frontend is None else "tensor"

    def is_promised(value: object) -> bool:
        return type(value) in TYPE_MASKS if frontend is None else isinstance(value, frontend.tensor_type)

    def accept_one(promised: Result, value: Any, given: tuple[Any, ...]) -> object:
        if promised.kind == "other":
            return value
        if value is None and promised.kind == "self":
            return given[promised.source]
        if value is None and (promised.is_optional or of_class):
            return None
        is_list = isinstance(value, list | tuple)
        if frontend is None:
            value = [to_data(each) for each in value] if is_list else to_data(value)
        if is_list is not promised.is_list or not all(map(is_promised, value if is_list else (value,))):
            got = f"{type(value).__module__}.{type(value).__qualname__}"
            raise KernelResultError(
                f"{op.name}: the handler of a mode returned {got} where the schema promises"
                f" {f'a list of {thing}s' if promised.is_list else f'one {thing}'}: {signature.schema}",
                hint="return the result of func(*args, **kwargs), or one of the same kind",
            )
        return given[promised.source] if promised.kind == "self" else value

    results = signature.results
    has_views = any(each.kind == "view" for each in results) and not of_class
    check_memory = _make_memory_check(op, signature) if has_views else _check_nothing
    if len(results) == 1 and str(signature.schema.returns[0].type) in _NUMBERS:
        return partial(_accept_number, op)
    if len(results) == 1:
        only = results[0]
        if check_memory is _check_nothing:
            return lambda value, given: accept_one(only, value, given)

        def accept_only(value: object, given: tuple[Any, ...]) -> object:
            accepted = accept_one(only, value, given)
            check_memory((accepted,), given)
            return accepted

        return accept_only

    def accept(value: object, given: tuple[Any, ...]) -> object:
        if not results:
            return None
        if not isinstance(value, list | tuple) or len(value) != len(results):
            got = f"{len(value)} results" if isinstance(value, list | tuple) else type(value).__qualname__
            raise KernelResultError(
                f"{op.name}: the handler of a mode returned {got} where the schema promises {len(results)} results:"
                f" {signature.schema}",
                hint="return the result of func(*args, **kwargs), or as many of the same kinds",
            )
        pairs = enumerate(zip(results, value, strict=True))
        found = [None if signature.leaves_out(index, given) else accept_one(*pair, given) for index, pair in pairs]
        check_memory(found, given)
        return signature.pack(found)

    return accept


def _check_nothing(found: object, given: tuple[Any, ...]) -> None:
    """Hold results that are no views against nothing."""


def _make_memory_check(op: OpOverload, signature: CallSignature) -> Callable[[Sequence[object], tuple[Any, ...]], None]:
    """Return a check of the first results that a handler gives for views; see Note [Memory by the schema]."""
    left = _FIRST_CALLS

    def check(found: Sequence[object], given: tuple[Any, ...]) -> None:
        nonlocal left
        if left > 0 or ALWAYS.is_on():
            left -= 1
            strange = find_strange_memory(signature, op._entry.tags, found, given, is_written=False)
            if strange is not None:
                raise memory_error(signature, *strange, "Returned by the handler of a mode")

    return check
