"""Reads a block of a family's rows."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from .variant_schemas import is_inplace, variant_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FAMILY_FACTS: Final = frozenset("tags order says means returns alias calls vmap promotion lacks".split())
"""The words of facts that stand below a block's header."""

OVERLOAD_FACTS: Final = frozenset(
    "variants functional shape formula composite calls gradient flows refuses tangent sample lacks opmath".split()
)
"""The words of facts that stand below an overload's schema."""

_CHANGES_SHAPE: Final = frozenset(
    "as_strided_ resize_ resize_as_ set_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_".split()
)
_MAY_COPY: Final = frozenset(
    "adjoint conj contiguous flatten imag mH matrix_H ravel real reshape reshape_as resolve_conj resolve_neg to".split()
)
_OPERAND: Final = re.compile(r"Tensor \w+|Scalar (?:self|other)\b")
#: The sample of an element-wise overload, by the types of its arguments without a default.
_SAMPLES: Final = {("Tensor",): "r.f(2, 3)", ("Tensor", "Tensor"): "r.f(2, 3), r.f(3)"}
#: Facts of overloads that have their rules and formulas from others.
_COMPOSED: Final = frozenset("composite calls functional alias".split())
#: Facts of overloads that ``[*]`` may have for the others.
_BY_DEFAULT: Final = frozenset({"shape", "formula"})
_FULL_REDUCTION: Final = re.compile(r"^\w+\(Tensor self(, \*, ScalarType\? dtype=None)?\) -> Tensor$")
#: The lines of a block that name overloads: a schema, or one of two facts.
_NAMES: Final = re.compile(r"\n(?:([^\s#(][^\n(]*)\(|  (variants|order) (.*))")


Facts: TypeAlias = "Mapping[str, tuple[str, ...]]"
_NONE: Final[Facts] = {}


class RowError(ValueError):
    """A row that cannot be read, with its file and line."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")


class OperatorDef(NamedTuple):
    """One operator overload: its name with overload, its schema's text and its tags."""

    name: str
    schema: str
    tags: tuple[str, ...]


class Family(NamedTuple):
    """A family: its name, its kind, its own facts, its overloads, the functional ones first, and their facts.

    ``functional`` has the overload that an in-place or ``out=`` overload computes.
    """

    name: str
    kind: str
    facts: Facts
    overloads: tuple[OperatorDef, ...]
    rows: Mapping[str, Facts]
    functional: Mapping[str, str]


def split_blocks(text: str) -> Iterator[tuple[int, str, list[str]]]:
    r"""Yield each block of a file: the line of its header, its text, and the names of its overloads.

    >>> list(split_blocks("# Comment\n[neg]\nneg(Tensor self) -> Tensor\n  variants  neg.out neg_\n"))
    [(2, '[neg]\nneg(Tensor self) -> Tensor\n  variants  neg.out neg_', ['neg', 'neg.out', 'neg_'])]
    """
    first, *blocks = f"\n{text.rstrip()}".split("\n[")
    line = first.count("\n") + 1
    for block in blocks:
        functional: list[str] = []
        listed: dict[str, list[str]] = {"variants": [], "order": []}
        for name, word, others in _NAMES.findall(block):
            if name:
                functional.append(name)
            else:
                listed[word] += others.split()
        names = functional + listed["variants"]
        yield line, f"[{block}", _in_order(names, listed["order"]) if listed["order"] else names
        line += block.count("\n") + 1


def _in_order(names: list[str], order: list[str]) -> list[str]:
    """Return the names with those of ``order`` in that order among themselves, at the places where they are.

    >>> _in_order(["a", "b", "c", "d"], ["d", "b"])
    ['a', 'd', 'c', 'b']
    """
    ordered = iter(order)
    return [next(ordered) if name in order else name for name in names]


def _join_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a block below its header, each with those that go on with it, numbered from 1."""
    number, joined = 1, ""
    for place, line in enumerate(text.split("\n")[1:], 1):
        if line.startswith("    "):
            joined += f" {line.strip()}"
        elif line and not line.startswith("#"):
            if joined:
                yield number, joined
            number, joined = place, line.rstrip()
    if joined:
        yield number, joined


def read_block(text: str, kind: str, file: str = "text", line: int = 1, general: Facts = _NONE) -> Family:
    r"""Read a block, with the facts of ``[*]`` by default; errors name the file and the line.

    >>> family = read_block("[neg]  pointwise\nneg(Tensor self) -> Tensor\n  variants  neg_", "pointwise")
    >>> family.overloads[1], family.functional
    (OperatorDef(name='neg_', schema='neg_(Tensor(a!) self) -> Tensor(a!)', tags=('pointwise', 'inplace')), {'neg_': 'neg'})
    >>> read_block("[neg]\n  say  Return the opposite.", "pointwise", "pointwise.rows", 7)
    Traceback (most recent call last):
    dispatch_aten.families.reader.RowError: pointwise.rows:8: unknown fact 'say' of a family; there are alias, ...
    """
    name, _, header_tags = text.partition("\n")[0][1:].partition("]")
    own: dict[str, list[str]] = {}
    functional: list[tuple[str, str, dict[str, list[str]]]] = []
    variants: list[tuple[str, str, str]] = []
    facts, known, of = own, FAMILY_FACTS | _BY_DEFAULT if name == "*" else FAMILY_FACTS, "a family"
    for number, joined in _join_lines(text):
        if not joined.startswith(" "):
            bare, opened, _ = joined.partition("(")
            if not opened or " -> " not in joined:
                raise RowError(file, line + number, f"{joined!r} is not a schema")
            facts, known, of = {}, OVERLOAD_FACTS, "an overload"
            functional.append((bare, joined, facts))
            continue
        word, _, value = joined.strip().partition(" ")
        if word not in known:
            there = ", ".join(sorted(known))
            raise RowError(file, line + number, f"unknown fact {word!r} of {of}; there are {there}")
        if not value:
            raise RowError(file, line + number, f"the fact {word!r} has no value")
        facts.setdefault(word, []).append(value.strip())
        if word == "variants":
            variants += _read_variants(functional[-1], value.strip(), file, line + number)
    tags = _read_tags([header_tags, *own.get("tags", ())])
    schemas = [(bare, schema) for bare, schema, _ in (*functional, *variants)]
    overloads = [OperatorDef(bare, schema, _tags_of(bare, schema, tags)) for bare, schema in schemas]
    for bare, schema, facts in functional:
        tagged = "pointwise" in _tags_of(bare, schema, tags) or own.get("vmap") == ["broadcast"]
        _add_defaults(schema, facts, own, is_elementwise=tagged and schema.endswith("-> Tensor"), general=general)
    rows = {bare: {word: tuple(each) for word, each in facts.items()} for bare, _, facts in functional}
    pairs = {bare: facts["functional"][0] for bare, facts in rows.items() if "functional" in facts}
    pairs |= {bare: of for bare, _, of in variants}
    order = " ".join(own.get("order", ())).split()
    by_name = {each.name: each for each in overloads}
    for each in {*order}.union(*tags.values()) - by_name.keys():
        raise RowError(file, line, f"{each!r} has tags or a place and is not an overload of {name}")
    overloads = [by_name[each] for each in _in_order([*by_name], order)]
    return Family(name, kind, {word: tuple(each) for word, each in own.items()}, tuple(overloads), rows, pairs)


def _add_defaults(
    schema: str, facts: dict[str, list[str]], own: Mapping[str, object], *, is_elementwise: bool, general: Facts
) -> None:
    """Add the facts that follow from a schema, and those of ``[*]``, where an overload has none of its own."""
    if "gradient" in facts and schema.endswith("(Tensor values, Tensor indices)"):
        facts.setdefault("flows", ["yes no"])
    if {*own, *facts} & _COMPOSED:
        return
    if is_elementwise:
        facts.setdefault("shape", [f"pointwise.shapes:elementwise_rule(name, {_count_operands(schema)})"])
        if (required := _find_required(schema)) in _SAMPLES:
            facts.setdefault("sample", [_SAMPLES[required]])
    for word in _BY_DEFAULT & general.keys():
        facts.setdefault(word, [*general[word]])


def _read_variants(
    functional: tuple[str, str, dict[str, list[str]]], value: str, file: str, line: int
) -> Iterator[tuple[str, str, str]]:
    for name in value.split():
        schema = variant_schema(functional[1], name)
        if schema is None:
            raise RowError(
                file,
                line,
                f"the schema of {name} does not follow from {functional[1]}; write it out, with the fact functional",
            )
        yield name, schema, functional[0]


def _count_operands(schema: str) -> int:
    """Return how many leading arguments take part in broadcasting and promotion; the rest are options."""
    return sum(1 for _ in takewhile(_OPERAND.match, schema.partition("(")[2].split(", ")))


def _find_required(schema: str) -> tuple[str, ...]:
    """Return the types of the arguments without a default.

    >>> _find_required('gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor')
    ('Tensor', 'Tensor')
    """
    arguments = schema[schema.index("(") + 1 : schema.rindex(") ->")].split(", ")
    return tuple(each.partition(" ")[0] for each in arguments if "=" not in each and each != "*")


def _read_tags(facts: list[str]) -> dict[str, frozenset[str]]:
    """Return each tag with the overloads that have it, none where all have it."""
    found: dict[str, frozenset[str]] = {}
    for fact in facts:
        tags, _, names = fact.partition(":")
        found.update(dict.fromkeys(tags.split(), frozenset(names.split())))
    return found


def _tags_of(name: str, schema: str, tags: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Return an overload's tags, with those that follow from its schema.

    ``inplace`` and ``out`` follow from the written arguments, ``view`` from the argument that the result shares memory with,
    ``may_copy`` from the names of those that copy where a view cannot be made. ``unknown_ok`` is for operators that need not
    know the sizes of one array: element-wise ones, reductions of all dimensions, and the way to the host.
    """
    own = tuple(tag for tag, names in tags.items() if not names or name in names)
    base = name.partition(".")[0]
    if "(a!)" in schema:
        if not is_inplace(name):
            return (*own, "out")
        return (*own, "inplace", "inplace_view") if base in _CHANGES_SHAPE else (*own, "inplace")
    if schema.endswith(("-> Tensor(a)", "-> Tensor(a)[]")):
        return (*own, "view", "may_copy") if base in _MAY_COPY else (*own, "view")
    is_elementwise = "pointwise" in own and "nondeterministic_seeded" not in own
    is_full_reduction = "reduction" in own and _FULL_REDUCTION.match(schema) is not None
    return (*own, "unknown_ok") if is_elementwise or is_full_reduction or name == "device_get" else own
