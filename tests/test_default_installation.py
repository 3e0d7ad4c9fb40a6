"""A default installation has NumPy alone: what runs without SciPy, ml_dtypes and opt_einsum, and what asks for them.

Programs run where the three cannot be imported. In the session ``light`` of nox they are not installed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LIBRARIES = {"scipy", "ml_dtypes", "opt_einsum"}

BLOCKER = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LIBRARIES!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
#: The two functions of scikit-learn that examples take their images from, which needs SciPy itself.
IMAGES = """
from types import SimpleNamespace
import numpy as np

def load_digits(*, return_X_y=False):
    found = np.loadtxt({path!r}, delimiter=",")
    images, labels = found[:, :-1], found[:, -1].astype(int)
    both = SimpleNamespace(images=images.reshape(-1, 8, 8), target=labels)
    return (images, labels) if return_X_y else both
"""
SPLIT = """
def train_test_split(images, labels, *, test_size, random_state, stratify):
    count = int(len(images) * (1 - test_size))
    return images[:count], images[count:], labels[:count], labels[count:]
"""
PROGRESS = "from unittest.mock import MagicMock as tqdm"


@pytest.fixture
def run(tmp_path):
    """Run Python in an empty folder where the three libraries cannot be imported."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(BLOCKER)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DISPATCH_"))}
    environment |= {"PYTHONPATH": str(tmp_path / "site"), "OMP_NUM_THREADS": "1"}

    def run(*arguments):
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def images(tmp_path):
    """Put the images of scikit-learn, without scikit-learn, where the examples look."""
    there = importlib.util.find_spec("sklearn")
    if there is None:
        pytest.skip("the images are scikit-learn's")
    path = Path(there.submodule_search_locations[0], "datasets", "data", "digits.csv.gz")
    folder = tmp_path / "site" / "sklearn"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "datasets.py").write_text(IMAGES.format(path=str(path)))
    (folder / "model_selection.py").write_text(SPLIT)
    (tmp_path / "site" / "tqdm.py").write_text(PROGRESS)


GPT = "--width 16 --heads 2 --layers 2 --block 16 --batch-size 4 --steps 10 --sample 10".split()


@pytest.mark.parametrize("arguments", [["minimal_frontend.py"], ["train_gpt.py", *GPT]], ids=lambda given: given[0])
def test_an_example_runs_with_numpy_alone(arguments, run):
    assert run(ROOT / "examples" / arguments[0], *arguments[1:])


@pytest.mark.parametrize(
    "arguments",
    [
        ["train_digits.py", "--epochs", "1"],
        ["train_digits.py", "--epochs", "1", "--pipeline"],
        ["train_digits.py", "--epochs", "1", "--capture"],
        ["train_images.py", "--epochs", "1"],
        ["pipeline_graph.py", "graph.svg"],
    ],
    ids=" ".join,
)
@pytest.mark.long
def test_an_example_that_learns_images_needs_no_more_for_its_computation(arguments, run, images):
    run(ROOT / "examples" / arguments[0], *arguments[1:])


PROGRAM = """
import sys
import dispatch_core as dc, torchlike as torch
from torchlike import nn

model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(64, 3))
optimizer = torch.optim.AdamW(model.parameters())

@torch.capture
def step(x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss

x, y = torch.randn(8, 1, 4, 4), torch.arange(8) % 3
first = float(step(x, y))
for _ in range(40):
    last = float(step(x, y))
assert last < first
with dc.pipeline():
    loss = nn.functional.cross_entropy(model(x), y)
assert float(loss) < first

a = torch.tensor([[4., 1.], [1., 3.]], requires_grad=True)
b = torch.linalg.solve(a, torch.tensor([1., 2.]))
b.sum().backward()
assert torch.allclose(a @ b, torch.tensor([1., 2.])) and a.grad.isfinite().all()
assert torch.distributions.MultivariateNormal(torch.zeros(2), a.detach()).log_prob(b).isfinite()
assert (torch.eye(2).to_sparse() @ a).isfinite().all()
assert torch.einsum("ij,jk,kl->il", a, a, a).shape == (2, 2)
torch.nn.init.trunc_normal_(torch.empty(3))
torch.distributions.Beta(torch.tensor(2.0, requires_grad=True), 1.0).log_prob(torch.tensor(0.5)).backward()
assert not {name.partition(".")[0] for name, module in sys.modules.items() if module} & LIBRARIES
"""


def test_training_solving_and_drawing_need_numpy_alone(run):
    run("-W", "error", "-c", f"LIBRARIES = {LIBRARIES!r}\n{PROGRAM}")


VERIFY = """
from dispatch_aten.testing.report import verify

operators = ["igamma", "igamma_", "special_zeta", "linalg_ldl_solve", "digamma", "erf"]
checks = [f"{kind}{name}" for name in operators for kind in ("aten::", "tensors: ")]
for outcome in verify("cpu", only=checks, limit=2).outcomes:
    print(outcome.check, outcome.status, outcome.reason, sep="|")
"""


def test_a_device_is_verified_as_far_as_the_cpu_computes(run):
    found = [line.split("|") for line in run("-c", VERIFY).splitlines()]
    passed = {"aten::digamma", "aten::erf", "tensors: digamma", "tensors: erf"}
    assert {check for check, status, _ in found if status == "passed"} == passed
    rest = [(status, reason) for check, status, reason in found if check not in passed]
    assert len(rest) == 8
    assert all(status == "not run" for status, _ in rest)
    assert sum("this needs SciPy, which is not installed (aten::" in reason for _, reason in rest) >= 6, rest


BFLOAT16 = """
import sys
import torchlike as torch
from dispatch_aten.errors import DtypeError

assert torch.ones(2, dtype=torch.bfloat16, device="meta").add(1).dtype is torch.bfloat16
assert torch.promote_types(torch.bfloat16, torch.float16) is torch.float32
assert torch.finfo(torch.bfloat16).bits == 16

def autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.ones(2, 2) @ torch.ones(2, 2)

for make in (
    lambda: torch.ones(2, dtype=torch.bfloat16),
    lambda: torch.tensor([1.0], dtype=torch.bfloat16),
    lambda: torch.ones(2).to(torch.float8_e4m3fn),
    lambda: torch.nn.Linear(2, 2).bfloat16(),
    autocast,
    lambda: torch.load(sys.argv[1]),
):
    try:
        make()
    except DtypeError as error:
        print(str(error).replace("\\n", " "), *getattr(error, "__notes__", ()))
    else:
        raise AssertionError("an array was made")
"""


def test_bfloat16_is_a_name_and_its_arrays_ask_for_ml_dtypes(run, tmp_path):
    header = b'{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    lines = run("-c", BFLOAT16, "x.safetensors").splitlines()
    text = (
        r"arrays of dtype (bfloat16|float8_e4m3fn) on the cpu need ml_dtypes, which is not installed \(aten::[\w.]+\)"
        r' Hint: pip install "dispatch-frontend-torchlike\[full\]", or ml_dtypes alone'
    )
    assert all(re.match(text, line) for line in lines), lines
    assert len(lines) == 6
    assert lines[-1].endswith("It is needed by x.safetensors.")


@pytest.mark.long
def test_the_page_lists_the_operators_that_ask_for_a_library(run):
    run(ROOT / "tools" / "list_libraries.py", "--check")


def projects():
    paths = ROOT.glob("packages/*/pyproject.toml")
    found = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in paths]
    return {each["name"]: each for each in found}


def brought_by(name, *extras):
    """Return the names of all distributions that an installation brings, by the metadata of this project's."""
    ours, found, todo = projects(), set(), [(name, extra) for extra in ("", *extras)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        if name in ours:
            lines = ours[name]["optional-dependencies"][extra] if extra else ours[name]["dependencies"]
            todo += [(line.name, each) for line in map(Requirement, lines) for each in ("", *line.extras)]
    return {name.replace("-", "_") for name, _ in found}


@pytest.mark.texts
def test_the_extra_full_brings_the_three_libraries_and_the_default_none():
    frontend = "dispatch-frontend-torchlike"
    assert not LIBRARIES & brought_by(frontend, "cpu")
    assert brought_by(frontend, "cpu", "full") == brought_by(frontend, "cpu") | LIBRARIES
    assert brought_by("dispatch-backend-cpu", "full") >= LIBRARIES - {"opt_einsum"}
    assert brought_by(frontend, "all") >= LIBRARIES


@pytest.mark.skipif("DISPATCH_TEST_LIGHT" not in os.environ, reason="the libraries are installed: run nox -s light")
def test_the_libraries_are_not_installed_in_the_session_light():
    installed = {each.name.replace("-", "_") for each in metadata.distributions()}
    assert not installed & LIBRARIES, textwrap.indent("\n".join(sorted(installed)), "    ")
