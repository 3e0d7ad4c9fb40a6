"""Programs written for torch, run by ``torchlike run`` and ``python -m torchlike run``."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_pipeline(reason="its programs run in processes of their own")

SAME = """
import sys, torch, torch.nn as nn, torchlike
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.optim.lr_scheduler import StepLR
from torch.cuda.amp import GradScaler
import torch.utils.data.dataset, torch.optim.adamw, torch.cuda
assert torch is torchlike and torch.nn is nn is torchlike.nn and F is torchlike.nn.functional
assert torchlike.__spec__.name == torch.__name__ == "torch" and torch.optim.AdamW is torchlike.optim.AdamW
assert isinstance(torch.ones(1), torchlike.Tensor) and torch.ones(1).type() == "torch.FloatTensor"
print(torch.__version__ > "2.1", torch.float64, torch.ones(2).shape, sys.argv[1:], __name__)
"""
WORKERS = """
import torch, torch.multiprocessing as mp
def work(number):
    import torch as again
    print(again.__name__, (torch.ones(2) + number).tolist(), flush=True)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        process = mp.get_context(method).Process(target=work, args=(1,))
        process.start()
        process.join()
"""


def run(*arguments, **options):
    command = [sys.executable, "-W", "ignore", "-m", "torchlike", "run", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_names_that_are_there_are_not_listed_as_missing():
    code = "import torch; print(torch.nn.Linear(2, 1), torch.nn.functional.relu, torch.linalg.inv, torch.optim.Adam)"
    status, out, errors = run("-c", code)
    assert (status, errors) == (0, "")
    assert out.startswith("Linear(")


def test_torch_is_torchlike_in_a_script_a_module_and_code(tmp_path):
    (tmp_path / "program.py").write_text(SAME)
    shown = "True torch.float64 torch.Size([2]) ['a', '-b'] __main__"
    assert run(tmp_path / "program.py", "a", "-b") == (0, shown, "")
    assert run("-m", "program", "a", "-b", cwd=tmp_path) == (0, shown, "")
    assert run("-c", SAME, "a", "-b") == (0, shown, "")


def test_types_are_written_as_torch_writes_them():
    code = (
        "import torch; x = torch.ones(2, 1); print(x.dtype, str(x.dtype).split('.')[1], f'{x.dtype}', [x.dtype], x.layout)\n"
        "print(torch.channels_last, torch.LongTensor, torch.cuda.HalfTensor, torch.finfo(x.dtype).dtype, x.max(1))"
    )
    status, out, errors = run("-c", code)
    assert (status, errors) == (0, "")
    assert out.split("\n")[:2] == [
        "torch.float32 float32 torch.float32 [torch.float32] torch.strided",
        "torch.channels_last <class 'torch.LongTensor'> <class 'torch.cuda.HalfTensor'> float32 torch.return_types.max(",
    ]


MODULES = """
import importlib, sys, torch
from torchlike.names.torch_modules import MODULES
for name in MODULES:
    importlib.import_module(name)
from torch.types import Device, Number, _size
from torch.nn.parallel.distributed import DistributedDataParallel
# A function keeps its name where its module has the same one.
torch.nn.utils.spectral_norm(torch.nn.utils.weight_norm(torch.nn.Linear(2, 2), "bias"))
assert callable(torch.autograd.gradcheck) and callable(torch.nn.parallel.data_parallel)
x, w = torch.randn(2, 4, 7, 6, requires_grad=True), torch.randn(6, 2, 3, 2, requires_grad=True)
y = torch.nn.functional.conv2d(x, w, None, (2, 1), (1, 0), 1, 2)
y.backward(g := torch.randn_like(y))
assert torch.nn.grad.conv2d_input(x.shape, w, g, (2, 1), (1, 0), 1, 2).allclose(x.grad)
assert torch.nn.grad.conv2d_weight(x, w.shape, g, (2, 1), (1, 0), 1, 2).allclose(w.grad)
print(torch.functional.einsum is torch.einsum, torch.nn.functional.mse_loss(y, g).grad_fn.next_functions[0][0] is y.grad_fn)
"""


def test_modules_are_there_by_torchs_names():
    assert run("-c", "import torch; print(torch.autograd.profiler.record_function('a').name)") == (0, "a", "")
    assert run("-c", MODULES) == (0, "True True", "")


def test_processes_that_a_program_starts_import_it_too(tmp_path):
    (tmp_path / "program.py").write_text(WORKERS)
    assert run(tmp_path / "program.py") == (0, "\n".join(["torch [2.0, 2.0]"] * 3), "")


@pytest.mark.parametrize(
    ("code", "missing"),
    [
        ("torch.frobnicate(2)", "torch.frobnicate"),
        ("torch.ones(2).frobnicate()", "torch.Tensor.frobnicate"),
        ("from torch.nn import Frobnicate", "torch.nn.Frobnicate"),
        ("import torch.frobnicate", "torch.frobnicate"),
        ("print(hasattr(torch, 'frobnicate'))", "torch.frobnicate"),
    ],
)
def test_missing_names_are_listed_at_the_end_or_at_the_failure(code, missing):
    status, _, errors = run("-c", f"import torch, torch.nn\n{code}")
    assert status == ("hasattr" not in code) and f"are missing:\n  {missing}" in errors


SEVERAL = """
import contextlib, torch
for module, name in (("torch.nn", "Liner"), ("torch.distributions.normal", "Frob"), ("torch", "quantized_gru_cell")):
    with contextlib.suppress(ImportError):
        exec(f"from {module} import {name}")
"""


LEFT_OUT = "torch has it, and it is left out, because"


def test_missing_names_are_listed_with_the_nearest_ones_or_the_reason():
    status, _, errors = run("-c", SEVERAL)
    assert status == 0 and [line.strip() for line in errors.splitlines()][1:] == [
        "torch.nn.Liner; did you mean Linear or LazyLinear or Bilinear?",
        "torch.distributions.normal.Frob",
        f"torch.quantized_gru_cell: {LEFT_OUT} ops.quantized has operators of quantized tensors",
    ]


def test_exit_statuses_and_failures_are_the_programs():
    assert run("-c", "import sys; sys.exit(3)")[0] == 3
    status, _, errors = run("-c", "1 / 0")
    assert status == 1 and "__main__.py" not in errors and errors.endswith("ZeroDivisionError: division by zero")
    assert run()[0] == 2 and run("-c")[0] == 2


def test_a_program_is_traced_through_both_commands(tmp_path):
    (tmp_path / "program.py").write_text(
        "import sys, torch\nx = torch.ones(3, requires_grad=True)\n(x * 2).sum().backward()\nprint(sys.argv[1:], x.grad)\n"
        "sys.exit(4)"
    )
    command = [sys.executable, "-m", "dispatch_core", "trace", "--json", "--output", "calls.json"]
    done = subprocess.run(
        [*command, "-m", "torchlike", "run", "program.py", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "['--json'] tensor([2., 2., 2.])\n", "")
    calls = [
        (call["operator"], call["depth"], call["keys"])
        for call in json.loads((tmp_path / "calls.json").read_text())["calls"]
    ]
    assert ("aten::mul.Scalar", 0, ["AutogradCPU", "BackendSelect", "CPU"]) in calls
    assert ("aten::mul.Scalar", 1, ["CPU"]) in calls


def test_annotations_of_a_program_are_its_own():
    code = "class A:\n    number: int\nprint(A.__annotations__)"
    assert run("-c", code) == (0, "{'number': <class 'int'>}", "")


def test_extensions_upon_torchs_machine_code_are_refused(tmp_path):
    suffix = __import__("importlib.machinery").machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / f"built{suffix}").write_bytes(b"\x7fELF libtorch_cpu.so ")
    assert "built is an extension that is built upon torch" in run("-c", "import built", cwd=tmp_path)[2]


def test_it_is_refused_where_torch_is_imported_already(tmp_path):
    (tmp_path / "torch.py").write_text("")
    code = "import torch, torchlike; torchlike.install_as_torch()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "torch is imported already in this process" in done.stderr


def test_a_mistyped_command_is_answered_in_a_line_or_by_the_usage():
    status, out, errors = run("--help")
    assert (status, out.split("\n")[0], errors) == (0, "usage: python -m torchlike run SCRIPT [ARGUMENT ...]", "")
    status, _, printed = run("--foo")
    assert (status, printed.splitlines()[:2]) == (
        2,
        ["python -m torchlike run: there is no option '--foo'", "usage: python -m torchlike run SCRIPT [ARGUMENT ...]"],
    )
    assert run("trian.py") == (2, "", "python -m torchlike run: there is no file 'trian.py'")


SCRIPT = shutil.which("torchlike", path=str(Path(sys.executable).parent))
BUSY = """
import sys
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
if __name__ == "__main__":
    layer = nn.Linear(3, 3)
    optimizer = torch.optim.Adam(layer.parameters())
    for method in (None, "spawn", "forkserver"):
        workers = 0 if method is None else 1
        loader = DataLoader(TensorDataset(torch.ones(4, 3)), 2, num_workers=workers, multiprocessing_context=method)
        for (batch,) in loader:
            layer(batch).sum().backward()
            optimizer.step()
    torch.save(layer.state_dict(), FILE)
    layer.load_state_dict(torch.load(FILE))
    torch.save({"a": torch.ones(2, dtype=torch.bfloat16)}, FILE + ".safetensors")
    try:
        torch.ones(3) + torch.ones(4)
    except RuntimeError as error:
        print(torch.ones(2), str(error) != "", torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 2)).sum().item())
"""


@pytest.fixture(params=["script", pytest.param("module", marks=pytest.mark.long)])
def command(request):
    """Return the command, as the console script and without the current folder on Python's path."""
    if request.param == "module":
        return [sys.executable, "-P", "-m", "torchlike"]
    if SCRIPT is None:
        pytest.skip("the console script is installed with the distribution")
    return [SCRIPT]


def start(command, *arguments, cwd, **environment):
    done = subprocess.run(
        [*command, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def plant(folder, ran):
    """Write files with the names of everything that the library imports, and of all of Python's own modules."""
    folder.mkdir()
    packages = "numpy dispatch_core dispatch_aten dispatch_backend_cpu dispatch_backend_meta torchlike torch"
    others = "packaging platformdirs pluggy importlib_metadata sitecustomize usercustomize"
    for name in [*packages.split(), *others.split(), *sys.stdlib_module_names]:
        note = f"open({str(ran)!r}, 'a').write('{name} ')"
        (folder / f"{name}.py").write_text(f"{note}; raise SystemExit('{name}')")
    return folder


@pytest.mark.parametrize(
    "kind", ["script", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("module", "code"))]
)
def test_what_the_library_imports_is_not_taken_from_the_current_folder(command, tmp_path, kind):
    ran = tmp_path / "ran"
    folder = plant(tmp_path / "hostile", ran)
    source = BUSY.replace("FILE", repr(str(tmp_path / "file")))
    if kind == "code":
        # Workers that begin afresh have no main module then.
        arguments = ["-c", source.replace('(None, "spawn", "forkserver")', "(None,)")]
    else:
        place = tmp_path if kind == "script" else folder
        (place / "busy.py").write_text(source)
        arguments = [place / "busy.py"] if kind == "script" else ["-m", "busy"]
    status, out, errors = start(command, "run", *arguments, cwd=folder)
    assert not ran.exists(), ran.read_text()
    if kind == "module" and "-P" in command:
        assert (status, "No module named busy" in errors) == (1, True)
    else:
        assert (status, out, errors) == (0, "tensor([1., 1.]) True 8.0\n", "")


@pytest.mark.parametrize("kind", ["script", "module", "code"])
def test_a_programs_folder_takes_the_first_place_of_the_path_alone(command, tmp_path, kind):
    named, other = tmp_path / "named", tmp_path / "other"
    named.mkdir()
    other.mkdir()
    code = "import sys; print(*sys.path[:3], sep='|')"
    (named / "program.py").write_text(code)
    (other / "beside.py").write_text(code)
    entries = [str(tmp_path / "a"), str(tmp_path / "b")]
    arguments = {"script": (named / "program.py",), "module": ("-m", "beside"), "code": ("-c", code)}[kind]
    status, out, errors = start(command, "run", *arguments, cwd=other, PYTHONPATH=os.pathsep.join(entries))
    if kind == "module" and "-P" in command:
        assert (status, "No module named beside" in errors) == (1, True)
        return
    assert (status, errors) == (0, "")
    shown = out.strip().split("|")
    # As Python has them: the current folder, wherever it is, for code.
    folder = {"script": named, "module": other, "code": ""}[kind]
    assert shown[:2] == entries and str(folder) not in shown if "-P" in command else shown == [str(folder), *entries]


def test_inner_modules_of_torch_are_ours():
    program = """
import torch, torch.ops, torch.utils.weak, torch._utils, torch._C._nn, torch.__config__
from torch._utils import _flatten_dense_tensors
from torch.utils._contextlib import _DecoratorContextManager
from torch.utils._device import DeviceContext
from torch._C._nn import _parse_to
from torch.futures import Future
from torch.utils.data._utils.worker import _generate_state
from torch.utils._pytree import _dict_flatten_with_keys
from functorch import make_functional, vmap
from torch._jit_internal import Final, List, Optional, boolean_dispatch, _overload_method, _copy_to_script_wrapper
print(torch._C._nn._parse_to("cpu")[0], _flatten_dense_tensors([torch.ones(2)]).tolist(), torch.ops.aten.relu.default.name)
"""
    assert run("-c", program) == (0, "cpu [1.0, 1.0] aten::relu", "")


def test_a_name_that_a_module_of_distributions_has_not_cannot_be_imported():
    status, _, errors = run("-c", "from torch.distributions.normal import Frob")
    assert status == 1
    assert "ImportError: cannot import name 'Frob' from 'torch.distributions.normal'" in errors


def test_names_of_our_own_are_not_listed_as_missing():
    code = "import torch\nfrom torch.nn import functional as F\n"
    code += "torch.jit.trace(lambda x: F.relu(x), torch.ones(2))\nhasattr(F, '_dispatch_data')"
    assert run("-c", code) == (0, "", "")
