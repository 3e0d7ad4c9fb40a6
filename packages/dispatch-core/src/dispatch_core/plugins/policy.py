"""Which claim may load when a device is asked for, by the catalog's verdicts and the environment variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..surroundings.distributions import BACKENDS, Claim
from . import messages
from .catalog import Catalog, is_own
from .settings import ALLOW, AUTOLOAD, BLOCK, Settings
from .state import BackendState


def kept_out_by(settings: Settings, device: str) -> str | None:
    """Return the environment variable that keeps a device out, if one does.

    >>> kept_out_by(Settings(block=("npu",)), "npu")
    'DISPATCH_BACKENDS_BLOCK'
    """
    if device in settings.block:
        return BLOCK
    return ALLOW if settings.allow is not None and device not in settings.allow else None


def choose(
    catalog: Catalog,
    settings: Settings,
    device: str,
    *,
    automatic: bool,
    states: Callable[[], Mapping[str, BackendState]],
) -> Claim:
    """Return the claim to load for a device.

    Raises ``BackendNotFoundError`` if there is none, or none for a device that the allow-list names, and
    ``BackendError`` if all were refused or a variable keeps the device out.
    """
    for allowed in settings.allow or ():
        if not catalog.claims(BACKENDS, allowed) and allowed not in states():
            raise messages.listed_but_missing(allowed, states())
    verdicts = catalog.verdicts(BACKENDS, device)
    if not verdicts:
        raise messages.not_found(device, states())
    if (variable := kept_out_by(settings, device)) is not None:
        raise messages.switched_off(verdicts[0].claim, variable)
    claim = catalog.usable(BACKENDS, device)
    if claim is None:
        raise messages.refusal("device", device, verdicts)
    if automatic and not settings.autoload and not is_own(BACKENDS, device):
        raise messages.switched_off(claim, AUTOLOAD)
    return claim


def judge(catalog: Catalog, settings: Settings, device: str) -> tuple[BackendState, ...]:
    """Return the state of every claim to a device that is not loaded yet; those that may load come first."""
    variable = kept_out_by(settings, device)
    states = []
    for verdict in catalog.verdicts(BACKENDS, device):
        state, reason = (verdict.state, verdict.refusal) if verdict.refusal else ("installed", "")
        if variable is not None:
            state, reason = "blocked", messages.switch_reason(variable)
        distribution = verdict.claim.distribution
        states.append(BackendState(device, state, distribution.name, distribution.version, reason))
    return tuple(states)
