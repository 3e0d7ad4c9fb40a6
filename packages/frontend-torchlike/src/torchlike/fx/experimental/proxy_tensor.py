"""Questions about traces of operators' calls, of which there are none here (source: ``…experimental.proxy_tensor``)."""

from __future__ import annotations

__all__ = ["get_proxy_mode", "is_sym_node", "maybe_disable_thunkify", "py_sym_types"]

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

py_sym_types: Final[tuple[type, ...]] = ()


def get_proxy_mode() -> None:
    """Return None: no calls of operators are traced into a graph of torch's kind."""


def is_sym_node(node: Any) -> bool:
    """Return whether a node's value is a size with symbols: False."""
    return False


def maybe_disable_thunkify() -> AbstractContextManager[None]:
    """Do nothing within a block."""
    return nullcontext()
