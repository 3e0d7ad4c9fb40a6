"""Torch's operators as rows of text: a block for each family, the in-place and ``out=`` overloads of one operator.

A folder for each kind has a file of them, ``KIND.rows``, and the modules of the functions that they name. A block begins
with the family's name; below it stand the facts of the family, and then its overloads, each a schema as torch spells it
with facts of its own::

    [hypot]  pointwise
      says      Return the length of the hypotenuse ...
    hypot(Tensor self, Tensor other) -> Tensor
      variants  hypot.out hypot_
      formula   check_by_rule(name, _hypot)
      gradient  self: mul(grad, div(self, result))

A fact is a word of `FAMILY_FACTS` or `OVERLOAD_FACTS` and its value, indented by two spaces; a line that is indented
deeper goes on with the one above. Each may be repeated. ``[*]`` has facts of all families in the file, and the shape rule
and the formula of overloads that have none of their own and are not composed of others.

* The tags, behind the name where all overloads have them, in the fact ``tags`` before a colon and the names of those that
  have them: torch's, and ours (``view`` for results that share their input's memory, ``factory`` for operators that need no
  tensor, ``window`` for a part whose beginning changes from call to call, which pipelines make at once of an array that is
  there, ``copy`` for results with the elements of the first argument).
* ``variants``: overloads that compute the same in place or into ``out=`` tensors. Their schemas follow (`variant_schema`).
  One whose schema does not, or that has facts of its own, has a line with the fact ``functional``.
* ``order``: overloads that calls ask in another order than that of the rows.
* ``says``, ``means``, ``returns``: the sentence, and the phrases of arguments and results; see `dispatch_aten.texts`.
* ``promotion``: how the operands' dtypes promote, a member of `dispatch_aten.promotion.Promotion`; else the common dtype.
* ``lacks``: kinds of dtypes that torch refuses, bool, integers, floats, halves and complex ones by their first letters, or
  none; then the kernel's name in torch's message, if it is not the operator's with ``_cpu``, or an error and its text.
* ``shape``: the shape rule, by default that of element-wise operators where tensors broadcast; ``formula``: the composite
  below autograd (CompositeExplicitAutograd), of an operator with a gradient of its own or without any; ``composite``: one
  that is differentiable through its parts (CompositeImplicitAutograd). Each is a Python expression, mostly a function's
  name (`dispatch_aten.kinds`), or one on the operator's arguments, in which names of operators and signs represent calls
  (`dispatch_aten.expressions`).
* ``opmath``: ``float32`` for an expression that computes on 16-bit numbers in it, torch's opmath type.
* ``alias``: the operator that this one is another name of; ``calls``: one that it calls without being another name of it.
* ``vmap``: ``broadcast`` where it follows from no tag that tensors broadcast, ``other`` for another rule, or none; see
  `broadcasts`.
* ``sample``: the arguments of a right call, in which ``r`` draws arrays; see `dispatch_aten.testing.samples`. Element-wise
  overloads of one or two tensors are called with numbers around 0 by default.
* ``gradient``, ``flows``, ``refuses``, ``tangent``: see `dispatch_aten.derivatives`.

The names of all overloads are found at import; a block is read when one of its operators is first named.

>>> family_of("hypot_").name, [overload.name for overload in family_of("hypot").overloads]
('hypot', ['hypot', 'hypot.out', 'hypot_'])
"""

from __future__ import annotations

import os
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from .reader import Facts, Family, OperatorDef, RowError, read_block, split_blocks
from .variant_schemas import variant_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "FAMILY_TEXTS",
    "KINDS",
    "Family",
    "FamilyText",
    "OperatorDef",
    "RowError",
    "all_families",
    "broadcasts",
    "fact_of",
    "facts_of",
    "family_of",
    "general_facts",
    "line_of",
    "overload_names",
    "overload_of",
    "overloads_with",
    "schema_line_of",
    "variant_schema",
]

KINDS: Final = (
    *("factory", "random", "pointwise", "activation", "comparison", "reduction", "matmul", "loss", "view", "copy"),
    *("indexing", "lists", "attention", "complex_numbers", "convolution", "fft", "linalg", "normalization", "ordering"),
    *("padding", "pooling", "quantization", "recurrent", "resampling", "scatter", "special", "prims"),
)
"""The kinds of operators, in the order in which they are listed."""

#: Not a path of `pathlib`, whose import takes longer than reading all rows.
_FOLDER: Final = os.path.dirname(__file__)  # noqa: PTH120
_COMPOSED: Final = frozenset({"alias", "calls", "composite"})
_NO_FACTS: Final[Facts] = MappingProxyType({})


class FamilyText(NamedTuple):
    """The text of a family that is not read yet: its kind, the file's name, the line of its header, and its lines."""

    kind: str
    file: str
    line: int
    text: str


def _path_of(file: str) -> str:
    return os.path.join(_FOLDER, *file.split("/"))  # noqa: PTH118


def _load(kind: str) -> str:
    # By the loader, which reads archives, too.
    data: bytes = cast("Any", __spec__).loader.get_data(_path_of(f"{kind}/{kind}.rows"))
    return data.decode()


def _find_blocks() -> tuple[dict[str, FamilyText], dict[str, FamilyText]]:
    """Return the block of each overload, and each kind's block of general facts."""
    found: dict[str, FamilyText] = {}
    general: dict[str, FamilyText] = {}
    for kind in KINDS:
        prefix = "prims::" if kind == "prims" else ""
        for line, text, names in split_blocks(_load(kind)):
            block = FamilyText(kind, f"{kind}/{kind}.rows", line, text)
            if text.startswith("[*]"):
                general[kind] = block
            for name in names:
                if found.setdefault(prefix + name, block) is not block:
                    raise RowError(block.file, line, f"{name} is defined twice")
    return found, general


FAMILY_TEXTS, _GENERAL = _find_blocks()
"""The block of each overload, by its name; those of ``prims`` have their namespace before it."""


@cache
def _read(block: FamilyText) -> Family:
    general = None if block.text.startswith("[*]") else general_facts(block.kind)
    return read_block(block.text, block.kind, block.file, block.line, _NO_FACTS if general is None else general.facts)


def family_of(name: str) -> Family:
    """Return the family of an overload, by its name; raise ``KeyError`` where there is none."""
    return _read(FAMILY_TEXTS[name])


def overload_of(name: str) -> OperatorDef:
    """Return an overload's row by its name; raise ``KeyError`` where there is none.

    >>> overload_of("relu").schema, overload_of("prims::permute").name
    ('relu(Tensor self) -> Tensor', 'permute')
    """
    bare = name.rpartition("::")[2]
    return next(each for each in family_of(name).overloads if each.name == bare)


def schema_line_of(name: str) -> str:
    """Return the line with which an overload's schema begins, or that of the functional overload it varies.

    No block is read for it; raises ``KeyError`` where there is no such overload.

    >>> schema_line_of("neg_"), schema_line_of("mul.Scalar")
    ('neg(Tensor self) -> Tensor', 'mul.Scalar(Tensor self, Scalar other) -> Tensor')
    """
    bare, schema, text = name.rpartition("::")[2], "", FAMILY_TEXTS[name].text
    if (start := text.find(f"\n{bare}(") + 1) > 0:
        return text[start:].partition("\n")[0]
    for line in text.split("\n"):
        if line[:1] > " " and line[0] not in "#[":
            schema = line
        elif line.startswith("  variants ") and bare in line.split():
            break
    return schema


def general_facts(kind: str) -> Family | None:
    """Return the facts that hold for all families of a kind."""
    return _read(_GENERAL[kind]) if kind in _GENERAL else None


def all_families() -> Iterator[Family]:
    """Yield every family, reading those that are not read yet."""
    return map(_read, dict.fromkeys(FAMILY_TEXTS.values()))


def facts_of(name: str) -> Facts:
    """Return the facts of an overload by its name; none where there is no such overload.

    >>> facts_of("mul.Scalar")["gradient"], len(facts_of("mul.out")), len(facts_of("no_such"))
    (('self: mul(grad, other)',), 0, 0)
    """
    return family_of(name).rows.get(name, _NO_FACTS) if name in FAMILY_TEXTS else _NO_FACTS


@cache
def overload_names() -> dict[str, str]:
    """Return an overload of each operator by its name without overload, with the namespace of ``prims``."""
    found: dict[str, str] = {}
    for name in FAMILY_TEXTS:
        found.setdefault(name.partition(".")[0], name)
    return found


def fact_of(name: str, fact: str) -> tuple[str, ...]:
    """Return a fact of an overload, or else of its family, or else of its kind, unless the family is another name of one.

    The name may be one without overload.

    >>> fact_of("round.decimals", "lacks"), fact_of("round_", "lacks"), fact_of("special_zeta", "promotion")
    (('bic',), ('bc round_vml_cpu',), ('int_to_float',))
    """
    overload = name if name in FAMILY_TEXTS else overload_names().get(name.partition(".")[0])
    if overload is None:
        return ()
    family = family_of(overload)
    found = facts_of(name).get(fact) or family.facts.get(fact)
    general = None if found or "alias" in family.facts else general_facts(family.kind)
    return found or (() if general is None else general.facts.get(fact, ()))


def line_of(name: str, fact: str, value: str) -> tuple[str, int]:
    """Return the file and the line of a fact of an overload, by the beginning of its value.

    >>> file, line = line_of("relu", "formula", "clamp_min")
    >>> file.endswith("activation.rows"), line > 1
    (True, True)
    """
    block = FAMILY_TEXTS[name]
    bare, is_below = name.rpartition("::")[2], False
    first = value.partition(" ")[0]
    for number, each in enumerate(block.text.split("\n"), block.line):
        is_below = is_below or each.startswith(f"{bare}(")
        if is_below and each.startswith(f"  {fact} ") and first in each:
            return _path_of(block.file), number
    return _path_of(block.file), block.line


def broadcasts(name: str) -> bool:
    """Return whether the tensors of an operator's family broadcast, so that ``vmap`` may call it on batches.

    A family with the tag ``pointwise`` does, unless it is composed of other operators, which ``vmap`` sees.

    >>> broadcasts("mul_.Scalar"), broadcasts("square"), broadcasts("floor_divide"), broadcasts("sum")
    (True, False, True, False)
    """
    if name not in FAMILY_TEXTS:
        return False
    family = family_of(name)
    if "vmap" in family.facts:
        return family.facts["vmap"] == ("broadcast",)
    elementwise = {
        each.name
        for each in family.overloads
        if {"pointwise", "nondeterministic_seeded"} & {*each.tags} == {"pointwise"}
    }
    composed = {name for name, facts in family.rows.items() if _COMPOSED & facts.keys()}
    return not _COMPOSED & family.facts.keys() and bool(elementwise & family.rows.keys() - composed)


def overloads_with(fact: str) -> Iterator[str]:
    """Yield the names of the overloads of ``aten`` that have a fact."""
    for family in all_families():
        if family.kind != "prims":
            yield from (name for name, facts in family.rows.items() if fact in facts)
