"""How results are compared, with torch's or with each other: dtype, shape, layout and elements, of any kind of array.

Torch is not imported here; its tensors are told by their class.
"""

import warnings
from contextlib import contextmanager

import numpy as np

import dispatch_core as dc

#: Dtype → relative and absolute tolerance of results that two libraries compute; of others see ``assert_same``.
TOLERANCES = {"float16": (2e-3, 2e-3), "float32": (2e-5, 2e-6), "float64": (1e-11, 1e-12), "complex64": (1e-4, 1e-5)}
EXACT = (0.0, 0.0)


def flatten(value):
    """Return the leaves of nested lists and tuples."""
    return [leaf for each in value for leaf in flatten(each)] if isinstance(value, (list, tuple)) else [value]


@contextmanager
def ignore_warnings():
    """Leave warnings out of a comparison."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def attempt(function, *args, **kwargs):
    """Return a call's result and its error, one of which is None."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001  # errors are compared, whatever they are
        return None, error


def builtin_class(error):
    """Return the name of Python's own class that an error is of."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def is_torchs(value):
    """Return whether a value is a tensor of torch's."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "stride")


def dtype_name(value):
    """Return the name of a tensor's or array's dtype, as torch spells it."""
    return str(value.dtype).removeprefix("torch.") if is_torchs(value) else dc.dtype(value).short


def elements(value):
    """Return the elements of a tensor or array as a NumPy array, wherever they lie."""
    if hasattr(value, "detach"):
        value = value.detach()
        with ignore_warnings():  # in a pipeline a kernel warns when its results are read
            return (value.resolve_conj() if is_torchs(value) else value).numpy()
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else dc.ops.prims.device_get(value)


def describe(value, *, strides=True, offset=False):
    """Return a tensor's or array's dtype and shape and, where that is asked for, its strides and offset in memory.

    ``strides="elements"`` leaves out the strides of arrays without elements.
    """
    theirs = is_torchs(value)
    value = np.asarray(value) if isinstance(value, np.generic) else value
    found = [dtype_name(value), tuple(value.shape) if theirs else dc.shape(value)]
    has_elements = 0 not in found[1]
    if strides and (has_elements or strides != "elements"):
        found.append(value.stride() if theirs else dc.strides(value))
    if offset and has_elements:
        found.append(value.storage_offset() if theirs else dc.storage_offset(value))
    return found


def assert_close(found, expected, where="", *, tolerance=None):
    """Compare elements; floats may differ by ``tolerance``: a pair, or pairs by dtype, in place of ``TOLERANCES``."""
    found, expected = elements(found), elements(expected)
    pairs = TOLERANCES if tolerance is None else tolerance
    rtol, atol = pairs.get(found.dtype.name, (1e-10, 1e-10)) if isinstance(pairs, dict) else pairs
    if found.dtype.kind in "fc" or isinstance(tolerance, dict):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=str(where))
    else:
        np.testing.assert_array_equal(found, expected, err_msg=str(where))


def assert_same_bits(found, expected, where=""):
    """Compare elements bit by bit, but for the sign of nan, which depends on the order of operands."""
    bits = []
    for array in (elements(found), elements(expected)):
        parts = np.ascontiguousarray(array)
        parts = parts.view(parts.real.dtype) if parts.dtype.kind == "c" else parts
        nan = np.array(np.nan, parts.dtype) if parts.dtype.kind == "f" else None
        bits.append((parts if nan is None else np.where(np.isnan(parts), nan, parts)).tobytes())
    assert bits[0] == bits[1], where


def assert_same(found, expected, where="", *, kind=object, values=assert_close, strides=True, offset=False, **options):
    """Compare a result with the expected one, and lists of results item by item.

    Arrays are of the class ``kind``, described alike, and their elements are compared by ``values``, which takes the
    other options; None is for arrays without elements. Numbers are equal and of one type.
    """
    found, expected = flatten(found), flatten(expected)
    assert len(found) == len(expected), where
    for each, other in zip(found, expected, strict=True):
        if not hasattr(other, "shape"):
            assert each == other or (each != each and other != other), where
            assert type(each) is type(other) or not isinstance(other, int | float | complex), where
            continue
        assert isinstance(each, kind), where
        looks = [describe(value, strides=strides, offset=offset) for value in (each, other)]
        assert looks[0] == looks[1], where
        if values is not None:
            values(each, other, where, **options)
