"""Random programs on an npu mean the same in a pipeline as without."""

import pytest
import test_pipeline_programs as programs

pytestmark = [pytest.mark.usefixtures("npu"), pytest.mark.no_pipeline(reason="the programs open their own")]
COUNT = programs.PROGRAMS // 10


@pytest.mark.parametrize("chunk", range(4))
def test_random_programs_on_an_npu_mean_the_same_in_a_pipeline(chunk):
    for seed in range(programs.FIRST + chunk, programs.FIRST + COUNT, 4):
        programs.compare(seed, 15 + seed % 50, "npu")
