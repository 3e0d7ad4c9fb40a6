"""Arrays of JAX over two processes, which run `placed_process`."""

import os
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


def test_in_two_processes():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    children = [start("placed_process.py", number, port) for number in range(2)]
    outputs = finish(*children)
    assert [each.returncode for each in children] == [0, 0], "\n".join(outputs)
    assert all("all is well" in output for output in outputs)
