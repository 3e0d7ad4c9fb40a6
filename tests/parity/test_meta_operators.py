"""The meta backend's kernels against torch: shapes, strides, offsets and dtypes, on the cpu backend's inputs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from dispatch_aten.errors import DataDependentShapeError, MetaDataError  # noqa: E402  # after the skip
from dispatch_backend_cpu.arrays import dtype_of, storage_offset_of, strides_of  # noqa: E402
from dispatch_backend_meta.arrays import MetaArray  # noqa: E402
from dispatch_backend_meta.kernels import KERNELS  # noqa: E402

_spec = importlib.util.spec_from_file_location("cpu_cases", Path(__file__).with_name("test_cpu_operators.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


def to_meta(value):
    if isinstance(value, np.ndarray):
        return MetaArray(value.shape, strides_of(value), dtype_of(value), storage_offset_of(value) if value.size else 0)
    if isinstance(value, (list, tuple)):
        return [to_meta(item) for item in value]
    return value


def assert_described(expected, actual, where, *, view):
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), where
        for each, other in zip(expected, actual, strict=True):
            assert_described(each, other, where, view=view)
        return
    assert type(actual) is MetaArray, where
    found = (actual.shape, actual.strides, actual.dtype)
    assert found == (tuple(expected.shape), expected.stride(), cases.SCALAR_TYPES[expected.dtype]), where
    if view and expected.numel():
        assert actual.storage_offset == expected.storage_offset(), where


def compare_on_meta(name, args, kwargs=None, *, kernel=None, strides=True, view=False, tolerance=None):
    """Run one case on both sides; what torch refuses for its values' sake, meta may take."""
    kwargs = kwargs or {}
    if cases.deviates(name, args, kwargs) or (name == "index_put_" and args[0].dtype != args[2].dtype):
        return  # Where one mask chooses what one value replaces, torch converts the value.
    where = f"{name}({cases.show(args, kwargs)})"
    ours = [to_meta(value) for value in args]
    try:
        expected = cases.overload(name)(
            *[cases.to_torch(value) for value in args], **{key: cases.to_torch(value) for key, value in kwargs.items()}
        )
    except Exception:  # noqa: BLE001  # whether it was for the values is not to be told
        return
    try:
        found = KERNELS[name](*ours, **kwargs)
    except (DataDependentShapeError, MetaDataError):
        return
    if name.partition(".")[0].endswith("_"):
        assert found is ours[0], where
    else:
        assert_described(expected, found, where, view=view)
        for each in found if isinstance(found, (list, tuple)) else [found]:
            assert not view or each.shares_storage_with(ours[0]), where


cases.compare = compare_on_meta
globals().update({name: test for name, test in vars(cases).items() if name.startswith("test_")})
