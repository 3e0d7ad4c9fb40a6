"""The workflows, the commit hooks and the forms agree with each other and with what nox has."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import dispatch_core as dc
from dispatch_devkit import scaffold

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def load(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path: Path) -> dict:
    return load(path)["jobs"]


def steps(path: Path) -> list[dict]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def sessions() -> dict[str, ast.FunctionDef]:
    """Return the functions of the noxfile that are sessions."""
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {
        each.name: each for each in functions if any("nox.session" in ast.unparse(line) for line in each.decorator_list)
    }


def versions() -> set[str]:
    """Return the versions of Python that nox looks for."""
    (text,) = re.findall(r"for version in \((.*?)\):", (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    return {*re.findall(r'"(.*?)"', text)}


def groups() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]


def test_there_are_workflows_for_tests_docs_and_releases():
    assert {path.stem for path in WORKFLOWS} == {"docs", "libraries", "nightly", "release", "tests"}


@each_workflow
def test_a_workflow_runs_sessions_that_exist(path):
    matrix = [job.get("strategy", {}).get("matrix", {}) for job in jobs(path).values()]
    named = {name for each in matrix for name in each.get("session", [])}
    for step in steps(path):
        for line in re.findall(r"nox -s (.+)", step.get("run", "")):
            named |= {*re.findall(r"[a-z]+", line.replace('"$SESSION"', "").replace("$PACKAGE", ""))}
    assert named
    assert named <= {*sessions()}


@each_workflow
def test_an_action_is_pinned_by_its_commit_and_says_its_version(path):
    for line in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8")):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@each_workflow
def test_a_command_of_a_workflow_is_one_of_the_systems_shell(path):
    for name, job in jobs(path).items():
        for text in (step["run"] for step in job["steps"] if "run" in step):
            assert "${{" not in text, "an expression is pasted into the text: give it by env"
            # Where Windows is a row, its PowerShell reads the line, too.
            systems = job.get("strategy", {}).get("matrix", {}).get("os", [])
            assert "windows-latest" not in systems or not re.search(r"[$\n;|&]", text.rstrip()), f"{name}: {text}"
            done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False, text=True)
            assert (done.returncode, done.stderr) == (0, ""), f"{name}: {text}"


@pytest.mark.parametrize(
    ("kind", "tag", "further", "passes"),
    [
        ("tag", "v0.3.0", 0, True),
        ("branch", "v0.3.0", 0, False),
        ("tag", "v0.4.0", 0, False),
        ("tag", "v0.3.0", -1, False),
        ("tag", "v0.3.0", 1, False),
    ],
)
def test_a_release_is_of_the_tags_version_and_whole(tmp_path, kind, tag, further, passes):
    (tmp_path / "packages").symlink_to(ROOT / "packages")
    (tmp_path / "dist").mkdir()
    pure = [path for path in ROOT.glob("packages/*/pyproject.toml") if not path.with_name("setup.py").exists()]
    for number in range(len(pure) + further):
        for ending in ("-py3-none-any.whl", ".tar.gz"):
            (tmp_path / "dist" / f"package_{number}-0.3.0{ending}").touch()
    (check,) = (each for each in steps(ROOT / ".github/workflows/release.yml") if "REF_TYPE" in each.get("env", {}))
    variables = {**os.environ, "REF_TYPE": kind, "TAG": tag}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", check["run"]]
    assert (subprocess.run(command, check=False, cwd=tmp_path, env=variables).returncode == 0) == passes


def test_an_action_has_one_version_in_pages_and_templates_too():
    paths = [*WORKFLOWS, *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/src/**/*.yml.template")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    lines = {line for text in texts for line in re.findall(r"uses: (\S+@.*)", text)}
    assert [text for path, text in zip(paths, texts, strict=True) if path not in WORKFLOWS and "uses: actions/" in text]
    assert len({line.partition("@")[0] for line in lines}) == len(lines)


@each_workflow
def test_a_workflow_may_read_the_sources_and_nothing_else_unless_a_job_says_why(path):
    assert load(path)["permissions"] == {"contents": "read"}
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] <= 90
        assert ("permissions" in job) == (name in {"assets", "publish", "versions"})
    assert "secrets." not in path.read_text(encoding="utf-8")


def test_the_tests_run_on_what_the_packages_claim_and_try_more_as_an_experiment():
    job = jobs(ROOT / ".github/workflows/tests.yml")["tests"]
    matrix = job["strategy"]["matrix"]
    assert {*matrix["python"]} == versions()
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert job["continue-on-error"] == "${{ matrix.experimental }}"
    assert {row["python"] for row in matrix["include"]} == {"3.14", "3.14t"}
    assert all(row["experimental"] for row in matrix["include"])


def test_every_package_is_tested_from_its_archive():
    matrix = jobs(ROOT / ".github/workflows/tests.yml")["sdists"]["strategy"]["matrix"]
    assert matrix["package"] == sorted(
        path.parent.name
        for path in ROOT.glob("packages/*/pyproject.toml")
        if not (path.parent / "setup.py").exists()  # it needs a compiler, and has a job of its own
    )


def test_every_session_of_a_change_is_a_job_too():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    lines = re.findall(r"^(?:step .* --sessions|for session in) (.*?)(?:; do)?$", script, re.MULTILINE)
    assert len(lines) == 4
    run = jobs(ROOT / ".github/workflows/tests.yml")["checks"]["strategy"]["matrix"]["session"]
    # The other Pythons are rows of their own, the site has a workflow, and the program for workflows is downloaded.
    assert {*" ".join(lines).split()} - {"turn", "docs"} == {*run} - {"lowest", "workflows"}


def test_each_night_all_is_run_that_a_change_draws_from():
    job = jobs(ROOT / ".github/workflows/nightly.yml")["whole"]
    assert job["env"]["DISPATCH_DRAWN_SHARE"] == "1"
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    drawing = {name for name, node in sessions().items() if "inside_pipelines=True" in ast.unparse(node)}
    drawing |= {name for name, node in sessions().items() if {"INSIDE_PIPELINES", "BESIDE_TORCH"} & {*names_in(node)}}
    assert drawing == {*job["strategy"]["matrix"]["session"]}
    assert '"DRAWN"' in ast.get_source_segment(text, sessions()["release"])


def names_in(node):
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def test_a_release_is_started_by_hand_and_published_without_a_password():
    path = ROOT / ".github/workflows/release.yml"
    # YAML 1.1 reads the key "on" as true.
    assert load(path)[True] == {"workflow_dispatch": None}
    publish = jobs(path)["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "pypi"
    assert publish["needs"] == ["build", "binaries"]
    assert publish["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")


@pytest.mark.parametrize("sort", scaffold.SORTS)
def test_the_workflow_of_a_new_backend_is_like_ours(sort):
    text = dict(scaffold.templates(sort))[".github/workflows/test.yml"]
    ours = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert all(f"uses: {line}\n" in ours for line in used)
    found = yaml.safe_load(text)
    assert found["permissions"] == {"contents": "read"}
    assert {*found["jobs"]["test"]["strategy"]["matrix"]["python-version"]} == versions()
    assert dc.__version__.startswith("0.1"), "the template's requirements say 0.1"


def test_the_hooks_before_a_commit_are_the_tools_of_lint_in_its_versions():
    (local,) = load(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    hooks = {hook["id"]: hook for hook in local["hooks"]}
    assert {line for hook in hooks.values() for line in hook["additional_dependencies"]} == {*groups()["lint"]}
    commands = {tuple(hook["entry"].split()[:2]) for hook in hooks.values()}
    run = ast.unparse(sessions()["lint"])
    assert {("ruff", "check"), ("ruff", "format")} < commands
    for program in {first for first, _ in commands}:
        assert f"session.run('{program}'" in run
    schemas = re.findall(r"vendor\.([\w-]+)", (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert {*schemas} == {*re.findall(r"\('([\w-]+)', '[^']*\.(?:yml|cff)'\)", run)}
    for hook in hooks.values():
        pattern = hook.get("files", "")
        files = ["CITATION.cff", *(path.relative_to(ROOT).as_posix() for path in ROOT.glob(".github/**/*.yml"))]
        assert not pattern or [file for file in files if re.search(pattern, file)], f"{hook['id']} meets no file"


def test_the_container_for_development_is_set_up_by_the_commands_of_the_readme():
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```console\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1]
    commands = " && ".join(re.findall(r"^\$ (.*)$", block, re.MULTILINE))
    # A README that installs from a release is for users; and the container's shell is one that has a dot for "source".
    expected = re.sub(r"https://\S+/", "requirements/", commands).replace("source ", ". ")
    assert settings["postCreateCommand"] == expected
    folder = settings["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"].split("/")[1]
    assert commands.startswith(f"python3 -m venv {folder} && ")


def test_the_addresses_of_forms_and_rules_are_the_projects():
    home = tomllib.loads((ROOT / "packages/dispatch-core/pyproject.toml").read_text(encoding="utf-8"))["project"][
        "urls"
    ]
    documents = [ROOT / "SECURITY.md", ROOT / "CODE_OF_CONDUCT.md", ROOT / ".github/ISSUE_TEMPLATE/config.yml"]
    for path in documents:
        found = re.findall(r"https://github\.com/\S+?(?=[)\s])", path.read_text(encoding="utf-8"))
        assert found
        assert {link for link in found if not link.startswith(home["Homepage"])} == set()


def test_the_security_page_names_every_variable_that_is_read():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("packages/*/src/**/*.py"))
    named = {*re.findall(r"[\"'](DISPATCH_[A-Z_]+)[\"']", sources)}
    read = named - {"DISPATCH_KEY_PRIORITY", "DISPATCH_NOWHERE_SET"}  # a public name, and one of an example
    assert {"DISPATCH_AUTOLOAD", "DISPATCH_CPU_CACHE"} < read
    assert {name for name in read if f"`{name}`" not in text} == set()
