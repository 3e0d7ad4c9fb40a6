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
from typing import Any, Final

from ..arrays.access import to_data
from ..arrays.frontend import FRONTENDS, AutocastInputs, AutogradFormula, Frontend
from ..arrays.owners import TYPE_MASKS
from ..calls.signature import CallSignature, TensorKind
from ..keys.table import AUTOGRAD, DispatchKey
from ..operators.registration import KernelFactory

#: The key of batching rules.
BATCHED: Final = DispatchKey.FuncTorchBatched
#: The name, and no place, of an author's formula that is not there.
_NO_FORMULA: Final = ("no formula", "")


def fake_kernel(fake: Callable[..., Any]) -> KernelFactory:
    """Return the kernel under Meta for a fake; see Note [A fake sees the caller's arguments]."""

    def make(op: Any, keyset: Any) -> Callable[..., Any]:
        frontend = FRONTENDS.get(keyset.marker)
        return fake if frontend is None else _wrap_fake(fake, op._entry.signature, frontend)

    make.stands_for = lambda: fake  # type: ignore[attr-defined]  # see Note [The function behind a kernel] in `kernel_names`
    return KernelFactory(make)


def _wrap_fake(
    fake: Callable[..., Any], signature: CallSignature | None, frontend: Frontend[Any]
) -> Callable[..., Any]:
    """Return a function of arrays that calls ``fake`` with tensors."""
    wrap = frontend.wrap
    kinds: dict[str, TensorKind] = {p.name: p.tensors for p in signature.parameters} if signature is not None else {}
    positional = tuple(p.tensors for p in signature.parameters if not p.keyword_only) if signature is not None else ()

    def tensors(value: Any, kind: TensorKind) -> Any:
        if kind in ("list", "optional_list"):
            return [None if item is None else wrap(item) for item in value]
        return wrap(value) if kind and value is not None else value

    def by_type(value: Any) -> Any:
        return wrap(value) if type(value) in TYPE_MASKS else value

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if signature is None:
            found = fake(*map(by_type, args), **{name: by_type(value) for name, value in kwargs.items()})
        else:
            given = [tensors(value, kind) for value, kind in zip(args, positional, strict=False)]
            named = {name: tensors(value, kinds[name]) for name, value in kwargs.items()}
            found = fake(*given, *args[len(given) :], **named)
        return _arrays(found)

    return kernel


def _arrays(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return [_arrays(item) for item in found] if isinstance(found, list) else tuple(map(_arrays, found))
    return to_data(found)


def autograd_kernel(formula: Callable[[], AutogradFormula]) -> KernelFactory:
    """Return the kernel under Autograd for a formula, which is asked for when a keyset first needs the kernel."""
    return _hook_kernel("autograd", AUTOGRAD, formula, lambda: formula().backward or _NO_FORMULA)


def batching_kernel(rule: Callable[..., Any]) -> KernelFactory:
    """Return the kernel under ``FuncTorchBatched`` for a batching rule."""
    return _hook_kernel("batching", BATCHED.value, lambda: rule, lambda: rule)


def autocast_kernel(casts: AutocastInputs) -> KernelFactory:
    """Return the kernel under an Autocast key for the casts of a call's arguments."""
    return _hook_kernel("autocast", casts.key.value, lambda: casts, lambda: (f"casts to {casts.dtype}", ""))


def _hook_kernel(name: str, keys: int, read: Callable[[], Any], stands_for: Callable[[], Any]) -> KernelFactory:
    """Return the kernel under ``keys`` that a frontend's hook makes of the author's part, which ``read`` returns."""
    make: Any = partial(_make_by_hook, name, keys, read)
    make.stands_for = stands_for  # see Note [The function behind a kernel] in `kernel_names`
    return KernelFactory(make)


def _make_by_hook(name: str, keys: int, read: Callable[[], Any], op: Any, keyset: Any) -> Callable[..., Any]:
    """Return the kernel that the frontend of the call's tensors makes; see Note [The boundary contract].

    Without a frontend, or for one without the hook, the operator goes on below the keys.
    """
    hook: Callable[..., Callable[..., Any]] | None = getattr(FRONTENDS.get(keyset.marker), name, None)
    if hook is not None:
        return hook(op, keyset, read())
    below = (keyset.mask | keyset.marker) & ~keys

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return op.redispatch(below, *args, **kwargs)

    return kernel
