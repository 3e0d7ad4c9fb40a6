"""Operators as users hold them: namespaces, packets, overloads and how an overload is chosen."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core import frontends


@pytest.fixture
def family(registry, library, toy):
    """Overloads of ``t::f``; each returns its name."""
    for overload, arguments in [
        ("Tensor", "Tensor x, Tensor y"),
        ("Scalar", "Tensor x, Scalar y"),
        ("ints", "int[] x"),
        ("list", "Tensor[] x"),
        ("Device", "Device d"),
        ("str", "str d"),
        ("key", "int x, *, bool flag"),
        ("", "float x"),
    ]:
        name = f"f.{overload}" if overload else "f"
        library.define(f"{name}({arguments}) -> str")
        library.impl(name, lambda *args, overload=overload, **kwargs: overload or "default")
    return registry.ops.t.f


def test_the_first_overload_that_fits_is_called(family, toy):
    array = toy.array([1])
    for _ in range(2):
        assert family(array, array) == "Tensor"
        assert family(array, 2) == family(array, y=2.5) == family(x=array, y=np.float64(1)) == "Scalar"
        assert family([1, 2]) == family((1,)) == "ints"
        assert family([array]) == family((array, array)) == "list"
        assert family(1, flag=True) == "key"
        assert family(1.5) == family(1) == "default"


def test_what_depends_on_values_is_not_remembered_by_type(family):
    """A string may or may not name a device."""
    for _ in range(2):
        assert family("cpu") == "Device"
        assert family("no device") == "str"
        assert family("cpu:1") == "Device"
        assert family(d="no device") == "str"


def test_dictionaries_are_told_apart_by_content(registry, library):
    library.define("f.ints(Dict(str, int) x) -> str")
    library.define("f.strs(Dict(str, str) x) -> str")
    library.impl("f.ints", lambda x: "ints")
    library.impl("f.strs", lambda x: "strs")
    assert [registry.ops.t.f({"a": value}) for value in (1, "x", 2)] == ["ints", "strs", "ints"]


def test_strings_are_told_apart_only_once_an_overload_takes_a_device(registry, library):
    library.define("f(str mode) -> str")
    library.define("f.key(int x, *, str mode) -> str")
    for overload in ("f", "f.key"):
        library.impl(overload, lambda *args, overload=overload, **kwargs: overload)
    packet = registry.ops.t.f
    assert [packet(each) for each in ("a", "cpu")] == ["f", "f"]
    assert [packet(1, mode=each) for each in ("a", "cpu")] == ["f.key", "f.key"]
    assert (str,) in packet._cache
    with dc.Library("t", "FRAGMENT", registry=registry) as extra:
        extra.define("f.place(int x, *, Device mode) -> str")
        extra.impl("f.place", lambda *args, **kwargs: "place")
        assert packet("cpu") == "f"
        assert packet(1, mode="cpu") == "f.key"
        assert packet(1, mode=dc.Device.parse("cpu")) == "place"
        assert (str,) not in packet._cache


def test_an_empty_list_takes_the_first_list(family):
    assert family([]) == "ints"


def test_none_fitting_lists_what_each_overload_misses(family, toy):
    with pytest.raises(dc.NoMatchingOverloadError) as caught:
        family(toy.array([1]), "x")
    text = str(caught.value)
    assert text.startswith(
        "t::f() received an invalid combination of arguments - got (ToyArray, str), but expected one of:"
    )
    assert " * t::f.Scalar(Tensor x, Scalar y) -> str\n     argument 'y' (position 2) must be Number, not str" in text
    assert isinstance(caught.value, TypeError)


def test_an_overload_that_comes_later_is_not_shadowed_by_the_cache(registry, library):
    library.define("f.a(float x) -> str")
    library.define("f.b(str x) -> str")
    library.impl("f.a", lambda x: "a")
    library.impl("f.b", lambda x: "b")
    packet = registry.ops.t.f
    assert packet(1) == packet(1) == "a"
    with dc.Library("t", "FRAGMENT", registry=registry) as extra:
        extra.define("f.c(int x, int y=0) -> str")
        extra.impl("f.c", lambda x, y: "c")
        assert packet(1) == "a"
        assert packet(1, 2) == "c"
        assert packet(1, 2) == "c"
    with pytest.raises(dc.NoMatchingOverloadError):
        packet(1, 2)
    assert packet(1) == "a"


def test_an_overload_that_is_just_taken_back_does_not_answer_for_one_with_kernels(registry):
    own = dc.Library("t", "IMPL", registry=registry)
    own.impl("f.array", lambda *_: "own", "CompositeImplicitAutograd")
    home = dc.Library("t", "DEF", registry=registry)
    home.define("f.array(int x) -> str")
    home.define("f.number(float x) -> str")
    packet, before = registry.ops.t.f, registry._packets["t::f"]
    home.close()
    registry._packets["t::f"] = before  # as a thread finds it that has read the overloads before
    assert packet("no schema") == "own"


def test_a_schema_that_comes_later_counts_for_a_packet_in_use(registry):
    """The overload was registered first, without a schema; with one, it is the first that fits."""
    registry.register_kernel("t::f.a", "CompositeImplicitAutograd", lambda x: "a")
    registry.register_schema("t::f.b", "f.b(int x) -> str")
    registry.register_kernel("t::f.b", "CompositeImplicitAutograd", lambda x: "b")
    packet = registry.ops.t.f
    assert packet(1) == packet(1) == "b"
    assert packet("no schema fits") == "a"
    registry.register_schema("t::f.a", "f.a(int x) -> str")
    assert packet(1) == "a"


def test_a_held_packet_forgets_again_and_again(registry):
    held = None
    for round in range(3):
        library = dc.Library("t", "DEF", registry=registry)
        for overload, kind in (("a", "int"), ("b", "str")):
            library.define(f"f.{overload}{round}({kind} x) -> int")
            library.impl(f"f.{overload}{round}", lambda x, round=round: round)
        held = held or registry.ops.t.f
        assert held(1) == held("x") == held(1) == round
        library.close()
        with pytest.raises(dc.ClosedOperatorError):
            held(1)


def test_an_overload_knows_its_names(family):
    op = family.Tensor
    assert op is family.Tensor
    assert (op.name, op.namespace, op.overload_name, str(op.schema)) == (
        "t::f.Tensor",
        "t",
        "Tensor",
        "t::f.Tensor(Tensor x, Tensor y) -> str",
    )
    assert op.packet is family
    assert family.default.overload_name == "default"
    assert family.default.name == family.name == "t::f"
    assert (op.__name__, family.default.__name__, family.__name__) == ("f.Tensor", "f.default", "f")
    assert family.overloads() == ["Tensor", "Scalar", "ints", "list", "Device", "str", "key", "default"]
    assert repr(op).startswith("<function t::f.Tensor")
    assert repr(family).startswith("<OpOverloadPacket t::f: Tensor, Scalar")
    assert op.has_kernel_for_dispatch_key("CompositeImplicitAutograd")
    assert not op.has_kernel_for_dispatch_key("CPU")


def test_handles_stay_themselves_when_copied_or_called(family, toy):
    op = family.Scalar
    assert op(toy.array([1]), 2) == "Scalar"
    assert copy.copy(op) is copy.deepcopy(op) is op is family.Scalar
    assert isinstance(op, dc.OpOverload)
    assert isinstance(family, dc.OpOverloadPacket)
    assert {op: 1}[family.Scalar] == 1


def test_unknown_attributes_are_attribute_errors(family, registry):
    assert not hasattr(family, "missing")
    assert not hasattr(registry.ops.t, "missing")
    assert not hasattr(family, "__wrapped__")
    with pytest.raises(dc.OperatorNotFoundError, match="operator t::f has no overload 'missing'"):
        family.missing  # noqa: B018  # the look-up is the test


def test_default_is_the_overload_without_a_name_only(registry, library):
    library.define("f.a(int x) -> int")
    library.define("f.b(str x) -> int")
    with pytest.raises(dc.OperatorNotFoundError, match="operator t::f has no overload 'default'"):
        registry.ops.t.f.default  # noqa: B018  # the look-up is the test


def test_listings_show_what_there_is(family, registry, library):
    library.define("g() -> ()")
    assert dir(registry.ops) == ["t"]
    assert dir(registry.ops.t) == ["f", "g"]
    assert {"Tensor", "default", "overloads"} <= set(dir(family))
    assert repr(registry.ops.t) == "<OpNamespace t: 2 operators>"


def test_a_packet_redispatches_the_overload_that_fits(family, registry, library, toy):
    assert family.redispatch(toy.key, toy.array([1]), 2) == "Scalar"


def test_a_frontends_function_is_the_overload_with_other_names(registry, library, toy, tensors):
    library.define("f(Tensor self, Tensor other, *, int times=1) -> Tensor")
    library.impl("f", lambda x, y, *, times: toy.array([times]), toy.key)
    seen = []

    def slow_path(*args, **kwargs):
        seen.append((args, kwargs))
        return "elsewhere"

    op, x = registry.ops.t.f.default, tensors.wrap(toy.array([0]))
    function = dc.rename_arguments(
        op, "f", type(x), slow_path, names={"self": "input"}, extra={"out": None}, slow_path_types={int}
    )
    assert function.__name__ == "f"
    for _ in range(3):
        assert function(x, x)._dispatch_data.a.tolist() == [1]
        assert function(x, other=x, times=2)._dispatch_data.a.tolist() == [2]
        assert function(input=x, other=x, out=None, times=3)._dispatch_data.a.tolist() == [3]
        assert function(x, 3) == function(x, x, out=x) == function("a", "b") == "elsewhere"
        assert function(toy.array([1]), toy.array([1])) == "elsewhere"
        op(toy.array([1]), toy.array([1]))  # the overload itself learns of arrays
        with pytest.raises(TypeError):
            function(x, x, times="many")
        with pytest.raises(TypeError):
            function(x, x, self=x)
    assert seen[0][0] == (x, 3)
    assert seen[1][1]["out"] is x
    library.impl("f", lambda x, y, *, times: toy.array([9]), "AutogradToy")
    x._dispatch_mask |= dc.DispatchKey.AutogradToy
    library.impl("f", lambda x, y, *, times: tensors.wrap(toy.array([times + 1])), "Tracer")
    with dc.include_keys("Tracer"):
        assert function(x, x, times=4)._dispatch_data.a.tolist() == [5]
    library.close()
    with pytest.raises(dc.ClosedOperatorError):
        function(x, x)


def test_a_frontends_function_may_take_more_arguments_than_the_overload(registry, library, toy, tensors):
    library.define("f(Tensor self, int y, *, int times=1) -> Tensor")
    library.impl("f", lambda x, y, *, times: toy.array([y * times]), toy.key)
    op, x = registry.ops.t.f.default, tensors.wrap(toy.array([0]))
    function = dc.rename_arguments(op, "f", type(x), lambda *args, **given: (args, given), takes_more=True)
    plain = dc.rename_arguments(op, "f", type(x), lambda *args, **given: (args, given), extra={"out": None})
    for _ in range(3):
        assert function(x, 2, times=3)._dispatch_data.a.tolist() == function(x, y=6)._dispatch_data.a.tolist() == [6]
        assert function(x, 2, 3, 4)[0] == (x, 2, 3, 4)
        with pytest.raises(TypeError):
            plain(x, 2, 3)


def test_a_function_may_take_every_call_and_write_a_list_item_by_item(request, registry, library, toy, tensors):
    library.define("f(Tensor self, int dim, int[] size, *, int times=1) -> Tensor")
    library.impl("f", lambda x, dim, size, *, times: toy.array([dim, *size, times]), toy.key)
    op, x, none = registry.ops.t.f.default, tensors.wrap(toy.array([0])), object()

    def slow_path(*args, **given):
        return [each for each in args if each is not none], {key: each for key, each in given.items() if each != 1}

    function = dc.rename_arguments(op, "f", type(x), slow_path, names={"self": "input"}, missing=none, star="size")
    for _ in range(3):
        if "generated" in request.node.name:  # otherwise every call takes the slow path
            plain = [function(x, 1, 2, 3), function(x, 1, (2, 3)), function(x, 1, [2, 3]), function(x, 1, 2, times=4)]
            assert [each._dispatch_data.a.tolist() for each in plain] == [[1, 2, 3, 1]] * 3 + [[1, 2, 4]]
            assert function(x, 1, ())._dispatch_data.a.tolist() == [1, 1]
        assert function(x) == ([x], {}) and function(x, 2) == ([x, 2], {}) and function() == ([], {})
        assert function(x, 1, size=(2,)) == ([x, 1], {"size": (2,)}) and function(x, axis=5) == ([x], {"axis": 5})
        assert function(x, True, 2) == ([x, True, 2], {}) and function(x, 1, 2, "3") == ([x, 1, 2, "3"], {})
        assert function(x, 1, 2.5) == ([x, 1, 2.5], {}) and function(7, 1, 2, times=3) == ([7, 1, 2], {"times": 3})
        assert function(x, 1, 1 << 63) == ([x, 1, 1 << 63], {}) and function(x, 1, 2, times="m")[1] == {"times": "m"}


def test_a_function_that_takes_every_call_may_serve_the_first_argument_alone(toy, tensors):
    registry = dc.Registry()
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f(Tensor self, int[1] dim, bool keep=False, *, float? scale=None) -> Tensor")
    library.impl("f", lambda x, dim, keep, *, scale: toy.array([*dim, keep, scale or 0]), toy.key)
    op, x, missing = registry.ops.t.f.default, tensors.wrap(toy.array([0])), object()

    def slow(*args, **given):
        return "slow", [each for each in args if each is not missing and each is not False]

    function = dc.rename_arguments(op, "f", type(x), slow, missing=missing, alone=id)
    for args, given, found in [((x, 2), {}, [2, 0, 0]), ((x, (2, 3)), {"keep": True}, [2, 3, 1, 0])]:
        assert function(*args, **given)._dispatch_data.a.tolist() == found
    assert function(x) == id(x)
    assert function(x, keep=True) == ("slow", [x, True])
    # The slow path gets the number as it was given.
    assert function(x, 1, "no") == ("slow", [x, 1, "no"]) and function(x, 1, out=3) == ("slow", [x, 1])


@pytest.mark.parametrize("levels", [9, 10_000, None])
def test_lists_nested_deeper_than_any_schemas_are_refused(registry, levels):
    nested = []
    nested.append(nested)
    if levels is not None:
        nested = 1
        for _ in range(levels):
            nested = [nested]
    with dc.Library("deep", "DEF", registry=registry) as library:
        library.define("f.a(int[] x) -> int")
        library.define("f.b(str x) -> int")
        with pytest.raises(dc.NoMatchingOverloadError):
            registry.ops.deep.f(nested)


def test_the_old_names_of_functions_warn_and_serve(registry, library):
    library.define("f(Tensor self) -> Tensor")
    library.define("same(Any x) -> Any")
    for name in ("f", "same"):
        library.impl(name, lambda x: x, "CompositeImplicitAutograd")
    op = registry.ops.t.f.default
    with pytest.warns(DeprecationWarning, match="below is fast_redispatch now"):
        assert dc.below(registry.ops.t.same.default, ["CPU"])(1) == 1
    with pytest.warns(DeprecationWarning, match="respell is rename_arguments now"):
        function = dc.respell(op, "f", list, lambda *args, **given: "slow", names={"self": "input"}, elsewhere={int})
    assert function(input=3) == "slow"


def test_a_packet_keeps_the_overloads_of_a_bounded_number_of_list_lengths(registry, library, toy):
    library.define("count(Tensor[] tensors) -> int")
    library.define("count.none(str x) -> int")
    library.impl("count", len, toy.key)
    x = toy.array([1])
    assert [registry.ops.t.count([x] * length) for length in range(1, 600)] == list(range(1, 600))
    assert len(registry.ops.t.count._cache) <= 256


def test_runners_follow_registrations_and_lasting_ones_end_with_a_generation():
    registry = dc.Registry()
    library = dc.Library("demo", "DEF", registry=registry)
    library.define("scale(int x, *, int by=2) -> int")
    library.impl("scale", lambda x, *, by: x * by, "CPU")
    op, mask = registry.ops.demo.scale.default, dc.DispatchKey.CPU.value
    kept, generation = op.lasting_runner(mask), op.generation
    assert (op.runner(mask)(3, 4), kept(3, 4)) == (12, 12)
    assert [each.key for each in op.registrations(dc.DispatchKey.CPU)] == [dc.DispatchKey.CPU]
    assert op.registrations(dc.DispatchKey.Meta) == ()
    with dc.Library("demo", "IMPL", registry=registry) as patch:
        patch.impl("scale", lambda x, *, by: x + by, "CPU", allow_override=True)
        assert op.generation > generation
        assert (op.runner(mask)(3, 4), op.lasting_runner(mask)(3, 4), kept(3, 4)) == (7, 7, 12)
        assert len(op.registrations(dc.DispatchKey.CPU)) == 2
    assert op.runner(mask)(3, 4) == 12


def test_runners_follow_the_schema():
    registry = dc.Registry()
    library = dc.Library("demo", "DEF", registry=registry)
    library.impl("twice", lambda x: 2 * x, "CPU")
    op, mask = registry.get("demo::twice").op, dc.DispatchKey.CPU.value
    with pytest.raises(dc.OperatorNotFoundError, match="has no schema"):
        frontends.call_signature(op)
    before = op.schema, op.generation
    library.define("twice(int x) -> int")
    assert (op.schema, op.generation) != before
    assert [each.name for each in frontends.call_signature(op).parameters] == ["x"]
    assert op.runner(mask)(3) == 6


def test_an_overload_keeps_its_name_when_its_code_is_made(family, toy):
    overload, array = family.Scalar, toy.array([1])
    for _ in range(20):
        assert overload(array, 2) == "Scalar"
        assert overload.__name__ == "f.Scalar"
    with pytest.raises(TypeError, match=r"t::f.Scalar\(Tensor x, Scalar y\)"):
        overload()


def test_an_overload_and_its_schema_have_torchs_names(family, registry, library):
    overload = family.Scalar
    assert overload.name() == overload.name == "t::f.Scalar"
    assert type(copy.copy(overload.name)) is str
    schema = overload._schema
    assert (schema.name, schema.overload_name, str(schema)) == ("t::f", "Scalar", str(overload.schema))
    assert [each.name for each in schema.arguments] == ["x", "y"]
    assert (len(schema.returns), schema.is_mutable, family.default._schema.overload_name) == (1, False, "")
    assert schema == copy.deepcopy(schema) == overload._schema
    assert hash(schema) == hash(overload._schema)
    assert schema != family.default._schema
    assert (family._qualified_op_name, family._overload_names) == ("t::f", family.overloads())
    library.define("part(Tensor(a) x) -> Tensor(a)")
    library.define("write(Tensor(a!) x) -> Tensor(a!)")
    t = registry.ops.t
    assert [op.default.is_view for op in (t.part, t.write)] == [True, False]
    assert not overload.is_view


def test_a_function_may_name_an_argument_that_kernels_get_by_keyword(registry, library, toy, tensors):
    library.define("f(Tensor self, *, int times=1, int more=2) -> Tensor")
    library.impl("f", lambda x, *, times, more: toy.array([times, more]), toy.key)
    op, x = registry.ops.t.f.default, tensors.wrap(toy.array([0]))
    names = {"times": "count", "more": "kind"}
    function = dc.rename_arguments(op, "f", type(x), lambda *args, **given: "slow", names=names)
    for _ in range(3):
        assert function(x, count=4, kind=5)._dispatch_data.a.tolist() == [4, 5]
        assert function(x)._dispatch_data.a.tolist() == [1, 2]
