"""Each README as a newcomer follows it: a new environment, its blocks in order, and nothing that it does not name."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
#: Its line installs an array library: ``nox -s readmes`` does, and the package's own tests run its blocks.
BRIDGE = ROOT / "packages" / "backend-array-api" / "README.md"
#: They need a compiler, and no wheel of the others.
COMPILED = [path.parent for path in ROOT.glob("packages/*/setup.py")]
READMES = [
    ROOT / "README.md",
    *(path for path in sorted(ROOT.glob("packages/*/README.md")) if path.parent not in COMPILED),
]
FRONTEND = "dispatch-frontend-torchlike"
#: The commands of continuous integration: these make environments of their own.
BY_NOX = ("-s demo", "-s tests")

#: Whether packages are installed with nothing but the wheels and what an index has.
ALONE = "DISPATCH_TEST_EXTRAS" in os.environ

installs_wheels = pytest.mark.skipif(
    "DISPATCH_TEST_DIST" not in os.environ or sys.platform == "win32",
    reason="installs the wheels of dist, with a POSIX shell: run nox -s packaging",
)


def blocks(readme: Path) -> list[tuple[str, str]]:
    """Return language and text of each fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def install_line(readme: Path) -> str:
    """Return the command at the top of a README, without its prompt; commands that make an environment come before it."""
    kind, text = blocks(readme)[0]
    assert kind == "console", f"{readme} begins with the command that installs the package"
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    assert len(lines) == text.count("\n")
    assert all(line.startswith(("python3 -m venv ", "source ")) for line in lines[:-1])
    return lines[-1]


def project(folder: Path) -> dict:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


PROJECTS = {
    found["name"]: found
    for path in ROOT.glob("packages/*/pyproject.toml")
    if path.parent not in COMPILED
    for found in [project(path.parent)]
}


def distributions_of(name: str, *extras: str) -> set[str]:
    """Return the distributions of this project that an installation brings, by their own metadata."""
    found, todo = set(), [(name, extra) for extra in ("", *extras)]
    while todo:
        name, extra = todo.pop()
        if (name, extra) in found or name not in PROJECTS:
            continue
        found.add((name, extra))
        lines = PROJECTS[name]["optional-dependencies"][extra] if extra else PROJECTS[name]["dependencies"]
        for line in map(Requirement, lines):
            todo += [(line.name, each) for each in ("", *line.extras)]
    return {name for name, _ in found}


def label(path: Path) -> str:
    return path.parent.name if path.parent != ROOT else "root"


def installed_by(line: str) -> str:
    """Return the name of the file of requirements that a command of installation names."""
    found = re.fullmatch(r"python -m pip install -r (?:requirements|https://\S+)/([\w-]+)\.txt", line)
    assert found, line
    return found[1]


@pytest.mark.parametrize("readme", READMES, ids=label)
def test_the_line_at_the_top_of_a_readme_installs_the_frontend_with_the_package(readme):
    packages = distributions_of(FRONTEND, installed_by(install_line(readme)))
    expected = project(readme.parent)["name"] if readme.parent != ROOT else "dispatch-backend-cpu"
    assert {FRONTEND, expected} <= packages


def test_the_extra_all_is_all_extras_and_brings_every_package():
    extras = PROJECTS[FRONTEND]["optional-dependencies"]
    (line,) = map(Requirement, extras["all"])
    assert line.name == FRONTEND
    assert line.extras == {*extras} - {"all", "native"}  # which a compiler builds where there is no wheel
    assert distributions_of(FRONTEND, "all") == {*PROJECTS}


@pytest.mark.parametrize("readme", READMES, ids=label)
def test_a_link_of_a_readme_leads_to_a_file_and_stands_alone_where_an_index_shows_it(readme):
    home = PROJECTS["dispatch-core"]["urls"]["Homepage"]
    for link in re.findall(r"\]\(([^)\s]+)\)", readme.read_text(encoding="utf-8")):
        ours = re.fullmatch(rf"{re.escape(home)}/(?:blob|tree)/main/([^#]+).*", link)
        if ours:
            assert (ROOT / ours[1]).exists(), link
        elif readme.parent == ROOT and "://" not in link:
            assert (ROOT / link.partition("#")[0]).exists(), link
        else:
            assert link.startswith("https://"), f"{link} leads nowhere on a page of the package index"


def environment_of_a_newcomer(folder: Path) -> None:
    """Make a virtual environment with pip.

    Pip is a link to that here, as to install it takes longer than all blocks together; ``nox -s readmes`` installs it.
    """
    venv.create(folder, symlinks=True, with_pip=ALONE)
    if ALONE:
        return
    site = Path(sysconfig.get_path("purelib", "venv", vars={"base": str(folder)}))
    (path,) = find_spec("pip").submodule_search_locations
    (site / "pip").symlink_to(path)
    script = folder / "bin" / "pip"
    script.write_text(f'#!/bin/sh\nexec {folder}/bin/python -m pip "$@"\n')
    script.chmod(0o755)


@pytest.fixture
def run(tmp_path):
    """Run a command in a new environment, where our distributions' names represent the wheels of ``dist/``."""
    environment_of_a_newcomer(tmp_path / "venv")
    wheels = Path(os.environ["DISPATCH_TEST_DIST"])
    constraints = tmp_path / "constraints.txt"
    pins = (wheel.name.split("-")[:2] for wheel in wheels.glob("*.whl"))
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in pins))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DISPATCH_"))}
    environment |= {"PATH": os.pathsep.join([str(tmp_path / "venv" / "bin"), os.environ["PATH"]])}
    # Pip's switch for ``compile``: of the libraries only what the blocks import is compiled.
    environment |= {"PIP_NO_COMPILE": "0", "PIP_CONSTRAINT": str(constraints)}
    environment["PIP_FIND_LINKS"] = f"{wheels.resolve().as_uri()} {environment.get('PIP_FIND_LINKS', '')}"

    def run(*command: str, cwd: Path = tmp_path, **more: str) -> str:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=environment | more,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


#: Command of installation → the READMEs that begin with it.
LINES: dict[str, list[Path]] = {}
for _readme in READMES:
    if _readme != BRIDGE or ALONE:
        LINES.setdefault(install_line(_readme), []).append(_readme)


@installs_wheels
@pytest.mark.parametrize("line", LINES)
def test_every_block_of_a_readme_runs_where_exactly_what_it_names_is_installed(line, run, tmp_path):
    # The root's last, as it installs more.
    readmes = sorted(LINES[line], key=lambda path: path.parent == ROOT)
    if "https:" not in line and (ALONE or readmes[-1].parent == ROOT):
        run("bash", "-euo", "pipefail", "-c", line, cwd=ROOT)
    else:  # as a release of these archives does
        install_wheels(line, run, tmp_path)
    for readme in readmes:
        found = blocks(readme)
        for text in (text for kind, text in found if kind == "sh" and not text.rstrip().endswith(BY_NOX)):
            if "simulator" in text and not compiler():
                continue  # The README says that the simulator needs one.
            run("bash", "-euo", "pipefail", "-c", text, cwd=ROOT if readme.parent == ROOT else tmp_path)
        run("python", "-m", "doctest", "-o", "ELLIPSIS", str(readme))
        programs = [text for kind, text in found if kind == "python" and ">>>" not in text]
        if readme.parent.name == "dispatch-core":
            check_the_vendors_part(found, programs, run, tmp_path / "acme")
            continue
        for text in programs:
            if "import acme" not in text:
                run("python", "-c", text)


def install_wheels(line: str, run, folder: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    lines = importlib.import_module("install_lines")
    wheels, name = Path(os.environ["DISPATCH_TEST_DIST"]).resolve(), installed_by(line)
    path = folder / f"{name}.txt"
    path.write_text(lines.release_file(ROOT, name, wheels, wheels.as_uri()))
    run("python", "-m", "pip", "install", "-r", str(path))


#: Programs of newcomers who have read the root's README and nothing else, in its words.
NEWCOMERS = {
    "train on a CSV and plot": """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import torchlike as torch

points = np.linspace(-1, 1, 64, dtype="float32")
np.savetxt("points.csv", np.stack([points, points**2], axis=1), delimiter=",")

table = torch.from_numpy(np.loadtxt("points.csv", delimiter=",")).float()
x, y = table[:, :1], table[:, 1:]
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


@torch.capture
def step():
    loss = torch.nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


losses = torch.tensor([step().item() for _ in range(300)])
figure, (left, right) = plt.subplots(1, 2)
left.plot(losses)
right.plot(x, y)
right.plot(x, net(x).detach())
figure.savefig("fit.png")
assert losses[-1] < 0.01 < losses[0]
assert open("fit.png", "rb").read(4) == b"\\x89PNG"
""",
    "a custom operator with a gradient": """
import dispatch_core as dc
import torchlike as torch


@dc.custom_op("mine::softclip", mutates_args=())
def softclip(x: torch.Tensor, limit: float) -> torch.Tensor:
    return x / (1 + (x / limit).abs())


def setup_context(ctx, inputs, output):
    x, ctx.limit = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad / (1 + (x / ctx.limit).abs()) ** 2, None


softclip.register_autograd(backward, setup_context=setup_context)
x = torch.linspace(-3, 3, 6, dtype=torch.float64).requires_grad_()
assert torch.autograd.gradcheck(lambda x: softclip(x, 2.0), (x,))
softclip.register_fake(lambda x, limit: torch.empty_like(x))
dc.opcheck(dc.ops.mine.softclip.default, (x, 2.0))
try:
    softclip(x, "wide")
except TypeError as error:
    assert "argument 'limit' (position 2) must be float, not str" in str(error)
step = torch.capture(lambda x: softclip(x, 2.0).sum())
for _ in range(4):
    (grad,) = torch.autograd.grad(step(x), x)
assert torch.equal(grad, torch.autograd.grad(softclip(x, 2.0).sum(), x)[0])
assert step.stats().replays
""",
    "a dispatcher for classes of one's own": """
import dispatch_core as dc


class Cat: ...


class Dog: ...


class Puppy(Dog): ...


sounds = dc.Library("sounds", "DEF")
sounds.define("speak(Tensor animal, int times=1) -> str")
for cls, kernel in {Cat: lambda cat, times: "meow" * times, Dog: lambda dog, times: "woof" * times}.items():
    backend = dc.BackendInfo(cls.__name__.lower(), array_types=(dc.ArrayType(cls),))
    dc.register_backend(backend, {"sounds::speak": kernel})
assert dc.ops.sounds.speak(Cat(), 2) == "meowmeow"
assert dc.ops.sounds.speak(animal=Puppy()) == "woof"
try:
    dc.ops.sounds.speak("a text")
except TypeError as error:
    assert "argument 'animal' (position 1) must be Tensor, not str" in str(error)
    assert "Dog" in str(error)
else:
    raise AssertionError
""",
}


@installs_wheels
@pytest.mark.parametrize("title", NEWCOMERS)
def test_a_newcomer_who_has_read_the_readme_alone_writes_a_program(title, run, tmp_path):
    install_wheels(install_line(ROOT / "README.md"), run, tmp_path)
    if "matplotlib" in NEWCOMERS[title]:
        run("python", "-m", "pip", "install", "matplotlib")
    run("python", "-c", NEWCOMERS[title])


@installs_wheels
def test_a_newcomer_who_has_read_the_readme_alone_makes_a_device(run, tmp_path):
    (text,) = (text for kind, text in blocks(ROOT / "README.md") if kind == "console" and "new-backend" in text)
    install, *commands = (line.removeprefix("$ ") for line in text.splitlines())
    install_wheels(install, run, tmp_path)
    for command in commands:
        # The whole of it takes half a minute.
        run("bash", "-c", command if ALONE or "verify" not in command else f"{command} --only 'aten::add*'")
    run("python", "-c", "import torchlike; assert (torchlike.ones(2, device='acme') + 1).sum() == 4")


installs_more = pytest.mark.skipif(not ALONE, reason="takes long: run nox -s readmes")


@installs_more
@installs_wheels
@pytest.mark.parametrize("name", PROJECTS)
def test_a_package_by_itself_is_whole(name, run):
    run("pip", "install", name)
    run("pip", "check")
    modules = [path.parent.name for path in ROOT.glob("packages/*/src/*/__init__.py") if path.parents[2].name in name]
    run("python", "-c", f"import {', '.join(modules)}")
    listed = {each["name"] for each in json.loads(run("pip", "list", "--format", "json"))}
    assert listed & {*PROJECTS} == distributions_of(name)


@installs_more
@installs_wheels
def test_pip_finds_what_every_extra_requires(run):
    for name, found in PROJECTS.items():
        extras = ",".join(extra for extra in found.get("optional-dependencies", {}) if extra not in {"cupy", "native"})
        if extras:
            run("pip", "install", "--dry-run", f"{name}[{extras}]")


#: The array library that the vendor of dispatch-core's README has already.
ACME = """
import numpy as np
from dispatch_aten.dtypes import BY_NAME


class Array:
    def __init__(self, data):
        self.data = np.asarray(data)
        self.shape = self.data.shape
        self.strides = tuple(step // self.data.itemsize for step in self.data.strides)


def scalar_type(array):
    return BY_NAME[str(array.data.dtype)]


def exp(array):
    return Array(np.exp(array.data))


def scaled_add(x, y, *, alpha=1):
    return Array(x.data + alpha * y.data)
"""
USE = """
import acme, numpy
import dispatch_core as dc

ones = acme.Array(numpy.ones(3))
print(dc.ops.aten.exp(dc.ops.aten.add(ones, ones, alpha=-1)).data)
print(dc.ops.aten.sub(ones, ones, alpha=3).data)
"""


def check_the_vendors_part(found, programs, run, site):
    """Make the distribution that the README's TOML and module describe; its kernels serve acme's arrays."""
    (metadata,) = (text for kind, text in found if kind == "toml")
    (module,) = (text for text in programs if "import acme" in text)
    site.mkdir()
    (site / "acme.py").write_text(ACME)
    (site / "acme_dispatch.py").write_text(module)
    folder = site / "acme_dispatch-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dispatch\nVersion: 1.0\n")
    points = metadata.replace("[project.entry-points.", "[").replace('"', "")
    (folder / "entry_points.txt").write_text(points)
    assert run("python", "-c", USE, PYTHONPATH=str(site)).splitlines() == ["[1. 1. 1.]", "[-2. -2. -2.]"]
    assert "acme" in run("python", "-m", "dispatch_core", "list", PYTHONPATH=str(site))
    # Every Python block was run: by doctest, or here.
    assert programs == [module]


def compiler() -> bool:
    """Return whether there is a C compiler."""
    done = subprocess.run(["sh", "-c", "command -v cc gcc clang"], capture_output=True, check=False)
    return bool(done.stdout)
