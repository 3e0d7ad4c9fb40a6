"""The place where type checkers find the operators of an operator library, which brings a stub of this module.

``dispatch-operators-aten`` has it in ``dispatch_core-stubs``, a partial stub package (source: PEP 561): the core itself
knows no operator, and where no library is installed, namespaces have any.
"""

from __future__ import annotations

__all__ = ["KnownNamespaces"]


class KnownNamespaces:
    """The base of `Ops`, whose stub has a property for each namespace of an operator library."""

    __slots__ = ()
