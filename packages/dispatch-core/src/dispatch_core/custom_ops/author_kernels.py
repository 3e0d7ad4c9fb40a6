"""Kernels made of an operator's parts as its author wrote them: fakes, formulas of gradients, batching rules, casts.

Note [A fake sees the caller's arguments]
    A kernel under Meta gets meta arrays. A fake, like the operator's other composites, is written for the arguments
    of any caller: a call with a frontend's tensors hands it new tensors of that frontend around the meta arrays, and a call
    with raw arrays hands it these. A fake that is to serve both uses ``dispatch_core.ops`` and the helpers `shape`,
    `dtype`, `strides` and `wrap_like`. It runs below autograd: its tensors require no grad.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..arrays.access import to_data
from ..arrays.frontend import FRONTENDS, Frontend
from ..arrays.owners import TYPE_MASKS, named_key
from ..arrays.protocols import AutocastInputs, AutogradFormula, BatchingRule, Kernel
from ..calls.signature import CallSignature, TensorKind
from ..calls.traits import KernelTraits
from ..errors import ArgumentError, RegistrationError, short_repr
from ..keys.table import AUTOGRAD, DispatchKey
from ..operators.registration import KernelFactory
from ..schema.model import FunctionSchema

if TYPE_CHECKING:
    from ..keys.keyset import DispatchKeySet
    from ..operators.overloads import OpOverload

#: The key of batching rules.
BATCHED: Final = DispatchKey.FuncTorchBatched
#: The name, and no place, of an author's formula that is not there.
_NO_FORMULA: Final = ("no formula", "")


def fake_kernel(fake: Kernel) -> KernelFactory:
    """Return the kernel under Meta for a fake; see Note [A fake sees the caller's arguments]."""

    def make(op: OpOverload, keyset: DispatchKeySet) -> Kernel:
        frontend = FRONTENDS.get(keyset.marker)
        return fake if frontend is None else _wrap_fake(fake, op._entry.signature, frontend)

    return KernelFactory(KernelTraits(stands_for=lambda: fake)(make), is_fake=True)


def _wrap_fake(fake: Kernel, signature: CallSignature | None, frontend: Frontend[Any]) -> Kernel:
    """Return a function of arrays that calls ``fake`` with tensors."""
    wrap = frontend.wrap
    kinds: dict[str, TensorKind] = {p.name: p.tensors for p in signature.parameters} if signature is not None else {}
    positional = tuple(p.tensors for p in signature.parameters if not p.keyword_only) if signature is not None else ()

    def tensors(value: Any, kind: TensorKind) -> object:
        if kind in ("list", "optional_list"):
            return [None if item is None else wrap(item) for item in value]
        return wrap(value) if kind and value is not None else value

    def by_type(value: object) -> object:
        return wrap(value) if type(value) in TYPE_MASKS else value

    def kernel(*args: object, **kwargs: object) -> object:
        if signature is None:
            found = fake(*map(by_type, args), **{name: by_type(value) for name, value in kwargs.items()})
        else:
            given = [tensors(value, kind) for value, kind in zip(args, positional, strict=False)]
            named = {name: tensors(value, kinds[name]) for name, value in kwargs.items()}
            found = fake(*given, *args[len(given) :], **named)
        return _arrays(found)

    return kernel


def _arrays(found: object) -> object:
    if isinstance(found, list | tuple):
        return [_arrays(item) for item in found] if isinstance(found, list) else tuple(map(_arrays, found))
    return to_data(found)


def autograd_kernel(formula: Callable[[], AutogradFormula]) -> KernelFactory:
    """Return the kernel under Autograd for a formula, which is asked for when a keyset first needs the kernel."""
    return _layer_kernel("autograd.autograd_kernel", AUTOGRAD, formula, lambda: formula().backward or _NO_FORMULA)


def check_formula(schema: FunctionSchema) -> None:
    """Refuse a formula for an operator that cannot have one; raises ``RegistrationError``."""
    if schema.is_mutable:
        raise RegistrationError(
            f"{schema.name}: an autograd formula can be registered for a functional operator only, but the schema says that"
            f" it writes to an argument: {schema}",
            hint="make a functional operator, and register the formula for that",
        )
    _check_keywords(schema, "an autograd formula gives gradients for positional arguments only")


def make_batching_kernel(schema: FunctionSchema, rule: BatchingRule) -> KernelFactory:
    """Return the kernel for a batching rule; raises for an operator that cannot have one, or a non-function."""
    if not callable(rule):
        raise ArgumentError(f"{schema.name}: a batching rule is a function, not {short_repr(rule)}")
    _check_keywords(schema, "a batching rule is told of the batches of positional arguments only")
    return _layer_kernel("layers.batching_kernel", BATCHED.value, lambda: rule, lambda: rule)


def make_autocast_kernel(device_type: str, cast_inputs: object) -> tuple[DispatchKey, KernelFactory]:
    """Return the kernel that casts an operator's arguments, and its key; raises for an unknown device or dtype."""
    key = named_key(device_type)
    if not key.backend:
        raise RegistrationError(f"Device type '{device_type}' does not support autocast.")
    if getattr(type(cast_inputs), "__schema_type__", None) != "ScalarType":
        raise ArgumentError(
            f"cast_inputs is the dtype to which tensors are cast, not {short_repr(cast_inputs)}",
            hint="give a dtype, as torchlike.float16 is one",
        )
    autocast = DispatchKey(f"Autocast{key.backend}")
    casts = AutocastInputs(device_type, cast_inputs, autocast)
    return autocast, _layer_kernel(
        "layers.autocast_kernel", autocast.value, lambda: casts, lambda: (f"casts to {casts.dtype}", "")
    )


def _check_keywords(schema: FunctionSchema, rule: str) -> None:
    """Refuse an operator with tensors among its keyword-only arguments."""
    hidden = [found.argument.name for found in schema.tensor_arguments if found.argument.kwarg_only]
    if hidden:
        raise RegistrationError(f"{schema.name}: {rule}, but {', '.join(hidden)} is a keyword-only Tensor")


def _layer_kernel(
    method: str, keys: int, read: Callable[[], object], stands_for: Callable[[], object]
) -> KernelFactory:
    """Return the kernel under ``keys`` that a frontend makes of the author's part, which ``read`` returns.

    ``method`` names a protocol of the frontend and its method.
    """
    return KernelFactory(KernelTraits(stands_for=stands_for)(partial(_make_by_frontend, method, keys, read)))


def _make_by_frontend(
    method: str, keys: int, read: Callable[[], object], op: OpOverload, keyset: DispatchKeySet
) -> Kernel:
    """Return the kernel that the frontend of the call's tensors makes; see Note [The boundary contract].

    Where it makes none, the operator goes on below the keys.
    """
    protocol, _, name = method.partition(".")
    implemented = getattr(FRONTENDS.get(keyset.marker), protocol, None)
    made: Kernel | None = None if implemented is None else getattr(implemented, name)(op, keyset, read())
    if made is not None:
        return made
    below = (keyset.mask | keyset.marker) & ~keys

    def kernel(*args: object, **kwargs: object) -> object:
        return op.redispatch(below, *args, **kwargs)

    return kernel
