"""The devices under test, with a stand-in for CuPy where there is none; without the libraries there is nothing to test."""

from importlib.util import find_spec

import dispatch_core as dc

#: The libraries that `nox -s arrays` installs.
LIBRARIES = ("array_api_compat", "array_api_strict", "dask", "distributed", "jax", "torch")

if any(find_spec(name) is None for name in LIBRARIES):
    collect_ignore_glob = ["src/*", "tests/*"]
elif find_spec("cupy") is None:
    import fake_cupy

    fake_cupy.install()
    dc.refresh()
