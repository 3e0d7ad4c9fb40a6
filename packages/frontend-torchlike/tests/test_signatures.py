"""What ``inspect.signature`` shows of functions, methods and factories, against how they can be called."""

import inspect
import pickle
import pydoc
import types
import typing

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike.functions.operator_functions import FUNCTIONAL, FUNCTIONS, METHODS, NAMESPACES, NUMBER_FIRST
from torchlike.signatures.function_signatures import _OF_NUMBERS, signatures

TABLES = {"functions": FUNCTIONS, "methods": METHODS, "functional": FUNCTIONAL, **NAMESPACES}


def show(function):
    return str(inspect.signature(function))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (torchlike.relu, "(input: Tensor) -> Tensor"),
        (
            torchlike.add,
            "(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor",
        ),
        (
            torchlike.split,
            "(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]",
        ),
        (torchlike.Tensor.split, "(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]"),
        (torchlike.linalg.det, "(A: Tensor, *, out: Tensor | None = None) -> Tensor"),
        (torchlike.special.expit, "(input: Tensor, *, out: Tensor | None = None) -> Tensor"),
        (
            torchlike.special.multigammaln,
            "(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor",
        ),
        (torchlike.nn.functional.relu, "(input: 'Tensor', inplace: 'bool' = False) -> 'Tensor'"),
        (dc.ops.aten.add.Tensor, "(self: Tensor, other: Tensor, *, alpha: Number = 1) -> Tensor"),
        (dc.ops.aten.sum.default, "(self: Tensor, *, dtype: dtype | None = None) -> Tensor"),
    ],
)
def test_signatures_have_the_users_names_types_and_defaults(function, expected):
    assert show(function) == expected


def test_a_packet_shows_its_most_general_overload_and_offers_all():
    packet = dc.ops.aten.add
    assert show(packet) == show(packet.Tensor)
    assert len(signatures(packet)) == len(packet.overloads())
    assert "name" in inspect.signature(type(packet)).parameters  # the class has the constructor's


def test_a_bound_method_does_not_show_the_tensor():
    assert [*inspect.signature(torchlike.ones(2).mul).parameters] == ["other", "out"]
    assert [*signatures(torchlike.ones(2).max)[0].parameters] == ["dim", "keepdim", "out"]


def test_sizes_stand_one_by_one_in_a_signature_of_their_own():
    listed = [next(iter(each.parameters.values())) for each in signatures(torchlike.zeros)]
    assert [str(each) for each in listed] == ["size: Sequence[int]", "*size: int"]
    assert show(torchlike.Tensor.view) == "(input: Tensor, size: Sequence[int]) -> Tensor"


def test_a_custom_operator_shows_its_function():
    def scale(x: torchlike.Tensor, factor: float = 2.0) -> torchlike.Tensor:
        return x * factor

    made = dc.custom_op("signatures::scale", scale, mutates_args=(), registry=dc.Registry())
    assert inspect.signature(made) == inspect.signature(scale)
    assert show(made.op) == "(x: Tensor, factor: float = 2.0) -> Tensor"


def test_the_signature_follows_the_schema_that_an_operator_gets_later():
    registry = dc.Registry()
    registry.register_kernel("late::op", "CPU", lambda x: x)
    op = registry.ops.late.op.default
    assert show(op) == "(*args, **kwargs)"
    registry.register_schema("late::op", "op(Tensor x) -> Tensor")
    assert show(op) == "(x: Tensor) -> Tensor"


def test_a_lazy_signature_is_as_good_as_another():
    signature = inspect.signature(torchlike.relu)
    assert signature == signature.replace() == pickle.loads(pickle.dumps(signature))
    assert signature.bind(1).arguments == {"input": 1}
    assert hash(signature) == hash(signature.replace())
    with pytest.raises(AttributeError, match="LazySignature"):
        _ = signature.nothing


def test_help_begins_with_the_signature():
    # Python 3.13 writes a long one over several lines.
    text = "".join(pydoc.plain(pydoc.render_doc(torchlike.cumsum)).split())
    assert "cumsum(input:Tensor,dim:int,*,dtype:dtype|None=None,out:Tensor|None=None)->Tensor" in text


@pytest.mark.parametrize("table", TABLES)
def test_every_function_has_signatures_with_types_and_no_catch_all(table):
    for name, function in TABLES[table].items():
        for each in signatures(function):
            assert each.return_annotation, name
            for parameter in each.parameters.values():
                assert parameter.kind is not parameter.VAR_KEYWORD, name
                assert parameter.annotation is not parameter.empty or parameter.name == "self", name


def test_functions_of_a_number_and_a_tensor_say_so():
    assert {*NUMBER_FIRST} == {*_OF_NUMBERS}


def test_an_argument_that_python_keeps_for_itself_has_an_underscore():
    assert "from_" in inspect.signature(torchlike.Tensor.random_).parameters


def test_named_results_have_their_classes_in_return_types():
    found = torchlike.ones(2, 3).topk(1, dim=1)
    assert type(found) is torchlike.return_types.topk
    assert "topk" in dir(torchlike.return_types)
    with pytest.raises(AttributeError, match="no attribute 'tpok'"):
        _ = torchlike.return_types.tpok


@pytest.mark.parametrize("name", "broadcast_to expand new_zeros repeat reshape view".split())
def test_methods_take_sizes_one_by_one_or_as_one(name):
    x = torchlike.ones(2, 1)
    assert getattr(x, name)(2, 1).tolist() == getattr(x, name)((2, 1)).tolist() == getattr(x, name)([2, 1]).tolist()


def _walk_public_names():
    """Yield every function and class of the public packages, and every method, with its place."""
    packages, seen = [torchlike], set()
    while packages:
        package = packages.pop()
        for name in dir(package):
            found = None if name.startswith("_") else getattr(package, name)
            if not str(getattr(found, "__module__", None) or getattr(found, "__name__", "")).startswith("torchlike"):
                continue
            if id(found) in seen:
                continue
            seen.add(id(found))
            if isinstance(found, types.ModuleType):
                packages.append(found)
            elif isinstance(found, (type, types.FunctionType)):
                yield f"{package.__name__}.{name}", found
            for kind in found.__mro__ if isinstance(found, type) else ():
                for own, value in vars(kind).items():
                    method = getattr(value, "fget", None) or getattr(value, "__func__", value)
                    if isinstance(method, types.FunctionType) and id(method) not in seen:
                        seen.add(id(method))
                        yield f"{package.__name__}.{name}.{own}", method


def _is_resolved(hint):
    return not isinstance(hint, (str, typing.ForwardRef)) and all(
        _is_resolved(each) for each in typing.get_args(hint) if typing.get_origin(hint) is not typing.Literal
    )


def test_type_hints_of_public_names_resolve():
    count, unresolved = 0, []
    for place, found in _walk_public_names():
        count += 1
        try:
            hints = typing.get_type_hints(found)
        except (NameError, TypeError) as error:
            unresolved.append(f"{place}: {error}")
            continue
        if not all(map(_is_resolved, hints.values())):
            unresolved.append(place)
    assert not unresolved
    assert count > 3000


def test_type_hints_are_the_classes_that_they_name():
    Tensor, Module = torchlike.Tensor, torchlike.nn.Module
    assert typing.get_type_hints(Tensor.grad.fget)["return"] == Tensor | None
    assert typing.get_type_hints(Module.children)["return"].__args__ == (Module,)
    assert typing.get_type_hints(Module)["_modules"] == dict[str, Module | None]
    assert typing.get_type_hints(torchlike.from_numpy)["ndarray"] == np.typing.NDArray[typing.Any]
