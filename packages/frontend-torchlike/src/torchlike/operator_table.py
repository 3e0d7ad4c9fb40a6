"""The operator library's table as torch's users see it: which operators are functions, methods or neither."""

from __future__ import annotations

import re
from typing import Final

from dispatch_aten.operators import ATEN

#: Operators that are only methods in torch.
METHODS_ONLY: Final = frozenset(
    "contiguous expand expand_as index item new_empty new_empty_strided new_full new_ones new_zeros repeat reshape_as"
    " sum_to_size to type_as view view_as".split()
)
#: Operators that are only functions.
FUNCTIONS_ONLY: Final = frozenset(
    "_log_softmax _softmax binary_cross_entropy_with_logits broadcast_tensors cat concat dropout embedding empty_like"
    " full_like hstack meshgrid native_dropout ones_like rand_like randint_like randn_like stack threshold var_mean vstack"
    " zeros_like rsub".split()
)
#: Operators that torch has in ``nn.functional`` alone.
FUNCTIONAL_ONLY: Final = frozenset(
    "cross_entropy_loss elu gelu l1_loss leaky_relu linear mse_loss nll_loss_nd one_hot silu softplus".split()
)
#: In-place operators that are functions as well.
INPLACE_FUNCTIONS: Final = frozenset(
    "abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ dropout_ erf_ erfc_"
    " exp2_ exp_ expm1_ fill_ floor_ frac_ index_put_ log10_ log1p_ log2_ log_ nan_to_num_ neg_ negative_ reciprocal_ relu_"
    " round_ rsqrt_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ zero_".split()
)
#: Operators that users do not see: backward's own, and the steps of others.
HIDDEN: Final = frozenset(
    "_local_scalar_dense _to_copy _unsafe_view alias copy nonzero_numpy numpy_T slice mT nll_loss".split()
)
_FIRST: Final = re.compile(r"[\w.]+\(Tensor(?:\([^)]*\))? (\w+)")


class OverloadGroup:
    """All overloads of one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.schemas: list[str] = []

    @property
    def first(self) -> str:
        """The name of the first argument if that is a tensor, else ""."""
        found = _FIRST.match(self.schemas[0])
        return found[1] if found else ""

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


def read_operators() -> dict[str, OverloadGroup]:
    """Return the operators of the library's table by their names without an overload."""
    found: dict[str, OverloadGroup] = {}
    for row in ATEN:
        base = row.name.partition(".")[0]
        found.setdefault(base, OverloadGroup(base)).schemas.append(row.schema)
    return found
