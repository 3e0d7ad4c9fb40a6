"""Records of runs: the outcomes of the last one, and the checks that failed when they last ran."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from dispatch_core.errors import BackendError
from dispatch_core.files import write_text
from dispatch_core.files.cache_folders import cache_folder

from ..outcomes import Outcome

_PART: Final = "verify"


class Records:
    """The records of a device's runs, in the user's folder of caches.

    ``run`` says which run it is: its checks, its seed, the versions. Outcomes are written as they come.
    """

    def __init__(self, device: str, run: dict[str, Any], folder: Path | None = None) -> None:
        folder = cache_folder(_PART) if folder is None else folder
        self._outcomes, self._failed = folder / f"{device}.jsonl", folder / f"{device}.failed.json"
        self._run: Final = run

    def read_done(self) -> list[Outcome]:
        """Return the outcomes of a run like this one that did not come to its end.

        Raises ``BackendError`` where the last run was another one, or there is none.
        """
        lines = self._read_lines()
        if not lines:
            raise BackendError("--resume: there is no run to go on with", hint="leave --resume out")
        if lines[0] != self._run:
            changed = sorted(key for key in {*lines[0], *self._run} if lines[0].get(key) != self._run.get(key))
            raise BackendError(
                f"--resume: the last run differs in {', '.join(changed)}",
                hint="give the same options as then, or leave --resume out",
            )
        return [Outcome(**line) for line in lines[1:]]

    def _read_lines(self) -> list[dict[str, Any]]:
        try:
            text = self._outcomes.read_text(encoding="utf-8")
        except OSError:
            return []
        found: list[dict[str, Any]] = []
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:  # the process ended while it wrote
                break
        return found

    def read_failed(self) -> set[str]:
        """Return the checks that failed when they last ran."""
        try:
            return set(json.loads(self._failed.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return set()

    def begin(self, done: Iterable[Outcome] = ()) -> None:
        """Begin to write a run, with the outcomes of an earlier one that it goes on with."""
        lines = [self._run, *(outcome.as_data() for outcome in done)]
        write_text(self._outcomes, "".join(f"{json.dumps(line)}\n" for line in lines))

    def add(self, outcome: Outcome) -> None:
        """Write an outcome."""
        with self._outcomes.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(outcome.as_data())}\n")

    def finish(self, outcomes: Iterable[Outcome]) -> None:
        """Write which checks failed; those that did not run stay as they were."""
        outcomes = list(outcomes)
        ran = {outcome.check for outcome in outcomes}
        failed = {outcome.check for outcome in outcomes if outcome.is_fault}
        write_text(self._failed, json.dumps(sorted((self.read_failed() - ran) | failed)))
