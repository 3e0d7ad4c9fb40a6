"""dtypes as values of their own: where torch takes one, where it takes a Python type, and where it refuses."""

from __future__ import annotations

import pytest

import torchlike

torch = pytest.importorskip("torch", reason="compares with torch itself")

#: Texts that are evaluated with ``t`` representing torch and for torchlike.
TAKEN = """
t.float32 == 6
t.float32 == t.float32
t.float32 != t.float64
t.zeros(3) == t.float32
bool(t.uint8)
t.zeros(2, dtype=int)
t.zeros(2, dtype=float)
t.zeros(2, dtype=bool)
t.zeros(2, dtype=complex)
t.ones(2).sum(dtype=int)
t.ones(2).cumsum(0, dtype=float)
t.ones(2).softmax(0, float)
t.nn.functional.softmax(t.ones(2), 0, dtype=float)
t.zeros_like(t.ones(2), dtype=int)
t.zeros(2).new_zeros(2, dtype=int)
t.tensor([1], dtype=float)
t.tensor([1.5], dtype=bool)
t.as_tensor([1], dtype=float)
t.ones(2).to(float)
t.ones(2).to(dtype=int)
t.ones(2).to('cpu', int)
t.ones(2).type(t.float64)
t.nn.Linear(2, 2, dtype=float).weight.dtype
t.nn.Linear(2, 2).to(float).weight.dtype
t.can_cast(int, float)
t.promote_types(int, float)
t.finfo(float)
t.iinfo(int)
""".strip().splitlines()

#: (torch takes ``to(6)`` for a device of the accelerator, which it then misses.)
REFUSED = """
t.zeros(2, dtype=6)
t.zeros(2, dtype='float32')
t.zeros(2, dtype=str)
t.zeros(2, dtype=object)
t.zeros(t.float32)
t.zeros(2, t.float32)
t.full((2,), t.float32)
t.full((2,), 1, dtype=6)
t.zeros(3) + t.float32
t.float32 + t.zeros(3)
t.zeros(3) * t.float32
t.zeros(3)[t.float32]
t.zeros(2).sum(t.float32)
t.zeros(2).sum(dtype=6)
t.zeros(2).mean(dtype=5)
t.zeros(2).sum(dtype=object)
t.zeros(2).reshape(t.float32)
t.zeros(2).expand(t.float32)
t.zeros(2).to(dtype=6)
t.zeros(2).type('nonsense')
t.zeros(2).type('float64')
t.zeros(2).type(6)
t.arange(t.float32)
t.tensor([1], dtype=6)
t.tensor(t.float32)
t.float32 + 1
t.float32 < t.float64
int(t.float32)
t.finfo(6)
t.can_cast(6, t.float32)
t.set_default_dtype(float)
""".strip().splitlines()


def value(text, module):
    found = eval(text, {"t": module})
    return repr(found).replace("torchlike.", "torch.")


@pytest.mark.parametrize("text", TAKEN)
def test_a_dtype_or_a_python_type_means_what_it_means_in_torch(text):
    assert value(text, torchlike) == value(text, torch)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_dtype_is_refused_where_torch_refuses_it(text):
    with pytest.raises(Exception) as theirs:  # which class is torch's to say
        value(text, torch)
    with pytest.raises(theirs.type):
        value(text, torchlike)


@pytest.mark.parametrize("name", sorted({name for name in torchlike.values.dtypes.DTYPES if hasattr(torch, name)}))
def test_every_dtype_is_written_as_torch_writes_it(name):
    ours, theirs = getattr(torchlike, name), getattr(torch, name)
    assert repr(ours) == repr(theirs).replace("torch.", "torchlike.")
    assert [ours.itemsize, ours.is_floating_point, ours.is_complex, ours.is_signed] == [
        theirs.itemsize,
        theirs.is_floating_point,
        theirs.is_complex,
        theirs.is_signed,
    ]
