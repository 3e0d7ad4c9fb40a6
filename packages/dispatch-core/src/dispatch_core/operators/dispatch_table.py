"""The computed dispatch table: for one operator and one key, which kernel wins and by which rule.

The order of the rules is that of ``c10::OperatorEntry::computeDispatchTableEntry``, with one more: the fallback of a layout
that is known here (`TensorLayout`) comes before composites. A slot is always computed from
the present registrations, so the outcome never depends on the order of registration, as torch's stored tables do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeGuard

from .._record import Record
from ..arrays.protocols import Kernel
from ..bookkeeping.origins import Origin
from ..keys.table import DispatchKey
from .registration import KernelFactory, Registration

#: Backend keys that share AutogradOther: the lone ones, and the layouts of every backend.
_OTHER_BACKENDS: Final = frozenset({"FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU"})
#: torch's switch from Autograd keys to backends leaves these out, so a kernel there does not disable a composite.
_WITHOUT_BACKEND: Final = frozenset({"AutogradHIP", "AutogradVE", "AutogradMTIA"})


class Slot(Record):
    """The slot of an operator's key: the winning registration, if any, and the rule that chose it."""

    rule: str
    registration: Registration | None = None
    #: The specialized kernels that serve some calls in the winner's place.
    specialized: tuple[Registration, ...] = ()

    @property
    def kernel(self) -> Kernel | KernelFactory | None:
        """Return the winning function, or None."""
        return None if self.registration is None else self.registration.fn

    @property
    def origin(self) -> Origin | None:
        """Return where the winner was registered, or None."""
        return None if self.registration is None else self.registration.origin


class Registered(Protocol):
    """The questions of the rules about an operator."""

    def newest(self, key: DispatchKey) -> Registration | None:
        """Return the active registration under exactly ``key``."""

    def specialized_kernels(self, key: DispatchKey, general: Registration | None = None) -> tuple[Registration, ...]:
        """Return the specialized kernels under ``key`` that a general one does not hide."""

    def fallback(self, key: DispatchKey) -> Registration | None:
        """Return the registry's fallback for ``key``."""

    def layout_fallback(self, key: DispatchKey) -> Registration | None:
        """Return the same where it stands before composites: a layout's, unless that wants the operator's parts.

        See Note [The order of a layout's kernels] in `arrays.layouts`.
        """

    def direct_keys(self) -> Mapping[DispatchKey, object]:
        """Return the keys with a registration of their own."""


def _is_nested(key: DispatchKey) -> bool:
    return key.kind == "layout" and key.layout == "NestedTensor"


def _is_other_backend(key: DispatchKey) -> bool:
    return key.name in _OTHER_BACKENDS or (key.kind == "layout" and f"Autograd{key.layout}" not in DispatchKey)


def _is_backend(key: DispatchKey) -> bool:
    is_own = (key.kind == "device" and bool(key.backend)) or (key.kind == "layout" and not _is_nested(key))
    return is_own or key.name in _OTHER_BACKENDS


def _is_functional_backend(key: DispatchKey) -> bool:
    sparse = key.name == f"Sparse{key.backend}"
    return _is_backend(key) and not sparse and key.backend not in ("XLA", "Lazy")


def _is_autograd(key: DispatchKey) -> bool:
    return key.kind == "autograd"


#: Which runtime keys each alias covers.
MEMBERS: Final[Mapping[str, Callable[[DispatchKey], bool]]] = {
    "CompositeExplicitAutogradNonFunctional": _is_functional_backend,
    "CompositeExplicitAutograd": _is_backend,
    "CompositeImplicitAutogradNestedTensor": lambda key: _is_nested(key) or key.name == "AutogradNestedTensor",
    "CompositeImplicitAutograd": lambda key: _is_backend(key) or _is_autograd(key) or _is_nested(key),
    "Autograd": _is_autograd,
    "FuncTorchBatchedDecomposition": lambda key: key.name == "FuncTorchBatched",
}
_NONFUNCTIONAL, _EXPLICIT, _NESTED, _IMPLICIT, _AUTOGRAD, _BATCHED = (DispatchKey[name] for name in MEMBERS)
#: The keys whose kernels are composites: they see the caller's arguments, and call other operators.
COMPOSITES: Final = frozenset({_NONFUNCTIONAL, _EXPLICIT, _NESTED, _IMPLICIT})
#: Those that run below Autograd: their operators have a derivative of their own, or none.
EXPLICIT_COMPOSITES: Final = frozenset({_NONFUNCTIONAL, _EXPLICIT})


def is_composite(registration: Registration | None) -> TypeGuard[Registration]:
    """Return whether a kernel sees the caller's arguments, and calls other operators: a composite, or one of tensors."""
    return registration is not None and (registration.key in COMPOSITES or registration.takes_tensors)


MISSING: Final = Slot("missing")
#: The slot of an alternative in a call that is not for its device's arrays.
OTHER_DEVICE: Final = Slot("not for its device")
#: The slot of a layer that works with arrays, in a call with a tensor of a layout.
OTHER_LAYOUT: Final = Slot("for tensors of a layout it sees the calls on their components")
_AMBIGUOUS: Final = Slot("ambiguous autogradother")


def _belongs_to(backend: DispatchKey, autograd: DispatchKey) -> bool:
    """Return whether a kernel under ``backend`` speaks for the key ``autograd``."""
    if autograd.kind != "autograd" or autograd.name in _WITHOUT_BACKEND:
        return False
    if autograd.name == "AutogradOther":
        return _is_other_backend(backend)
    if autograd.layout:
        return backend.kind == "layout" and backend.layout == autograd.layout
    return backend.kind == "device" and backend.backend == autograd.backend


def compute_slot(op: Registered, key: DispatchKey | None) -> Slot:
    """Return the slot of ``key`` for an operator; None represents the empty keyset (torch's Undefined)."""
    if key is not None and key.target is not None:
        return _alternative_slot(op, key, key.target)

    def alias(name: DispatchKey) -> Registration | None:
        found = op.newest(name)
        return found if found is not None and (key is None or key is name or MEMBERS[name.name](key)) else None

    if key is not None and (own := op.newest(key)) is not None:
        return Slot("kernel", own, op.specialized_kernels(key, own))
    if key is not None and key.kind == "layout" and (fallback := op.layout_fallback(key)) is not None:
        return Slot("layout's fallback", fallback)
    for default in (_NONFUNCTIONAL, _EXPLICIT):
        if (found := alias(default)) is not None:
            return Slot("default backend kernel", found)
    if key is not None and (found := alias(_NESTED)) is not None:
        return Slot("nested kernel", found)
    if (found := alias(_IMPLICIT)) is not None:
        has_backend = key is not None and (
            op.newest(_EXPLICIT) is not None or any(_belongs_to(direct, key) for direct in op.direct_keys())
        )
        if key is not None and key.name == "AutogradOther" and any(map(_is_other_backend, op.direct_keys())):
            return _AMBIGUOUS
        if not has_backend:
            return Slot("math kernel", found)
    if key is not None:
        if (found := alias(_AUTOGRAD)) is not None:
            return Slot("autograd kernel", found)
        if (found := alias(_BATCHED)) is not None:
            return Slot("batched kernel", found)
        if (fallback := op.fallback(key)) is not None:
            return Slot("backend fallback", fallback)
    return MISSING


def _alternative_slot(op: Registered, key: DispatchKey, target: DispatchKey) -> Slot:
    """Return the slot of a provider's key: the program's kernels under the device's key stand above; see `levels`."""
    own, theirs = op.newest(key.registered_as), op.newest(target)
    if own is None:
        return MISSING
    if theirs is not None and theirs.level > own.level:
        return Slot(f"the {theirs.level} has a kernel under {target.label}")
    above = tuple(each for each in op.specialized_kernels(target) if each.level > own.level)
    return Slot("alternative kernel", own, (*above, *op.specialized_kernels(key.registered_as, own)))
