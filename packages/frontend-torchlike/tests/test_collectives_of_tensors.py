"""Collectives under ``vmap`` and in captures: an engine that stands for two ranks with the same arrays."""

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.collectives import ProcessGroup, barrier, groups
from dispatch_aten.errors import OperatorError

pytestmark = pytest.mark.no_pipeline(reason="collectives are not recorded")

ops = dc.ops.dispatch


class Twins:
    """Collectives of the cpu, in which both ranks have what this one has."""

    def __init__(self):
        self.calls = 0

    def connect(self, group, index):
        return group

    def all_reduce(self, group, array, reduction, into):
        self.calls += 1
        np.multiply(array, 2, out=into)
        return into

    def reduce_scatter(self, group, array, reduction, into):
        self.calls += 1
        np.multiply(np.split(array, 2)[group.rank], 2, out=into)
        return into

    def all_gather(self, group, array, into):
        self.calls += 1
        into[...] = np.concatenate([array, array])
        return into

    def broadcast(self, group, array, root, into):
        self.calls += 1
        into[...] = array
        return into


@pytest.fixture
def twins(monkeypatch):
    made = Twins()
    monkeypatch.setattr(groups, "engine_of", lambda device: made)
    return made


@pytest.mark.parametrize("batch", [0, 1])
@pytest.mark.parametrize("rank", [0, 1])
def test_collectives_of_a_batch_go_at_once(twins, rank, batch):
    group, x = ProcessGroup(rank, 2, store=object()), torchlike.arange(12.0).reshape(3, 4)
    calls = {
        "all_reduce": lambda row: ops.all_reduce(row, "sum", group),
        "all_reduce_": lambda row: ops.all_reduce_(row + 0, "sum", group),
        "broadcast": lambda row: ops.broadcast(row, 1, group),
        "broadcast_": lambda row: ops.broadcast_(row + 0, 1, group),
        "all_gather": lambda row: ops.all_gather(row, group),
        "scalars": lambda row: ops.all_gather(row.sum(), group),
        "reduce_scatter": lambda row: ops.reduce_scatter(row, "avg", group),
    }
    rows = x if batch == 0 else x.t()
    found = {name: torchlike.vmap(call, in_dims=batch)(rows) for name, call in calls.items()}
    assert twins.calls == len(calls)
    for name, call in calls.items():
        assert found[name].tolist() == torchlike.stack([call(row) for row in x]).tolist(), name


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("send", lambda x, group: ops.send(x, 1, group)),
        ("recv_", lambda x, group: ops.recv_(x, 1, group)),
        ("exchange", lambda x, group: ops.exchange([x], [1], [x + 1], [1], group)),
        ("all_gather.out", lambda x, group: ops.all_gather.out(x, group, out=x + 1)),
    ],
)
def test_messages_are_refused_by_name_under_vmap(name, call):
    group = ProcessGroup(0, 2, store=object())
    with pytest.raises(OperatorError, match=f"{name}: it is refused under vmap"):
        torchlike.vmap(lambda x: call(x, group))(torchlike.ones(3, 2))


def test_the_error_of_a_captured_barrier_names_the_callers_line():
    group = ProcessGroup(0, 2, store=object())

    @torchlike.capture
    def step(x):
        barrier(group)
        return x + 1

    line = step.__wrapped__.__code__.co_firstlineno + 2
    for call in (step, step):
        with pytest.raises(dc.CaptureError, match=rf"barrier: it exchanges(.|\n)*test_collectives\w*\.py:{line}"):
            call(torchlike.ones(2))
