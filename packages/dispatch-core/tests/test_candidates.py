"""The functions that may serve a call: which of them may leave it to the next, and in which order they stand."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core.keys.table import alternative_key
from dispatch_core.operators import result_watch

RETURNS = {
    "a fresh tensor": "Tensor x) -> Tensor",
    "an optional one": "Tensor x) -> Tensor?",
    "a view": "Tensor(a) x) -> Tensor(a)",
    "a written argument": "Tensor(a!) x) -> Tensor(a!)",
    "two": "Tensor x) -> (Tensor, Tensor)",
    "a list": "Tensor x) -> Tensor[]",
    "a number": "Tensor x) -> int",
    "nothing": "Tensor x) -> ()",
}


def results_of(kind, toy, x):
    """Return a kernel's result that suits a schema."""
    made = toy.array(x.a.copy())
    return {
        "a view": toy.array(x.a[:]),
        "a written argument": x,
        "two": (made, toy.array(x.a.copy())),
        "a list": [made],
        "a number": 3,
        "nothing": None,
    }.get(kind, made)


@pytest.mark.parametrize("kind", RETURNS)
@pytest.mark.parametrize("is_tensor", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("calls", [0, 2 * result_watch._QUIET + 10], ids=["the first call", "later calls"])
@pytest.mark.parametrize("when", [None, ("n", 1)], ids=["the kernel", "a specialized kernel"])
def test_the_last_kernel_cannot_leave_a_call_to_another(registry, library, toy, tensors, kind, is_tensor, calls, when):
    library.define(f"f(int n, {RETURNS[kind]}")
    declines = []

    def general(n, x):
        return NotImplemented if declines and when is None else results_of(kind, toy, x)

    library.impl("f", general, toy.key)
    if when is not None:
        library.impl("f", lambda x: NotImplemented if declines else results_of(kind, toy, x), toy.key, when=when)
    array = toy.array([1, 2])
    x, op = tensors.wrap(array) if is_tensor else array, registry.ops.t.f
    for _ in range(calls):
        op(1, x)
    declines.append(True)
    with pytest.raises(dc.KernelResultError):
        op(1, x)
    assert getattr(x, "_dispatch_data", x) is array
    declines.clear()
    op(1, x)


@pytest.mark.parametrize("is_alone", [False, True])
def test_an_operator_without_schema_asks_the_next_kernel_too(registry, make_backend, is_alone):
    toy, key = make_backend("oven", "XPU"), alternative_key("first", dc.DispatchKey.XPU)
    with registry.transaction(level="backend"):
        registry.register_kernel("t::bare", toy.key, lambda *args: NotImplemented if is_alone else "the device's own")
        registry.register_kernel("t::bare", key, lambda *args: NotImplemented)
    with dc.include_keys(key):
        if not is_alone:
            assert registry.ops.t.bare(toy.array([1])) == "the device's own"
            return
        with pytest.raises(dc.KernelResultError, match="returned NotImplemented, and no other is left"):
            registry.ops.t.bare(toy.array([1]))
