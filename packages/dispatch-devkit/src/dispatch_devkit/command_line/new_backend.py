"""``dispatch new-backend``: the package of a backend for a new device."""

from __future__ import annotations

import argparse
from typing import Final

from ..scaffold import PARTS, SORTS, STRIDED, new_backend

EXAMPLE: Final = "new-backend acme --immutable"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", metavar="NAME", help="the device's name, in lower case; the package is NAME_backend")
    sorts = parser.add_mutually_exclusive_group()
    for sort, summary in SORTS.items():
        if sort != STRIDED:
            sorts.add_argument(f"--{sort}", dest="sort", action="store_const", const=sort, help=summary)
    parser.add_argument(
        "--interface",
        nargs="+",
        default=(),
        choices=PARTS,
        metavar="PART",
        help=f"write these parts of the device's interface, too: {', '.join(PARTS)}",
    )
    parser.add_argument(
        "--directory",
        default=".",
        metavar="FOLDER",
        help="make the package's folder in this one (default: the current)",
    )
    parser.set_defaults(sort=STRIDED)


def run(options: argparse.Namespace) -> int:
    """Write the package and print its files; return 0."""
    print(new_backend(options.name, options.directory, sort=options.sort, interface=options.interface))
    return 0
