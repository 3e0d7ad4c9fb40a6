"""Collectives by HCCL between processes on the simulator: each test reads what the ranks of a scenario have told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import collective_failures as failures
import collective_programs as programs
import forked_ranks
import pytest

pytestmark = pytest.mark.no_pipeline(reason="its programs run in processes of their own")

#: How many seconds an error may take to come, on a busy machine.
SOON = 15.0


@pytest.fixture(scope="module")
def run(simulator_folder):
    """Return what was found by a program that runs all scenarios once."""
    environment = {
        "PYTHONPATH": os.pathsep.join([str(Path(forked_ranks.__file__).parent), *filter(None, sys.path)]),
        "PATH": os.environ["PATH"],
        "ASCEND_HOME_PATH": str(simulator_folder),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, forked_ranks.__file__],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def told(run):
    """Return a function that returns what the ranks of a scenario have told."""

    def ask(name, statuses=None):
        found = run["found"][name]
        assert found["statuses"] == (statuses or [0] * len(found["told"])), found["told"]
        return found["told"]

    return ask


def test_reductions_give_numpys_numbers_in_every_dtype(told):
    for found in told("reductions"):
        assert found["wrong"] == []
        assert {dtype: set(ops) for dtype, ops in found["refused"].items()} == programs.REFUSED
        assert found["refused"]["bfloat16"]["product"].startswith("HcclAllReduce does not take bfloat16 for product")


def test_training_on_a_mesh_of_two_devices_is_that_of_one(told):
    for found in told("train"):
        assert max(found["worst"].values()) < 1e-5, found
        assert found["gathers"] == {}


def test_networks_in_parts_eager_and_captured_are_those_of_one_device(told):
    for found in told("networks"):
        assert max(found["worst"].values()) < 1e-5, found


def test_gathering_and_broadcasts_move_every_dtype(told):
    assert told("moves") == [[], []]


def test_arrays_with_gaps_come_and_go(told):
    assert told("views") == [[True] * 6] * 2


def test_messages_arrive_in_their_order(told):
    first, second = told("messages")
    assert first == [[0, 10, 20, 30, 40], [[1.0, 1.0], [6.0, 6.0, 6.0]]]
    assert second == [[0, 1, 2, 3, 4], [[0.0, 0.0], [5.0, 5.0, 5.0]]]


def test_what_cannot_be_done_is_refused_before_anything_is_called(told):
    for errors, called, x in told("refusals"):
        assert called == [] and x == [[1.0, 1.0]] * 3
        assert {name: kind for name, (kind, _) in errors.items()} == {
            "uneven": "OperatorError",
            "scalar": "OperatorError",
            "reduction": "OperatorError",
            "average": "DtypeError",
            "double": "DtypeError",
            "complex": "DtypeError",
            "root": "OperatorError",
            "itself": "OperatorError",
            "group": "OperatorError",
            "out": "OperatorError",
            "out of another dtype": "OperatorError",
        }
        assert "HcclAllReduce does not take float64 for sum" in errors["double"][1]
        assert "has no 2 equal parts" in errors["uneven"][1]


def test_collectives_keep_the_order_of_streams_and_events(told):
    assert told("streams") == [[[12.0, 12.0], [0.0, 0.0], True]] * 2


def test_a_rank_that_waits_for_a_word_of_another_one_does_not_stop_it(told):
    assert told("progress") == [2.0, 2.0]


def test_a_step_on_parts_of_a_batch_is_that_of_one_process(told):
    for rank, (worst, scattered, z, b, r) in enumerate(told("gradients")):
        assert worst < 1e-6 and scattered < 1e-6
        assert z == [[0.5, 0.5], [1.0, 1.0]] and r == [3.0, 3.0]
        assert b == ([3.0, 3.0] if rank == 1 else [0.0, 0.0])


def test_a_pipeline_runs_collectives_at_once_in_the_order_of_the_calls_and_a_replay_as_they_were_recorded(told):
    why = "it exchanges data with other processes"
    for rank, (found, eager, replays) in enumerate(told("record_calls")):
        assert found[:2] == [[3.0 + 2 * rank] * 3, [6.0] * 3] and found[2] == [37.0 - rank] * 3
        assert eager == {f"dispatch::all_reduce_ {why}": 1, f"dispatch::all_reduce {why}": 1}
        assert found[3] == [[5.0 + 2 * each] * 3 for each in range(5)] and replays >= 2


def test_a_program_of_torch_distributed(told):
    for rank, found in enumerate(told("asynchronous")):
        x, y, gathered, first, second, received, part, z, swaps, sizes, is_available, backend = found[:12]
        assert swaps == ([[0, 10], [0, 10], 1, [1, 12]] if rank == 0 else [[1, 11], [1, 2, 11, 12], 11, False])
        assert x == [3.0, 3.0] and y == ([12.0, 12.0] if rank == 0 else [6.0, 6.0])
        assert gathered == [0.0, 0.0, 1.0, 1.0] and (first, second) == ([0.0], [1.0])
        assert received == [6.0, 6.0] and part == [6.0] and z == [1.0]
        assert sizes == ([2, -1, -1] if rank == 0 else [2, 1, 0])
        assert is_available and backend == "hccl" and found[13:] == [False, None]


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        (failures.another_shape, "count 3"),
        (failures.another_dtype, "type 2"),
        (failures.another_function, "HcclAllGather"),
        (failures.another_message, "expects"),
    ],
)
def test_the_simulator_tells_where_ranks_do_not_agree(told, scenario, words):
    """A device cannot see it: there it ends by the time limit, or in wrong numbers."""
    for names, text, cause, seconds, ranks in told(scenario.__name__):
        assert names[0] == "CollectiveError" and "HCCL_E_PARA" in text and words in text
        assert cause == "AclError" and seconds < SOON and ranks == []


def test_a_killed_rank_is_an_error_with_its_number_at_every_other(told):
    for both in told("kill_last", [0, 0, -9])[:2]:
        for names, text, _, seconds, ranks in both:
            assert names[0] == "RankLostError" and 2 in ranks and seconds < SOON
            assert "HCCL_E_REMOTE" in text


def test_a_rank_that_is_killed_before_it_connects_is_an_error_with_its_number(told):
    for names, text, _, seconds, ranks in told("killed_before", [0, 0, -9])[:2]:
        assert names[0] == "RankLostError" and 2 in ranks and seconds < SOON and "2" in text


def test_the_rank_that_keeps_the_store_may_be_the_one_that_is_gone(told):
    _, (names, text, _, seconds, ranks) = told("master_killed", [-9, 0])
    assert names[0] == "RankLostError" and ranks == [0] and seconds < SOON and "rank 0" in text


def test_a_device_that_waits_for_a_killed_rank_is_given_up(told):
    (first, second), _ = told("kill_one_that_a_device_waits_for", [0, -9])
    assert first[0][0] == "RankLostError" and first[4] == [1] and first[3] < SOON
    assert "npu:0 has not finished, and works for group 'default'" in first[1]
    assert second[0][0] == "DeviceTimeoutError"


def test_a_rank_that_does_not_come_is_an_error_when_time_is_over(told):
    (names, text, _, seconds, _), _ = told("late")
    assert names[0] == "CollectiveError" and seconds < SOON
    assert "HCCL_E_TIMEOUT: timeout" in text and "rank 0 has waited for rank 1 for 1 s" in text


def test_each_function_that_fails_is_told_in_hccls_words(told):
    ((found, left),) = told("functions")
    assert len(found) == 11 and left == 0
    for name, text in found.items():
        assert text == f"{name} failed with 4 (HCCL_E_INTERNAL): internal error: [simulator] {name} failed on demand"


def test_no_shared_memory_is_left_behind(run):
    assert run["left"] == []
