"""The operator library's table as torch's users see it: which operators are functions, methods or neither.

An operator is a function, a method, or one of ``nn.functional``, ``linalg``, ``fft`` and ``special``, where torch has it
there (`TORCH_NAMES`); so a new row of the operator library needs no entry here.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from dispatch_aten.families import schema_line_of
from dispatch_aten.operators import KIND_OF, row_of
from dispatch_aten.torch_names import TORCH_NAMES

#: Operators that users do not see: backward's own, and the steps of others.
HIDDEN: Final = frozenset(
    "_local_scalar_dense _to_copy _unique2 _unsafe_view alias copy mH matrix_H mT nll_loss nonzero_numpy numpy_T slice"
    " unfold_backward".split()
)
#: How operators begin that have a namespace of their own.
PREFIXES: Final = {"linalg_": "linalg", "fft_": "fft", "special_": "special"}
#: Methods whose sizes may be written one by one: ``t.view(2, 3)``.
WITH_SIZES: Final = frozenset(
    "broadcast_to expand flip new_empty new_ones new_zeros permute repeat reshape resize_ sum_to_size tile view".split()
)
#: The same for factories.
SIZED_FACTORIES: Final = frozenset("empty ones rand randn zeros".split())
_FIRST: Final = re.compile(r"[\w.]+\(Tensor(?:\([^)]*\))? (\w+)")


class OverloadGroup:
    """All overloads of one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        #: Their names, each with the overload's.
        self.overloads: list[str] = []

    @cached_property
    def schemas(self) -> list[str]:
        """The schemas of the overloads, which are read when they are first asked for."""
        return [row_of(name).schema for name in self.overloads]

    @property
    def first(self) -> str:
        """The name of the first argument if that is a tensor, else ""."""
        found = _FIRST.match(schema_line_of(self.overloads[0]))
        return found[1] if found else ""

    @property
    def is_function(self) -> bool:
        """Whether torch has a function of the name."""
        return self.name in TORCH_NAMES["torch"]

    @property
    def is_method(self) -> bool:
        """Whether torch's tensors have a method of the name that takes them first."""
        return self.name in TORCH_NAMES["Tensor"] and self.first == "self"

    @property
    def is_like(self) -> bool:
        """Whether the operator makes a tensor like another one, on any device."""
        return self.name.endswith("_like") or self.name.startswith("new_")

    @property
    def unary(self) -> bool:
        """Whether the operator has no argument but the tensor and perhaps ``out``."""
        return len([schema for schema in self.schemas if "out)" not in schema]) == 1 and "," not in self.schemas[0]

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of several results, if they have any."""
        for schema in self.schemas:
            returned = schema.rpartition(" -> ")[2]
            if returned.startswith("(") and "!" not in returned and " " in returned.split(",")[0].strip("("):
                return tuple(part.split()[1] for part in returned.strip("()").split(","))
        return None


def _read_operators() -> dict[str, OverloadGroup]:
    found: dict[str, OverloadGroup] = {}
    for name in KIND_OF:
        base = name.partition(".")[0]
        found.setdefault(base, OverloadGroup(base)).overloads.append(name)
    return found


OPERATORS: Final = _read_operators()
"""The operators of the library's table by their names without an overload."""
