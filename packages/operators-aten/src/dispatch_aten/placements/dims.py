"""What operators do to the dimensions of tensors, as data, and how a row of text becomes it.

Note [Labels]
    A dimension of an argument that a dimension of a result comes from, part by part, has the label of that. Where an
    argument is cut at a label, all others that have it are cut there, and those without it are whole; so are results, and a
    result without it is to be combined, by ``combine``. A dimension that an operator needs as a whole has no label (None),
    or one that is ``whole``. At an ``even`` label parts are of equal sizes. ``linear`` has sets of arguments: where those
    are to be summed, and all others are whole, the results are to be summed.

Note [Rows]
    ``mm: ik,kj->ij`` names the tensors of a schema in order. ``*`` stands for any number of dimensions, as many as the first
    argument with it has beside the others; ``#`` for as many as ``normalized_shape`` has, ``@`` for so many of size 1, ``.``
    for dimensions that have no label and ``~`` before an argument for one that is broadcast to these. After ``;`` stand
    ``linear 0|12``, ``whole v``, ``even c``, ``addend 0``, ``sizes input_sizes``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

__all__ = ["Call", "Dims", "Label", "Row", "Rule", "normalize", "read_row"]

Label: TypeAlias = "int | str | None"
Labels: TypeAlias = "tuple[Label, ...]"


@dataclass(frozen=True)
class Call:
    """The shapes of a call's tensors, in order, the argument that each belongs to, and the values of its other arguments."""

    shapes: tuple[tuple[int, ...], ...]
    places: tuple[int, ...]
    values: Mapping[str, Any]

    def shape_of(self, place: int) -> tuple[int, ...] | None:
        """Return the shape of an argument by its number among those for tensors; None where it was not given."""
        return next((shape for shape, found in zip(self.shapes, self.places, strict=True) if found == place), None)


@dataclass(frozen=True)
class Dims:
    """What a call does to dimensions; see Note [Labels]."""

    inputs: tuple[Labels, ...]
    outputs: tuple[Labels, ...]
    whole: frozenset[Any] = frozenset()
    #: Labels whose parts are of equal sizes, with the size that the parts divide.
    even: Mapping[Any, int] = field(default_factory=dict)
    combine: str = "sum"
    linear: tuple[frozenset[int], ...] = ()
    #: Whether `linear` holds for every way to combine.
    any_way: bool = False
    #: Whole arguments that may count once: a term of a sum whose other terms are to be combined.
    addends: frozenset[int] = frozenset()
    #: Arguments of which nothing but the shape is read.
    unread: frozenset[int] = frozenset()
    #: The sizes of labels in the results, where they are others than in the arguments.
    sizes: Mapping[Any, int] = field(default_factory=dict)
    #: Arguments that are the shape of a result, by name, with the number of the result.
    shapes: Mapping[str, int] = field(default_factory=dict)
    #: Arguments that are the size of a label in the arguments, by name.
    counts: Mapping[str, Any] = field(default_factory=dict)


#: Returns what a call does to dimensions; None where the rule has no answer.
Rule: TypeAlias = Callable[[Call], "Dims | None"]


@dataclass(frozen=True)
class Row:
    """A row of the table: see Note [Rows]."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    linear: tuple[frozenset[int], ...] = ()
    whole: str = ""
    addends: frozenset[int] = frozenset()
    shapes: tuple[str, ...] = ()
    even: str = ""

    def __call__(self, call: Call) -> Dims | None:
        """Return the dimensions of a call; None where its tensors have others than the row."""
        count = len(call.values.get("normalized_shape") or ())
        stars: int | None = None
        found: list[Labels] = []
        for shape, place in zip(call.shapes, call.places, strict=True):
            text = self.inputs[place]
            if text.startswith("~"):
                target = _spell(text[1:], stars, count, len(shape))
                if target is None or len(shape) > len(target):
                    return None
                target = target[len(target) - len(shape) :]
                found.append(tuple(None if size == 1 else label for size, label in zip(shape, target, strict=True)))
                continue
            if "*" in text and stars is None:
                stars = len(shape) - (len(text) - 1 + (count - 1) * (text.count("#") + text.count("@")))
            labels = _spell(text, stars, count, len(shape))
            if labels is None or len(labels) != len(shape):
                return None
            found.append(labels)
        outputs = tuple(_spell(text, stars, count, 0) or () for text in self.outputs)
        ranks = {place: rank for rank, place in enumerate(call.places)}
        linear = tuple(frozenset(ranks[place] for place in each if place in ranks) for each in self.linear)
        return Dims(
            tuple(found),
            outputs,
            whole=frozenset(self.whole) | frozenset(f"*{index}" for index in range(stars or 0) if "*" in self.whole),
            even={
                label: size
                for labels, shape in zip(found, call.shapes, strict=True)
                for label, size in zip(labels, shape, strict=True)
                if isinstance(label, str) and label in self.even
            },
            linear=tuple(filter(None, linear)),
            addends=frozenset(ranks[place] for place in self.addends if place in ranks),
            shapes=dict.fromkeys(self.shapes, 0),
        )


def _spell(text: str, stars: int | None, count: int, ndim: int) -> Labels | None:
    """Return a row's text as labels, one for each dimension."""
    labels: list[Label] = []
    for position, letter in enumerate(text):
        if letter == "*":
            if stars is None or stars < 0:
                return None
            labels += [f"*{index}" for index in range(stars)]
        elif letter in "#@":
            labels += [None] * count
        elif letter == ".":
            labels += [None] * max(ndim - len(labels) - (len(text) - position - 1), 0)
        else:
            labels.append(letter)
    return tuple(labels)


@cache
def read_row(text: str) -> Row:
    """Return the row that a text says.

    >>> read_row("ik,kj->ij; linear 0|1")(Call(((2, 3), (3, 4)), (0, 1), {})).outputs
    (('i', 'j'),)
    """
    terms, *options = (each.strip() for each in text.split(";"))
    inputs, outputs = terms.split("->")
    said: dict[str, str] = dict(each.split() for each in options)
    return Row(
        tuple(inputs.split(",")),
        tuple(outputs.split(",")),
        linear=tuple(frozenset(map(int, each)) for each in said.get("linear", "").split("|") if each),
        whole=said.get("whole", ""),
        addends=frozenset(map(int, said.get("addend", ""))),
        shapes=tuple(filter(None, said.get("sizes", "").split(","))),
        even=said.get("even", ""),
    )


def normalize(dims: Any, ndim: int) -> tuple[int, ...]:
    """Return dimensions counted from the front; all of them for None."""
    if dims is None:
        return tuple(range(ndim))
    given: Sequence[int] = (dims,) if isinstance(dims, int) else dims
    return tuple(each % ndim if ndim else 0 for each in given)
