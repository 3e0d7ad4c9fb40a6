"""What the tests drive: the simulator, built once for the session, or with ``--npu=hardware`` the toolkit that there is.

A test asks for ``npu`` where either will do, for ``simulator`` where it looks at counters, the log, or failures on demand.
"""

import sys

import pytest


@pytest.fixture(autouse=True, scope="module")
def _closed_afterwards():
    """Leave no second device, and nothing that is kept to be used again, to the tests of other modules."""
    yield
    runtime = sys.modules.get("dispatch_backend_npu.runtime")
    if runtime is not None:
        runtime.finalize(force=True)


@pytest.fixture(scope="session")
def _simulator_folder(request, tmp_path_factory):
    from dispatch_backend_npu.simulator import NoCompilerError, build

    # Kept from session to session where pytest keeps anything: it is built again only when its sources have changed.
    cache = getattr(request.config, "cache", None)
    base = tmp_path_factory.getbasetemp() if cache is None else cache.mkdir("npu")
    try:
        return build(base / "simulator")
    except NoCompilerError as error:
        return str(error)


@pytest.fixture
def npu(request, monkeypatch):
    """The environment that finds the toolkit: the simulator's, or with ``--npu=hardware`` the one that is set."""
    if request.config.option.npu == "hardware":
        import dispatch_backend_npu

        if not dispatch_backend_npu.is_available():
            pytest.fail(f"--npu=hardware: {dispatch_backend_npu.unavailable_reason()}")
        return None
    folder = request.getfixturevalue("_simulator_folder")
    if isinstance(folder, str):
        pytest.skip(folder)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(folder))
    return folder


@pytest.fixture
def simulator(npu):
    """The simulator's controls, without faults and with an empty log, before and after."""
    if npu is None:
        pytest.skip("needs the simulator, and --npu=hardware was given")
    from dispatch_backend_npu.simulator import Simulator

    control = Simulator(npu)
    control.reset()
    yield control
    control.reset()
