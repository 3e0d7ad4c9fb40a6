"""Dispatch on classes of the program's own: no shapes, no dtypes, kernels for one class and for sets of them."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import random

import pytest

import dispatch_core as dc
from dispatch_core.calls import call_trace
from dispatch_core.operators.typed_calls import TypedCalls
from dispatch_devkit.command_line.call_report import CallReport
from dispatch_devkit.command_line.output import TextOutput

#: How many programs with drawn classes and sets are compared with the rule; `DISPATCH_TEST_PROGRAMS` says another number.
PROGRAMS = int(os.environ.get("DISPATCH_TEST_PROGRAMS", "40"))


class Shape:
    """A base class that no device owns."""

    def __init__(self, size=1):
        self.size = size


class Circle(Shape):
    """A class with neither shape nor dtype."""


class Disk(Circle):
    """A subclass, which belongs to the same device."""


class Square(Shape):
    """A class of another device."""


class Other:
    """A class of no device."""


@pytest.fixture
def shop():
    """A library of the process's own registry, with devices for `Circle` and `Square`; all is gone after the test."""
    with contextlib.ExitStack() as opened:
        library = opened.enter_context(dc.Library("shop", "DEF"))
        library.define("area(Tensor x, *, float scale=1.0) -> float")
        library.define("meet(Tensor a, Tensor b) -> str")
        library.define("join(Tensor a, Tensor b) -> Tensor")
        library.define("total(Tensor[] xs) -> float")
        library.define("names(Tensor x) -> str[]")
        library.define("sides(Tensor x) -> int")
        library.define("grow(Tensor x, int by) -> Tensor")
        for cls in (Circle, Square):
            info = dc.BackendInfo(cls.__name__.lower(), array_types=(dc.ArrayType(cls),))
            opened.enter_context(dc.register_backend(info, {"shop::area": AREAS[cls]}))
        yield library


def area_of_circle(x, *, scale):
    return 3.0 * x.size * scale


def area_of_square(x, *, scale):
    return 1.0 * x.size * scale


AREAS = {Circle: area_of_circle, Square: area_of_square}
ops = dc.ops.shop


def key_of(cls):
    return dc.device_key(cls.__name__.lower())


def name_both(a, b):
    return f"{type(a).__name__}, {type(b).__name__}"


def line_here():
    return f"{__file__}:{inspect.stack()[1].lineno}"


# The eleven uses of a dispatcher on own classes.


def test_one_class_is_enough(shop):
    assert ops.area(Circle(2)) == 6.0


def test_a_subclass_belongs_to_the_device_of_its_base(shop):
    assert ops.area(Disk(2)) == 6.0


def test_two_classes_have_a_kernel_each(shop):
    assert (ops.area(Circle(2)), ops.area(Square(2))) == (6.0, 2.0)


def test_a_mixture_reaches_the_kernel_for_its_types(shop):
    shop.impl("meet", name_both, types=(Circle, Square))
    assert ops.meet(Circle(), Square()) == "Circle, Square"
    assert ops.meet(Square(), Disk()) == "Square, Disk"
    assert ops.meet(Circle(), Circle()) == "Circle, Circle"


def test_another_mixture_is_refused(shop):
    shop.impl("meet", name_both, types=(Disk, Square))
    assert ops.meet(Disk(), Square()) == "Disk, Square"
    with pytest.raises(dc.DeviceMismatchError, match=r"types=\(Disk, Square\).*\nHint: .*types=\(Circle, Square\)"):
        ops.meet(Circle(), Square())


def test_no_shape_and_no_dtype_are_needed(shop):
    shop.impl("join", lambda a, b: Circle(a.size + b.size), types=(Shape,))
    with dc.profile() as profile, dc.trace() as trace:
        assert ops.join(Circle(2), ops.join(Circle(3), Square(4))).size == 9
    assert [(stats.name, stats.calls) for stats in profile.key_averages()] == [("shop::join", 2)]
    assert "shop::join(%0, %1)" in str(trace)
    assert "Circle" in trace._repr_html_()
    with dc.pipeline() as pipeline:
        assert ops.join(Circle(2), Circle(3)).size == 5
    assert [*pipeline.stats().eager] == [("shop::join", "a kernel for a set of types")]
    assert set(dc.opcheck(ops.join, (Circle(), Square())).values()) == {"SUCCESS"}


def test_a_refusal_names_the_types_that_are_taken(shop):
    places = [f"{__file__}:{kernel.__code__.co_firstlineno}" for kernel in AREAS.values()]
    with pytest.raises(dc.ArgumentError) as caught:
        ops.area(Other())
    first, *_, hint = str(caught.value).splitlines()
    assert first == "shop::area(): argument 'x' (position 1) must be Tensor, not Other"
    assert hint.startswith("Hint: it takes ")
    for cls in (Circle, Square):
        assert f"{__name__}.{cls.__name__} ({__file__}:" in hint, places


def test_a_keyword_reaches_the_kernel(shop):
    shop.impl("join", lambda a, b: Circle(a.size - b.size), types=(Circle, Square))
    assert ops.area(Circle(2), scale=0.5) == ops.area(x=Circle(2), scale=0.5) == 3.0
    assert ops.join(b=Circle(2), a=Square(5)).size == 3


def test_results_need_not_be_arrays(shop):
    shop.impl("names", lambda x: [type(x).__name__], types=(Circle, Square))
    shop.impl("total", lambda xs: 1.0 * sum(x.size for x in xs), types=(Circle, Square))
    assert ops.names(Disk()) == ["Disk"]
    assert ops.total([Circle(2), Square(3)]) == 5.0


def test_a_result_of_another_type_is_refused(shop):
    shop.impl("sides", lambda x: "none", key_of(Circle))
    shop.impl("sides", lambda x: "four", types=(Square,))
    shop.impl("join", lambda a, b: Other(), types=(Circle, Square))
    for _ in range(3):
        for cls in (Circle, Square):
            with pytest.raises(dc.KernelResultError, match=rf"must be int, not str\nKernel for .*{__file__}:"):
                ops.sides(cls())
        with pytest.raises(dc.KernelResultError, match="must be Tensor, not Other"):
            ops.join(Circle(), Square())


def test_a_late_registration_is_found(shop):
    with pytest.raises(dc.NoKernelError):
        ops.sides(Circle())
    with pytest.raises(dc.DeviceMismatchError):
        ops.meet(Circle(), Square())
    shop.impl("meet", name_both, types=(Shape,))
    shop.impl("sides", lambda x: 0, types=(Circle,))
    assert (ops.sides(Circle()), ops.meet(Circle(), Square())) == (0, "Circle, Square")
    shop.impl("sides", lambda x: 1, key_of(Circle))
    assert ops.sides(Circle()) == 1
    with pytest.raises(dc.ArgumentError):
        ops.area(Other())
    info = dc.BackendInfo("stranger", array_types=(dc.ArrayType(Other),))
    with dc.register_backend(info, {"shop::area": lambda x, scale: 7.0}):
        assert ops.area(Other()) == 7.0
    with pytest.raises(dc.ArgumentError):
        ops.area(Other())


def test_closing_takes_kernels_for_types_back(shop):
    shop.impl("meet", lambda a, b: "outer", types=(Shape,))
    with dc.Library("shop", "FRAGMENT") as inner:
        inner.impl("meet", lambda a, b: "inner", types=(Circle, Square))
        assert ops.meet(Circle(), Square()) == "inner"
        with pytest.warns(dc.OverwriteWarning, match=r"for types=\(Square, Circle\) from .*; now comes one from"):
            inner.impl("meet", lambda a, b: "again", types=(Square, Circle))
        assert ops.meet(Circle(), Square()) == "again"
    assert ops.meet(Circle(), Square()) == "outer"


# What they say, and the layers.


class Changing(Circle):
    """Objects that say of themselves which class they are of."""

    kind = Circle
    __class__ = property(lambda self: self.kind)


def test_a_choice_that_is_kept_by_types_goes_with_the_registrations(shop, monkeypatch):
    counted = []
    choose = TypedCalls.choose
    monkeypatch.setattr(TypedCalls, "choose", lambda self, arrays: counted.append(1) or choose(self, arrays))
    shop.impl("meet", lambda a, b: "wide", types=(Circle, Square))
    calls = [(Circle(), Square()), (Disk(), Square()), (Square(), Disk()), (Circle(), Circle())]
    for _ in range(2):
        for _ in range(3):
            assert [ops.meet(*args) for args in calls] == ["wide"] * 4
        assert len(counted) == 4
        with dc.Library("shop", "FRAGMENT") as narrow:
            narrow.impl("meet", lambda a, b: "narrow", types=(Disk, Square))
            for _ in range(3):
                assert [ops.meet(*args) for args in calls] == ["wide", "narrow", "narrow", "wide"]
        assert len(counted) == 8
        counted.clear()


def test_an_object_that_says_its_own_class_is_asked_at_each_call(shop):
    shop.impl("meet", lambda a, b: "wide", types=(Circle, Square))
    shop.impl("meet", lambda a, b: "narrow", types=(Disk, Square))
    x = Changing()
    for _ in range(2):
        for x.kind, expected in [(Circle, "wide"), (Disk, "narrow")]:
            assert ops.meet(x, Square()) == expected


def test_two_sets_that_are_not_one_within_the_other_are_ambiguous(shop):
    with dc.register_backend(dc.BackendInfo("stranger", array_types=(dc.ArrayType(Other),)), {}):
        shop.impl("meet", name_both, types=(Shape, Other))
        places = [line_here()]
        shop.impl("meet", name_both, types=(Circle, Square))
        shop.impl("meet", name_both, types=(Circle, Other))
        places = [f"{__file__}:{int(places[0].rpartition(':')[2]) + offset}" for offset in (1, 2)]
        assert ops.meet(Circle(), Square()) == "Circle, Square"
        for call in (lambda: ops.meet(Circle(), Disk()), lambda: ops.meet.default(Circle(), Circle())):
            with pytest.raises(dc.NoKernelError) as caught:
                call()
            assert [place in str(caught.value) for place in places] == [True, True]
        assert isinstance(dc.explain(ops.meet, Circle(), Disk()).error, dc.NoKernelError)
        shop.impl("meet", lambda a, b: "least", types=(Circle,))
        assert ops.meet(Circle(), Disk()) == "least"


@pytest.mark.parametrize(
    ("types", "text"),
    [
        (Circle, "takes a tuple of classes, not <class"),
        (("Circle",), "and 'Circle' is none"),
        ((Circle, int), "has int, which operators take as no array"),
    ],
)
def test_types_that_are_no_classes_of_arrays_are_refused(shop, types, text):
    with pytest.raises(dc.RegistrationError, match=text):
        shop.impl("meet", name_both, types=types)


def test_a_kernel_stands_under_a_key_or_for_types(shop):
    for options in ({"key": "CPU"}, {"when": ("a", None)}):
        with pytest.raises(dc.RegistrationError, match="a set of types stands where a key does"):
            shop.impl("meet", name_both, types=(Circle,), **options)


def test_a_program_wins_over_a_backend_whatever_the_order(shop):
    for order in itertools.permutations(["program", "backend"]):
        with dc.Library("shop", "FRAGMENT") as inner:
            for level in order:
                with dc.registry.transaction(level=level):
                    own = dc.Library("shop", "FRAGMENT")
                    own.impl("meet", lambda a, b, level=level: level, types=(Circle, Square), allow_override=True)
                inner._keep(own.close)
            assert ops.meet(Circle(), Square()) == "program"


def test_reports_show_the_set(shop, monkeypatch, capsys):
    shop.impl("meet", name_both, types=(Circle, Square))
    explanation = dc.explain(ops.meet, Circle(), Square())
    winner = explanation.winner
    assert (winner.key, winner.reason) == ("(Circle, Square)", "kernel for a set of types")
    assert __file__ in str(winner)
    with pytest.raises(dc.NoKernelError, match=r"under types=\(Circle, Square\) \("):
        dc.call_direct("shop::meet", key_of(Circle), Circle(), Square())
    from dispatch_devkit.explanation import list_registrations

    assert [row["key"] for row in list_registrations(dc.registry.get("shop::meet"))] == ["(Circle, Square)"]
    monkeypatch.setenv("DISPATCH_TRACE", "1")
    dc.refresh()
    ops.meet(Circle(), Square())
    assert "shop::meet (BackendSelect, Square, Circle) -> types=(Circle, Square), " in capsys.readouterr().err
    monkeypatch.delenv("DISPATCH_TRACE")
    dc.refresh()


def test_layers_see_a_mixture_and_refuse_what_no_set_has(shop):
    seen = []

    class Watcher(dc.DispatchMode):
        def __dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    shop.impl("meet", name_both, types=(Circle, Square))
    with Watcher(), dc.profile() as profile:
        assert ops.meet(Circle(), Square()) == "Circle, Square"
    assert seen == ["shop::meet"]
    assert [stats.name for stats in profile.key_averages()] == ["shop::meet"]
    with dc.profile(), pytest.raises(dc.DeviceMismatchError):
        ops.join(Circle(), Square())


def test_a_captured_function_refuses_what_has_no_shape(shop):
    captured = dc.capture(lambda x: ops.grow(x, 2))
    with pytest.raises(dc.CaptureError, match="no shape and dtype"):
        captured(Circle())


def test_the_repr_of_a_type_shows_what_was_given():
    assert repr(dc.ArrayType(Circle)) == "ArrayType(Circle)"
    assert repr(dc.ArrayType(Circle, mutable=False)) == "ArrayType(Circle, mutable=False)"


@pytest.mark.parametrize(
    ("qualified", "install"),
    [
        ("numpy.ndarray", "pip install dispatch-backend-cpu,"),
        ("jaxlib._jax.ArrayImpl", 'pip install "dispatch-backend-array-api[jax]",'),
        ("torch.Tensor", 'pip install "dispatch-backend-array-api[torch]",'),
        ("cupy.ndarray", 'pip install "dispatch-backend-array-api[cupy]",'),
        ("dask.array.core.Array", 'pip install "dispatch-backend-array-api[dask]",'),
    ],
)
def test_a_known_type_without_its_backend_names_the_distribution(shop, qualified, install, monkeypatch):
    from dispatch_core.plugins.catalog import Catalog
    from dispatch_core.surroundings.distributions import ARRAY_TYPES, BACKENDS

    claims, names = Catalog.claims, Catalog.names
    monkeypatch.setattr(
        Catalog,
        "claims",
        lambda self, group, name: () if group in (ARRAY_TYPES, BACKENDS) else claims(self, group, name),
    )
    monkeypatch.setattr(Catalog, "names", lambda self, group: [] if group == BACKENDS else names(self, group))
    module, _, name = qualified.rpartition(".")
    value = type(name, (), {"__module__": module})()
    sub = type("Mine", (type(value),), {})()
    for each in (value, sub):
        for call in (ops.area, lambda x: ops.total([x]), dc.device):
            with pytest.raises(
                dc.ArgumentError, match=rf"\nHint: {install.replace('[', chr(92) + '[')}".replace("]", r"\]")
            ):
                call(each)
    with pytest.raises(dc.ArgumentError, match=r"\nHint: it takes "):
        ops.area(type("ndarray", (), {"__module__": "elsewhere"})())


# Drawn programs: a plain model of the rule.


class Model:
    """What a call runs, in plain Python: kernels by their names, devices by their classes."""

    def __init__(self, owners):
        #: class → device.
        self.owners = owners
        #: device → kernel; a set of classes → kernels, the last one active.
        self.own, self.sets = {}, {}
        self.composite = []

    def owner(self, cls):
        return next(self.owners[base] for base in cls.__mro__ if base in self.owners)

    def run(self, kinds):
        devices = {self.owner(kind) for kind in kinds}
        if len(devices) == 1 and (own := self.own.get(min(devices))):
            return own[-1]
        fitting = [
            types for types, held in self.sets.items() if held and all(issubclass(each, tuple(types)) for each in kinds)
        ]

        def within(one, other):
            return all(issubclass(each, tuple(other)) for each in one)

        least = [one for one in fitting if not any(within(other, one) and not within(one, other) for other in fitting)]
        if len(least) > 1:
            return dc.NoKernelError
        if least:
            return self.sets[least[0]][-1]
        if len(devices) > 1:
            return dc.DeviceMismatchError
        return self.composite[-1] if self.composite else dc.NoKernelError


def draw_classes(draw):
    """Return drawn classes, some of which derive from others, and the device of each that is not inherited."""
    classes, owners = [], {}
    for number in range(draw.randint(3, 7)):
        base = draw.choice(classes) if classes and draw.random() < 0.5 else object
        classes.append(type(f"C{number}", (base,), {}))
    for number, cls in enumerate(classes):
        has_owner = any(base in owners for base in cls.__mro__)
        if not has_owner or draw.random() < 0.3:
            # A device has one class or two.
            owners[cls] = f"d{number}" if draw.random() < 0.7 or not owners else draw.choice([*owners.values()])
    return classes, owners


@pytest.mark.parametrize("start", range(4))
def test_drawn_sets_of_types_run_by_the_rule(start):
    draw = random.Random(f"{os.environ.get('DISPATCH_TEST_SEED', '1')} {start}")
    for _ in range(PROGRAMS // 4):
        compare_with_model(draw)


def compare_with_model(draw):
    classes, owners = draw_classes(draw)
    registry, model = dc.Registry(interpreted=draw.random() < 0.3), Model(owners)
    with contextlib.ExitStack() as opened:
        library = opened.enter_context(dc.Library("t", "DEF", registry=registry))
        library.define("f(Tensor a, Tensor? b=None, *, Tensor[] more) -> str")
        for device in dict.fromkeys(owners.values()):
            types = tuple(dc.ArrayType(cls) for cls, theirs in owners.items() if theirs == device)
            opened.enter_context(dc.register_backend(dc.BackendInfo(device, array_types=types), {}, registry=registry))
        made = []
        for number in range(draw.randint(4, 10)):
            change(draw, registry, library, model, classes, made, f"k{number}")
            for _ in range(4):
                call_both(draw, registry, model, classes)


def change(draw, registry, library, model, classes, made, name):
    """Register a kernel, or take one back."""
    action = draw.random()
    if made and action < 0.2:
        taken, held = made.pop(draw.randrange(len(made)))
        taken.close()
        held.remove(taken.answer)
        return
    own = dc.Library("t", "FRAGMENT", registry=registry)
    own.answer = name
    if action < 0.35:
        device = draw.choice([*model.owners.values()])
        held = model.own.setdefault(device, [])
        own.impl("f", lambda *args, **kwargs: name, dc.device_key(device), allow_override=True)
    elif action < 0.4:
        held = model.composite
        own.impl("f", lambda *args, **kwargs: name, "CompositeExplicitAutograd", allow_override=True)
    else:
        types = draw.sample(classes, draw.randint(1, min(4, len(classes))))
        widest = frozenset(
            each for each in types if not any(each is not cls and issubclass(each, cls) for cls in types)
        )
        held = model.sets.setdefault(widest, [])
        own.impl("f", lambda *args, **kwargs: name, types=tuple(types), allow_override=True)
    held.append(name)
    made.append((own, held))


def call_both(draw, registry, model, classes):
    """Compare a drawn call, under a layer or none, with the model."""
    first, *rest = [draw.choice(classes) for _ in range(draw.randint(1, 4))]
    second = rest.pop() if rest and draw.random() < 0.7 else None
    wanted = model.run({first, *rest, *filter(None, [second])})
    layer = draw.choice(
        [contextlib.nullcontext, lambda: dc.profile(registry=registry), lambda: dc.trace(registry=registry)]
    )
    args, kwargs = (first(), None if second is None else second()), {"more": [cls() for cls in rest]}
    told = dc.explain(registry.ops.t.f, *args, **kwargs)
    with layer():
        try:
            found = registry.ops.t.f(*args, **kwargs)
        except dc.DispatchError as error:
            found = type(error)
    assert found == wanted, (first, second, rest, model.owners, model.own, model.sets)
    assert (told.winner is None) == (type(told.error) is wanted) == (not isinstance(wanted, str)), told


def test_a_trace_names_the_kernel_for_a_set_of_types(shop):
    shop.impl("meet", name_both, types=(Circle, Square))
    report = CallReport("program")
    with call_trace.listen(report):
        assert dc.ops.shop.meet(Circle(), Square())
    assert dc.ops.shop.meet(Circle(), Square())
    (call,) = report.to_dict()["calls"]
    assert call["operator"] == "shop::meet"
    assert call["function"].endswith(".name_both")
    assert "test_own_classes.py:" in call["kernel"]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_summary_is_as_wide_as_its_terminal_and_loses_nothing(shop, width):
    shop.impl("meet", name_both, types=(Circle, Square))
    report = CallReport("program")
    with call_trace.listen(report):
        dc.ops.shop.meet(Circle(), Square())
    plain, narrow = report.text(), report.text(TextOutput(width))
    assert max(map(len, plain.splitlines())) > 100
    # A word that is longer than a line stays whole.
    assert [line for line in narrow.splitlines() if len(line) > width and len(line.split()) > 2] == []
    table = report.table()
    cells = [column.text(cell) for row in table.rows for column, cell in zip(table.columns, row, strict=True)]
    words = {word for cell in cells for word in cell.split()}
    assert words - {*narrow.split()} == set()
