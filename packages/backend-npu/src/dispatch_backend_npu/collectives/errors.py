"""Errors of HCCL, in its own words."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from dispatch_aten.collectives import CollectiveError

from ..acl.library import bind, recent_message

_NAMES: Final = (
    "SUCCESS E_PARA E_PTR E_MEMORY E_INTERNAL E_NOT_SUPPORT E_NOT_FOUND E_UNAVAIL E_SYSCALL E_TIMEOUT E_OPEN_FILE_FAILURE"
    " E_TCP_CONNECT E_ROCE_CONNECT E_TCP_TRANSFER E_ROCE_TRANSFER E_RUNTIME E_DRV E_PROFILING E_CCE E_NETWORK E_AGAIN"
    " E_REMOTE E_SUSPENDING E_OPRETRY_FAIL E_OOM"
).split()

GONE: Final = frozenset({9, 13, 14, 19, 21})
"""The statuses that say that another rank may be gone: time is over, or nothing comes over the network."""

_HINTS: Final = {
    7: "HCCL needs the driver, and devices that reach each other: hccn_tool tests the links",
    9: "a rank did not come, or not in time: HCCL_CONNECT_TIMEOUT and HCCL_EXEC_TIMEOUT are the limits in seconds",
}


class HcclError(CollectiveError):
    """A function of HCCL did not succeed.

    ``function`` is its name, ``code`` its status, ``symbol`` the name of that status in the toolkit's headers, ``text`` what
    ``HcclGetErrorString`` says of it, and ``detail`` the message of ``aclGetRecentErrMsg``, which may be ``""``.

    >>> print(HcclError("HcclAllReduce", 5, "not support feature"))
    HcclAllReduce failed with 5 (HCCL_E_NOT_SUPPORT): not support feature
    """

    def __init__(self, function: str, code: int, text: str = "", detail: str = "") -> None:
        self.function, self.code, self.symbol = function, code, symbol_of(code)
        self.text, self.detail = text.strip(), detail.strip()
        message = f"{function} failed with {code} ({self.symbol})"
        super().__init__(": ".join(filter(None, (message, self.text, self.detail))), hint=_HINTS.get(code))


def symbol_of(code: int) -> str:
    """Return the name of a status.

    >>> symbol_of(9), symbol_of(99)
    ('HCCL_E_TIMEOUT', 'a code that no header names')
    """
    return f"HCCL_{_NAMES[code]}" if 0 <= code < len(_NAMES) else "a code that no header names"


def text_of(code: int) -> str:
    """Return what HCCL says of a status."""
    text: bytes | None = bind("HcclGetErrorString")(code)
    return text.decode(errors="replace") if text else ""


def call(name: str, *arguments: Any) -> None:
    """Call a function of HCCL. Raises ``HcclError`` where it does not succeed."""
    status = bind(name)(*arguments)
    if status:
        fail(name, status)


def fail(name: str, status: int) -> NoReturn:
    """Raise ``HcclError`` for the status of a function."""
    detail = recent_message()
    raise HcclError(name, status, text_of(status), detail)
