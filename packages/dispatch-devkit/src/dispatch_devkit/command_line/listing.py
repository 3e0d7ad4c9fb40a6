"""``dispatch list``: the installed devices and providers of kernels, and the dispatch keys."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any, Final

from dispatch_core import backends, kernel_providers
from dispatch_core.inspection import BackendState, ProviderState
from dispatch_core.tools import import_modules

from .arguments import add_import, add_json
from .output import TextOutput, style_of

EXAMPLE: Final = "list --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--all", action="store_true", help="show every dispatch key, too, the highest first")
    parser.add_argument(
        "--fallbacks",
        action="store_true",
        help="show the operators that the host computes, for each device that has some",
    )
    parser.add_argument("--verbose", action="store_true", help="with --all, show each key's bit and rank")
    add_import(parser, "one that registers devices")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the installed devices; return 0."""
    import_modules(options.modules)
    states = [state for first in backends().values() for state in (first, *first.rivals)]
    providers = kernel_providers().values()
    keys = _keys() if options.all else []
    fallbacks = _list_fallbacks() if options.fallbacks else {}
    if options.json:
        shown: dict[str, Any] = {
            "devices": [_state_row(state) for state in states],
            "kernels": [asdict(provider) for provider in providers],
        }
        if options.all:
            shown["keys"] = keys
        if options.fallbacks:
            shown["fallbacks"] = fallbacks
        print(json.dumps(shown, indent=2))
        return 0
    output = TextOutput.of()
    head = ("device", "distribution", "version", "state", "key", "reason")
    print(output.table(head, map(_cells, states), {3: style_of}) or "No backend is installed. " + _HINT)
    if providers:
        provider_head = ("kernels", "distribution", "version", "state", "reason")
        print("", output.table(provider_head, map(_provider_cells, providers), {3: style_of}), sep="\n")
    if options.all:
        columns = (
            {"name": "dispatch key", "bit": "bit", "rank": "rank"} if options.verbose else {"name": "dispatch key"}
        )
        rows = [tuple(str(key[column]) for column in columns) for key in keys]
        print("", output.table(tuple(columns.values()), rows), sep="\n")
    if options.fallbacks:
        shown_rows = [(device, name) for device, names in fallbacks.items() for name in names]
        table = output.table(("device", "computed on the host"), shown_rows)
        print("", table or "No device has operators that the host computes.", sep="\n")
    return 0


_HINT: Final = "Hint: pip install dispatch-backend-cpu"


def _cells(state: BackendState) -> tuple[str, ...]:
    reason = state.reason or (state.place and f"registered at {state.place}")
    return state.device, state.distribution or "-", state.version or "-", state.state, state.dispatch_key, reason


def _state_row(state: BackendState) -> dict[str, Any]:
    row = asdict(state)
    del row["rivals"]
    return row


def _provider_cells(provider: ProviderState) -> tuple[str, ...]:
    state = f"{provider.state}, on" if provider.is_on else provider.state
    return provider.name, provider.distribution, provider.version, state, provider.reason


def _keys() -> list[dict[str, Any]]:
    from dispatch_core.keys import DispatchKey

    return [
        {"name": key.name, "bit": key.bit, "rank": key.rank} for key in sorted(DispatchKey, key=lambda key: -key.rank)
    ]


def _list_fallbacks() -> dict[str, list[str]]:
    """Return the operators of aten that the host computes, by device; the backends are loaded, as far as they can be."""
    from dispatch_core import DispatchError, coverage

    found = {}
    for device in backends():
        try:
            names = coverage(device).operators(device, "host")
        except DispatchError:
            continue
        if names:
            found[device] = names
    return found
