"""Random programs on an npu mean the same in a pipeline as without."""

import pytest
import test_pipeline_programs as programs

from dispatch_pipelines.program import plan

pytestmark = [pytest.mark.usefixtures("npu"), pytest.mark.no_pipeline(reason="the programs open their own")]
COUNT = programs.PROGRAMS // 10


@pytest.mark.parametrize("chunk", range(4))
def test_random_programs_on_an_npu_mean_the_same_in_a_pipeline(chunk):
    for seed in range(programs.FIRST + chunk, programs.FIRST + COUNT, 4):
        programs.compare(seed, 15 + seed % 50, "npu")


@pytest.fixture
def new_plans():
    """Plans of before have no graphs, and those with graphs are of no use afterwards."""
    plan.clear()
    yield
    plan.clear()


@pytest.mark.of_functions
@pytest.mark.usefixtures("new_plans")
def test_random_programs_that_come_again_run_by_graphs(monkeypatch):
    graphs = pytest.importorskip("dispatch_backend_npu.plan.captured", reason="the backend is installed")
    executed, begin = [], graphs.Graph.begin
    monkeypatch.setattr(graphs.Graph, "begin", lambda self, values: (executed.append(self), begin(self, values))[1])
    monkeypatch.setenv("DISPATCH_NPU_GRAPHS", "1")
    for seed in range(programs.FIRST, programs.FIRST + COUNT // 2):
        for _ in range(3):  # Plans are made, captured, and their graphs run.
            programs.compare(seed, 15 + seed % 50, "npu")
    assert len(executed) > COUNT // 4
