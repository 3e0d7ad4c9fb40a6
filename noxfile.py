# /// script
# requires-python = ">=3.11"
# dependencies = ["nox>=2026.8.10", "packaging>=24.2"]
# ///
"""Every way to run the project: ``nox -s SESSION``; ``nox -l`` lists the sessions.

Whatever runs the code runs it from wheels, built once per invocation and installed into a clean environment.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import nox
from packaging.requirements import Requirement

ROOT = Path(__file__).parent
#: The packages that a compiler builds: nothing needs them but the session `native`.
COMPILED = sorted(path.parent for path in ROOT.glob("packages/*/setup.py"))
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml") if path.parent not in COMPILED)
SOURCES = sorted(path.parent for path in ROOT.glob("packages/*/src/*/__init__.py"))
VENDORS = ["examples/vendor_backend/src/toy_backend", "examples/opencl_backend/src/opencl_backend"]
#: The package whose tests need the array libraries; they have a session of their own.
ARRAYS = "dispatch_backend_array_api"
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs"]
#: The test of a tutorial or guide, whose name stands behind it in brackets.
PAGE = "tests/test_pages.py::test_a_page_followed_to_the_letter_shows_what_it_says"
WHEELS = ROOT / ".nox" / ".wheels"
DIST = ROOT / "dist"
INTERPRETERS = ROOT / ".nox" / ".pythons"

nox.needs_version = ">=2026.8.10"
nox.options.default_venv_backend = "virtualenv"
nox.options.download_python = "never"
nox.options.sessions = ["tests", "texts", "lint", "typing"]


def _starts(python: Path, version: str) -> bool:
    """Return whether an interpreter runs and is of that version; a version manager's stand-in may do neither."""
    try:
        answer = subprocess.run(
            [python, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == version


def _pythons() -> list[str]:
    """Return the versions to test on: the running one, then each other supported one that starts."""
    running = "{}.{}".format(*sys.version_info[:2])
    versions = [running]
    if sys.platform == "win32":  # no links, and other folders; its py launcher is nox's own affair
        return versions
    managed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in ("3.11", "3.12", "3.13"):
        if version == running:
            continue
        on_path = [Path(folder, f"python{version}") for folder in os.get_exec_path() if folder != str(INTERPRETERS)]
        installed = [path / "bin" / f"python{version}" for path in sorted(managed.glob(f"{version}.*"), reverse=True)]
        for python in [*on_path, *installed]:
            if python.exists() and _starts(python, version):
                versions.append(version)
                # Nox looks interpreters up by name: let it meet this one, and no other program beside it, first.
                INTERPRETERS.mkdir(parents=True, exist_ok=True)
                link = INTERPRETERS / f"python{version}"
                # Sessions that run side by side read this file at the same time.
                if not link.is_symlink() or link.readlink() != python:
                    draft = link.with_name(f"{link.name}.{os.getpid()}")
                    draft.symlink_to(python)
                    draft.replace(link)
                break
    os.environ["PATH"] = os.pathsep.join([str(INTERPRETERS), os.environ["PATH"]])
    return versions


RUNNING_PYTHON, *OTHER_PYTHONS = _pythons()
#: The lowest versions of the dependencies have wheels for the lowest Python.
LOWEST_PYTHON = min([RUNNING_PYTHON, *OTHER_PYTHONS])
#: The sessions that take turns in the gate, a day each; together they take as long as all its others.
TURNS = [*(f"compatibility-{version}" for version in OTHER_PYTHONS), "lowest"]
#: The families of chips, besides the Atlas A2, that the npu's simulator can be.
OTHER_CHIPS = ("910_93", "950", "910A", "310P", "310B")
#: The share of generated cases that a run draws: inside of pipelines, of those that are compared with torch, of the README's
#: command, of the other Pythons, of array libraries' devices. The nightly workflow and `release` run all: see ``--drawn`` in
#: ``conftest.py``.
INSIDE_PIPELINES, BESIDE_TORCH, OF_THE_SUITE, OF_OTHER_PYTHONS, OF_LIBRARIES = (
    f"--drawn={share}" for share in (0.34, 0.5, 0.34, 0.6, 0.45)
)


def _group(name: str) -> tuple[str, ...]:
    """Return the requirements of a dependency group of the root's settings."""
    return nox.project.dependency_groups(nox.project.load_toml(ROOT / "pyproject.toml"), name)


def _install_wheels(session: nox.Session, *groups: str, only: str = "") -> None:
    """Install every wheel of ``WHEELS``, or that of one package, and the groups' requirements; no path hides them."""
    wheels = sorted(WHEELS.glob(f"{only}*.whl"))
    if len(wheels) != (1 if only else len(PACKAGES)):
        session.error(f"{WHEELS} has {len(wheels)} wheels for {len(PACKAGES)} packages")
    session.env["PYTHONPATH"] = None
    session.env["DISPATCH_TEST_WHEELS"] = str(WHEELS)
    # Python compiles what is imported, and keeps it: pip would compile all of NumPy, torch and the others, one by one.
    session.env["PYTHONDONTWRITEBYTECODE"] = None
    session.install("--no-compile", *map(str, wheels), *(line for group in groups for line in _group(group)))


@nox.session(default=False)
def wheels(session: nox.Session) -> None:
    """Build the wheels that the other sessions install."""
    session.install(*_group("build"))
    shutil.rmtree(WHEELS, ignore_errors=True)
    # fmt: off
    session.run(
        "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(WHEELS),
        *map(str, PACKAGES),
    )
    # fmt: on


@nox.session(requires=["wheels"])
def demo(session: nox.Session) -> None:
    """Run the main job; arguments after ``--`` go to it."""
    _install_wheels(session, "demo")
    session.run("python", "examples/train_digits.py", *session.posargs)


@nox.session(requires=["wheels"])
def tests(session: nox.Session) -> None:
    """Run the suite on the installed wheels, but long tests and those of `texts`; arguments after ``--`` go to pytest.

    Paths among them stand in place of the suite. Of parametrized tests' cases it runs a share, which the day draws; all
    run with ``DISPATCH_DRAWN_SHARE=1``.
    """
    _run_suite(session, "not texts and not long", drawn=OF_THE_SUITE)


@nox.session(requires=["wheels"])
def texts(session: nox.Session) -> None:
    """Run the tests that read the checkout: who imports whom, words, docstrings, stubs, pages; arguments go to pytest."""
    _install_wheels(session, "test", "demo", "jit")
    _pytest(
        session,
        "-m",
        "texts and not long",
        "tests",
        *(f"--ignore=tests/{each}" for each in ("parity", "interop", "browser")),
    )


@nox.session(python=OTHER_PYTHONS or None, requires=["wheels"])
def compatibility(session: nox.Session) -> None:
    """Run more of the tests of code on the other Pythons that are found, with more random calls, and inside of pipelines."""
    if not OTHER_PYTHONS:
        session.skip("no other Python of 3.11, 3.12 and 3.13 was found")
    session.env.update(PIPELINE_PROGRAMS="600", DISPATCH_TEST_SECONDS="10")
    session.env.update(DISPATCH_EXPLAINED_CALLS="250", DISPATCH_HOSTILE_CALLS="2500", DISPATCH_TEST_CHAINS="50")
    _run_suite(session, "not texts and not long", inside_pipelines=True)


@nox.session(python=LOWEST_PYTHON, requires=["wheels"])
def lowest(session: nox.Session) -> None:
    """Run the suite, its long tests too, with the lowest versions of the dependencies; no texts again."""
    constraints = Path(session.virtualenv.location) / "lowest.txt"
    constraints.write_text("\n".join(_lowest_versions()) + "\n", encoding="utf-8")
    session.env["PIP_CONSTRAINT"] = str(constraints)
    _run_suite(session, "not texts", inside_pipelines=True)


@nox.session(requires=["wheels"], default=False, venv_backend="none")
def turn(session: nox.Session) -> None:
    """Run the one of the other Pythons and the lowest versions whose day it is; ``DISPATCH_GATE_TURN`` names one, or all."""
    wanted = os.environ.get("DISPATCH_GATE_TURN") or TURNS[dt.datetime.now(tz=dt.UTC).date().toordinal() % len(TURNS)]
    chosen = [name for name in TURNS if wanted in {"all", name, name.removeprefix("compatibility-")}]
    if not chosen:
        names = ", ".join(name.removeprefix("compatibility-") for name in TURNS)
        session.error(f"DISPATCH_GATE_TURN={wanted} is none of all, {names}")
    session.log(f"DISPATCH_GATE_TURN={wanted} of {', '.join(TURNS)}")
    for name in chosen:
        session.notify(name)


def _lowest_versions() -> list[str]:
    """Return a pin for each dependency of the packages, their extras included, to the version that they begin with."""
    pins = set()
    for package in PACKAGES:
        project = nox.project.load_toml(package / "pyproject.toml")["project"]
        extras = project.get("optional-dependencies", {}).values()
        for requirement in map(Requirement, [*project["dependencies"], *(line for lines in extras for line in lines)]):
            if not requirement.name.startswith("dispatch-"):
                (least,) = (each.version for each in requirement.specifier if each.operator == ">=")
                pins.add(f"{requirement.name}=={least}")
    return sorted(pins)


def _run_suite(
    session: nox.Session, marks: str, *, inside_pipelines: bool = False, drawn: str = OF_OTHER_PYTHONS
) -> None:
    """Run the tests with these marks, if so wanted also those of operators inside of pipelines.

    Of the packages above the core those cases of parametrized tests run that are ``drawn``.
    """
    if any(Path(arg.partition("::")[0]).exists() for arg in session.posargs):
        _install_wheels(session, "test", "demo", "jit")
        session.run("pytest", *session.posargs)
        return
    # A choice by -k or -m may leave one of the runs without tests; it goes before ours.
    codes = [0, 5] if session.posargs else [0]
    choice = [] if "-m" in session.posargs else ["-m", marks]
    # The core's suite runs where nothing else of this project is installed: the core needs none of it.
    _install_wheels(session, "test", only="dispatch_core")
    core = ["packages/dispatch-core/tests", "packages/dispatch-core/README.md", "dispatch_core", "dispatch_pipelines"]
    _pytest(session, "--pyargs", *choice, *core, codes=codes)
    _install_wheels(session, "test", "demo", "jit")
    others = [
        path
        for path in SOURCES
        if path.name not in {"dispatch_core", "dispatch_pipelines", ARRAYS} and path.parents[1] not in COMPILED
    ]
    suite = [str((path.parent.parent / "tests").relative_to(ROOT)) for path in others]
    modules = [path.name for path in others]
    _pytest(
        session,
        "--pyargs",
        *choice,
        *([] if session.posargs else [drawn]),
        "--ignore=tests/parity",
        "--ignore=tests/interop",
        "--ignore=tests/browser",
        *suite,
        "tests",
        *([] if inside_pipelines else DOCUMENTS),  # once is enough
        *modules,
        codes=codes,
    )
    if inside_pipelines:  # operators mean the same there; the devkit shows what a pipeline changes
        paths = [path for path in suite if "dispatch-devkit" not in path]
        paths.append("tests/test_immutable_arrays.py")
        _pytest(session, "--pyargs", *choice, "--pipeline", INSIDE_PIPELINES, *paths, codes=codes)


def _pytest(session: nox.Session, *arguments: str, codes: Sequence[int] = (0,)) -> None:
    """Run tests in three processes, as some wait for children; one that has finished takes tests from the others."""
    # They share the cores, so that threads of NumPy's and torch's beside them would only wait for each other; and each
    # process of each run would compile the tests again.
    env = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": None}
    command = ["pytest", "--numprocesses=3", "--dist=worksteal", *session.posargs, *arguments]
    session.run(*command, env=env, success_codes=codes)


@nox.session(requires=["wheels"])
def light(session: nox.Session) -> None:
    """Run tutorials, examples and a sample of each operator in a default installation: with NumPy, and no SciPy."""
    # By their files, as an index may have names like ours; those of the extra ``cpu`` need no further library.
    parts = (
        "dispatch_core",
        "dispatch_devkit",
        "dispatch_operators_aten",
        "dispatch_backend_meta",
        "dispatch_backend_cpu",
        "dispatch_frontend_torchlike",
    )
    found = [str(path) for part in parts for path in WHEELS.glob(f"{part}-*.whl")]
    session.install("--no-compile", *found, *_group("light"))
    session.env.update(PYTHONPATH=None, DISPATCH_TEST_LIGHT="1", PYTHONDONTWRITEBYTECODE=None)
    tutorials = [f"{PAGE}[tutorials-{path.stem}]" for path in sorted(ROOT.glob("docs/tutorials/*.md"))]
    _pytest(session, "tests/test_default_installation.py", *tutorials)


@nox.session(requires=["wheels"], default=False)
def chips(session: nox.Session) -> None:
    """Run the npu's tests on the simulator of the day's family of chips; ``DISPATCH_GATE_CHIP`` names one, or all."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        session.skip("no C compiler was found, which the simulator needs")
    _install_wheels(session, "test", "demo")
    day = OTHER_CHIPS[dt.datetime.now(tz=dt.UTC).date().toordinal() % len(OTHER_CHIPS)]
    wanted = os.environ.get("DISPATCH_GATE_CHIP") or ("all" if os.environ.get("DISPATCH_DRAWN_SHARE") == "1" else day)
    families = OTHER_CHIPS if wanted == "all" else [wanted]
    jobs = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/test_npu_*.py"))]
    for family in families:
        marks = ["-m", "not texts and not long", OF_THE_SUITE, f"--npu={family}"]
        _pytest(session, *marks, "packages/backend-npu/tests", *jobs)


@nox.session(requires=["wheels"], default=False)
def programs(session: nox.Session) -> None:
    """Build the compiled packages where a compiler is; compare 2,000 random programs of each kind with them and without."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        session.skip("no C compiler was found")
    _install_compiled(session)
    _pytest(session, *_COMPARED)


@nox.session(requires=["wheels"], default=False)
def native(session: nox.Session) -> None:
    """Build the compiled packages with the compiler that is there; run the tests of core, cpu and frontend with them.

    Then compare 20,000 random programs of each kind, with this NumPy, with its plain loops, and with the lowest version.
    """
    _install_compiled(session)
    if session.posargs:
        session.run("pytest", *session.posargs)
        return
    # The compiled parts' tests look at a process in which nothing has overridden a class, as tests of torchlike do.
    _pytest(
        session,
        "-m",
        "not texts and not long",
        *(f"packages/{part}/tests" for part in ("calls-native", "backend-cpu-native")),
    )
    parts = ("dispatch-core", "backend-cpu", "operators-aten", "frontend-torchlike")
    suites = [f"packages/{part}/tests" for part in parts]
    _pytest(session, "-m", "not texts and not long", *suites, "tests/test_what_runs.py", "tests/test_short_ways.py")
    # The bits are NumPy's, of each version that the wheel admits, by its plain loops and by those for this processor.
    own = ("rows", "layers", "choices", "halves", "optimizers", "places", "columns")
    many = [*(f"packages/backend-cpu-native/tests/test_{name}.py" for name in own), *_COMPARED]
    session.env["DISPATCH_NATIVE_PROGRAMS"] = "20000"
    _pytest(session, *many)
    ask = "import numpy._core._multiarray_umath as m; print(*[x for x in m.__cpu_dispatch__ if m.__cpu_features__.get(x)])"
    features = str(session.run("python", "-c", ask, silent=True)).strip()
    session.env["NPY_DISABLE_CPU_FEATURES"] = features
    _pytest(session, *many)
    del session.env["NPY_DISABLE_CPU_FEATURES"]
    (least,) = (line.partition("==")[2] for line in _lowest_versions() if line.startswith("numpy=="))
    session.install(f"numpy=={least}")
    _pytest(session, *many)
    if sys.platform == "linux" and (gcc := shutil.which("gcc")):
        calls = [f"packages/calls-native/tests/test_{name}.py" for name in ("front", "memory", "recording")]
        _run_sanitized(session, gcc, [*many, *calls])


#: Tests that run random programs with compiled parts and without.
_COMPARED = [
    "packages/calls-native/tests/test_equality.py",
    "packages/calls-native/tests/test_backward.py",
    "packages/calls-native/tests/test_pipelines.py",
    "packages/backend-cpu-native/tests/test_equality.py",
    "packages/backend-cpu-native/tests/test_chains.py",
    "packages/backend-cpu-native/tests/test_trainings.py",
]


def _install_compiled(session: nox.Session) -> None:
    """Install the wheels, and the compiled packages by the compiler that is there."""
    _install_wheels(session, "test", "demo", "jit")
    session.install(*_group("native"))
    # No temporary folder of the session's: tests of other users' folders would run below it.
    folder = Path(session.virtualenv.location) / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    # fmt: off
    session.run(
        "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder),
        *map(str, COMPILED),
    )
    # fmt: on
    session.install("--no-compile", *map(str, sorted(folder.glob("*.whl"))))
    session.env["DISPATCH_TEST_NATIVE"] = "1"
    loops = "from dispatch_backend_cpu.ops.support.compiled_kernels import DRAWS, LOOPS"
    front = "from dispatch_core.calls.native import find_front"
    session.run(
        "python", "-c", f"{loops}; {front}; assert LOOPS and DRAWS and find_front()"
    )  # else their tests skip themselves


@nox.session(default=False)
def binaries(session: nox.Session) -> None:
    """Build the compiled packages' wheels for this system and every Python into ``dist/``; on one system, their sources."""
    session.install(*_group("binaries"))
    shutil.rmtree(DIST, ignore_errors=True)
    for package in COMPILED:
        if (sys.platform, platform.machine()) == ("linux", "x86_64"):
            session.run("python", "-m", "build", "--sdist", "--outdir", str(DIST), str(package))
        # Each processor on a machine of its own.
        env = {"CIBW_ARCHS_LINUX": "auto64"}
        session.run("cibuildwheel", "--output-dir", str(DIST), str(package), env=env)


def _run_sanitized(session: nox.Session, gcc: str, tests: Sequence[str]) -> None:
    """Build the compiled packages with gcc's sanitizers of addresses and undefined behaviour, and run tests with them."""
    sanitize = "-fsanitize=address,undefined -fno-omit-frame-pointer"
    env = {"CC": gcc, "CFLAGS": sanitize, "LDFLAGS": sanitize}
    for package in COMPILED:
        shutil.rmtree(package / "build", ignore_errors=True)  # objects without, which setuptools would take
    session.install("--no-deps", "--no-build-isolation", "--force-reinstall", *map(str, COMPILED), env=env)
    found = [subprocess.check_output([gcc, f"-print-file-name=lib{name}.so"], text=True) for name in ("asan", "ubsan")]
    env = {
        "ASAN_OPTIONS": "detect_leaks=0",  # Python keeps what it has when it ends
        "UBSAN_OPTIONS": "halt_on_error=1",
        "DISPATCH_NATIVE_PROGRAMS": "200",
        "LD_PRELOAD": " ".join(map(str.strip, found)),
    }
    session.run("pytest", "-q", *tests, env=env)


@nox.session(requires=["wheels"])
def parity(session: nox.Session) -> None:
    """Compare with torch, operator by operator: a drawn half of the generated cases, all with ``DISPATCH_DRAWN_SHARE=1``."""
    _install_wheels(session, "parity")
    _pytest(session, BESIDE_TORCH, "tests/parity", "tests/test_recorded_tables.py")
    # The same functions, compared with torch inside a pipeline.
    inside = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/parity/test_torchlike_*.py"))
    _pytest(session, "--pipeline", INSIDE_PIPELINES, *inside)


@nox.session(requires=["wheels"])
def nightly(session: nox.Session) -> None:
    """Draw many damaged files and interrupts, with the day as the seed, or the one of ``DISPATCH_TEST_SEED``."""
    _install_wheels(session, "parity")
    seed = os.environ.get("DISPATCH_TEST_SEED", dt.datetime.now(tz=dt.UTC).date().isoformat())
    session.env.update(DISPATCH_TEST_SEED=seed, DISPATCH_DAMAGED_FILES="10000", DISPATCH_TEST_INTERRUPTS="30000")
    session.log(f"DISPATCH_TEST_SEED={seed}")
    files = ("tests/test_memory_of_files.py", "tests/parity/test_torchlike_checkpoints.py", "tests/test_interrupts.py")
    _pytest(session, "-k", "damaged or moment", *files)


@nox.session(requires=["wheels"])
def arrays(session: nox.Session) -> None:
    """Run the tests of array libraries as devices, and of data beside theirs; arguments after ``--`` go to pytest."""
    _install_wheels(session, "test", "demo", "arrays", "interop")
    folder = "packages/backend-array-api"
    pages = [f"{PAGE}[guides-{name}]" for name in ("array-libraries", "beyond-one-device", "data")]
    refusals = "tests/parity/test_refusals_of_devices.py"
    crossing = ("tests/interop", "tests/test_compositions.py", "tests/test_saved_memory.py", refusals, *pages)
    _pytest(session, OF_LIBRARIES, "--pyargs", f"{folder}/tests", f"{folder}/README.md", ARRAYS, *crossing)


@nox.session(requires=["wheels"])
def distributed(session: nox.Session) -> None:
    """Run the tests of processes that exchange tensors, by MPI and by the gloo inside XLA."""
    _install_wheels(session, "distributed")
    # Each test has up to three processes.
    chosen = [] if os.environ.get("DISPATCH_DRAWN_SHARE") == "1" else ["-m", "not long"]
    session.run("pytest", "-q", "--numprocesses=2", *chosen, "tests/test_processes.py", *session.posargs)


@nox.session(requires=["wheels"])
def opencl(session: nox.Session) -> None:
    """Run the tests of the device over OpenCL, on this processor, and verify a tenth, drawn with the day as the seed.

    ``DISPATCH_DRAWN_SHARE=1`` verifies all; arguments after ``--`` go to ``verify``.
    """
    _install_wheels(session, "test", "opencl")
    session.install("--no-compile", "--no-deps", "--no-build-isolation", "examples/opencl_backend")
    session.env["PYTHONDONTWRITEBYTECODE"] = None
    kit = ("-p", "dispatch_aten.testing.plugin", "--dispatch-device=opencl")
    session.run("pytest", "-q", *kit, "examples/opencl_backend/tests")
    share = os.environ.get("DISPATCH_DRAWN_SHARE", "0.1")
    seed = dt.datetime.now(tz=dt.UTC).date().strftime("%Y%m%d")
    drawn = [] if share == "1" else ["--draw", share, "--seed", seed]
    session.run("python", "-m", "dispatch_core", "verify", "opencl", "--jobs", "2", *drawn, *session.posargs)


@nox.session(requires=["wheels"], default=False)
def libraries(session: nox.Session) -> None:
    """Run jobs of torch's libraries under torch and under torchlike, and write their page; words after ``--`` choose."""
    _install_wheels(session)
    needs = Path(session.create_tmp()) / "needs.txt"
    lines = session.run("python", "tools/try_libraries.py", "--needs", silent=True)
    needs.write_text(str(lines), encoding="utf-8")
    session.install("--no-compile", "--prefer-binary", "-r", str(needs))
    session.run("python", "tools/try_libraries.py", *session.posargs)


@nox.session(requires=["wheels"])
def bench(session: nox.Session) -> None:
    """Run the benchmarks, each a script that compares with torch."""
    _install_wheels(session, "bench")
    for script in sorted(ROOT.glob("benchmarks/bench_*.py")):
        session.run("python", str(script.relative_to(ROOT)), *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style, the stubs, the workflows, the forms and the citation."""
    session.install(*_group("lint"), *_group("stubs"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")
    sources = os.pathsep.join(str(path.parent) for path in SOURCES)
    session.run("python", "tools/generate_stubs.py", "--check", env={"PYTHONPATH": sources})
    session.run("zizmor", "--offline", "--no-progress", ".github")
    for schema, pattern in (
        ("citation-file-format", "CITATION.cff"),
        ("dependabot", ".github/dependabot.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-workflows", ".github/workflows/*.yml"),
    ):
        files = sorted(map(str, ROOT.glob(pattern)))
        session.run("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files)


@nox.session(default=False)
def workflows(session: nox.Session) -> None:
    """Check the workflows with actionlint, whose archive on the index downloads it from the releases of its project."""
    session.install(*_group("workflows"))
    session.run("actionlint")


@nox.session(requires=["wheels"])
def typing(session: nox.Session) -> None:
    """Check the types of the packages, the vendors' examples and this file, and programs with planted mistakes."""
    _install_wheels(session, "typing")
    checked = [*(str(path.relative_to(ROOT)) for path in SOURCES), *VENDORS, "noxfile.py"]
    session.run("mypy", *checked, *session.posargs)
    # What other systems lack is found by their types; each has a cache of its own, or it would be made again each time.
    for system in ("win32", "darwin"):
        there = ["--platform", system, "--no-warn-unreachable", "--cache-dir", f".mypy_cache/{system}"]
        session.run("mypy", *there, *checked, *session.posargs)
    # As users have the packages, by mypy and pyright.
    session.run("python", "tools/check_types.py")


@nox.session(requires=["wheels"])
def docs(session: nox.Session) -> None:
    """Build the site into ``site/``, and look at its pages; arguments after ``--`` go to MkDocs."""
    _install_wheels(session, "docs")
    _build_site(session)
    session.run("python", "tools/site/html_check.py", "site")


def _build_site(session: nox.Session) -> None:
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    session.run("python", "-m", "mkdocs", "build", "--strict", "--quiet", *session.posargs)


@nox.session(requires=["wheels"])
def versions(session: nox.Session) -> None:
    """Add the site to the branch ``gh-pages`` as the version ``dev``, or under the names after ``--``; it pushes nothing."""
    _install_wheels(session, "docs")
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    config = ("--config-file", "mkdocs.versions.yml")
    session.run("mike", "deploy", *config, "--update-aliases", *(session.posargs or ["dev"]))
    published = session.run("git", "show", "gh-pages:versions.json", external=True, silent=True)
    has_release = any("latest" in version["aliases"] for version in json.loads(str(published)))
    session.run("mike", "set-default", *config, "latest" if has_release else "dev")


@nox.session(requires=["wheels"])
def browser(session: nox.Session) -> None:
    """Look at pictures, notebooks and the site in headless Chromium, which apt brings where it can.

    Screenshots go to the folder that ``DISPATCH_SCREENSHOTS`` names.
    """
    if _find_chromium() is None and not _install_chromium():
        session.skip("there is no Chromium on the path, and apt-get cannot install it here")
    has_site = (ROOT / "site" / "index.html").exists()
    _install_wheels(session, "browser", *([] if has_site else ["docs"]))
    if not has_site:
        _build_site(session)
    session.env.update(CHROMIUM=_find_chromium(), DISPATCH_SITE=str(ROOT / "site"))
    _pytest(session, "tests/browser")


def _find_chromium() -> str | None:
    """Return the path of the system's Chromium, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def _install_chromium() -> bool:
    """Install Debian's package where this process may; return whether Chromium is there then."""
    # Without a user's number this is no system with apt.
    if shutil.which("apt-get") is None or getattr(os, "geteuid", lambda: 1)():
        return False
    command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    for each in (command, ["apt-get", "update", "--quiet"], command):
        try:
            subprocess.run(each, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=180)
        except (OSError, subprocess.TimeoutExpired):
            return False
        if _find_chromium() is not None:
            return True
    return False


@nox.session
def build(session: nox.Session) -> None:
    """Build the source distributions and the wheels into ``dist/``."""
    session.install(*_group("build"))
    shutil.rmtree(DIST, ignore_errors=True)
    for package in PACKAGES:
        session.run("python", "-m", "build", "--no-isolation", "--outdir", str(DIST), str(package), silent=True)


@nox.session(requires=["build"])
def packaging(session: nox.Session) -> None:
    """Check the archives of ``dist/``, the changelogs' fragments, each README's commands, and one package's tests."""
    session.install(*_group("packaging"))
    wheels = sorted(map(str, DIST.glob("*.whl")))
    session.run("twine", "check", "--strict", *wheels, *sorted(map(str, DIST.glob("*.tar.gz"))))
    session.run("check-wheel-contents", *wheels)
    session.run(
        "pytest",
        "-q",
        "--noconftest",
        "tests/test_archives.py",
        "tests/test_install_lines.py",
        "tests/test_release.py",
        "tests/test_readmes.py",
        env={"DISPATCH_TEST_DIST": str(DIST)},
    )
    session.notify("sdists(backend-cpu)")


@nox.session(requires=["build"], default=False)
@nox.parametrize("package", [nox.param(path.name, id=path.name) for path in PACKAGES])
def sdists(session: nox.Session, package: str) -> None:
    """Run a package's tests where its source archive is unpacked and installed; arguments after ``--`` go to pytest."""
    name = nox.project.load_toml(ROOT / "packages" / package / "pyproject.toml")["project"]["name"]
    (archive,) = DIST.glob(f"{name.replace('-', '_')}-*.tar.gz")
    folder = Path(session.create_tmp()) / archive.name.removesuffix(".tar.gz")
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as members:
        members.extractall(folder.parent, filter="data")
    session.env["PYTHONPATH"] = None
    # The other packages are the wheels beside the archive.
    links = f"{DIST.as_uri()} {os.environ.get('PIP_FIND_LINKS', '')}"
    group = f"{folder / 'pyproject.toml'}:test"
    session.install(str(folder), "--group", group, "pytest-xdist", env={"PIP_FIND_LINKS": links})
    session.chdir(folder)
    _pytest(session)


@nox.session(requires=["build"], default=False)
def assets(session: nox.Session) -> None:
    """Write into ``dist/`` what a release carries besides archives: requirements with hashes, and an index of the wheels."""
    session.install(*_group("packaging"))
    session.run("python", "tools/install_lines.py", "files", str(DIST))


@nox.session(requires=["build"], default=False)
def materials(session: nox.Session) -> None:
    """Write conda recipes and a bill of materials into ``dist/``, and ask the index for vulnerabilities of its parts.

    A part that cannot be looked up fails the session, unless ``DISPATCH_RELEASE_OFFLINE`` is 1.
    """
    session.install(*_group("materials"))
    session.run("python", "tools/conda_recipes.py", str(DIST))
    session.run("pytest", "-q", "--noconftest", "tests/test_conda_recipes.py", "tests/test_supply_chain.py")
    session.run("python", "tools/supply_chain.py", "bill", str(DIST))
    session.run("python", "tools/supply_chain.py", "audit", str(DIST))


@nox.session(requires=["build"], default=False)
def readmes(session: nox.Session) -> None:
    """Follow every README, tutorial and guide in new environments, and install every package and extra there."""
    session.install(*_group("test"))
    env = {"DISPATCH_TEST_DIST": str(DIST), "DISPATCH_TEST_EXTRAS": "1"}
    session.run("pytest", "-q", "tests/test_readmes.py", "tests/test_pages.py", env=env)


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """Build the committed tree as a release, check all of it, and write the notes; nothing is tagged or uploaded."""
    session.install(*_group("packaging"))
    session.run("python", "tools/release.py", "check")
    tree = ROOT / ".nox" / ".release"
    shutil.rmtree(tree, ignore_errors=True)
    session.run("git", "clone", "--quiet", str(ROOT), str(tree), external=True)
    date = dt.datetime.now(dt.UTC).date().isoformat()
    notes = session.run("python", "tools/release.py", "notes", "--root", str(tree), "--date", date, silent=True)
    session.run("python", "tools/install_lines.py", "--root", str(tree), "pages")
    archives = ("packaging", "sdists", "readmes", "assets", "materials")
    others = (
        "tests",
        "texts",
        "lint",
        "typing",
        "docs",
        "light",
        "browser",
        "parity",
        "arrays",
        "distributed",
        "opencl",
        "compatibility",
        "lowest",
    )
    nested = [sys.executable, "-m", "nox", "--stop-on-first-error", "--sessions", *archives, *others]
    # What the gate draws from, because all of it takes long, is run whole.
    whole = {f"DISPATCH_{family}_SHARE": "1" for family in ("CAPTURED", "DRAWN", "REFUSALS")}
    with session.chdir(tree):
        session.run(*nested, external=True, env=whole)
    # All is well: only now is anything written here.
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(tree / "dist", DIST)
    session.run("python", "tools/release.py", "notes", "--date", date, silent=True)
    session.run("python", "tools/install_lines.py", "pages")
    (path := ROOT / ".nox" / "release-notes.md").write_text(str(notes), encoding="utf-8")
    version = next(DIST.glob("dispatch_core-*.whl")).name.split("-")[1]
    session.log(f"dist/ has version {version}, {path.relative_to(ROOT)} its notes. Look at both, then publish:")
    for command in (
        f"git commit --all --message 'release: {version}'",
        f"git tag v{version}",
        f"git push origin HEAD v{version}",
        "gh workflow run release.yml --ref v" + version + "  # or: twine upload dist/*.whl dist/*.tar.gz",
    ):
        session.log(f"    {command}")
