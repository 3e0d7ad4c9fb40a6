"""Calls that no pipeline records, because other processes take part in them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final

from ..arrays.frontend import frontend_of
from ..keys import DispatchKey, exclude_keys
from ..pipelines import open_recording, open_session
from .stream_operators import flush_recorded

__all__ = ["EXCHANGES", "note_write", "run_at_once"]

EXCHANGES: Final = "it exchanges data with other processes"


def run_at_once(operator: str) -> AbstractContextManager[object]:
    """Run the calls that open pipelines have recorded; return a context within which none are recorded.

    A pipeline leaves out calls of which nothing is read, and each process may read something else: a call that one of them
    leaves out would never end in the others. Raises ``CaptureError`` in a captured function.
    """
    session = open_session()
    if session is None:
        return nullcontext()
    recording = open_recording()
    if recording is not None:
        recording.refuse(
            f"{operator}: {EXCHANGES}", "call it outside of the captured function, between the parts that compute"
        )
    flush_recorded(session)
    session.stats.count_eager(operator, EXCHANGES)
    return exclude_keys(DispatchKey.Pipeline)


def note_write(tensor: object) -> None:
    """Tell a tensor's frontend that a kernel for every device has written to its array; other values are passed over."""
    frontend = frontend_of(tensor)
    if frontend is not None and frontend.writes is not None:
        frontend.writes.note_write(tensor)
