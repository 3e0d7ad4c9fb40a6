"""The cost of dispatch on own classes, beside other dispatchers: ``python benchmarks/bench_dispatch.py``.

All of them have the same kernels, which do nothing, so that a call's time is that of its dispatch. A packet is an operator
as programs name it, ``dc.ops.shapes.area``, and has one overload here, ``dc.ops.shapes.area.default``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import multipledispatch
import plum
from harness import Measure, parser, report, run

import dispatch_core as dc


class Circle:
    """A class of the program."""


class Square:
    """Another one."""


class Disc(Circle):
    """A class that no kernel names."""


# Without annotations: plum converts results by theirs.
def _area_of_circle(x, scale=1):
    return 3


def _area_of_square(x, scale=1):
    return 4


def _meet_of_circles(x, y):
    return 1


def _meet_of_squares(x, y):
    return 2


def _meet_of_both(x, y):
    return 3


#: What a packet may cost of its only overload, where it is not 1.4: CPython makes a dictionary of the keywords that any
#: object of a Python class is called with.
_OF_OVERLOAD: Final = {"a keyword": 1.75}
#: Dispatcher → its functions: on one argument, and on two, if it has them.
Dispatchers = dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]]


def _others() -> Dispatchers:
    single = functools.singledispatch(lambda x, scale=1: 0)
    plum_area, plum_meet = plum.Function(_area_of_circle), plum.Function(_meet_of_circles)
    their_area, their_meet = multipledispatch.Dispatcher("area"), multipledispatch.Dispatcher("meet")
    for kind, area in ((Circle, _area_of_circle), (Square, _area_of_square)):
        single.register(kind, area)
        plum_area.register(area, plum.Signature(kind))
        their_area.add((kind,), area)
    pairs = {(Circle, Circle): _meet_of_circles, (Square, Square): _meet_of_squares}
    for kinds, meet in (pairs | dict.fromkeys([(Circle, Square), (Square, Circle)], _meet_of_both)).items():
        plum_meet.register(meet, plum.Signature(*kinds))
        their_meet.add(kinds, meet)
    return {
        "singledispatch": (single, None),
        "plum": (plum_area, plum_meet),
        "multipledispatch": (their_area, their_meet),
    }


def _ours(library: dc.Library) -> tuple[Any, Any]:
    """Define the operators on two devices, and return their packets."""
    library.define("area(Tensor x, int scale=1) -> int")
    library.define("meet(Tensor x, Tensor y) -> int")
    kernels = {Circle: (_area_of_circle, _meet_of_circles), Square: (_area_of_square, _meet_of_squares)}
    for kind, (area, meet) in kernels.items():
        info = dc.BackendInfo(kind.__name__.lower(), array_types=(dc.ArrayType(kind),))
        dc.register_backend(info, {"bench_shapes::area": area, "bench_shapes::meet": meet})
    library.impl("meet", _meet_of_both, types=(Circle, Square))
    return dc.ops.bench_shapes.area, dc.ops.bench_shapes.meet


def _measures(library: dc.Library) -> list[Measure]:
    area, meet = _ours(library)
    circle, square, disc = Circle(), Square(), Disc()
    calls: dict[str, tuple[int, Callable[[Any], Callable[[], object]]]] = {
        "one argument": (0, lambda f: lambda: f(circle)),
        "the other class": (0, lambda f: lambda: f(square)),
        "a subclass": (0, lambda f: lambda: f(disc)),
        "a keyword": (0, lambda f: lambda: f(circle, scale=2)),
        "two arguments": (1, lambda f: lambda: f(circle, circle)),
        "two classes": (1, lambda f: lambda: f(circle, square)),
    }
    others = _others()
    made = []
    for name, (index, call) in calls.items():
        packet = (area, meet)[index]
        goal = _OF_OVERLOAD.get(name, 1.4)
        made.append(Measure(f"{name}: packet / overload", call(packet), call(packet.default), goal))
        for other, functions in others.items():
            if (theirs := functions[index]) is not None:
                made.append(Measure(f"{name}: packet / {other}", call(packet), call(theirs), 1.0))
                made.append(Measure(f"{name}: overload / {other}", call(packet.default), call(theirs), 1.0))
    return made


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    arguments = parser(__doc__).parse_args()
    with dc.Library("bench_shapes", "DEF") as library:
        print(report(run(_measures(library), repeats=arguments.repeats), arguments.json, reference="other"))


if __name__ == "__main__":
    main()
