"""Windows and macOS, as far as Linux can show them: without what they lack, everything that needs no device works.

A process hides it before it imports anything of ours: ``sys.platform`` is the other system's, functions of ``os`` and
``signal`` are gone, modules cannot be imported, files of ``/proc`` cannot be opened, the process's own symbols cannot be
looked up, and text files without an encoding are errors. What these systems have instead is not shown by that.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Functions and constants that Windows lacks.
POSIX = {
    "os": """
        fork forkpty register_at_fork sched_getaffinity uname killpg setsid getuid geteuid getgid getpgid WIFSIGNALED
        WTERMSIG WEXITSTATUS RTLD_LAZY RTLD_NOW RTLD_GLOBAL sysconf mkfifo chown wait wait3 wait4 getloadavg nice
    """,
    "signal": """
        SIGKILL SIGALRM SIGHUP SIGVTALRM SIGUSR1 setitimer alarm pause pthread_kill sigwait ITIMER_REAL ITIMER_VIRTUAL
    """,
}
#: System → the functions and modules that it lacks, and are there on Linux.
LACKS = {
    "win32": (POSIX, "fcntl grp pty pwd resource termios tty syslog posix_ipc"),
    "darwin": ({"os": "sched_getaffinity sched_setaffinity memfd_create eventfd splice"}, "spwd ossaudiodev"),
}

PRELUDE = """
# The standard library and foreign packages choose their parts for the system that they really run on.
import asyncio, concurrent.futures, ctypes, email, logging, multiprocessing.popen_spawn_posix, multiprocessing.connection
import multiprocessing.pool, multiprocessing.managers, os, pkgutil, platform, shutil, signal, subprocess, sys, tempfile
import uuid, webbrowser, zipfile, importlib, importlib.metadata, warnings, urllib.request
import numpy, ml_dtypes, packaging.requirements, packaging.tags, platformdirs, pluggy, scipy.linalg, scipy.special
import safetensors.numpy
for foreign in {foreign!r}.split():
    try:
        importlib.import_module(foreign)
    except ImportError:
        pass

# Windows has one way to end a process, without signals.
subprocess.Popen.kill = lambda self, number=signal.SIGKILL: self.send_signal(number)
sys.platform = {system!r}
for module, names in {functions!r}.items():
    for name in names.split():
        if hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)
for name in {modules!r}.split():
    sys.modules[name] = None

def refuse(event, arguments):
    if event == "open" and str(arguments[0]).startswith(("/proc/", "/sys/", "/dev/shm")):
        raise FileNotFoundError(2, "there is no such file on this system", arguments[0])
    if event == "ctypes.dlopen" and arguments[0] is None:
        raise OSError("the process's own symbols are no library on this system")

sys.addaudithook(refuse)
warnings.filterwarnings("error", category=EncodingWarning, module=r"dispatch_|torchlike|toy_")
"""

IMPORTS = """
count = 0
ours = "dispatch_core dispatch_aten dispatch_backend_cpu dispatch_backend_meta dispatch_backend_npu torchlike"
ours += " dispatch_kernels_numba" if "numba" in sys.modules else ""
for package in map(importlib.import_module, ours.split()):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.name.endswith(("__main__", "stand_in_now")):
            continue
        try:
            importlib.import_module(module.name)
            count += 1
        except ModuleNotFoundError as error:
            # Optional libraries are another test's affair.
            assert error.name.partition(".")[0] not in {"fcntl", "pwd", "resource", "pty", "grp", *ours.split()}, error
print("imported", count > 600)
"""

WORK = """
import dispatch_core as dc
import torchlike as t
print("devices", {"cpu", "meta", "npu"} <= {*dc.backends()})

model = t.nn.Sequential(t.nn.Linear(3, 8), t.nn.ReLU(), t.nn.Linear(8, 1))
optimizer = t.optim.SGD(model.parameters(), lr=0.1)
t.manual_seed(1)
x = t.randn(32, 3)
y = x.sum(1, keepdim=True)

def step(x, y):
    optimizer.zero_grad()
    loss = t.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

first = step(x, y).item()
for _ in range(10):
    with t.pipeline():
        step(x, y)
captured = t.capture(step)
for _ in range(20):
    last = captured(x, y).item()
print("trained", last < first / 4, captured.stats().replays)

folder = tempfile.mkdtemp()
t.save(model.state_dict(), os.path.join(folder, "model.pt"))
print("loaded", sorted(t.load(os.path.join(folder, "model.pt"))) == sorted(model.state_dict()))
loader = t.utils.data.DataLoader(list(range(8)), batch_size=4, num_workers=0)
print("batches", [batch.tolist() for batch in loader])
dc.profile().__enter__().__exit__(None, None, None)
"""

NPU = """
import dispatch_backend_npu
from dispatch_backend_npu.simulator import NoCompilerError, build
print(dispatch_backend_npu.is_available(), dispatch_backend_npu.unavailable_reason())
print(t.npu.is_available(), t.npu.device_count())
try:
    t.ones(2, device="npu")
except dc.BackendError as error:
    print(type(error).__name__, str(error).replace(chr(10), " "))
try:
    build(os.path.join(folder, "simulator"))
except NoCompilerError as error:
    print(error)
"""

COMMANDS = """
from dispatch_devkit.command_line import main
os.environ["DISPATCH_CACHE_DIR"] = os.path.join(folder, "caches")
print("statuses", [main(line.split()) for line in ("list", "doctor npu", "cache")])
"""


def run(system, code, **environment):
    functions, modules = LACKS[system]
    # They take long to import, and only tests of all modules import them.
    foreign = "numba array_api_compat.numpy pytest opt_einsum" if IMPORTS in code else ""
    program = PRELUDE.format(system=system, functions=functions, modules=modules, foreign=foreign) + code
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "ignore::EncodingWarning", "-c", program],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.long
@pytest.mark.parametrize("system", LACKS)
def test_training_and_files_work_and_the_npu_says_why_it_is_not_there(system):
    reason = f"the Ascend toolkit is made for Linux, and this system is {system}"
    # Modules and commands are tried where the most is missing; types are checked for both systems.
    first, last = (IMPORTS, COMMANDS) if system == "win32" else ("print('imported True')", "")
    imported, *lines = run(system, first + WORK + NPU + last)
    assert imported == "imported True"
    assert lines[:4] == ["devices True", "trained True 18", "loaded True", "batches [[0, 1, 2, 3], [4, 5, 6, 7]]"]
    assert lines[4:6] == [f"False {reason}", "False 0"]
    assert lines[6].startswith("BackendUnavailableError")
    assert reason in lines[6]
    assert lines[7] == (
        f"the simulator is made for Linux, and this system is {system}. Hint: use the device cpu, or Linux."
    )
    if last:
        assert lines[-1] == "statuses [0, 0, 0]"
        assert [line for line in lines if line.startswith("ok ") and "'npu'" in line]
        assert [line for line in lines if "its device cannot be opened on this machine" in line]


SPAWN = """
import multiprocessing

import torchlike as t


class Squares(t.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return t.tensor([index**2])


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    batches = list(t.utils.data.DataLoader(Squares(), batch_size=3, num_workers=1))
    print([batch.flatten().tolist() for batch in batches])
"""


def test_workers_that_are_spawned_load_batches(tmp_path):
    script = tmp_path / "squares.py"
    script.write_text(SPAWN, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        check=False,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, "[[0, 1, 4], [9, 16, 25]]\n"), done.stderr
