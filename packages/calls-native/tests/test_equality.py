"""Random programs with the front and without: everything that they show is alike."""

from __future__ import annotations

import os
import warnings

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

from random_programs import define_operators, run_program

from dispatch_core.calls.native import find_front

front = find_front()
pytestmark = pytest.mark.skipif(front is None, reason="the compiled front is turned off")
#: Programs of one test.
COUNT = 40
PROGRAMS = int(os.environ.get("DISPATCH_NATIVE_PROGRAMS", "2000"))


@pytest.fixture(scope="module", autouse=True)
def operators():
    library = define_operators()
    yield
    library.close()


@pytest.fixture
def serve():
    yield front.serve
    front.serve(True)


@pytest.mark.parametrize("first", range(0, PROGRAMS, COUNT))
def test_programs_show_the_same(first, serve):
    for seed in range(first, first + COUNT):
        shown = {}
        # Once before: answers that are kept from the first time on are no matter of the front.
        for on in (False, True, False) if seed % 2 else (True, False, True):
            serve(on)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shown[on] = run_program(seed)
        for without, with_front in zip(shown[False], shown[True], strict=True):
            assert without == with_front, f"program {seed}"
