"""The claims of installed distributions, each with a verdict before any of its code is imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import Final

from .._record import Record
from ..surroundings import distributions
from ..surroundings.distributions import (
    ARRAY_TYPES,
    BACKENDS,
    COMPANIONS,
    DISTRIBUTIONS,
    FRONTENDS,
    KERNELS,
    OPERATORS,
    TOOLS,
    Claim,
    Distribution,
    Scan,
    normalize,
)
from ..surroundings.logs import Log

_LOG: Final = Log("plugins")
#: Names that belong to this project's own distributions; a claim by any other is refused.
OWNERS: Final = {
    (BACKENDS, "cpu"): "dispatch-backend-cpu",
    (BACKENDS, "meta"): "dispatch-backend-meta",
    (BACKENDS, "npu"): "dispatch-backend-npu",
    (OPERATORS, "aten"): "dispatch-operators-aten",
    (OPERATORS, "prims"): "dispatch-operators-aten",
}
#: Distributions that give way where another one offers a device of the same name.
_MODEST: Final = frozenset({"dispatch-backend-array-api"})
_NOUNS: Final = {
    BACKENDS: "device",
    OPERATORS: "operator namespace",
    KERNELS: "provider of kernels",
    TOOLS: "command",
    FRONTENDS: "frontend",
    COMPANIONS: "companion",
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_VALUE: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(\s*:\s*[^\W\d]\w*(\.[^\W\d]\w*)*)?\Z")
_REQUIREMENT_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RELEASE: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_BOUND: Final = re.compile(rf"\s*(>=|<)\s*({_RELEASE.pattern})\s*")
#: The end of a requirement that only an extra has.
_OPTIONAL: Final = re.compile(r"""^[^;]*;\s*extra\s*==\s*(["'])[^"']+\1\s*$""")
_EXTRA: Final = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")


class Verdict(Record):
    """A claim and, unless it may be loaded, the reason and a hint.

    ``state`` is ``"refused"``, ``"absent"`` where the library of the device is not installed, or ``"outranked"`` where
    another distribution's claim goes first: of these two nothing is wrong.
    """

    claim: Claim
    refusal: str = ""
    hint: str = ""
    state: str = "refused"


def is_own(group: str, name: str) -> bool:
    """Return whether a device or namespace belongs to this project's own distributions.

    >>> is_own("dispatch_core.backends", "cpu")
    True
    """
    return (group, name) in OWNERS


def is_device_name(name: str) -> bool:
    """Return whether a text may name a device.

    >>> is_device_name("acme2"), is_device_name("acme-2")
    (True, False)
    """
    return _NAME.match(name) is not None


@dataclass
class Catalog:
    """The claims of every installed distribution, judged on demand.

    ``refresh`` of the loader makes a new one; a catalog itself never changes its mind. ``chosen`` names the distribution
    that the user has chosen for a device.
    """

    scan: Scan
    core: str
    chosen: Mapping[str, str] = field(default_factory=dict)
    _verdicts: dict[tuple[str, str], tuple[Verdict, ...]] = field(default_factory=dict)

    @classmethod
    def from_installed(cls) -> Catalog:
        """Scan the installed distributions."""
        scan = distributions.scan()
        return cls(scan, scan.versions.get("dispatch-core") or distributions.core_version())

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Claim]]:
        table: dict[tuple[str, str], list[Claim]] = {}
        for claim in self.scan.claims:
            table.setdefault((claim.group, claim.name), []).append(claim)
        return table

    def claims(self, group: str, name: str) -> tuple[Claim, ...]:
        """Return every claim to a name, lawful or not."""
        return tuple(self._by_name.get((group, name), ()))

    def names(self, group: str) -> list[str]:
        """Return every name that is claimed in a group, sorted."""
        return sorted(name for owner, name in self._by_name if owner == group)

    def verdicts(self, group: str, name: str) -> tuple[Verdict, ...]:
        """Judge every claim to a name. At most one of them may load, and it comes first."""
        found = self._verdicts.get((group, name))
        if found is None:
            found = self._verdicts[group, name] = tuple(
                sorted(self._judge(self.claims(group, name)), key=lambda verdict: bool(verdict.refusal))
            )
            for verdict in found:
                if verdict.refusal:
                    tell = _LOG.warning if verdict.state == "refused" else _LOG.debug
                    tell("%s %s is %s: %s", _NOUNS.get(group, group), verdict.claim, verdict.state, verdict.refusal)
        return found

    def usable(self, group: str, name: str) -> Claim | None:
        """Return the claim that may load under a name, if there is one."""
        first = next(iter(self.verdicts(group, name)), None)
        return None if first is None or first.refusal else first.claim

    def libraries_of(self, distribution: Distribution) -> list[str]:
        """Return the operator namespaces of the distributions that this one requires."""
        required = {normalize(match[0]) for line in distribution.requires if (match := _REQUIREMENT_NAME.match(line))}
        return [
            name
            for name in self.names(OPERATORS)
            if required & {normalize(claim.distribution.name) for claim in self.claims(OPERATORS, name)}
        ]

    def usable_libraries(self) -> list[Claim]:
        """Return the claims to operator namespaces that may load."""
        return [claim for name in self.names(OPERATORS) if (claim := self.usable(OPERATORS, name)) is not None]

    def absent(self, distribution: Distribution) -> list[str]:
        """Return this project's distributions that a distribution requires and that are not installed."""
        from packaging.requirements import InvalidRequirement, Requirement  # as in _wrong_version

        found = []
        for line in distribution.requires:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                continue
            name = normalize(requirement.name)
            is_meant = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            # A core that runs from its sources was never installed.
            if is_meant and name in DISTRIBUTIONS - {"dispatch-core", *self.scan.versions}:
                found.append(name)
        return found

    def gives_way(self, name: str) -> bool:
        """Return whether a device has no claim, or only claims that give way to every other or lack their library."""
        return all(
            verdict.state == "absent" or normalize(verdict.claim.distribution.name) in _MODEST
            for verdict in self.verdicts(BACKENDS, name)
        )

    def _judge(self, claims: tuple[Claim, ...]) -> Iterator[Verdict]:
        lawful: list[Claim] = []
        for claim in claims:
            verdict = _first_refusal(claim, (_odd_name, _odd_value, _foreign)) or self._library_missing(claim)
            if verdict is None:
                lawful.append(claim)
            else:
                yield verdict
        if len(lawful) > 1 and (first := self._first_rank(lawful)):
            for claim in lawful:
                if claim not in first:
                    yield _give_way(claim, first[0])
            lawful = first
        if len(lawful) > 1:
            named = " and ".join(str(claim) for claim in lawful)
            several = " and ".join(dict.fromkeys(claim.distribution.name for claim in lawful))
            for claim in lawful:
                yield Verdict(
                    claim,
                    f"the name is claimed more than once: by {named}",
                    f"uninstall all but one of {several}",
                )
            return
        for claim in lawful:
            yield _first_refusal(claim, (self._wrong_version,)) or Verdict(claim)

    def _first_rank(self, claims: list[Claim]) -> list[Claim]:
        """Return the claim that the user has chosen among several, or those that give way to none."""
        chosen = normalize(self.chosen.get(claims[0].name, ""))
        named = [claim for claim in claims if normalize(claim.distribution.name) == chosen]
        return named or [claim for claim in claims if normalize(claim.distribution.name) not in _MODEST]

    def _library_missing(self, claim: Claim) -> Verdict | None:
        """Judge a device that is named as an extra of its distribution: it needs the library that its arrays come from."""
        needed = [line for line in claim.distribution.requires if claim.name in _EXTRA.findall(line)]
        if claim.group != BACKENDS or not needed:
            return None
        roots = {
            each.name.partition(".")[0]
            for each in self.scan.claims
            if each.group == ARRAY_TYPES and each.distribution == claim.distribution and each.value == claim.name
        }
        if not roots or any(map(_is_installed, roots)):
            return None
        names = [match[0] for line in needed if (match := _REQUIREMENT_NAME.match(line))]
        install = f'pip install "{claim.distribution.name}[{claim.name}]"'
        lacks = f"it needs {' and '.join(names)}, which {'is' if len(names) == 1 else 'are'} not installed"
        return Verdict(claim, f"{lacks}: {install}", install, "absent")

    def _wrong_version(self, claim: Claim) -> tuple[str, str] | None:
        """Compare the distribution's ``Requires-Dist`` on this project's distributions with those that are installed."""
        for line in claim.distribution.requires:
            match = _REQUIREMENT_NAME.match(line)
            name = "" if match is None else normalize(match[0])
            if match is None or name not in DISTRIBUTIONS or line.strip() == match[0] or _OPTIONAL.search(line):
                continue
            # A missing distribution is reported by the import that needs it, and by `absent`.
            installed = self.core if name == "dispatch-core" else self.scan.versions.get(name)
            if installed is None:
                continue
            # packaging takes 15 ms to import, so plain requirements do without it.
            if _is_plainly_met(line[match.end() :], installed):
                continue
            from packaging.requirements import InvalidRequirement, Requirement

            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                return (
                    f"its requirement {line!r} cannot be read",
                    f"report it to the authors of {claim.distribution.name}",
                )
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            if not requirement.specifier.contains(installed, prereleases=True):
                return (
                    f"it requires {name}{requirement.specifier}, and {name} {installed} is installed",
                    f"install versions that fit: pip install --upgrade {claim.distribution.name} {name}",
                )
        return None


def _is_plainly_met(conditions: str, installed: str) -> bool:
    """Return whether bounds of plain numbers let an installed version in; False where that takes more to tell.

    >>> _is_plainly_met("<0.2,>=0.1", "0.1.5"), _is_plainly_met(">=0.2", "0.1"), _is_plainly_met("~=0.1", "0.1")
    (True, False, False)
    """
    bounds = [_BOUND.fullmatch(each) for each in conditions.split(",")]
    if not _RELEASE.fullmatch(installed) or None in bounds:
        return False
    found = _release(installed)
    return all(
        bound is not None and (found >= _release(bound[2]) if bound[1] == ">=" else found < _release(bound[2]))
        for bound in bounds
    )


def _release(version: str) -> list[int]:
    """Return the numbers of a version without the zeros at its end, which mean nothing."""
    numbers = [int(each) for each in version.split(".")]
    while numbers and not numbers[-1]:
        del numbers[-1]
    return numbers


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module that was made by hand has no spec
        return True


def _give_way(claim: Claim, by: Claim) -> Verdict:
    name = claim.distribution.name
    return Verdict(
        claim,
        f"{by.distribution} offers the device too, and goes first",
        f"DISPATCH_BACKENDS={claim.name}={name} chooses {name}",
        "outranked",
    )


_Check = Callable[[Claim], tuple[str, str] | None]


def _first_refusal(claim: Claim, checks: tuple[_Check, ...]) -> Verdict | None:
    for check in checks:
        if (found := check(claim)) is not None:
            return Verdict(claim, *found)
    return None


def _odd_name(claim: Claim) -> tuple[str, str] | None:
    if is_device_name(claim.name):
        return None
    noun = _NOUNS[claim.group]
    return (
        f"the name {claim.name!r} has characters that no {noun} may have",
        f"a {noun} is named with ASCII letters, digits and underscores, and does not begin with a digit",
    )


def _odd_value(claim: Claim) -> tuple[str, str] | None:
    if _VALUE.match(claim.value):
        return None
    return f"the value {claim.value!r} refers to no object", "write the entry point as 'module' or 'module:object'"


def _foreign(claim: Claim) -> tuple[str, str] | None:
    owner = OWNERS.get((claim.group, claim.name))
    if owner is None or normalize(claim.distribution.name) == owner:
        return None
    return (
        f"the {_NOUNS[claim.group]} {claim.name!r} belongs to {owner}",
        f"choose another name in {claim.distribution.name}, or uninstall it",
    )
