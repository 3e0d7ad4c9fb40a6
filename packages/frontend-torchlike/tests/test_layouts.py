"""Tensors of a layout: a record of ordinary tensors under a layout key, through every layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.frontends import TensorLayout, components_of, find_layout
from torchlike.tensors.tensor import wrap
from torchlike.values.layouts import LayoutData, layout


@dataclass(frozen=True, slots=True)
class Scaled(LayoutData):
    """A matrix as whole numbers and a factor for each row."""

    numbers: torchlike.Tensor
    factors: torchlike.Tensor

    layout: ClassVar[layout] = layout("scaled_rows")
    densified_by: ClassVar[str] = "to_dense()"


SCALED = TensorLayout(
    "Scaled",
    Scaled,
    component="numbers",
    shape=lambda record: tuple(record.numbers.shape),
    dtype=lambda record: record.factors.dtype,
    strides=lambda record: record.numbers.stride(),
    hint="call scaled::to_dense",
)
SCHEMAS = {
    "to_dense": "(Tensor self) -> Tensor",
    "neg": "(Tensor self) -> Tensor",
    "matmul": "(Tensor self, Tensor other) -> Tensor",
    "total": "(Tensor self) -> float",
    "transpose": "(Tensor self) -> Tensor",
}


def make(numbers, factors):
    return wrap(SCALED.make(numbers=numbers, factors=factors))


def to_dense(self):
    record = self._dispatch_data
    return record.numbers * record.factors.unsqueeze(1)


def matmul(self, other):
    assert isinstance(self, torchlike.Tensor) and isinstance(other, torchlike.Tensor)
    record = self._dispatch_data
    return record.numbers.to(record.factors.dtype) @ other * record.factors.unsqueeze(1)


KERNELS = {
    "to_dense": to_dense,
    "neg": lambda self: make(self._dispatch_data.numbers, -self._dispatch_data.factors),
    "matmul": matmul,
    "total": lambda self: to_dense(self).sum().item(),
}


@pytest.fixture(scope="module", autouse=True)
def ops():
    with dc.Library("scaled", "DEF") as library:
        for name, schema in SCHEMAS.items():
            library.define(f"{name}{schema}")
        for name, kernel in KERNELS.items():
            for backend in ("CPU", "Meta"):
                library.impl(name, kernel, f"Scaled{backend}")
        yield dc.ops.scaled


@pytest.fixture
def x():
    return make(torchlike.tensor([[1, 2], [3, 4]]), torchlike.tensor([0.5, 2.0]))


def test_a_tensor_of_a_layout_answers_for_its_record(x):
    assert x.shape == (2, 2) and x.stride() == (2, 1) and x.dtype is torchlike.float32 and x.numel() == 4
    assert (dc.shape(x), dc.dtype(x), str(dc.device(x))) == ((2, 2), torchlike.float32, "cpu")
    assert str(x.device) == "cpu" and x.is_cpu and not x.is_meta and not x.is_cuda
    assert repr(x.layout) == "torchlike.scaled_rows" and not x.is_sparse and not x.is_nested
    assert torchlike.ones(2).layout is torchlike.strided and not torchlike.ones(2).is_nested
    assert repr(x) == "tensor(size=(2, 2), dtype=torchlike.float32, layout=torchlike.scaled_rows)"
    assert (
        find_layout(x) is SCALED and find_layout(x._dispatch_data) is SCALED and find_layout(torchlike.ones(1)) is None
    )
    assert components_of(x) == [x._dispatch_data.numbers, x._dispatch_data.factors]


def test_a_record_belongs_to_the_device_of_its_components(x):
    there = make(*[torchlike.empty(2, 2, device="meta"), torchlike.empty(2, device="meta")])
    assert type(there._dispatch_data) is not type(x._dispatch_data) and there.is_meta and str(there.device) == "meta"
    assert dc.DispatchKeySet.from_tensors([x]) == dc.DispatchKeySet("ScaledCPU")
    assert dc.ops.scaled.to_dense(there).shape == (2, 2)
    with pytest.raises(dc.ArgumentError, match=r"int is not an array|expected a tensor"):
        SCALED.make(numbers=1, factors=2)


def test_kernels_of_a_layout_see_the_tensors_of_the_call(x, ops):
    assert ops.to_dense(x).tolist() == [[0.5, 1.0], [6.0, 8.0]]
    assert ops.to_dense(ops.neg(x)).tolist() == [[-0.5, -1.0], [-6.0, -8.0]]
    assert ops.matmul(x, torchlike.ones(2, 1)).tolist() == [[1.5], [14.0]]


@pytest.mark.parametrize(
    "call", [lambda x, ops: ops.transpose(x), lambda x, ops: x + 1, lambda x, ops: torchlike.sin(x)]
)
def test_an_operator_without_a_kernel_is_refused_by_name(x, ops, call):
    with pytest.raises(dc.NoKernelError, match=r"no kernel for .*ScaledCPU(.|\n)*Hint: call scaled::to_dense"):
        call(x, ops)


def test_two_devices_in_one_call_are_refused(x, ops):
    with pytest.raises(RuntimeError, match="same device"):
        ops.matmul(x, torchlike.ones(2, 1, device="meta"))


def test_a_pipeline_records_the_calls_on_the_components(x, ops):
    with torchlike.pipeline() as pipeline:
        dense = ops.to_dense(ops.neg(x))
        assert dense._pending and pipeline.stats().recorded > 1
        made = ops.neg(x)
        assert made._pending and not x._pending
        assert ops.total(x) == 15.5
    assert dense.tolist() == [[-0.5, -1.0], [-6.0, -8.0]]
    assert not made._pending and pipeline.stats().flushes


def test_a_captured_function_takes_a_layout_for_a_container(x, ops):
    calls = []

    @torchlike.capture
    def run(x, y):
        calls.append(1)
        return ops.matmul(x, y), ops.neg(x)

    for _ in range(4):
        found, negative = run(x, torchlike.ones(2, 1))
        assert found.tolist() == [[1.5], [14.0]]
        assert ops.to_dense(negative).tolist() == [[-0.5, -1.0], [-6.0, -8.0]]
    assert len(calls) < 4
    other = make(torchlike.tensor([[0, 1], [1, 0]]), torchlike.tensor([1.0, 3.0]))
    assert run(other, torchlike.ones(2, 1))[0].tolist() == [[1.0], [3.0]]


def test_a_trace_has_the_calls_on_the_components(x, ops):
    with dc.trace() as trace:
        ops.to_dense(x)
    assert "aten::mul" in str(trace) and "scaled" not in str(trace)


def test_a_profile_shows_the_call_and_its_parts(x, ops):
    with dc.profile() as profile:
        ops.to_dense(x)
    names = [event.name for event in profile.events]
    assert "scaled::to_dense" in names and "aten::mul.Tensor" in names


def test_explanations_name_the_layers_that_pass_on(x):
    with dc.trace():
        assert "components" in str(dc.explain("scaled::to_dense", x))


@pytest.mark.parametrize(
    ("question", "error", "text"),
    [
        (lambda x: x.numpy(), TypeError, r"numpy\(\) is not supported for tensors of layout torchlike.scaled_rows"),
        (lambda x: x.tolist(), TypeError, "not supported"),
        (lambda x: x.data_ptr(), TypeError, "data_ptr"),
        (lambda x: x.untyped_storage(), TypeError, "storage"),
        (lambda x: x.__dlpack__(), BufferError, "DLPack"),
        (lambda x: x.__dlpack_device__(), BufferError, "DLPack"),
        (lambda x: x.item(), dc.DispatchError, "aten::(item|_local_scalar_dense)"),
    ],
)
def test_questions_that_arrays_answer_are_refused(x, question, error, text):
    with pytest.raises(error, match=text):
        question(x)


@dataclass(frozen=True)
class Unused(LayoutData):
    """Of no layout."""

    numbers: torchlike.Tensor


def test_a_layout_has_a_prefix_of_a_key_and_a_dataclass():
    with pytest.raises(dc.RegistrationError, match="cannot become the prefix of a layout's dispatch keys"):
        TensorLayout("not a name", Unused, component="numbers", shape=len, dtype=len)
    with pytest.raises(dc.RegistrationError, match="there is a key AutocastCPU"):
        TensorLayout("Autocast", Unused, component="numbers", shape=len, dtype=len)
    with pytest.raises(dc.ArgumentError, match="must be a dataclass"):
        TensorLayout("Sparse", int, component="numbers", shape=len, dtype=len)


def test_a_dense_argument_that_requires_grad_is_recorded_once(x, ops):
    y = torchlike.ones(2, 1, requires_grad=True)
    with dc.exclude_keys("Autograd"):
        assert not ops.matmul(x, y).requires_grad
