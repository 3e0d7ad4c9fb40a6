"""The metadata of installed distributions: the one module that touches ``importlib_metadata``.

Nothing here imports plugin code, and ``importlib_metadata`` itself is imported by the first scan.

Note [One distribution, found twice]
    A distribution can be seen through several entries of ``sys.path`` (lib and lib64, a link, the current folder with the
    ``.egg-info`` that setuptools leaves beside the sources). As for the import system, the first one found speaks for all
    of that name; so only different names can claim one thing. It has to be whole: the rest of an uninstalled one,
    without name or version in ``METADATA`` or ``PKG-INFO``, speaks for none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import all_suffixes
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .._record import Record

if TYPE_CHECKING:
    from importlib_metadata import IDistribution

BACKENDS: Final = "dispatch_core.backends"
ARRAY_TYPES: Final = "dispatch_core.array_types"
OPERATORS: Final = "dispatch_core.operators"
KERNELS: Final = "dispatch_core.kernels"
TOOLS: Final = "dispatch_core.tools"
FRONTENDS: Final = "dispatch_core.frontends"
#: The devices that ``torch.accelerator`` speaks of.
ACCELERATORS: Final = "dispatch_core.accelerators"
#: A library that another one stands in for → the module that Python imports for it when it starts.
STAND_INS: Final = "dispatch_core.stand_ins"
#: A library's package beside one that another library stands in for → the package that answers its imports then.
COMPANIONS: Final = "dispatch_core.companions"
#: This project's distributions.
DISTRIBUTIONS: Final = frozenset(
    {
        "dispatch-core",
        "dispatch-operators-aten",
        "dispatch-backend-array-api",
        "dispatch-backend-cpu",
        "dispatch-backend-cpu-native",
        "dispatch-backend-meta",
        "dispatch-backend-npu",
        "dispatch-calls-native",
        "dispatch-frontend-torchlike",
        "dispatch-kernels-numba",
        "dispatch-torchlike-as-torch",
    }
)
_GROUPS: Final = frozenset(
    {ACCELERATORS, BACKENDS, ARRAY_TYPES, COMPANIONS, OPERATORS, KERNELS, TOOLS, FRONTENDS, STAND_INS}
)
_MENTIONED: Final = "dispatch_core."
#: The extras that an entry point asks for, which installers have dropped the meaning of.
_EXTRAS: Final = re.compile(r"\s*\[[^\[\]]*\]\s*$")
#: A header that goes on in no second line.
_HEADER: Final = re.compile(r"[A-Za-z-]+:")


class Distribution(Record):
    """An installed distribution: its name, version, ``Requires-Dist`` lines and where its metadata was found.

    >>> str(Distribution("dispatch-backend-cpu", "0.1.0"))
    'dispatch-backend-cpu 0.1.0'
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    location: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Claim(Record):
    """One entry point of this project's groups: a distribution claims a device, an array type or a namespace.

    >>> print(Claim("dispatch_core.backends", "cpu", "mine.plugin", Distribution("mine", "1.0")))
    'cpu = mine.plugin' of mine 1.0
    """

    group: str
    name: str
    value: str
    distribution: Distribution

    @property
    def module(self) -> str:
        """Return the module that the value names, without importing it."""
        return self.value.partition(":")[0].strip()

    def __str__(self) -> str:
        return f"'{self.name} = {self.value}' of {self.distribution}"


class Scan(Record):
    """The findings of one pass over the installed distributions, and those that could not be read."""

    claims: tuple[Claim, ...] = ()
    problems: tuple[str, ...] = ()
    #: Normalised name → version, of those of this project's distributions that are installed.
    versions: Mapping[str, str] = MappingProxyType({})


def normalize(name: str) -> str:
    """Spell a distribution's name so that equal names compare equal (source: PEP 503).

    >>> normalize("Dispatch_Backend.CPU")
    'dispatch-backend-cpu'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def scan() -> Scan:
    """Read the entry points of every distribution on ``sys.path``, once each, and import none of them.

    A distribution whose metadata cannot be read is reported in ``problems`` and otherwise passed over.
    """
    import importlib_metadata

    claims: dict[Claim, None] = {}
    versions: dict[str, str] = {}
    problems: list[str] = []
    first: dict[str, Any] = {}
    # For a path that does not exist, as Python's own zip file mostly does, it would import the reader of zip files.
    paths = [path for path in sys.path if Path(path or ".").exists()]
    for found in importlib_metadata.distributions(path=paths):
        try:
            text = found.read_text("entry_points.txt")
            folder = _folder_name(found)
            if folder in DISTRIBUTIONS and folder not in versions and _is_whole(found):
                versions[folder] = _version(found)
            if text is None or _MENTIONED not in text:
                first.setdefault(folder, found)
                continue
            shadow = first.get(folder)
            if shadow is not None and _is_whole(shadow):
                continue
            first[folder] = found
            distribution = _describe(found)
            ours = [entry for entry in found.entry_points if entry.group in _GROUPS]
            claims.update(
                (Claim(each.group, each.name, _EXTRAS.sub("", each.value), distribution), None) for each in ours
            )
        except Exception as error:  # noqa: BLE001 - one unreadable distribution must not hide the others
            problems.append(f"{_location(found)} cannot be read: {type(error).__name__}: {error}")
    return Scan(tuple(sorted(claims, key=_order)), tuple(problems), versions)


def distribution_of_module(top_level: str) -> tuple[str, str]:
    """Return name and version of the distribution that installed an import package, or two empty strings.

    It does not ask which of the installed files exist, as ``packages_distributions`` does: that takes half a second.

    >>> normalize(distribution_of_module("importlib_metadata")[0])
    'importlib-metadata'
    >>> distribution_of_module("no_such_package")
    ('', '')
    """
    import importlib_metadata

    endings = "|".join(map(re.escape, all_suffixes()))
    listed = re.compile(rf"^{re.escape(top_level)}(?:/|(?:{endings}),)", re.MULTILINE)
    for found in importlib_metadata.distributions():
        declared = (found.read_text("top_level.txt") or "").split()
        if top_level in declared or (not declared and listed.search(found.read_text("RECORD") or "")):
            return found.name, found.version
    return "", ""


def installed_version(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    import importlib_metadata

    try:
        return importlib_metadata.version(distribution)
    except importlib_metadata.PackageNotFoundError:
        return None


def core_version() -> str:
    """Return the version of the installed dispatch-core; of a source tree that was never installed, the package's own."""
    import importlib_metadata

    try:
        return importlib_metadata.version("dispatch-core")
    except (importlib_metadata.PackageNotFoundError, KeyError, FileNotFoundError):
        version: str = sys.modules[__package__.partition(".")[0]].__version__
        return version


def _order(claim: Claim) -> tuple[str, str, str]:
    return claim.name, normalize(claim.distribution.name), claim.value


def _describe(found: IDistribution) -> Distribution:
    headers = _plain_headers(found.read_text("METADATA") or "")
    if headers is None:
        metadata = found.metadata
        name, version = metadata.get("Name"), metadata.get("Version")
        requires: Iterable[str] = found.requires or ()
    else:
        name, version = (headers.get(each, [""])[0] for each in ("name", "version"))
        requires = headers.get("requires-dist", ())
    if not name or not version:
        raise ValueError("its metadata has no name or no version")
    return Distribution(name, version, tuple(requires), _location(found))


def _is_whole(found: IDistribution) -> bool:
    """Return whether a distribution's metadata has a name and a version; see Note [One distribution, found twice]."""
    text = found.read_text("METADATA") or found.read_text("PKG-INFO") or ""
    head = text.replace("\r\n", "\n").partition("\n\n")[0]
    return all(re.search(rf"^{name}:\s*\S", head, re.IGNORECASE | re.MULTILINE) for name in ("Name", "Version"))


def _plain_headers(text: str) -> dict[str, list[str]] | None:
    r"""Return the values of metadata's headers by their names in small letters; None where a parser of mails has to read it.

    >>> _plain_headers("Name: mine\nRequires-Dist: one\nRequires-Dist: two>=2\n\nWords: here")
    {'name': ['mine'], 'requires-dist': ['one', 'two>=2']}
    """
    head = text.partition("\n\n")[0]
    if not head.isascii() or "\r" in head or not all(map(_HEADER.match, head.split("\n"))):
        return None
    headers: dict[str, list[str]] = {}
    for line in head.split("\n"):
        name, _, value = line.partition(":")
        headers.setdefault(name.lower(), []).append(value.strip())
    return headers


def _version(found: IDistribution) -> str:
    """Return a distribution's version, from its folder's name where that tells it: to read the metadata takes a while."""
    stem, is_folder, _ = re.split(r"[\\/]", _location(found))[-1].rpartition(".dist-info")
    name, dash, version = stem.partition("-")
    return version if is_folder and name and dash else str(found.version)


def _location(found: object) -> str:
    return str(getattr(found, "_path", found))


def _folder_name(found: object) -> str:
    stem = re.split(r"[\\/]", _location(found))[-1]
    return normalize(stem.partition("-")[0].removesuffix(".dist").removesuffix(".egg"))
