"""Blocks of the documents: each Python block is run by some test, and each command of a shell block exists.

Tutorials and guides are followed to the letter by ``test_pages.py``; here are the other pages.
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.texts

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("packages/*/README.md"), *ROOT.glob("docs/**/*.md")}
    - {*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/guides/*.md")}
)
FENCE = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
#: Programs without prompts, by their first line, and the test that runs them.
RUN_ELSEWHERE = {
    ("dispatch-core/README.md", "import acme"): "test_readmes.py",
    ("backend-array-api/README.md", "import torchlike"): "backend-array-api/tests",
    ("backend-array-api/README.md", "import acme"): "backend-array-api/tests",
}
#: Programs of the system that commands may begin with.
SYSTEM = {"cd", "eval", "export", "ls", "source"}


def blocks(page: Path, *languages: str) -> list[str]:
    """Return the fenced blocks of a page in these languages."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [each["text"] for each in found if each["language"] in languages]


def programs() -> list[tuple[str, str]]:
    """Return page and text of each Python block without prompts that no other test runs."""
    found = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix().removeprefix("packages/")
        for text in blocks(page, "python"):
            if ">>>" not in text and (name, text.splitlines()[0]) not in RUN_ELSEWHERE:
                found.append((name, text))
    return found


def run(text: str, **names: object) -> dict[str, object]:
    """Run a block with these names, and return what it leaves; under ``""`` are the values that its lines show."""
    names[""] = shown = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Expr):
            shown.append(eval(compile(ast.Expression(statement.value), "<block>", "eval"), names))
        else:
            exec(compile(ast.Module([statement], []), "<block>", "exec"), names)
    return names


def test_the_blocks_without_prompts_are_those_that_are_run_here():
    assert [page for page, _ in programs()] == ["docs/dask.md", "docs/npu.md", "docs/vendors.md"]


def test_the_program_for_a_cluster_runs_in_threads_of_the_process(capsys):
    pytest.importorskip("dask.array", reason="the page is about Dask, which is not installed")
    (text,) = (text for page, text in programs() if page == "docs/dask.md")
    # A cluster has more memory than this machine; without one there is no client.
    text = text.replace("10_000_000", "1_000").replace("100_000", "100")
    run(re.sub(r"^(from distributed|client =).*$", "", text, flags=re.MULTILINE))
    assert float(capsys.readouterr().out) == pytest.approx(1)


def test_the_simulators_interface_for_tests_does_what_the_page_shows(simulator):
    import torchlike

    (text,) = (text for page, text in programs() if page == "docs/npu.md")
    ones = torchlike.ones(3, device="npu")
    _, counts, log = run(text, step=lambda: ones + ones)[""]
    assert counts["device_memory"] >= 1
    assert {"aclnnAddGetWorkspaceSize", "aclnnAdd"} <= {*log}


def test_the_provider_of_the_vendors_page_serves_relu():
    import numpy as np

    (text,) = (text for page, text in programs() if page == "docs/vendors.md")
    left = run(text)
    assert left["relu"](np.float32([-1, 2])).tolist() == [0, 2]
    assert left["relu"](np.float64([-1, 2])) is NotImplemented
    assert left["PROVIDER"].device == "cpu"


def commands() -> list[tuple[str, str]]:
    """Return page and text of each command of the shell blocks."""
    found = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for text in blocks(page, "console"):
            found += [(name, line[2:]) for line in text.splitlines() if line.startswith("$ ")]
        for text in blocks(page, "sh"):
            found += [(name, part) for line in text.splitlines() for part in line.split(" && ")]
    return [(page, command) for page, command in found if command.strip()]


@pytest.mark.parametrize(("page", "command"), commands())
def test_a_command_of_a_page_exists(page, command):
    words = [word for word in shlex.split(command, comments=True) if "=" not in word.partition(" ")[0]]
    if not words:
        return  # a comment
    program, *rest = words
    if Path(program).name in {"python", "python3"}:
        check_arguments_of_python(rest)
    elif Path(program).name == "nox":
        names = re.findall(r"^def (\w+)\(session", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE)
        assert rest[rest.index("-s") + 1] in names
    else:
        scripts = {each.name for each in entry_points(group="console_scripts")} | {"pip", "nox"}
        assert program in SYSTEM | scripts


def check_arguments_of_python(words: list[str]) -> None:
    """Check that the module or the program which ``python`` is asked to run exists."""
    if words[0] == "-m":
        module = words[1].split(".")[0]
        assert module in {*sys.stdlib_module_names, "pip", "nox", "coverage"} or find_spec(module) is not None
    elif words[0] != "-c":
        assert (ROOT / words[0]).is_file(), f"{words[0]} is not a file of the repository"
