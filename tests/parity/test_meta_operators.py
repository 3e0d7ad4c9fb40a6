"""The meta backend's kernels against torch: shapes, strides, offsets and dtypes, on the cpu backend's inputs."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import cpu_cases as cases  # after the skip
from comparison import assert_same, attempt

from dispatch_aten.errors import DataDependentShapeError, MetaDataError
from dispatch_backend_cpu.arrays import dtype_of, storage_offset_of, strides_of
from dispatch_backend_meta.arrays import MetaArray
from dispatch_backend_meta.kernels import KERNELS


def to_meta(value):
    if isinstance(value, np.ndarray):
        return MetaArray(value.shape, strides_of(value), dtype_of(value), storage_offset_of(value) if value.size else 0)
    if isinstance(value, (list, tuple)):
        return [to_meta(item) for item in value]
    return value


def compare_on_meta(name, args, kwargs=None, *, view=False, tolerance=None):
    """Run one case on both sides; arguments that torch refuses for their values, meta may take."""
    kwargs = kwargs or {}
    if cases.deviates(name, args, kwargs) or (name == "index_put_" and args[0].dtype != args[2].dtype):
        return  # Where one mask chooses the elements that one value replaces, torch converts the value.
    where = f"{name}({cases.show(args, kwargs)})"
    ours = [to_meta(value) for value in args]
    theirs = {key: cases.to_torch(value) for key, value in kwargs.items()}
    expected, refused = attempt(cases.overload(name), *[cases.to_torch(value) for value in args], **theirs)
    if refused is not None:  # perhaps for the values
        return
    try:
        found = KERNELS[name](*ours, **kwargs)
    except (DataDependentShapeError, MetaDataError):
        return
    if name.partition(".")[0].endswith("_"):
        assert found is ours[0], where
    else:
        assert_same(found, expected, where, kind=MetaArray, values=None, offset=view)
        for each in found if isinstance(found, (list, tuple)) else [found]:
            assert not view or each.shares_storage_with(ours[0]), where


@pytest.fixture
def compare():
    return compare_on_meta


globals().update(cases.tests())
