"""A process that runs checks: it reads their names, line by line, and answers each with its outcome.

Its first answer says the claims of the device. What kernels print goes to standard error.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from dataclasses import asdict
from typing import Any

from dispatch_core.errors import DispatchError
from dispatch_core.tools import import_modules

from ..agreement import TestedDevice
from ..checks import run_check
from ..claims import find_claims
from ..outcomes import Outcome


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
        device = TestedDevice.find(settings["device"])
    except DispatchError as error:
        text, _, hint = str(error).partition("\nHint: ")
        answer({"error": text, "hint": hint or None})
        return
    answer(asdict(find_claims(device.name, device.dtypes)))
    for line in sys.stdin:
        check = line.rstrip("\n")
        faulthandler.dump_traceback_later(settings["timeout"])
        try:
            outcome = run_check(device, check, limit=settings["limit"], seed=settings["seed"])
        except Exception as error:  # noqa: BLE001  # a fault of the kit costs one check, too
            outcome = Outcome(check, "failed", f"the check itself raises {type(error).__name__}: {error}")
        faulthandler.cancel_dump_traceback_later()
        answer(outcome.as_data())
