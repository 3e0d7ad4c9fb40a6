"""Schemas as data: names, alias annotations, and properties of the arguments."""

from __future__ import annotations

import copy
import pickle

import pytest

from dispatch_core.errors import SchemaError
from dispatch_core.schema import (
    MISSING,
    AliasInfo,
    Argument,
    BaseType,
    FunctionSchema,
    OperatorName,
    Return,
    parse_schema,
)

ADD = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def arguments_of(text):
    return parse_schema(f"f({text}) -> ()").arguments


@pytest.mark.parametrize(
    ("text", "name", "packet"),
    [
        ("aten::add.Tensor", OperatorName("aten", "add", "Tensor"), "aten::add"),
        ("aten::add", OperatorName("aten", "add"), "aten::add"),
        ("add.out", OperatorName(None, "add", "out"), "add"),
        ("_add", OperatorName(None, "_add"), "_add"),
    ],
)
def test_an_operator_name_reads_and_prints(text, name, packet):
    assert OperatorName.parse(text) == name
    assert str(name) == text
    assert name.packet == packet


@pytest.mark.parametrize("text", ["", "a b", "aten:add", "aten::", "::add", "a::b::c", "add.", "add.a.b", "2a", "é"])
def test_what_is_no_operator_name_is_refused(text):
    with pytest.raises(SchemaError, match="is not an operator's name"):
        OperatorName.parse(text)


def test_positional_and_keyword_only_arguments_are_told_apart():
    schema = parse_schema(ADD)

    assert [argument.name for argument in schema.positional] == ["self", "other"]
    assert [argument.name for argument in schema.keyword_only] == ["alpha"]


def test_a_default_of_none_is_a_default():
    required, optional = arguments_of("Tensor? x, Tensor? y=None")

    assert required.default is MISSING
    assert not required.has_default
    assert optional.default is None
    assert optional.has_default


@pytest.mark.parametrize(
    ("argument", "alias", "is_write"),
    [
        ("Tensor x", None, False),
        ("Tensor(a) x", "(a)", False),
        ("Tensor(a!) x", "(a!)", True),
        ("Tensor(a!)? x", "(a!)", True),
        ("Tensor(a!)[] x", "(a!)", True),
        ("Tensor(a -> *) x", "(a -> *)", False),
        ("Tensor(a!)[](b) x", "(b)", True),
        ("Tensor(a)[](b!)? x", "(b!)", True),
        ("Dict(str, t)(a!) x", "(a!)", True),
        ("Tensor! x", "!", True),
    ],
)
def test_an_argument_knows_its_alias_and_whether_it_is_written(argument, alias, is_write):
    (found,) = arguments_of(argument)

    assert (None if found.alias is None else str(found.alias)) == alias
    assert found.is_write is is_write
    assert parse_schema(f"f({argument}) -> ()").is_mutable is is_write


def test_alias_sets_compare_without_order():
    first, second = parse_schema("f() -> Tensor(b|a)"), parse_schema("f() -> Tensor(a|b)")

    assert first == second
    assert first.returns[0].alias == AliasInfo(frozenset("ab"), frozenset("ab"))


def test_returns_know_their_alias():
    first, second = parse_schema("f(Tensor(a!) x) -> (Tensor(a!) out, int n)").returns

    assert first == Return("out", BaseType("Tensor", AliasInfo(frozenset("a"), frozenset("a"), is_write=True)))
    assert first.is_write
    assert (second.name, second.alias, second.is_write) == ("n", None, False)


def test_the_dispatcher_looks_at_four_kinds_of_arguments():
    schema = parse_schema(
        "f(Tensor a, Scalar b, Tensor? c, Tensor[] d, Tensor?[] e, Tensor[][] g, Tensor[]? h, Tensor?[]? i, "
        "Dict(str, Tensor) j, (Tensor, Tensor) k, Any l, *, Tensor(a!) m, Tensor(b!)[] n, Tensor[2] o) -> ()"
    )

    found = [(tensor.argument.name, tensor.kind) for tensor in schema.tensor_arguments]

    assert found == [
        ("a", "tensor"),
        ("c", "optional"),
        ("d", "list"),
        ("e", "optional_list"),
        ("m", "tensor"),
        ("n", "list"),
        ("o", "list"),
    ]
    assert all(schema.arguments[tensor.index] is tensor.argument for tensor in schema.tensor_arguments)
    assert schema.tensor_arguments is schema.tensor_arguments


def test_a_schema_without_namespace_can_be_put_into_one():
    schema = parse_schema("add.Tensor(Tensor self) -> Tensor")

    assert str(schema.with_namespace("aten").name) == "aten::add.Tensor"
    assert schema.with_namespace("aten").with_namespace("aten") == schema.with_namespace("aten")


def test_a_schema_stays_in_its_namespace():
    with pytest.raises(SchemaError, match=r"aten::add\.Tensor is in namespace 'aten', not in 'mine'"):
        parse_schema(ADD).with_namespace("mine")


def test_a_schema_that_contradicts_itself_cannot_be_made():
    name, integer = OperatorName(None, "f"), BaseType("int")

    with pytest.raises(SchemaError, match="f: argument 'y' needs a default"):
        FunctionSchema(name, (Argument("x", integer, 1), Argument("y", integer)), ())
    with pytest.raises(SchemaError, match="positional argument 'y' follows a keyword-only one"):
        FunctionSchema(name, (Argument("x", integer, kwarg_only=True), Argument("y", integer)), ())
    with pytest.raises(SchemaError, match=r"'x' has a default in a schema that ends in '\.\.\.'"):
        FunctionSchema(name, (Argument("x", integer, 1),), (), is_vararg=True)


def test_the_spelling_of_a_default_does_not_count_in_comparisons():
    assert parse_schema("f(int[2] x=1, float y=1.) -> ()") == parse_schema("f(int[2] x=[1,1], float y=1) -> ()")
    assert parse_schema("f(int x=1) -> ()") != parse_schema("f(int x=2) -> ()")
    assert parse_schema("f(int x=1) -> ()") != parse_schema("f(int x) -> ()")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda schema: pickle.loads(pickle.dumps(schema))])
def test_schemas_copy_and_pickle(duplicate):
    schema = parse_schema(ADD)
    _ = schema.tensor_arguments  # Cached properties must not stand in the way.

    found = duplicate(schema)

    assert found == schema
    assert str(found) == ADD
    assert found.arguments[0].default is MISSING


def test_a_schema_cannot_be_changed():
    with pytest.raises(AttributeError):
        parse_schema(ADD).name = OperatorName(None, "other")
