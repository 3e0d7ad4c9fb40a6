"""How quantized tensors map numbers to integers."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from ..names.spelling import spell


class qscheme:  # noqa: N801  # torch's name
    """How a quantized tensor maps numbers to integers (source: ``torch.qscheme``); ``TypeError`` where one is made.

    >>> per_tensor_affine
    torchlike.per_tensor_affine
    """

    __module__ = "torchlike"  # see Note [Public paths]
    __schema_type__ = "QScheme"  # the type of such values in schemas
    __slots__ = ("_name",)
    _name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"cannot create '{spell()}.qscheme' instances\nHint: {spell()}.per_tensor_affine is one")

    def __repr__(self) -> str:
        return f"{spell()}.{self._name}"

    def __reduce__(self) -> str:
        return self._name


def _make(name: str) -> qscheme:
    kind: Any = qscheme
    made: qscheme = object.__new__(kind)
    made._name = name
    return made


per_tensor_affine: Final = _make("per_tensor_affine")
per_channel_affine: Final = _make("per_channel_affine")
per_tensor_symmetric: Final = _make("per_tensor_symmetric")
per_channel_symmetric: Final = _make("per_channel_symmetric")
per_channel_affine_float_qparams: Final = _make("per_channel_affine_float_qparams")
#: torch's numbers for them, which stand in saved files.
NUMBERS: Final = (
    per_tensor_affine,
    per_channel_affine,
    per_tensor_symmetric,
    per_channel_symmetric,
    per_channel_affine_float_qparams,
)
