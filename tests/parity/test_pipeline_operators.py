"""Every operator gives the same in a pipeline as without: results, layouts, and errors at the call that is wrong."""

import itertools
import os
import re

import numpy as np
import pytest

pytest.importorskip("torch", reason="the cases are made beside torch")

import cpu_cases as cases  # after the skip
from comparison import EXACT, assert_same, attempt

import dispatch_core as dc
import torchlike
from dispatch_backend_cpu.arrays import storage, storage_offset_of, strides_of

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

#: Errors that depend on elements, which are not there when the call is made.
ABOUT_ELEMENTS = re.compile(
    "ZeroDivisionError|[Ii]ndex .* out of|out of (bounds|range)|shape mismatch: (value|indexing)"
)
#: The place of a fault, which shape rules name and kernels do not.
WHERE = re.compile(r" \((argument '[^']+'( of [\w:.]+)?|\w+::[\w.]+)\)")
#: Kernels that look at the sizes the other way round than their rule.
OTHER_WORDS = re.compile(r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)")

#: There are some 40,000 cases; each day takes every fourth.
_numbers = itertools.count(np.random.default_rng(list(os.environ["DISPATCH_DRAWN_SEED"].encode())).integers(4))


def tensors(value):
    """Make tensors of arrays, each in a fresh memory, which is laid out alike."""
    if isinstance(value, np.ndarray):
        owner = storage(value)
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        flat = torchlike.tensor(owner.transpose(order).reshape(-1).copy()).clone()
        return flat.as_strided(value.shape, strides_of(value), storage_offset_of(value) if value.size else 0)
    return [tensors(item) for item in value] if isinstance(value, (list, tuple)) else value


def call(name, args, kwargs):
    """Call an operator on fresh tensors; return its results or its error, and the tensors."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(dc.ops.aten, packet), overload or "default")
    given = [tensors(value) for value in args]
    return *attempt(operator, *given, **{key: tensors(value) for key, value in kwargs.items()}), given


def words_of(error):
    """Return an error's text without the words in which the two sides may differ."""
    return OTHER_WORDS.sub("", WHERE.sub("", str(error)))


def compare_in_a_pipeline(name, args, kwargs=None, **_):
    """Run one case with and without a pipeline."""
    if next(_numbers) % 4:
        return
    kwargs = kwargs or {}
    where = f"{name}({cases.show(args, kwargs)})"
    expected, error, written = call(name, args, kwargs)
    late = None
    with dc.pipeline() as pipe:
        found, raised, writes = call(name, args, kwargs)
        try:
            pipe.flush()
        except Exception as fault:  # noqa: BLE001  # looked at below
            late = fault
    if error is None:
        assert (raised, late) == (None, None), where
        assert_same([found, writes], [expected, written], where, offset=True, tolerance=EXACT)
    elif ABOUT_ELEMENTS.search(str(error)):
        assert isinstance(raised or late, type(error)), (where, error, raised or late)
    else:
        assert type(raised) is type(error) and words_of(raised) == words_of(error), (where, error, raised, late)


@pytest.fixture
def compare():
    return compare_in_a_pipeline


globals().update(cases.tests())
