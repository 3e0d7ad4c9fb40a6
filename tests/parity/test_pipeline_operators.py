"""Every operator gives in a pipeline what it gives without: results, layouts, and errors at the call that is wrong."""

import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the cases are made beside torch")

import dispatch_core as dc  # noqa: E402  # after the skip
import torchlike  # noqa: E402
from dispatch_backend_cpu.arrays import storage, storage_offset_of, strides_of  # noqa: E402

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

_spec = importlib.util.spec_from_file_location("cpu_cases", Path(__file__).with_name("test_cpu_operators.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

#: Errors that depend on elements, which are not there when the call is made.
ABOUT_ELEMENTS = re.compile(
    "ZeroDivisionError|[Ii]ndex .* out of|out of (bounds|range)|shape mismatch: (value|indexing)"
)
#: What a shape rule says of where a fault lies, and kernels do not.
WHERE = re.compile(r" \((argument '[^']+'( of [\w:.]+)?|\w+::[\w.]+)\)")
#: Kernels that look at the sizes the other way round than their rule.
OTHER_WORDS = re.compile(r"The size of tensor a \(\d+\) must match the size of tensor b \(\d+\)")

#: There are some 40,000 cases; each run takes every fourth.
_numbers = itertools.count(np.random.default_rng().integers(4))


def tensors(value):
    """Make tensors of arrays, each in a fresh memory, which is laid out alike."""
    if isinstance(value, np.ndarray):
        owner = storage(value)
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        flat = torchlike.tensor(owner.transpose(order).reshape(-1).copy()).clone()
        return flat.as_strided(value.shape, strides_of(value), storage_offset_of(value) if value.size else 0)
    return [tensors(item) for item in value] if isinstance(value, (list, tuple)) else value


def attempt(name, args, kwargs):
    """Call an operator on fresh tensors; give its results or its error, and the tensors."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(dc.ops.aten, packet), overload or "default")
    given = [tensors(value) for value in args]
    keywords = {key: tensors(value) for key, value in kwargs.items()}
    try:
        return operator(*given, **keywords), None, given
    except Exception as error:  # noqa: BLE001  # compared by the caller
        return None, error, given


def flat(value):
    return [each for item in value for each in flat(item)] if isinstance(value, (list, tuple)) else [value]


def assert_same(expected, found, where):
    for one, other in zip(flat(expected), flat(found), strict=True):
        if not isinstance(one, torchlike.Tensor):
            # A factory without tensors gives an array; one made in the pipeline is an array when it is looked at.
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=where, strict=True)
            continue
        look = [(each.shape, each.stride(), each.dtype, each.storage_offset()) for each in (one, other)]
        assert look[0] == look[1], where
        np.testing.assert_array_equal(one.numpy(), other.numpy(), err_msg=where)


def said(error):
    return OTHER_WORDS.sub("", WHERE.sub("", str(error)))


def compare(name, args, kwargs=None, **_):
    """Run one case with and without a pipeline."""
    if next(_numbers) % 4:
        return
    kwargs = kwargs or {}
    where = f"{name}({cases.show(args, kwargs)})"
    expected, error, written = attempt(name, args, kwargs)
    late = None
    with dc.pipeline() as pipe:
        found, raised, writes = attempt(name, args, kwargs)
        try:
            pipe.flush()
        except Exception as fault:  # noqa: BLE001  # looked at below
            late = fault
    if error is None:
        assert (raised, late) == (None, None), where
        assert_same([expected, written], [found, writes], where)
    elif ABOUT_ELEMENTS.search(str(error)):
        assert isinstance(raised or late, type(error)), (where, error, raised or late)
    else:
        assert type(raised) is type(error) and said(raised) == said(error), (where, error, raised, late)


cases.compare = compare
globals().update({name: test for name, test in vars(cases).items() if name.startswith("test_")})
