import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch_aten.dtypes import bool_, float32, int64
from dispatch_aten.families import FAMILY_TEXTS, FamilyText, RowError, all_families, fact_of, family_of, overload_of
from dispatch_aten.families.reader import FAMILY_FACTS, OVERLOAD_FACTS, read_block, split_blocks
from dispatch_aten.families.variant_schemas import variant_schema
from dispatch_aten.promotion import result_of, rule_for
from dispatch_aten.shapes.refusals import refused_dtypes
from dispatch_core.schema import FunctionSchema

_WORDS = st.lists(st.from_regex(r"[a-z][\w.,=()]{0,8}", fullmatch=True), min_size=1, max_size=40)
_NAMES = st.from_regex(r"[a-z]{1,5}", fullmatch=True)


def _write(word: str, value: str, wide: bool) -> str:
    lines = value.split(" ") if wide else [value]
    return "\n".join([f"  {word:<9} {lines[0]}", *(f"        {line}" for line in lines[1:])])


@pytest.mark.long
@given(st.data(), _NAMES, st.lists(_NAMES, min_size=1, max_size=4, unique=True), st.booleans())
def test_a_block_that_was_written_is_read_as_it_was(data, family, overloads, wide):
    def draw(words):
        return [(word, " ".join(data.draw(_WORDS))) for word in data.draw(st.lists(st.sampled_from(sorted(words))))]

    own = draw(FAMILY_FACTS - {"tags", "order"})
    rows = [(f"{family}.{name}(Tensor self) -> Tensor", draw(OVERLOAD_FACTS - {"variants"})) for name in overloads]
    lines = ["# a comment", f"[{family}]", *(_write(*each, wide) for each in own)]
    for schema, facts in rows:
        lines += [schema, *(_write(*each, wide) for each in facts)]
    ((line, text, names),) = split_blocks("\n".join(lines) + "\n")
    found = read_block(text, "kind")
    assert (line, found.name, names) == (2, family, [each.name for each in found.overloads])
    assert [(word, value) for word, values in found.facts.items() for value in values] == sorted(
        own, key=lambda each: [*dict(own)].index(each[0])
    )
    for (schema, facts), overload in zip(rows, found.overloads, strict=True):
        assert overload.schema == schema
        assert found.rows[overload.name] == {
            word: tuple(value for each, value in facts if each == word) for word in dict(facts)
        }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[f]\n  say  It.", r"^k\.rows:8: unknown fact 'say' of a family; there are alias, calls, lacks, means"),
        (
            "[f]\nf(Tensor self) -> Tensor\n  says  It.",
            r"^k\.rows:9: unknown fact 'says' of an overload; there are calls,",
        ),
        ("[f]\n  says\nf(Tensor self) -> Tensor", r"^k\.rows:8: the fact 'says' has no value"),
        ("[f]\nf -> Tensor", r"^k\.rows:8: 'f -> Tensor' is not a schema"),
        ("[f]\n  tags  pointwise: g\nf(Tensor self) -> Tensor", r"^k\.rows:7: 'g' has tags or a place"),
        (
            "[f]\nf(int a) -> int\n  variants  f.out",
            r"^k\.rows:9: the schema of f\.out does not follow from f\(int a\)",
        ),
    ],
)
def test_an_error_names_the_file_and_the_line(text, error):
    with pytest.raises(RowError, match=error):
        read_block(text, "k", "k.rows", 7)


def test_each_overload_is_read_from_its_block_in_the_order_of_the_names():
    for family in all_families():
        prefix = "prims::" if family.kind == "prims" else ""
        block: FamilyText = FAMILY_TEXTS[prefix + family.overloads[0].name]
        assert [prefix + each.name for each in family.overloads] == [
            name for name, each in FAMILY_TEXTS.items() if each == block
        ]
        assert all(family_of(prefix + each.name) is family for each in family.overloads)


def test_no_schema_is_written_that_follows_and_none_follows_that_is_wrong():
    for family in all_families():
        for each in family.overloads:
            assert str(FunctionSchema.parse(each.schema)) == each.schema
            if family.rows.get(each.name, {}).keys() == {"functional"}:
                assert variant_schema(overload_of(family.functional[each.name]).schema, each.name) != each.schema


def test_lines_are_no_longer_than_those_of_code():
    for block in dict.fromkeys(FAMILY_TEXTS.values()):
        for number, line in enumerate(block.text.split("\n"), block.line):
            assert len(line) <= 120, f"{block.file}:{number}"
            assert line == line.rstrip() and "\t" not in line, f"{block.file}:{number}"


def test_the_dtypes_that_rows_tell_are_read_for_every_operator():
    for name in FAMILY_TEXTS:
        assert result_of(rule_for(name), float32) in (float32, bool_, int64)
        assert {int64, bool_, float32} - refused_dtypes(name), name
        for word in (fact.split(" ")[0] for fact in fact_of(name, "lacks")):
            assert word == "none" or {*word} <= {*"bicfh"}, f"{name} lacks {word}"


def test_an_overload_has_the_rule_and_formula_of_its_kind_unless_it_has_its_own_or_is_composed():
    general = {"shape": ("_rule",), "formula": ("_compute(name)",), "says": ("No.",)}
    schemas = (f"{name}(Tensor self) -> Tensor" for name in ("f", "f.own", "f.parts"))
    block = "[f]\n{}\n{}\n  formula  _own\n{}\n  composite _parts".format(*schemas)
    rows = read_block(block, "kind", general=general).rows
    assert rows["f"] == {"shape": ("_rule",), "formula": ("_compute(name)",)}
    assert rows["f.own"] == {"shape": ("_rule",), "formula": ("_own",)}
    assert rows["f.parts"] == {"composite": ("_parts",)}
    alone = "[f]  pointwise\nf(Tensor self) -> Tensor"
    (broadcasting,) = read_block(alone, "kind", general=general).rows.values()
    assert broadcasting["shape"] == ("pointwise.shapes:elementwise_rule(name, 1)",)
