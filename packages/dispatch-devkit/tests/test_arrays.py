"""Explanations of calls with arrays of a device's own."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from core_fixtures import OWNED

needs_cpu = pytest.mark.skipif(find_spec("dispatch_backend_cpu") is None, reason="it is about the cpu backend's types")


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
