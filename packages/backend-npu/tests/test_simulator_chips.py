"""Faults that chips show and an easier device hides: the simulator shows each of them, unless a test leaves it out."""

from __future__ import annotations

import warnings

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError, reports
from dispatch_backend_npu.aclnn import descriptors, pools
from dispatch_backend_npu.plan.executor import RepeatedExecutor
from dispatch_backend_npu.runtime import allocator
from dispatch_backend_npu.simulator.control import BEHAVIOURS
from dispatch_pipelines.program import plan as plans

pytestmark = [pytest.mark.usefixtures("npu"), pytest.mark.no_pipeline(reason="it brings its own")]


@pytest.fixture(autouse=True)
def _fresh():
    def drop():
        plans.clear()
        pools.clear()
        reports.reset()

    drop()
    yield
    drop()


@pytest.fixture(params=[(), BEHAVIOURS], ids=["as a chip", "as an easier device"])
def easy(request, simulator):
    """Whether everything is left out by which chips differ from an easier device."""
    with simulator.without(*request.param):
        yield bool(request.param)


# Executors that the operator cache answers.


@pytest.mark.of_functions
@pytest.mark.filterwarnings("ignore:aclDestroyAclOpExecutor failed with 161002")
def test_a_plan_that_insists_on_repeated_executors_is_found(simulator, monkeypatch, easy):
    """A plan that repeats an executor whose repetition was refused fails, where the cache answers."""
    prepare = RepeatedExecutor.prepare

    def insist(self, pointers, numbers):
        prepare(self, pointers, numbers)
        self.is_repeatable = True

    monkeypatch.setattr(RepeatedExecutor, "prepare", insist)
    a = torchlike.tensor([1.0, 2.0], device="npu")

    def run():
        with dc.pipeline():
            return a.exp().sum()

    a.exp().sum()
    found = [run()]
    if easy:
        found += [run(), run()]
    else:
        with pytest.raises(dc.DispatchError, match="the executor was used already"):
            run()
    assert [each.item() for each in found] == pytest.approx([10.107338] * len(found))


# Pages.


def test_segments_of_whole_pages_take_one_more(simulator, monkeypatch, easy):
    monkeypatch.setattr(allocator, "_SEGMENT", 2 << 20)
    found = allocator.Allocator(runtime.ensure())
    before = simulator.memory().live
    block = found.allocate(512, runtime.current().pointer)
    assert simulator.memory().live - before == ((2 << 20) + 32 if easy else 4 << 20)
    del block
    found.close()


# Storages in descriptors.

#: Views that programs make, of an array of 24 x 12 elements, and how the toolkit reads them.
VIEWS = {
    "first columns": (lambda x: x[:, :5], "slice"),
    "every other row": (lambda x: x[::2], "slice"),
    "a column": (lambda x: x[:, 0], "slice"),
    "a frame's inside": (lambda x: x[1:-1, 1:-1], "slice"),
    "queries": (lambda x: x.view(24, 3, 4)[:, 0], "slice"),
    "keys": (lambda x: x.view(24, 3, 4)[:, 1], "slice"),
    "the first third": (lambda x: x.chunk(3, -1)[0], "slice"),
    "the second third": (lambda x: x.chunk(3, -1)[1], "slice"),
    "a rotated half": (lambda x: x[..., :6], "slice"),
    "even elements": (lambda x: x[..., ::2], "slice"),
    "some columns transposed": (lambda x: x.t()[2:5], "slice"),
    "rows": (lambda x: x[3:7], "nothing"),
    "transposed": (lambda x: x.t(), "moves"),
    "heads": (lambda x: x.view(24, 3, 4).transpose(0, 1), "moves"),
    "a row for all": (lambda x: x[2].expand(24, 12), "moves"),
    "windows": (lambda x: x.unfold(1, 4, 2), "AsStrided"),
}


def reading(simulator, view):
    """Return how the one operand of a function was read."""
    simulator.reset()
    found = view * 2
    found.tolist()
    _, moved, sliced, strided = simulator.readings()
    assert moved + sliced + strided <= 1
    return "moves" if moved else "slice" if sliced else "AsStrided" if strided else "nothing"


@pytest.mark.of_functions
def test_views_are_read_as_slices_where_descriptors_tell_the_whole_block(simulator):
    x = torchlike.arange(288.0, device="npu").view(24, 12)
    assert {name: reading(simulator, view(x)) for name, (view, _) in VIEWS.items()} == {
        name: how for name, (_, how) in VIEWS.items()
    }
    assert sum(how == "slice" for _, how in VIEWS.values()) == 11 and len(VIEWS) == 16


@pytest.mark.of_functions
def test_storages_that_end_with_the_view_are_found(simulator, monkeypatch):
    describe = descriptors._tensor

    def shorter(spec, offset, nbytes):
        last = sum((size - 1) * stride for size, stride in zip(spec.shape, spec.strides, strict=True))
        return describe(spec, offset, (offset + last + 1) * spec.dtype.itemsize)

    monkeypatch.setattr(descriptors, "_tensor", shorter)
    x = torchlike.arange(288.0, device="npu").view(24, 12)
    for name, (view, how) in VIEWS.items():
        assert (view(x) * 2).tolist() == (
            view(torchlike.arange(288.0).view(24, 12)) * 2
        ).tolist()  # the values do not show it
        pools.clear()
        assert reading(simulator, view(x)) == ("AsStrided" if how == "slice" else how), name


# Indices out of range.


def _five(*indices):
    return torchlike.tensor(list(indices), device="npu")


INDEXED = {
    "index": lambda x, i: x[i],
    "index_put": lambda x, i: x.clone().index_put_((i,), torchlike.ones(2, 3, device="npu")),
    "index_select": lambda x, i: x.index_select(0, i),
    "index_add": lambda x, i: x.index_add(0, i, torchlike.ones(2, 3, device="npu")),
    "index_copy": lambda x, i: x.index_copy(0, i, torchlike.ones(2, 3, device="npu")),
    "gather": lambda x, i: x.gather(0, i.view(2, 1)),
    "scatter": lambda x, i: x.scatter(0, i.view(2, 1), 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i.view(2, 1), torchlike.ones(2, 1, device="npu")),
    "embedding": lambda x, i: torchlike.nn.functional.embedding(i, x),
    "take": lambda x, i: x.take(i * 3),
}


@pytest.mark.of_functions
@pytest.mark.parametrize("in_pipeline", [False, True], ids=["eager", "in a pipeline"])
@pytest.mark.parametrize("name", INDEXED)
def test_an_index_out_of_range_is_a_fault_of_the_device(simulator, name, in_pipeline, easy):
    x = torchlike.arange(15.0, device="npu").view(5, 3)
    good, bad = _five(4, 0), _five(0, 5)
    expected = INDEXED[name](x, good).tolist()
    simulator.reset()

    def run(indices):
        if not in_pipeline:
            return INDEXED[name](x, indices)
        with dc.pipeline():
            return INDEXED[name](x, indices)

    with simulator.without(*(BEHAVIOURS if easy else ())):
        if easy:
            run(bad).tolist()
        else:
            with pytest.raises((AclError, dc.DispatchError), match="failed with 507015"):
                run(bad).tolist()
            log = simulator.log(work=True)
            assert log.index(next(each for each in log if each.startswith("run aclnn"))) > 1
        assert run(good).tolist() == expected


# Plans that survive the cache.


@pytest.mark.of_functions
def test_a_plan_whose_calls_have_run_before_prepares_each_once(simulator):
    a, b = torchlike.tensor([1.0, 2.0], device="npu"), torchlike.tensor([[3.0], [4.0]], device="npu")

    def step():
        return ((a + b.t()[0]).exp().view(1, 2)[:, :1] * b[1]).sum()

    simulator.reset()
    expected = step().item()
    for _ in range(3):
        first, names = simulator.first_phases(), len(simulator.log())
        with warnings.catch_warnings(), dc.pipeline():
            warnings.simplefilter("error")
            found = step()
        log = simulator.log()[names:]
        executed = [name for name in log if name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")]
        last = simulator.first_phases()
        assert (last.made - first.made, last.answered - first.answered) == (0, len(executed)) == (0, 4)
        assert found.item() == expected


@pytest.mark.of_functions
def test_repetition_is_not_asked_for_twice_where_it_was_refused(simulator):
    a = torchlike.tensor([1.0, 2.0], device="npu")

    def run(number):
        names = len(simulator.log())
        with dc.pipeline():
            found = (a * number).sum()
        assert found.item() == pytest.approx(3.0 * number)
        return [name.removesuffix("Repeatable") for name in simulator.log()[names:]].count("aclSetAclOpExecutor")

    simulator.reset()
    (a * 2.0).sum()
    assert [run(number) for number in (2.0, 2.0, 3.0, 3.0, 2.0)] == [2, 0, 1, 0, 1]


@pytest.mark.of_functions
def test_an_array_that_a_kernel_makes_in_between_is_waited_for(simulator):
    """The functions after it do their first phases in their own steps, once."""
    a = torchlike.tensor([3.0, -1.0, 2.0], device="npu")

    def step():
        spread = (a * 2.0).var(correction=0.5)
        return torchlike.cat([a + 1.0, a.neg()]).sum() + spread

    simulator.reset()
    expected = step().item()
    for _ in range(3):
        names = len(simulator.log())
        with dc.pipeline():
            found = step()
        log = [name for name in simulator.log()[names:] if name.startswith("aclnn")]
        prepared = [name for name in log if name.endswith("GetWorkspaceSize")]
        assert {*prepared} <= {f"{name}GetWorkspaceSize" for name in log} and len(prepared) == len({*prepared})
        assert log[-2:] == ["aclnnAddGetWorkspaceSize", "aclnnAdd"]
        assert found.item() == pytest.approx(expected)
