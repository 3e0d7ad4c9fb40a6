"""Providers of kernels: found by their entry points, loaded when they are named, and switched on by a variable.

A provider's kernels are registered under its own key, for operators that exist. Anything else that its import registers
makes the load fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.bookkeeping.changes import notify_change
from dispatch_core.bookkeeping.levels import Level
from dispatch_core.errors import BackendError, RegistrationError
from dispatch_core.keys.switched_on import include_everywhere, is_included
from dispatch_core.keys.table import DispatchKey, alternative_key
from dispatch_core.operators.operator_index import near, parse_name
from dispatch_core.operators.registration import KernelProvider

from .._record import replace
from ..arrays.owners import named_key
from ..surroundings.distributions import KERNELS, Claim
from . import messages
from .state import ProviderState

if TYPE_CHECKING:
    from dispatch_core.bookkeeping.transactions import Transaction
    from dispatch_core.operators.entry import OperatorEntry

    from .loading import BackendLoader

_ATTRIBUTE: Final = "PROVIDER"
_NOUN: Final = "provider of kernels"


class KernelProviders:
    """The providers of kernels that a loader finds: their keys, once they are loaded."""

    def __init__(self, loader: BackendLoader) -> None:
        self._loader = loader
        #: Name → the key, its distribution's claim, and how many kernels it has.
        self._loaded: dict[str, tuple[DispatchKey, Claim, int]] = {}

    def ensure(self, name: str) -> DispatchKey:
        """Return the key of a provider, loading it on the first request.

        Raises ``BackendNotFoundError`` where nothing provides the kernels, and ``BackendError`` where the provider was
        refused or failed; its own error is chained.
        """
        loader = self._loader
        if name not in self._loaded:
            with loader._exclusive(_NOUN, name):
                if name not in self._loaded:
                    verdicts = loader.catalog.verdicts(KERNELS, name)
                    if not verdicts:
                        raise messages.unknown_provider(name, self.states(), loader.settings.kernels)
                    claim = loader.catalog.usable(KERNELS, name)
                    if claim is None:
                        raise messages.refusal(_NOUN, name, verdicts)
                    loader._load(claim)
        return self._loaded[name][0]

    def register(self, claim: Claim, found: object, under_way: Transaction) -> None:
        """Register the kernels of an imported provider under its own key.

        Raises ``RegistrationError`` for an object that is not a provider, and for registrations that it must not make.
        """
        provider = getattr(found, _ATTRIBUTE, found) if isinstance(found, ModuleType) else found
        if not isinstance(provider, KernelProvider):
            raise RegistrationError(
                f"{claim} names an object of {type(provider).__qualname__}, which is not a provider of kernels",
                hint=f"name a dispatch_core.KernelProvider, or a module that has one as {_ATTRIBUTE}",
            )
        target = named_key(provider.device)
        if target is DispatchKey.Meta:
            raise RegistrationError(f"{claim} has kernels for meta, whose kernels are the shape rules of all devices")
        key = alternative_key(claim.name, target)
        distribution = claim.distribution.name, claim.distribution.version
        origin = replace(provider.origin, _distribution=distribution)
        for name, kernel in provider.kernels.items():
            self._loader._registry.add_kernel(parse_name(name), key, kernel, None, Level.ALTERNATIVE, origin=origin)
        for operator, registration in under_way.registered:
            self._check(claim, key, operator, registration)
        self._loaded[claim.name] = key, claim, len(provider.kernels)

    def _check(self, claim: Claim, key: DispatchKey, operator: OperatorEntry | str | None, made: Any) -> None:
        name = operator if isinstance(operator, str) or operator is None else operator.name
        if made.key is not key:
            raise RegistrationError(
                f"{claim.distribution} registers {name or 'a fallback'} under {made.key.label}, at {made.origin}; a provider"
                f" of kernels registers under its own key only, {key.label}",
                hint=f"give all kernels to its KernelProvider for {key.target}",
            )
        entry = self._loader._registry.find_entry(operator) if isinstance(operator, str) else operator
        # One that is announced waits, and has no entry yet.
        if entry is not None and entry.schema is None:
            names = near(entry)
            raise RegistrationError(
                f"{claim.distribution} has a kernel for {name}, and no operator has that name"
                f"{f'; did you mean {names[0]}?' if names else ''}",
                hint="name operators with their namespace and overload: aten::add.Tensor",
            )

    def include(self) -> None:
        """Include the kernels that ``DISPATCH_KERNELS`` names in every call, unless that is done or a plugin is loading.

        Raises ``BackendError`` once for those that cannot be loaded; the others are included.
        """
        names = self._loader.settings.kernels
        with self._loader._exclusive(_NOUN, ", ".join(names)):
            if self._loader._loading or is_included():
                return
            keys: list[DispatchKey] = []
            errors: list[BackendError] = []
            for name in names:
                try:
                    keys.append(self.ensure(name))
                except BackendError as error:
                    errors.append(error)
            include_everywhere(keys)
            notify_change()
        if errors:
            raise messages.not_switched_on(errors)

    def states(self) -> Mapping[str, ProviderState]:
        """Return the state of every provider that an installed distribution claims. Nothing is loaded."""
        catalog = self._loader.catalog
        return MappingProxyType({name: self._state(name) for name in catalog.names(KERNELS)})

    def _state(self, name: str) -> ProviderState:
        verdict = self._loader.catalog.verdicts(KERNELS, name)[0]
        owner, failure = verdict.claim.distribution, self._loader._failures.get((KERNELS, name))
        is_on = name in self._loader.settings.kernels
        if name in self._loaded:
            key, claim, count = self._loaded[name]
            owner = claim.distribution
            return ProviderState(name, "loaded", owner.name, owner.version, "", key.name, count, is_on=is_on)
        state, reason = ("refused", verdict.refusal) if verdict.refusal else ("installed", "")
        if failure is not None:
            state, reason = "failed", failure.reason
        return ProviderState(name, state, owner.name, owner.version, reason, is_on=is_on)
