"""Load one plugin in a process of its own and report how far it got. The doctor starts this; nothing imports it."""

from __future__ import annotations

import faulthandler
from contextlib import suppress
from importlib import import_module
from typing import Any

from dispatch_core import device_key, registry
from dispatch_core.inspection import ADAPTERS, BACKENDS, KERNELS, explain_exception, loader
from dispatch_core.runtime import has_interface
from dispatch_core.surroundings.extensions import list_extensions

from ..children import end_child, teller
from .examination import faults_of, missing_kernels


def run(job: dict[str, Any]) -> None:
    """Load the job's plugin and append one JSON line per step to its report, so that a crash leaves the steps before.

    The cpu backend is loaded first, so that a plugin which takes one of its kernels' place is found out.
    """
    faulthandler.enable()
    group, name = job["group"], job["name"]
    tell = teller(job)
    tell(step="while the cpu backend was being loaded")
    if (group, name) != (BACKENDS, "cpu"):
        try:
            loader().load_backend("cpu")
        except Exception as error:  # noqa: BLE001 - the cpu backend has a report of its own
            tell(note=f"the cpu backend could not be loaded first: {explain_exception(error.__cause__ or error)}")
    tell(step="while it was being loaded")
    try:
        if group == BACKENDS:
            loader().load_backend(name)
        elif group == KERNELS:
            loader().kernels.ensure(name)
        else:
            loader().operator_library(name)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        tell(outcome="failed", reason=explain_exception(error.__cause__ or error))
    else:
        tell(outcome="ok", seconds=loader().seconds[group, name])
        faults: list[str] = []
        if group == BACKENDS:
            tell(step="while it examined the installation of its device")
            faults += _examine_installation(name)
            tell(step="while it was asked whether its device is available")
            _ask(name, tell, faults)
            if has_interface(name):
                tell(step="while frontends were asked for its names")
                _ask_frontends(name, tell)
        tell(step="while its kernels were being examined")
        _examine(group, name, tell, faults)
    tell(extensions=[(each.distribution, each.name, each.owner, each.state, each.remark) for each in list_extensions()])
    tell(done=True)
    end_child()


def _examine_installation(name: str) -> list[str]:
    try:
        return loader().installation_faults(name)
    except Exception as error:  # noqa: BLE001 - as above
        return [f"dispatch_examine raised {explain_exception(error.__cause__ or error)}"]


def _examine(group: str, name: str, tell: Any, faults: list[str]) -> None:
    claim = loader().catalog.usable(group, name)
    assert claim is not None  # it has loaded
    distribution = claim.distribution.name
    faults = [*faults, *faults_of(registry, distribution)]
    if faults:
        tell(outcome="faulty", reason="\n".join(faults))
    if group == KERNELS:
        state = loader().kernels.states()[name]
        tell(note=f"{state.kernels} kernels under {state.dispatch_key}")
    if group == BACKENDS:
        needed, missing = missing_kernels(registry, device_key(name), distribution)
        if missing and device_key(name) not in registry.fallbacks:
            brought = f"it has kernels for {needed - len(missing)} of the {needed} operators that nothing composes"
            tell(note=f"{brought}; without: {', '.join(missing)}")


def _ask(name: str, tell: Any, faults: list[str]) -> None:
    try:
        available = loader().availability(name)
    except Exception as error:  # noqa: BLE001 - as above
        tell(outcome="failed", reason=f"dispatch_is_available raised {explain_exception(error.__cause__ or error)}")
        return
    if not available and available.reason in faults:
        return
    if not available:
        tell(note=f"its device cannot be opened on this machine: {available.reason or 'no reason given'}")
    elif available.reason:
        tell(note=available.reason)


def _ask_frontends(name: str, tell: Any) -> None:
    """Say which frontends have a device's name for something else, so that users get no module or methods of that name."""
    catalog = loader().catalog
    for frontend in catalog.names(ADAPTERS):
        claim, taken = catalog.usable(ADAPTERS, frontend), None
        with suppress(Exception):  # a frontend that cannot be loaded is not the backend's fault
            taken = None if claim is None else import_module(claim.value).find_taken_names(name)
        if taken:
            tell(
                note=f"{frontend} has {', '.join(taken)} for something else: users get no module or methods of the"
                " device's name"
            )
