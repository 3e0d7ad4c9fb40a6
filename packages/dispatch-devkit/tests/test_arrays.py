"""Explanations of calls with arrays of a device's own."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

needs_cpu = pytest.mark.skipif(find_spec("dispatch_backend_cpu") is None, reason="it is about the cpu backend's types")


OWNED = """
import sys
import numpy as np
import dispatch_core as dc

def array_type(cls):
    return dc.ArrayType(cls, shape=lambda a: a.shape, dtype=lambda a: str(a.dtype))

def refused(registry, *arguments):
    try:
        registry.add_backend(dc.BackendInfo(*arguments))
    except dc.RegistrationError as error:
        return str(error)

def private():
    '''A registry of its own, with an operator on NumPy's arrays and a composite that calls it.'''
    r = dc.Registry(interpreted="--interpreted" in sys.argv)
    name = f"mine{len(made)}"
    key = r.add_backend(dc.BackendInfo(name, array_types=(array_type(np.ndarray),)))
    library = dc.Library("t", "DEF", registry=r)
    library.define("f(Tensor x) -> Tensor")
    library.define("g(Tensor[] x, *, Device? device=None) -> Tensor")
    library.define("who(Tensor x) -> str")
    library.define("make(*, Device? device=None) -> Tensor")
    library.impl("f", lambda x: x + len(made), key)
    library.impl("g", lambda x, device: r.ops.t.f(x[0]) * 2, "CompositeExplicitAutograd")
    library.impl("who", lambda keys, x: keys.highest().name, key, with_keyset=True)
    library.impl("make", lambda device: np.zeros(1), key)
    made.append((r, key, name))

def check(r, key, name, number):
    x = np.zeros(2)
    assert r.ops.t.f(x).tolist() == [number, number] == r.dispatch("t::f", x).tolist()
    assert r.ops.t.f.redispatch(key, x).tolist() == [number, number]
    assert r.ops.t.g([x]).tolist() == [2 * number, 2 * number]
    assert r.ops.t.g.redispatch(dc.DispatchKeySet([key]), [x]).tolist() == [2 * number, 2 * number]
    assert r.ops.t.who(x) == key.name
    assert r.ops.t.make(device=name).tolist() == [0]
    assert dc.explain(r.ops.t.f, x).winner.key == key.name
    with dc.exclude_keys("AutogradCPU"):
        assert r.ops.t.f(x).tolist() == [number, number]
    with dc.exclude_keys(key):
        try:
            r.ops.t.f(x)
        except dc.NoKernelError:
            pass
        else:
            raise AssertionError("the owner's key was excluded")

made = []
"""


@needs_cpu
@pytest.mark.parametrize("engine", ["--generated", "--interpreted"])
def test_a_private_registry_may_have_any_owner_for_numpys_arrays(run_python, engine):
    program = OWNED + (
        "private()\n"
        "if sys.argv[2] == 'first': dc.load_backend('cpu')\n"
        "check(*made[0], 1)\n"
        "private()\n"
        "for number, each in enumerate(made): check(*each, 2)\n"
        "assert dc.ops.aten.add.Tensor(np.ones(2), np.ones(2)).tolist() == [2, 2]\n"
        "assert dc.device(np.ones(2)).type == 'cpu'\n"
    )
    for order in ("first", "later"):
        done = run_python("-c", program, engine, order)
        assert done.returncode == 0, done.stderr


def test_where_cpu_is_not_installed_any_backend_owns_numpys_arrays(install, run_python, tmp_path):
    """The scan is made to see no distribution of ours but the core."""
    program = (
        "from dispatch_core.plugins import catalog, loading\n"
        "loading.BackendLoader.catalog = catalog.Catalog(catalog.Scan(()), '0.1.0')\n"
        + OWNED
        + "key = dc.registry.add_backend(dc.BackendInfo('mine', 'CPU', (array_type(np.ndarray),)))\n"
        "library = dc.Library('t', 'DEF')\n"
        "library.define('f(Tensor x) -> Tensor')\n"
        "library.impl('f', lambda x: x + 1, key)\n"
        "assert dc.ops.t.f(np.zeros(2)).tolist() == [1, 1]\n"
        "private(); private()\n"
        "for each in made: check(*each, 2)\n"
        "assert dc.ops.t.f(np.zeros(2)).tolist() == [1, 1]\n"
    )
    done = run_python("-c", program)
    assert done.returncode == 0, done.stderr
