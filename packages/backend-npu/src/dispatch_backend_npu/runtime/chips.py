"""The families of Ascend chips: which one a name belongs to, which the backend supports, and what the others lack.

The toolkit tells the name of the chip (``aclrtGetSocName``); its operators are built for families of them. ``910B`` and
``910_93`` are those of the Atlas A2 and A3, for which the backend's rules are made. Others are refused when they are opened,
unless ``DISPATCH_NPU_UNSUPPORTED=1`` asks to try all the same.
"""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from dispatch_core import BackendUnavailableError

VARIABLE: Final = "DISPATCH_NPU_UNSUPPORTED"
"""The environment variable that opens chips which the backend does not support."""

#: How a function computes products of floats (``cubeMathType``): by their own dtype, or by halves.
KEEP_DTYPE: Final = 0
USE_FP16: Final = 2


class Chip(NamedTuple):
    """A family of chips: ``lacks`` says why it is not supported, and is ``""`` where it is."""

    family: str
    products: str
    #: The ``cubeMathType`` by which matrix products of floats are accepted.
    cube_math_type: int = KEEP_DTYPE
    lacks: str = ""


_NO_FLOAT: Final = "it computes products of floats by halves, and has no bfloat16"

CHIPS: Final = {
    chip.family: chip
    for chip in (
        Chip("910", "Atlas training series", USE_FP16, _NO_FLOAT),
        Chip("910B", "Atlas A2"),
        Chip("910_93", "Atlas A3"),
        Chip("310P", "Atlas inference series", USE_FP16, _NO_FLOAT),
        Chip("310B", "Atlas 200I/500 A2", lacks="most of the functions that the backend calls are not made for it"),
        Chip("950", "Ascend 950PR and 950DT", lacks="its functions differ in the dtypes that they take"),
    )
}
"""Each family of chips by its name, in the order of the table of scalar types and of the simulator."""

#: The first that fits counts: ``Ascend910B`` alone is one of the first chips of the name.
_NAMES: Final = (
    (r"Ascend910B\d", "910B"),
    (r"Ascend910_93", "910_93"),
    (r"Ascend(950|910_95)", "950"),
    (r"Ascend910", "910"),
    (r"Ascend310P", "310P"),
    (r"Ascend310B", "310B"),
)


def find_chip(name: str) -> Chip | None:
    """Return the family of a chip by the name that the toolkit has for it; None where it is unknown.

    >>> find_chip("Ascend910B3").products, find_chip("Ascend910B").products, find_chip("Ascend310")
    ('Atlas A2', 'Atlas training series', None)
    """
    return next((CHIPS[family] for pattern, family in _NAMES if re.match(pattern, name)), None)


def check_chip(name: str) -> Chip:
    """Return the family of a chip that is to be opened.

    Raises ``BackendUnavailableError`` for one that is not supported, unless the environment asks to try it; an unknown one
    is taken for an Atlas A2 then.
    """
    chip = find_chip(name) if name else CHIPS["910B"]  # The toolkit does not tell every time.
    if chip is not None and not chip.lacks:
        return chip
    if os.environ.get(VARIABLE) != "1":
        what = "is not known to this backend" if chip is None else f"({chip.products}) is not supported: {chip.lacks}"
        supported = " and ".join(each.products for each in CHIPS.values() if not each.lacks)
        raise BackendUnavailableError(
            f"the chip {name} {what}; {supported} are",
            hint=f"{VARIABLE}=1 tries all the same: what a function refuses is computed in another way",
        )
    return CHIPS["910B"] if chip is None else chip
