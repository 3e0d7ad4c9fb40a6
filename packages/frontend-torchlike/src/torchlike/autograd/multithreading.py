"""The switches of torch's threaded backward, which runs in the caller's thread here whatever they say."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from dispatch_core.lazy_text import repr_by_attributes

_enabled: Final[ContextVar[bool]] = ContextVar("torchlike.multithreading", default=True)


def is_multithreading_enabled() -> bool:
    """Return the setting (source: ``torch.autograd.is_multithreading_enabled``); backward runs in the caller's thread."""
    return _enabled.get()


class set_multithreading_enabled:  # noqa: N801  # torch's name
    """Keep the setting, for good or for a block (source: ``torch.autograd.set_multithreading_enabled``)."""

    __repr__ = repr_by_attributes()

    def __init__(self, mode: bool) -> None:
        self._before = _enabled.get()
        _enabled.set(mode)

    def __enter__(self) -> None:
        """Do nothing: the setting holds already."""

    def __exit__(self, *exc: object) -> None:
        _enabled.set(self._before)
