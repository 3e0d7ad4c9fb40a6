"""A vendor's device from outside: the example, and packages that ``new-backend`` has written, from their wheels."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from dispatch_devkit.scaffold import new_backend, templates

EXAMPLE = Path(__file__).parents[1] / "examples" / "vendor_backend"
PACKAGE = EXAMPLE / "src" / "toy_backend"
#: Each build's device, and how people see its key.
DEVICES = {"toy": "PrivateUse1 (toy)", "twin": "Twin", "ice": "Ice"}


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that the file must have."""
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def copy_sources(folder: Path, device: str, *, own_key: bool = True) -> Path:
    """Copy the example's sources with the device's name in place of ``toy``; return the project's folder."""
    project = folder / f"{device}-backend"
    shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    (project / "src" / "toy_backend").rename(project / "src" / f"{device}_backend")
    package = project / "src" / f"{device}_backend"
    for path in [project / "pyproject.toml", project / "README.md", *package.glob("*.py")]:
        path.write_text(path.read_text(encoding="utf-8").replace("toy", device), encoding="utf-8")
    if own_key:
        replace(package / "plugin.py", 'dispatch_key="PrivateUse1", ', "")
    return project


def install(projects: list[Path], site: Path) -> None:
    """Build the projects' wheels, and unpack them into a folder; ``docs/tutorials/device.md`` has pip do it."""
    for project in projects:
        (wheel,) = WheelBuilder(str(project)).build(directory=str(project / "dist"), versions=["standard"])
        with zipfile.ZipFile(wheel) as files:
            files.extractall(site)


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Make a folder with the three builds, installed from their wheels."""
    folder = tmp_path_factory.mktemp("vendors")
    projects = [
        copy_sources(folder, "toy", own_key=False),
        new_backend("twin", folder).folder,
        new_backend("ice", folder, sort="immutable").folder,
    ]
    install(projects, folder / "site")
    return folder / "site"


@pytest.fixture
def run(tmp_path):
    """Run an interpreter that finds the folder's distributions beside the installed ones."""

    def run(*arguments, site, environment=(), code=0):
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, **dict(environment)},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize("device", ["twin", "ice"])
def test_the_tests_of_a_written_package_pass(device, run, site):
    folder = site.parent / f"{device}-backend"
    options = ["--quiet", "-p", "no:cacheprovider", f"--config-file={folder}/pyproject.toml", f"--rootdir={folder}"]
    printed = run("-m", "pytest", *options, str(folder), site=site, environment={"DISPATCH_CHECK_RESULTS": "1"})
    assert re.fullmatch(r"\d+ passed in .*", printed.splitlines()[-1]), printed


@pytest.mark.parametrize("device", ["toy", "ice"])
def test_the_kit_finds_no_fault_in_kernels_of_its_own(device, run, site):
    """Two samples of each; the session ``arrays`` verifies written packages as a whole."""
    kernels = (site / f"{device}_backend" / "kernels.py").read_text(encoding="utf-8")
    names = re.findall(r'^    "(\w+\.?\w*)": ', kernels.partition("ATEN: Final")[2].partition("}")[0], re.MULTILINE)
    only = [f"--only=aten::{name}" for name in names]
    report = json.loads(run("-m", "dispatch_core", "verify", device, "--json", "--samples=2", *only, site=site))
    found = {row["check"]: row["status"] for row in report["checks"]}
    assert found == {f"aten::{name}": "passed" for name in names}
    assert {row["check"] for row in report["checks"] if row["kernel"] == "own"} > {"aten::exp", "aten::sum.dim_IntList"}


@pytest.mark.parametrize("device", DEVICES)
def test_a_fresh_process_uses_the_device_and_nobody_imports_it(device, run, site):
    program = (
        "import sys, torchlike\n"
        f"assert not any('{device}_backend' in name for name in sys.modules)\n"
        f"print(torchlike.ones(2, device='{device}') + 1)"
    )
    assert run("-W", "error", "-c", program, site=site) == f"tensor([2., 2.], device='{device}')\n"


#: A program written for torch: every dtype goes to the device and back, and a layer learns there.
TORCH_PROGRAM = """
import sys, torch
device = sys.argv[1]
for dtype in torch.float32, torch.float64, torch.int64, torch.bool:
    made, moved = torch.ones(2, 3, dtype=dtype, device=device), torch.ones(2, 3, dtype=dtype).to(device)
    assert made.dtype is moved.dtype is dtype and str(dtype).startswith("torch."), dtype
    assert made.fill_(1).tolist() == moved.t().cpu().t().tolist() == torch.ones(2, 3, dtype=dtype).tolist()
torch.manual_seed(0)
x, y = torch.linspace(-1, 1, 8)[:, None].to(device), torch.linspace(-2, 4, 8)[:, None].to(device)
layer = torch.nn.Linear(1, 1).to(device)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.3)
for _ in range(60):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(layer(x), y)
    loss.backward()
    optimizer.step()
print(x.device, x.dtype, round(layer.weight.item(), 2), round(layer.bias.item(), 2))
"""


@pytest.mark.parametrize("device", DEVICES)
def test_a_program_written_for_torch_runs_on_the_device(device, run, site, tmp_path):
    (tmp_path / "program.py").write_text(TORCH_PROGRAM, encoding="utf-8")
    printed = run("-m", "torchlike", "run", "program.py", device, site=site)
    assert printed == f"{device} torch.float32 3.0 1.0\n"


@pytest.mark.long
def test_the_examples_suite_passes_for_every_build_in_one_process(run, site, root):
    suite = EXAMPLE / "tests"
    options = ["--quiet", "-p", "no:cacheprovider", f"--config-file={root}/pyproject.toml", f"--rootdir={suite}"]
    # Kernels' results are compared with the shape rules at every call, not only at an operator's first ones.
    environment = {"VENDOR_DEVICES": ",".join(DEVICES), "DISPATCH_CHECK_RESULTS": "1"}
    printed = run("-m", "pytest", *options, str(suite), site=site, environment=environment)
    summary = printed.splitlines()[-1]
    assert re.fullmatch(r"\d+ passed in .*", summary), printed
    assert int(summary.split()[0]) > 100 * len(DEVICES)


#: A vendor's mistakes: a replacement in a file of the example, and the error of the first call that meets it.
MISTAKES = {
    "drops a dimension": (
        "kernels.py",
        '"amax": _make_kernel("amax", _reduce(np.max)),',
        '"amax": lambda self, dim, keepdim: _make_kernel("amax", _reduce(np.max))(self, dim, keepdim=False),',
        "x.amax(1, keepdim=True)",
        "aten::amax: the result has shape (2,), where the shape rule (dispatch-backend-meta 0.1.0 (",
    ),
    "another dtype": (
        "kernels.py",
        "return store(function(*values, **kwargs), meta)",
        "return store(function(*values, **kwargs), meta.with_dtype(ScalarType.Double))",
        "x.exp()",
        "aten::exp: the result has dtype float64, where the shape rule (dispatch-backend-meta 0.1.0 (",
    ),
    "row-major strides for every array": (
        "plugin.py",
        "strides=lambda array: array.strides,",
        "strides=lambda array: tuple(int(np.prod(array.shape[d + 1:])) for d in range(len(array.shape))),",
        "(x.t() + 1).t()[0]",
        "aten::as_strided: the result has strides (2, 1), where the shape rule (dispatch-backend-meta 0.1.0 (",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("block", ["contextlib.nullcontext()", "torchlike.pipeline()"])
def test_a_vendors_mistake_is_named_where_it_first_shows(mistake, block, run, tmp_path):
    file, right, wrong, call, text = MISTAKES[mistake]
    project = copy_sources(tmp_path, "slip")
    replace(project / "src" / "slip_backend" / file, right, wrong)
    replace(
        project / "src" / "slip_backend" / file,
        "import dispatch_core as dc",
        "import numpy as np\nimport dispatch_core as dc",
    )
    install([project], tmp_path / "site")
    program = f"""
import contextlib, dispatch_core as dc, torchlike
x = torchlike.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], device="slip")
try:
    with {block}:
        y = {call}
        print(y.tolist())
except dc.KernelResultError as error:
    print(error)
"""
    printed = run("-W", "error", "-c", program, site=tmp_path / "site")
    assert text in printed
    assert "Kernel for Slip: slip_backend.kernels." in printed
    assert re.search(
        r"slip_backend/kernels\.py:\d+\), registered by slip-backend 0\.1\.0 \(\S+/plugin\.py:\d+\)", printed
    )


def test_builds_have_keys_of_their_own(run, site):
    program = """
        import dispatch_core as dc
        keys = {}
        for device in DEVICES:
            dc.load_backend(device)
            keys[device] = dc.device_key(device)
        print(*(f"{device}={key}" for device, key in keys.items()), sep="\\n")
        print(len({key.value for key in keys.values()}), {state.dispatch_key for state in dc.backends().values()} >= {
            key.name for key in keys.values()})
        for key in keys.values():
            for prefix in ("Autograd", "Autocast", "Sparse", "SparseCsr", "Quantized", "NestedTensor"):
                assert dc.DispatchKey[prefix + key.name].backend == key.name
    """
    program = "\n".join(line[8:] for line in program.splitlines()).replace("DEVICES", repr(list(DEVICES)))
    expected = [f"{device}={label}" for device, label in DEVICES.items()]
    assert run("-c", program, site=site).splitlines() == [*expected, "3 True"]


def test_a_raw_array_is_recognised_by_its_declared_type(run, site):
    program = (
        "import dispatch_core as dc, numpy as np\n"
        "from toy_backend.arrays import store\n"
        "from dispatch_aten.shapes import contiguous\n"
        "array = store([0.0, 1.0], contiguous((2,)))\n"
        "print(dc.backends()['toy'].state)\n"
        "print(dc.ops.prims.device_get(dc.ops.aten.add(array, array)), dc.device(array))\n"
    )
    assert run("-c", program, site=site).splitlines() == ["installed", "[0. 2.] toy"]


def test_list_and_doctor_know_the_builds(run, site):
    listed = json.loads(run("-m", "dispatch_core", "list", "--json", site=site))
    found = {state["device"]: state["distribution"] for state in listed["devices"]}
    assert {device: found[device] for device in DEVICES} == {device: f"{device}-backend" for device in DEVICES}
    examined = json.loads(run("-m", "dispatch_core", "doctor", *DEVICES, "--json", site=site))
    outcomes = {finding["name"]: finding["outcome"] for finding in examined["findings"]}
    assert {device: outcomes[device] for device in DEVICES} == dict.fromkeys(DEVICES, "ok")


def test_a_slot_that_is_taken_is_refused_naming_both(run, site, tmp_path):
    rival = copy_sources(tmp_path, "rival", own_key=False)
    install([rival], tmp_path / "rivals")
    program = (
        "import torchlike\n"
        "toy = torchlike.ones(2, device='toy')\n"
        "try:\n"
        "    torchlike.ones(2, device='rival')\n"
        "except torchlike.dispatch_core.BackendError as error:\n"
        "    print(error)\n"
        "print((toy + toy).tolist(), torchlike.ones(2, device='twin').tolist())\n"
    ).replace("torchlike.dispatch_core", "__import__('dispatch_core')")
    both = os.pathsep.join([str(site), str(tmp_path / "rivals")])
    printed = run("-c", program, site=both)
    assert "device 'rival' asks for key PrivateUse1, which device 'toy' has" in printed
    assert printed.splitlines()[-1] == "[2.0, 2.0] [1.0, 1.0]"


def test_an_immutable_backend_without_its_functional_operators_is_told_which(run, tmp_path):
    bare = new_backend("bare", tmp_path, sort="immutable").folder
    table = '    "copy": _copy,\n    "fill.Scalar": _fill,\n    "index_put": _index_put,\n'
    replace(bare / "src" / "bare_backend" / "kernels.py", table, "")
    install([bare], tmp_path / "site")
    program = """
import dispatch_core as dc, torchlike
x = torchlike.tensor([1.0, 2.0], device="bare")
row = x[0]
for call in (x.clone, lambda: x + 1, lambda: torchlike.zeros(2, device="bare"), lambda: row.copy_(x[1])):
    try:
        call()
    except dc.NoKernelError as error:
        print(str(error).splitlines()[0])
print((x + x).tolist())
"""
    missing = "aten::{}: no kernel for device bare, whose arrays cannot be written to".format
    printed = run("-c", program, site=tmp_path / "site").splitlines()
    assert printed == [*map(missing, ("copy", "fill.Scalar", "fill.Scalar", "copy")), "[2.0, 4.0]"]


def documented_names() -> dict[str, set[str]]:
    """Return the names that the documentation lets a vendor import, by module."""
    text = (Path(__file__).parents[1] / "docs" / "vendors.md").read_text(encoding="utf-8")
    names = text.partition("## Names")[2].partition("\n## ")[0]
    parts = re.split(r"^From `([\w.]+)`:$", names, flags=re.MULTILINE)[1:]
    return {
        module: {name for row in re.findall(r"^\| (`.*?) \| ", table, re.MULTILINE) for name in re.findall(r"\w+", row)}
        for module, table in zip(parts[::2], parts[1::2], strict=True)
    }


def test_every_documented_name_exists():
    found = documented_names()
    assert set(found) >= {"dispatch_core", "dispatch_aten.dtypes", "dispatch_aten.shapes"}
    for module, names in found.items():
        public = importlib.import_module(module)
        assert names <= set(public.__all__), module


def names_used(path: Path) -> set[tuple[str, str]]:
    """Return the names of this project's that a file takes: (module, name), those behind an ``import … as`` included."""
    tree, taken, aliases = ast.parse(path.read_text(encoding="utf-8")), set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            ours = [each for each in node.names if each.name.startswith(("dispatch_", "torchlike"))]
            aliases |= {each.asname or each.name: each.name for each in ours}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            taken |= {(node.module, each.name) for each in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            taken.add((aliases[node.value.id], node.attr))
    return {(module, name) for module, name in taken if module.startswith(("dispatch_", "torchlike"))}


def test_the_example_takes_documented_names_only():
    allowed = {(module, name) for module, names in documented_names().items() for name in names}
    taken = {name for path in PACKAGE.glob("*.py") for name in names_used(path)}
    assert ("dispatch_core", "BackendInfo") in taken
    assert taken <= allowed


def test_the_example_is_what_new_backend_writes_but_for_its_key():
    written = templates("strided")
    for path in sorted(PACKAGE.glob("*.py")):
        text = path.read_text(encoding="utf-8").replace('dispatch_key="PrivateUse1", ', "")
        assert text.replace("toy", "acme") == written[f"src/acme_backend/{path.name}"], path.name


def test_the_written_packages_take_documented_names_only(tmp_path):
    allowed = {(module, name) for module, names in documented_names().items() for name in names}
    for sort in ("strided", "immutable"):
        folder = new_backend(f"named_{sort}", tmp_path, sort=sort).folder
        taken = {name for path in folder.glob("src/*/*.py") for name in names_used(path)}
        assert ("dispatch_core", "BackendInfo") in taken
        assert taken <= allowed


def test_the_example_is_small_and_documented():
    kernels = ast.parse((PACKAGE / "kernels.py").read_text(encoding="utf-8"))
    writes = ast.parse((PACKAGE / "writes.py").read_text(encoding="utf-8"))
    tables = [node.value for tree in (kernels, writes) for node in tree.body if isinstance(node, ast.AnnAssign)]
    names = {key.value for table in tables for key in table.keys}
    assert len(names) <= 16
    text = (Path(__file__).parents[1] / "docs" / "vendors.md").read_text(encoding="utf-8")
    needed = set(
        re.findall(r"`(?:aten|prims)::([\w.]+)`", text.partition("### The kernels you need")[2].partition("### ")[0])
    )
    assert needed - names == set()
    assert names - needed == {"sqrt"}
    code = "\n".join(ast.unparse(ast.parse(path.read_text(encoding="utf-8"))) for path in PACKAGE.glob("*.py"))
    assert len([line for line in code.splitlines() if line.strip() and not line.lstrip().startswith('"""')]) <= 100


CAPTURED = """
import sys
import torchlike
from torchlike import nn

def train(device, captured):
    torchlike.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
    optimizer = torchlike.optim.Adam(model.parameters(), lr=0.05)
    def step(x):
        loss = (model(x) * model(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    run = torchlike.capture(step) if captured else step
    losses = [run(torchlike.randn(6, 4).to(device)).tolist() for _ in range(6)]
    return losses, [each.tolist() for each in model.parameters()], run

for device in sys.argv[1:]:
    expected, found = train(device, False), train(device, True)
    assert found[:2] == expected[:2], device
    print(device, found[2].stats().variants)
"""


@pytest.mark.long
def test_captured_training_steps_of_every_build(run, site):
    done = run("-c", CAPTURED, *DEVICES, site=site)
    assert done.split() == [word for device in DEVICES for word in (device, "1")]


BATCHES = """
import sys
import torchlike

FUNCTIONS = {
    "slice": lambda a: a[1:] + 1,
    "steps": lambda a: a[::2] * 2,
    "select": lambda a: a[-1] + a[0],
    "unsqueeze": lambda a: a[:, None] + a[None],
    "view": lambda a: a.view(2, -1).exp(),
    "view of a view": lambda a: a.view(2, 2, -1)[:, 1:].transpose(0, 2).flatten() + 1,
    "split": lambda a: a.split(3)[1] - a.chunk(2)[0][:1],
    "unbind": lambda a: a.unbind()[2] * 3,
    "expand": lambda a: a[:1].expand(3, -1) + 1,
    "write": lambda a: a[1:].mul_(2) + a[:-1],
    "as_strided": lambda a: torchlike.as_strided(a, (2, 2), (1, 2), 1) + 1,
    "gradient": lambda a: differentiate(lambda b: (b[1:].reshape(3, -1).t() ** 2).sum(), a.detach().requires_grad_()),
}

def differentiate(function, leaf):
    return torchlike.autograd.grad(function(leaf), leaf)[0]

for device in sys.argv[1:]:
    for name, function in FUNCTIONS.items():
        if name == "as_strided" and device == "ice":
            continue
        found = []
        for run in function, torchlike.capture(function):
            x = torchlike.arange(24.0).reshape(12, 2).to(device)
            found.append([run(x[start:start + 4]).tolist() for start in (4, 0, 8, 2)] + [x.tolist()])
        assert found[0] == found[1], (device, name, found)
        if device != "ice":  # its views have memory of their own, and some calls of them are not captured
            assert run.stats().variants == 1, (device, name, run.stats())
    print(device)
"""


def test_views_of_batches_are_captured_wherever_a_batch_begins(run, site):
    assert run("-c", BATCHES, *DEVICES, site=site).split() == [*DEVICES]


LAYOUTS = """
import numpy as np
import torchlike
from toy_backend import kernels

kernels.PRIMS["device_get"] = lambda self: np.array(self.values, order="C")

def copies(source, target):
    x = torchlike.arange(6.0).reshape(2, 3).to(source)
    y = torchlike.arange(48.0).reshape(2, 3, 4, 2).to(source)
    last = torchlike.channels_last
    return {
        "transposed": lambda: x.t().to(target),
        "channels last": lambda: y.to(memory_format=last).to(target),
        "a format that is asked for": lambda: y.to(target, memory_format=last),
        "gaps": lambda: y[:, :, ::2].transpose(1, 3).to(target),
        "expanded": lambda: x[:1].expand(4, 3).t().to(target),
        "another dtype": lambda: x.t().to(target, torchlike.float64),
    }

expected = {name: copy() for name, copy in copies("cpu", "meta").items()}
values = {name: copy().tolist() for name, copy in copies("cpu", "cpu").items()}
for source, target in (("toy", "cpu"), ("cpu", "toy")):
    for name, copy in copies(source, target).items():
        with torchlike.pipeline():
            later = copy()
        captured = torchlike.capture(copy)
        for found in copy(), later, captured(), captured():
            assert found.stride() == expected[name].stride(), (source, name, found.stride())
            assert found.tolist() == values[name], (source, name)
        assert captured.stats().variants == 1, (source, name, captured.stats())
print("as torch")
"""


def test_copies_keep_the_order_of_dimensions_where_the_device_returns_rows(run, site):
    assert run("-c", LAYOUTS, site=site) == "as torch\n"
