"""The way to the Ascend runtime; so far, whether there is one."""

from .probe import is_available, unavailable_reason

__all__ = ["is_available", "unavailable_reason"]
