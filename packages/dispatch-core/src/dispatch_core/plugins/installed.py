"""The installed plugins as their distributions declare them: the devices that types of arrays and keys are for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from dispatch_core.bookkeeping.changes import notify_devices
from dispatch_core.errors import BackendError
from dispatch_core.keys.table import DispatchKey

from ..surroundings.distributions import ACCELERATORS, BACKENDS, Claim
from . import messages
from .array_types import ArrayTypeOwners, owners_of, sole_owner
from .catalog import Catalog, is_own
from .settings import Settings


class InstalledPlugins:
    """The installed plugins and the switches, each read at the first need. Nothing is imported."""

    def __init__(self, settings: Callable[[], Settings], catalog: Callable[[], Catalog]) -> None:
        self._read_settings = settings
        self._read_catalog = catalog
        self._settings: Settings | None = None
        self._catalog: Catalog | None = None
        self._type_owners: ArrayTypeOwners | None = None

    def _exclusive(self, noun: str, name: str) -> AbstractContextManager[None]:
        raise NotImplementedError

    @property
    def settings(self) -> Settings:
        """The switches, as they were at the first need; raises ``BackendError`` where one cannot be read."""
        if self._settings is None:
            self._settings = self._read_settings()
        return self._settings

    @property
    def catalog(self) -> Catalog:
        """The installed distributions, scanned once until ``refresh()``."""
        if (catalog := self._catalog) is None:
            with self._exclusive("list of", "installed backends"):
                if (catalog := self._catalog) is None:
                    catalog = self._read_catalog()
                    # A variable that cannot be read is an error where a device is asked for.
                    with suppress(BackendError):
                        catalog.chosen = self.settings.chosen
                    self._catalog = catalog
                    notify_devices(catalog.names(ACCELERATORS))
        return catalog

    def array_type_owner(self, cls: type) -> str | None:
        """Return the device that claims a type of array, without importing anything, or None.

        The type's method resolution order is searched by qualified name, then by root package.
        Raises ``BackendError`` where several devices claim the type.
        """
        owners = self._type_owners
        if owners is None:
            owners = self._type_owners = ArrayTypeOwners(self.catalog)
        return owners.find(cls)

    def where_to_find_type(self, cls: type) -> str:
        """Return how to install the device that takes a type of arrays, if the type is known by name, or ""."""
        return messages.where_to_find_type(cls, self.catalog.names(BACKENDS))

    def declared_device(self, cls: type) -> str | None:
        """Return the device that an installed distribution declares exactly this type for, or None.

        Raises ``BackendError`` where there are several.
        """
        return sole_owner(self.catalog, f"{cls.__module__}.{cls.__qualname__}")

    def declared_owner(self, cls: type, device: str) -> Claim | None:
        """Return the claim by which an installed distribution declares exactly this type for another device.

        None where it is declared for none, or for ``device`` too.
        """
        owners = owners_of(self.catalog, f"{cls.__module__}.{cls.__qualname__}")
        return None if device in owners else next(iter(owners.values()), None)

    def device_of_key(self, key: DispatchKey) -> str | None:
        """Return the installed device that a key which no backend has claimed yet is kept for or named after, or None.

        A key that a plugin asks for by name (``PrivateUse1``) is known once the plugin is loaded.
        """
        spelled = key.backend.lower()
        names = [name for name in self.catalog.names(BACKENDS) if key.backend in (name, name[:1].upper() + name[1:])]
        return (
            spelled if is_own(BACKENDS, spelled) and self.catalog.claims(BACKENDS, spelled) else next(iter(names), None)
        )

    def owner_of_key(self, key: DispatchKey) -> Claim | None:
        """Return the claim of the installed device of this project's own that a key is kept for, if it is one's."""
        device = key.backend.lower()
        return self.catalog.usable(BACKENDS, device) if is_own(BACKENDS, device) else None

    def accelerators(self) -> tuple[str, ...]:
        """Return the devices that the distributions which provide them declare as accelerators."""
        found = self.catalog
        return tuple(
            name
            for name in found.names(ACCELERATORS)
            if (provider := found.usable(BACKENDS, name)) is not None
            and any(each.distribution == provider.distribution for each in found.claims(ACCELERATORS, name))
        )
