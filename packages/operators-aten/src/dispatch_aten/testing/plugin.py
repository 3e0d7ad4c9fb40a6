"""A pytest plugin for vendors: the kit's checks as tests, and fixtures for tests of the vendor's own.

It is enabled by name, never by itself::

    pytest -p dispatch_aten.testing.plugin --pyargs dispatch_aten.testing --dispatch-device acme

A run fails where no kernel of the device's own was called with success.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core.files import write_text

from . import samples
from .agreement import TestedDevice, compare_value
from .checks import NO_FRONTEND
from .claims import find_claims
from .command import find_marks
from .frontends import Adapter, find_adapter
from .marks import KINDS, Mark, read_marks
from .outcomes import Outcome
from .placing import leaves
from .report import Report, check_that_it_was_used
from .showing import as_html, as_text

_CHECKS: Final = Path(__file__).with_name("conformance_checks.py")
_outcomes: Final = pytest.StashKey[list[Outcome]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("dispatch", "conformance of a device")
    group.addoption("--dispatch-device", metavar="NAME", help="the device to test")
    group.addoption(
        "--dispatch-marks", metavar="FILE", type=Path, help="marks (default: conformance.toml in the package)"
    )
    group.addoption("--dispatch-samples", metavar="N", type=int, help="samples of each operator at most")
    group.addoption("--dispatch-html", metavar="FILE", type=Path, help="write the table as a page of HTML")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    config.stash[_outcomes] = []
    for kind, meaning in KINDS.items():
        config.addinivalue_line("markers", f"{kind}(reason, raises=None): {meaning}; a strict xfail")
    if config.option.dispatch_device:
        # Results are compared with the shape rules at every call.
        os.environ.setdefault("DISPATCH_CHECK_RESULTS", "1")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collect the checks where a device is named."""
    if file_path == _CHECKS and parent.config.option.dispatch_device:
        found: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
        return found
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make the marks of a vendor's own tests strict."""
    for item in items:
        for kind in KINDS:
            for mark in item.iter_markers(kind):
                if mark.args or not mark.kwargs.get("reason") or set(mark.kwargs) - {"reason", "raises"}:
                    raise pytest.UsageError(
                        f"{item.nodeid}: write @pytest.mark.{kind}(reason='…'), and raises=… at most"
                    )
                reason = f"{kind}: {mark.kwargs['reason']}"
                item.add_marker(pytest.mark.xfail(reason=reason, raises=mark.kwargs.get("raises"), strict=True))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the outcomes that a test reports."""
    for name, value in report.user_properties:
        if name == "dispatch_outcome":
            fields: Any = value
            _latest.append(Outcome(**fields))


#: The outcomes since the session began; with several processes, the reports of all come to the first.
_latest: list[Outcome] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Forget an earlier session."""
    _latest.clear()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run that has not used the device."""
    config = session.config
    name = config.option.dispatch_device
    config.stash[_outcomes] = found = list(dict.fromkeys(_latest))
    if not name or hasattr(config, "workerinput") or config.option.collectonly or not found or exitstatus:
        return
    if check_that_it_was_used(name, found).is_fault:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Show the table."""
    name, found = config.option.dispatch_device, config.stash[_outcomes]
    if not name or not found:
        return
    used = check_that_it_was_used(name, found)
    state = dc.backends()[name]
    claims = find_claims(name, TestedDevice.find(name).dtypes)
    report = Report(name, state.distribution, state.version, claims, (*found, used), (), 0.0)
    terminalreporter.section(f"conformance of device {name!r}")
    terminalreporter.write(as_text(report))
    if config.option.dispatch_html:
        write_text(config.option.dispatch_html, as_html(report))


@pytest.fixture(scope="session")
def dispatch_device(request: pytest.FixtureRequest) -> TestedDevice:
    """Return the device under test, by ``--dispatch-device``."""
    name = request.config.option.dispatch_device
    if not name:
        pytest.fail("say which device: --dispatch-device NAME", pytrace=False)
    return TestedDevice.find(name)


@pytest.fixture(scope="session")
def dispatch_marks(request: pytest.FixtureRequest) -> tuple[Mark, ...]:
    """Return the marks of the device's package, or of ``--dispatch-marks``."""
    option = request.config.option
    return read_marks(option.dispatch_marks) if option.dispatch_marks else find_marks(option.dispatch_device)


@pytest.fixture(scope="session")
def dispatch_samples(request: pytest.FixtureRequest) -> int | None:
    """Return the number of samples of each operator, by ``--dispatch-samples``; None for all."""
    found: int | None = request.config.option.dispatch_samples
    return found


@pytest.fixture(scope="session")
def op_samples() -> Callable[..., Iterator[samples.Sample]]:
    """Return the function that yields an operator's samples: ``op_samples("add.Tensor")``."""
    return samples.op_samples


@pytest.fixture(scope="session")
def tensor_adapter() -> Adapter:
    """Return the frontend's adapter; tests that ask for it are skipped where no frontend is installed."""
    adapter = find_adapter()
    if adapter is None:
        pytest.skip(NO_FRONTEND)
    return adapter


@pytest.fixture
def cpu_agrees(dispatch_device: TestedDevice, tensor_adapter: Adapter) -> Callable[..., None]:
    """Return a function that compares ``function(*tensors)`` on the device and on the cpu: ``cpu_agrees(f, np.ones(3))``.

    NumPy's arrays among the arguments become tensors.
    """

    def cpu_agrees(function: Callable[..., Any], *values: Any) -> None:
        __tracebackhide__ = True
        _agree(dispatch_device, tensor_adapter, function, values, function)

    return cpu_agrees


@pytest.fixture
def both_modes(dispatch_device: TestedDevice, tensor_adapter: Adapter) -> Callable[..., None]:
    """Return a function as ``cpu_agrees`` is, which calls eagerly, in a pipeline, and in one with the plan of the first."""

    def both_modes(function: Callable[..., Any], *values: Any) -> None:
        __tracebackhide__ = True

        def record(*tensors: Any) -> Any:
            with dc.pipeline():
                return function(*tensors)

        for run in (function, record, record):
            _agree(dispatch_device, tensor_adapter, run, values, function)

    return both_modes


def _agree(
    device: TestedDevice,
    adapter: Adapter,
    run: Callable[..., Any],
    values: tuple[Any, ...],
    function: Callable[..., Any],
) -> None:
    __tracebackhide__ = True

    def make(name: str) -> list[Any]:
        return [adapter.make(value, name) if isinstance(value, np.ndarray) else value for value in values]

    found, expected = [*leaves(run(*make(device.name)))], [*leaves(function(*make("cpu")))]
    assert len(found) == len(expected), f"{len(found)} results, the cpu has {len(expected)}"
    for index, (result, other) in enumerate(zip(found, expected, strict=True)):
        is_tensor = hasattr(other, "_dispatch_data")
        compare_value(device, "", f"result {index}", result, adapter.read(other) if is_tensor else other)
