"""Try every installed plugin in a process of its own, with a time limit, and report its faults."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, Final

from dispatch_core.errors import BackendError
from dispatch_core.escapes import to_printable
from dispatch_core.inspection import (
    ALLOW,
    ARRAY_TYPES,
    AUTOLOAD,
    BACKENDS,
    BLOCK,
    COMPANIONS,
    KERNELS,
    OPERATORS,
    STAND_INS,
    SWITCHED_ON,
    Catalog,
    Claim,
    Settings,
    device_of,
    kept_out_by,
    normalize,
    owners_of,
    switch_reason,
)
from dispatch_core.surroundings.extensions import Extension

from ..children import Ended, end_children, run_in_child
from . import probe
from .compiled import FRONT, absent_finding, compiled_distributions, findings_of, front_findings
from .findings import Finding

#: Imports that take longer than this are remarked on, in seconds.
SLOW: Final = 1.0
#: How long a plugin may take, in seconds: one that examines its device's installation opens a driver.
TIMEOUT: Final = 30.0
_WORKERS: Final = 4
_LAST_LINES: Final = 20
_KINDS: Final = {
    BACKENDS: "device",
    OPERATORS: "operators",
    ARRAY_TYPES: "array type",
    KERNELS: "kernels",
    STAND_INS: "stand-in for",
    COMPANIONS: "companion",
}


def examine(timeout: float = TIMEOUT, names: Collection[str] = ()) -> list[Finding]:
    """Examine the installed plugins, or those with one of ``names``; each plugin has ``timeout`` seconds.

    A name is that of a device, an operator namespace, a provider of kernels, an array type, or a distribution.
    Raises ``BackendError`` for a name that nothing installed has.

    >>> all(finding.outcome for finding in examine())
    True
    """
    catalog = Catalog.from_installed()
    compiled = compiled_distributions(catalog.scan.claims)
    asked = [normalize(name) for name in names if normalize(name) in compiled]
    wanted = _wanted_claims(catalog, names, compiled)
    # These are tried for their compiled modules.
    owners = {
        claim
        for claim in catalog.scan.claims
        if claim.group == BACKENDS and normalize(claim.distribution.name) in {compiled[name] for name in asked}
    }
    try:
        settings = Settings.from_environment()
        catalog.chosen = settings.chosen
        findings = list(_switches(catalog, settings))
    except BackendError as error:
        settings = Settings()
        findings = [Finding("variable", AUTOLOAD, "", "", "failed", str(error))]
    findings += [Finding("metadata", "", "", "", "failed", problem) for problem in catalog.scan.problems]
    if names:
        findings = []
    if not names or FRONT in asked:
        findings += front_findings()
    findings += [found for claim, found in (*_array_types(catalog), *_beside(catalog)) if claim in wanted]
    with ThreadPoolExecutor(_WORKERS) as pool:
        claims = [(claim, found) for claim, found in _claims(catalog, settings) if claim in wanted | owners]
        tried = pool.map(lambda each: [each[1]] if each[1] else _try_plugin(catalog, each[0], timeout), claims)
        try:
            for (claim, _), (own, *modules) in zip(claims, tried, strict=True):
                if claim in wanted or own.outcome != "ok":
                    findings.append(own)
                findings += [each for each in modules if each not in findings]
        except BaseException:
            # After Ctrl-C there is no waiting for plugins that hang.
            pool.shutdown(wait=False, cancel_futures=True)
            end_children()
            raise
    told = {each.distribution for each in findings}
    return [*findings, *(absent_finding(name) for name in asked if not {name, compiled[name]} & told)]


def _wanted_claims(catalog: Catalog, names: Collection[str], compiled: Collection[str]) -> set[Claim]:
    """Return the claims to names, and those of the distributions that are called so; without names every one."""
    claims = {*catalog.scan.claims}
    if not names:
        return claims
    found: set[Claim] = set()
    for name in names:
        by_name = {each for each in claims if each.name == name or normalize(each.distribution.name) == normalize(name)}
        if not by_name and normalize(name) not in compiled:
            known = sorted({each.name for each in claims} | {each.distribution.name for each in claims} | {*compiled})
            near = [f"{each!r}" for each in get_close_matches(name, known, n=3)]
            there_are = f"there are {', '.join(map(to_printable, known)) or 'none'}"
            raise BackendError(
                f"Nothing that is installed is called {name!r}",
                hint=f"did you mean {' or '.join(near)}? Else {there_are}" if near else there_are,
            )
        found |= by_name
    return found


def _switches(catalog: Catalog, settings: Settings) -> Iterator[Finding]:
    for variable, names, outcome in ((ALLOW, settings.allow or (), "failed"), (BLOCK, settings.block, "ok")):
        for name in names:
            if not catalog.claims(BACKENDS, name):
                text = f"names {name!r}, which no installed distribution provides"
                yield Finding("variable", variable, "", "", outcome, text)
    for name in settings.kernels:
        if not catalog.claims(KERNELS, name):
            text = f"names {name!r}, which no installed distribution provides"
            yield Finding("variable", SWITCHED_ON, "", "", "failed", text)


def _array_types(catalog: Catalog) -> Iterator[tuple[Claim, Finding]]:
    """Find the claims to array types that lead nowhere, and those that several devices make."""
    for name in catalog.names(ARRAY_TYPES):
        owners = owners_of(catalog, name)
        for claim in catalog.claims(ARRAY_TYPES, name):
            device = device_of(catalog, claim)
            if device is None:
                reason = f"{claim.distribution.name} provides no device {claim.value!r}"
            elif device not in owners:
                reason = f"the array type belongs to the device {next(iter(owners))!r}"
            elif len(owners) > 1:
                reason = f"the array type is claimed by the devices {', '.join(sorted(owners))}"
            else:
                continue
            yield claim, _finding(claim, "refused", reason)


def _stand_ins(catalog: Catalog) -> Iterator[tuple[Claim, Finding]]:
    """Find out which libraries others stand in for here: Python has imported their modules when it started."""
    for name in catalog.names(STAND_INS):
        for claim in catalog.claims(STAND_INS, name):
            module = sys.modules.get(claim.value)
            if module is None:
                yield (
                    claim,
                    _finding(claim, "failed", f"Python has not imported {claim.value} at its start: no .pth file does"),
                )
            else:
                yield claim, _finding(claim, "ok", notes=(module.describe(),))


def _companions(catalog: Catalog) -> Iterator[tuple[Claim, Finding]]:
    """Find out which packages answer imports beside a library that another stands in for, and which are not there."""
    for name in catalog.names(COMPANIONS):
        for verdict in catalog.verdicts(COMPANIONS, name):
            claim = verdict.claim
            if verdict.refusal:
                yield claim, _finding(claim, verdict.state, verdict.refusal)
            elif find_spec(claim.module.partition(".")[0]) is None:
                yield claim, _finding(claim, "failed", f"there is no module {claim.module!r}")
            else:
                yield (
                    claim,
                    _finding(claim, "ok", notes=(f"import {name} gives {claim.module} where torchlike is torch",)),
                )


def _beside(catalog: Catalog) -> Iterator[tuple[Claim, Finding]]:
    yield from _stand_ins(catalog)
    yield from _companions(catalog)


def _claims(catalog: Catalog, settings: Settings) -> Iterator[tuple[Claim, Finding | None]]:
    """Yield every claim, with the findings that need no trial."""
    for group in (BACKENDS, OPERATORS, KERNELS):
        for name in catalog.names(group):
            variable = kept_out_by(settings, name) if group == BACKENDS else None
            for verdict in catalog.verdicts(group, name):
                finding = None
                if verdict.refusal:
                    finding = _finding(verdict.claim, verdict.state, verdict.refusal)
                elif variable is not None:
                    finding = _finding(verdict.claim, "blocked", switch_reason(variable))
                yield verdict.claim, finding


def _finding(claim: Claim, outcome: str, reason: str = "", **more: Any) -> Finding:
    distribution = claim.distribution
    return Finding(_KINDS[claim.group], claim.name, distribution.name, distribution.version, outcome, reason, **more)


def _try_plugin(catalog: Catalog, claim: Claim, timeout: float) -> list[Finding]:
    finding, *modules = try_in_subprocess(claim, timeout)
    absent = [f"it requires {name}, which is not installed" for name in catalog.absent(claim.distribution)]
    return [replace(finding, notes=(*absent, *finding.notes)), *modules]


def try_in_subprocess(claim: Claim, timeout: float) -> list[Finding]:
    """Load one plugin in a process of its own, and end it when its time is over.

    The finding about it comes first, then those about its compiled modules.
    """
    environment = {
        name: value for name, value in os.environ.items() if name not in {ALLOW, AUTOLOAD, BLOCK, SWITCHED_ON}
    }
    ended = run_in_child(probe.__name__, {"group": claim.group, "name": claim.name}, timeout, environment)
    extensions = [Extension(*each) for each in ended.facts.get("extensions", ())]
    return [_finding_of(claim, ended), *findings_of(extensions, claim.distribution.name)]


def _finding_of(claim: Claim, ended: Ended) -> Finding:
    output = _tail(ended.output.splitlines())
    if ended.fault:
        return _finding(claim, "timed out" if ended.timed_out else "crashed", ended.fault, output=output)
    facts, notes = ended.facts, [*ended.notes]
    if facts["outcome"] == "failed":
        return _finding(claim, "failed", facts["reason"], notes=tuple(notes), output=output)
    seconds = float(facts["seconds"])
    if seconds > SLOW:
        notes.append(f"slow import: {seconds:.1f} s")
    reason = facts.get("reason", "")
    return _finding(claim, facts["outcome"], reason, seconds=round(seconds, 4), notes=tuple(notes))


def _tail(lines: list[str]) -> str:
    """Return the last lines; the import system's own frames in the trace of a crash say nothing."""
    return "\n".join([line for line in lines if "<frozen importlib" not in line][-_LAST_LINES:])
