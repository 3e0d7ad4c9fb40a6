"""Training on an npu: the example, every call failing in turn, and a thousand steps."""

import gc
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_pipelines.program import plan as plans
from torchlike import nn
from torchlike.nn import functional as F  # torch's own abbreviation

runtime = pytest.importorskip("dispatch_backend_npu.runtime")

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "train_digits.py"

pytestmark = [
    pytest.mark.usefixtures("npu"),
    pytest.mark.no_pipeline(reason="the training steps of these tests bring their own"),
]


@pytest.fixture(autouse=True)
def _released():
    yield
    release()


class Training:
    """A small classifier, and a step of its training."""

    def __init__(self, device, pipelined=False, seed=0):
        random = np.random.default_rng(seed)
        self.pipelined = pipelined
        torchlike.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
        self.optimizer = torchlike.optim.Adam(self.model.parameters(), lr=3e-3)
        self.images = torchlike.from_numpy(random.standard_normal((4, 6), dtype=np.float32)).to(device)
        self.labels = torchlike.from_numpy(random.integers(0, 3, 4)).to(device)

    def step(self):
        if not self.pipelined:
            return self._step()
        with dc.pipeline():
            loss = self._step()
        return loss

    def _step(self):
        loss = F.cross_entropy(self.model(self.images), self.labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def weights(self):
        return [parameter.detach().cpu().numpy().copy() for parameter in self.model.parameters()]


def release():
    """Drop everything that is kept for later."""
    from dispatch_backend_npu.aclnn import pools

    plans.clear()
    gc.collect()
    pools.clear()


def descriptors(simulator):
    """Count the live objects but memory and the runtime's own."""
    kinds = ("tensors", "scalars", "int_arrays", "bool_arrays", "tensor_lists", "executors")
    return {kind: count for kind, count in simulator.counts().items() if kind in kinds}


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_training_step_is_the_cpu_s(pipelined):
    ours, theirs = Training("npu", pipelined), Training("cpu")
    for _ in range(5):
        assert ours.step().item() == pytest.approx(theirs.step().item(), rel=1e-5)
    for mine, other in zip(ours.weights(), theirs.weights(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)


@pytest.mark.of_functions
@pytest.mark.parametrize("pipelined", [False, True])
def test_a_training_step_makes_no_trip_through_the_host(simulator, pipelined, host_calls):
    training = Training("npu", pipelined)
    training.step()
    host_calls()
    simulator.reset()
    loss = training.step()
    assert not [name for name in simulator.log() if name.startswith("aclrtMemcpy")]
    assert host_calls() == {}
    assert loss.item() > 0


@pytest.mark.of_functions
def test_a_pipelined_step_prepares_then_executes_then_waits_once(simulator):
    training = Training("npu", pipelined=True)
    for _ in range(3):
        plans.clear()
        simulator.reset()
        training.step()
    log = [name for name in simulator.log() if name.startswith(("aclnn", "aclrtSync"))]
    prepared = [name.removesuffix("GetWorkspaceSize") for name in log if name.endswith("GetWorkspaceSize")]
    executed = log[len(prepared) : -1]
    assert executed == prepared and len(executed) > 20
    assert log[-1] == "aclrtSynchronizeStream"


@pytest.mark.of_functions
def test_a_repeated_step_prepares_what_has_other_numbers_only(simulator):
    training = Training("npu", pipelined=True)
    for _ in range(3):
        training.step()
    simulator.reset()
    training.step()
    log = simulator.log()
    assert log.count("aclrtSynchronizeStream") == 1
    # The number of Adam's step.
    prepared = [name for name in log if name.endswith("GetWorkspaceSize")]
    assert prepared == ["aclnnInplaceFillScalarGetWorkspaceSize"]


def phases_of(simulator, step):
    """Return how many functions a step executed, and how many first phases the toolkit's cache answered, and did not."""
    before, names = simulator.first_phases(), len(simulator.log())
    step()
    after, log = simulator.first_phases(), simulator.log()[names:]
    executed = sum(name.startswith("aclnn") and not name.endswith("GetWorkspaceSize") for name in log)
    return executed, after.answered - before.answered, after.made - before.made


@pytest.mark.of_functions
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("left_out", [(), ("operator cache",)], ids=["cached", "not cached"])
@pytest.mark.parametrize("mode", ["pipeline", "captured"])
def test_a_step_that_ran_eagerly_before_prepares_each_function_at_most_once(simulator, mode, left_out):
    """The toolkit's cache answers what ran before, with executors that cannot be repeated."""
    with simulator.without(*left_out):
        training = Training("npu", pipelined=mode == "pipeline")
        for _ in range(2):
            training._step()
        step = training.step if mode == "pipeline" else torchlike.capture(training._step)
        runs = [phases_of(simulator, step) for _ in range(4)]
        for executed, answered, made in runs:
            assert executed > 20 and answered + made <= executed
        assert made < executed / 4
        assert (answered == 0) == bool(left_out)


def failing_calls(simulator, pipelined, trained):
    """Return the calls of a step that are to fail, one at a time: of each function the first two, and the last."""
    training = Training("npu", pipelined)
    for _ in range(trained):
        training.step()
    simulator.reset()
    training.step().item()
    counts = Counter(simulator.log())
    return [(name, number) for name, most in counts.items() for number in sorted({1, min(2, most), most})]


@pytest.mark.of_functions
@pytest.mark.long
@pytest.mark.parametrize(("pipelined", "trained"), [(False, 0), (True, 0), (True, 1)])
def test_a_step_in_which_one_call_fails_ends_in_one_error_and_the_next_one_works(simulator, pipelined, trained):
    release()
    base, held = descriptors(simulator), torchlike.npu.memory_allocated()
    calls = failing_calls(simulator, pipelined, trained)
    release()
    gc.freeze()  # what the first steps have loaded need not be looked through after every call
    errors = 0
    for call in calls:
        training = Training("npu", pipelined)
        for _ in range(trained):
            training.step()
        simulator.reset()
        simulator.fail_nth(*call)
        error = None
        try:
            training.step().item()
        except dc.DispatchError as raised:
            error = f"{type(raised).__name__}: {raised}"
        simulator.reset()
        if error is not None:
            errors += 1
            assert f"{call[0]} failed with " in error, (call, error)
        if pipelined and not trained and error is not None:
            # Tensors that a failed pipeline has made itself, as an optimizer's averages in its first step, keep the error
            # by the pipeline's rule: the model begins again. Tensors from before do not.
            training = Training("npu", pipelined)
        assert np.isfinite(training.step().item()), (call, error)
        assert all(np.isfinite(weights).all() for weights in training.weights())
        del training
        release()
        assert descriptors(simulator) == base, (call, error)
        assert torchlike.npu.memory_allocated() == held, (call, error)
    assert errors > 50
    runtime.finalize(force=True)
    assert simulator.counts() == {}


@pytest.mark.long
@pytest.mark.parametrize("pipelined", [False, True])
def test_a_thousand_steps_leave_memory_and_counters_as_they_are(npu, pipelined, request):
    simulator = None if npu is None else request.getfixturevalue("simulator")

    def figures():
        gc.collect()
        return torchlike.npu.memory_stats(), simulator and (simulator.counts(), simulator.memory().live)

    training = Training("npu", pipelined)
    for _ in range(20):
        training.step()
    held = figures()
    for _ in range(1000):
        training.step()
    assert figures() == held


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--pipeline"]])
def test_the_example_trains(options):
    pytest.importorskip("sklearn", reason="the example's images")
    pytest.importorskip("tqdm", reason="the example's progress bar")
    command = [sys.executable, EXAMPLE, "--device", "npu", "--epochs", "3", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "backend: npu, key NPU, from dispatch-backend-npu" in done.stdout
    accuracy = float(done.stdout.partition("images: ")[2].partition("%")[0])
    assert accuracy > 85
