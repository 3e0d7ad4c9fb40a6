"""The devices under test, with a stand-in for CuPy where there is none."""

from importlib.util import find_spec

import dispatch_core as dc

if find_spec("cupy") is None:
    import fake_cupy

    fake_cupy.install()
    dc.refresh()
