"""``dispatch trace``: the program runs as under Python, and its calls are shown whatever its end is."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zipfile

import pytest

from dispatch_devkit.command_line import main

COMMAND = [sys.executable, "-m", "dispatch_core", "trace"]
SEED = int(os.environ.get("DISPATCH_TEST_SEED", "0"))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX forks processes")
needs_signals = pytest.mark.skipif(os.name != "posix", reason="about signals as POSIX has them")
#: A namespace with two operators, of which one calls the other.
DEMO = """
import dispatch_core as dc
library = dc.Library("demo", "DEF")
library.define("leaf(int x) -> int")
library.define("outer(int x) -> int")
library.impl("leaf", lambda x: x + 1, "CompositeExplicitAutograd")
library.impl("outer", lambda x: dc.ops.demo.leaf(x) + dc.ops.demo.leaf(x), "CompositeImplicitAutograd")
"""
SHOW = """
from __future__ import annotations
import os, sys, __main__
if __name__ == "__main__":
    known = "__name__ __file__ __package__ __doc__ __cached__".split()
    print([(name, vars(__main__).get(name)) for name in known], __spec__ and __spec__.name)
    print(__loader__ if isinstance(__loader__, type) else type(__loader__), sys.modules["__main__"] is __main__)
    print(sys.argv, sys.path[0], [name for name in vars(__main__) if not name.startswith("__")])
"""
PLAIN = """
class Annotated:
    number: int
print(Annotated.__annotations__)
"""


def run(*arguments, cwd=None, **environment):
    return subprocess.run(
        [*map(str, arguments)],
        capture_output=True,
        check=False,
        cwd=cwd,
        encoding="utf-8",
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


@pytest.fixture
def programs(tmp_path):
    """Return a folder with one program in several forms; `link.py` stands in another folder than its target."""
    for name, text in {"show.py": SHOW, "plain.py": PLAIN}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/__main__.py").write_text(SHOW)
    (tmp_path / "folder/real.py").write_text(SHOW)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    if os.name == "posix":
        (tmp_path / "link.py").symlink_to("folder/real.py")
    else:
        (tmp_path / "link.py").write_text(SHOW)
    return tmp_path


def mark_long(cases, *short):
    """Return cases, of which all but the named ones wait for the long session: each starts two processes."""
    return [pytest.param(each, marks=[] if each in short else [pytest.mark.long]) for each in cases]


FORMS = {
    "a file": ["show.py", "a", "--json", "--", "-x"],
    "a file of another folder": ["folder/real.py"],
    "a link": ["link.py", "--html"],
    "a folder": ["folder", "b"],
    "an archive": ["packed.zip", "-m"],
    "a module": ["-m", "show", "--output", "x"],
    "a package": ["-m", "folder", "y"],
    "code": ["-c", SHOW, "--chrome", "z"],
    "annotations that are no strings": ["plain.py"],
}


@pytest.mark.parametrize("form", mark_long(FORMS, "a file", "a module"))
def test_a_traced_program_sees_what_it_sees_under_python(programs, form):
    plain, traced = (run(*command, *FORMS[form], cwd=programs) for command in ([sys.executable], COMMAND))
    assert plain.returncode == 0, plain.stderr
    assert (traced.returncode, traced.stdout) == (0, plain.stdout)
    assert traced.stderr == "dispatch trace: 0 calls, 0 operators, 0 ns\n"


@pytest.mark.long
@pytest.mark.parametrize("flags", [[], ["-P"]])
def test_the_path_begins_as_under_python(programs, flags):
    code = "import sys; print(sys.path[0])"
    (programs / "folder/path.py").write_text(code)
    python = [sys.executable, *flags]
    traced = [*python, "-m", "dispatch_core", "trace"]
    for program in (["folder/path.py"], ["-c", code]):
        assert run(*traced, *program, cwd=programs).stdout == run(*python, *program, cwd=programs).stdout


ENDS = {
    "": 0,
    "import sys; sys.exit()": 0,
    "import sys; sys.exit(3)": 3,
    "import sys; sys.exit('text')": 1,
    "1 / 0": 1,
    "raise dc.BackendError('nothing there')": 1,
    "def f():\n  raise OSError('in a function')\nf()": 1,
    "raise BrokenPipeError": 1,
    "import sys; sys.excepthook = lambda *error: print('hook', error[0].__name__, file=sys.stderr); 1 / 0": 1,
    "import sys; sys.stdout.close()": 0,
    "import threading\ndef late():\n  dc.ops.demo.leaf(7)\nthreading.Timer(0.1, late).start()": 0,
}


@pytest.mark.parametrize("end", mark_long(ENDS, "import sys; sys.exit(3)", "1 / 0"))
def test_the_exit_status_the_errors_and_what_was_traced_are_kept(tmp_path, end):
    (tmp_path / "program.py").write_text(f"{DEMO}dc.ops.demo.outer(1)\n{end}\n")
    plain = run(sys.executable, "program.py", cwd=tmp_path)
    traced = run(*COMMAND, "--output", "calls.txt", "program.py", cwd=tmp_path)
    assert (traced.returncode, traced.stdout, traced.stderr) == (ENDS[end], plain.stdout, plain.stderr)
    lines = (tmp_path / "calls.txt").read_text().splitlines()
    assert [line.partition(" (")[0] for line in lines[:3]] == ["demo::outer", "  demo::leaf", "  demo::leaf"]
    assert "dispatch trace: " in "\n".join(lines)
    if "late" in end:
        assert lines[3].startswith("[Thread-1] demo::leaf (")


@needs_signals
@pytest.mark.long
def test_an_interrupted_program_is_reported_on(tmp_path):
    (tmp_path / "program.py").write_text(
        f"{DEMO}import time\ndc.ops.demo.outer(1)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    started = subprocess.Popen(
        [*COMMAND, "--json", "--output", "calls.json", "program.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout.readline() == "ready\n"
    time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    errors = started.communicate(timeout=60)[1]
    assert started.returncode == 130
    assert re.search(r'program\.py", line \d+, in <module>\n.*sleep\(60\)\n(.*\n)?KeyboardInterrupt\n$', errors)
    assert len(json.loads((tmp_path / "calls.json").read_text())["calls"]) == 3


def test_every_form_of_the_report_tells_of_the_same_calls(tmp_path):
    (tmp_path / "program.py").write_text(f"{DEMO}dc.ops.demo.outer(1)\nprint('done')\n")
    forms = "--html page.html --chrome chrome.json --graph graph.svg --output calls.txt".split()
    done = run(*COMMAND, *forms, "program.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    names = [
        each["name"] for each in json.loads((tmp_path / "chrome.json").read_text())["traceEvents"] if each["ph"] == "X"
    ]
    # The layer that records the graph is one of the kernels.
    assert names == ["demo::outer", "demo::outer", "demo::leaf", "demo::leaf"]
    page = (tmp_path / "page.html").read_text()
    assert page.count("demo::leaf") >= 3
    assert "<script" not in page
    assert "http" not in page
    assert "demo::outer" in (tmp_path / "graph.svg").read_text()
    assert "demo::outer" in (tmp_path / "calls.txt").read_text()


def test_without_an_option_calls_are_printed_as_they_run_and_summed_up(tmp_path):
    (tmp_path / "program.py").write_text(
        f"{DEMO}import sys\ndc.ops.demo.leaf(1)\nprint('between', file=sys.stderr)\ndc.ops.demo.leaf(1)\n"
    )
    done = run(*COMMAND, "program.py", cwd=tmp_path)
    first, between, second, summary, head, rule, row = done.stderr.splitlines()
    assert first == second == "demo::leaf (BackendSelect) -> Undefined by CompositeExplicitAutograd, program.py:6"
    assert between == "between"
    assert re.fullmatch(r"dispatch trace: 2 calls, 1 operator, [\d.]+ .?s", summary)
    assert head.split()[:3] == ["operator", "calls", "own"]
    assert set(rule) == {"-", " "}
    assert row.split()[:2] == ["demo::leaf", "2"]
    # The variable changes nothing about it.
    again = run(*COMMAND, "--json", "program.py", cwd=tmp_path, DISPATCH_TRACE="1")
    assert again.stderr.startswith('between\n{\n  "program": "program.py",')


@needs_fork
@pytest.mark.long
def test_processes_that_a_program_starts_are_not_traced(tmp_path):
    (tmp_path / "program.py").write_text(
        f"{DEMO}import os\ndc.ops.demo.leaf(1)\nif not (child := os.fork()):\n    dc.ops.demo.outer(2)\n"
        "else:\n    os.waitpid(child, 0)\n    dc.ops.demo.leaf(3)\n"
    )
    done = run(*COMMAND, "--json", "--output", "calls.json", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    calls = json.loads((tmp_path / "calls.json").read_text())["calls"]
    assert [call["operator"] for call in calls] == ["demo::leaf", "demo::leaf"]


def draw_tree(source, depth=0):
    """Return the children of a drawn call, each a tree of its own."""
    return [draw_tree(source, depth + 1) for _ in range(source.randrange(4 if depth < 4 else 1))]


def test_drawn_programs_of_nested_calls_in_threads_are_told_call_by_call(tmp_path):
    source = random.Random(SEED)
    trees = [[draw_tree(source) for _ in range(3)] for _ in range(3)]
    program = f"""
import json, threading, dispatch_core as dc
registry = dc.Registry()
library = dc.Library("demo", "DEF", registry=registry)
library.define("node(Any children, str name) -> int")
def node(children, name):
    for number, child in enumerate(children):
        registry.ops.demo.node.default(child, f"{{name}}.{{number}}")
    return 0
library.impl("node", node, "CompositeExplicitAutograd")
def work(trees):
    for tree in trees:
        registry.ops.demo.node.default(tree, "root")
for number, trees in enumerate(json.loads({json.dumps(trees)!r})):
    thread = threading.Thread(target=work, args=(trees,), name=f"worker {{number}}")
    thread.start()
    thread.join()
"""
    (tmp_path / "program.py").write_text(program)
    done = run(*COMMAND, "--json", "--output", "calls.json", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    calls = json.loads((tmp_path / "calls.json").read_text())["calls"]

    def depths(tree, depth=0):
        return [depth, *(found for child in tree for found in depths(child, depth + 1))]

    for number, rows in enumerate(trees):
        own = [call for call in calls if call["thread"] == f"worker {number}"]
        assert [call["depth"] for call in own] == [depth for tree in rows for depth in depths(tree)]
        for place, call in enumerate(own):
            inside = own[place + 1 :]
            inside = inside[: next((n for n, each in enumerate(inside) if each["depth"] <= call["depth"]), len(inside))]
            children = sum(each["duration"] for each in inside if each["depth"] == call["depth"] + 1)
            assert call["own"] == call["duration"] - children >= 0
    assert len(calls) == sum(len(depths(tree)) for rows in trees for tree in rows)


WRONG = {
    "": "there is no program to trace\nHint: name a Python file, or -m and a module, or -c and code",
    "progam.py": "there is no file 'progam.py'\nHint: did you mean program.py?",
    "--html no/where.html program.py": "--html no/where.html: there is no folder 'no'",
    "--graph graph.png program.py": "--graph graph.png: the suffix says nothing of the form to write\nHint: suffixes",
    "--htlm x program.py": "unrecognized arguments: --htlm\nHint: did you mean --html or",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_what_cannot_run_ends_with_status_2_before_the_program_begins(tmp_path, monkeypatch, capsys, arguments):
    (tmp_path / "program.py").write_text("raise AssertionError")
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["trace", *arguments.split()])
    except SystemExit as error:
        status = error.code
    printed = capsys.readouterr()
    assert (status, printed.out) == (2, "")
    assert WRONG[arguments] in printed.err
