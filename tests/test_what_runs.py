"""SECURITY.md's table of what runs, and from where: each row is tried with spies as plugins, among planted files."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Group of entry points → the name that the spy claims, and its module.
SPIES = {
    "backends": ("spydevice", "spy_device"),
    "array_types": ("spy_arrays.Array", "spydevice"),
    "operators": ("spyops", "spy_operators"),
    "kernels": ("spykernels", "spy_kernels"),
    "tools": ("spytool", "spy_tool:main"),
    "frontends": ("spyfrontend", "spy_frontend"),
}
#: Console script → its module.
COMMANDS = {"dispatch": "dispatch_core", "torchlike": "torchlike"}
MODULES = "spy_device spy_arrays spy_operators spy_kernels spy_tool spy_frontend".split()
#: What is there without the folder: `--import` finds other names in it, as that of a module that Python has elsewhere.
PLANTED = [
    *"numpy dispatch_core dispatch_aten dispatch_backend_cpu torchlike torch safetensors pluggy sitecustomize".split(),
    *(name for name in sys.stdlib_module_names if find_spec(name)),
]
TORCH = "import torchlike as torch, contextlib"
QUIET = "with contextlib.suppress(Exception): "
#: A checkpoint whose pickle calls a function of a spy's.
HOSTILE = r"""
import zipfile, pickle
class Call:
    def __reduce__(self):
        import importlib
        return importlib.import_module, ("spy_tool",)
with zipfile.ZipFile("hostile.pt", "w") as file:
    file.writestr("archive/data.pkl", pickle.dumps(Call(), 2))
    file.writestr("archive/version", "3")
"""
#: Checkpoints of a tensor that was on a spy's device, in both formats.
ELSEWHERE = """
import zipfile
torch.save([torch.ones(1)], "cpu.safetensors")
with open("cpu.safetensors", "rb") as cpu, open("elsewhere.safetensors", "wb") as elsewhere:
    before = cpu.read()
    node = rb'{\\"tensor\\":\\"0\\",'
    after = before.replace(node, node + rb'\\"device\\":\\"spydevice\\",')
    length = int.from_bytes(before[:8], "little") + len(after) - len(before)
    assert after != before
    elsewhere.write(length.to_bytes(8, "little") + after[8:])
torch.save([torch.ones(1)], "cpu.pt")
with zipfile.ZipFile("cpu.pt") as cpu, zipfile.ZipFile("elsewhere.pt", "w") as elsewhere:
    for name in cpu.namelist():
        before = cpu.read(name)
        after = before.replace(b"X\\x03\\0\\0\\0cpu", b"X\\x09\\0\\0\\0spydevice")
        assert after != before or "pkl" not in name
        elsewhere.writestr(name, after)
"""
LOADER = "list(DataLoader([1, 2], num_workers=1, multiprocessing_context='spawn'))"


def program(*lines):
    return [sys.executable, "-P", "-c", "\n".join(lines)]


def dispatch(*arguments):
    return ["dispatch", *arguments]


#: Row of the table → commands, each with the modules that run in its own process, and in children.
CASES = {
    "import": [(program("import dispatch_core, dispatch_aten, torchlike"), "", "")],
    "first call on a device": [
        (program(TORCH, "torch.ones(1)", QUIET + "torch.ones(1, device='spydevice')"), "spy_device", ""),
        (program(TORCH, "torch.ones(1) + torch.nn.Linear(1, 1)(torch.ones(1))"), "", ""),
        # The program itself imports the module of the arrays.
        (
            program(TORCH, "import spy_arrays, dispatch_core", QUIET + "dispatch_core.device(spy_arrays.Array())"),
            "spy_arrays spy_device",
            "",
        ),
    ],
    "first operator of a namespace": [
        (program(TORCH, "import dispatch_core", QUIET + "dispatch_core.ops.spyops.f()"), "spy_operators", "")
    ],
    "kernels chosen": [
        (
            program("import os; os.environ['DISPATCH_KERNELS'] = 'spykernels'", TORCH, QUIET + "torch.ones(1)"),
            "spy_kernels",
            "",
        )
    ],
    "a call": [(program(TORCH, "x = torch.ones(3)", "for _ in range(9): x = (x * 2).relu()"), "", "")],
    "graphs": [(program(TORCH, "torch.fx.symbolic_trace(lambda x: x.relu() + 1)(torch.ones(1))"), "", "")],
    "save": [(program(TORCH, "for name in ('a.pt', 'a.safetensors'): torch.save({'a': torch.ones(1)}, name)"), "", "")],
    "load": [
        (
            program(
                TORCH,
                "torch.save([torch.ones(1)], 'a.pt'); torch.load('a.pt')",
                HOSTILE,
                ELSEWHERE,
                *[QUIET + f"torch.load({name!r})" for name in ("hostile.pt", "elsewhere.pt", "elsewhere.safetensors")],
            ),
            "",
            "",
        ),
        *[
            (program(TORCH, ELSEWHERE, QUIET + f"torch.load('elsewhere.{name}', 'spydevice')"), "spy_device", "")
            for name in ("pt", "safetensors")
        ],
    ],
    "load of a file that the program trusts": [
        (program(TORCH, "import warnings", HOSTILE, "torch.load('hostile.pt', weights_only=False)"), "spy_tool", ""),
        (
            program(
                TORCH,
                HOSTILE,
                QUIET + "torch.load('hostile.pt', weights_only=None, pickle_module=pickle)",
                ELSEWHERE,
                QUIET + "torch.load('elsewhere.pt', weights_only=False)",
                "torch.save([torch.nn.Linear(1, 1)], 'a.pt')",
                "torch.load('a.pt', weights_only=False)",
            ),
            "",
            "",
        ),
    ],
    "list": [(dispatch("list", "--all"), "", ""), (dispatch("list", "--import", "mine"), "mine", "")],
    "doctor": [
        (dispatch("doctor", "spies"), "", "spy_device spy_operators spy_kernels"),
    ],
    "explain": [
        (dispatch("explain", "aten::relu"), "", ""),
        (
            dispatch("explain", "spyops::f", "--device", "spydevice", "--import", "mine"),
            "",
            "spy_operators spy_device mine",
        ),
    ],
    "verify": [
        (dispatch("verify", "cpu", "--only", "aten::neg", "--samples", "1"), "", ""),
        (dispatch("verify", "spydevice", "--only", "aten::neg"), "", "spy_device"),
    ],
    "another distribution's command": [(dispatch("spytool"), "spy_tool", ""), (dispatch("--help"), "", "")],
    "trace": [
        (dispatch("trace", "../program.py"), "program", ""),
        (dispatch("trace", "--html", "calls.html", "-m", "mine"), "mine", ""),
        (dispatch("trace", "-c", "pass"), "", ""),
    ],
    "new-backend": [(dispatch("new-backend", "acme"), "", "")],
    "completion": [(dispatch("completion", "bash"), "", "")],
    "cache": [(dispatch("cache"), "", "")],
    "run": [
        (["torchlike", "run", "-c", "import torch; torch.ones(1)"], "", ""),
        (["torchlike", "run", "../program.py"], "program", ""),
        (["torchlike", "run", "-m", "mine"], "mine", ""),
    ],
    "DataLoader": [(program(TORCH, "from torchlike.utils.data import DataLoader", LOADER), "", "")],
    "npu": [(program(TORCH, "torch.npu.is_available()"), "", "")],
}


LONG = {"DataLoader", "a call", "graphs", "npu", "save"}


@pytest.fixture(scope="module")
def table():
    """Return the first words of the rows of SECURITY.md's table, which name their moments."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    return re.findall(
        r"^\| \*\*(.+?)\*\*", text.partition("## What runs, and when")[2].partition("\n## ")[0], re.MULTILINE
    )


@pytest.fixture
def spied(tmp_path):
    """Make a folder with the spies' distribution, and one of planted files; return a function that runs a command there."""
    ran, site, folder = tmp_path / "ran", tmp_path / "site", tmp_path / "hostile"
    note = "import os\nwith open({!r}, 'a') as file: file.write(f'{} {{os.getpid()}}\\n')\n"
    metadata = site / "spies-1.0.dist-info"
    metadata.mkdir(parents=True)
    folder.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: spies\nVersion: 1.0\n")
    groups = [f"[dispatch_core.{group}]\n{name} = {value}\n" for group, (name, value) in SPIES.items()]
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    for name in MODULES:
        (site / f"{name}.py").write_text(
            note.format(str(ran), name) + "class Array: pass\ndef main(arguments): return 0\n"
        )
    for name in ("mine", "program"):
        (folder / f"{name}.py").write_text(note.format(str(ran), name))
    (folder / "program.py").rename(tmp_path / "program.py")
    for name in PLANTED:
        (folder / f"{name}.py").write_text(note.format(str(ran), f"planted-{name}"))

    def run(command):
        ran.unlink(missing_ok=True)
        script = shutil.which(command[0], path=str(Path(sys.executable).parent))
        if script is None and os.sep not in command[0]:
            pytest.skip(f"the console script {command[0]} is installed with its distribution")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DISPATCH_B")}
        path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
        with subprocess.Popen(
            [script or command[0], *command[1:]],
            cwd=folder,
            env={**kept, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as started:
            output = started.communicate(timeout=120)[0]
        lines = [line.split() for line in ran.read_text().splitlines()] if ran.exists() else []
        own, others = ({name for name, pid in lines if (int(pid) == started.pid) is here} for here in (True, False))
        return own, others, output

    return run


@pytest.mark.texts
def test_every_moment_of_the_page_is_tried(table):
    assert sorted(table) == sorted([*CASES, "site"])


@pytest.mark.parametrize(
    "moment", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in CASES]
)
def test_what_runs_is_what_the_page_says(spied, moment):
    for command, own, children in CASES[moment]:
        found = spied(command)
        assert found[:2] == ({*own.split()}, {*children.split()}), (command, found[2])


@pytest.mark.long
@pytest.mark.parametrize("moment", [name for name, rows in CASES.items() if rows[0][0][0] in COMMANDS])
def test_without_a_console_script_the_same_runs_but_for_the_current_folder(spied, moment):
    for command, own, children in CASES[moment]:
        expected = (set(), set()) if "mine" in command else ({*own.split()}, {*children.split()})
        found = spied([sys.executable, "-P", "-m", COMMANDS[command[0]], *command[1:]])
        assert found[:2] == expected, (command, found[2])


@pytest.mark.texts
def test_the_site_is_built_by_the_files_of_its_folder():
    (hooks,) = re.findall(r"^hooks: \[(.*)\]$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {Path(each.strip()).parent.as_posix() for each in hooks.split(",")} == {"tools/site"}
