"""Processes that exchange tensors by MPI and by gloo: NumPy's numbers, training as in one, and errors where one is gone."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import ENGINES, free_port, need, run_processes, start_mpi

pytestmark = pytest.mark.no_pipeline(reason="its programs run in processes of their own")

WHOLE = "int8 uint8 int16 int32 int64 uint16 uint32 uint64 bool".split()
REFUSED = sorted(
    [[each, "avg", "DtypeError"] for each in WHOLE]
    + [[each, op, "DtypeError"] for each in ("complex64", "complex128") for op in ("product", "min", "max")]
)


def run_all(engine, size, folder, *names, **options):
    found, statuses, said = run_processes(engine, size, folder, *names, **options)
    assert not any(statuses) and None not in found, "\n".join(said)
    return found


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("engine", ENGINES)
def test_collectives_give_the_numbers_of_numpy(engine, size, tmp_path):
    names = ["reductions", "moves", "groups", "asynchronous", "objects", "barriers"]
    for each in run_all(engine, size, tmp_path, *names):
        assert each.pop("reductions") == {"wrong": [], "refused": REFUSED}
        assert each.pop("moves") == [] and each.pop("barriers")
        assert all(all(found) for found in each.values()), each


@pytest.mark.parametrize("engine", ENGINES)
def test_training_in_processes_is_that_in_one(engine, tmp_path):
    names = ["ddp", "leave_out", "synchronize", "replicate_module", "other_parameters", "sample"]
    found = run_all(engine, 2, tmp_path, *names)
    for each in found:
        assert all(value < (1e-5 if "32" in name else 1e-12) for name, value in each["ddp"].items()), each["ddp"]
        grads, error = each["leave_out"]
        assert grads == [[0.5], [0.5], None]
        assert "finished reduction in the prior iteration" in error and "parts.1.weight" in error
        assert all(each["synchronize"]) and each["replicate_module"] == [["weight"], True]
        assert "rank 1 ['weight', [3, 2]" in each["other_parameters"]
    assert [each["sample"] for each in found] == [[0, 0, 2, 4, 6, 8], [1, 1, 3, 5, 7, 9]]


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_of_hooks_and_of_uneven_inputs_are_those_of_torch(engine, tmp_path):
    names = ["gradients", "stores", "lists_and_methods"]
    for each in run_all(engine, 2, tmp_path, *names, TEST_FOLDER=str(tmp_path)):
        assert each["gradients"] == [] and all(each["stores"]) and all(each["lists_and_methods"]), each


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_in_parts_are_trained_and_kept_by_processes(engine, tmp_path):
    names = ["shard", "save_and_load", "whole_states"]
    found = run_all(engine, 2, tmp_path, *names, TEST_FOLDER=str(tmp_path))
    for each in found:
        differences, shape = each["shard"]
        assert all(value < (1e-5 if "32" in name else 1e-12) for name, value in differences.items()), differences
        assert shape == [8, 6] and all(each["save_and_load"]) and all(each["whole_states"]), each


def test_the_example_trains_in_two_processes_as_in_one(tmp_path):
    need("mpi")
    sizes = "--steps 20 --batch-size 4 --block 16 --layers 1 --heads 2 --width 16 --sample 5 --mpi".split()
    program = Path(__file__).parents[1] / "examples" / "train_gpt.py"
    told = []
    for start in ([], start_mpi(2)):
        command = [*start, sys.executable, program, *sizes]
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr
        told.append([float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("step")])
    assert len(told[0]) == 2 and told[0] == pytest.approx(told[1], abs=1e-5)


#: Three processes that wait for each other take long where something else runs.
LONG = pytest.mark.long


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("victim", "place"), [pytest.param(0, 5, marks=LONG), (1, 18), pytest.param(2, 31, marks=LONG)]
)
def test_a_rank_that_is_killed_is_an_error_with_its_number_at_the_others(engine, victim, place, tmp_path):
    limit = 10
    environment = {"TEST_VICTIM": str(victim), "TEST_AFTER": str(place), "TEST_TIMEOUT": str(limit)}
    found, _, said = run_processes(engine, 3, tmp_path, "kill_one", **environment)
    for rank, each in enumerate(found):
        if rank == victim:
            assert each is None
        else:
            assert each is not None, "\n".join(said)
            name, lost, seconds = each["kill_one"]
            assert (name, lost) == ("RankLostError", [victim]) and seconds < limit, each
    assert not _list_left(tmp_path)


def _list_left(folder):
    """Return the processes whose command names a folder."""
    deadline = time.monotonic() + 5
    while left := [each for each in Path("/proc").glob("[0-9]*") if str(folder) in _command_of(each)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return left


def _command_of(process):
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rank_that_is_late_is_an_error_when_the_time_is_over(engine, tmp_path):
    found, _, said = run_processes(engine, 2, tmp_path, "late", TEST_TIMEOUT="2")
    assert found[0] == {"late": "CollectiveError"}, "\n".join(said)


def launch(*arguments, **environment):
    command = [sys.executable, "-m", "torchlike.distributed.run", *map(str, arguments)]
    given = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=given)


TELL = """
import os, sys, time
names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT".split()
# In one piece: lines of two processes would mix.
sys.stdout.write(" ".join([*(os.environ[name] for name in names), *sys.argv[1:]]) + chr(10))
if "fail" in sys.argv:
    if os.environ["RANK"] == "1":
        sys.exit(7)
    time.sleep(50)
"""


def test_a_launcher_starts_processes_and_tells_them_their_places(tmp_path):
    program = tmp_path / "tell.py"
    program.write_text(TELL)
    port = free_port()
    done = launch("--nproc-per-node", 2, "--nnodes", 1, "--master-port", port, program, "--own", "word")
    assert sorted(done.stdout.splitlines()) == [f"{each} {each} 2 2 127.0.0.1 {port} --own word" for each in range(2)]
    assert done.returncode == 0 and not done.stderr


def test_a_process_that_fails_ends_the_others_and_gives_its_status(tmp_path):
    program = tmp_path / "tell.py"
    program.write_text(TELL)
    started = time.monotonic()
    done = launch("--standalone", "--nproc_per_node=2", program, "fail")
    assert done.returncode == 7 and "rank 1 of 2 has failed with exit status 7" in done.stderr
    assert time.monotonic() - started < 30 and not _list_left(tmp_path)


def test_a_launcher_refuses_several_machines():
    done = launch("--nnodes", 2, "x.py")
    assert done.returncode == 2 and "mpirun does on several" in done.stderr


def test_launched_processes_train_together(tmp_path):
    need("gloo")
    program = Path(__file__).with_name("process_programs.py")
    port = free_port()
    done = launch("--nproc-per-node=2", "--master-port", port, program, tmp_path, "ddp", TEST_BACKEND="gloo")
    assert done.returncode == 0 and (tmp_path / "1").exists(), done.stderr
    with socket.create_server(("127.0.0.1", port)):
        pass  # nothing listens there any more
