"""Short names of dtypes (source: ``torch.utils._dtype_abbrs``)."""

from __future__ import annotations

from typing import Final

from dispatch_aten.dtypes import BY_NAME, ScalarType

#: The words that torch shortens, and the ones that are longer than a letter and the number of bits.
_WORDS: Final = {"float": "f", "complex": "c", "uint": "u", "int": "i"}
_OTHERS: Final = {"bool": "b8", "bfloat16": "bf16", "float4_e2m1fn_x2": "f4e2m1fnx2"}


def _shorten(name: str) -> str:
    word = next((each for each in _WORDS if name.startswith(each)), "")
    return _OTHERS.get(name) or (_WORDS[word] + name.removeprefix(word).replace("_", "") if word else name)


#: A dtype → its short name.
ABBREVIATIONS: Final[dict[ScalarType, str]] = {dtype: _shorten(name) for name, dtype in BY_NAME.items()}
