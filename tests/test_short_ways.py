"""Short ways: plain calls take them, with the usual results; profiles, traces, pipelines and other kernels do not."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.testing.samples import op_samples
from dispatch_aten.variants import functional_of
from dispatch_core.arrays.access import storage_of
from dispatch_core.operators.candidates import GiveWay, ShortWay

dc.device_key("cpu")  # loads the backend
REGISTRY = dc.registry


def is_of_cpu(way):
    """Return whether an offer is a short way of cpu's: other backends test theirs."""
    return isinstance(way, ShortWay) and way.registration.key is dc.DispatchKey.CPU


WAYS = sorted(name for name, offers in REGISTRY.offers.items() if any(map(is_of_cpu, offers)))
#: The same, of the overloads with an output, which have one maker, only some.
SOME_WAYS = [name for name in WAYS if not name.endswith("out") or name in ("aten::add.out", "aten::sum.IntList_out")]
PLAIN_CALLS = 40  # more than results are compared with the shape rule

pytestmark = pytest.mark.skipif("config.getoption('--pipeline', False)", reason="plain calls outside of pipelines")


def short_way_of(name):
    return next(filter(is_of_cpu, REGISTRY.offers[name]))


@pytest.fixture
def taken(request):
    """Return the list of the runs of an operator's short way that did not leave the call to the usual one."""
    name, runs = request.getfixturevalue("name"), []
    way = short_way_of(name)
    fn = way.registration.fn

    def count(fn):
        def counted(*args, **kwargs):
            found = fn(*args, **kwargs)
            if found is not NotImplemented:
                runs.append(name)
            return found

        return counted

    counted = (lambda *kernels: count(fn(*kernels))) if way.uses else count(fn)
    options = {"parts": way.parts, "uses": way.uses, "autograd": way.autograd, "itself": way.itself}
    # A function that only tells the arguments of another operator stands at both places.
    options |= {"to": way.to, "arguments": counted if way.arguments is fn else way.arguments}
    with REGISTRY.transaction(level="backend"):
        library = dc.Library("aten", "IMPL")
        library.short_way(name.removeprefix("aten::"), counted, way.registration.key, **options)
    yield runs
    library.close()


@cache
def samples(name):
    return list(op_samples(name.removeprefix("aten::")))


def arguments(sample, op=None, *, grad=False, meta=False):
    """Return a sample's arguments with tensors, the same ones every time."""

    def convert(value):
        if isinstance(value, list):
            return [convert(each) for each in value]
        if not isinstance(value, np.ndarray):
            return value
        made = torchlike.from_numpy(value.copy(order="K"))
        return made.requires_grad_() if grad and made.dtype.is_differentiable else made

    given = {key: convert(value) for key, value in sample.arguments.items()}
    if op is not None and is_written_out(op) and "out" not in given:
        try:
            result = REGISTRY.get(f"aten::{functional_of(op.name.removeprefix('aten::'))}").op(**given)
        except Exception:  # noqa: BLE001  # the usual way tells
            result = torchlike.empty(0)
        given["out"] = torchlike.zeros_like(result, requires_grad=False)
    return given


def is_written_out(op):
    return op.schema.arguments[-1].name == "out"


def describe(result, given):
    """Return all that can be told of a result."""
    if isinstance(result, (list, tuple)):
        return type(result), [describe(each, given) for each in result]
    if not isinstance(result, torchlike.Tensor):
        return type(result), repr(result)
    tensors = [each for each in given.values() if isinstance(each, torchlike.Tensor)]
    node = result.grad_fn
    return (
        type(result),
        [result is each for each in tensors],
        [storage_of(result) == storage_of(each) for each in tensors],
        [result._base is each for each in tensors],
        (result.dtype, result.shape, result.stride(), result.storage_offset(), str(result.device), result._version),
        (result.requires_grad, type(node).__name__, result.is_leaf),
        repr(result.tolist()),
    )


def outcome(op, given):
    try:
        return describe(op(**given), given)
    except Exception as error:  # noqa: BLE001  # compared
        return type(error), str(error)


def usual(op, given):
    """Return the outcome where the context has masks, under which there are no short ways."""
    with dc.exclude_keys("Tracer"):
        return outcome(op, given)


def test_there_are_short_ways_and_explanations_name_them():
    assert {"aten::item", "aten::contiguous"} <= {*WAYS}
    first, second = dc.explain("aten::item", torchlike.ones(1)).candidates
    assert (first.kernel, first.kind, first.reason) == ("builtins.ndarray.item", "short way", "")
    with dc.profile():
        first, second = dc.explain("aten::item", torchlike.ones(1)).candidates
    assert "context has masks" in first.reason and not second.reason


@pytest.mark.parametrize(("name", "grad"), [*((name, False) for name in WAYS), *((name, True) for name in SOME_WAYS)])
def test_a_short_way_gives_what_the_usual_way_gives(name, grad, taken):
    op = REGISTRY.get(name).op
    for sample in samples(name):
        assert outcome(op, arguments(sample, op, grad=grad)) == usual(op, arguments(sample, op, grad=grad)), sample
    _, served = find_served(name, taken)
    plain = arguments(served, op)
    for _ in range(PLAIN_CALLS):
        op(**plain)
    assert outcome(op, arguments(served, op)) == usual(op, arguments(served, op))
    assert taken


def find_served(name, taken):
    """Return the operator and a sample that its short way serves."""
    op = REGISTRY.get(name).op
    for sample in samples(name):
        taken.clear()
        outcome(op, arguments(sample, op))
        if taken:
            return op, sample
    raise AssertionError(f"{name}: no sample takes the short way")


@pytest.mark.parametrize("name", SOME_WAYS)
def test_profiles_traces_and_pipelines_see_the_usual_way(name, taken):
    op, sample = find_served(name, taken)
    given, before = arguments(sample, op), len(taken)
    with dc.profile() as profile:
        op(**given)
    assert name in [event.name for event in profile.events]
    with dc.trace() as trace:
        op(**given)
    assert name in [step.op.name for step in trace.graph.steps]
    with dc.pipeline():
        op(**given)
    assert len(taken) == before


@pytest.mark.parametrize("name", SOME_WAYS)
def test_a_kernel_of_the_program_takes_the_place_of_a_short_way(name, taken):
    op, served = REGISTRY.get(name).op, {}
    for sample in samples(name):
        taken.clear()
        given = arguments(sample, op)
        with suppress(Exception):
            op(**given)
            if taken:
                served = dict.fromkeys(called_by(op, given), given) | served
    parts = {REGISTRY.get(part).name for part in short_way_of(name).parts}
    for each in sorted(parts | served.keys()):
        entry, given, runs = REGISTRY.get(each), served.get(each, served[name]), []
        taken.clear()
        for key in ("CPU", "CompositeImplicitAutograd"):
            replaced = entry.newest(dc.DispatchKey[key])
            if replaced is None:
                continue
            with dc.Library("aten", "IMPL") as library:
                library.impl(each, make_noting(runs, replaced.fn), key, allow_override=True)
                op(**given)
            assert runs or each not in served, each
        assert not taken, each
    op(**served[name])
    assert taken


def called_by(op, given):
    """Return the operators that a call comes to in the usual way, and those that they give way to."""
    with dc.profile() as profile:
        op(**given)
    found = {event.name for event in profile.events}
    ways = [(each.to, name) for name, offers in REGISTRY.offers.items() for each in offers if isinstance(each, GiveWay)]
    while more := {to for to, name in ways if name in found} - found:
        found |= more
    return found


def make_noting(runs, kernel):
    def noting(*args, **kwargs):
        runs.append(kernel)
        return kernel(*args, **kwargs)

    return noting


def test_results_take_short_ways_where_nothing_records(request):
    name = "aten::square"
    way = short_way_of(name)
    x, op = torchlike.ones(3, requires_grad=True), REGISTRY.get(name).op
    op(x)
    usual = [event.name for event in record_events(op, x)]
    with torchlike.no_grad():
        assert not op(x).requires_grad and op(x).tolist() == op(x.detach()).tolist()
        assert [event.name for event in record_events(op, x)] == usual
    assert op(x).requires_grad and way.gradient is None


def record_events(op, x):
    with dc.profile() as profile:
        op(x)
    return profile.events


@pytest.mark.parametrize("name", ["aten::reshape"])
def test_views_of_tensors_without_history_take_short_ways_and_others_do_not(name, taken):
    base = torchlike.ones(2, 3)
    view = base.unsqueeze(0)
    assert view.reshape(6)._base is base and taken
    base.requires_grad_()
    taken.clear()
    assert view.reshape(6)._base is base and base[0].reshape(3).requires_grad and not taken
