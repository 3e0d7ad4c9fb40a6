"""Random programs on an npu mean the same in a pipeline as without."""

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("programs", Path(__file__).with_name("test_pipeline_programs.py"))
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)

pytestmark = [pytest.mark.usefixtures("npu"), pytest.mark.no_pipeline(reason="the programs open their own")]
COUNT = programs.PROGRAMS // 10


@pytest.mark.parametrize("chunk", range(4))
def test_random_programs_on_an_npu_mean_the_same_in_a_pipeline(chunk):
    for seed in range(programs.FIRST + chunk, programs.FIRST + COUNT, 4):
        programs.compare(seed, 15 + seed % 50, "npu")
