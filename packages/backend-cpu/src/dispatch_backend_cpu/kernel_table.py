"""A table in which a module gathers its kernels by operator name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import dispatch_core as dc

Kernel: TypeAlias = Callable[..., Any]
_K = TypeVar("_K", bound=Kernel)


def computed_by(kernel: _K, fn: Any) -> _K:
    """Return a factory's kernel, which is named by the function that computes; see Note [The function behind a kernel]."""
    return dc.KernelTraits(stands_for=lambda: fn)(kernel)


class KernelTable(dict[str, Kernel]):
    """Kernels by operator name with overload; calling it gives a decorator that adds one under each name.

    >>> table = KernelTable()
    >>> @table("neg", "negative")
    ... def neg(a): return -a
    >>> sorted(table)
    ['neg', 'negative']
    """

    def __call__(self, *names: str) -> Callable[[_K], _K]:
        """Return a decorator that adds a kernel under ``names``."""

        def add(kernel: _K) -> _K:
            for name in names:
                assert name not in self, name
                self[name] = kernel
            return kernel

        return add
