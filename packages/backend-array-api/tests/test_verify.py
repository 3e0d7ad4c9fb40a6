"""The conformance kit on the devices of array libraries: a part of the operators with all samples, and every program."""

from __future__ import annotations

import zlib

import pytest

from dispatch_aten.testing import agreement, marks
from dispatch_aten.testing.behaviour import BEHAVIOUR
from dispatch_aten.testing.checks import list_checks, run_check
from dispatch_aten.testing.command import find_marks

#: Device → into how many parts its checks of operators are cut, of which one is run, and how many samples each has. JAX
#: compiles each operator for each shape, and Dask makes a graph of each call.
PARTS = {"cpu": (6, None), "strict": (6, None), "torch": (6, None), "jax": (90, 3), "dask": (60, 3)}


@pytest.mark.parametrize("device", PARTS)
def test_a_device_agrees_with_the_cpu(device):
    share, limit = PARTS[device]
    tested, known = agreement.TestedDevice.find(device), find_marks(device)
    names = [check for check in list_checks() if zlib.crc32(check.encode()) % share == 0 and check not in BEHAVIOUR]
    outcomes = [marks.apply(known, run_check(tested, check, limit=limit)) for check in names]
    assert [f"{each.check}: {each.reason}" for each in outcomes if each.is_fault] == []
    assert sum(each.status == "passed" for each in outcomes) > len(names) // 3


@pytest.mark.parametrize("program", BEHAVIOUR)
@pytest.mark.parametrize("device", PARTS)
def test_programs_agree_with_the_cpu(device, program):
    if program == "fork" and device in {"dask", "jax"}:
        pytest.skip(
            "their threads are gone in a child: it is known to hang, and the kit waits a minute before it says so"
        )
    known = find_marks(device)
    outcome = marks.apply(known, run_check(agreement.TestedDevice.find(device), program))
    assert not outcome.is_fault, outcome.reason
    assert outcome.status in {"passed", "expected"}
