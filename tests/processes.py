"""Start a program in several processes, by ``mpirun`` or by the variables of ``env://``."""

import json
import os
import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ENGINES = ("mpi", "gloo")
PROGRAM = Path(__file__).with_name("process_programs.py")
_MPIRUN = "mpirun --with-ft ulfm --mca btl self,sm --oversubscribe".split()


def find_mpirun():
    """Return the path of mpirun, beside this Python or elsewhere; None where there is none."""
    return shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


def need(engine):
    """Skip a test whose engine is not installed here."""
    if engine == "mpi" and (find_spec("mpi4py") is None or find_mpirun() is None):
        pytest.skip("mpi4py and mpirun are not installed")
    if engine == "gloo" and find_spec("jax") is None:
        pytest.skip("JAX is not installed, inside of which gloo is")


def free_port():
    """Return a port that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        return made.getsockname()[1]


def _wall():
    """Return the beginning of a command that has a network of its own, with the loopback alone; where it can be had."""
    if (
        shutil.which("unshare")
        and not subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode
    ):
        return ["unshare", "-n", "sh", "-c", 'ip link set lo up 2>/dev/null; exec "$@"', "sh"]
    return []


def start_mpi(size):
    """Return the beginning of a command that starts processes by mpirun."""
    as_root = ["--allow-run-as-root"] if not os.geteuid() else []
    return [*_wall(), find_mpirun(), *_MPIRUN[1:], *as_root, "-n", str(size)]


def run_processes(engine, size, folder, *names, program=PROGRAM, limit=200, **environment):
    """Return what each process has told, None for one that told nothing, and the exit statuses (mpirun's one)."""
    need(engine)
    folder.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join([str(PROGRAM.parent), os.environ.get("PYTHONPATH", "")])
    given = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, "TEST_BACKEND": engine, **environment}
    command = [sys.executable, str(program), str(folder), *names]
    if engine == "mpi":
        command = [*start_mpi(size), *command]
        places = [{}]
    else:
        port = str(free_port())
        place = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        places = [{**place, "RANK": str(rank)} for rank in range(size)]
    started = [
        subprocess.Popen(
            command,
            env={**given, **each},
            stdin=-3,
            stdout=-1,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for each in places
    ]
    try:
        said = [each.communicate(timeout=limit)[0] for each in started]
    finally:
        for each in started:
            if each.poll() is None:
                os.killpg(each.pid, 9)
                each.wait()
    told = [folder / str(rank) for rank in range(size)]
    found = [json.loads(each.read_text(encoding="utf-8")) if each.exists() else None for each in told]
    return found, [each.returncode for each in started], said
