"""The kit's checks as tests: `plugin` collects them for ``--pyargs dispatch_aten.testing --dispatch-device DEVICE``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dispatch_aten.testing.agreement import TestedDevice
from dispatch_aten.testing.checks import check_array_types, check_statically, list_checks, run_check
from dispatch_aten.testing.host_copies import CHECK as HOST_COPIES
from dispatch_aten.testing.host_copies import check_host_copies
from dispatch_aten.testing.marks import Mark, apply, check_use
from dispatch_aten.testing.outcomes import Outcome


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each check."""
    if "check" in metafunc.fixturenames:
        metafunc.parametrize("check", list_checks())


@pytest.fixture
def settle(dispatch_marks: tuple[Mark, ...], record_property: Callable[[str, Any], None]) -> Callable[[Outcome], None]:
    """Turn an outcome into pytest's, as the marks see it, and keep it for the table."""

    def settle(outcome: Outcome) -> None:
        outcome = apply(dispatch_marks, outcome)
        record_property("dispatch_outcome", outcome.as_data())
        match outcome.status:
            case "failed" | "unexpected":
                pytest.fail("\nat ".join(filter(None, [outcome.reason, outcome.place])), pytrace=False)
            case "expected":
                pytest.xfail(outcome.reason)
            case "missing" | "not run":
                pytest.skip(outcome.reason)

    return settle


def test_names_signatures_and_versions(dispatch_device: TestedDevice, settle: Callable[[Outcome], None]) -> None:
    """Check everything that needs no call of a kernel."""
    found: Iterator[Outcome] = check_statically(dispatch_device.name, [])
    for outcome in found:
        settle(outcome)


def test_array_types(dispatch_device: TestedDevice, settle: Callable[[Outcome], None]) -> None:
    """Check the descriptions of the device's arrays."""
    settle(check_array_types(dispatch_device))


def test_host_copies(dispatch_device: TestedDevice, settle: Callable[[Outcome], None]) -> None:
    """Check the copies to and from the host."""
    settle(check_host_copies(dispatch_device))


def test_marks_are_about_checks(dispatch_marks: tuple[Mark, ...]) -> None:
    """Check that each mark is about a check."""
    names = [Outcome(name, "") for name in [*list_checks(), "static", "array types", HOST_COPIES]]
    assert [fault.reason for fault in check_use(dispatch_marks, names)] == []


def test_conformance(
    check: str, dispatch_device: TestedDevice, dispatch_samples: int | None, settle: Callable[[Outcome], None]
) -> None:
    """Run one of the checks."""
    settle(run_check(dispatch_device, check, limit=dispatch_samples))
