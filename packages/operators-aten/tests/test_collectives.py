"""Collectives of groups of one process, and of a device that brings its own."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.collectives import (
    CollectiveError,
    ProcessGroup,
    TCPStore,
    barrier,
    engine_of,
)
from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.errors import DtypeError, OperatorError
from dispatch_core.runtime import DeviceInterface

pytestmark = pytest.mark.no_pipeline(reason="collectives are not recorded, and its threads open stores")

ops = dc.ops.dispatch
SOON = 10.0


@pytest.fixture
def store():
    made = TCPStore("127.0.0.1", 0, is_master=True, timeout=SOON)
    yield made
    made.close()


# ---- Groups of one process.


def test_a_group_of_one_process_needs_no_engine():
    group, x = ProcessGroup(), np.arange(6.0).reshape(2, 3)
    for op in ("sum", "avg", "product", "min", "max"):
        found = ops.all_reduce(x, op, group)
        assert (found == x).all() and found is not x
        assert (ops.reduce_scatter(x, op, group) == x).all()
    assert ops.all_reduce_(x, "sum", group) is x is ops.broadcast_(x, 0, group)
    assert (ops.all_gather(x, group) == x).all() and ops.all_gather(np.array(2.0), group).shape == (1,)
    out = np.zeros((1, 2, 3))
    assert ops.all_gather.out(x, group, out=out) is out and (out[0] == x).all()
    assert ops.reduce_scatter.out(out, "sum", group, out=np.zeros((2, 3))).tolist() == x.tolist()
    barrier(group)
    group.close()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, g: ops.all_reduce(x, "xor", g), OperatorError, "no reduction 'xor'"),
        (lambda x, g: ops.all_reduce(x.astype(int), "avg", g), DtypeError, "the average of int64"),
        (lambda x, g: ops.all_reduce(x + 1j, "max", g), DtypeError, "max does not take complex128"),
        (lambda x, g: ops.broadcast(x, 1, g), OperatorError, "no root 1 in a group of 1"),
        (lambda x, g: ops.send(x, 0, g), OperatorError, "rank 0 is this process itself"),
        (lambda x, g: ops.recv_(x, 3, g), OperatorError, "no rank 3"),
        (lambda x, g: ops.exchange([x], [], [], [], g), OperatorError, "each tensor has the rank"),
        (lambda x, g: ops.all_gather.out(x, g, out=np.zeros(7)), OperatorError, r"expected \[2, 3\] of float64"),
        (lambda x, g: ops.all_reduce(x, "sum", None), OperatorError, "expected a ProcessGroup"),
        (lambda x, g: ops.reduce_scatter(np.array(1.0), "sum", g), OperatorError, "no 1 equal parts"),
    ],
)
def test_what_a_group_cannot_do_is_refused_by_name(call, error, words):
    with pytest.raises(error, match=words):
        call(np.ones((2, 3)), ProcessGroup())


def test_shapes_are_known_without_data():
    from dispatch_aten.shapes import contiguous

    group = ProcessGroup(1, 4, store=object())
    meta = dc.ops.aten.empty([8, 3], device=dc.Device("meta"), dtype=BY_NAME["float16"])
    for found, shape in (
        (ops.all_reduce(meta, "sum", group), (8, 3)),
        (ops.all_gather(meta, group), (32, 3)),
        (ops.reduce_scatter(meta, "avg", group), (2, 3)),
        (ops.broadcast(meta, 1, group), (8, 3)),
    ):
        assert (dc.shape(found), dc.dtype(found)) == (shape, contiguous((1,), BY_NAME["float16"]).dtype)
    with pytest.raises(OperatorError, match="no 3 equal parts"):
        ops.reduce_scatter(meta, "sum", ProcessGroup(0, 3, store=object()))


def test_a_device_without_collectives_is_named():
    with pytest.raises(dc.BackendError, match="Backend meta doesn't support collectives"):
        engine_of("meta")


def test_a_group_says_what_it_needs():
    with pytest.raises(CollectiveError, match="no rank 2 in a group of 2"):
        ProcessGroup(2, 2, store=object())
    with pytest.raises(CollectiveError, match="find each other by a store"):
        ProcessGroup(0, 2)
    group = ProcessGroup(0, 2, store=object(), name="pair", backend="swift", timeout=3.0)
    assert (group.rank, group.size, group.name, group.backend, group.timeout) == (0, 2, "pair", "swift", 3.0)
    group.close()
    with pytest.raises(CollectiveError, match="'pair' was closed"):
        ops.all_reduce(np.ones(2), "sum", group)


# ---- A device that brings collectives. Its ranks are threads, and its arrays cannot be written to.


class Grid:
    """An array of a device that cannot be written to."""

    __slots__ = ("__weakref__", "values")

    def __init__(self, values):
        self.values = np.array(values)


class Engine:
    """Collectives over the store: each rank sets its bytes, and gets those of the others."""

    def connect(self, group, index):
        return [group, 0]

    def _gather(self, connection, array):
        group, number = connection
        connection[1] += 1
        values = np.ascontiguousarray(array.values)
        group.store.set(f"{number}/{group.rank}", values.tobytes())
        found = [group.store.get(f"{number}/{rank}") for rank in range(group.size)]
        return [np.frombuffer(each, values.dtype).reshape(values.shape) for each in found]

    def all_reduce(self, connection, array, reduction, into):
        assert into is None
        function = {"sum": np.sum, "product": np.prod, "min": np.min, "max": np.max}[reduction]
        return Grid(function(np.stack(self._gather(connection, array)), 0).astype(array.values.dtype))

    def reduce_scatter(self, connection, array, reduction, into):
        whole = self.all_reduce(connection, array, reduction, into).values
        return Grid(np.split(whole, connection[0].size)[connection[0].rank])

    def all_gather(self, connection, array, into):
        return Grid(np.concatenate(self._gather(connection, array)))

    def broadcast(self, connection, array, root, into):
        return Grid(self._gather(connection, array)[root])

    def exchange(self, connection, sends, receives):
        group, number = connection
        connection[1] += 1
        for array, rank in sends:
            group.store.set(f"{number}/{group.rank}/{rank}", array.values.tobytes())
        found = [(array.values, group.store.get(f"{number}/{rank}/{group.rank}")) for array, rank in receives]
        return [Grid(np.frombuffer(data, values.dtype).reshape(values.shape)) for values, data in found]


@pytest.fixture
def grids():
    dtype = lambda grid: BY_NAME[grid.values.dtype.name]
    kind = dc.ArrayType(Grid, shape=lambda grid: grid.values.shape, dtype=dtype, mutable=False)
    kernels = {
        "prims::device_get": lambda self: self.values.copy(),
        "prims::device_put": lambda data, *, device: Grid(np.asarray(data)),
        "prims::reshape": lambda self, shape: Grid(self.values.reshape(shape)),
        "clone": lambda self, *, memory_format=None: Grid(self.values),
        "view": lambda self, size: Grid(self.values.reshape(size)),
        "view.dtype": lambda self, dtype: Grid(self.values.view(dtype.short)),
        "div.Tensor": lambda self, other: Grid(self.values / getattr(other, "values", other)),
        "div.Scalar": lambda self, other: Grid(self.values / other),
    }
    interface = DeviceInterface(collectives=Engine())
    with dc.register_backend(
        dc.BackendInfo("grids", array_types=(kind,)), kernels, device_interface=lambda: interface
    ) as handle:
        yield handle


def run_ranks(store, size, work):
    """Run a function of a group in a thread for each rank."""
    with ThreadPoolExecutor(size) as pool:
        groups = [ProcessGroup(rank, size, store, timeout=SOON) for rank in range(size)]
        return [each.result() for each in [pool.submit(work, group) for group in groups]]


def test_a_device_whose_arrays_cannot_be_written_to_has_collectives(grids, store):
    def work(group):
        x = Grid(np.arange(6.0).reshape(2, 3) + group.rank)
        flags = Grid(np.array([True, group.rank == 0]))
        return [
            each.values.tolist()
            for each in (
                ops.all_reduce(x, "sum", group),
                ops.all_reduce(x, "avg", group),
                ops.all_reduce(flags, "sum", group),
                ops.all_reduce(flags, "product", group),
                ops.all_gather(x, group),
                ops.reduce_scatter(x, "max", group),
                ops.broadcast(x, 1, group),
            )
        ]

    x = np.arange(6.0).reshape(2, 3)
    shared = [2 * x + 1, x + 0.5, [True, True], [True, False], np.concatenate([x, x + 1])]
    for rank, found in enumerate(run_ranks(store, 2, work)):
        expected = [*shared, (x + 1)[rank : rank + 1], x + 1]
        assert found == [np.asarray(each).tolist() for each in expected]


def test_an_engine_must_have_its_functions():
    with pytest.raises(dc.ArgumentError, match="has no all_gather and no broadcast"):
        DeviceInterface(collectives=type("Half", (), {"all_reduce": print, "connect": print})())


# ---- What an engine returns.


class Slate(Grid):
    """An array of a device that can be written to."""

    __slots__ = ()


class WritingEngine(Engine):
    """The same collectives, which write into what they are given."""

    def all_reduce(self, connection, array, reduction, into):
        into.values[...] = sum(self._gather(connection, array))
        return into

    def exchange(self, connection, sends, receives):
        for (into, _), made in zip(receives, super().exchange(connection, sends, receives), strict=True):
            into.values[...] = made.values
        return [into for into, _ in receives]


@pytest.fixture
def slates():
    dtype = lambda slate: BY_NAME[slate.values.dtype.name]
    kind = dc.ArrayType(Slate, shape=lambda slate: slate.values.shape, dtype=dtype, mutable=True)

    def copy_(self, source, non_blocking=False):
        self.values[...] = source.values
        return self

    kernels = {
        "empty_strided": lambda size, stride, *, dtype, **_: Slate(np.zeros(size, dtype.short)),
        "new_empty": lambda self, size, **_: Slate(np.zeros(size, self.values.dtype)),
        "view": lambda *args: _view(*args),  # noqa: PLW0108  # it comes later
        "clone": lambda self, *, memory_format=None: Slate(self.values.copy()),
        "copy_": copy_,
    }
    interface = DeviceInterface(collectives=WritingEngine())
    with dc.register_backend(
        dc.BackendInfo("slates", array_types=(kind,)), kernels, device_interface=lambda: interface
    ) as handle:
        yield handle


def _view(slate, size):
    made = Slate(0)
    made.values = slate.values.reshape(size)
    return made


WRONG = {
    "None": lambda into, kind: None,
    r"float64\[2\] on cpu": lambda into, kind: np.zeros(2),
    r"float32\[2\]": lambda into, kind: kind(np.zeros(2, np.float32)),
    r"float64\[3\]": lambda into, kind: kind(np.zeros(3)),
}


def _pair():
    return ProcessGroup(0, 2, store=object())


@pytest.mark.parametrize("words", list(WRONG))
@pytest.mark.parametrize("device", ["grids", "slates"])
def test_what_an_engine_returns_is_checked(device, words, monkeypatch, request):
    request.getfixturevalue(device)
    kind, engine = (Grid, Engine) if device == "grids" else (Slate, WritingEngine)
    monkeypatch.setattr(engine, "all_reduce", lambda *args: WRONG[words](args[-1], kind))
    monkeypatch.setattr(engine, "exchange", lambda *args: [WRONG[words](args[-1][0][0], kind)])
    text = rf"collectives of {device}.* returned .*{words}.* instead of .*float64\[2\] on {device}"
    for name, call in (
        ("all_reduce", lambda: ops.all_reduce(kind(np.ones(2)), "sum", _pair())),
        ("exchange", lambda: ops.recv_(kind(np.ones(2)), 1, _pair())),
    ):
        with pytest.raises(dc.KernelResultError, match=rf"dispatch::{name}: the {text}"):
            call()


def test_another_array_than_the_one_to_write_to_is_refused(slates, monkeypatch):
    monkeypatch.setattr(WritingEngine, "all_reduce", lambda *args: Slate(np.full(2, 7.0)))
    monkeypatch.setattr(WritingEngine, "exchange", lambda *args: [Slate(np.full(2, 7.0))])
    x = Slate(np.ones(2))
    for call in (lambda: ops.all_reduce_(x, "sum", _pair()), lambda: ops.recv_(x, 1, _pair())):
        with pytest.raises(dc.KernelResultError, match=r"another array, .* instead of the array that it writes to"):
            call()


@pytest.mark.parametrize(("found", "words"), [(None, "None instead"), ([], "a list of 0 instead of a list of 1")])
def test_an_exchange_returns_an_array_for_each_that_it_receives(grids, monkeypatch, found, words):
    monkeypatch.setattr(Engine, "exchange", lambda *args: found)
    with pytest.raises(dc.KernelResultError, match=words):
        ops.recv_(Grid(np.ones(2)), 1, _pair())


def test_a_device_whose_arrays_can_be_written_to_has_collectives(slates, store):
    def work(group):
        x = Slate(np.arange(3.0) + group.rank)
        total = ops.all_reduce(x, "sum", group)
        ops.exchange([x], [1 - group.rank], [received := Slate(np.zeros(3))], [1 - group.rank], group)
        return total.values.tolist(), received.values.tolist()

    assert run_ranks(store, 2, work) == [([1, 3, 5], [1, 2, 3]), ([1, 3, 5], [0, 1, 2])]
