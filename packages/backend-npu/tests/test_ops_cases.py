"""The npu backend's kernels against torch, on the cpu backend's cases: values, dtypes, shapes, strides, classes of errors.

What depends on elements is not checked on a device, as on torch's own: an index out of range, a division of integers by 0.
"""

import re
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("torch", reason="the cases are made beside torch")
cases = pytest.importorskip("cpu_cases", reason="the cases are those of the repository's parity tests")

from comparison import assert_same, attempt  # noqa: E402  # after the skips

from dispatch_backend_cpu.arrays import storage, storage_offset_of, strides_of  # noqa: E402
from dispatch_backend_npu import runtime  # noqa: E402
from dispatch_backend_npu.acl import AclError  # noqa: E402
from dispatch_backend_npu.arrays import AclArray, from_numpy  # noqa: E402
from dispatch_backend_npu.kernels import KERNELS  # noqa: E402

pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand")


def put(value):
    """Copy an array's whole storage to the device, and view it alike."""
    if isinstance(value, np.ndarray):
        owner = storage(value)
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        flat = from_numpy(owner.transpose(order).reshape(-1).copy())
        return flat.view(value.shape, strides_of(value), storage_offset_of(value) if value.size else 0)
    return [put(item) for item in value] if isinstance(value, (list, tuple)) else value


def is_complex(value):
    """Return whether complex numbers take part, which the simulator does not compute with."""
    if isinstance(value, (list, tuple)):
        return any(map(is_complex, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "c"
    return isinstance(value, complex) or str(value).startswith("complex")


#: What torch says of elements that it does not like; and of storages, which a device allocates in larger steps.
ABOUT_ELEMENTS = re.compile(r"ZeroDivisionError|out of (bounds|range)|expanded tensors is deprecated")


def compare_on_npu(name, args, kwargs=None, *, view=False, tolerance=None):
    """Run one case on both sides."""
    kwargs = kwargs or {}
    if name not in KERNELS or cases.deviates(name, args, kwargs) or is_complex([*args, *kwargs.values()]):
        return
    where = f"{name}({cases.show(args, kwargs)})"
    theirs = {key: cases.to_torch(value) for key, value in kwargs.items()}
    ours = [put(value) for value in args]
    expected, error = attempt(cases.overload(name), *[cases.to_torch(value) for value in args], **theirs)
    found, raised = attempt(KERNELS[name], *ours, **{key: put(value) for key, value in kwargs.items()})
    if error is not None:
        if raised is None and not ABOUT_ELEMENTS.search(repr(error)):
            pytest.fail(f"{where}: torch raises {error!r}, npu gave {found!r}")
        assert raised is None or isinstance(raised, (type(error), RuntimeError)), (where, raised, error)
        with suppress(AclError):  # A wrong index is a fault of the device, which comes late.
            runtime.synchronize()
        return
    if raised is not None:
        pytest.fail(f"{where}: torch gives {expected!r}, npu raised {raised!r}")
    assert_same(found, expected, where, kind=AclArray, tolerance=tolerance)
    assert found is ours[0] or not name.partition(".")[0].endswith("_"), where


@pytest.fixture(autouse=True)
def _on_npu(npu):
    """Every case needs the toolkit."""


#: Overloads that the cpu backend composes, so that its cases do not have them.
IN_PLACE = {
    "erf_": lambda draw: [draw(2, 3)],
    "erfc_": lambda draw: [draw(2, 3)],
    "frac_": lambda draw: [draw(2, 3)],
    "rsqrt_": lambda draw: [abs(draw(2, 3))],
    "addmm_": lambda draw: [draw(2, 4), draw(2, 3), draw(3, 4)],
    "baddbmm_": lambda draw: [draw(2, 2, 4), draw(2, 2, 3), draw(2, 3, 4)],
    "lerp_.Tensor": lambda draw: [draw(2, 3), draw(3), draw(2, 1)],
    "masked_fill_.Tensor": lambda draw: [draw(2, 3), draw(2, 3) > 0, draw()],
    "scatter_.src": lambda draw: [draw(4, 3), 0, np.array([[0, 3, 1], [2, 0, 3]]), draw(2, 3)],
}


@pytest.mark.parametrize("name", IN_PLACE)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "offset"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_in_place(name, layout, dtype):
    rng = np.random.default_rng(7)
    args = IN_PLACE[name](lambda *shape: cases.array(rng, shape, dtype, layout, special=False))
    compare_on_npu(name, args, tolerance=(1e-5, 1e-6))


@pytest.fixture
def compare():
    return compare_on_npu


globals().update(cases.tests())
