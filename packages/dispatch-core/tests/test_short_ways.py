"""Short ways that lead a call to another operator or give way to a history, by generated code and by plain code."""

from __future__ import annotations

import random

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.calls import codegen, reference

SCHEMAS = {
    "one tensor": "one(Tensor x, int n=2) -> Tensor",
    "two tensors": "two(Tensor x, Tensor y) -> Tensor",
    "an optional tensor": "maybe(Tensor x, Tensor? y=None, *, int n=2) -> Tensor",
    "a list of tensors": "several(Tensor[] xs) -> Tensor",
    "a name that is taken": "named(Tensor self, int lambda=2) -> Tensor",
}


class Held:
    def __init__(self, data: object) -> None:
        self._dispatch_data, self._dispatch_mask = data, 0


def values_of(kind: str) -> tuple[object, ...]:
    x, y = Held(np.arange(3.0)), Held(np.ones(3))
    rest = {"one tensor": (2,), "two tensors": (y,), "an optional tensor": (None, 2), "a name that is taken": (2,)}
    return ([x, y],) if kind == "a list of tensors" else (x, *rest[kind])


def outcome(engine, kind: str, arguments) -> tuple[object, list[object]]:
    registry = dc.Registry()
    library = dc.Library("example", "DEF", registry=registry)
    library.define(SCHEMAS[kind])
    entry = registry.get(f"example::{SCHEMAS[kind].partition('(')[0]}")
    seen: list[object] = []

    def take(*arrays):
        seen.append(arrays)
        return arguments(*arrays)

    values = values_of(kind)
    runner = engine.make_redirect(entry, lambda *args: ("target", args), take, lambda *args: ("run", args))
    results = [runner(*values) for _ in range(3)]  # the first calls run in plain code
    assert results[0] == results[1] == results[2]
    where, args = results[0]
    place = ["first" if arg is values[0] else "other" if arg in values else arg for arg in args]
    return (where, place), [str(each) for each in seen]


@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("answer", ["arguments", "none", "declines", "raises"])
def test_a_call_is_led_alike_by_generated_and_by_plain_code(kind, answer):
    def arguments(*arrays):
        if answer == "raises":
            raise ValueError("no such shape")
        return {"arguments": (len(arrays), 5), "none": (), "declines": NotImplemented}[answer]

    generated, plain = (outcome(engine, kind, arguments) for engine in (codegen, reference))
    assert generated == plain
    (where, place), seen = generated
    assert where == ("target" if answer in {"arguments", "none"} else "run")
    assert place[0] == "first"
    assert len(seen) == 3
    assert "Held" not in str(seen)


@pytest.mark.parametrize("engine", [codegen, reference])
def test_an_interrupt_in_a_lead_is_no_refusal(engine):
    def arguments(*arrays):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome(engine, "one tensor", arguments)


AUTOGRAD = dc.DispatchKey.AutogradCPU.value
CHOICES = SCHEMAS | {
    "tensors that may be absent": "sparse(Tensor?[] xs, Tensor? y=None) -> Tensor",
    "a list and a tensor": "beside(Tensor[] xs, Tensor y) -> Tensor",
    "a tensor by default absent": "absent(Tensor x=None, Tensor y=None) -> Tensor",
}


def draw_tensors(signature, draw) -> tuple[object, ...]:
    """Return arguments: tensors with an Autograd key or without, of which some of the former have a history."""

    def tensor(parameter) -> Held | None:
        if ("optional" in parameter.tensors or parameter.default is None) and draw.random() < 0.3:
            return None
        made = Held(draw.random() < 0.4)
        made._dispatch_mask = AUTOGRAD * (made._dispatch_data or draw.random() < 0.5)
        return made

    return tuple(
        [tensor(each) for _ in range(draw.randrange(3))]
        if "list" in each.tensors
        else tensor(each)
        if each.tensors
        else 5
        for each in signature.parameters
    )


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("records", [None, True, False])
def test_a_history_is_found_alike_by_generated_and_by_plain_code(kind, records):
    registry, draw = dc.Registry(), random.Random(kind)
    dc.Library("example", "DEF", registry=registry).define(CHOICES[kind])
    entry = registry.get(f"example::{CHOICES[kind].partition('(')[0]}")

    def has_history(tensor: Held) -> bool:
        assert tensor._dispatch_mask & AUTOGRAD
        return tensor._dispatch_data

    asks = None if records is None else lambda: records
    generated, plain = (
        engine.make_history_choice(
            entry, lambda *args: ("recorded", args), lambda *args: ("short", args), has_history, asks
        )
        for engine in (codegen, reference)
    )
    seen = set()
    for _ in range(100):
        values = draw_tensors(entry.signature, draw)
        tensors = [tensor for _, tensor in entry.signature.tensors(values)]
        if not any(tensor._dispatch_mask & AUTOGRAD for tensor in tensors):
            continue  # a call whose mask has an Autograd key has such a tensor
        wanted = records is not False and any(tensor._dispatch_data for tensor in tensors)
        assert generated(*values) == plain(*values) == ("recorded" if wanted else "short", values)
        seen.add(wanted)
    assert seen == ({False} if records is False else {False, True})


@pytest.mark.parametrize("engine", [codegen, reference])
def test_an_error_of_the_usual_way_does_not_name_that_of_a_lead(engine):
    def arguments(*arrays):
        raise IndexError("of the lead")

    def run(*values):
        raise ValueError("of the usual way")

    registry = dc.Registry()
    dc.Library("example", "DEF", registry=registry).define("narrow(Tensor self, int dim) -> Tensor")
    runner = engine.make_redirect(registry.get("example::narrow"), None, arguments, run)
    for _ in range(60):  # past the first calls, which run in plain code
        with pytest.raises(ValueError, match="of the usual way") as caught:
            runner(Held(np.ones(2)), 0)
        assert caught.value.__context__ is None
