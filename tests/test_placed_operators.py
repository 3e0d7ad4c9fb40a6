"""Every operator gives on parts of tensors what it gives on one device, with the gradients: aten's samples are placed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import run_ranks
from test_placed_tensors import full, lay, place

import dispatch_core as dc
import torchlike as torch
from dispatch_aten.operators import ATEN_BY_NAME
from dispatch_aten.testing.changes import map_arrays
from dispatch_aten.testing.samples import op_samples
from torchlike.distributed.tensor import DeviceMesh, Partial, Replicate, Shard
from torchlike.utils.pytree import tree_leaves

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::UserWarning")]

MESHES = [(2,), (3,), (2, 2)]
#: Operators that make a tensor of another's memory are refused.
OF_MEMORY = {"set_", "resize_", "resize_as_", "as_strided_"}
#: How many samples of an operator are tried, and how often each.
SAMPLES, TRIES = 4, 3


def make_calls() -> Iterator[tuple[Any, Any, list[Any]]]:
    """Yield operators, samples, and the arrays in these."""
    for name in ATEN_BY_NAME:
        op = dc.registry.get(f"aten::{name}").op
        base = name.partition(".")[0]
        is_out = any(each.is_write and each.kwarg_only for each in op.schema.arguments)
        if is_out or "nondeterministic_seeded" in op.tags or "empty" in base or base in OF_MEMORY:
            continue
        plain = (each for each in op_samples(name) if not each.layout and not each.change)
        for sample in itertools.islice(plain, SAMPLES):
            arrays: list[Any] = []
            for value in sample.arguments.values():
                map_arrays(value, lambda array, arrays=arrays: arrays.append(array) or array)
            if arrays:
                yield op, sample, arrays


def draw_ways(sample: Any, arrays: list[Any], ndim: int) -> Iterator[list[list[Any]]]:
    drawn = random.Random(str(sample))
    for attempt in range(TRIES):
        ways = []
        for array in arrays:
            choices: list[Any] = [Replicate(), *[Shard(dim) for dim in range(array.ndim)] * 2]
            if attempt and array.dtype.kind == "f" and array.dtype.itemsize > 2:
                choices.append(Partial())
            ways.append([drawn.choice(choices) for _ in range(ndim)])
        yield ways


def to_numpy(x: Any) -> Any:
    return (x.float() if x.dtype is torch.bfloat16 else x).detach().numpy()


def read(value: Any) -> Any:
    return map_arrays(value, lambda array: torch.from_numpy(np.array(array)))


@pytest.mark.parametrize("shape", MESHES)
def test_results_and_what_is_written(shape: tuple[int, ...]) -> None:
    count = 0
    for op, sample, arrays in make_calls():
        written = [each.name for each in op.schema.arguments if each.is_write]
        given = {name: read(value) for name, value in sample.arguments.items()}
        try:
            expected = tree_leaves(op(**given)) + tree_leaves([given[name] for name in written])
        except (dc.DispatchError, NotImplementedError, RuntimeError):
            continue

        def run(mesh: DeviceMesh, ways: Any, op: Any = op, sample: Any = sample, expected: Any = expected) -> None:
            left = iter(ways)
            made = {
                name: map_arrays(value, lambda array: lay(torch.from_numpy(np.array(array)), mesh, next(left)))
                for name, value in sample.arguments.items()
            }
            targets = tree_leaves([made[each.name] for each in op.schema.arguments if each.is_write])
            places = [each._dispatch_data.spec.placements for each in targets]
            found = tree_leaves(op(**made)) + targets
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                if not isinstance(other, torch.Tensor):
                    assert one == other or one != one
                    continue
                assert (one.shape, one.dtype) == (other.shape, other.dtype), (str(sample), ways)
                np.testing.assert_allclose(to_numpy(full(one)), to_numpy(other), 1e-4, 1e-4, err_msg=f"{sample} {ways}")
            if "inplace_view" not in op.tags:
                assert [each._dispatch_data.spec.placements for each in targets] == places

        for ways in draw_ways(sample, arrays, len(shape)):
            run_ranks(shape, lambda mesh, ways=ways, run=run: run(mesh, ways))
            count += 1
    assert count > 3000


@pytest.mark.parametrize("shape", MESHES)
def test_gradients(shape: tuple[int, ...]) -> None:
    count = 0
    for op, sample, arrays in make_calls():
        if any(each.is_write for each in op.schema.arguments) or any(each.dtype.kind == "c" for each in arrays):
            continue

        def differentiate(made: dict[str, Any], op: Any = op, mesh: Any = None) -> list[Any]:
            leaves = [each for each in tree_leaves(made) if isinstance(each, torch.Tensor)]
            for each in leaves:
                each.requires_grad_(each.is_floating_point())
            total: Any = 0
            for each in tree_leaves(op(**made)):
                if isinstance(each, torch.Tensor) and each.requires_grad and each.is_floating_point():
                    weight = torch.arange(1.0, each.numel() + 1, dtype=each.dtype).reshape(each.shape)
                    weight = weight if mesh is None else place(weight, mesh, [Replicate()] * mesh.ndim)
                    total = total + (each * weight).sum()
            if not isinstance(total, torch.Tensor):
                return []
            total.backward()
            return [each.grad for each in leaves]

        try:
            expected = differentiate({name: read(value) for name, value in sample.arguments.items()})
        except (dc.DispatchError, NotImplementedError, RuntimeError):
            continue
        if not expected:
            continue

        def run(
            mesh: DeviceMesh, ways: Any, sample: Any = sample, expected: Any = expected, f: Any = differentiate
        ) -> None:
            left = iter(ways)
            made = {
                name: map_arrays(value, lambda array: lay(torch.from_numpy(np.array(array)), mesh, next(left)).detach())
                for name, value in sample.arguments.items()
            }
            for one, other in zip(f(made, mesh=mesh), expected, strict=True):
                assert (one is None) == (other is None), f"{sample} {ways}"
                if other is not None:
                    np.testing.assert_allclose(
                        to_numpy(full(one)), to_numpy(other), 1e-4, 1e-4, err_msg=f"{sample} {ways}"
                    )

        for ways in draw_ways(sample, arrays, len(shape)):
            run_ranks(shape, lambda mesh, ways=ways, run=run: run(mesh, ways))
            count += 1
    assert count > 1000
