"""Marks: checks that a vendor knows to fail, with the reason, kept in a file of the vendor's package.

``conformance.toml`` beside the plugin's module, or the file that is named, has tables of three kinds::

    [[notimpl]]            # the backend has not got to it
    checks = ["aten::sort*", "gradients: sort"]
    reason = "the device sorts on the host so far"

    [[notyet]]             # the library or the hardware beneath cannot do it yet
    [[never]]              # it cannot be done

``raises`` may name the error besides, and ``devices`` those that are meant, of several in one package. A mark is strict: a
marked check that passes fails the run.
"""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from dispatch_core.errors import BackendError

from .outcomes import Outcome

KINDS: Final = {
    "notimpl": "the backend has not implemented it",
    "notyet": "the library or the hardware beneath cannot do it yet",
    "never": "it cannot be done",
}
FILE: Final = "conformance.toml"
_FAILS: Final = frozenset({"failed", "missing"})


@dataclass(frozen=True, slots=True)
class Mark:
    """The checks that fail, as patterns of their names, why, and perhaps by which error."""

    kind: str
    checks: tuple[str, ...]
    reason: str
    raises: str = ""
    devices: tuple[str, ...] = ()

    def fits(self, check: str) -> bool:
        """Return whether the mark is about a check.

        >>> Mark("never", ("aten::sort*",), "there is no order").fits("aten::sort.stable")
        True
        """
        return any(fnmatchcase(check, pattern) for pattern in self.checks)


def read_marks(path: Path) -> tuple[Mark, ...]:
    """Read a file of marks.

    Raises ``BackendError`` for a file that is no such file.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BackendError(f"{path} cannot be read: {error}") from error
    found = []
    for kind, rows in tables.items():
        if kind not in KINDS or not isinstance(rows, list):
            raise BackendError(f"{path} has a table {kind!r}", hint=f"write [[{']], [['.join(KINDS)}]]")
        for row in rows:
            checks, reason = row.get("checks"), row.get("reason")
            strange = set(row) - {"checks", "reason", "raises", "devices"}
            if not isinstance(checks, list) or not checks or not isinstance(reason, str) or not reason or strange:
                raise BackendError(
                    f"{path} has a mark {kind} that cannot be read: {row}",
                    hint='it needs checks = ["aten::name", …] and reason = "…", and may have raises = "ErrorName"',
                )
            found.append(Mark(kind, tuple(checks), reason, row.get("raises", ""), tuple(row.get("devices", ()))))
    return tuple(found)


def marks_beside(module: str) -> tuple[Mark, ...]:
    """Return the marks in the file beside a plugin's module; none where there is no such file.

    >>> marks_beside("dispatch_backend_cpu.plugin")
    ()
    """
    found = importlib.util.find_spec(module)
    path = Path(found.origin).with_name(FILE) if found is not None and found.origin else None
    return read_marks(path) if path is not None and path.exists() else ()


def apply(marks: Iterable[Mark], outcome: Outcome) -> Outcome:
    """Return an outcome as the first mark that fits sees it.

    >>> apply([Mark("notyet", ("a",), "it is new")], Outcome("a", "passed")).status
    'unexpected'
    """
    mark = next((mark for mark in marks if mark.fits(outcome.check)), None)
    if mark is None or outcome.status == "not run":
        return outcome
    said = f"{mark.kind}: {mark.reason}"
    if outcome.status in _FAILS:
        if mark.raises and mark.raises not in outcome.reason and outcome.status != "missing":
            return replace(outcome, status="unexpected", reason=f"{said}; not by {mark.raises}, but {outcome.reason}")
        return replace(outcome, status="expected", reason=said)
    return replace(outcome, status="unexpected", reason=f"it passes, and is marked {said}")


def check_use(marks: Iterable[Mark], outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return a fault for each mark that is about no check."""
    names = [outcome.check for outcome in outcomes]
    unused = [mark for mark in marks if not any(map(mark.fits, names))]
    return [
        Outcome(f"mark {mark.kind}", "unexpected", f"no check is called {' or '.join(mark.checks)}") for mark in unused
    ]
