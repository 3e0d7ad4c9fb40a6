"""Schemas against torch: every one that it knows, and its verdict on texts of our own."""

from __future__ import annotations

import re

import pytest

from dispatch_core.devices import Device
from dispatch_core.errors import SchemaError
from dispatch_core.schema import MISSING, OptionalType, parse_schema, walk

torch = pytest.importorskip("torch", reason="compares with torch itself")


@pytest.fixture(scope="module")
def schemas():
    # One that torch.distributed registers when it is imported has a type that torch prints but cannot parse itself.
    return [schema for schema in torch._C._jit_get_all_schemas() if "PyObject" not in str(schema)]


def sort_aliases(text):
    """Put the names inside every alias set in order, for torch prints them in hash order."""
    return re.sub(r"\((\w+(?:\|\w+)+)\)", lambda found: f"({'|'.join(sorted(found[1].split('|')))})", text)


def test_every_schema_prints_as_torch_prints_it(schemas):
    assert len(schemas) > 4000
    different = [
        str(schema) for schema in schemas if sort_aliases(str(schema)) != sort_aliases(str(parse_schema(str(schema))))
    ]

    assert different == []


def test_every_schema_has_the_structure_that_torch_sees(schemas):
    for theirs in schemas:
        ours = parse_schema(str(theirs))

        name = f"{theirs.name}.{theirs.overload_name}" if theirs.overload_name else theirs.name
        assert str(ours.name) == name
        assert ours.is_mutable == theirs.is_mutable, name
        assert [argument.name for argument in ours.arguments] == [argument.name for argument in theirs.arguments]
        assert [each.name or "" for each in ours.returns] == [each.name or "" for each in theirs.returns]
        for mine, its in zip(ours.arguments, theirs.arguments, strict=True):
            assert mine.kwarg_only == its.kwarg_only, name
            assert isinstance(mine.type, OptionalType) == (its.type.kind() == "OptionalType"), name
            written = its.alias_info is not None and its.alias_info.is_write
            # Of a list, torch tells the list's own annotation only, not that of its elements.
            assert mine.is_write == written or any("[]" in str(part) for part in walk(mine.type)), name
            if its.has_default_value():
                default = list(mine.default) if isinstance(mine.default, tuple) else mine.default
                assert default == its.default_value, name
                # torch reads float? x=1 as an int; a kernel of ours gets a float, as from a caller who writes 1.
                assert type(default) is type(its.default_value) or str(mine.type) == "float?", name
            else:
                assert mine.default is MISSING, name


# Texts on which both parsers must agree, and torch's printing of those that it takes.
TEXTS = """
f(int x) -> int
f(int?[] x) -> ()
f(int[][2] x) -> int[2]
f(int[2][] x) -> ()
f(int[2]?[] x) -> ()
f(Tensor?(a!) x) -> ()
f(Tensor(a)[](b!)? x) -> ()
f(Tensor(a|b -> *) x) -> Tensor(*)
f(Tensor(a!|b) x) -> ()
f(Tensor() x) -> ()
f(Union(int, str) x) -> ()
f(Union(int) x) -> ()
f((int, int)(a) x) -> ()
f(Dict(str, int[2]) x) -> ()
f(Dict(t, int) x) -> ()
f(Dict(Device, Any) x) -> ()
f(Dict(Scalar, int) x) -> ()
f(Future(Tensor)(a) x) -> ()
f(T x) -> ()
f(SymFloat x) -> ()
f(SymBool x, Quantizer q) -> ()
f(int x,) -> ()
f(int if) -> ()
f(int lambda, int yield) -> ()
f(int from) -> ()
f.default() -> ()
f.__x() -> ()
f.if() -> ()
f(..., int x) -> ()
f(int x=1, ...) -> ()
f(int x=1, int y) -> ()
f(int x=1, *, int y) -> ()
f(int x, int x) -> ()
f() -> ((int, int))
f() -> (int, ...)
f() -> (..., int)
f(int x=None, str y=None) -> ()
f(int[] x=None) -> ()
f(Tensor x=None) -> ()
f(Tensor x=1) -> ()
f(Tensor[] x=[]) -> ()
f(str[] x=["a"]) -> ()
f(int[] x=1) -> ()
f(int[] x=[1.5]) -> ()
f(int[2] x=[1, 2, 3]) -> ()
f(int[2]? x=[1]) -> ()
f(int?[2] x=1) -> ()
f(bool[2] x=1) -> ()
f(int x=float, ScalarType y=half) -> ()
f(int x=half) -> ()
f(float x=inf) -> ()
f(MemoryFormat x=channels_last) -> ()
f(int x=9223372036854775808) -> ()
f(Any x=1) -> ()
f(Any? x=1.5) -> ()
f(t x=1) -> ()
f(Stream x=None) -> ()
f(Device x=None) -> ()
f(str x="a" "b") -> ()
f(str x=u"a") -> ()
f(int;) -> ()
""".strip().splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_both_accept_and_refuse_the_same_texts(text):
    try:
        theirs = str(torch._C.parse_schema(text))
    except (RuntimeError, ValueError, IndexError):
        with pytest.raises(SchemaError):
            parse_schema(text)
    else:
        assert parse_schema(theirs) == parse_schema(text)


WORDS = "uint8 int8 short int long half float double cfloat bool qint8 bfloat16 float8_e5m2 uint16 uint1 int7 complex32"


@pytest.mark.parametrize("word", [*WORDS.split(), "float4_e2m1fn_x2", "strided", "Mean", "contiguous_format"])
def test_words_stand_for_the_same_numbers(word):
    text = f"f(ScalarType x={word}) -> ()"

    assert parse_schema(text).arguments[0].default == torch._C.parse_schema(text).arguments[0].default_value


def test_a_device_that_torch_prints_without_quotes_reads_back():
    printed = str(torch._C.parse_schema('f(Device x="cuda:1") -> ()'))

    assert parse_schema(printed).arguments[0].default == Device("cuda", 1)


def test_an_anonymous_alias_set_that_torch_prints_reads_back():
    printed = str(torch._C.parse_schema("f(Tensor! x) -> ()"))

    assert parse_schema(printed) == parse_schema("f(Tensor! x) -> ()")
