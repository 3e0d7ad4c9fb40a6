"""The errors of plugin loading: the request, the installed plugins, their origins, and a hint."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from dispatch_core.errors import BackendError, BackendNotFoundError

from ..escapes import to_printable
from ..schema import suggest_dtype
from ..surroundings.distributions import BACKENDS, Claim
from . import settings
from .catalog import OWNERS, Verdict
from .state import BackendState, Failure, ProviderState

#: Other names under which users look for a device.
_KNOWN_AS: Final = {"ascend": "npu", "cuda": "cupy", "davinci": "npu", "numpy": "cpu", "tpu": "jax"}
#: The devices of dispatch-backend-array-api, each of which is an extra of it.
_BRIDGED: Final = ("cupy", "dask", "jax", "strict", "torch")
#: The types of other libraries' arrays, by qualified name, and the device of ours that takes each.
_TYPE_DEVICES: Final = {
    "array_api_strict._array_object.Array": "strict",
    "cupy.ndarray": "cupy",
    "dask.array.core.Array": "dask",
    "jax._src.core.Tracer": "jax",
    "jaxlib._jax.ArrayImpl": "jax",
    "jaxlib.xla_extension.ArrayImpl": "jax",
    "numpy.ndarray": "cpu",
    "torch.Tensor": "torch",
}

_SWITCHES: Final = {
    settings.BLOCK: ("it is blocked by {variable}", "take it out of {variable} and call dispatch_core.refresh()"),
    settings.ALLOW: ("{variable} does not name it", "add it to {variable} and call dispatch_core.refresh()"),
    settings.AUTOLOAD: (
        "{variable} is off, and it is no device of this project's own",
        "load it with dispatch_core.load_backend({device!r})",
    ),
}


def not_found(device: str, states: Mapping[str, BackendState]) -> BackendNotFoundError:
    """Return the error for a device that no installed distribution provides; it lists the devices that they do provide."""
    lines = [f"No installed distribution provides the device {device!r}", *inventory(states.values())]
    return BackendNotFoundError("\n".join(lines), hint=_where_to_find(device, states))


def unknown_provider(name: str, states: Mapping[str, ProviderState], listed: Iterable[str]) -> BackendNotFoundError:
    """Return the error for a provider of kernels that no installed distribution provides; ``listed`` are to be on."""
    from difflib import get_close_matches

    lines = [f"No installed distribution provides kernels named {name!r}"]
    lines += [to_printable(f"  {each}: {state}") for each, state in states.items()] or ["There are none at all"]
    near = get_close_matches(name, states, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "install the distribution that provides them"
    if name in listed:
        hint += f"; or take it out of {settings.KERNELS}"
    return BackendNotFoundError("\n".join(lines), hint=hint)


def not_switched_on(errors: Sequence[BackendError]) -> BackendError:
    """Return the error for providers that the environment variable names and that cannot be loaded."""
    first = errors[0]
    lines = [str(each).removesuffix(f"\nHint: {each.hint}") for each in errors]
    kind = type(first) if len(errors) == 1 else BackendError
    found = kind(
        "\n".join([f"{settings.KERNELS} names kernels that cannot be used", *lines]),
        hint=f"{first.hint}; calls run without them from now on",
    )
    found.__cause__ = first.__cause__
    return found


def listed_but_missing(missing: str, states: Mapping[str, BackendState]) -> BackendNotFoundError:
    """Say that the allow-list names a device that is not installed."""
    lines = [
        f"{settings.ALLOW} names {missing!r}, which no installed distribution provides",
        *inventory(states.values()),
    ]
    return BackendNotFoundError(
        "\n".join(lines), hint=f"{_where_to_find(missing, states)}; or take it out of {settings.ALLOW}"
    )


def refusal(noun: str, name: str, verdicts: Iterable[Verdict]) -> BackendError:
    """Return the error for a name all of whose claims were refused before anything was imported."""
    reasons: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        reasons.setdefault(verdict.refusal, []).append(verdict)
    lines = [f"The {noun} {name!r} cannot be loaded"]
    lines += [
        f"  {verdicts[0].claim}: {reason}" if len(verdicts) == 1 else f"  {reason}"
        for reason, verdicts in reasons.items()
    ]
    hints = dict.fromkeys(verdict.hint for group in reasons.values() for verdict in group)
    return BackendError("\n".join(lines), hint="; ".join(hints))


def load_failure(noun: str, failure: Failure) -> BackendError:
    """Return the error for a plugin whose code raised; raise it from the stored exception."""
    claim = failure.claim
    block = f", {settings.BLOCK}={claim.name} keeps it out" if claim.group == BACKENDS else ""
    return BackendError(
        f"The {noun} {claim.name!r} failed to load: {failure.reason}\n"
        f"It comes from {claim}; nothing of it stayed registered",
        hint=f"the exception above shows where{block}, dispatch_core.refresh() lets it try again",
    )


def switched_off(claim: Claim, variable: str) -> BackendError:
    """Return the error for an installed device that an environment variable keeps from loading."""
    reason, hint = (text.format(variable=variable, device=claim.name) for text in _SWITCHES[variable])
    return BackendError(f"The device {claim.name!r} of {claim.distribution} is not loaded: {reason}", hint=hint)


def switch_reason(variable: str) -> str:
    """Return in a few words how an environment variable keeps a device out."""
    return _SWITCHES[variable][0].format(variable=variable)


def circular_load(noun: str, name: str) -> BackendError:
    """Return the error for a plugin that asked for itself while it was being loaded."""
    return BackendError(
        f"The {noun} {name!r} was asked for while it was being loaded, by its own import or registration",
        hint="ask for it inside the function that uses it, not when the plugin is imported or registered",
    )


def load_timeout(noun: str, name: str, seconds: float) -> BackendError:
    """Return the error for a load that waited too long for another thread."""
    return BackendError(
        f"The {noun} {name!r} could not be loaded: another thread has been loading a plugin for {seconds:g} seconds",
        hint="that thread's plugin hangs, or waits for an import that this thread is in the middle of;"
        " `python -m dispatch_core doctor` tries every plugin with a time limit",
    )


def contested_type(name: str, owners: Mapping[str, Claim]) -> BackendError:
    """Return the error for an array type that several devices claim."""
    lines = [f"The array type {name!r} is claimed by {len(owners)} devices"]
    lines += [f"  {device}: {claim}" for device, claim in sorted(owners.items())]
    several = " and ".join(sorted({claim.distribution.name for claim in owners.values()}))
    return BackendError("\n".join(lines), hint=f"uninstall all but one of {several}")


def inventory(states: Iterable[BackendState]) -> list[str]:
    """Return a line for each installed device, or one that says that there is none."""
    lines = [to_printable(f"  {state.device}: {state}") for state in states]
    return ["Installed devices:", *lines] if lines else ["No backend is installed at all"]


def where_to_find_type(cls: type, installed: Collection[str]) -> str:
    """Return how to install the device of a type of array that is known by name, or ""; nothing is imported.

    >>> class ndarray: __module__ = "numpy"
    >>> where_to_find_type(ndarray, ())
    "pip install dispatch-backend-cpu, whose device 'cpu' owns numpy.ndarray"
    """
    for name in (f"{kind.__module__}.{kind.__qualname__}" for kind in cls.__mro__):
        device = _TYPE_DEVICES.get(name)
        if device is not None and device not in installed:
            return f"pip install {_distributions()[device]}, whose device {device!r} owns {name}"
    return ""


def _distributions() -> dict[str, str]:
    """Return the distribution of each device of ours, as pip takes it."""
    ours = {name: distribution for (group, name), distribution in OWNERS.items() if group == BACKENDS}
    return ours | {name: f'"dispatch-backend-array-api[{name}]"' for name in _BRIDGED}


def _where_to_find(device: str, states: Mapping[str, BackendState]) -> str:
    from difflib import get_close_matches

    ours = _distributions()
    wanted = _KNOWN_AS.get(device.lower(), device.lower())
    if wanted in ours and wanted not in states:
        return f"pip install {ours[wanted]}" + ("" if wanted == device.lower() else f", whose device is {wanted!r}")
    if meant := suggest_dtype(device):
        return f"it is the name of a dtype{meant}"
    near = [wanted] if wanted in states else get_close_matches(wanted, {*states, *ours}, n=3)
    install = [f" (pip install {ours[name]})" if name not in states else "" for name in near]
    if near:
        return "did you mean " + " or ".join(f"{name!r}{how}" for name, how in zip(near, install, strict=True)) + "?"
    return "install the distribution that provides it; dispatch_core.refresh() finds it without a restart"
