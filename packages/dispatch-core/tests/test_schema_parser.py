"""Reading and printing schemas: real ones, generated ones, and malformed ones."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dispatch_core import Library, Registry
from dispatch_core.devices import Device
from dispatch_core.errors import SchemaError
from dispatch_core.schema import (
    MISSING,
    AliasInfo,
    Argument,
    BaseType,
    ClassType,
    DictType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    SchemaSyntaxError,
    TupleType,
    TypeVariable,
    UnionType,
    WrapperType,
    parse_schema,
)

# Schemas of torch, each for a corner of the grammar: alias sets, wildcards, type variables, tuples, dictionaries,
# optional lists of optionals, open ends, Python's keywords as names, escapes, sized lists, custom classes, tuples alone.
REAL = (
    r"""
aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
aten::to.prim_Device(Tensor(a) self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) ->
    Tensor(a|b)
prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(a|b)
aten::setdefault.str(Dict(str, t)(a!) self, str(b -> *) key, t(c -> *) default_value) -> t(*)
aten::dict.str((str, tVal)[] inputs) -> Dict(str, tVal)
aten::sorted.int(int[](a) input) -> int[]
aten::copy.t(t[](a) self) -> t[]
aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, bool? retain_graph=None, bool
    create_graph=False, bool allow_unused=False) -> Tensor?[]
prim::rpc_async(...) -> ...
prim::IgnoredPythonOp(...) -> NoneType
aten::_foreach_acos.out(Tensor[] self, *, Tensor(a!)[] out) -> ()
aten::_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()
aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs,
    Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay,
    float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
aten::native_batch_norm.out(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,
    bool training, float momentum, float eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) save_invstd) ->
    (Tensor(a!), Tensor(b!), Tensor(c!))
aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!)
    running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)
aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor
aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
    ceil_mode=False) -> Tensor
aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride,
    SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3]
    output_mask) -> (Tensor, Tensor, Tensor)
aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor
aten::_test_string_default(Tensor dummy, str a="\"\'\\", str b="\"\'\\") -> Tensor
aten::strip(str self, str chars=" \n\t\f\v") -> str
onednn::qlinear_pointwise(Tensor qx, float x_scale, int x_zero_point, Tensor qw, Tensor w_scale, Tensor
    w_zero_point, Tensor? bias, float output_scale, int output_zero_point, ScalarType? output_dtype, str
    post_op_name, Scalar?[] post_op_args, str post_op_algorithm) -> Tensor
c10d::reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, __torch__.torch.classes.c10d.ProcessGroup
    process_group, __torch__.torch.classes.c10d.ReduceOp reduce_op, bool async_op=True, int timeout=-1) ->
    (Tensor[], __torch__.torch.classes.c10d.Work)
aten::norm.dtype_out(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype, Tensor(a!) out) ->
    Tensor(a!)
aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)
aten::record_stream(Tensor(a!) self, Stream s) -> ()
aten::set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)
aten::__isnot__(t1 self, t2 obj) -> bool
prim::id(AnyClassType? x) -> int
aten::items.str(Dict(str, t) self) -> ((str, t)[])
static_runtime::clamp_nan_to_num(Tensor input, Scalar? min, Scalar? max, float? nan, float? posinf, float? posinf)
    -> Tensor
""".strip()
    .replace("\n    ", " ")
    .splitlines()
)


@pytest.mark.parametrize("text", REAL, ids=lambda text: text.split("(")[0])
def test_a_real_schema_prints_as_it_was_read(text):
    assert str(parse_schema(text)) == text


def default_of(argument):
    (found,) = parse_schema(f"f({argument}) -> ()").arguments
    return found.default


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("bool x=True", True),
        ("int x=-1", -1),
        ("int x=- 1", -1),
        ("int x=-9223372036854775808", -(2**63)),
        ("int x=None", None),
        ("int x=1.5", 1.5),
        ("float x=1", 1.0),
        ("float x=1.", 1.0),
        ("float x=.5", 0.5),
        ("float x=1.0000000000000001e-05", 1e-05),
        ("float x=99999999999999999999", 1e20),
        ("Scalar x=1", 1),
        ("Scalar x=2j", 2j),
        ("complex x=1", 1 + 0j),
        ("complex x=0.+1.j", 1j),
        ("complex x=-1.5-2j", -1.5 - 2j),
        ("str x='a\"b'", 'a"b'),
        ('str x="\\n\\t\\f\\v\\001\\\\"', "\n\t\f\v\x01\\"),
        ('str x="""a"""', "a"),
        ('str x="a # b"', "a # b"),
        ('str x="é"', "é"),
        ("str x=''", ""),
        ("ScalarType x=long", 4),
        ("ScalarType? x=bfloat16", 15),
        ("ScalarType x=half", 5),
        ("int x=float", 6),
        ("Layout x=strided", 0),
        ("int x=Mean", 1),
        ("MemoryFormat x=contiguous_format", 0),
        ('Device x="npu:1"', Device("npu", 1)),
        ('Device? x="cpu"', Device("cpu")),
        ("Device x=cuda:0", Device("cuda", 0)),
        ("Device? x=None", None),
        ("Tensor x=None", None),
        ("Generator x=None", None),
        ("Tensor? x=None", None),
        ("int[2] x=1", (1, 1)),
        ("SymInt[3] x=0", (0, 0, 0)),
        ("int[2] x=[]", ()),
        ("int[2] x=[1]", (1,)),
        ("int[2]? x=1", (1, 1)),
        ("int[2]? x=None", None),
        ("float[2] x=1", (1.0, 1.0)),
        ("float[] x=[1, -2.5]", (1.0, -2.5)),
        ("bool[2] x=True", (True, True)),
        ("bool[] x=[True, False]", (True, False)),
        ("complex[] x=[1j, 2]", (1j, 2 + 0j)),
        ("int[] x=[Mean]", (1,)),
        ("int[0] x=1", ()),
    ],
)
def test_a_default_is_the_value_that_a_kernel_gets(argument, value):
    found = default_of(argument)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("f(int[2] x=1) -> ()", "f(int[2] x=1) -> ()"),
        ("f(int[2]? x=1) -> ()", "f(int[2]? x=1) -> ()"),
        ("f(int[] x=[1,-2]) -> ()", "f(int[] x=[1, -2]) -> ()"),
        ("f(float x=1e-05) -> ()", "f(float x=1e-05) -> ()"),
        ("f(ScalarType x=long) -> ()", "f(ScalarType x=long) -> ()"),
        ("f(Device x=cuda:0) -> ()", 'f(Device x="cuda:0") -> ()'),
        ("f(complex x=0.+1.j) -> ()", "f(complex x=0.+1.j) -> ()"),
        ("f(Tensor! x) -> ()", "f(Tensor! x) -> ()"),
        ("f(Tensor($0! -> ) x) -> ()", "f(Tensor! x) -> ()"),
        ("f(Tensor?(a)[] x) -> ()", "f(Tensor(a)?[] x) -> ()"),
        ("f(Tensor(b|a -> a|b) x) -> ()", "f(Tensor(a|b) x) -> ()"),
        ("f(Tensor(a! -> *) x) -> ()", "f(Tensor(a! -> *) x) -> ()"),
        ("f(Tensor(a)[](b!)? x) -> ()", "f(Tensor(a)[](b!)? x) -> ()"),
        ("f(int[2](a!)? x) -> ()", "f(int[2](a!)? x) -> ()"),
        ("f(Union(Tensor(a), int)(b!)[] x) -> ()", "f(Union(Tensor(a), int)(b!)[] x) -> ()"),
        ("f(int?? x) -> ()", "f(int? x) -> ()"),
        ("f(int?[] x, int[]?[]? y) -> ()", "f(int?[] x, int[]?[]? y) -> ()"),
        ("f(int[][2] x) -> int[2]", "f(int[][2] x) -> int[2]"),
        ("f(Dict(str, Dict(int, int[])) x) -> ()", "f(Dict(str, Dict(int, int[])) x) -> ()"),
        ("f(() x, (int) y) -> (...)", "f(() x, (int) y) -> ..."),
        ("f(Await(int)? x) -> (int, ...)", "f(Await(int)? x) -> (int, ...)"),
        ("f(int x, *, *, int y) -> ()", "f(int x, *, int y) -> ()"),
        ("f(int x, *) -> ()", "f(int x) -> ()"),
        ("f(int x, *, ...) -> ()", "f(int x, ...) -> ()"),
        ("f(int x=1, *, int y) -> ()", "f(int x=1, *, int y) -> ()"),
        ("f() -> (Tensor)", "f() -> Tensor"),
        ("f() -> (Tensor out)", "f() -> Tensor out"),
        ("f() -> ((int, int))", "f() -> ((int, int))"),
        ("f() -> ((int, int)?)", "f() -> ((int, int)?)"),
        ("f() -> (int, int from)", "f() -> (int, int from)"),
        ("f(Tensor(a)self)->Tensor(a)", "f(Tensor(a) self) -> Tensor(a)"),
        (" a ::b . c (\n  int x, # why\n  int y\n)\n->\n(int, # what\n int)\n", "a::b.c(int x, int y) -> (int, int)"),
    ],
)
def test_printing_reads_back_and_settles(written, printed):
    schema = parse_schema(written)

    assert str(schema) == printed
    assert parse_schema(printed) == schema


def assert_shows_its_place(fault, text):
    """Check that the line at fault is shown as it is, with a caret under the column that the message names."""
    *_, shown, caret = str(fault).removesuffix(f"\nHint: {fault.hint}").split("\n")
    assert shown == "  " + text.split("\n")[fault.line - 1]
    assert caret.index("^") == fault.column + 1
    assert caret.strip() == "^"
    assert 1 <= fault.column <= len(shown) - 1
    assert f"(line {fault.line}, column {fault.column})" in str(fault)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f",
        "aten::add.Tensor",
        "f(",
        "f()",
        "f() ->",
        "f() - > ()",
        "f(int x) -> () extra",
        "f.default() -> ()",
        "f.__x() -> ()",
        "a::b::c() -> ()",
        "a:b() -> ()",
        "a::in() -> ()",
        "2a() -> ()",
        "f.b.c() -> ()",
        "f(int) -> ()",
        "f(int x,) -> ()",
        "f(, int x) -> ()",
        "f(int if) -> ()",
        "f(int None) -> ()",
        "f(int x, * int y) -> ()",
        "f(..., int x) -> ()",
        "f(int x=1, ...) -> ()",
        "f(int x=1, int y) -> ()",
        "f() -> int, int",
        "f() -> (int,)",
        "f() -> (..., int)",
        "f() -> (int x=1)",
        "f(Foo x) -> ()",
        "f(_t x) -> ()",
        "f(SymFloat x) -> ()",
        "f(Dimname x) -> ()",
        "f(Dict(str) x) -> ()",
        "f(Dict(t, int) x) -> ()",
        "f(Dict(int?, int) x) -> ()",
        "f(Future x) -> ()",
        "f(Union(int) x) -> ()",
        "f(__torch__.Nope x) -> ()",
        "f(__torch__.torch.classes.ns.C(a!) x) -> ()",
        "f((int, int)(a) x) -> ()",
        "f(Tensor?(a!) x) -> ()",
        "f(Tensor() x) -> ()",
        "f(Tensor(a!|b) x) -> ()",
        "f(Tensor(a -> b!) x) -> ()",
        "f(Tensor(a -> ) x) -> ()",
        "f(Tensor!! x) -> ()",
        "f(int[2][] x) -> ()",
        "f(int[2]?? x) -> ()",
        "f(int[-1] x) -> ()",
        "f(int[1.5] x) -> ()",
        "f(int[99999999999] x=1) -> ()",
        "f(Dict(str, int[2]) x) -> ()",
        "f(int x=inf) -> ()",
        "f(float x=nan) -> ()",
        "f(float x=1e400) -> ()",
        "f(MemoryFormat x=channels_last) -> ()",
        "f(int x=half) -> ()",
        "f(int x=9223372036854775808) -> ()",
        "f(int x=1_000) -> ()",
        "f(int x=0x10) -> ()",
        "f(int x=--1) -> ()",
        "f(int x=1+1) -> ()",
        "f(int x=-True) -> ()",
        "f(Tensor x=1) -> ()",
        "f(Tensor[] x=[]) -> ()",
        "f(str[] x=['a']) -> ()",
        "f(int[] x=1) -> ()",
        "f(int[] x=[1.5]) -> ()",
        "f(int[] x=[True]) -> ()",
        "f(int[] x=[1,]) -> ()",
        "f(int[2]? x=[1]) -> ()",
        "f(int[] x=[[1]]) -> ()",
        "f(Any x=1) -> ()",
        "f(t x=1) -> ()",
        "f(Stream x=None) -> ()",
        "f(Device x=None) -> ()",
        "f(Device x='c p u') -> ()",
        "f(str x='a) -> ()",
        "f(str x='a\nb') -> ()",
        r"f(str x='\q') -> ()",
        r"f(str x='\x41') -> ()",
        "f(int é) -> ()",
        "f(int\N{NO-BREAK SPACE}x) -> ()",
        "f(int x;) -> ()",
        "f(float x=" + "9" * 5000 + ") -> ()",
        "f(int x=" + "9" * 300 + "j) -> () 1",
        "f(" + "(" * 100_000,
        "f(" + "Dict(int, " * 5000 + "int" + ")" * 5000 + " x) -> ()",
        "f(int" + "[]" * 5000 + " x) -> ()",
        "f(int" + "?[]" * 5000 + " x) -> ()",
    ],
    ids=lambda text: text[:40],
)
def test_malformed_text_is_refused_with_its_place(text):
    with pytest.raises(SchemaSyntaxError) as caught:
        parse_schema(text)

    assert_shows_its_place(caught.value, text)


def test_the_caret_stands_under_the_fault():
    with pytest.raises(SchemaError) as caught:
        parse_schema("f(Tensor self,  # the input\n\tint[2][] size) -> ()")

    assert str(caught.value) == (
        "a list of fixed size can only be the outermost list (line 2, column 8)\n  \tint[2][] size) -> ()\n  \t      ^"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(int x -> ()", "expected ',' or ')' after the argument but found '->' (line 1, column 9)"),
        ("f(Foo x) -> ()", "unknown type 'Foo' (line 1, column 3)"),
        ("f(int in) -> ()", "expected the argument's name but found the keyword 'in' (line 1, column 7)"),
        ("f(int x) ->", "expected a type but found the end (line 1, column 12)"),
        ("f(int x=1, int y) -> ()", "argument 'y' needs a default, because one before it has one (line 1, column 12)"),
        ("f.default() -> ()", "'default' cannot name an overload (line 1, column 3)"),
        ("f(Tensor?(a!) x) -> ()", "an alias annotation cannot stand after '?' (line 1, column 10)"),
        ("f(str x='\\q') -> ()", "unknown escape '\\q' (line 1, column 9)"),
    ],
)
def test_a_message_says_what_was_expected(text, message):
    with pytest.raises(SchemaError, match=re.escape(message)):
        parse_schema(text)


def test_what_is_no_text_is_refused():
    with pytest.raises(SchemaError, match="a schema is text, not int"):
        parse_schema(3)


names = st.sampled_from(["self", "from", "x", "_y1", "Out", "lambda", "tensor", "dim"])
aliases = st.builds(
    lambda before, after, write: AliasInfo(before, after or before, write),
    st.frozensets(st.sampled_from(["a", "b", "*"]), min_size=1),
    st.none() | st.frozensets(st.sampled_from(["a", "c", "*"]), min_size=1),
    st.booleans(),
) | st.just(AliasInfo(frozenset(), frozenset(), is_write=True))
maybe_alias = st.none() | aliases
BASES = ["Tensor", "int", "SymInt", "float", "bool", "str", "Scalar", "Device", "ScalarType", "Any", "NoneType"]
leaves = (
    st.builds(BaseType, st.sampled_from(BASES), maybe_alias)
    | st.builds(TypeVariable, st.sampled_from(["t", "tVal", "t1"]), maybe_alias)
    | st.just(ClassType("__torch__.torch.classes.c10d.Work"))
)


keys = st.builds(BaseType, st.sampled_from(["int", "str", "Tensor", "Device"]), maybe_alias)


def optional(element):
    return element if isinstance(element, OptionalType) else OptionalType(element)


def compounds(inner):
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return (
        inner.map(optional)
        | st.builds(ListType, inner, st.none(), maybe_alias)
        | st.builds(DictType, keys, inner, maybe_alias)
        | st.lists(inner, max_size=3).map(tuple).map(TupleType)
        | st.builds(UnionType, several, maybe_alias)
        | st.builds(WrapperType, st.sampled_from(["Future", "RRef", "Await"]), inner)
    )


types = st.recursive(leaves, compounds, max_leaves=5)
sized = st.builds(ListType, types, st.integers(0, 9), maybe_alias)
whole_types = types | sized | sized.map(OptionalType)
finite = st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(-(2**63), 2**63 - 1)
numbers = st.complex_numbers(allow_nan=False, allow_infinity=False)
words = st.text(st.characters(exclude_categories=["Cs"]))
DEFAULTS = [
    (BaseType("int"), integers),
    (BaseType("bool"), st.booleans()),
    (BaseType("float"), finite),
    (BaseType("Scalar"), integers | finite | st.booleans()),
    (BaseType("complex"), numbers),
    (BaseType("str"), words),
    (BaseType("Device"), st.builds(Device, st.sampled_from(["cpu", "npu"]), st.none() | st.integers(0, 9))),
    (BaseType("Tensor"), st.none()),
    (OptionalType(BaseType("float")), st.none() | finite),
    (OptionalType(BaseType("str")), st.none() | words),
    (ListType(BaseType("int")), st.lists(integers, max_size=3).map(tuple)),
    (ListType(BaseType("float"), 2), st.lists(finite, max_size=3).map(tuple)),
    (ListType(BaseType("bool")), st.lists(st.booleans(), max_size=3).map(tuple)),
    (ListType(BaseType("complex")), st.lists(numbers, max_size=3).map(tuple)),
    (OptionalType(ListType(BaseType("int"), 2)), st.none() | integers.map(lambda x: (x, x))),
]
defaulted = st.sampled_from(DEFAULTS).flatmap(lambda row: st.tuples(st.just(row[0]), row[1]))


@st.composite
def schemas(draw):
    vararg = draw(st.booleans())
    arguments = [Argument(draw(names), draw(whole_types)) for _ in range(draw(st.integers(0, 2)))]
    if not vararg:
        arguments += [Argument(draw(names), *draw(defaulted)) for _ in range(draw(st.integers(0, 2)))]
    for _ in range(draw(st.integers(0, 2))):
        with_default = not vararg and draw(st.booleans())
        type_, default = draw(defaulted) if with_default else (draw(whole_types), MISSING)
        arguments.append(Argument(draw(names), type_, default, kwarg_only=True))
    return FunctionSchema(
        OperatorName(draw(st.none() | st.just("aten")), draw(names), draw(st.sampled_from(["", "out", "Tensor"]))),
        tuple(arguments),
        tuple(draw(st.lists(st.builds(Return, st.none() | names, whole_types), max_size=3))),
        vararg,
        draw(st.booleans()),
    )


@given(schemas())
def test_any_schema_prints_to_text_that_reads_back(schema):
    text = str(schema)
    found = parse_schema(text)

    assert found == schema
    assert hash(found) == hash(schema)
    assert str(found) == text


SPLICES = [*"()[]!?*|.,:=-+'\"\\#$ \n_9aé", "->", "...", "::", "Tensor", "int", "Dict(", "Union(", "None", "1e5", "[2]"]


@st.composite
def mutations(draw):
    text = draw(st.sampled_from(REAL) | schemas().map(str))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 3)))
        text = text[:start] + draw(st.just("") | st.sampled_from(SPLICES) | st.text(max_size=2)) + text[end:]
    return text


@settings(max_examples=200)
@given(mutations() | st.text())
@example('f(str x=""""") -> ()')
@example("f(str x='\\")
@example("f(int x=.) -> ()")
@example("f(Device x=cpu:)")
def test_malformed_text_gives_a_schema_error_and_nothing_else(text):
    fault = None
    try:
        schema = parse_schema(text)
    except SchemaSyntaxError as caught:
        fault = caught

    if fault is None:
        assert parse_schema(str(schema)) == schema
    else:
        assert_shows_its_place(fault, text)


@settings(max_examples=100)
@given(mutations())
def test_what_a_library_refuses_to_define_leaves_nothing_behind(text):
    registry = Registry()
    library = Library("aten", "DEF", registry=registry)
    with suppress(SchemaError):
        library.define(text)
        library.close()
    assert not registry.entries
    assert not registry.packets
