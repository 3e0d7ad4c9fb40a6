"""Faults that are planted into a device: the conformance kit finds each, by the check that is about it."""

from __future__ import annotations

import sys
from pathlib import Path

import planted_faults
import pytest

import dispatch_core as dc
from dispatch_aten.testing.report import verify

pytestmark = pytest.mark.no_pipeline(reason="raw arrays are compared")
EXAMPLE = Path(__file__).parents[1] / "examples" / "vendor_backend"
#: Lines for the example's plugin: its interface, and what it lacks for the faults.
PLUGIN = """
import planted_faults

planted_faults.furnish()


@dc.hookimpl
def dispatch_device_interface():
    return planted_faults.interface
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of a distribution of the device, which can be planted with faults."""
    site = tmp_path_factory.mktemp("site")
    package, folder = site / f"{planted_faults.DEVICE}_backend", site / "wooden_backend-0.1.0.dist-info"
    package.mkdir()
    for path in (EXAMPLE / "src" / "toy_backend").glob("*.py"):
        text = path.read_text(encoding="utf-8").replace("toy", "wooden").replace('dispatch_key="PrivateUse1", ', "")
        (package / path.name).write_text(text + PLUGIN * (path.name == "plugin.py"), encoding="utf-8")
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wooden-backend\nVersion: 0.1.0\n")
    (folder / "entry_points.txt").write_text("[dispatch_core.backends]\nwooden = wooden_backend.plugin\n")
    sys.path.insert(0, str(site))
    dc.refresh()
    yield site
    sys.path.remove(str(site))


def faults(checks):
    return [outcome for outcome in verify(planted_faults.DEVICE, only=checks).outcomes if outcome.is_fault]


def test_the_device_has_no_faults_of_its_own(site):
    checks = sorted({check for _, checks in planted_faults.FAULTS.values() for check in checks})
    assert [f"{fault.check}: {fault.reason}" for fault in faults(checks)] == []


@pytest.mark.parametrize("name", [*planted_faults.TWELVE, *planted_faults.MORE])
def test_a_planted_fault_is_found(name, site):
    checks = planted_faults.FAULTS[name][1]
    with planted_faults.plant(name):
        found = faults(checks)
    assert {fault.check for fault in found} == set(checks)
