"""Commands: ``torchlike run script.py args…`` runs an unchanged PyTorch program; so does ``python -m torchlike``."""

from __future__ import annotations

import os
import sys
from typing import Final

from dispatch_devkit.command_line.running import FORMS, run_program

from .surface import missing_names, stand_in

_USAGE: Final = """\
usage: {0} run SCRIPT [ARGUMENT ...]
       {0} run -m MODULE [ARGUMENT ...]
       {0} run -c CODE [ARGUMENT ...]

Run a PyTorch program that is not changed: in its process, torch is torchlike. Names of torch that the program asks for and
that are missing are listed at its end, or where it fails."""


def _name() -> str:
    from dispatch_core.tools import program_name  # slow to import; only messages need it

    return program_name("torchlike", "torchlike")


def _report() -> None:
    missing = missing_names.describe_missing()
    if missing:
        print("\ntorchlike: names of torch that were asked for and are missing:", file=sys.stderr)
        for name in missing:
            print(f"  {name}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    wanted = not {"-h", "--help"}.isdisjoint(arguments[: 2 if arguments[:1] == ["run"] else 1])
    if wanted or len(arguments) < 2 or arguments[0] != "run" or (arguments[1] in FORMS and len(arguments) < 3):
        print(_USAGE.format(_name()), file=sys.stdout if wanted else sys.stderr)
        return 0 if wanted else 2
    if arguments[1].startswith("-") and arguments[1] not in FORMS:
        print(f"{_name()} run: there is no option {arguments[1]!r}\n{_USAGE.format(_name())}", file=sys.stderr)
        return 2
    if arguments[1] not in FORMS and not os.path.exists(arguments[1]):  # noqa: PTH110
        print(f"{_name()} run: there is no file {arguments[1]!r}", file=sys.stderr)
        return 2
    stand_in.install_as_torch()
    form = arguments[1] if arguments[1] in FORMS else ""
    try:
        return run_program(form, arguments[2 if form else 1 :], missing_names.name_missing)
    finally:
        _report()


if __name__ == "__main__":
    sys.exit(main())
