"""First calls run in plain code: with every overload, and every function of the frontend, as generated code does."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_aten.testing.samples import has_samples, op_samples
from dispatch_core.calls import lazy_function

dc.device_key("cpu")  # loads the backend
NAMES = sorted(filter(has_samples, ATEN_BY_NAME))[::20]  # all of them pass, in a minute


def make(value):
    if isinstance(value, list):
        return [make(each) for each in value]
    return torchlike.from_numpy(value.copy(order="K")) if isinstance(value, np.ndarray) else value


def describe(value):
    if isinstance(value, (list, tuple)):
        return type(value), [describe(each) for each in value]
    if not isinstance(value, torchlike.Tensor):
        return type(value), repr(value)
    look = value.dtype, value.shape, value.stride(), value._version, type(value.grad_fn), value._base is None
    return look, value.numpy(force=True).tobytes()


def outcome(call, args, kwargs):
    torchlike.manual_seed(0)
    args, kwargs = [make(each) for each in args], {name: make(value) for name, value in kwargs.items()}
    try:
        found = call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # compared
        return type(error), str(error)
    return describe(found), [describe(each) for each in (*args, *kwargs.values())]


def ways_to_write(sample, schema, names):
    """Yield the arguments of right and wrong calls: by position, by name, one missing, one of another type, one too many."""
    given = dict(sample.arguments)
    first = [each.name for each in schema.positional if each.name in given]
    first = first[: next((k for k, each in enumerate(schema.positional) if each.name not in given), len(first))]
    args = [given[name] for name in first]
    rest = {names.get(name, name): value for name, value in given.items() if name not in first}
    named = {names.get(name, name): value for name, value in given.items()}
    yield args, rest
    yield args[:1], {names.get(name, name): given[name] for name in first[1:]} | rest
    yield [], named
    yield args[:-1], rest
    yield [*args[:-1], "text"], rest
    yield [*args, 3, 4], rest
    yield args, rest | {"surprise": 1}


@pytest.mark.parametrize("name", NAMES)
def test_first_calls_are_those_of_generated_code(name):
    getattr(torchlike, name.partition(".")[0], None)  # the frontend makes its function
    op = dc.registry.get(f"aten::{name}").op
    for sample in islice(op_samples(name), 2):
        for lazy in op._callers:
            names = {} if lazy is op._lazy[0] else {"self": "input"}
            for args, kwargs in ways_to_write(sample, op.schema, names):
                lazy._left = lazy_function.FIRST_CALLS
                lazy.reset()
                first = outcome(lazy.function, args, kwargs)
                lazy._left = 0
                lazy.reset()
                assert outcome(lazy.function, args, kwargs) == first


def test_a_first_addition_reads_the_rows_and_imports_the_rules_of_few_operators():
    program = (
        "import sys, torchlike\n"
        "from dispatch_aten import families\n"
        "torchlike.ones(3) + torchlike.ones(3)\n"
        "read = families._read.cache_info().currsize\n"
        "assert 8 * read < len({*families.FAMILY_TEXTS.values()}), read\n"
        "kinds = {name.split('.')[2] for name in sys.modules if name.startswith('dispatch_aten.families.')}\n"
        "assert not kinds & {'convolution', 'pooling', 'recurrent', 'reduction', 'attention', 'linalg'}, kinds\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
