"""Calls and kernels in plain code: the meaning of the generated callables of `codegen`, and their substitutes.

Every function here has a generated twin of the same name and signature; a registry can be told to use these instead, and
the tests run against both. They also serve operators that were registered without a schema.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from .._record import replace
from ..arrays.owners import TYPE_MASKS, is_tensor, mask_of
from ..errors import ArgumentError, FrontendMismatchError
from ..keys import context
from ..keys.keyset import KeysetLike, as_mask
from ..keys.table import AUTOGRAD, MARKERS, DispatchKey
from ..schema.check import bind
from .boundary import Boundary, declined_error, make_coercer, make_view_checker
from .engine import KernelCall
from .overriding import answer_refused, refused_calls
from .signature import CallSignature, Result, ResultCheck, bad_count, bad_list, copies_signature, has_plain_result
from .traits import Runner, RunnerTraits

if TYPE_CHECKING:
    from ..arrays.protocols import Tensor
    from ..arrays.types import Array
    from ..operators.call_tables import Tables
    from ..operators.entry import OperatorEntry
    from .adapters import SignatureAdapter

Rebinds = list[tuple[Any, Any]]


#: The arguments' keys that a keyset made by hand cannot take out: a frontend's marker, and that of values to be computed.
STAYS: Final = MARKERS | DispatchKey.Pipeline.value


def arguments_mask(signature: CallSignature, values: tuple[Any, ...]) -> int:
    """Return the union of the masks of all tensor arguments.

    Raises ``FrontendMismatchError`` when frontend tensors and raw arrays are mixed.
    """
    mask = 0
    raw = wrapped = False
    for _, tensor in signature.tensors(values):
        mask |= mask_of(tensor)
        if hasattr(tensor, "_dispatch_mask"):
            wrapped = True
        else:
            raw = True
    if raw and wrapped:
        kinds = sorted({type(tensor).__qualname__ for _, tensor in signature.tensors(values)})
        raise FrontendMismatchError(
            f"{signature.name}: expected every argument to be a Tensor of one frontend, but got {' and '.join(kinds)}",
            hint="wrap the array in the frontend's tensor first, for example with from_numpy",
        )
    return mask


def make_caller(entry: OperatorEntry) -> Runner:
    """Return the function that a user's call runs: bind, find the keys, apply the masks, run the table's answer."""
    # The tables of the schema by which the function binds; see Note [Tables belong to a schema] in `call_tables`.
    tables = entry.tables
    signature = tables.signature

    def call(*args: object, **kwargs: object) -> object:
        if signature is None:
            return _run(tables, unchecked_mask(args, kwargs))(*args, **kwargs)
        try:
            values = bind(signature.schema, args, kwargs, is_tensor, is_hinted=not refused_calls)
        except ArgumentError:
            if not refused_calls:
                raise
            found = answer_refused(entry.op, args, kwargs)
            if found is not NotImplemented:
                return found
            values = None
        if values is None:
            values = bind(signature.schema, args, kwargs, is_tensor)  # which raises the error with its hint
        return _run(tables, arguments_mask(signature, values))(*values)

    return call


def make_first_calls(entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> None:
    """Return None: plain code is the same for every call."""


def make_plan(entry: OperatorEntry, adapter: SignatureAdapter | None = None) -> None:
    """Return None: a compiled front stands for generated code."""


def make_adapted_caller(entry: OperatorEntry, adapter: SignatureAdapter) -> Runner:
    """Return a frontend's function that does as an overload does, with arguments named and added as it wishes."""
    override = adapter.override
    if override is not None:
        plain = make_adapted_caller(entry, replace(adapter, override=None))

        def function_or_override(*args: object, **kwargs: object) -> object:
            found = override(args, kwargs)
            return plain(*args, **kwargs) if found is NotImplemented else found

        return function_or_override
    if adapter.missing is not None:
        return adapter.slow_path  # it takes every call
    call = make_caller(entry)
    real = {given: name for name, given in adapter.names.items()}

    def function(*args: object, **kwargs: object) -> object:
        signature = entry.signature
        own = {real.get(name, name): value for name, value in kwargs.items() if name not in adapter.extra}
        if signature is None:
            return call(*args, **own)
        positional = sum(not parameter.keyword_only for parameter in signature.parameters)
        if adapter.takes_more and len(args) > positional:
            return adapter.slow_path(*args, **kwargs)
        if any(kwargs.get(name, default) is not default for name, default in adapter.extra.items()):
            return adapter.slow_path(*args, **kwargs)
        given = dict(zip((parameter.name for parameter in signature.parameters), args, strict=False)) | own
        last = [parameter.name for parameter in signature.parameters if not parameter.keyword_only][-1]
        strange = [
            parameter.name
            for parameter in signature.parameters
            if parameter.tensors == "tensor" and not hasattr(given.get(parameter.name, entry), "_dispatch_mask")
        ]
        if type(given.get(last)) in adapter.slow_path_types or any(name in given for name in strange):
            return adapter.slow_path(*args, **kwargs)
        return call(*args, **own)

    return function


def make_redispatcher(entry: OperatorEntry) -> Runner:
    """Return the function that runs the operator for an explicit mask, with the context's exclusions applied."""
    tables = entry.tables
    signature = tables.signature

    def redispatch(keyset: KeysetLike, /, *args: object, **kwargs: object) -> object:
        mask = context.apply_exclusions(as_mask(keyset))
        if signature is None:
            return tables.explicit[mask | unchecked_mask(args, kwargs) & STAYS](*args, **kwargs)
        values = bind(signature.schema, args, kwargs, is_tensor)
        # A keyset that a kernel was given carries its frontend's marker; one made by hand does not.
        if not mask & MARKERS:
            mask |= arguments_mask(signature, values) & STAYS
        return tables.explicit[mask](*values)

    return redispatch


def make_fast_redispatch(entry: OperatorEntry, mask: int) -> Runner:
    """Return the function that runs the winner for a mask, less the context's exclusions, for checked arguments in order."""

    def run(*values: object, **keywords: object) -> object:
        # As a kernel itself it gets keyword-only arguments by keyword, in order too.
        return entry.explicit_table[context.apply_exclusions(mask)](*values, *keywords.values())

    return run


def unchecked_mask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return the union of the masks of all tensors among the arguments of an operator that has no schema."""
    mask = 0
    for value in (*args, *kwargs.values()):
        for item in value if isinstance(value, list | tuple) else (value,):
            if is_tensor(item):
                mask |= mask_of(item)
    return mask


def _run(tables: Tables, mask: int) -> Runner:
    """Return the runner of a call of arguments with ``mask`` in this context."""
    state = context.current()
    return tables.call[mask] if state is None else tables.masked[mask, state]


def make_caller_runner(
    entry: OperatorEntry, kernel: Runner, prefix: tuple[Any, ...], check: ResultCheck | None = None
) -> Runner:
    """Return a runner for a kernel that sees the caller's arguments: layers and composites.

    ``prefix`` holds the values before the arguments: the keyset, the operator, both or nothing. ``check`` sees every result.
    """
    signature = entry.signature
    if signature is None:
        return lambda *args, **kwargs: kernel(*prefix, *args, **kwargs)

    def run(*values: object) -> object:
        positional, keywords = signature.split(values)
        found = kernel(*prefix, *positional, **keywords)
        if check is not None:
            check.check(found, values)
        return found

    return run


def make_backend_runner(call: KernelCall) -> Runner:
    """Return a runner for a kernel that sees a backend's arrays: unwrap, call, wrap as the schema says."""
    entry, boundary, kernel, prefix, watch = call.entry, call.boundary, call.kernel, call.prefix, call.watch
    specialized, below, is_short, itself = call.specialized, call.below, call.is_short, call.itself
    signature = entry.signature
    if signature is None:
        return _unchecked_runner(entry, boundary, kernel, prefix, below)
    if watch is not None:
        kernel = watch.over(kernel, len(prefix))
        specialized = tuple(
            (index, only, watch.over(special, fixed=(index, only))) for index, only, special in specialized
        )
    wrap_results = make_result_wrapper(entry, copies_signature(signature) if itself else signature, boundary)

    def run(*values: object) -> object:
        data = values
        if boundary.frontend is not None:
            data = signature.unwrap(values)
        positional, keywords = signature.split(data)
        for index, only, special in specialized:
            if values[index] is only or (type(values[index]) is type(only) and values[index] == only):
                if signature.parameters[index].keyword_only:
                    del keywords[signature.parameters[index].name]
                else:
                    del positional[index]
                found = special(*positional, **keywords)
                break
        else:
            try:
                found = kernel(*prefix, *positional, **keywords)
            except Exception:
                if not is_short:
                    raise
                found = NotImplemented
        if found is NotImplemented and below is not None:
            del data, positional, keywords  # a tensor that grows counts the references to its array
            return below(*values)
        if itself and found is data[signature.results[0].source]:
            return values[signature.results[0].source]
        return wrap_results(found, values)

    return entry.tables.keep_traits(run, RunnerTraits(is_watched=False))


def make_redirect(entry: OperatorEntry, target: Runner, arguments: Runner, run: Runner) -> Runner:
    """Return a runner that calls ``target`` with its own first argument, and those that a function makes of the arrays.

    ``arguments`` takes the arguments with their arrays, in schema order. Where it returns ``NotImplemented`` or raises,
    ``run`` has the call, and names the fault.
    """
    signature = entry.signature
    assert signature is not None

    def redirect(*values: object) -> object:
        try:
            further = arguments(*signature.unwrap(values))
        except Exception:  # noqa: BLE001  # the other runner tells
            further = NotImplemented
        return run(*values) if further is NotImplemented else target(values[0], *further)

    return redirect


def make_history_choice(
    entry: OperatorEntry,
    recorded: Runner,
    short: Runner,
    has_history: Callable[[Any], bool],
    records: Callable[[], bool] | None,
) -> Runner:
    """Return a runner that calls ``recorded`` where a tensor has a history, else ``short``.

    ``records`` returns whether histories count in this context; without it they always do.
    """
    signature = entry.signature
    assert signature is not None

    def choose(*values: object) -> object:
        counts = records is None or records()
        tensors = (tensor for _, tensor in signature.tensors(values) if counts)
        found = any(tensor._dispatch_mask & AUTOGRAD and has_history(tensor) for tensor in tensors)
        return recorded(*values) if found else short(*values)

    return choose


def _unchecked_runner(
    entry: OperatorEntry, boundary: Boundary, kernel: Runner, prefix: tuple[Any, ...], below: Runner | None
) -> Runner:
    """Return a runner for an operator without a schema: tensors are unwrapped and arrays wrapped wherever they stand."""

    def unwrap(value: object) -> object:
        if isinstance(value, list | tuple):
            return type(value)(unwrap(item) for item in value)
        return getattr(value, "_dispatch_data", value)

    def wrap_arrays(value: object) -> object:
        if isinstance(value, list | tuple):
            return type(value)(wrap_arrays(item) for item in value)
        frontend = boundary.frontend
        return frontend.wrap(value) if frontend is not None and type(value) in TYPE_MASKS else value

    def run(*args: object, **kwargs: object) -> object:
        keywords = {name: unwrap(value) for name, value in kwargs.items()}
        found = kernel(*prefix, *map(unwrap, args), **keywords)
        if found is not NotImplemented:
            return wrap_arrays(found)
        if below is None:
            raise declined_error(entry.name, entry.describe_kernel(boundary.key))
        return below(*args, **kwargs)

    return run


def make_result_wrapper(
    entry: OperatorEntry, signature: CallSignature, boundary: Boundary
) -> Callable[[Any, tuple[Any, ...]], Any]:
    """Return a function from a kernel's results and the caller's arguments to the results of the call."""
    frontend, op = boundary.frontend, entry.op

    def who() -> str:
        return entry.describe_kernel(boundary.key)

    coerce, check_view = make_coercer(boundary, signature.name, who), make_view_checker(boundary, signature.name, who)

    def fresh(data: Array) -> object:
        data = coerce(data)
        if frontend is None:
            return data
        tensor = frontend.new()
        tensor._dispatch_mask = boundary.mask
        tensor._dispatch_data = data
        return tensor

    def view(base: object, data: Array, values: tuple[Any, ...]) -> object:
        data = check_view(data)
        if frontend is None:
            return data
        return fresh(data) if frontend.views is None else frontend.views.view(base, data, op, values)

    def rebind(argument: Tensor, data: Array | None, later: Rebinds) -> object:
        if frontend is None:
            return argument if data is None or data is argument else check_view(data)
        if data is not None and data is not argument._dispatch_data:
            later.append((argument, check_view(data)))
        return argument

    def one(index: int, result: Result, data: object, values: tuple[Any, ...], later: Rebinds) -> object:
        if result.kind == "other":
            return data
        if signature.leaves_out(index, values):
            return None
        if result.is_list:
            if not isinstance(data, list | tuple):
                raise bad_list(signature.name, data, who())
            if result.kind == "self" and len(data) != len(values[result.source]):
                raise bad_count(signature.name, len(values[result.source]), data, who())
            if result.kind == "view" and frontend is not None and frontend.views is not None:
                return frontend.views.views(values[result.source], [check_view(item) for item in data], op, values)
            bases = (
                values[result.source]
                if result.kind == "self"
                else itertools.repeat(values[result.source] if result.source >= 0 else None, len(data))
            )
            return [tensor(result, base, item, values, later) for base, item in zip(bases, data, strict=True)]
        return tensor(result, values[result.source] if result.source >= 0 else None, data, values, later)

    def tensor(result: Result, base: Any, data: Array | None, values: tuple[Any, ...], later: Rebinds) -> object:
        if data is None and result.is_optional:
            return None
        if result.kind == "self":
            return rebind(base, data, later)
        return fresh(data) if result.kind == "fresh" else view(base, data, values)

    def wrap(returned: object, values: tuple[Any, ...]) -> object:
        if returned is NotImplemented and has_plain_result(signature):
            raise declined_error(signature.name, who())
        # Bound to other data once every result was found good: a call that fails has changed no argument.
        later: Rebinds = []
        results = enumerate(zip(signature.results, signature.unpack(returned, who), strict=True))
        found = [one(index, result, data, values, later) for index, (result, data) in results]
        if frontend is not None:
            for argument, data in later:
                frontend.rebind(argument, data)
            if frontend.writes is not None:
                signature.report_writes(frontend.writes.note_write, values)
        return signature.pack(found) if found or not signature.schema.is_varret else returned

    return wrap
