"""A process that runs checks: it reads their names, line by line, and answers each with its outcome.

Its first answer says the claims of the device. What kernels print goes to standard error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from dataclasses import asdict
from importlib import import_module
from typing import Any

from dispatch_core.errors import DispatchError
from dispatch_core.tools import import_modules

from ..agreement import TestedDevice
from ..checks import run_check
from ..claims import Claims, find_claims
from ..outcomes import Outcome
from .pool import Runner, RunSettings


def main() -> None:
    """Load the device and run checks until standard input ends; the only argument is `pool.RunSettings` in JSON."""
    settings: dict[str, Any] = json.loads(sys.argv[1])
    sys.argv[1:] = []
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    faulthandler.enable()

    def answer(data: dict[str, Any]) -> None:
        answers.write(json.dumps(data) + "\n")
        answers.flush()

    try:
        import_modules(settings["modules"])
        runner: Runner = _make_runner(RunSettings(**settings))
    except DispatchError as error:
        text, _, hint = str(error).partition("\nHint: ")
        answer({"error": text, "hint": hint or None})
        return
    answer(asdict(runner.claims if isinstance(runner, _KitRunner) else Claims((), (), ())))
    for line in sys.stdin:
        check = line.rstrip("\n")
        faulthandler.dump_traceback_later(settings["timeout"])
        try:
            outcome = runner.run(check)
        except Exception as error:  # noqa: BLE001  # a fault of the kit costs one check, too
            outcome = Outcome(check, "failed", f"the check itself raises {type(error).__name__}: {error}")
        faulthandler.cancel_dump_traceback_later()
        answer(outcome.as_data() | {"spent": True} if runner.is_spent else outcome.as_data())
        if runner.is_spent:
            return


class _KitRunner:
    """The kit's checks of the device that the settings name."""

    is_spent = False

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._device = TestedDevice.find(settings.device)
        self.claims = find_claims(self._device.name, self._device.dtypes)

    def run(self, check: str) -> Outcome:
        return run_check(self._device, check, limit=self._settings.limit, seed=self._settings.seed)


def _make_runner(settings: RunSettings) -> Runner:
    if not settings.runner:
        return _KitRunner(settings)
    module, _, name = settings.runner.partition(":")
    made: Runner = getattr(import_module(module), name)(settings)
    return made
