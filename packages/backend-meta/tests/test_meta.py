import subprocess
import sys

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT
from dispatch_aten.dtypes import float32, float64, int64
from dispatch_aten.errors import DtypeError, MetaDataError, OperatorError, ShapeError, UnsupportedError
from dispatch_aten.operators import ATEN
from dispatch_aten.shapes import RULES
from dispatch_aten.variants import functional_of
from dispatch_backend_meta import plugin
from dispatch_backend_meta.arrays import MetaArray
from dispatch_backend_meta.kernels import KERNELS, PRIMS


def meta(*shape, dtype=float32):
    return MetaArray.empty(shape, dtype)


def test_the_backend_describes_itself():
    info = plugin.dispatch_backend_info()
    [array] = info.array_types
    assert (info.name, info.dispatch_key, array.type) == ("meta", "Meta", MetaArray)
    view = KERNELS["slice.Tensor"](meta(2, 3), 1, 1, None, 1)
    assert (array.shape(view), array.strides(view), array.storage_offset(view)) == ((2, 2), (3, 1), 1)
    assert array.dtype(view) == float32
    assert plugin.dispatch_is_available()


def test_views_as_another_dtype_count_their_offset_in_its_elements():
    part = KERNELS["slice.Tensor"](meta(6, 4), 0, 3, None, 1)
    assert part.storage_offset == 12
    assert KERNELS["view.dtype"](part, float64).storage_offset == 6
    pairs = KERNELS["view_as_complex"](KERNELS["view"](part, [6, 2]))
    assert (pairs.storage_offset, KERNELS["view_as_real"](pairs).storage_offset) == (6, 12)


def test_arrays_are_frozen_and_equal_to_themselves_only():
    a = meta(2)
    with pytest.raises(AttributeError):
        a.shape = (3,)
    assert a == a
    assert a != meta(2)
    assert len({a, meta(2)}) == 2


def test_results_are_described_as_their_rules_say():
    a, b = meta(2, 1, dtype=int64), meta(3)
    assert repr(KERNELS["add.Tensor"](a, b, alpha=1)) == "MetaArray(shape=(2, 3), strides=(3, 1), dtype=float32)"
    values, indices = KERNELS["max.dim"](meta(2, 3), 1, False)
    assert (values.dtype, indices.dtype, indices.shape) == (float32, int64, (2,))
    assert KERNELS["zeros"]([2], dtype=float64, device=dc.Device("meta")).dtype == float64


def test_views_share_their_storage_and_fresh_results_do_not():
    a = meta(4, 3)
    view = KERNELS["select.int"](KERNELS["t"](a), 0, 2)
    assert (view.shape, view.strides, view.storage_offset) == ((4,), (3,), 2)
    assert view.shares_storage_with(a)
    assert all(part.shares_storage_with(a) for part in KERNELS["split.Tensor"](a, 2, 0))
    assert not KERNELS["clone"](a).shares_storage_with(a)
    assert KERNELS["clone"](view).storage_offset == 0


def test_writing_returns_the_argument_and_checks_it():
    a = meta(2, 3)
    assert KERNELS["add_.Tensor"](a, meta(3), alpha=1) is a
    with pytest.raises(ShapeError):
        KERNELS["add_.Tensor"](meta(3), a, alpha=1)
    with pytest.raises(DtypeError):
        KERNELS["add_.Tensor"](meta(3, dtype=int64), meta(3), alpha=1)
    expanded = KERNELS["expand"](meta(3), [2, 3])
    with pytest.raises(OperatorError, match="more than one element of the written-to tensor"):
        KERNELS["copy_"](expanded, a)
    assert KERNELS["fill_.Scalar"](expanded, 1) is expanded
    assert KERNELS["zero_"](expanded) is expanded


def test_resizing_keeps_the_storage():
    a = meta(2, 3)
    assert KERNELS["resize_"](a, [2, 3]) is a
    assert KERNELS["resize_"](a, [8]).shares_storage_with(a)


def test_values_are_refused_in_torchs_words():
    a = meta(1)
    for ask in (PRIMS["device_get"], KERNELS["_local_scalar_dense"], np.asarray):
        with pytest.raises(MetaDataError, match="Cannot copy out of meta tensor; no data!"):
            ask(a)


def test_shapes_that_depend_on_values_are_refused():
    mask = meta(3, dtype=RULES["isnan"](meta(1).spec).dtype)
    for name, args in (("nonzero", (mask,)), ("masked_select", (meta(3), mask)), ("index.Tensor", (meta(3), [mask]))):
        with pytest.raises(UnsupportedError):
            KERNELS[name](*args)
    assert KERNELS["index.Tensor"](meta(3, 2), [meta(5, dtype=int64)]).shape == (5, 2)


def test_numpy_arrays_are_described():
    put = PRIMS["device_put"]
    found = put(np.zeros((2, 3), np.float32).T, device=dc.Device("meta"))
    assert (found.shape, found.strides, found.dtype) == ((3, 2), (1, 3), float32)
    with pytest.raises(TypeError, match=r"expected np\.ndarray"):
        put([1, 2], device=dc.Device("meta"))
    with pytest.raises(DtypeError):
        put(np.array(["a"]), device=dc.Device("meta"))


def test_every_operator_is_a_kernel_or_composed_of_some():
    alone = {operator.name for operator in ATEN if functional_of(operator.name) is None}
    assert alone - set(KERNELS) - set(IMPLICIT) - set(EXPLICIT) == set()
    assert set(KERNELS) & set(IMPLICIT) == set()


def test_numpy_is_not_imported():
    code = "import sys, dispatch_backend_meta.plugin; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_results_that_look_alike_share_a_description_but_no_storage():
    a, b = meta(2, 1), meta(3)
    first, second = (KERNELS["add.Tensor"](a, b, alpha=1) for _ in range(2))
    assert first.spec is second.spec
    assert first != second
    assert not first.shares_storage_with(second)
    rows = KERNELS["unbind.int"](first, 0)
    assert KERNELS["t"](rows[1]).storage is rows[0].storage is first
    assert not KERNELS["sum"](rows[1], dtype=None).shares_storage_with(first)


def test_an_error_is_raised_again_each_time():
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"cannot be multiplied \(2x3 and 2x3\) \(argument 'mat2' of aten::mm\)"):
            KERNELS["mm"](meta(2, 3), meta(2, 3))
    expanded = KERNELS["expand"](meta(3), [2, 3])
    for _ in range(2):
        with pytest.raises(OperatorError, match="more than one element of the written-to tensor"):
            KERNELS["mul_.Scalar"](expanded, 2)


def test_where_an_array_begins_is_no_part_of_its_description():
    a = meta(4, 3)
    rows = [KERNELS["select.int"](a, 0, index) for index in range(4)]
    assert [row.storage_offset for row in rows] == [0, 3, 6, 9]
    assert len({row.spec for row in rows}) == 1
    last = KERNELS["slice.Tensor"](rows[3], 0, 1, None, 1)
    assert (last.storage_offset, last.shape, last.storage) == (10, (2,), a)
    strided = KERNELS["as_strided"]
    assert strided(last, (1,), (1,)).storage_offset == 10
    assert strided(last, (1,), (1,), 0).storage_offset == 0
    assert strided(last, (1,), (1,), 2).storage is a
    resized = KERNELS["resize_"](last, (5,))
    assert (resized.storage_offset, resized.storage) == (10, a)
    assert KERNELS["neg"](last).storage_offset == 0
