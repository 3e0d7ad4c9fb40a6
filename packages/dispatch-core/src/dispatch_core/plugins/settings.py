"""The environment variables that steer plugin loading, parsed with one grammar."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dispatch_core._record import Record
from dispatch_core.surroundings.environment import parse_boolean, parse_names

AUTOLOAD: Final = "DISPATCH_AUTOLOAD"
ALLOW: Final = "DISPATCH_BACKENDS"
BLOCK: Final = "DISPATCH_BACKENDS_BLOCK"
FOREIGN_KEYS: Final = "DISPATCH_FOREIGN_KEYS"
KERNELS: Final = "DISPATCH_KERNELS"


class Settings(Record):
    """Which plugins may load by themselves, which at all, and which not.

    ``autoload``: other distributions' plugins load on the first request for their device (``DISPATCH_AUTOLOAD``).
    ``allow``: the only devices that load, or None for any (``DISPATCH_BACKENDS``).
    ``chosen``: the distribution that provides a device, where several offer it (``DISPATCH_BACKENDS=acme=distribution``).
    ``block``: devices that never load (``DISPATCH_BACKENDS_BLOCK``).
    ``foreign_keys``: devices and operator namespaces whose plugins may register under keys that are not their own
    (``DISPATCH_FOREIGN_KEYS``).
    ``kernels``: the providers of kernels that every call includes, the highest first (``DISPATCH_KERNELS``).
    """

    autoload: bool = True
    allow: tuple[str, ...] | None = None
    block: tuple[str, ...] = ()
    foreign_keys: tuple[str, ...] = ()
    chosen: Mapping[str, str] = MappingProxyType({})
    kernels: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read the variables; one that is empty counts as not set.

        Raises ``BackendError`` for a boolean that is spelled otherwise.

        >>> Settings.from_environment({"DISPATCH_AUTOLOAD": "No", "DISPATCH_BACKENDS": "cpu, npu"})
        Settings(autoload=False, allow=('cpu', 'npu'), block=(), foreign_keys=(), chosen={}, kernels=())
        >>> Settings.from_environment({"DISPATCH_BACKENDS": "cpu, acme=acme-dispatch"}).chosen
        {'acme': 'acme-dispatch'}
        """
        allow = [entry.partition("=") for entry in parse_names(environ.get(ALLOW, ""))]
        autoload = environ.get(AUTOLOAD, "").strip()
        return cls(
            autoload=parse_boolean(AUTOLOAD, autoload) if autoload else True,
            allow=tuple(name.strip() for name, _, _ in allow) or None,
            block=parse_names(environ.get(BLOCK, "")),
            foreign_keys=parse_names(environ.get(FOREIGN_KEYS, "")),
            chosen={name.strip(): chosen.strip() for name, _, chosen in allow if chosen.strip()},
            kernels=parse_names(environ.get(KERNELS, "")),
        )
