"""The checks by name, and the outcome of one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final

import dispatch_core as dc
from dispatch_core.tools import find_interface

from ..agreement import TestedDevice, find_needed
from ..comparing import DisagreementError
from ..outcomes import Outcome
from ..places import place_of_error
from . import bounds, commands, generators, memory, places, streams
from .absence import Absence

Check = Callable[[TestedDevice, dc.DeviceInterface], int]
#: Name → the check, which returns how many calls or steps it has compared.
PARTS: Final[dict[str, Check]] = {
    "places out of range": bounds.check_places,
    "indices": places.check_indices,
    "current device": places.check_current,
    "copies between devices": places.check_crossing,
    "streams": streams.check_streams,
    "events": streams.check_events,
    "waiting for events": streams.check_waiting,
    "delayed commands": commands.check_delayed,
    "asynchronous errors": commands.check_reports,
    "memory figures": memory.check_figures,
    "out of memory": memory.check_out_of_memory,
    "leaks": memory.check_leaks,
    "pinned memory": memory.check_pinned,
    "copies to the host": memory.check_copies,
    "generators": generators.check_generators,
}


def check_part(device: TestedDevice, name: str) -> Outcome:
    """Run one of the checks; "not run" says which part of the interface is missing.

    >>> check_part(TestedDevice.find("cpu"), "streams").reason
    "the device's interface has no streams"
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            count = PARTS[name](device, find_interface(device.name))
    except Absence as absence:
        return Outcome(name, "not run", str(absence))
    except dc.NoKernelError as error:
        needed = find_needed(error)
        return Outcome(name, "missing", f"no kernel for {needed}", missing=(needed,))
    except DisagreementError as error:
        return Outcome(name, "failed", str(error))
    except Exception as error:  # noqa: BLE001  # whatever is raised is the finding
        text, place = f"{type(error).__name__}: {error}", place_of_error(device.key, error)
        return Outcome(name, "failed", text, place=place)
    return Outcome(name, "passed", samples=count)
