"""Tensors as text, in torch's layout.

One width holds for all elements: real numbers are written as integers (``1.``) where all of them are, else with four
decimals, and all with an exponent where the largest and the smallest are too far apart. Above 1,000 elements only the
edges of every dimension are shown, and only they decide the width.

>>> import torchlike
>>> torchlike.tensor([[1., 2.], [3., 4.]])
tensor([[1., 2.],
        [3., 4.]])
>>> torchlike.tensor([1e-5, 1.])
tensor([1.0000e-05, 1.0000e+00])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_core.frontends import PLACING
from dispatch_core.keys import LAYOUTS

from ..history.transforms import FRONT
from ..values.layouts import answer
from .arrays import read_printable
from .overriding_classes import ENTERED, ask
from .tensor import Tensor


@dataclass(slots=True)
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=float("inf")),
}
#: The options in force; the object is one and the same for as long as the process lives, as torch's of this name.
PRINT_OPTS: Final = _Options()
#: The keys of tensors whose data is a record, of a layout or of a function transform: it writes them.
_RECORDS: Final = LAYOUTS | FRONT


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed, for the whole process (source: ``torch.set_printoptions``).

    Raises ``TypeError`` for anything but numbers, ``ValueError`` for an unknown profile.
    """
    given: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        wanted = (int, float) if name == "threshold" else (int,)
        if value is not None and (not isinstance(value, wanted) or value < 0):
            raise TypeError(
                f"set_printoptions(): argument '{name}' must be a number from 0 up, not {type(value).__name__}"
            )
    if profile is not None and (not isinstance(profile, str) or profile not in _PROFILES):
        raise ValueError(f"set_printoptions(): argument 'profile' must be one of {', '.join(_PROFILES)}")
    if sci_mode is not None and not isinstance(sci_mode, bool):
        raise TypeError(f"set_printoptions(): argument 'sci_mode' must be bool or None, not {type(sci_mode).__name__}")
    base = PRINT_OPTS if profile is None else _PROFILES[profile]
    chosen = replace(base, sci_mode=sci_mode, **{name: value for name, value in given.items() if value is not None})
    for field in fields(chosen):
        setattr(PRINT_OPTS, field.name, getattr(chosen, field.name))


def get_printoptions() -> dict[str, Any]:
    """Return the options in force by name (source: ``torch._tensor_str.get_printoptions``).

    >>> get_printoptions()["precision"]
    4
    """
    return {field.name: getattr(PRINT_OPTS, field.name) for field in fields(PRINT_OPTS)}


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Choose how tensors are printed in a block; arguments and errors are those of `set_printoptions`.

    >>> import torchlike
    >>> with printoptions(precision=2):
    ...     print(torchlike.tensor([0.5]))
    tensor([0.50])
    """
    before = get_printoptions()
    try:
        set_printoptions(**kwargs)
        yield
    finally:
        for name, value in before.items():
            setattr(PRINT_OPTS, name, value)


def format_tensor(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of a tensor as ``repr`` shows it, with ``tensor_contents`` in the place of its elements."""
    if (
        tensor_contents is None
        and (ENTERED or type(tensor) is not Tensor)
        and (found := ask("__repr__", tensor)) is not NotImplemented
    ):
        overridden: str = found
        return overridden
    return _str_intern(tensor, tensor_contents=tensor_contents)


format_tensor.__name__, format_tensor.__qualname__ = "__repr__", "Tensor.__repr__"  # as handlers of overrides know it


def _describe_placement(tensor: Tensor) -> list[str]:
    """Return where a tensor lies that lies on several devices."""
    if not tensor._dispatch_mask & PLACING[0]:
        return []
    from dispatch_aten.placements.operators import placement_of  # few programs have several devices

    placed = placement_of(tensor)
    return [] if placed is None else [f"placements={placed[1]!r}", f"mesh={placed[0]!r}"]


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of a tensor, with ``tensor_contents`` in the place of its elements."""
    tensor = inp
    if tensor._dispatch_mask & _RECORDS:
        text: str = answer(tensor, "to_text")(tensor)
        return text
    kind: Any = type(tensor)
    is_plain = kind is Tensor or "_text_of_subclasses" in vars(kind)
    start = "tensor(" if is_plain else f"{kind.__name__}("
    shape, dtype, device = tuple(tensor.shape), tensor.dtype, tensor.device
    notes, body = [], ""
    if device.type != "cpu" or device.index is not None:
        notes.append(f"device='{device}'")
        notes += _describe_placement(tensor)
    default = get_default_dtype()
    ordinary = dtype in (default, ScalarType.Long, ScalarType.Bool) or (
        dtype.is_complex and dtype == default.to_complex()
    )
    if tensor.is_meta:
        body = "..."
        notes.append(f"size={shape}")
        ordinary = dtype == default
    elif not tensor.numel():
        body = "[]"
        if len(shape) != 1:
            notes.append(f"size={shape}")
        ordinary = dtype == default
    else:
        if tensor_contents is None:
            body = write_elements(read_printable(tensor), len(start))
        if not PRINT_OPTS.edgeitems:
            notes.append(f"size={shape}")
    body = body if tensor_contents is None else tensor_contents
    if not ordinary:
        notes.append(f"dtype={dtype!r}")
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view without a history: it, or its base, was written to where that cannot be recorded
        notes.append("grad_fn=<Invalid>")
    else:
        if node is not None:
            notes.append(f"grad_fn=<{node.name()}>")
        elif tensor.requires_grad:
            notes.append("requires_grad=True")
    text = add_notes(start + body, notes, len(start))
    if is_plain:
        return text
    if vars(tensor).get("_is_param"):
        return f"Parameter({text})"
    pattern: str = getattr(kind, "_text_of_subclasses", "{}")
    return pattern.format(text)


def add_notes(text: str, notes: list[str], indent: int, *, new_line: bool = False) -> str:
    """Add dtype, device and history after the elements, on new lines where the line gets too long.

    With ``new_line`` they begin on one.
    """
    width = len(text) - text.rfind("\n") + 1
    for number, note in enumerate(notes):
        if (new_line and not number) or width + len(note) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + note
            width = indent + len(note)
        else:
            text += ", " + note
            width += len(note) + 2
    return text + ")"


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Add notes after the elements, under torch's own name for libraries that print so."""
    return add_notes(tensor_str, suffixes, indent, new_line=force_newline)


def write_elements(array: np.typing.NDArray[Any], indent: int) -> str:
    """Return the elements in brackets; lines behind the first begin after ``indent`` blanks."""
    summarize = array.size > PRINT_OPTS.threshold
    if summarize and array.ndim and not PRINT_OPTS.edgeitems:
        return "[...]"
    write, width = _choose_format(_take_edges(array) if summarize else array)
    return _write_nested(array, indent, write, width + 2, summarize)


def _tensor_str(self: Tensor, indent: int) -> str:
    """Return a tensor's elements in brackets, under torch's own name for libraries that write files so."""
    return write_elements(read_printable(self), indent) if self.numel() else "[]"


def _choose_format(shown: np.typing.NDArray[Any]) -> tuple[Callable[[Any], str], int]:
    """Return the function that writes an element of those shown, and the width of its texts."""
    if shown.dtype.kind != "c":
        style = _ElementFormat.of(shown)
        return style, style.width
    real, imag = _ElementFormat.of(shown.real), _ElementFormat.of(shown.imag)

    def write(value: Any) -> str:
        right = (imag(value.imag) + "j").lstrip()
        return real(value.real) + (right if right[0] in "+-" else "+" + right)

    return write, real.width + imag.width + 1


def write_matrix(tensor: Tensor, rows: Sequence[int], columns: Sequence[int | None]) -> list[list[str]]:
    """Return the texts of some elements of a matrix, or of a vector as its only row; a column that is None is left out."""
    array = read_printable(tensor)
    if array.ndim == 1:
        array = array[None]
    shown = array[np.ix_(rows, [each for each in columns if each is not None])]
    write, _ = _choose_format(shown)
    return [[write(value).strip() for value in row] for row in shown.tolist()]


def _take_edges(array: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Return the elements that a summary shows."""
    edge = PRINT_OPTS.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis=axis)
    return array


def _write_nested(
    array: np.typing.NDArray[Any], indent: int, write: Callable[[Any], str], width: int, summarize: bool
) -> str:
    """Write an array with brackets; ``width`` is an element's with its comma and blank."""
    if not array.ndim:
        return write(array[()].item())
    edge = PRINT_OPTS.edgeitems
    cut = summarize and len(array) > 2 * edge
    if array.ndim > 1:
        rows = [array[:edge], array[len(array) - edge :]] if cut else [array]
        parts = [[_write_nested(row, indent + 1, write, width, summarize) for row in block] for block in rows]
        joined = [*parts[0], "...", *parts[1]] if cut else parts[0]
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(joined) + "]"
    if cut:
        items = [*map(write, array[:edge].tolist()), " ...", *map(write, array[len(array) - edge :].tolist())]
    else:
        items = [write(value) for value in array.tolist()]
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // width)
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


@dataclass(frozen=True, slots=True)
class _ElementFormat:
    """How the elements of one tensor are written: with which format, and how wide."""

    kind: str
    width: int

    @classmethod
    def of(cls, array: np.typing.NDArray[Any]) -> _ElementFormat:
        if array.dtype.kind != "f":
            return cls("integer", max(len(str(value)) for value in array.ravel().tolist()))
        with np.errstate(all="ignore"):
            values = array.astype(np.float64).ravel()
        values = values[np.isfinite(values) & (values != 0)]
        if not values.size:
            return cls("scientific" if PRINT_OPTS.sci_mode else "whole", 1)
        sizes = np.abs(values)
        whole = bool(np.all(values == np.ceil(values)))
        smallest, largest = float(sizes.min()), float(sizes.max())
        with np.errstate(all="ignore"):
            wide = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
        scientific = wide if PRINT_OPTS.sci_mode is None else PRINT_OPTS.sci_mode
        style = cls("scientific" if scientific else "whole" if whole else "decimal", 0)
        return cls(style.kind, max(1, *(len(style(value)) for value in values.tolist())))

    def __call__(self, value: Any) -> str:
        match self.kind:
            case "scientific":
                text = f"{value:.{PRINT_OPTS.precision}e}"
            case "whole":
                text = f"{value:.0f}" + ("." if np.isfinite(value) else "")
            case "decimal":
                text = f"{value:.{PRINT_OPTS.precision}f}"
            case _:
                text = str(value)
        return text.rjust(self.width)
