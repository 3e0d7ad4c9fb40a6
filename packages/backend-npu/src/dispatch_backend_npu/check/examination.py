"""Faults of the installation for ``dispatch doctor npu``: the environment, the toolkit's functions, memory and streams."""

from __future__ import annotations

from collections.abc import Iterator

from .. import runtime
from ..acl import toolkit
from ..acl.errors import ToolkitNotFoundError
from . import functions, memory, streams


def find_faults() -> Iterator[str]:
    """Yield faults, each with its remedy where there is one; none where there is no toolkit.

    A device that can be opened is opened.
    """
    faults = runtime.installation_faults()
    yield from faults
    reason = runtime.unavailable_reason()
    if toolkit.find_folder() is None or reason in faults:
        return
    try:
        for library in functions.LIBRARIES:
            count, missing = functions.check_functions(library)
            if missing:
                yield functions.describe_missing(count, missing)
    except ToolkitNotFoundError as error:
        # Where the device cannot be opened for it, the doctor says so in a note.
        if str(error) != reason:
            yield str(error)
        return
    if reason:
        return
    for part, checks in (("memory", memory.CHECKS), ("streams", streams.CHECKS)):
        for name, check in checks.items():
            try:
                runtime.ensure()
                check()
            except Exception as error:  # noqa: BLE001  # whatever a toolkit or a chip does is the finding
                yield f"{part}, {name}: {type(error).__name__}: {error}"
