"""Arrays of JAX over two processes, which run `placed_process`."""

import ast
import os
import random
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

pytestmark = pytest.mark.no_pipeline(reason="other processes run the tests")

HERE = Path(__file__).parent
LIMIT = 300


def start(*arguments, **env):
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=HERE,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"} | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(*processes):
    try:
        return [each.communicate(timeout=LIMIT)[0] for each in processes]
    finally:
        for each in processes:
            each.kill()
            each.wait()


def find_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_in_two_processes():
    port = find_port()
    children = [start("placed_process.py", number, port) for number in range(2)]
    outputs = finish(*children)
    assert [each.returncode for each in children] == [0, 0], "\n".join(outputs)
    assert all("all is well" in output for output in outputs)


def resume(folder, processes, devices, shape, steps, *end):
    """Return the children that train, and what they have written."""
    port = find_port()
    children = [
        start("placed_resume.py", number, port, processes, devices, shape, folder, steps, *end)
        for number in range(processes)
    ]
    return children, finish(*children)


def losses_of(children, outputs):
    assert not any(each.returncode for each in children), "\n".join(outputs)
    found = [ast.literal_eval(output.rpartition("losses ")[2].splitlines()[0]) for output in outputs]
    assert all(each == found[0] for each in found)
    return found[0]


def test_a_training_of_two_processes_goes_on_with_two_and_with_one(tmp_path):
    wanted = losses_of(*resume(tmp_path / "one", 1, 4, "4", 6))
    assert losses_of(*resume(tmp_path / "two", 2, 2, "4", 3)) == pytest.approx(wanted[:3], abs=2e-5)
    shutil.copytree(tmp_path / "two", tmp_path / "other")
    assert losses_of(*resume(tmp_path / "two", 2, 2, "2,2", 3)) == pytest.approx(wanted[3:], abs=2e-5)
    assert losses_of(*resume(tmp_path / "other", 1, 8, "8", 3)) == pytest.approx(wanted[3:], abs=2e-5)


@pytest.mark.parametrize(("how", "rank"), [("raise", 0), ("raise", 1), ("kill", 1)])
def test_a_rank_that_leaves_is_named_by_the_other(how, rank, tmp_path):
    place = random.Random(os.environ.get("DISPATCH_DRAWN_SEED", how + str(rank))).randrange(12)
    children, outputs = resume(tmp_path / "one", 2, 2, "4", 16, how, rank, place)
    assert all(each.returncode for each in children), "\n".join(outputs)
    other = outputs[1 - rank]
    assert f"rank {rank} is gone" in other, other
    assert "RankLostError" in other
    assert ("this rank has had enough" in outputs[rank]) == (how == "raise")
    assert not (tmp_path / "one").exists()
