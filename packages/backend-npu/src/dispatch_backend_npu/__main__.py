"""The command line: ``python -m dispatch_backend_npu simulator [FOLDER]`` builds the simulator.

``python -m dispatch_backend_npu check`` tries the toolkit and the chip, and writes a report to send back;
``python -m dispatch_backend_npu functions`` prints the checks that every function of the toolkit has passed.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from .check import command

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return the exit status: 0, or 1 where the simulator cannot be built or a check fails."""
    parser = argparse.ArgumentParser(prog="python -m dispatch_backend_npu", description="Tools of the npu backend.")
    commands = parser.add_subparsers(dest="command", required=True)
    simulator = commands.add_parser("simulator", help="build the simulator and print the environment that uses it")
    simulator.add_argument("folder", nargs="?", help="where to build it (a folder in the user's cache)")
    commands.add_parser("functions", help="print the table of docs/npu.md")
    check = commands.add_parser("check", help="try the toolkit and the chip, and write a report to send back")
    command.add_arguments(check)
    options = parser.parse_args(arguments)
    if options.command == "check":
        return command.run(options)
    if options.command == "functions":
        from .simulator.coverage import table

        print(table())
        return 0

    from dispatch_core.files.cache_folders import cache_folder

    from .simulator import build

    try:
        # A folder that goes with this process would be of no use to the caller.
        cache_folder("npu", may_be_private=options.folder is not None)
        folder = build(options.folder)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"the simulator cannot be written: {error}. Hint: name another folder.", file=sys.stderr)
        return 1
    print(f"export ASCEND_HOME_PATH={shlex.quote(str(folder))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
