"""Protocols of frontends: objects for them, the usual answers, and the members of tensor classes that came before them."""

from __future__ import annotations

import random
import threading
from inspect import isfunction

import pytest

import dispatch_core as dc
from dispatch_core import frontends
from dispatch_core.arrays.frontend import FRONTENDS, _remove

PROTOCOLS = {each.lower(): getattr(frontends, each) for each in ("Views", "Writes", "Autograd", "Layers", "Capture")}
METHODS = [
    (parameter, name)
    for parameter, protocol in PROTOCOLS.items()
    for name, value in vars(protocol).items()
    if isfunction(value) and not name.startswith("_")
]
FORMER = {
    "note_write": "mutated",
    "check_write": "writing",
    "autograd_kernel": "autograd",
    "batching_kernel": "batching",
    "autocast_kernel": "autocast",
    "functional_block": "functional",
    "call_mixed": "mixed",
    "capture_part": "capture",
}


@pytest.fixture
def register():
    """Register a frontend that is gone after the test."""
    made = []

    def register(name, cls, **given):
        made.append(dc.register_frontend(name, cls, **given))
        return made[-1]

    yield register
    for each in made:
        if FRONTENDS.get(each.marker) is each:
            _remove(each)


@pytest.mark.parametrize(("parameter", "name"), METHODS)
def test_an_object_of_any_class_with_all_methods_serves_and_one_that_lacks_one_is_refused(register, parameter, name):
    methods = {each: lambda self, *args: None for of, each in METHODS if of == parameter}
    whole = type("Whole", (), methods)
    frontend = register("whole", type("Box", (), {}), **{parameter: whole()})
    assert isinstance(getattr(frontend, parameter), whole)
    methods.pop(name)
    with pytest.raises(dc.ArgumentError) as caught:
        register("part", type("Other", (), {}), **{parameter: type("Part", (), methods)()})
    protocol = PROTOCOLS[parameter].__name__
    assert str(caught.value).startswith(f"frontend 'part': {parameter}= takes an object with the methods of")
    assert f"lacks {name}" in str(caught.value)
    assert f"dispatch_core.frontends.{protocol}" in caught.value.hint


@pytest.mark.parametrize(("parameter", "protocol"), PROTOCOLS.items())
def test_a_class_instead_of_its_object_is_refused(parameter, protocol):
    before = dict(FRONTENDS)
    made = type("Mine", (protocol,), {"view": lambda self, *args: None})
    with pytest.raises(dc.ArgumentError, match="not the class Mine") as caught:
        dc.register_frontend("boxes", type("Box", (), {}), **{parameter: made})
    assert caught.value.hint == "make one: Mine()"
    assert before == FRONTENDS


@pytest.mark.parametrize(("parameter", "name"), METHODS)
def test_a_former_member_of_the_class_is_a_method_of_the_protocol(register, parameter, name):
    former = f"_dispatch_{FORMER.get(name, name)}"
    members = {former: staticmethod(lambda *args: ("asked", args))}
    cls = type("Box", (), members)
    with pytest.warns(
        DeprecationWarning, match=rf"(?s){former}.* of Box .*give register_frontend objects: {parameter}="
    ) as seen:
        frontend = register("boxes", cls)
    assert seen[0].filename == __file__
    assert getattr(getattr(frontend, parameter), name)(1, 2) == ("asked", (1, 2))
    assert [each for each in PROTOCOLS if getattr(frontend, each) is not None] == [parameter]


class Log:
    """What a frontend was asked, as text, and its tensors' names."""

    def __init__(self):
        self.lines = []
        self.names = {}

    def name(self, value):
        if hasattr(value, "_dispatch_data"):
            return self.names.setdefault(id(value), f"t{len(self.names)}")
        return value.a.tolist() if hasattr(value, "a") else str(value)

    def hooks(self):
        def view(base, data, op, args):
            self.lines.append(("view", self.name(base), self.name(data), op.name))
            return dc.wrap_like(base, data)

        def views(base, parts, op, args):
            self.lines.append(("views", self.name(base), [self.name(each) for each in parts], op.name))
            return [dc.wrap_like(base, each) for each in parts]

        def note_write(tensor):
            self.lines.append(("note_write", self.name(tensor)))

        def rebind(tensor, data):
            self.lines.append(("rebind", self.name(tensor), self.name(data)))
            frontends.bind(tensor, data)

        def check_write(tensor, name):
            self.lines.append(("check_write", self.name(tensor), name))

        return {"view": view, "views": views, "note_write": note_write, "rebind": rebind, "check_write": check_write}


def run_program(seed, ops, arrays, wrap, log):
    """Call drawn operators on drawn tensors, and return the elements of all of them."""
    draw = random.Random(seed)
    tensors = [wrap(arrays.array([draw.randrange(9) for _ in range(4)])) for _ in range(2)]
    for each in tensors:
        log.name(each)
    for _ in range(12):
        op = draw.choice((ops.first, ops.halves, ops.add_, ops.add))
        found = op(draw.choice(tensors))
        tensors += found if isinstance(found, list) else [found]
    return [each._dispatch_data.a.tolist() for each in tensors], log.lines


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("mutable", [True, False])
def test_a_program_asks_the_former_members_as_it_asks_the_protocols(
    register, registry, library, make_backend, seed, mutable
):
    arrays = make_backend("drawn", mutable=mutable)
    part = lambda x, where: type(x)(x.a[where])  # a kernel's own words
    for schema, kernel in {
        "first(Tensor(a) x) -> Tensor(a)": lambda x: part(x, slice(1)),
        "halves(Tensor(a) x) -> Tensor(a)[]": lambda x: [part(x, slice(1)), part(x, slice(1, None))],
        "add(Tensor x) -> Tensor": lambda x: type(x)(x.a + 1),
        "add_(Tensor(a!) x) -> Tensor(a!)": lambda x: x.a.__iadd__(1) is None or x,
    }.items():
        library.define(schema)
        if mutable or "add_" not in schema:
            library.impl(schema.partition("(")[0], kernel, arrays.key)
    given = [each for each in Log().hooks() if random.Random(seed).random() < 0.8 or each == "view"]
    found = []
    for is_flat in (True, False):
        log = Log()
        hooks = {each: hook for each, hook in log.hooks().items() if each in given}
        if is_flat:
            members = {f"_dispatch_{FORMER.get(each, each)}": hook for each, hook in hooks.items()}
            with pytest.warns(DeprecationWarning, match="go in 0.2"):
                frontend = register("flat", type("Box", (), members))
        else:
            made = {
                parameter: type("Mine", (PROTOCOLS[parameter],), own)()
                for parameter in ("views", "writes")
                if (own := {each: staticmethod(hook) for each, hook in hooks.items() if (parameter, each) in METHODS})
            }
            frontend = register("objects", type("Box", (), {}), **made)
        found.append(run_program(seed, registry.ops.t, arrays, frontend.wrap, log))
    assert found[0] == found[1]
    assert {line[0] for line in found[0][1]} <= {*given}


class Notes(frontends.CapturePart):
    """What a part is told, in the order in which it is."""

    def __init__(self, log):
        self.log = log
        log.append("begin")

    def meet(self, tensor):
        self.log.append("meet")

    def check(self):
        self.log.append("check")

    def finish(self, results):
        self.log.append("finish")
        return frontends.Finish()

    def end(self, *, failed):
        self.log.append("failed" if failed else "end")


class NotedCapture(frontends.Capture):
    def __init__(self):
        self.logs, self.mode = [], 0

    def capture_part(self, recording):
        self.logs.append([])
        return Notes(self.logs[-1])

    def environment(self):
        return self.mode


@pytest.mark.parametrize("seed", range(6))
def test_a_captured_call_has_a_part_of_the_frontend_where_it_runs_and_nowhere_else(seed, meta, toy, make_frontend):
    capture, draw = NotedCapture(), random.Random(seed)
    boxes = make_frontend("noted", capture=capture)
    with dc.Library("noted", "DEF") as library:
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: type(x)(x.a * 2), toy.key)
        library.impl("double", lambda x: meta.array(x.shape), "Meta")
        parts, others = [], []

        def ask():
            others.append(frontends.captured_part("noted"))

        def function(tensor, times):
            parts.append(frontends.captured_part("noted"))
            assert frontends.captured_part("others") is None
            aside = threading.Thread(target=ask)
            aside.start()
            aside.join()
            if times < 0:
                raise ZeroDivisionError
            for _ in range(times):
                tensor = dc.ops.noted.double(tensor)
            return tensor

        captured = dc.capture(function)
        for _ in range(60):
            times, number = draw.choice([1, 2, 2, 2, -1, draw.randrange(3, 40)]), draw.randrange(9)
            capture.mode = draw.choice([0, 0, 0, 1])
            ran, begun = len(parts), len(capture.logs)
            if times < 0:
                with pytest.raises(ZeroDivisionError):
                    captured(boxes.wrap(toy.array([number])), times)
            else:
                found = captured(boxes.wrap(toy.array([number])), times)
                assert found._dispatch_data.a.tolist() == [number * 2**times]
            assert frontends.captured_part("noted") is None
            assert len(parts) - ran == len(capture.logs) - begun <= 1  # a replay asks for none, and runs no Python
        assert all(type(each) is Notes and each.log is log for each, log in zip(parts, capture.logs, strict=True))
        assert {*others} == {None}
        assert all(log[0] == "begin" and log[-1] in ("end", "failed") for log in capture.logs)
        assert any(log == ["begin", "meet", "finish", "end"] for log in capture.logs)
        assert len(parts) < 60
    assert not frontends.CAPTURING


@pytest.mark.parametrize(("parameter", "name"), [each for each in METHODS if each[1] not in {"view", "views"}])
def test_a_method_with_a_name_near_one_of_the_protocols_is_refused(register, parameter, name):
    view = {"view": lambda *args: None} if parameter == "views" else {}
    near = type("Mine", (PROTOCOLS[parameter],), {f"{name}s": lambda *args: None, **view})()
    with pytest.raises(dc.ArgumentError) as caught:
        register("mine", type("Own", (), {}), **{parameter: near})
    assert f"Mine has {name}s, which nothing asks for" in str(caught.value)
    assert "Hint: did you mean" in str(caught.value)
    assert not any(found.name == "mine" for found in FRONTENDS.values())


def test_a_method_with_such_a_name_beside_the_right_one_is_the_objects_own_affair(register):
    methods = {"records": lambda self: True, "record": lambda self: None}
    register("mine", type("Own", (), {}), autograd=type("Mine", (frontends.Autograd,), methods)())
