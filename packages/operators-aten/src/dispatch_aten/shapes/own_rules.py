"""The shape rules of rows, without an operator's name in their errors, for rules that are made of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dispatch_aten.kinds import find_function, names_with
from dispatch_core.caches import LazyTable

OWN_RULES: Final[LazyTable[Callable[..., Any]]] = LazyTable(
    partial(find_function, "shape"), partial(names_with, "shape")
)
