"""The state of each installed backend, and sentences for the errors of plugins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dispatch_core.errors import DispatchError

from .. import devkit
from ..surroundings.distributions import Claim

if TYPE_CHECKING:
    from ..display import DataTable

_SHARED_LIBRARY: Final = re.compile(r"[\w.+-]+\.(?:so(?:\.\d+)*|dll|dylib)\b")


@dataclass(frozen=True, slots=True, repr=False)
class BackendState:
    """One device that an installed distribution claims, or the program has registered, and its state.

    ``state`` is one of ``"loaded"``, ``"installed"`` (not asked for yet), ``"failed"`` (its code raised), ``"refused"``
    (never imported), ``"absent"`` (its library is not installed), ``"outranked"`` (another's claim goes first) and
    ``"blocked"`` (kept out by an environment variable); ``reason`` says why for the last five.
    ``rivals`` are further claims to the same name. ``place`` says where the program registered the device, if it did.

    >>> BackendState("cpu", "loaded", "dispatch-backend-cpu", "0.1.0", dispatch_key="CPU")
    <cpu: loaded, dispatch-backend-cpu 0.1.0>
    """

    device: str
    state: str
    distribution: str
    version: str
    reason: str = ""
    dispatch_key: str = ""
    rivals: tuple[BackendState, ...] = ()
    place: str = ""

    @property
    def source(self) -> str:
        """Return who provides the device: a distribution and its version, or the program and the place."""
        distribution = f"{self.distribution} {self.version}"
        return distribution if not self.place else f"{distribution.strip() or 'the program'} ({self.place})"

    def __str__(self) -> str:
        # A list has a line for each device; the rest of a long text is in `reason`.
        reason = f": {self.reason.splitlines()[0]}" if self.reason else ""
        return f"{self.state}, {self.source}{reason}"

    def __repr__(self) -> str:
        return f"<{self.device}: {self}>"


class Backends(Mapping[str, BackendState]):
    """The states of all devices by their names: a mapping that does not change, and shows itself as a table.

    >>> Backends({"cpu": BackendState("cpu", "loaded", "dispatch-backend-cpu", "0.1.0", dispatch_key="CPU")})
    device  state   key  provided by
    ------  ------  ---  --------------------------
    cpu     loaded  CPU  dispatch-backend-cpu 0.1.0
    """

    __slots__ = ("_states",)

    def __init__(self, states: Mapping[str, BackendState]) -> None:
        self._states = dict(states)

    def __getitem__(self, name: str) -> BackendState:
        return self._states[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def _table(self) -> DataTable:
        from ..display import Column, DataTable  # programs look states up, and print none

        titles = {"device": True, "state": False, "key": True, "provided by": False}
        columns = [Column(title, is_code=is_code) for title, is_code in titles.items()]
        states = self._states.values()
        # Where all is well there are no reasons.
        columns += [Column("reason", wraps=True)] if any(each.reason for each in states) else []
        rows = [(each.device, each.state, each.dispatch_key, each.source, each.reason) for each in states]
        return DataTable(columns, [row[: len(columns)] for row in rows])

    def __repr__(self) -> str:
        return str(self._table()) if self._states else "no devices are installed"

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        from ..display import show_number_of

        count = len(self._states)
        loaded = sum(each.state == "loaded" for each in self._states.values())
        facts = [f"{show_number_of('device', count)}, {loaded} loaded"]
        return devkit.to_fragment("backends", facts, [self._table().html()] if count else [])


@dataclass(frozen=True, slots=True)
class ProviderState:
    """One provider of kernels that an installed distribution claims, and its state: see `BackendState`.

    ``is_on`` says whether ``DISPATCH_KERNELS`` names it; its key and the number of its kernels are known once it is loaded.
    """

    name: str
    state: str
    distribution: str
    version: str
    reason: str = ""
    dispatch_key: str = ""
    kernels: int | None = None
    is_on: bool = False

    def __str__(self) -> str:
        reason = f": {self.reason.splitlines()[0]}" if self.reason else ""
        return f"{self.state}, {self.distribution} {self.version}{reason}"


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that a plugin raised when it was loaded, kept for later requests."""

    claim: Claim
    exception: BaseException

    @property
    def reason(self) -> str:
        """Return the exception in a sentence."""
        return explain_exception(self.exception)


def explain_exception(error: BaseException) -> str:
    """Return a sentence for an exception from a plugin.

    >>> explain_exception(SystemExit(3))
    'it called sys.exit (exit status 3)'
    >>> explain_exception(ValueError("bad luck"))
    'ValueError: bad luck'
    """
    text = _text(error)
    for kind, explain in _EXPLANATIONS:
        if isinstance(error, kind) and (sentence := explain(error, text)):
            return sentence
    return text


def _text(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - an exception that cannot print itself still has a type
        return f"{name} (its text cannot be printed)"
    if isinstance(error, DispatchError):
        text = text.removesuffix(f"\nHint: {error.hint}")
    return f"{name}: {text}" if text else name


def _exit(error: BaseException, text: str) -> str:
    code = getattr(error, "code", None)
    if code is None or isinstance(code, int):
        return f"it called sys.exit (exit status {int(code or 0)})"
    return f"it called sys.exit (exit status 1): {code}"


def _missing_module(error: BaseException, text: str) -> str:
    name = getattr(error, "name", None)
    return f"it needs the module {name!r}, which is not installed ({text})" if name else ""


def _missing_library(error: BaseException, text: str) -> str:
    found = _SHARED_LIBRARY.search(text)
    return f"it needs the shared library {found[0]!r}, which cannot be loaded ({text})" if found else ""


_EXPLANATIONS: Final[tuple[tuple[type[BaseException], Callable[[BaseException, str], str]], ...]] = (
    (SystemExit, _exit),
    (ModuleNotFoundError, _missing_module),
    (OSError, _missing_library),
    (ImportError, _missing_library),
)
