"""Generated callables mean the same as their plain twins: random schemas, random calls, equal outcomes."""

from __future__ import annotations

import ast
import builtins
import keyword

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core.calls import codegen, lazy_function, signature
from dispatch_core.schema.tokens import is_identifier

#: type in a schema → values that it takes, some of which need coercion.
VALUES = {
    "int": [3, np.int64(4), -1],
    "int?": [None, 5],
    "float": [0.5, 2, np.float32(1.5)],
    "bool": [True, np.True_],
    "Scalar": [1, 2.5, True, np.float64(3.0)],
    "str": ["word"],
    "int[]": [[], [1, 2], (np.int64(3),)],
    "int[2]": [7, [1, 2]],
    "Device?": [None, "toy:1", dc.Device("toy")],
    "Any": [object, None],
}
DEFAULTS = {
    "int": "2",
    "int?": "None",
    "float": "0.25",
    "bool": "False",
    "Scalar": "1",
    "int[2]": "1",
    "Device?": "None",
}
TENSORS = ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]")
WRONG = ["text", 1.25, None, [1.5], [None, 2], object(), {}, b"", (1, "x")]
NAMES = ["self", "input", "other", "dim", "from", "type", "list", "len", "int", "min", "x", "_y", "out"]
RETURNS = ["Tensor", "(Tensor, Tensor)", "Tensor[]", "()", "int", "(Tensor, int)", "Tensor?"]


@st.composite
def schemas(draw):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    keyword_from = draw(st.integers(0, len(names)))
    parts, types, defaulted = [], {}, False
    for index, name in enumerate(names):
        if index == keyword_from:
            parts.append("*")
        kind = types[name] = draw(st.sampled_from([*TENSORS, *VALUES] if index else TENSORS))
        wants_default = kind in DEFAULTS and draw(st.booleans())
        if defaulted and index < keyword_from and not wants_default:
            # After a default, positional arguments need one each.
            kind = types[name] = "int"
            wants_default = True
        defaulted = defaulted or wants_default
        parts.append(f"{kind} {name}={DEFAULTS[kind]}" if wants_default else f"{kind} {name}")
    returns = draw(st.sampled_from(RETURNS))
    return f"f({', '.join(parts)}) -> {returns}", types, keyword_from


@st.composite
def calls(draw):
    """Draw a schema and arguments for it; tensors are spelled 'T', so that both twins get arrays of their own."""
    text, types, keyword_from = draw(schemas())
    args, kwargs = [], {}
    positional = True
    for index, (name, kind) in enumerate(types.items()):
        fate = draw(st.sampled_from(["right"] * 12 + ["wrong", "leave out"]))
        positional = positional and index < keyword_from and draw(st.integers(0, 4)) > 0 and fate != "leave out"
        if fate == "leave out":
            continue
        if fate == "wrong":
            value = draw(st.sampled_from(WRONG))
        elif kind in TENSORS:
            choices = {"Tensor": ["T"], "Tensor?": ["T", None], "Tensor[]": [["T"], ["T", "T"], ("T",)]}
            value = draw(st.sampled_from(choices.get(kind, [["T", None], ["T"], (None, "T")])))
        else:
            value = draw(st.sampled_from(VALUES[kind]))
        if positional:
            args.append(value)
        else:
            kwargs[name] = value
    if draw(st.integers(0, 15)) == 0:
        kwargs["surprise"] = 1
    if draw(st.integers(0, 15)) == 0:
        args.append(3)
    return text, args, kwargs


def plain(value):
    """Spell a value by type and content, whatever object it is."""
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(plain, value))
    if hasattr(value, "_dispatch_data"):
        return ("tensor", plain(value._dispatch_data))
    if hasattr(value, "a"):
        return (type(value).__name__, value.a.tolist())
    return (type(value).__name__, repr(value) if type(value) is not object else "object")


def outcome(first_calls, text, args, kwargs, backend, frontend, key):
    """Call an operator in a fresh registry; return the kernel's arguments and the caller's result."""
    registry = dc.Registry(interpreted=first_calls is None)
    seen = []

    def kernel(*args, **kwargs):
        seen.append((plain(args), sorted((name, plain(value)) for name, value in kwargs.items())))
        returns = text.rpartition("-> ")[2]
        fresh = lambda: backend.array([len(seen), len(args)])
        if key != backend.key.name and frontend is not None:
            fresh = lambda: frontend.wrap(backend.array([1]))
        return {
            "Tensor": fresh,
            "(Tensor, Tensor)": lambda: (fresh(), fresh()),
            "Tensor[]": lambda: [fresh()] * 2,
            "()": lambda: None,
            "int": lambda: 5,
            "(Tensor, int)": lambda: (fresh(), 6),
            "Tensor?": lambda: None,
        }[returns]()

    def made(value):
        if isinstance(value, str) and value == "T":
            array = backend.array([1, 2])
            return array if frontend is None else frontend.wrap(array)
        return type(value)(map(made, value)) if isinstance(value, list | tuple) else value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lazy_function, "FIRST_CALLS", first_calls)
        registry.register_schema("t::f", text)
        registry.register_kernel("t::f", key, kernel)
        return seen, find_outcomes(registry, key, backend, args, kwargs, made)


def find_outcomes(registry, key, backend, args, kwargs, made):
    args, kwargs = [made(value) for value in args], {name: made(value) for name, value in kwargs.items()}
    found = []
    for call in (
        lambda: registry.ops.t.f(*args, **kwargs),
        lambda: registry.ops.t.f.default(*args, **kwargs),
        lambda: registry.ops.t.f.redispatch([backend.key, key], *args, **kwargs),
        lambda: registry.dispatch_with_keyset("t::f", backend.key, *args, **kwargs),
        lambda: registry.call_direct("t::f", key, *args, **kwargs),
    ):
        try:
            with dc.include_keys("Tracer"):
                found.append(plain(call()))
        except dc.ArgumentError as error:
            found.append(str(error))
        except TypeError as error:
            # CPython's own words for missing, unexpected and doubled arguments; the twin says the same in its own.
            found.append("TypeError" if is_arity(str(error)) else repr(error))
        except dc.NoKernelError as error:
            found.append(str(error).partition("\n")[0])
    return [answer if isinstance(answer, tuple) or not is_arity(answer) else "TypeError" for answer in found]


def is_arity(text):
    return any(words in text for words in ("() missing", "() takes", "unexpected keyword", "multiple values"))


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("key", ["Toy", "Tracer", "CompositeImplicitAutograd", "CompositeExplicitAutograd"])
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(made=calls())
def test_random_calls_have_equal_outcomes(toy, tensors, wrapped, key, made):
    text, args, kwargs = made
    frontend = tensors if wrapped else None
    interpreted = outcome(None, text, args, kwargs, toy, frontend, key)
    assert outcome(0, text, args, kwargs, toy, frontend, key) == interpreted  # generated code
    assert outcome(8, text, args, kwargs, toy, frontend, key) == interpreted  # first calls


@settings(max_examples=200)
@given(made=schemas())
def test_generated_code_calls_no_builtin_that_an_argument_may_hide(made):
    text, _, _ = made
    found = signature.make_signature(dc.FunctionSchema.parse(text), lambda value: False)
    if not found.is_specializable:
        return
    source = codegen.call_source(found)
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    assert used & set(vars(builtins)) - {parameter.word for parameter in found.parameters} <= signature._CALLED
    assert not {parameter.word for parameter in found.parameters} & signature._CALLED


@pytest.fixture
def compilations(monkeypatch):
    """Every text that is compiled from here on, however it is compiled."""
    seen = []
    compiled = builtins.compile

    def counted(source, *args, **kwargs):
        seen.append(source)
        return compiled(source, *args, **kwargs)

    monkeypatch.setattr(builtins, "compile", counted)
    return seen


#: Names that the text of generated functions cannot use: Python's keywords, builtins that it calls, its own variables.
AWKWARD = [*filter(is_identifier, sorted({*keyword.kwlist, *signature._CALLED})), "__m", "__c", "__table", "__0"]


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("form", ["int {0}", "int {0}=2", "*, int {0}", "*, int {0}=2", "int {0}, ..."])
def test_an_arguments_name_costs_no_code_after_the_first_call(
    toy, tensors, compilations, monkeypatch, interpreted, name, form
):
    monkeypatch.setattr(lazy_function, "FIRST_CALLS", 0)
    registry = dc.Registry(interpreted=interpreted)
    makes = []

    def make(op, keyset):
        makes.append(keyset)
        return lambda x, *args, **kwargs: sum(args) + sum(kwargs.values())

    with dc.Library("t", "DEF", registry=registry) as library:
        library.define(f"f(Tensor x, {form.format(name)}) -> int")
        library.impl("f", dc.KernelFactory(make), toy.key)
        op, array = registry.ops.t.f.default, tensors.wrap(toy.array([1]))
        by_position, has_default = "*" not in form, "=" in form

        def calls():
            yield op(array, **{name: 5})
            yield op(x=array, **{name: 6})
            yield op.redispatch(toy.key, array, **{name: 7})
            if by_position:
                yield op(array, 8)
            if has_default:
                yield op(array)
                yield op.redispatch(toy.key, array)

        expected = [5, 6, 7, *[8] * by_position, *[2, 2] * has_default]
        assert list(calls()) == expected
        del compilations[:], makes[:]
        assert list(calls()) == expected
        assert not compilations
        assert not makes
        with pytest.raises(TypeError, match=r"multiple values|takes 1 positional"):
            op(array, 1, **{name: 2})
        if not has_default:
            with pytest.raises(TypeError, match=rf"missing 1 required \S+ argument: '{name}'"):
                op(array)


@pytest.mark.parametrize("name", ["from", "None_", "type", "list", "len", "isinstance", "self", "cls"])
def test_arguments_may_have_any_name(registry, library, toy, name):
    library.define(f"f(Tensor x, int {name}, *, int other=1) -> int")
    library.impl("f", lambda x, n, *, other: 10 * n + other, toy.key)
    array = toy.array([1])
    assert registry.ops.t.f(array, 2) == 21
    assert registry.ops.t.f(x=array, **{name: 3}, other=4) == 34
    assert registry.ops.t.f.default.redispatch(toy.key, array, **{name: 3}) == 31


def test_self_can_be_given_by_keyword_at_the_first_call(registry, library, toy):
    for number in range(2):
        library.define(
            f"f{number}(Tensor self, *, int keyset=0, int op=0, int args=0, int kwargs=0, int name=0) -> int"
        )
        library.impl(f"f{number}", lambda self, **rest: sum(rest.values()), toy.key)
    array = toy.array([1])
    ones = dict.fromkeys("keyset op args kwargs name".split(), 1)
    assert registry.ops.t.f0(self=array, **ones) == 5
    assert registry.ops.t.f0.default(self=array, **ones) == 5
    assert registry.ops.t.f1.default.redispatch(toy.key, self=array, **ones) == 5
    assert registry.dispatch("t::f1", self=array, **ones) == 5
    assert registry.dispatch_with_keyset("t::f1", toy.key, self=array, **ones) == 5
    assert registry.redispatch("t::f1", toy.key, self=array, **ones) == 5
    assert registry.call_direct("t::f1", toy.key, self=array, **ones) == 5


def test_argument_errors_name_operator_argument_and_declaration(registry, library, toy):
    library.define("f.named(Tensor x, int[2] size, *, float p=0.5) -> Tensor")
    library.impl("f.named", lambda x, size, p: x, toy.key)
    op, array = registry.ops.t.f.named, toy.array([1])
    declaration = "t::f.named(Tensor x, int[2] size, *, float p=0.5) -> Tensor"
    for args, kwargs, words in [
        ((array, "2"), {}, "argument 'size' (position 2) must be tuple of ints, not str"),
        ((array, [1, "2"]), {}, "must be tuple of ints, but found element of type str at pos 1"),
        ((array, 2), {"p": "x"}, "argument 'p' must be float, not str"),
        ((3, 2), {}, "argument 'x' (position 1) must be Tensor, not int"),
        ((array,), {}, "missing 1 required positional argument: 'size'"),
        ((array, 2, 3), {}, "takes 2 positional arguments but 3 were given"),
        ((array, 2), {"q": 1}, "got an unexpected keyword argument 'q'"),
        ((array, 2), {"x": array}, "got multiple values for argument 'x'"),
    ]:
        with pytest.raises(TypeError) as caught:
            op(*args, **kwargs)
        assert words in str(caught.value)
        assert "t::f.named" in str(caught.value)
        assert declaration in str(caught.value)


def test_no_kernel_runs_when_an_argument_is_wrong(registry, library, toy):
    ran = []
    library.define("f(Tensor(a!) x, int n) -> Tensor(a!)")
    library.impl("f", lambda x, n: ran.append(n), "CompositeImplicitAutograd")
    for bad in ("n", 1.5, None, True):
        with pytest.raises(dc.ArgumentError):
            registry.ops.t.f(toy.array([1]), bad)
    assert not ran


def test_a_kernels_own_error_comes_out_unchained(registry, library, toy, tensors):
    library.define("f(Tensor x) -> Tensor")
    fault = AttributeError("the kernel's own")

    def kernel(x):
        raise fault

    library.impl("f", kernel, toy.key)
    for value in (toy.array([1]), tensors.wrap(toy.array([1]))):
        with pytest.raises(AttributeError) as caught:
            registry.ops.t.f(value)
        assert caught.value is fault
        assert fault.__context__ is None


def test_lists_reach_the_kernel_as_the_caller_gave_them(registry, library, toy, tensors):
    seen = []
    library.define("f(Tensor[] xs, int[] size) -> ()")
    library.impl("f", lambda xs, size: seen.extend([xs, size]), toy.key)
    xs, size = [toy.array([1])], (1, 2)
    registry.ops.t.f(xs, size)
    assert seen[0] is xs
    assert seen[1] is size
    registry.ops.t.f(tuple(map(tensors.wrap, xs)), size)
    assert [type(x) for x in seen[2]] == [toy.array]


def test_a_subclass_of_list_or_tuple_is_a_list_of_tensors(registry, library, toy, tensors):
    class Row(tuple):
        __slots__ = ()

    library.define("f(Tensor[] xs) -> int")
    library.impl("f", len, toy.key)
    for wrap in (lambda array: array, tensors.wrap):
        assert registry.ops.t.f(Row([wrap(toy.array([1])), wrap(toy.array([2]))])) == 2
    with pytest.raises(dc.ArgumentError, match="must be tuple of Tensors, not ToyArray"):
        registry.ops.t.f(toy.array([1]))


def test_an_array_of_a_type_that_was_not_seen_before_is_found_at_the_call(registry, library, toy):
    class Derived(toy.array):
        __slots__ = ()

    library.define("f(Tensor x, Tensor? y=None) -> str")
    library.impl("f", lambda x, y: type(x).__name__, toy.key)
    assert registry.ops.t.f(Derived([1])) == "Derived"
    assert registry.ops.t.f(toy.array([1]), Derived([1])) == "ToyArray"


def test_vararg_operators_pass_on_what_comes_last(registry, library, toy):
    library.define("f(int x, ...) -> ...")
    library.impl("f", lambda *args: args, "CompositeImplicitAutograd")
    assert registry.ops.t.f(1, "two", 3.0) == (1, "two", 3.0)
    library.define("g(Tensor x, ...) -> ...")
    library.impl("g", lambda *args: args, toy.key)
    array = toy.array([1])
    assert registry.ops.t.g(array, "two", 3.0) == (array, "two", 3.0)


def test_a_keyset_argument_may_be_anything_that_spells_one(registry, library, toy):
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, toy.key)
    op, array = registry.ops.t.f.default, toy.array([1])
    for _ in range(2):
        for keyset in (toy.key, toy.key.value, "Toy", ["Toy"], {toy.key}, dc.DispatchKeySet(toy.key)):
            assert op.redispatch(keyset, array) == 1
            assert registry.redispatch("t::f", keyset, array) == 1
            assert registry.dispatch_with_keyset("t::f", keyset, array) == 1
    for unknown in (1 << 63, -1, "Nothing"):
        with pytest.raises(dc.DispatchKeyError):
            op.redispatch(unknown, array)


def test_the_generated_source_can_be_looked_at():
    schema = dc.FunctionSchema.parse("t::f(Tensor x, *, int n=1) -> Tensor")
    source = codegen.call_source(signature.make_signature(schema, lambda value: False))
    assert source.startswith("def __call(x, __stop=__nothing, n=__default1):")
    ast.parse(source)


# Note [The specialized mask is compiled in]


def test_a_registration_reaches_callers_whose_code_has_taken_the_kernel_in(registry, library, toy, tensors):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: toy.array([1]), toy.key)
    op, x = registry.ops.t.f.default, tensors.wrap(toy.array([0]))
    results = [op(x), op(x)]
    with dc.Library("t", "IMPL", registry=registry) as newer:
        with pytest.warns(dc.OverwriteWarning):
            newer.impl("f", lambda x: toy.array([2]), toy.key)
        results += [op(x), op(x)]
    results += [op(x)]
    layer = dc.Library("_", "IMPL", registry=registry)
    layer.fallback(lambda op, x: tensors.wrap(toy.array([3])), "Tracer")
    with dc.include_keys("Tracer"):
        results += [op(x)]
    layer.close()
    results += [op(x)]
    assert [result._dispatch_data.a.tolist() for result in results] == [[1], [1], [2], [2], [1], [3], [1]]


def test_a_call_under_way_ends_as_it_began(registry, library, toy, tensors):
    library.define("f(Tensor x) -> (Tensor, Tensor)")

    def other_kernel(x):
        return [x, toy.array([9])]

    def kernel(x):
        if x.a.tolist() == [0]:
            library.impl("f", other_kernel, toy.key)
            op(tensors.wrap(toy.array([5])))  # the code is made again, while this call still runs the old one
        return x, toy.array([1])

    library.impl("f", kernel, toy.key)
    op = registry.ops.t.f.default
    op(tensors.wrap(toy.array([7])))
    with pytest.warns(dc.OverwriteWarning):
        assert op(tensors.wrap(toy.array([0])))[1]._dispatch_data.a.tolist() == [1]
    assert op(tensors.wrap(toy.array([0])))[1]._dispatch_data.a.tolist() == [9]


def test_masks_that_are_not_the_usual_one_go_by_the_table(registry, library, toy, tensors):
    library.define("f(Tensor x, Tensor? y=None) -> str")
    library.impl("f", lambda x, y: "toy", toy.key)
    library.impl("f", lambda x, y: "autograd", "AutogradToy")
    op, x = registry.ops.t.f.default, tensors.wrap(toy.array([1]))
    graded = tensors.wrap(toy.array([1]))
    graded._dispatch_mask |= dc.DispatchKey.AutogradToy
    for first, second in ((x, graded), (graded, x)):
        op._entry.invalidate()
        for _ in range(3):
            assert op(first) == op(first, None) == op(first, first) == ("toy" if first is x else "autograd")
            assert op(second) == op(second, y=None) == ("toy" if second is x else "autograd")
            assert op(x, graded) == op(graded, x) == "autograd"
            assert op(x._dispatch_data) == op(x._dispatch_data, x._dispatch_data) == "toy"
            with dc.exclude_keys("AutogradToy"):
                assert op(graded) == "toy"
            for wrong in ((None,), (3,), (x, 3), (x._dispatch_data, x), (x, x._dispatch_data)):
                with pytest.raises(TypeError):
                    op(*wrong)


def test_an_error_about_missing_arguments_names_the_function_before_its_first_call(library):
    library.define("late(Tensor left, Tensor right) -> Tensor")
    count = dc.rename_arguments(library.registry.ops.t.late.default, "count", object, lambda *args: None)
    assert count.__qualname__ == "count"
