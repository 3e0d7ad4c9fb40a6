"""Every operator has a sentence, every argument and named result a phrase, and nothing is written for what is not there."""

import re
import tomllib
from importlib.resources import files

import pytest

from dispatch_aten.families import KINDS, all_families, general_facts
from dispatch_aten.operators import ATEN, PRIMS
from dispatch_aten.texts import (
    alias_of,
    base_of,
    compose,
    document_operator,
    page_of,
    page_of_operator,
    phrase_of,
    phrase_of_argument,
    result_phrase,
    sentence_of,
    summary_of,
)
from dispatch_core.schema import FunctionSchema

_SCHEMAS = [(each.name.partition(".")[0], FunctionSchema.parse(each.schema)) for each in ATEN]
_SCHEMAS += [(f"prims::{each.name}", FunctionSchema.parse(each.schema)) for each in PRIMS]
_NAMES = sorted({name for name, _ in _SCHEMAS})
_FOLDER = files("dispatch_aten.texts")
_COMMON = tomllib.loads(_FOLDER.joinpath("common.toml").read_text("utf-8"))
_FAMILIES = [*all_families(), *filter(None, map(general_facts, KINDS))]
_PHRASES = ("means", "returns")
#: The verbs that sentences begin with.
_VERBS = """
    Add Average Carry Change Combine Convert Convolve Copying Count Cut Divide Draw Estimate Exchange Expand Factor Fill Find
    Flip Halve In-place Integrate Interleave Interpolate Join Lay Let Limit Make Merge Move Multiply Normalize Pad Put Raise
    Read Repeat Replace Resize Return Reverse Rotate Round Run Scale Set Shift Slide Solve Sort Split Subtract Sum Take
    Transform Transpose Turn Undo Write Repeat Draw Drop
""".split()


def test_every_operator_has_a_sentence_that_begins_with_a_verb_and_fits_on_a_line() -> None:
    assert {name for name in _NAMES if sentence_of(name) is None} == set()
    for name in _NAMES:
        sentence = sentence_of(name)
        assert sentence is not None
        assert re.match(r"[A-Z][^\n]{5,115}\.\Z", sentence), (name, sentence)
        assert sentence.split()[0] in _VERBS, (name, sentence)


def test_every_argument_and_named_result_has_a_phrase() -> None:
    missing = {
        (name, each.name)
        for name, schema in _SCHEMAS
        for each in schema.arguments
        if not phrase_of_argument(name, each)
    }
    assert missing == set()
    results = {(name, each.name) for name, schema in _SCHEMAS for each in schema.returns if each.name}
    assert {each for each in results if result_phrase(*each) is None} == set()


def test_phrases_are_neither_sentences_nor_longer_than_a_line() -> None:
    written = [
        each.partition(": ")[2] for family in _FAMILIES for fact in _PHRASES for each in family.facts.get(fact, ())
    ]
    for phrase in (*written, *(phrase for table in _COMMON.values() for phrase in table.values())):
        assert 4 < len(phrase) < 115, phrase
        assert not phrase.endswith("."), phrase


def test_no_phrase_stands_for_an_argument_or_result_that_is_not_there() -> None:
    arguments = {(name, each.name) for name, schema in _SCHEMAS for each in schema.arguments}
    results = {(name, each.name) for name, schema in _SCHEMAS for each in schema.returns}
    known = {argument for _, argument in arguments}
    for family in _FAMILIES:
        name = f"prims::{family.name}" if family.kind == "prims" else family.name
        for fact, there in (("means", arguments), ("returns", results)):
            for word in (each.partition(": ")[0] for each in family.facts.get(fact, ())):
                assert word in known if name == "*" else (name, word) in there, (name, word)
    assert ({*_COMMON["arguments"]} | {*_COMMON["backward"]}) - known == set()


def test_general_phrases_are_sorted() -> None:
    for section in _COMMON.values():
        assert list(section) == sorted(section)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("add_", "add"),
        ("gelu_backward", "gelu"),
        ("view_copy", "view"),
        ("__xor__", None),
        ("copy_", "copy"),
        ("copy", None),
    ],
)
def test_an_operator_follows_from_another_by_its_name(name: str, base: str | None) -> None:
    assert base_of(name) == base


def test_names_that_are_no_operators_have_no_text() -> None:
    assert sentence_of("no_such") is alias_of("no_such") is base_of("no_such_") is summary_of("no_such") is None
    assert document_operator("aten::no_such") is document_operator("aten::") is None
    assert phrase_of("no_such", "no_such") is None
    assert page_of("torch", "no_such") is page_of("no_such", "add") is page_of_operator("_softmax") is None


def test_an_aliass_text_names_the_operator_that_it_stands_for() -> None:
    assert summary_of("arccos", "torchlike.") == f"{sentence_of('acos')}\n\nAnother name of ``torchlike.acos``."


def test_links_to_pages_are_well_formed() -> None:
    links = [page for name in _NAMES if (page := page_of_operator(name)) is not None]
    assert len(links) > 600
    assert all(re.fullmatch(r"https://docs\.pytorch\.org/docs/stable/[\w./#]+", link) for link in links)


def test_a_docstring_leaves_out_sections_that_are_empty() -> None:
    assert compose("Do this.", {}) == "Do this."
    text = compose("Do this.", {"x": "a number"}, example=">>> 1\n1")
    assert text == "Do this.\n\nArguments:\n    x: a number\n\nExample:\n    >>> 1\n    1"
