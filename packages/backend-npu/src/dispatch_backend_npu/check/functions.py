"""The functions of the toolkit that the backend may call, each looked up in its library; nothing is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..acl.errors import FunctionNotFoundError
from ..acl.library import bind
from ..acl.prototypes import BASE, COLLECTIVES, OPERATORS, RUNTIME, prototypes
from ..aclnn.table import NEWER, PROTOTYPES

#: The groups of libraries, each a check.
LIBRARIES: Final = (RUNTIME, BASE, OPERATORS, COLLECTIVES)
#: How many missing names an outcome lists.
_SHOWN: Final = 12


def list_functions(library: str) -> Iterator[str]:
    """Yield the names of a library's functions, an operator's two phases each.

    >>> sum(1 for library in LIBRARIES for _ in list_functions(library)) > 600
    True
    """
    yield from (name for name, declared in prototypes().items() if declared.library == library)
    if library == OPERATORS:
        for name in PROTOTYPES:
            yield from (f"{name}GetWorkspaceSize", name)


def check_functions(library: str) -> tuple[int, list[str]]:
    """Look a library's functions up; return how many there are, and the names of those that are missing.

    Functions of newer toolkits may be missing.

    Raises ``ToolkitNotFoundError`` where a library cannot be loaded.
    """
    count, missing = 0, []
    for name in list_functions(library):
        count += 1
        try:
            bind(name)
        except FunctionNotFoundError:
            if name.removesuffix("GetWorkspaceSize") not in NEWER:
                missing.append(name)
    return count, missing


def describe_missing(count: int, missing: list[str]) -> str:
    """Return a sentence about missing functions.

    >>> describe_missing(40, ["aclnnAdd", "aclnnSub"])
    '2 of 40 functions are missing: aclnnAdd, aclnnSub'
    """
    shown = ", ".join(missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "")
    return f"{len(missing)} of {count} functions are missing: {shown}"
