"""The command ``dispatch``, or ``python -m dispatch_core``: the choice of a command, and how it ends.

Note [Exit statuses]
    0 where nothing is wrong, 1 where a command has found something wrong, 2 for a command that cannot run, 130 after Ctrl-C,
    and 141 where the reader of the output has gone, as after ``dispatch list | head -1``: the last two are those that a
    shell gives a program which ends by the signals.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from dispatch_core.errors import DispatchError
from dispatch_core.tools import BRINGS, CommandParser, did_you_mean, find_tool, list_tools, program_name

FINE: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
READER_GONE: Final = 141

#: Command → its module in this folder, and its help.
COMMANDS: Final = {
    "list": ("listing", "list the installed devices; nothing is loaded but by --import"),
    "doctor": ("doctor", "try every plugin in a process of its own"),
    "explain": ("explain", "show an operator's kernels, and which one wins for which keys"),
    "trace": ("trace", "run a program and show its calls, with their keys, kernels and times"),
    "cache": ("cache", "show the folder of compiled files, or delete them"),
    "completion": ("completion", "print the script by which a shell completes this command"),
    "new-backend": ("new_backend", "write the package of a backend for a new device"),
}
_DESCRIPTION: Final = "List and examine the installed plugins, and explain the kernel of a call."
_EXAMPLES: Final = """\
examples:
  {0} list
  {0} doctor npu
  {0} explain add --keys AutogradCPU,CPU
  {0} COMMAND --help

exit status: 0 fine, 1 something was found, 2 the command cannot run"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status; see Note [Exit statuses].

    Raises ``SystemExit`` for arguments that it does not take, and after ``--help``.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    # A console's encoding may lack characters of a name or a path; a program that is run has Python's own output.
    if sys.stdout is not None and hasattr(sys.stdout, "reconfigure") and arguments[:1] != ["trace"]:
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(arguments)
        finally:
            if sys.stdout is not None and not sys.stdout.closed:
                sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        status = INTERRUPTED
    except BrokenPipeError:
        status = READER_GONE
    except (DispatchError, OSError) as error:
        # Windows calls a closed pipe an invalid argument.
        is_pipe = sys.platform == "win32" and isinstance(error, OSError) and error.errno == errno.EINVAL
        if not is_pipe:
            print(error, file=sys.stderr)
        status = READER_GONE if is_pipe else USAGE
    _drop_output()
    return status


def _drop_output() -> None:
    """Write the output that is left, or drop it: it must not fail again when the interpreter ends."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # it has no folder
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _run(arguments: Sequence[str]) -> int:
    name = next((each for each in arguments if not each.startswith("-")), None)
    tools = BRINGS if name in COMMANDS or name in BRINGS else {**BRINGS, **list_tools()}
    if name in tools and name not in COMMANDS:
        # Its arguments are the tool's own affair, "--help" included.
        return find_tool(name)(list(arguments)[list(arguments).index(name) + 1 :])
    parser = make_parser([name] if name in COMMANDS else [], tools)
    if name is not None and name not in COMMANDS:
        hint = did_you_mean(name, [*COMMANDS, *tools]) or f"{program_name()} --help lists them"
        parser.error(f"there is no command {name!r}\nHint: {hint}")
    options, rest = parser.parse_known_args(arguments)
    if rest:
        (parser.commands.choices[name] if name is not None else parser).refuse(rest)
    if name is None:
        parser.print_help()
        return FINE
    status: int = options.run(options)
    return status


class ProgramParser(CommandParser):
    """The parser of the whole command; ``commands`` has those of the commands."""

    commands: Any


def make_parser(
    whole: Collection[str], tools: Mapping[str, str] = BRINGS, *, program: str | None = None
) -> ProgramParser:
    """Return the parser of the command, with the arguments of the commands ``whole``; the others have their help alone."""
    program = program or program_name()
    parser = ProgramParser(
        prog=program,
        description=_DESCRIPTION,
        epilog=_EXAMPLES.format(program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=CommandParser)
    for command, (module, summary) in COMMANDS.items():
        made = commands.add_parser(command, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if command in whole:
            found = import_module(f".{module}", __package__)
            made.description = summary[:1].upper() + summary[1:] + "."
            made.epilog = f"example:\n  {program} {found.EXAMPLE}"
            found.add_arguments(made)
            made.set_defaults(run=found.run)
    for tool, summary in tools.items():
        commands.add_parser(tool, help=summary)
    return parser


def _version() -> str:
    from dispatch_core.inspection import installed_version

    return f"dispatch-core {installed_version('dispatch-core')}"
