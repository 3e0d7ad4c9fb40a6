"""Layers that a program brings, together with those that there are."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import dispatch_core as dc
import torchlike as torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

X, WEIGHT = torch.tensor([[1.0, 2.0], [3.0, -4.0]]), torch.full((2, 3), 0.3)


class Nothing(dc.DispatchMode):
    def __dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextmanager
def quarters(key: str) -> Iterator[list[str]]:
    """Round the operands of ``mm`` to quarters in a layer under a key, without kernels for composites."""
    seen: list[str] = []

    def multiply(keyset, self, mat2):
        seen.append("mm")
        with dc.exclude_keys(key):
            operands = [(each * 4).round() / 4 for each in (self, mat2)]
        return dc.ops.aten.mm.redispatch(keyset - dc.DispatchKey[key], *operands)

    with dc.Library("aten", "IMPL", key) as library:
        library.impl("mm", multiply, with_keyset=True)
        with dc.include_keys(key):
            yield seen


SURROUNDINGS: dict[str, Callable[[], object]] = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "pipeline": dc.pipeline,
    "profile": dc.profile,
    "trace": lambda: dc.trace(decompose=True),
    "mode": Nothing,
}


@pytest.mark.parametrize("key", ["PreDispatch", "Negative", "Conjugate"])
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_layer_without_a_kernel_for_a_composite_serves_its_parts_whatever_is_around(name: str, key: str):
    with quarters(key) as seen, SURROUNDINGS[name]():  # type: ignore[attr-defined]
        found = (X @ WEIGHT).tolist()
        assert seen == ["mm"]
    assert found == [[0.75] * 3, [-0.25] * 3]


def test_a_layer_without_a_kernel_for_a_composite_is_part_of_captured_functions():
    captured = dc.capture(lambda x: x @ WEIGHT)
    with quarters("Negative") as seen:
        found = [captured(X).tolist() for _ in range(4)]
    assert found == [[[0.75] * 3, [-0.25] * 3]] * 4
    assert seen == ["mm", "mm"]  # the two recordings
    assert captured(X).tolist() == (X @ WEIGHT).tolist()


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_key_that_the_caller_takes_out_stays_out_of_the_parts(name: str):
    def leave(keyset, self, other):
        return dc.ops.aten.matmul.redispatch(keyset - dc.DispatchKey.Negative, self, other)

    with quarters("Negative") as seen, dc.Library("aten", "IMPL", "Negative") as library:
        library.impl("matmul", leave, with_keyset=True)
        with SURROUNDINGS[name]():  # type: ignore[attr-defined]
            assert (X @ WEIGHT).dtype.is_floating_point
    assert seen == []
    assert not dc.apply_masks(dc.DispatchKeySet())


@pytest.mark.parametrize("answer", ["text", None, (True,), [1.0], {}])
@pytest.mark.parametrize("ask", [lambda: torch.equal(X, X), lambda: X.sum().item()])
def test_a_mode_that_returns_no_number_where_one_is_promised_is_refused(ask, answer):
    class Wrong(dc.DispatchMode):
        def __dispatch__(self, func, types, args=(), kwargs=None):
            is_number = str(func.schema.returns[0].type) != "Tensor"
            return answer if is_number else func(*args, **(kwargs or {}))

    with Wrong(), pytest.raises(dc.KernelResultError, match="where the schema promises a number"):
        ask()
    with Nothing():
        assert ask() in (True, 2.0)
    assert not dc.apply_masks(dc.DispatchKeySet())
