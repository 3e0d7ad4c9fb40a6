"""Pipelines of the core alone: no meta device, so no shape rule."""

from __future__ import annotations

from importlib.util import find_spec

META_IS_INSTALLED = find_spec("dispatch_backend_meta") is not None
PROGRAM = """
import dispatch_core as dc


class Numbers:
    def __init__(self, values):
        self.values = list(values)


def fill(x, value):
    x.values[:] = [value] * len(x.values)
    return x


numbers = dc.ArrayType(Numbers, shape=lambda x: (len(x.values),), dtype=lambda x: "float")
dc.registry.add_backend(dc.BackendInfo("numbers", array_types=(numbers,)))
library = dc.Library("t", "DEF")
for schema in ("twice(Tensor x) -> Tensor", "fill_(Tensor(a!) x, float value) -> Tensor(a!)", "total(Tensor x) -> float"):
    library.define(schema)
library.impl("twice", lambda x: Numbers(2 * each for each in x.values), "Numbers")
library.impl("fill_", fill, "Numbers")
library.impl("total", lambda x: float(sum(x.values)), "Numbers")
dc.register_fake("t::twice", lambda x: x)

ops = dc.ops.t
with dc.pipeline() as pipe:
    x = Numbers([1, 2])
    doubled = ops.twice(x)
    again = ops.twice(doubled)
    ops.fill_(doubled, 3.0)
    total = ops.total(again)
    with dc.pipeline() as inner:
        assert ops.twice(again).values == [8, 16]
    assert dc.current_pipeline() is not None
assert dc.current_pipeline() is None
assert (type(doubled), doubled.values, again.values, total) == (Numbers, [3, 3], [4, 8], 12)
found = pipe.stats()
print(found.recorded, sorted(found.eager.items()), sum(inner.stats().eager.values()))
print(dc.backends()["meta"].state if "meta" in dc.backends() else "absent")
"""


def test_operators_run_at_once_without_a_meta_device(run_python):
    # The core's suite runs where nothing but the core is installed; elsewhere the variable keeps the device out.
    done = run_python("-c", PROGRAM, environment={"DISPATCH_BACKENDS_BLOCK": "meta"} if META_IS_INSTALLED else {})
    assert done.returncode == 0, done.stderr
    counted, state = done.stdout.splitlines()
    assert counted == "0 [(('t::fill_', 'no shape rule'), 1), (('t::twice', 'no shape rule'), 2)] 1"
    assert state == ("blocked" if META_IS_INSTALLED else "absent")
