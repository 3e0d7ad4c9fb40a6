"""Records: the promises of a frozen, slotted dataclass, and those that the core's own keep."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import pytest

import dispatch_core as dc
from dispatch_core._record import Record, replace
from dispatch_core.schema.model import Argument
from dispatch_core.schema.types import BaseType, ListType

T = TypeVar("T")


class Point(Record):
    x: int
    y: int = 0


class Named(Point, aside=("note",)):
    name: str = ""
    note: str = ""


class Even(Record):
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(self.number)


class Later(Record):
    made: int
    shown: str = "yes"


class LaterStill(Later):
    more: bool = False


def test_a_signature_is_there_before_the_first_record():
    parameters = "(made, shown='yes', more=False)"
    assert str(inspect.signature(LaterStill)) == parameters
    assert str(inspect.signature(LaterStill.__init__)) == parameters.replace("(", "(self, ", 1)
    assert str(inspect.signature(Later)) == "(made, shown='yes')"
    assert inspect.signature(LaterStill, follow_wrapped=False).bind(1).arguments == {"made": 1}


class Box(Record, Generic[T]):
    content: T


class Nothing(Record):
    pass


@pytest.fixture(params=["copy", "deepcopy", "pickle"])
def again(request: pytest.FixtureRequest) -> Iterator[Any]:
    ways = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda value: pickle.loads(pickle.dumps(value))}
    return ways[request.param]


def test_fields_are_given_by_position_or_name_and_have_defaults():
    assert (Point(1).x, Point(1).y) == (1, 0)
    assert Point(1, 2) == Point(y=2, x=1)
    assert str(inspect.signature(Point)) == "(x, y=0)"


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, r"Point\.__init__\(\) missing 1 required positional argument: 'x'"),
        ((1, 2, 3), {}, r"Point\.__init__\(\) takes from 2 to 3 positional arguments but 4 were given"),
        ((1,), {"z": 3}, r"Point\.__init__\(\) got an unexpected keyword argument 'z'"),
    ],
)
def test_a_wrong_call_is_refused_as_any_function_refuses_it(args, kwargs, text):
    with pytest.raises(TypeError, match=text):
        Point(*args, **kwargs)


def test_records_are_compared_and_hashed_by_type_and_fields():
    assert Point(1) == Point(1, 0)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1) != Point(2)
    assert Point(1, 0) != (1, 0)
    assert Point(1) != Named(1)
    assert len({Nothing(), Nothing()}) == 1


def test_a_field_that_stands_aside_is_neither_compared_nor_shown():
    first, second = Named(1, name="a", note="one"), Named(1, name="a", note="two")
    assert first == second
    assert hash(first) == hash(second)
    assert repr(first) == "Named(x=1, y=0, name='a')"


def test_records_are_shown_as_the_call_that_makes_them():
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert repr(Nothing()) == "Nothing()"
    assert repr(ListType(BaseType("int"))) == (
        "ListType(element=BaseType(name='int', alias=None), size=None, alias=None)"
    )


def test_a_record_does_not_change_and_has_room_for_its_fields_only():
    point = Point(1)
    with pytest.raises(AttributeError, match=r"cannot set 'x': a Point does not change\nHint: replace\(point, x=...\)"):
        point.x = 2
    with pytest.raises(AttributeError, match="cannot set 'z'"):
        point.z = 2
    with pytest.raises(AttributeError, match="cannot delete 'x': a Point does not change"):
        del point.x
    assert not hasattr(point, "__dict__")
    assert point == Point(1)


def test_a_subclass_has_the_fields_of_its_base_first():
    assert Named(1, 2, "a") == Named(x=1, y=2, name="a")
    assert isinstance(Named(1), Point)
    assert Named.__match_args__ == ("x", "y", "name", "note")


def test_a_record_is_matched_by_position():
    match Point(3, 4):
        case Point(x, 4):
            assert x == 3
        case _:
            pytest.fail("no match")


def test_post_init_runs_whenever_a_record_is_made():
    with pytest.raises(ValueError, match="3"):
        Even(3)
    with pytest.raises(ValueError, match="5"):
        replace(Even(2), number=5)


def test_a_record_may_be_generic():
    assert Box[int](3) == Box(3)


@pytest.mark.parametrize("value", [Point(1, 2), Named(1, note="x"), Even(4), Box([1]), Nothing()])
def test_a_record_is_copied_and_pickled(value, again):
    made = again(value)
    assert made == value
    assert type(made) is type(value)
    assert getattr(made, "note", None) == getattr(value, "note", None)


def test_replace_keeps_what_it_is_not_told():
    assert replace(Point(1, 2), y=3) == Point(1, 3)
    assert replace(Named(1, note="kept"), x=2).note == "kept"
    with pytest.raises(TypeError, match="'z'"):
        replace(Point(1), z=1)
    if sys.version_info >= (3, 13):
        assert copy.replace(Point(1, 2), y=3) == Point(1, 3)


def test_a_schema_is_copied_and_pickled_without_what_it_remembers(again):
    schema = dc.FunctionSchema.parse("aten::add(Tensor self, *, Scalar alpha=1) -> Tensor")
    assert str(schema)
    made = again(schema)
    assert made == schema
    assert hash(made) == hash(schema)
    assert made._cache == {}


def test_an_argument_remembers_the_spelling_of_its_default_and_does_not_compare_it():
    (argument,) = dc.FunctionSchema.parse("f(int[2] dim=1) -> ()").arguments
    assert argument == Argument("dim", ListType(BaseType("int"), 2), (1, 1))
    assert argument.default_text == "1"
    assert "default_text" not in repr(argument)


def test_two_registrations_are_never_equal():
    from dispatch_core.operators.registration import Registration

    origin = dc.Origin("plugin.py", 1)
    first, second = (Registration(dc.DispatchKey.CPU, len, origin) for _ in range(2))
    assert first != second
    assert first == first  # identity is compared
    assert len({first, second}) == 2
