"""The header of the safetensors format: JSON of each entry's dtype, shape and place (https://github.com/huggingface/safetensors).

The library of that name returns copies of the elements; see Note [Memory of load and save] in `.sources`.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NamedTuple

from dispatch_aten.dtypes import BY_NAME

from .arrays import check_numbers
from .sources import Source

#: NumPy's names of the dtypes that every reader of the format has → its names.
PLAIN: Final = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}
#: The format's names → dtypes.
_DTYPES: Final = {
    **{theirs: ours for ours, theirs in PLAIN.items()},
    "BF16": "bfloat16",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
_LENGTH, _ALIGNMENT = 8, 8


class WrittenEntry(NamedTuple):
    """An entry to write: the format's name of a dtype, the shape, and in bytes the size and the alignment."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    alignment: int


class ReadEntry(NamedTuple):
    """An entry that was found: our name of a dtype, the shape, and in bytes the place in the file and the size."""

    dtype: str
    shape: tuple[int, ...]
    place: int
    nbytes: int


def write_header(entries: dict[str, WrittenEntry], metadata: dict[str, str]) -> tuple[bytes, list[str]]:
    """Return a file's header, and the order in which the entries follow: by falling alignment, so that all are aligned.

    Raises ``UnicodeEncodeError`` for names that are no Unicode text.
    """
    names = sorted(entries, key=lambda name: (-entries[name].alignment, name))
    found: dict[str, Any] = {"__metadata__": metadata}
    place = 0
    for name in names:
        dtype, shape, nbytes, _ = entries[name]
        found[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + nbytes]}
        place += nbytes
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(_LENGTH, "little") + text, names


def read_header(source: Source) -> tuple[dict[str, ReadEntry], dict[str, str]]:
    """Return a file's entries and metadata; ``ValueError`` where they do not fill the file, without a gap or an overlap."""
    length = int.from_bytes(source.read(source.start, _LENGTH), "little")
    begin = source.start + _LENGTH
    text = source.read(begin, length)
    if not text.startswith(b"{"):
        raise ValueError("its header is not an object")
    header = json.loads(text.decode(), object_pairs_hook=_make_dict)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(each, str) for each in metadata.values()):
        raise ValueError("its metadata is not a text")
    found: dict[str, ReadEntry] = {}
    begin += length
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"the entry {name!r} has other facts than dtype, shape and place")
        first, end = check_numbers(entry["data_offsets"], "data_offsets")
        dtype, shape = entry["dtype"], check_numbers(entry["shape"], "shape")
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise ValueError(f"the entry {name!r} is of dtype {dtype!r}")
        if end - first != math.prod(shape) * BY_NAME[_DTYPES[dtype]].itemsize:
            raise ValueError(f"the entry {name!r} has another size")
        found[name] = ReadEntry(_DTYPES[dtype], shape, begin + first, end - first)
    place = begin
    for each in sorted(found.values(), key=lambda each: (each.place, each.nbytes)):
        if each.place != place:
            raise ValueError("its entries leave gaps, or overlap")
        place += each.nbytes
    if place != source.end:
        raise ValueError("its entries do not fill the file")
    return found, metadata


def _make_dict(items: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(items)
    if len(made) != len(items):
        raise ValueError("its header has a name twice")
    return made
