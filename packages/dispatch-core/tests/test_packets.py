"""Packets that are held while overloads come and go, and their calls beside those of the overloads themselves."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import random
import sys
import threading
import types
import weakref

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.arrays import owners
from dispatch_core.arrays.owners import is_tensor
from dispatch_core.schema import matches

#: How many operators are drawn for each kind of registry, and which.
PROGRAMS = int(os.environ.get("DISPATCH_TEST_PACKETS", "60"))
SEED = int(os.environ.get("DISPATCH_TEST_SEED", "0"))


def outcome(function, *args, **kwargs):
    """Return a call's result, or its error's class, text and notes."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # any error is compared
        return type(error), str(error), getattr(error, "__notes__", None)


def define(library, overload, arguments, result):
    """Define an overload of ``f`` that returns ``result``."""
    name = f"f.{overload}" if overload else "f"
    library.define(f"{name}({arguments}) -> Any")
    library.impl(name, lambda *args, **kwargs: result)


def test_a_packet_stays_a_packet_whatever_it_calls(registry, library):
    packet = None
    for overload, arguments in [("", "int x"), ("text", "str x"), ("both", "int x, str y")]:
        define(library, overload, arguments, overload)
        packet = packet or registry.ops.t.f
        for _ in range(3):
            assert packet(1) == ""
        assert packet is registry.ops.t.f
        assert type(packet) is dc.OpOverloadPacket
        assert callable(packet)
        assert packet.default(1) == ""
        assert copy.copy(packet) is copy.deepcopy(packet) is packet
        assert packet.overloads()[-1] == (overload or "default")
        assert repr(packet) == f"<OpOverloadPacket t::f: {', '.join(packet.overloads())}>"
        assert len(inspect.signature(packet).parameters) >= 1
    assert [packet("x"), packet(1, "x"), packet(x="x"), packet(y="x", x=1)] == ["text", "both", "text", "both"]


def test_a_packet_of_the_process_is_pickled_by_its_name():
    with dc.Library("pickled_packets", "DEF") as library:
        define(library, "", "int x", "one")
        packet = dc.ops.pickled_packets.f
        assert packet(1) == "one"
        assert pickle.loads(pickle.dumps(packet)) is packet


def test_a_packet_of_one_overload_runs_no_code_of_its_own(registry, library):
    """The only frame between a caller and the kernel is the overload's, also for keywords."""
    frames = []
    library.define("f(int x) -> int")
    library.impl("f", lambda x: frames.append(inspect.stack(0)) or x)
    packet = registry.ops.t.f

    def depth(function, **kwargs):
        function(**kwargs)
        return len(frames[-1])

    for _ in range(4):
        packet(1)
        packet.default(1)
    assert depth(packet, x=1) == depth(packet.default, x=1)


def test_held_packets_have_the_overloads_of_the_day(registry, library):
    """One, several, one again, none, and again one: by packets that were fetched at any time before."""
    draw = random.Random(SEED)
    overloads = {"a": "int x", "b": "str x", "c": "float x", "d": "int x, int y"}
    calls = {"a": (1,), "b": ("x",), "c": (1.5,), "d": (1, 2)}
    open_ones, held = {}, []
    define(library, "c", overloads["c"], "c")
    for _ in range(PROGRAMS):
        name = draw.choice("abd")
        if name in open_ones:
            open_ones.pop(name).close()
        else:
            open_ones[name] = dc.Library("t", "FRAGMENT", registry=registry)
            define(open_ones[name], name, overloads[name], name)
        held = [*held[-3:], registry.ops.t.f, copy.copy(registry.ops.t.f)]
        assert all(packet is held[0] for packet in held)
        there = {"c", *open_ones}
        for each, args in calls.items():
            found = outcome(held[0], *args)
            if each in there:
                # An int is a float, too, and is taken by the first that fits.
                assert found == each or (each == "a" and found == "c")
                assert found == outcome(held[0], **dict(zip("xy", args, strict=False)))
            elif len(there) > 1:
                assert found in ("a", "c") or found[0] is dc.NoMatchingOverloadError
            else:
                assert found == outcome(held[0].c, *args)
    for each in open_ones.values():
        each.close()
    library.close()
    assert outcome(held[0], 1)[0] is dc.ClosedOperatorError
    assert outcome(held[0], x=1)[0] is dc.ClosedOperatorError
    with dc.Library("t", "DEF", registry=registry) as again:
        define(again, "", "int x", "again")
        assert held[0](1) == held[0](x=1) == "again"
    assert outcome(held[0], 1)[0] is dc.ClosedOperatorError


def test_a_rolled_back_overload_leaves_the_only_one(registry, library):
    define(library, "", "int x", "one")
    packet = registry.ops.t.f
    assert packet(1) == packet(1) == "one"

    def define_and_fail():
        extra = dc.Library("t", "FRAGMENT", registry=registry)
        define(extra, "text", "str x", "text")
        assert packet("x") == "text"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), registry.transaction():
        define_and_fail()
    assert packet(1) == "one"
    assert outcome(packet, "x") == outcome(packet.default, "x")


def test_an_overload_of_another_thread_is_found_at_once(registry, library):
    """Threads that call all the time find an overload once its definition has returned, and lose it with its closing."""
    define(library, "", "int x", "one")
    packet, rounds = registry.ops.t.f, 60
    state, wrong, done = [0], [], threading.Event()

    def call():
        while not done.is_set():
            before = state[0]
            found = outcome(packet, "x")
            # 0: not defined, 2: defined; a change meanwhile excuses any answer.
            if before == state[0] and before % 4 in (0, 2) and (found == "text") != (before % 4 == 2):
                wrong.append((before, found))
            assert packet(1) == "one"

    threads = [threading.Thread(target=call) for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    try:
        for thread in threads:
            thread.start()
        for _ in range(rounds):
            with dc.Library("t", "FRAGMENT", registry=registry) as extra:
                state[0] += 1
                define(extra, "text", "str x", "text")
                state[0] += 1
                for _ in range(20):
                    assert packet("x") == "text"
                state[0] += 1
            state[0] += 1
            for _ in range(20):
                assert outcome(packet, "x") == outcome(packet.default, "x")
    finally:
        done.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join(30)
    assert not wrong


def test_a_definition_while_a_first_call_looks_is_not_missed(registry, library):
    """The call counts the overloads and fills the slot in one step: a definition comes before it or after it."""
    define(library, "", "int x", "one")
    packet, other = registry.ops.t.f, []

    class Packets(dict):
        def get(self, *args):
            found = super().get(*args)
            if not other:
                other.append(threading.Thread(target=define, args=(library, "text", "str x", "text")))
                other[0].start()
                other[0].join(0.3)
            return found

    registry._packets = Packets(registry._packets)
    assert packet(1) == "one"
    other[0].join(30)
    assert packet("x") == "text"


def test_a_keyword_is_told_from_a_positional_argument_of_the_same_type(registry, library):
    define(library, "place", "int x, int y", "place")
    define(library, "name", "int x, *, int z", "name")
    define(library, "other", "int x, *, int w", "other")
    packet = registry.ops.t.f
    for _ in range(3):
        assert [packet(1, 2), packet(1, z=2), packet(1, w=2), packet(1, y=2)] == ["place", "name", "other", "place"]


def test_the_choice_by_keywords_types_is_kept(registry, library, monkeypatch):
    define(library, "a", "int x, *, int flag", "a")
    define(library, "b", "int x, *, float flag", "b")
    define(library, "c", "int x, *, int[] many", "c")
    packet = registry.ops.t.f
    calls = [({"flag": 1}, "a"), ({"flag": 1.5}, "b"), ({"many": [1]}, "c")]
    for kwargs, expected in calls:
        assert packet(1, **kwargs) == packet(**kwargs, x=1) == expected
    monkeypatch.setattr(dc.OpOverloadPacket, "resolve", None)
    for kwargs, expected in calls:
        assert packet(1, **kwargs) == packet(**kwargs, x=1) == expected


# Drawn operators.

#: Types of arguments → values that fit, and a default.
VALUES = {
    "int": ([0, 7, -3, True], "3"),
    "float": ([0.5, 2, -1.0], "0.5"),
    "bool": ([True, False], "False"),
    "str": (["text", "cpu", ""], '"x"'),
    "Scalar": ([1, 2.5, True, 1j], "1"),
    "int[]": ([[1, 2], (3,), []], "[]"),
    "float[]": ([[1.5], (1, 2.5)], None),
    "int[2]": ([[1, 2], 5], None),
    "Tensor": (["array", "subclass"], None),
    "Tensor?": ([None, "array"], "None"),
    "Tensor[]": ([["array"], ["array", "subclass"], []], None),
    "int[]?": ([None, [1]], "None"),
    "Device?": ([None, "cpu"], "None"),
    "Dict(str, int)": ([{"a": 1}, {}], None),
}
WRONG = [object(), "wrong", 1.5, None, [None], [[1]], {"a": "b"}, b"bytes", [1, "x"]]


def draw_schema(draw):
    """Return the text of a schema's arguments, and the types by name."""
    kinds = {f"a{number}": draw.choice(list(VALUES)) for number in range(draw.randint(1, 5))}
    positional = draw.randint(0, len(kinds))
    parts, has_default = [], False
    for number, (name, kind) in enumerate(kinds.items()):
        if number == positional:
            parts.append("*")
            has_default = False
        default = VALUES[kind][1]
        has_default = default is not None and (has_default or draw.random() < 0.4)
        parts.append(f"{kind} {name}" + (f"={default}" if has_default else ""))
    # What follows an argument with a default has one as well, or the schema is refused.
    return ", ".join(parts), kinds


def draw_call(draw, kinds, arrays):
    """Return positional arguments and keywords, of the schema's types or with a fault."""

    def value(kind):
        found = draw.choice(VALUES[kind][0]) if draw.random() < 0.93 else draw.choice(WRONG)
        if isinstance(found, list):
            return [arrays.get(each, each) if isinstance(each, str) else each for each in found]
        return arrays[found] if isinstance(found, str) and found in arrays and "Tensor" in kind else found

    names = list(kinds)
    count = draw.randint(0, len(names))
    args = [value(kinds[name]) for name in names[:count]]
    kwargs = {name: value(kinds[name]) for name in names[count:] if draw.random() < 0.9}
    items = list(kwargs.items())
    draw.shuffle(items)
    if draw.random() < 0.05:
        args.append(1)
    if draw.random() < 0.05:
        items.append((draw.choice(["unknown", names[0]]), 1))
    return tuple(args), dict(items)


def draw_operators(registry, draw, count):
    """Yield the name of each drawn operator with one to four overloads, and their arguments' types."""
    library = dc.Library("d", "DEF", registry=registry)
    for number in range(count):
        made = []
        for overload in range(draw.choice([1, 1, 2, 3, 4])):
            arguments, kinds = draw_schema(draw)
            name = f"f{number}" + (f".o{overload}" if overload else "")
            try:
                library.define(f"{name}({arguments}) -> Any")
            except dc.SchemaError:
                continue
            library.impl(name, lambda *args, name=name, **kwargs: (name, args, kwargs), "CompositeImplicitAutograd")
            made.append(kinds)
        if made:
            yield f"f{number}", made
    library.close()


def choose(registry, name, args, kwargs):
    """Return the overload of a call, by a look at one after the other, or None."""
    entries = list(registry.overloads(f"d::{name}").values())
    if len(entries) == 1:
        return entries[0].op
    for strict in (True, False):
        for entry in entries:
            if matches(entry.schema, args, kwargs, is_tensor, **({"strict": True} if strict else {})):
                return entry.op
    return None


def test_drawn_packets_do_as_the_overload_that_fits(registry, toy):
    draw = random.Random(SEED)

    class Sub(toy.array):
        pass

    arrays = {"array": toy.array([1.0]), "subclass": Sub([1.0])}
    called = refused = 0
    for name, overloads in draw_operators(registry, draw, PROGRAMS):
        packet = getattr(registry.ops.d, name)
        calls = [draw_call(draw, draw.choice(overloads), arrays) for _ in range(6)]
        for args, kwargs in calls * 3:
            op = choose(registry, name, args, kwargs)
            found = outcome(packet, *args, **kwargs)
            if op is None:
                assert found[0] is dc.NoMatchingOverloadError
            else:
                assert found == outcome(op, *args, **kwargs)
            failed = isinstance(found[0], type)
            refused, called = refused + failed, called + (not failed)
    assert called > 5 * PROGRAMS
    assert refused > PROGRAMS


# Subclasses of array types.


@pytest.fixture
def module():
    """A module that programs import."""
    made = types.ModuleType("module_of_subclasses")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def subclass(toy, module, name="Sub"):
    """Make a subclass and let the module have it, instead of an older one."""
    made = type(name, (toy.array,), {"__module__": module.__name__, "__slots__": ("__weakref__",)})
    setattr(module, name, made)
    return made


def test_a_subclass_of_a_module_is_found_by_itself_until_another_takes_its_name(registry, library, toy, module):
    """The tables hold it, and let it go where the module has another one, or none."""
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, toy.key)
    f = registry.ops.t.f
    before = len(owners.TYPE_MASKS)
    seen = []
    for _ in range(4):
        cls = subclass(toy, module)
        assert [f(cls([1.0])) for _ in range(3)] == [1, 1, 1]
        assert any(each is cls for each in owners.TYPE_MASKS)
        seen.append(weakref.ref(cls))
    old = cls
    cls = subclass(toy, module)
    assert f(cls([1.0])) == f(old([1.0])) == f(cls([1.0])) == 1
    assert not any(each is old for each in owners.TYPE_MASKS)
    del old, cls, module.Sub
    other = subclass(toy, module, "Other")
    assert f(other([1.0])) == 1
    gc.collect()
    assert [each() for each in seen] == [None] * 4
    assert len(owners.TYPE_MASKS) == before + 1


@pytest.mark.parametrize("name", [None, 3, ["unhashable"], "no.such.module"])
def test_a_subclass_may_say_anything_of_its_module(registry, library, toy, name):
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, toy.key)
    cls = type("Odd", (toy.array,), {"__module__": name})
    assert registry.ops.t.f(cls([1.0])) == registry.ops.t.f(x=cls([np.float64(1)])) == 1


def test_a_modules_look_up_of_names_is_not_asked_for_a_subclass(registry, library, toy, module):
    library.define("f(Tensor x) -> int")
    library.impl("f", lambda x: 1, toy.key)
    module.__getattr__ = lambda name: pytest.fail(f"asked for {name}")
    cls = type("Lazy", (toy.array,), {"__module__": module.__name__})
    assert registry.ops.t.f(cls([1.0])) == 1
