"""Arguments of the commands: errors with near misses, and the types and options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NoReturn

__all__ = ["CommandParser", "add_import", "add_json", "add_timeout", "did_you_mean"]


class CommandParser(argparse.ArgumentParser):
    """A parser that names the option which a misspelt one is nearest to."""

    def refuse(self, rest: Sequence[str]) -> NoReturn:
        """End the program, for arguments that it does not take."""
        hints = [did_you_mean(word.partition("=")[0], self._option_string_actions) for word in rest if word[:1] == "-"]
        hint = next(filter(None, hints), f"{self.prog} --help shows its arguments")
        self.error(f"unrecognized arguments: {' '.join(rest)}\nHint: {hint}")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the names that are nearest to one, or "" where none is near.

    >>> did_you_mean("docter", ["doctor", "list"])
    'did you mean doctor?'
    """
    near = get_close_matches(name, names, n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


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


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the time limit of child processes."""
    parser.add_argument(
        "--timeout", type=_seconds, default=10.0, metavar="SECONDS", help="for each process (default: 10)"
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds
