"""Options that several commands share."""

from __future__ import annotations

import argparse


def add_import(parser: argparse.ArgumentParser, example: str) -> None:
    """Add the option to import modules first, such as ``example``."""
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help=f"import a module first: {example}",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option to report in JSON."""
    parser.add_argument("--json", action="store_true", help="report in JSON")


def add_timeout(parser: argparse.ArgumentParser, default: float = 10.0) -> None:
    """Add the time limit of child processes."""
    parser.add_argument(
        "--timeout", type=_seconds, default=default, metavar="SECONDS", help=f"for each process (default: {default:g})"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds
