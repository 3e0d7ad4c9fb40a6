"""Runs the libraries' jobs under torch and under torchlike, compares their values, and writes docs/coverage/libraries.md.

python tools/try_libraries.py             # runs all jobs both ways, keeps the results, and writes the page
python tools/try_libraries.py bert pyro   # those whose library or file has one of the words in its name
python tools/try_libraries.py --page      # writes the page again from the results that are kept
python tools/try_libraries.py --needs     # lists what is to be installed, a requirement a line

``--keep FOLDER`` keeps the values that torch gave in a folder, and runs torch again only where a job or its library is
another. ``library_jobs/jobs.toml`` names the libraries with their versions, ``library_jobs/results.json`` is the data of
the page. The process ends with 1 where a job that matched before does so no more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

__all__ = ["JOBS", "PAGE", "RESULTS", "Job", "Result", "compare", "jobs", "page", "results"]

ROOT: Final = Path(__file__).parents[1]
JOBS: Final = ROOT / "tools" / "library_jobs"
RESULTS: Final = JOBS / "results.json"
PAGE: Final = ROOT / "docs" / "coverage" / "libraries.md"
#: How far a value may be from torch's, as a part of it, or of one where it is less than one.
CLOSE: Final = 1e-4
SECONDS: Final = 300
MATCHES: Final = "matches"
_HEAD: Final = """\
# Libraries

**{count}** (torch {torch}, {day}).

Each library is as it is on the index, and runs unchanged under `python -m torchlike run`. A job is a small program that
trains a few steps or generates, with random weights from a seed and no download; some run in two processes. It runs
under torch and under torchlike. Its values (losses, weights, texts) match where none differs by more than {close} of
torch's value, or by {close} where that is less than one.

`nox -s libraries` installs the libraries in these versions, runs the jobs and writes this page; words after `--` choose
jobs. The programs lie in `tools/library_jobs`.
"""


@dataclass(frozen=True)
class Job:
    """A program that uses a library, ``file`` without its ending, below the folder of jobs."""

    library: str
    version: str
    file: str

    @property
    def path(self) -> Path:
        """Return where the program lies."""
        return JOBS / f"{self.file}.py"

    @property
    def what(self) -> str:
        """Return the first line of the program, which says what it does."""
        return self.path.read_text(encoding="utf-8").partition("\n")[0].strip('"').rstrip(".")


@dataclass(frozen=True)
class Result:
    """A job's outcome: the greatest relative difference where it ran both ways, the error where it did not."""

    library: str
    version: str
    file: str
    outcome: str
    difference: float | None = None
    missing: str = ""


def jobs() -> Iterator[Job]:
    """Yield the jobs of the table."""
    for library, row in _table()["libraries"].items():
        for file in row["jobs"]:
            yield Job(library, row["version"], file)


def results() -> list[Result]:
    """Return the results that are kept, in the order of the jobs."""
    return [Result(**each) for each in json.loads(RESULTS.read_text(encoding="utf-8"))["jobs"]]


def compare(ours: Any, theirs: Any, place: str = "") -> tuple[float, str]:
    """Return the greatest difference of two values of JSON, and its place; infinite where they are of another form."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and [*theirs] == [*ours]:
        pairs = [(name, ours[name], theirs[name]) for name in theirs]
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = [(str(number), *pair) for number, pair in enumerate(zip(ours, theirs, strict=True))]
    elif {type(ours), type(theirs)} in ({float}, {float, int}):
        # A value that is no number on both sides is equal to itself.
        same = ours == theirs or (ours != ours and theirs != theirs)  # noqa: PLR0124
        found = 0.0 if same else abs(ours - theirs) / max(1.0, abs(theirs))
        return (found if found == found else float("inf")), place  # noqa: PLR0124
    else:
        return (0.0 if ours == theirs and type(ours) is type(theirs) else float("inf")), place
    return max(
        (compare(our, their, f"{place}.{name}".strip(".")) for name, our, their in pairs),
        key=lambda each: each[0],
        default=(0.0, place),
    )


def page(rows: Iterable[Result], day: str) -> str:
    """Return the page's text."""
    rows = list(rows)
    libraries = {each.library: [row for row in rows if row.library == each.library] for each in rows}
    whole = [name for name, own in libraries.items() if all(row.outcome == MATCHES for row in own)]
    matched = sum(row.outcome == MATCHES for row in rows)
    count = f"{matched} of {len(rows)} jobs and {len(whole)} of {len(libraries)} libraries match"
    lines = [
        *_HEAD.format(count=count, torch=_table()["torch"], day=day, close=f"{CLOSE:.0e}").splitlines(),
        "",
        "| library | version | job | result | what is missing |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {row.library} | {row.version} | {_say(row)} | {row.outcome} | {_cell(row.missing)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _say(row: Result) -> str:
    return Job(row.library, row.version, row.file).what


def _cell(text: str) -> str:
    return f"`{text.replace('|', '/').replace('`', chr(39))}`" if text else ""


def _table() -> dict[str, Any]:
    return tomllib.loads((JOBS / "jobs.toml").read_text(encoding="utf-8"))


def _needs() -> Iterator[str]:
    table = _table()
    yield f"torch=={table['torch']}"
    for library, row in table["libraries"].items():
        yield f"{library}=={row['version']}"
    yield from (f"{name}=={version}" for name, version in table["needs"].items())


def _launch(library: str, job: Job) -> list[str]:
    """Return the words before a job's program that start it in two processes, if it is one for these."""
    count = ["--nproc-per-node", "2"]
    return ["-m", f"{library}.distributed.run", *count] if job.file.startswith("processes/") else []


class _FailedError(Exception):
    """A program that ended with an error, or did not end in time."""


def _run(job: Job, *how: str) -> Any:
    """Return the values that a job prints in a process of its own."""
    own = [str(JOBS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(own),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, *how, str(job.path)],
                capture_output=True,
                check=False,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise _FailedError(f"it did not end within {SECONDS} seconds") from None
    if done.returncode:
        log = os.environ.get("LIBRARY_ERRORS")
        if log:
            Path(log, f"{job.file.replace('/', '-')}.txt").write_text(done.stderr[-20_000:], encoding="utf-8")
        raise _FailedError(_name_error(done.stderr) or f"it ended with {done.returncode}")
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])


def _name_error(text: str) -> str:
    """Return one line for a traceback: the first error that names torch, where a library hides it behind others."""
    found = re.findall(r"^[\w.]+(?:Error|Exception|Warning|Interrupt|Exit)\b.*$", text, re.MULTILINE)
    chosen = [line for line in found if "torch" in line][:1] or found[-1:] or text.strip().splitlines()[-1:]
    line = re.sub(r"\S*/site-packages/| \(/\S+\)$", "", "".join(chosen))
    return line.removeprefix("torchlike.names.lazy_names.").removeprefix("dispatch_core.errors.")[:200].rstrip()


def _torch_values(job: Job, folder: Path | None) -> Any:
    """Return the values under torch, from a folder where they are kept for this text of the job and this version."""
    start = [*_launch("torch", job), str(JOBS / "under_torch.py")]
    if folder is None:
        return _run(job, *start)
    texts = [job.path.read_text(encoding="utf-8"), (JOBS / "job_values.py").read_text(encoding="utf-8"), job.version]
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = folder / f"{job.file.replace('/', '-')}-{name}.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(_run(job, *start)), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def _try(job: Job, folder: Path | None) -> Result:
    """Run a job both ways."""
    facts = (job.library, job.version, job.file)
    installed = metadata.version(job.library)
    if installed.partition("+")[0] != job.version:
        return Result(*facts, "not tried", missing=f"{installed} is installed")
    try:
        theirs = _torch_values(job, folder)
    except _FailedError as error:
        return Result(*facts, "fails under torch", missing=str(error))
    try:
        ours = _run(job, *_launch("torchlike", job), "-m", "torchlike", "run")
    except _FailedError as error:
        return Result(*facts, "fails", missing=str(error))
    difference, place = compare(ours, theirs)
    if difference <= CLOSE:
        return Result(*facts, MATCHES, float(f"{difference:.1e}"))
    words = "another form" if difference == float("inf") else f"{difference:.1e}"
    return Result(*facts, "differs", None if difference == float("inf") else difference, f"{place}: {words}")


def _write(rows: Iterable[Result], day: str) -> None:
    kept = {"day": day, "jobs": [asdict(each) for each in rows]}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results(), day), encoding="utf-8")


def main() -> int:
    """Run the jobs that are chosen, keep their results, write the page, and return how the process ends."""
    parser = argparse.ArgumentParser(description="Run the libraries' jobs under torch and under torchlike.")
    parser.add_argument("words", nargs="*", help="parts of names of libraries or files")
    parser.add_argument("--page", action="store_true", help="write the page only")
    parser.add_argument("--needs", action="store_true", help="list the requirements only")
    parser.add_argument("--keep", type=Path, help="a folder that keeps torch's values")
    chosen = parser.parse_args()
    if chosen.needs:
        print("\n".join(_needs()))  # noqa: T201
        return 0
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"day": "", "jobs": []}
    old = {each["file"]: Result(**each) for each in kept["jobs"]}
    if chosen.page:
        PAGE.write_text(page(results(), kept["day"]), encoding="utf-8")
        return 0
    new: dict[str, Result] = {}
    for job in jobs():
        if not chosen.words or any(word in f"{job.library} {job.file}" for word in chosen.words):
            began = time.monotonic()
            new[job.file] = found = _try(job, chosen.keep)
            print(f"{job.file}: {found.outcome} {found.missing} ({time.monotonic() - began:.0f} s)", flush=True)  # noqa: T201
            # After each, for a run that is broken off.
            rows = [new.get(each.file) or old.get(each.file) for each in jobs()]
            _write([each for each in rows if each is not None], time.strftime("%Y-%m-%d", time.gmtime()))
    lost = [
        file for file, each in new.items() if each.outcome != MATCHES and file in old and old[file].outcome == MATCHES
    ]
    if lost:
        print(f"no longer as under torch: {', '.join(lost)}")  # noqa: T201
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
