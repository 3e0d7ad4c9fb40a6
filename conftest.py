"""The options ``--pipeline``, ``--drawn`` and ``--npu``.

With ``--pipeline`` every test runs inside a pipeline, which must change nothing. Where much of the suite runs, most of its
calls must be recorded, and those that run at once must be listed in ``docs/pipeline-eager.md``. Operators that give no
tensors are not counted: they are how values reach the host.

``--drawn SHARE`` runs a share of every parametrized test's cases, drawn with the day as the seed, and all other tests.
``DISPATCH_DRAWN_SEED`` draws with another seed, ``DISPATCH_DRAWN_SHARE`` another share: 1 runs all.

``--npu`` says what tests of the npu backend drive: the simulator, built once for the session, or the toolkit that there is.
A test asks for ``npu`` where either will do, for ``simulator`` where it looks at counters, the log, or failures on demand.
The name of a family of chips, such as ``--npu=310P``, is the simulator of one; tests marked ``of_functions`` are skipped
where that family lacks functions of theirs.
"""

from __future__ import annotations

import datetime as dt
import gc
import hashlib
import os
import re
import signal
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Their assertions are shown as those of tests are.
pytest.register_assert_rewrite("comparison", "cpu_cases", "aten_cases")

# The same examples in every run, however busy the machine is.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# Programs for type checkers, many of them with mistakes.
collect_ignore_glob = ["tests/typing/*"]

#: Modules that import a library when they are: its library → the module.
_ENGINES = {"jax": "collectives/gloo.py", "mpi4py": "collectives/mpi.py"}
_ABSENT = tuple(module for library, module in _ENGINES.items() if find_spec(library) is None)


def pytest_ignore_collect(collection_path):
    """Leave out the modules whose library is not here."""
    return True if collection_path.as_posix().endswith(_ABSENT) else None


#: Families of chips that the npu's simulator stands for where ``--npu`` names one; that of the Atlas A2 is its default.
OTHER_CHIPS = ("910_93", "950", "910A", "310P", "310B")

#: How much of the suite's calls must be recorded, and how many make up a suite.
SHARE, SUITE = 0.95, 5_000
LISTED = Path(__file__).parent / "docs" / "pipeline-eager.md"
_recorded = pytest.StashKey[int]()
_eager = pytest.StashKey[Counter]()


def pytest_addoption(parser):
    parser.addoption("--pipeline", action="store_true", help="run every test inside a pipeline")
    parser.addoption(
        "--drawn", type=float, default=1.0, metavar="SHARE", help="run this share of parametrized tests' cases"
    )
    parser.addoption(
        "--npu",
        choices=("simulator", "hardware", *OTHER_CHIPS),
        default="simulator",
        help="what the npu's tests drive: the simulator of an Atlas A2 or of another family, or the chip that there is",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "no_pipeline(reason): the test is about what a pipeline changes by what it is")
    config.addinivalue_line("markers", "drawn(share): a slow family, of which --drawn runs this part of its share")
    config.addinivalue_line(
        "markers", "of_functions: the test counts, or calls by hand, functions that some chips lack"
    )
    config.stash[_recorded], config.stash[_eager] = 0, Counter()
    # Processes that it starts draw the same cases, at midnight too.
    os.environ.setdefault("DISPATCH_DRAWN_SEED", dt.datetime.now(tz=dt.UTC).date().isoformat())
    # The modules of the tests and their syntax trees are looked through seldom: else collections take a fifth of the time.
    gc.set_threshold(20_000, 50, 100)
    # A run in the background of a shell ignores Ctrl-C, which tests press.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_in_pipeline(config):
    # Without the option where a run of another folder meets this file late: the installed packages lie below it.
    return config.getoption("pipeline", default=False)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage among the modules that are imported for the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def _share(config):
    return float(os.environ.get("DISPATCH_DRAWN_SHARE") or config.getoption("drawn", default=1.0))


def is_drawn(seed, share, item):
    """Return whether a test is among the drawn share of its family."""
    if (mark := item.get_closest_marker("drawn")) is not None:
        share *= mark.args[0]
    place = hashlib.blake2b(f"{seed} {item.nodeid}".encode(), digest_size=4).digest()
    return not hasattr(item, "callspec") or int.from_bytes(place) < share * 2**32


def _describe_draw(config):
    seed, share = os.environ["DISPATCH_DRAWN_SEED"], _share(config)
    return f"drawn: {share:.0%} of all cases, by DISPATCH_DRAWN_SEED={seed}; DISPATCH_DRAWN_SHARE=1 runs every one"


def pytest_report_header(config):
    return None if _share(config) >= 1 else _describe_draw(config)


def pytest_collection_modifyitems(config, items):
    if (share := _share(config)) < 1:
        drawn = [item for item in items if is_drawn(os.environ["DISPATCH_DRAWN_SEED"], share, item)]
        config.hook.pytest_deselected(items=[*{*items} - {*drawn}])
        items[:] = drawn
    if _is_in_pipeline(config):
        for item in items:
            mark = item.get_closest_marker("no_pipeline")
            if mark is not None:
                item.add_marker(pytest.mark.skip(reason=f"in a pipeline: {mark.kwargs['reason']}"))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    config = pyfuncitem.config
    if not _is_in_pipeline(config):
        return (yield)
    import dispatch_core as dc  # the suite measures the cost of importing it

    with dc.pipeline() as pipe:
        result = yield
    stats = pipe.stats()
    config.stash[_recorded] += stats.recorded
    config.stash[_eager].update(stats.eager)
    return result


# The counts of several processes are added up in the one that started them.


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    config, counted = node.config, getattr(node, "workeroutput", {}).get("pipeline")
    if counted is not None:
        config.stash[_recorded] += counted[0]
        config.stash[_eager].update({(name, why): count for name, why, count in counted[1]})


def pytest_sessionfinish(session):
    config = session.config
    if not _is_in_pipeline(config):
        return
    output = getattr(config, "workeroutput", None)
    if output is not None:
        eager = config.stash[_eager]
        output["pipeline"] = (config.stash[_recorded], [(name, why, count) for (name, why), count in eager.items()])
    elif _faults(config) and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    if _share(config) < 1 and "failed" in terminalreporter.stats:
        terminalreporter.write_line(_describe_draw(config))
    if _is_in_pipeline(config):
        recorded, others = config.stash[_recorded], config.stash[_eager].total()
        terminalreporter.section("in a pipeline")
        terminalreporter.write_line(f"{recorded:,} of {recorded + others:,} calls were recorded")
        for fault in _faults(config):
            terminalreporter.write_line(f"FAILED {fault}", red=True)


def _faults(config):
    recorded, eager = config.stash[_recorded], config.stash[_eager]
    if recorded < SUITE:
        return []
    share = recorded / (recorded + eager.total())
    faults = [] if share >= SHARE else [f"only {share:.1%} of the calls were recorded"]
    rows = [line for line in LISTED.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for name, message in eager:
        # Operators that the tests define are of no interest to readers, nor are names within a message.
        why = re.sub(r" \(argument .*\)$", "", message)
        if name.startswith(("aten::", "prims::")) and not any(
            line.startswith(f"| {why} |") and (f"`{name}`" in line or "| any " in line) for line in rows
        ):
            faults.append(f"{name} ran at once, for a reason that {LISTED.name} does not give: {why}")
    return faults


@pytest.fixture(autouse=True, scope="session")
def _toolkit_of_the_session(request):
    """Hide toolkits that the environment names, or that are installed: a process has one, the simulator's."""
    if request.config.option.npu == "hardware" or find_spec("dispatch_backend_npu") is None:
        yield
        return
    from dispatch_backend_npu.acl import toolkit

    with pytest.MonkeyPatch.context() as patch:
        for name in toolkit.HOME_VARIABLES:
            patch.delenv(name, raising=False)
        runtimes = toolkit.FILES[toolkit.RUNTIME]
        paths = [Path(path) for path in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if path]
        others = [str(path) for path in paths if not any((path / name).exists() for name in runtimes)]
        patch.setenv("LD_LIBRARY_PATH", os.pathsep.join(others))
        patch.setattr(toolkit, "DEFAULT_HOMES", ())
        yield


@pytest.fixture(autouse=True, scope="module")
def _quick_collections():
    """Collect garbage among a module's objects only in its tests: half a million are there before, and live on."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _runtime_closed_afterwards():
    """Leave no second device, no time limit, and nothing that is kept to be used again, to the tests of other modules."""
    yield
    runtime = sys.modules.get("dispatch_backend_npu.runtime")
    if runtime is not None:
        runtime.finalize(force=True)
        runtime.set_sync_timeout(None)


@pytest.fixture(scope="session")
def simulator_folder(request, tmp_path_factory):
    """Return the folder of the simulator; without a compiler, tests that need it are skipped for that reason."""
    simulators = pytest.importorskip("dispatch_backend_npu.simulator")
    # Kept from session to session where pytest keeps anything: it is built again only when its sources have changed.
    cache = getattr(request.config, "cache", None)
    base = tmp_path_factory.getbasetemp() if cache is None else cache.mkdir("npu")
    try:
        return simulators.build(base / "simulator")
    except simulators.NoCompilerError as error:
        pytest.skip(str(error))


@pytest.fixture
def npu(request, monkeypatch):
    """Set the environment so that the toolkit is found; return the simulator's folder, or None with ``--npu=hardware``."""
    if request.config.option.npu == "hardware":
        import dispatch_backend_npu

        if not dispatch_backend_npu.is_available():
            pytest.fail(f"--npu=hardware: {dispatch_backend_npu.unavailable_reason()}")
        return None
    folder = request.getfixturevalue("simulator_folder")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(folder))
    if (chip := request.config.option.npu) in OTHER_CHIPS:
        if chip != "910_93" and request.node.get_closest_marker("of_functions"):
            pytest.skip(f"chips of the family {chip} lack functions that the test asks for")
        monkeypatch.setenv("DISPATCH_NPU_SIMULATE", chip)
        monkeypatch.setenv("DISPATCH_NPU_UNSUPPORTED", "1")
    return folder


@pytest.fixture
def host_calls(request):
    """Return a function that tells how often the host has computed operators for the npu since it was asked last.

    It does not tell of the chips that lack functions.
    """
    import dispatch_core as dc

    before = Counter(dc.computed_on_host("npu"))

    def ask():
        nonlocal before
        found = Counter(dc.computed_on_host("npu"))
        new, before = found - before, found
        return {} if request.config.option.npu in OTHER_CHIPS[1:] else dict(new)

    return ask


@pytest.fixture
def simulator(npu):
    """Yield the simulator's controls, without faults and with an empty log, before and after."""
    if npu is None:
        pytest.skip("needs the simulator, and --npu=hardware was given")
    from dispatch_backend_npu.simulator import Simulator

    control = Simulator(npu)
    control.reset()
    yield control
    control.reset()
