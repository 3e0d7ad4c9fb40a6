"""The schemas of in-place and ``out=`` overloads, which follow from that of the functional one."""

from __future__ import annotations

import re
from typing import Final

#: Arguments of factories that an ``out=`` tensor stands for.
_FACTORY_ONLY: Final = re.compile(
    r"(, )?(?:\*, )?ScalarType\? dtype=\w+, Layout\? layout=None, Device\? device=None, bool\? pin_memory=None"
)

_FIRST: Final = ("Tensor self", "Tensor(a) self", "Tensor input")


def is_inplace(name: str) -> bool:
    """Return whether the name, with overload, is that of an in-place operator; ``__and__`` and its kind are not."""
    base = name.partition(".")[0]
    return base.endswith("_") and not base.endswith("__")


def variant_schema(schema: str, name: str) -> str | None:
    """Return the schema of the in-place or ``out=`` overload ``name`` of a functional one; None where none follows.

    >>> variant_schema("hypot(Tensor self, Tensor other) -> Tensor", "hypot_")
    'hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)'
    >>> variant_schema("svd(Tensor self) -> (Tensor U, Tensor S)", "svd.U")
    'svd.U(Tensor self, *, Tensor(a!) U, Tensor(b!) S) -> (Tensor(a!) U, Tensor(b!) S)'
    """
    head, _, returned = schema.rpartition(" -> ")
    arguments = head[head.index("(") + 1 : -1]
    if is_inplace(name):
        first, comma, rest = arguments.partition(", ")
        return f"{name}(Tensor(a!) self{comma}{rest}) -> Tensor(a!)" if first in _FIRST else None
    arguments = _FACTORY_ONLY.sub(lambda found: ", *" if found[0].count("*") and found[1] else "", arguments)
    arguments = arguments.removesuffix(", *")
    if returned in ("Tensor", "Tensor(a)"):
        written = "Tensor(a!) grad_input" if name.endswith("_backward.grad_input") else "Tensor(a!) out"
        results = "Tensor(a!)"
    elif returned.startswith("("):
        parts = returned[1:-1].split(", ")
        names = [part.partition(" ")[2] or f"out{place}" for place, part in enumerate(parts)]
        places = [f"Tensor({letter}!)" for letter, _ in zip("abcdefgh", names, strict=False)]
        written = ", ".join(map(" ".join, zip(places, names, strict=True)))
        results = f"({written if ' ' in parts[0] else ', '.join(places)})"
    else:
        return None
    before = f"{arguments}, " if arguments else ""
    keyword = "" if "*, " in before else "*, "
    return f"{name}({before}{keyword}{written}) -> {results}"
