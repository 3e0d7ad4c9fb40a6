"""Functions that are given no tensor make the same tensors, and fail alike, with the compiled front and without."""

from __future__ import annotations

import os
import threading

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike as T
from dispatch_core.calls.native import find_front
from torchlike.creation.factories import FACTORIES

front = find_front()
pytestmark = pytest.mark.skipif(front is None, reason="the compiled front is turned off")
#: More calls than those whose results are compared, after which the front serves an operator.
MANY = 80
CALLS = {
    "sizes one by one": lambda: T.zeros(2, 3),
    "one size": lambda: T.ones(4),
    "a tuple": lambda: T.zeros((2, 3)),
    "a list": lambda: T.zeros([2, 3]),
    "a shape": lambda: T.zeros(T.ones(2, 3).shape),
    "no elements": lambda: T.zeros(0, 3),
    "no dimensions": lambda: T.zeros(()),
    "a size by name": lambda: T.zeros(size=(2,)),
    "a dtype": lambda: T.zeros(2, dtype=T.int64),
    "no dtype": lambda: T.zeros(2, dtype=None),
    "a device": lambda: T.zeros(2, device="cpu"),
    "a device that is read": lambda: T.zeros(2, device=T.device("cpu")),
    "another device": lambda: T.zeros(2, device="meta"),
    "a default device": lambda: _on_meta(T.zeros),
    "a default dtype": lambda: _in_double(T.ones),
    "a gradient": lambda: T.ones(2, requires_grad=True),
    "out": lambda: T.zeros(2, out=T.ones(2)),
    "a layout": lambda: T.zeros(2, layout=T.strided),
    "a generator": lambda: T.randn(3, generator=T.Generator().manual_seed(1)),
    "a number": lambda: T.full((2,), 2.5),
    "an int": lambda: T.full((2,), 2),
    "a truth value": lambda: T.full((2,), True),
    "a complex number": lambda: T.full((2,), 1j),
    "a range": lambda: T.arange(5),
    "a range of floats": lambda: T.arange(0.0, 1.0, 0.25),
    "a range by name": lambda: T.arange(start=1, end=4),
    "a line": lambda: T.linspace(0, 1, 5),
    "a unit matrix": lambda: T.eye(3, 2),
    "places": lambda: T.tril_indices(3, 3),
    "an order": lambda: T.randperm(5),
    "integers": lambda: T.randint(3, (4,)),
    "a number of the host": lambda: T.tensor(2.5),
    "a list of the host": lambda: T.tensor([1.0, 2.0]),
    "in inference": T.inference_mode()(lambda: T.ones(2)),
    "a negative size": lambda: T.zeros(-1),
    "a float for a size": lambda: T.zeros(2.0),
    "a truth value for a size": lambda: T.zeros(True),
    "a text for a size": lambda: T.zeros("2"),
    "a tensor for a size": lambda: T.zeros(T.tensor(2)),
    "a size beyond 64 bits": lambda: T.zeros(1 << 64),
    "more than there is": lambda: T.zeros(1 << 50),
    "a text for a dtype": lambda: T.zeros(2, dtype="float"),
    "no such device": lambda: T.zeros(2, device="nowhere"),
    "no such name": lambda: T.zeros(2, wrong=1),
    "nothing": T.zeros,
    "a size twice": lambda: T.zeros(2, size=(2,)),
    "no such number": lambda: T.full((2,), 1e400, dtype=T.int64),
    "too many numbers": lambda: T.linspace(0, 1, 2, 3),
}


def _on_meta(make):
    with T.device("meta"):
        return make(2)


def _in_double(make):
    T.set_default_dtype(T.float64)
    try:
        return make(2)
    finally:
        T.set_default_dtype(T.float32)


def show(call):
    """Return all that shows of a call's result, or of its error, its frames among it."""
    T.manual_seed(7)
    try:
        made = call()
    except Exception as error:  # noqa: BLE001  # some of the calls are errors
        names, trace = [], error.__traceback__
        while trace is not None:
            names.append(
                (trace.tb_frame.f_code.co_filename.partition(",")[0].rstrip(">"), trace.tb_frame.f_code.co_name)
            )
            trace = trace.tb_next
        return type(error), str(error), getattr(error, "__notes__", None), names
    values = None if made.is_meta else repr(made.tolist())
    return made.shape, made.stride(), made.dtype, made.device, made.requires_grad, made.is_inference(), values


@pytest.mark.parametrize("details", ["", "full"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_means_the_same(name, details, monkeypatch):
    monkeypatch.setenv("DISPATCH_TRACEBACK", details)
    call = CALLS[name]
    for _ in range(MANY):
        show(call)
    served = show(call)
    was = front.serve(False)
    try:
        assert show(call) == served
    finally:
        front.serve(was)


@pytest.mark.parametrize("name", ["zeros", "ones", "randn", "full", "eye"])
def test_a_kernel_is_run_at_once_after_the_first_calls(name):
    function = FACTORIES[name]
    for _ in range(MANY):
        function((2,), 1.0) if name == "full" else function(2)
    if name != "eye":  # which has two forms, and chooses
        assert front.list_ways(function) == [2]


@pytest.mark.filterwarnings("ignore::dispatch_core.errors.OverwriteWarning")
def test_a_kernel_of_the_program_serves_from_its_registration_to_its_end():
    for _ in range(MANY):
        T.ones(2)
    library = dc.Library("aten", "IMPL", "CPU")
    library.impl("ones", lambda size, **options: T.zeros(size).numpy() + 7)
    try:
        for _ in range(MANY):
            assert T.ones(2).tolist() == [7, 7]
    finally:
        library.close()
    for _ in range(MANY):
        assert T.ones(2).tolist() == [1, 1]


def test_profiles_traces_and_pipelines_miss_no_call():
    for _ in range(MANY):
        T.ones(2)
    with dc.profile() as profile:
        T.ones(2)
    assert [event.name for event in profile.events] == ["aten::ones"]
    with dc.pipeline():
        made = T.ones(2) + 1
    assert made.tolist() == [2, 2]


def test_threads_have_default_devices_of_their_own():
    found, barrier = {}, threading.Barrier(2)

    def make(device):
        T.set_default_device(device)
        barrier.wait()
        found[device] = {str(T.zeros(2).device) for _ in range(500)}

    threads = [threading.Thread(target=make, args=(each,)) for each in ("cpu", "meta")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {"cpu": {"cpu"}, "meta": {"meta"}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parameters", None),
        ("parameters", ((),)),
        ("parameters", (("size", 9, 0, 1, 0, None, None),) * 15),
        ("fill", ()),
        ("table", []),
        ("explicit", None),
        ("make_target", None),
        ("positional", 2),
        ("star", 1),
    ],
)
def test_a_spec_that_is_none_is_refused(name, value):
    spec = {
        "parameters": (("size", 9, 0, 1, 0, None, None),),
        "fill": (None,),
        "table": {},
        "explicit": {},
        "make_target": list,
        "positional": 1,
        "star": 0,
    }
    front.Factory(spec)
    with pytest.raises((TypeError, ValueError)):
        front.Factory(spec | {name: value})
    with pytest.raises(KeyError):
        front.Factory({key: each for key, each in spec.items() if key != name})
