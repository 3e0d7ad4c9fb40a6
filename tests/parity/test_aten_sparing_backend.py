"""A backend with nothing but the required kernels computes every operator through the decompositions."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import dispatch_core as dc  # after the skip

_spec = importlib.util.spec_from_file_location("aten_cases", Path(__file__).with_name("test_aten_operators.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

PLUGIN = '''
import numpy as np
import dispatch_core as dc
from dispatch_aten.decompositions import required_kernels
from dispatch_backend_cpu.arrays import dtype_of, storage_offset_of, strides_of
from dispatch_backend_cpu.plugin import KERNELS

class Spare:
    """An array of its own kind, kept in NumPy's."""

    def __init__(self, array):
        self.array = array

def inner(value):
    if isinstance(value, (list, tuple)):
        return [inner(each) for each in value]
    return value.array if isinstance(value, Spare) else value

def outer(value):
    if isinstance(value, (list, tuple)):
        return type(value)([outer(each) for each in value])
    return Spare(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value

def borrowed(name):
    kernel = KERNELS[name]

    def run(*args, **kwargs):
        result = kernel(*map(inner, args), **{key: inner(value) for key, value in kwargs.items()})
        for value in (*args, *kwargs.values()):
            if isinstance(value, Spare) and value.array is result:
                return value
        return outer(result)

    return run

@dc.hookimpl
def dispatch_backend_info():
    array = dc.ArrayType(
        Spare,
        shape=lambda x: x.array.shape,
        strides=lambda x: strides_of(x.array),
        storage_offset=lambda x: storage_offset_of(x.array),
        dtype=lambda x: dtype_of(x.array),
    )
    return dc.BackendInfo("spare", array_types=(array,))

@dc.hookimpl
def dispatch_register(registry):
    dc.load_backend("cpu")
    aten, prims = dc.Library("aten", "IMPL", "Spare"), dc.Library("prims", "IMPL", "Spare")
    for name in required_kernels():
        aten.impl(name, borrowed(name))
    prims.impl("device_get", lambda self: self.array.copy())
    prims.impl("device_put", lambda data, *, device: Spare(data.copy()))

@dc.hookimpl
def dispatch_is_available():
    return True
'''


@pytest.fixture(scope="module", autouse=True)
def _spare(tmp_path_factory):
    """Install the backend as a plugin."""
    site = tmp_path_factory.mktemp("site")
    folder = site / "spare-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: spare\nVersion: 1.0\nRequires-Dist: dispatch-core\n")
    (folder / "entry_points.txt").write_text("[dispatch_core.backends]\nspare = spare_backend\n")
    (site / "spare_backend.py").write_text(PLUGIN)
    sys.path.insert(0, str(site))
    dc.refresh()
    yield
    sys.path.remove(str(site))


@pytest.mark.parametrize(("name", "make", "kwargs"), cases.CASES_ON_DEVICES)
def test_the_required_kernels_are_enough(name, make, kwargs):
    cases.compare_on("spare", name, make, kwargs)
