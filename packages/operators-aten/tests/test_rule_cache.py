"""Cached shape rules answer as plain ones do, whatever was asked before."""

import gc
import math
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch_aten import dtypes
from dispatch_aten.dtypes import bool_, complex64, float16, float32, float64, int32, int64, uint8
from dispatch_aten.operators import ATEN
from dispatch_aten.shapes import RULES, HasSpec, TensorMeta, cached_rule, contiguous, memoize, rule_cache, rule_key
from dispatch_aten.shapes.rules import reads_types_only
from dispatch_aten.variants import functional_of
from dispatch_core import FunctionSchema

pytestmark = pytest.mark.no_pipeline(reason="asks shape rules, and calls no operator")


class Array(HasSpec):
    __slots__ = ()

    def __init__(self, meta):
        self.spec, self.storage_offset = meta.at_start(), meta.storage_offset


def array(*shape, dtype=float32):
    return Array(contiguous(shape, dtype))


OPERATORS = {operator.name: operator for operator in ATEN if operator.name in RULES and "out" not in operator.tags}
RULE = {name: cached_rule(name) for name in OPERATORS}
SCHEMAS = {name: FunctionSchema.parse(operator.schema) for name, operator in OPERATORS.items()}

sizes = st.sampled_from([(), (1,), (2,), (3,), (0,), (2, 3), (1, 3), (3, 2), (2, 2), (2, 0), (2, 3, 2), (1, 2, 2, 2)])
types = st.sampled_from([float32, float32, int64, bool_, float16, float64, int32, uint8, complex64])


@st.composite
def descriptions(draw):
    meta = contiguous(draw(sizes), draw(types))
    layout = draw(st.sampled_from(["as it is", "as it is", "reversed", "expanded", "further on"]))
    if layout == "reversed":
        return TensorMeta(meta.shape[::-1], meta.strides[::-1], meta.dtype)
    if layout == "expanded":
        return TensorMeta(meta.shape, (0,) * meta.ndim, meta.dtype)
    return TensorMeta(meta.shape, meta.strides, meta.dtype, 3) if layout == "further on" else meta


NUMBERS = [True, False, 0, 1, 2, -1, 0.0, 1.0, 2.5, -1.0, math.inf, math.nan, 1j, 1 + 0j, 300]
numbers = st.sampled_from(NUMBERS)
ints = st.integers(-3, 3)
tensors = descriptions().map(Array)
VALUES = {
    "Tensor": tensors,
    "Tensor[]": st.lists(tensors, max_size=3),
    "Tensor?[]": st.lists(st.none() | tensors, max_size=3),
    "Scalar": numbers,
    "float": st.sampled_from([0.0, 0.5, 1.0, -1.0, 1.5, math.inf]),
    "float[]": st.lists(st.sampled_from([0.0, 1.0, 2.5]), max_size=3),
    "int": ints,
    "int[]": st.lists(ints, max_size=3) | st.lists(ints, max_size=3).map(tuple),
    "bool": st.booleans(),
    "bool[]": st.lists(st.booleans(), min_size=3, max_size=3),
    "str": st.sampled_from(["none", "tanh", "floor", "trunc", "no"]),
    "ScalarType": types,
    "MemoryFormat": st.sampled_from([0, 1, 2]),
    "Layout": st.none(),
    "Device": st.sampled_from(["meta", []]),
    "Generator": st.builds(object),
}


def values_of(kind):
    optional = kind.endswith("?")
    found = VALUES[kind.removesuffix("?")]
    return st.none() | found if optional else found


@st.composite
def calls(draw, names=OPERATORS):
    name = draw(st.sampled_from(sorted(names)))
    args, kwargs = [], {}
    for argument in SCHEMAS[name].arguments:
        kind = rule_cache._ASIDE.sub("", str(argument.type)).replace("SymInt", "int")
        value = draw(values_of(kind))
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return name, args, kwargs


def plain(value):
    if isinstance(value, HasSpec):
        return value.spec
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def outcome(rule, args, kwargs):
    """Return the result of a rule, in a form that tells numbers of different types apart, or how it fails."""
    try:
        found = rule(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # whatever it is, the other rule is to raise it too
        return type(error), str(error)
    return [repr(meta) for meta in found] if isinstance(found, (list, tuple)) else repr(found)


@pytest.mark.long
@settings(max_examples=1500)
@given(calls())
def test_a_cached_rule_answers_as_the_plain_one_does(call):
    name, args, kwargs = call

    def rule(*args, **kwargs):
        found = RULES[name](*args, **kwargs)
        if found is None or {"view", "inplace"} & {*OPERATORS[name].tags}:
            return found
        return [meta.at_start() for meta in found] if isinstance(found, (list, tuple)) else found.at_start()

    expected = outcome(rule, plain(args), {key: plain(value) for key, value in kwargs.items()})
    assert [outcome(RULE[name], args, kwargs) for _ in range(2)] == [expected, expected]


def test_numbers_that_are_equal_but_of_different_types_are_not_mixed_up():
    full, mul = cached_rule("full"), cached_rule("mul.Scalar")
    for _ in range(2):
        assert [full((2,), value).dtype for value in (True, 1, 1.0, 1 + 0j)] == [bool_, int64, float32, complex64]
        assert [mul(array(2, dtype=bool_), value).dtype for value in (1.0, 1, True)] == [float32, int64, bool_]


def test_the_same_question_is_answered_by_the_same_object_without_asking():
    add = cached_rule("add.Tensor")
    answer = add(array(2, 1), array(3), alpha=1)
    assert add(array(2, 1), array(3), alpha=1) is answer
    assert cached_rule("add.Tensor")(array(2, 1), array(3), alpha=2) is answer


def test_the_values_of_an_element_wise_operators_numbers_are_not_kept():
    answers, _ = rule_cache._cache_of("mul.Scalar")
    mul, x = cached_rule("mul.Scalar"), array(7, 5)
    mul(x, 0.5)
    before = len(answers)
    for number in range(50):
        mul(x, number / 7)
    assert len(answers) == before


BY_TYPE = tuple(name for name in OPERATORS if reads_types_only(functional_of(name) or name))


@pytest.mark.long
@settings(max_examples=1500)
@given(calls(BY_TYPE), st.data())
def test_a_rule_of_which_numbers_count_by_type_does_not_look_at_their_values(call, data):
    name, args, kwargs = call
    same = {kind: [number for number in NUMBERS if type(number) is kind] for kind in (bool, int, float, complex)}
    kinds = iter(rule_key(name)._kinds)

    def another(value):
        counts = next(kinds) in rule_cache._NUMBERS and value is not None
        return data.draw(st.sampled_from(same[type(value)])) if counts else plain(value)

    others = [another(value) for value in args], {key: another(value) for key, value in kwargs.items()}
    expected = outcome(RULES[name], map(plain, args), {key: plain(value) for key, value in kwargs.items()})
    assert outcome(RULES[name], *others) == expected


def test_the_values_of_numbers_that_a_rule_looks_at_are_kept():
    backward, x = cached_rule("elu_backward"), array(3)
    assert backward(x, 1.0, 1, 1, True, x).shape == (3,)
    with pytest.raises(RuntimeError, match="negative slope"):
        backward(x, -1.0, 1, 1, True, x)


def test_an_answer_under_another_default_dtype_is_another():
    full = cached_rule("full")
    try:
        assert full((5,), 2.5).dtype is float32
        dtypes.set_default_dtype(float64)
        assert full((5,), 2.5).dtype is float64
    finally:
        dtypes.set_default_dtype(float32)
    assert full((5,), 2.5).dtype is float32


@pytest.fixture
def rule(monkeypatch):
    """Make a cached rule of a function, in place of ``relu``'s."""

    def make(function):
        monkeypatch.setitem(RULES, "relu", function)
        forget()
        return cached_rule("relu")

    def forget():
        rule_cache._cache_of.cache_clear()
        cached_rule.cache_clear()

    yield make
    forget()


def test_an_answer_during_which_the_default_dtype_changed_is_not_kept(rule):
    def changing(self):
        found = contiguous(self.shape)
        dtypes.set_default_dtype(float64)
        dtypes.set_default_dtype(float32)
        asked.append(found)
        return found

    asked = []
    relu = rule(changing)
    x = array(2)
    assert (relu(x), relu(x)) == tuple(asked)
    assert len(asked) == 2


def test_an_error_is_raised_again_each_time_and_chained_to_nothing():
    mm = cached_rule("mm")
    found = []
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"cannot be multiplied \(2x3 and 2x3\) .*aten::mm") as caught:
            mm(array(2, 3), array(2, 3))
        found.append(caught.value)
    assert found[0] is not found[1]
    assert found[0].args == found[1].args
    assert [error.__context__ for error in found] == [None, None]


def test_what_cannot_be_kept_is_asked_each_time(rule):
    asked = []

    def counted(self):
        asked.append(self)
        return contiguous((2,))

    relu = rule(counted)
    assert relu([array(2)]) == relu([array(2)]) == contiguous((2,))
    assert len(asked) == 2
    dims = cached_rule("permute")
    assert dims(array(2, 3), [True, 0]) is dims(array(2, 3), [1, 0])
    with pytest.raises(TypeError, match=r"unhashable|not supported"):
        cached_rule("select.int")(array(2, 3), [], 0)


def test_answers_are_bounded(rule):
    relu = rule(lambda self: self)
    for size in range(rule_cache._LIMIT + 10):
        relu(array(size))
    answers, _ = rule_cache._cache_of("relu")
    assert 0 < len(answers) <= rule_cache._LIMIT


def test_threads_share_rules_and_descriptions(rule):
    relu = rule(lambda self: TensorMeta(self.shape, self.strides, self.dtype, 0))
    start = threading.Barrier(8)
    found = []

    def work():
        start.wait()
        found.append([relu(array(size % 50, 3)) for size in range(500)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(a is b for each in found for a, b in zip(each, found[0], strict=True))


def test_a_kernel_makes_its_result_of_the_answer_and_the_first_tensor():
    x = array(2, 3)
    assert cached_rule("t", lambda found, first: (found.shape, first))(x) == ((3, 2), x)
    assert cached_rule("cat", lambda found, first: (found.shape, first))([x, x]) == ((4, 3), None)


def test_arguments_may_be_left_out_and_given_by_name_as_the_schema_says():
    total = cached_rule("sum.dim_IntList")
    assert total(array(2, 3), dim=[1], keepdim=True) is total(array(2, 3), (1,), True, dtype=None)
    assert cached_rule("uniform_")(array(2), 0.0, 1.0).shape == (2,)
    with pytest.raises(TypeError, match="no_such"):
        total(array(2, 3), no_such=1)


def test_descriptions_that_are_equal_are_one_object_of_plain_ints():
    meta = TensorMeta((True, 23), (23, True), float32)
    assert meta is TensorMeta((1, 23), (23, 1), float32)
    assert repr(meta) == "TensorMeta(shape=(1, 23), strides=(23, 1), dtype=torchlike.float32, storage_offset=0)"
    assert (meta.ndim, meta.numel) == (2, 23)
    assert meta != TensorMeta((1, 23), (23, 1), float64)


def test_a_description_goes_when_nobody_holds_it():
    from dispatch_aten.shapes import meta as module

    key = ((17, 91), (91, 1), float32, 0)
    meta = TensorMeta(*key)
    assert key in module._known
    del meta
    gc.collect()
    assert key not in module._known


def test_what_else_a_caller_keeps_is_looked_up_under_the_same_key():
    key = rule_key("addcmul")
    names = ["self", "tensor1", "tensor2", "value"]
    assert key.names == names
    assert key.text(names) == "__settings.dtype, self, tensor1, tensor2, value.__class__"
    assert key.text(names, by_value=["value"]).endswith("tensor2, value, value.__class__")
    assert key.text(["x"], "{0}.shape, {0}.dtype") == "__settings.dtype, x.shape, x.dtype"
    assert (
        rule_key("cat")
        .text(["xs", "dim"], "{0}.spec")
        .startswith("__settings.dtype, tuple([(__t.spec) for __t in xs]), dim")
    )
    assert rule_key("add.Tensor").signature == "self, other, *, alpha=__default_alpha"


def test_any_function_of_an_operators_arguments_can_be_memoized():
    asked = []

    def ask(self, dim, keepdim, *, dtype):
        asked.append(dim)
        return len(asked)

    total = memoize("sum.dim_IntList", ask, "{0}.shape")
    calls = [((2, 3), [1]), ((2, 3), (1,)), ((2, 3), [True]), ((3, 2), [1])]
    assert [total(array(*shape), dim) for shape, dim in calls] == [1, 1, 1, 2]
    assert total(array(4), [True]) == 3
    assert total(array(4), [True]) == 4


def test_old_names_are_deprecated():
    from dispatch_aten import shapes

    for old, new in (("remembered", cached_rule), ("Described", HasSpec)):
        with pytest.warns(DeprecationWarning, match=f"{new.__name__} now"):
            assert getattr(shapes, old) is new
    with pytest.raises(AttributeError, match="no attribute 'forgotten'"):
        getattr(shapes, "forgotten")  # noqa: B009  # the access is tested
