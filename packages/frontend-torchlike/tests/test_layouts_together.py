"""A program's quantized layout beside torchlike's own, whichever is there first; and layouts in several threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.frontends import TensorLayout
from torchlike.layouts import record_of, wrap

PROGRAM = """
from dataclasses import dataclass
import dispatch_core as dc
import torchlike
from dispatch_core.frontends import TensorLayout
from torchlike.layouts import record_of, wrap

@dataclass(frozen=True)
class Halved:
    numbers: torchlike.Tensor

def make(x):
    return wrap(halved.make(numbers=(x * 2).to(torchlike.int8)))

def read(x):
    return record_of(x).numbers.to(torchlike.float32) / 2

def run(op, *args):
    return make(op(*[read(each) if isinstance(each, torchlike.Tensor) else each for each in args]))

def make_own():
    return torchlike.quantize_per_tensor(torchlike.ones(2), 0.5, 0, torchlike.qint8)

if {first!r} == "torchlike":
    make_own()
halved = TensorLayout(
    "Quantized", Halved, component="numbers",
    shape=lambda record: dc.shape(record.numbers), dtype=lambda record: torchlike.float32,
)
halved.for_each_key(lambda key: dc.Library("_", "IMPL").fallback(run, key))
theirs, own = make(torchlike.ones(2)), make_own()
print(dc.DispatchKeySet.from_tensors([theirs]), dc.DispatchKeySet.from_tensors([own]))
print(read(theirs + 1).tolist(), read(torchlike.relu(-theirs)).tolist(), torchlike.relu(own).int_repr().tolist())
try:
    theirs + own
except dc.NoKernelError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("first", "keys"),
    [("program", ("QuantizedCPU", "Quantized_QuantizedCPU")), ("torchlike", ("Quantized_HalvedCPU", "QuantizedCPU"))],
)
def test_a_programs_quantized_layout_stands_beside_torchlikes(first, keys):
    command = [sys.executable, "-c", PROGRAM.replace("{first!r}", repr(first))]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == " ".join(f"DispatchKeySet({key})" for key in keys)
    assert lines[1] == "[2.0, 2.0] [0.0, 0.0] [2, 2]"
    assert "two Quantized layouts stand in one call" in lines[2] and "Halved" in lines[2] and "torchlike" in lines[2]


@dataclass(frozen=True)
class Boxed:
    value: torchlike.Tensor


def test_threads_that_make_the_first_tensors_find_the_kernels_registered():
    layout = TensorLayout(
        "BoxedByThreads",
        Boxed,
        component="value",
        shape=lambda record: dc.shape(record.value),
        dtype=lambda record: record.value.dtype,
    )
    registered = []

    @layout.for_each_key
    def register(key):
        registered.append(key)
        dc.Library("aten", "IMPL").impl("neg", lambda self: wrap(layout.make(value=-record_of(self).value)), key)

    def work(number):
        device = "meta" if number % 2 else "cpu"
        return (-wrap(layout.make(value=torchlike.ones(2, device=device)))).device.type

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == ["cpu", "meta"] * 16
    assert sorted(key.name for key in registered) == ["BoxedByThreadsCPU", "BoxedByThreadsMeta"]


def test_a_tensor_is_bound_to_arrays_of_its_own_device_and_layout_alone():
    x = torchlike.ones(2)
    for other in (torchlike.ones(2, device="meta"), torchlike.ones(2).to_sparse()):
        with pytest.raises(dc.ArgumentError, match="the tensor is of another device or layout"):
            dc.rebind(x, other)
    assert x.tolist() == [1.0, 1.0] and dc.rebind(x, torchlike.zeros(2)).tolist() == [0.0, 0.0]
