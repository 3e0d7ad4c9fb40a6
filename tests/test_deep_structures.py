"""Structures that lie deep, and keys that are long: `save` and `load` refuse them by the documented errors, or keep them."""

import argparse
import io
import os
import random
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest
from checkpoint_bytes import write_safetensors, zip_pickle

import torchlike

#: How many structures are drawn.
STRUCTURES = int(os.environ.get("DEEP_STRUCTURES", "60"))
SEED = int(os.environ.get("DEEP_SEED", "0"))


def note(inner):
    tensor = torchlike.ones(1)
    tensor.note = inner
    return tensor


#: How a value is put into another, and got out again.
WRAPPERS = [
    (lambda inner: [inner], lambda outer: outer[0]),
    (lambda inner: ("x", inner), lambda outer: outer[1]),
    (lambda inner: {"key": inner}, lambda outer: outer["key"]),
    (lambda inner: OrderedDict(a=1, b=inner), lambda outer: outer["b"]),
    (lambda inner: argparse.Namespace(x=inner), lambda outer: outer.x),
    (note, lambda outer: outer.note),
]


#: Format → how many of the wrappers are saved within each other at least, and at most.
LIMITS = {"torch": (300, 1000), "safetensors": (200, 200)}
FORMATS = pytest.mark.parametrize("form", LIMITS)


def save(value, form="torch"):
    file = io.BytesIO()
    torchlike.save(value, file, format=form)
    return file.getvalue()


def load(data):
    return torchlike.load(io.BytesIO(data))


def draw(choose, depth):
    """Return a structure of containers within each other, and how it is taken apart."""
    value, ways = 7, []
    for _ in range(depth):
        wrap, unwrap = choose.choice(WRAPPERS)
        value = wrap(value)
        ways.append(unwrap)
    return value, ways[::-1]


def below(calls, function):
    """Call a function with calls below it on the stack."""
    return function() if calls == 0 else below(calls - 1, function)


@FORMATS
def test_structures_are_saved_and_read_whole_or_refused_by_name(form):
    least, most = LIMITS[form]
    saved = refused = 0
    for seed in range(SEED, SEED + STRUCTURES):
        choose = random.Random(seed)
        depth = choose.choice([choose.randrange(150), choose.randrange(190, 310), choose.randrange(200, 5000)])
        value, ways = draw(choose, depth)
        calls = choose.choice([0, 0, choose.randrange(800)])
        try:
            data = below(calls, lambda value=value: save(value, form))
        except ValueError as error:
            text = str(error)
        else:
            text = ""
        if text:
            assert depth > least or calls, (seed, depth)
            assert "levels deep" in text and len(text) < 500
            refused += 1
            continue
        assert depth <= most
        found = load(data)
        for way in ways:
            found = way(found)
        assert found == 7
        saved += 1
    assert saved and refused


@FORMATS
@pytest.mark.parametrize("depth", [1100, 5000])
def test_keys_that_lie_deep_are_refused(depth, form):
    key = 1
    for _ in range(depth):
        key = (key,)
    with pytest.raises(ValueError, match="levels deep"):
        save({"a": {key: 1}}, form)


@FORMATS
def test_long_keys_do_not_grow_with_each_level(form):
    value = torchlike.ones(2)
    for level in range(30):
        value = {"k" * 20_000: value, "other": torchlike.full((1,), level)}
    data = save([value, value], form)
    assert len(data) < 31 * 21_000 + 31 * 3_000
    found = load(data)[0]
    for level in range(29, -1, -1):
        assert found["other"].item() == level
        found = found["k" * 20_000]
    assert found.tolist() == [1, 1]


LEVELS = 50_000
#: A pickle's bytes before a value, for each level, and after it.
NESTED = {
    "tuple as a key": (b"}(", b")", b"\x85", b"K\x01u"),
    "tuple as an element": (b"\x8f(", b")", b"\x85", b"\x90"),
    "pair as a key": (b"}(", b")", b"K\x01\x86", b"K\x01u"),
    "tuple": (b"", b")", b"\x85", b""),
    "marked": (b"", b"(" * LEVELS + b")", b"t", b""),
    "lists": (b"", b"]" * (LEVELS + 1), b"a", b""),
    "dicts": (b"", b"}X\x01\x00\x00\x00k" * LEVELS + b"}", b"s", b""),
    "ordered dicts": (b"", b"ccollections\nOrderedDict\n)RX\x01\x00\x00\x00k" * LEVELS + b"}", b"s", b""),
}


@pytest.mark.parametrize("kind", NESTED)
def test_a_million_levels_in_a_pickle_do_not_end_the_process(kind):
    before, start, level, after = NESTED[kind]
    count = 1_000_000 if level == b"\x85" else LEVELS
    data = zip_pickle(b"\x80\x02" + before + start + level * count + after + b".")
    program = (
        "import io, sys, torchlike\ntry: torchlike.load(io.BytesIO(sys.stdin.buffer.read()))\nexcept ValueError: pass"
    )
    ran = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_tuples_are_read_up_to_a_thousand_levels():
    def read(depth):
        return load(zip_pickle(b"\x80\x02})" + b"\x85" * depth + b"K\x01s."))

    (key,) = read(999)
    for _ in range(999):
        (key,) = key
    assert key == ()
    with pytest.raises(ValueError, match="more than 1000 tuples"):
        read(1001)


@pytest.mark.parametrize("kind", ["list", "tuple", "dict"])
def test_deep_json_is_refused(kind):
    left, right = {"dict": ('{"dict":[[1,', "]]}")}.get(kind, (f'{{"{kind}":[', "]}"))
    for depth in (5000, 200_000):
        with pytest.raises(ValueError, match="is not a safetensors file"):
            load(write_safetensors(left * depth + "1" + right * depth))


# Keys whose hash or text would take time without end, or the stack.


def tuples_by_reference(depth, count, end):
    """Return a file of tuples that hold the one before, once or several times, and of a structure around the last one."""
    nodes = [{"tuple": [1], "id": 0}]
    for number in range(1, depth):
        nodes.append({"tuple": [{"ref": number - 1}] * count, "id": number})
    last = {"ref": depth - 1}
    return write_safetensors({"list": [*nodes, end(last)]}, x=np.ones(2, "f4"))


@pytest.mark.parametrize(("depth", "count"), [(20_000, 1), (60, 2)])
@pytest.mark.parametrize(
    "end",
    [
        lambda key: {"dict": [[key, 1]]},
        lambda key: {"OrderedDict": [[key, 1]]},
        lambda key: {"set": [key]},
        lambda key: {"frozenset": [key]},
        lambda key: {"namespace": [[key, 1]]},
        lambda key: {"tensor": "x", "dtype": "float32", "attributes": [[key, 1]]},
        lambda key: {"tensor": "x", "dtype": "float32", "shape": [key]},
    ],
)
def test_keys_of_endless_parts_are_refused(depth, count, end):
    with pytest.raises(ValueError, match="is not a safetensors file"):
        load(tuples_by_reference(depth, count, end))


@pytest.mark.parametrize(
    "end",
    [
        b"}h\x00Nsh\x00",  # a dict's key
        b"\x8f(h\x00\x90",  # a set's element
        b"cbuiltins\nset\n]h\x00a\x85R",
        b"ccollections\nOrderedDict\n]h\x00N\x86a\x85R",
        b"ctorch\nSize\nh\x00\x85R",
        b"ctorch.serialization\n_get_layout\nh\x00\x85R",
        b"h\x00h\x00\x93",  # a global's name
    ],
)
def test_keys_of_endless_parts_in_pickles_are_refused(end):
    pickle = b"\x80\x04K\x01\x85q\x00" + b"h\x00h\x00\x86q\x00" * 60 + end + b"."
    with pytest.raises(ValueError, match="cannot be read"):
        load(zip_pickle(pickle))


def test_small_keys_of_several_parts_are_read():
    value = {("a", (1, ("b", 2.5))): 1, frozenset({(1, 2)}): {(3, (4,))}}
    file = io.BytesIO()
    torchlike.save(value, file)
    assert load(file.getvalue()) == value
