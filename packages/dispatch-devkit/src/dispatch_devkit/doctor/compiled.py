"""Findings about compiled modules, and the names of the distributions that have them.

A plugin's compiled modules are looked for where it loads, in a process of its own; the front of calls is the core's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Final

from dispatch_core.calls import describe_front
from dispatch_core.inspection import Claim, installed_version, normalize
from dispatch_core.surroundings.extensions import Extension, list_extensions

from .findings import Finding

#: The distribution of the compiled front.
FRONT: Final = "dispatch-calls-native"


def compiled_distributions(claims: Iterable[Claim]) -> dict[str, str]:
    """Return the compiled distributions that are there, each with its owner: those of plugins are called as they are."""
    owners = {normalize(claim.distribution.name) for claim in claims}
    names = {FRONT: "dispatch-core", **{f"{owner}-native": owner for owner in sorted(owners)}}
    return {name: owner for name, owner in names.items() if _is_there(name.replace("-", "_"))}


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # a module without a spec
        return module in sys.modules


def front_findings() -> Iterator[Finding]:
    """Yield the finding about the compiled front of calls, where it is installed."""
    describe_front()
    return findings_of(list_extensions(), "dispatch-core")


def findings_of(extensions: Iterable[Extension], owner: str) -> Iterator[Finding]:
    """Yield the findings about the compiled modules of an owner."""
    for each in extensions:
        if normalize(each.owner) == normalize(owner):
            is_on = each.state == "ok"
            reason, notes = ("", (each.remark,)) if is_on else (each.remark, ())
            version = installed_version(each.distribution) or ""
            yield Finding("compiled", each.name, each.distribution, version, each.state, reason, notes=notes)


def absent_finding(distribution: str) -> Finding:
    """Return the finding about a distribution whose compiled modules are not there."""
    version = installed_version(distribution) or ""
    return Finding("compiled", distribution, distribution, version, "absent", "its sources are not built")
