"""The process that runs checks: one for each part, replaced where a check ends it or leaves the device unusable.

The kit's pool starts it (`make_runner`), sends names of checks, and gets their outcomes.
"""

from __future__ import annotations

import json
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from dispatch_aten.testing.outcomes import Outcome
from dispatch_aten.testing.running import RunSettings

from .. import runtime
from ..acl import library, toolkit
from ..acl.errors import AclError, DeviceTimeoutError, FunctionNotFoundError, ToolkitNotFoundError
from ..acl.installation import find_faults
from ..aclnn.calls import NotTakenError
from ..runtime.chips import find_chip
from . import cells, draws, functions, memory, steps, streams
from .watch import FunctionWatch

RUNNER: Final = f"{__name__}:make_runner"
"""The runner's name for the pool."""

#: Codes of a device that cannot go on in this process: its tasks have failed, or did not end.
_LOST: Final = range(507000, 508000)
_PACKAGE: Final = Path(__file__).parents[1].name
_FACTS: Final = "device.json"
#: The parts that say which functions they have called; operators say which they have launched.
_OWN_CALLS: Final = frozenset({"memory", "streams", "random", "steps"})
_FIRST_PHASE: Final = "GetWorkspaceSize"


class CheckRunner:
    """Runs checks by their names, ``PART: NAME``."""

    is_spent = False

    def __init__(self, settings: RunSettings) -> None:
        self._folder: str = settings.options["folder"]
        self._is_quick: bool = settings.options["quick"]
        self._watch = FunctionWatch(self._folder)
        self._called = library.record_calls()
        # A device that hangs is an error of the call, before the whole process is ended.
        runtime.set_sync_timeout(max(settings.timeout * 0.8, 1.0))

    def run(self, check: str) -> Outcome:
        """Run a check; an error that it raises is its outcome."""
        part, _, name = check.partition(": ")
        self._called.clear()
        run: Callable[[str, str], Outcome] = getattr(self, f"_run_{part}")
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                outcome = run(check, name)
        except Exception as error:  # noqa: BLE001  # whatever a toolkit or a chip does is the finding
            self._watch.note("")
            self.is_spent = _is_lost(error)
            function = error.function.removesuffix("GetWorkspaceSize") if isinstance(error, AclError) else ""
            kernels = (function,) if function else ()
            return Outcome(check, "failed", _describe(error), place=_place_of(error), kernels=kernels)
        told = dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)
        text = "; ".join(filter(None, [outcome.reason, *told]))
        told_of = outcome.as_data() | {"reason": text}
        if part in _OWN_CALLS and outcome.status == "passed":
            told_of["kernels"] = tuple(sorted(name for name in self._called if not name.endswith(_FIRST_PHASE)))
        return Outcome(**told_of)

    def _run_device(self, check: str, name: str) -> Outcome:
        reason = runtime.unavailable_reason()
        soc = runtime.device_name().removesuffix(" (simulator)")
        chip = find_chip(soc)
        facts: dict[str, Any] = {"chip": soc, "family": "" if chip is None else chip.family}
        facts |= {"count": runtime.device_count(), "runtime": runtime.versions()["runtime"]}
        folder = toolkit.find_folder()
        lacking = [] if folder is None else find_faults(folder, chip=soc, family=facts["family"])
        if not reason:
            facts["memory"] = runtime.mem_get_info()[1]
        Path(self._folder, _FACTS).write_text(json.dumps(facts), encoding="utf-8")
        if reason:
            return Outcome(check, "failed", reason)
        if lacking:
            return Outcome(check, "failed", str(lacking[0]))
        return Outcome(check, "passed", f"{facts['count']} of {soc or 'a chip without a name'}")

    def _run_functions(self, check: str, name: str) -> Outcome:
        try:
            count, missing = functions.check_functions(name)
        except ToolkitNotFoundError as error:
            return Outcome(check, "failed", str(error))
        if missing:
            hint = "a function that is missing fails when a program first calls it; a newer toolkit may have it"
            return Outcome(
                check, "failed", f"{functions.describe_missing(count, missing)}\nHint: {hint}", samples=count
            )
        return Outcome(check, "passed", f"{count} found", samples=count)

    def _run_memory(self, check: str, name: str) -> Outcome:
        runtime.ensure()
        return Outcome(check, "passed", memory.CHECKS[name]())

    def _run_streams(self, check: str, name: str) -> Outcome:
        runtime.ensure()
        return Outcome(check, "passed", streams.CHECKS[name]())

    def _run_random(self, check: str, name: str) -> Outcome:
        runtime.ensure()
        try:
            return Outcome(check, "passed", draws.CHECKS[name]())
        except (FunctionNotFoundError, NotTakenError) as error:
            return Outcome(check, "not run", str(error))

    def _run_operators(self, check: str, name: str) -> Outcome:
        operator, _, dtype = name.rpartition(" ")
        device = cells.find_device()
        if dtype not in device.dtypes:
            return Outcome(check, "not run", f"arrays of {dtype} do not come back from the device as they went there")
        before = cells.computed_on_host()
        outcome = cells.check_cell(device, operator, dtype, self._watch, is_quick=self._is_quick)
        on_host = cells.computed_on_host() > before
        return Outcome(**outcome.as_data() | {"kernel": "host"}) if on_host else outcome

    def _run_steps(self, check: str, name: str) -> Outcome:
        program, dtype, way = name.split()
        try:
            return Outcome(check, "passed", steps.check_step(program, dtype, way))
        except steps.NotThereError as error:
            return Outcome(check, "not run", str(error))
        except FunctionNotFoundError as error:
            if way != "graph":
                raise
            return Outcome(check, "not run", str(error))


def make_runner(settings: RunSettings) -> CheckRunner:
    """Return the runner of a process, for the pool."""
    return CheckRunner(settings)


def read_facts(folder: str) -> dict[str, Any]:
    """Return the facts about the device that a process has written, none where it has written none.

    >>> read_facts("/nowhere")
    {}
    """
    try:
        found: dict[str, Any] = json.loads(Path(folder, _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, DeviceTimeoutError) or (isinstance(error, AclError) and error.code in _LOST)


def _describe(error: Exception) -> str:
    name = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return "\n".join([f"{name}{error}", *getattr(error, "__notes__", ())])


def _place_of(error: BaseException) -> str:
    """Return the innermost place of an error in this package, without the folder."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in frame.filename]
    return f"{frames[-1].name} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
