"""Arguments against schemas: the values of each type, how calls are bound, and the errors' texts."""

from __future__ import annotations

import re
from enum import Enum, IntEnum
from fractions import Fraction

import pytest

from dispatch_core import FunctionSchema, Library, Registry
from dispatch_core.devices import Device
from dispatch_core.errors import ArgumentError, NoMatchingOverloadError
from dispatch_core.schema import (
    argument_error,
    bind,
    checker,
    describe_call,
    invalid_combination,
    matches,
    mismatch,
    parse_schema,
)
from dispatch_core.schema.declared_dtypes import spoken_name


class Tensor:
    """Represents any tensor; comparing one would be an operator call."""

    def __eq__(self, other):
        raise AssertionError("a tensor was compared")

    __hash__ = None


class Index:
    def __index__(self):
        return 7


class BadIndex:
    def __index__(self):
        raise ValueError("too many elements")


class Hostile:
    """An object whose conversions raise errors of their own."""

    def __index__(self):
        raise ZeroDivisionError

    __float__ = __index__


class HostileNumber(float):
    """A number whose conversions raise errors of their own."""

    def __float__(self):
        raise KeyError


class Stream:
    """A stream of random numbers, as an operator library has them."""

    __schema_type__ = "Generator"


class Number(IntEnum):
    THREE = 3


class Kind(Enum):
    """A dtype, as an operator library has them."""

    __schema_type__ = "ScalarType"
    float32 = 6


def is_tensor(value):
    return isinstance(value, Tensor)


A, B = Tensor(), Tensor()
ADD = parse_schema("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")


def check(type_text, value):
    (argument,) = parse_schema(f"f({type_text} x) -> ()").arguments
    return checker(argument.type, is_tensor)(value)


@pytest.mark.parametrize(
    ("type_text", "value", "expected"),
    [
        ("int", 3, 3),
        ("int", 2**63 - 1, 2**63 - 1),
        ("int", -(2**63), -(2**63)),
        ("Scalar", 2**64 - 1, 2**64 - 1),
        ("SymInt", Index(), 7),
        ("int", Number.THREE, 3),
        ("float", 1.5, 1.5),
        ("float", 2, 2.0),
        ("float", True, 1.0),
        ("float", Fraction(1, 2), 0.5),
        ("bool", True, True),
        ("Scalar", 2, 2),
        ("Scalar", True, True),
        ("Scalar", 1j, 1j),
        ("Scalar", Number.THREE, 3),
        ("complex", 2, 2 + 0j),
        ("str", "sum", "sum"),
        ("ScalarType", Kind.float32, Kind.float32),
        ("Layout", Number.THREE, Number.THREE),
        ("Device", "npu:1", Device("npu", 1)),
        ("Device", Device("cpu"), Device("cpu")),
        ("int[]", (1, Index()), (1, 7)),
        ("int[]", [Index()], [7]),
        ("int[]", (), ()),
        ("int[2]", 3, (3, 3)),
        ("int[1]", 3, (3,)),
        ("SymInt[2]?", 3, (3, 3)),
        ("float[2]", 1, (1.0, 1.0)),
        ("int[2]", (1, 2, 3), (1, 2, 3)),
        ("float[]", [1, 2.5], [1.0, 2.5]),
        ("int?", None, None),
        ("int?", 2, 2),
        ("Scalar?[]", [None, 1], [None, 1]),
        ("str[][]", [["a"], []], [["a"], []]),
        ("(int, str)", (1, "a"), (1, "a")),
        ("Dict(str, int)", {"a": 1}, {"a": 1}),
        ("Dict(str, int)", {"a": Index()}, {"a": 7}),
        ("Union(int, str)", "a", "a"),
        ("Any", None, None),
        ("t", None, None),
        ("NoneType", None, None),
    ],
)
def test_a_type_accepts_and_coerces(type_text, value, expected):
    found = check(type_text, value)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("type_text", "value"),
    [
        ("Tensor", A),
        ("Tensor?", A),
        ("Tensor[]", [A, B]),
        ("Tensor[]", (A,)),
        ("Tensor?[]", [None, A]),
        ("Tensor[][]", [[A], (B,)]),
        ("Dict(str, Tensor)", {"a": A}),
        ("Generator", Stream()),
        ("Quantizer", object()),
        ("Any", A),
        ("t[]", [A]),
        ("int[]", (1, 2)),
        ("__torch__.torch.classes.c10d.Work", object()),
    ],
)
def test_what_fits_is_handed_on_as_it_is(type_text, value):
    assert check(type_text, value) is value


@pytest.mark.parametrize(
    ("type_text", "value", "message"),
    [
        ("Tensor", 1, "must be Tensor, not int"),
        ("Tensor", None, "must be Tensor, not NoneType"),
        ("Tensor?", "a", "must be Tensor, not str"),
        ("int", True, "must be int, not bool"),
        ("int", 1.0, "must be int, not float"),
        ("int", BadIndex(), "must be int, not BadIndex"),
        ("SymInt", "3", "must be int, not str"),
        ("float", 10**400, "must be float, not an int beyond its range"),
        ("bool", 1, "must be bool, not int"),
        ("Scalar", "1", "must be Number, not str"),
        ("Scalar", A, "must be Number, not Tensor"),
        ("complex", True, "must be complex, not bool"),
        ("str", b"a", "must be str, not bytes"),
        ("ScalarType", 6, "must be ScalarType, not int"),
        ("ScalarType", "float", "must be ScalarType, not str"),
        ("Device", 0, "must be Device, not int"),
        ("Device", "c p u", "must be Device such as 'cpu' or 'npu:1', not 'c p u'"),
        ("Generator", None, "must be Generator, not NoneType"),
        ("Generator", object(), "must be Generator, not object"),
        ("int", Hostile(), "must be int, not Hostile"),
        ("int", 2**63, "must be int within 64 bits, not an int of 64 bits"),
        (
            "SymInt[]",
            [-(2**63) - 1],
            "must be tuple of ints: element 0 must be int within 64 bits, not an int of 64 bits",
        ),
        ("Scalar", 2**64, "must be Number within 64 bits, not an int of 65 bits"),
        ("complex", 10**400, "must be complex within 64 bits, not an int of 1329 bits"),
        ("int[]", [Hostile()], "must be tuple of ints, but found element of type Hostile at pos 0"),
        ("Scalar", HostileNumber(), "must be Number, not HostileNumber"),
        ("float", HostileNumber(), "must be float, not HostileNumber"),
        ("NoneType", 1, "must be None, not int"),
        ("int[]", 3, "must be tuple of ints, not int"),
        ("int[2]", "a", "must be tuple of ints, not str"),
        ("int[]", (1, "a"), "must be tuple of ints, but found element of type str at pos 1"),
        ("Tensor[]", A, "must be tuple of Tensors, not Tensor"),
        ("Tensor[1]", A, "must be tuple of Tensors, not Tensor"),
        ("Tensor[]", [A, None], "must be tuple of Tensors, but found element of type NoneType at pos 1"),
        (
            "Tensor[][]",
            [[A], [1]],
            "must be tuple of tuples of Tensors: element 1 must be tuple of Tensors, but found element of type int at pos 0",
        ),
        ("(int, str)", (1,), "must be (int, str), not tuple"),
        ("(int, str)", (1, 2), "must be (int, str), but found element of type int at pos 1"),
        ("Dict(str, int)", [], "must be Dict(str, int), not list"),
        ("Dict(str, int)", {"a": "b"}, "must be Dict(str, int): at key 'a', it must be int, not str"),
        ("Union(int, str)", 0.5, "must be Union(int, str), not float"),
    ],
)
def test_what_does_not_fit_is_named(type_text, value, message):
    message = message.replace("ScalarType", spoken_name())  # the operator library's word, once that is loaded
    with pytest.raises(TypeError, match=re.escape(message) + r"\Z"):
        check(type_text, value)


def test_numpy_scalars_become_pythons_own():
    np = pytest.importorskip("numpy", reason="the core itself does without NumPy")
    cases = [
        ("int", np.int64(3), 3),
        ("float", np.float32(0.5), 0.5),
        ("float", np.float64(0.5), 0.5),
        ("bool", np.bool_(True), True),
        ("Scalar", np.float32(0.5), 0.5),
        ("Scalar", np.float64(0.5), 0.5),
        ("Scalar", np.int8(3), 3),
        ("Scalar", np.bool_(True), True),
        ("Scalar", np.complex64(1j), 1j),
        ("complex", np.float32(2), 2 + 0j),
    ]

    for type_text, value, expected in cases:
        found = check(type_text, value)
        if type_text == "float" and isinstance(value, float):
            found = float(found)
        assert (found, type(found)) == (expected, type(expected)), type_text


@pytest.mark.parametrize("type_text", ["int", "float", "bool", "Scalar"])
def test_numpys_other_scalars_and_its_arrays_are_no_numbers(type_text):
    np = pytest.importorskip("numpy", reason="the core itself does without NumPy")

    for value in (np.array([1.5, 2.5]), np.str_("a")):
        with pytest.raises(TypeError, match="must be"):
            check(type_text, value)


def test_binding_fills_in_defaults_in_schema_order():
    first, second, alpha = bind(ADD, (A,), {"alpha": 2.5, "other": B}, is_tensor)

    assert first is A
    assert second is B
    assert alpha == 2.5


def test_a_default_stands_outside_its_types_rules():
    schema = parse_schema("f(Tensor x=None, int[2] y=[], bool z=1) -> ()")

    assert bind(schema, (None,), {}, is_tensor) == (None, (), 1)


def test_an_open_schema_takes_further_arguments():
    schema = parse_schema("f(int x, ...) -> ()")

    assert bind(schema, (1, "a", None), {}, is_tensor) == (1, "a", None)
    assert not matches(schema, ("a", 1), {}, is_tensor)


def test_the_first_of_two_arguments_answers_to_their_name():
    schema = parse_schema("f(float? x, float? x) -> ()")

    assert bind(schema, (None, 1.0), {}, is_tensor) == (None, 1.0)
    assert mismatch(schema, (), {"x": 1.0}, is_tensor) == "() missing 1 required positional argument: 'x'"


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "() missing 2 required positional arguments: 'self' and 'other'"),
        ((A,), {}, "() missing 1 required positional argument: 'other'"),
        ((A,), {"self": B}, "() got multiple values for argument 'self'"),
        ((A, B), {"beta": 1}, "() got an unexpected keyword argument 'beta'"),
        ((A, B, 2), {}, "() takes 2 positional arguments but 3 were given"),
        ((A, "b"), {}, "(): argument 'other' (position 2) must be Tensor, not str"),
        ((A, B), {"alpha": "2"}, "(): argument 'alpha' must be Number, not str"),
    ],
)
def test_a_call_that_does_not_fit_says_why(args, kwargs, reason):
    assert mismatch(ADD, args, kwargs, is_tensor) == reason
    assert not matches(ADD, args, kwargs, is_tensor)
    with pytest.raises(ArgumentError) as caught:
        bind(ADD, args, kwargs, is_tensor)
    lines = str(caught.value).split("\n")
    assert lines[:2] == [f"aten::add.Tensor{reason}", f"Declaration: {ADD}"]
    assert isinstance(caught.value, TypeError)
    assert caught.value.__context__ is None


def test_keyword_only_arguments_are_hinted_at():
    with pytest.raises(ArgumentError, match="Hint: 'alpha' can be given by keyword only"):
        bind(ADD, (A, B, 2), {}, is_tensor)


@pytest.mark.parametrize(
    ("text", "args", "reason"),
    [
        ("f(int x, int y=1) -> ()", (1, 2, 3), "() takes from 1 to 2 positional arguments but 3 were given"),
        ("f() -> ()", (1,), "() takes 0 positional arguments but 1 was given"),
        ("f(int x) -> ()", (1, 2), "() takes 1 positional argument but 2 were given"),
        ("f(*, int a, int b) -> ()", (), "() missing 2 required keyword-only arguments: 'a' and 'b'"),
        ("f(int a, int b, int c) -> ()", (), "() missing 3 required positional arguments: 'a', 'b', and 'c'"),
    ],
)
def test_counts_are_told_as_python_tells_them(text, args, reason):
    assert mismatch(parse_schema(text), args, {}, is_tensor) == reason


@pytest.mark.parametrize(
    ("text", "args", "kwargs"),
    [
        ("def f(x, y=1): ...", (1, 2, 3), {}),
        ("def f(): ...", (1,), {}),
        ("def f(a, b, c): ...", (), {}),
        ("def f(a, b): ...", (1,), {}),
        ("def f(*, a, b): ...", (), {}),
        ("def f(a): ...", (1,), {"a": 1}),
        ("def f(a): ...", (1,), {"b": 1}),
    ],
)
def test_the_words_are_those_of_python_itself(text, args, kwargs):
    space = {}
    exec(text, space)
    inside = re.search(r"\((.*)\)", text)[1]
    typed = ", ".join(part if part in ("*", "") else f"int {part}" for part in inside.split(", "))

    with pytest.raises(TypeError) as caught:
        space["f"](*args, **kwargs)

    assert f"f{mismatch(parse_schema(f'f({typed}) -> ()'), args, kwargs, is_tensor)}" == str(caught.value)


def test_an_argument_error_names_argument_and_declaration():
    assert str(argument_error(ADD, 1, "b", "must be Tensor, not str")) == (
        f"aten::add.Tensor(): argument 'other' (position 2) must be Tensor, not str\nDeclaration: {ADD}"
    )


@pytest.mark.parametrize(
    ("type_text", "value", "expected"),
    [
        ("int[]", [1, "a"], "must be tuple of ints, but found element of type str at pos 1"),
        ("Device", "c p u", "must be Device such as 'cpu' or 'npu:1', not 'c p u'"),
        ("Tensor[][]", [[1]], "must be tuple of tuples of Tensors, not list"),
        ("int", 1, "must be int, not int"),
    ],
)
def test_an_argument_error_finds_its_reason_itself(type_text, value, expected):
    schema = parse_schema(f"f({type_text} x) -> ()")

    assert expected in str(argument_error(schema, 0, value))


def test_a_call_is_described_by_its_types():
    given = describe_call((A, [1, 2.0], (), (1, 1, 1, 1, 1)), {"dim": None})

    assert given == "(Tensor, list of [int, float], tuple, tuple of (int, int, int, int, ...), dim=NoneType)"


def test_an_invalid_combination_shows_every_overload_and_what_it_misses():
    schemas = [ADD, parse_schema("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")]

    fault = invalid_combination("add", schemas, (A, "b"), {}, is_tensor)

    assert isinstance(fault, NoMatchingOverloadError)
    assert str(fault) == (
        "add() received an invalid combination of arguments - got (Tensor, str), but expected one of:\n"
        f" * {schemas[0]}\n"
        "     argument 'other' (position 2) must be Tensor, not str\n"
        f" * {schemas[1]}\n"
        "     argument 'other' (position 2) must be Number, not str"
    )


class Lent:
    """Represents a number where one is expected."""

    def __init__(self, number):
        self.number = number

    def __schema_number__(self):
        return self.number


def test_an_object_stands_for_a_number_unless_the_check_is_strict():
    schema = FunctionSchema.parse("f(Scalar x, float? y=None) -> ()")
    assert bind(schema, (Lent(2), Lent(3)), {}, lambda _: False) == (2, 3.0)
    assert matches(schema, (Lent(2),), {}, lambda _: False)
    assert not matches(schema, (Lent(2),), {}, lambda _: False, strict=True)
    for type_text, number in (("int", 1), ("float[]", 1), ("Scalar", None), ("float", 1j)):
        with pytest.raises(ArgumentError, match="must be"):
            bind(FunctionSchema.parse(f"f({type_text} x) -> ()"), (Lent(number),), {}, lambda _: False)


def test_an_overload_for_the_object_itself_goes_before_one_for_its_number():
    registry = Registry()
    library = Library("demo", "DEF", registry=registry)
    for overload, kind in (("number", "Scalar"), ("any", "Any"), ("text", "str")):
        library.define(f"f.{overload}({kind} x) -> str")
        library.impl(f"f.{overload}", lambda x: type(x).__name__)
    assert registry.ops.demo.f(Lent(2)) == "Lent"
    library.define("g.number(Scalar x) -> str")
    library.impl("g.number", lambda x: type(x).__name__)
    library.define("g.text(str x) -> str")
    assert registry.ops.demo.g(Lent(2)) == "int"
    with pytest.raises(NoMatchingOverloadError):
        registry.ops.demo.g(Lent(None))
