"""Commands: ``torchlike run script.py args…`` runs an unchanged PyTorch program; so does ``python -m torchlike``.

Note [The path of a program]
    A program's folder is the first on ``sys.path``, in the place of the entry that Python has made for this command; under
    ``-P`` neither has one. It is put there after our modules and their dependencies are imported, so that no file of the
    folder takes the place of one of those.
"""

from __future__ import annotations

import os
import sys
import traceback
from types import ModuleType, TracebackType
from typing import Any, Final

from . import stand_in

_USAGE: Final = """\
usage: {0} run SCRIPT [ARGUMENT ...]
       {0} run -m MODULE [ARGUMENT ...]
       {0} run -c CODE [ARGUMENT ...]

Run a PyTorch program that is not changed: in its process, torch is torchlike. Names of torch that the program asks for and
that are missing are listed at its end, or where it fails."""


def _name() -> str:
    from dispatch_core.tools import program_name  # slow to import; only messages need it

    return program_name("torchlike", "torchlike")


def _make_main(path: str | None) -> dict[str, Any]:
    """Return the names of a new main module."""
    main = ModuleType("__main__")
    main.__dict__.update({"__builtins__": __builtins__, "__file__": path, "__spec__": None})
    if path is None:
        del main.__dict__["__file__"]
    sys.modules["__main__"] = main
    return main.__dict__


def _put_first(folder: str) -> None:
    """Put a folder in the place of Python's own entry of ``sys.path``; see Note [The path of a program]."""
    if not sys.flags.safe_path:
        sys.path[:1] = [folder]


def _run(arguments: list[str]) -> None:
    """Run a script, a module or code."""
    first, rest = arguments[0], arguments[1:]
    if first == "-m":
        import runpy

        sys.argv = rest
        _put_first(os.getcwd())  # noqa: PTH109  # an entry is a string
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        _put_first(os.getcwd())  # noqa: PTH109  # as above
        exec(compile(rest[0], "<string>", "exec"), _make_main(None))  # noqa: S102  # the user's own code
    else:
        path = os.path.abspath(first)  # noqa: PTH100  # links are kept, as Python keeps them
        with open(path, "rb") as file:  # noqa: PTH123
            code = compile(file.read(), path, "exec")
        sys.argv = arguments
        _put_first(os.path.dirname(path))  # noqa: PTH120
        exec(code, _make_main(path))  # noqa: S102  # the user's, too


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame that is the program's."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


def _report() -> None:
    missing = stand_in.list_missing()
    if missing:
        print("\ntorchlike: names of torch that were asked for and are missing:", file=sys.stderr)
        for name in missing:
            print(f"  {name}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    wanted = not {"-h", "--help"}.isdisjoint(arguments[: 2 if arguments[:1] == ["run"] else 1])
    if wanted or len(arguments) < 2 or arguments[0] != "run" or (arguments[1] in ("-m", "-c") and len(arguments) < 3):
        print(_USAGE.format(_name()), file=sys.stdout if wanted else sys.stderr)
        return 0 if wanted else 2
    if not arguments[1].startswith("-") and not os.path.exists(arguments[1]):  # noqa: PTH110
        print(f"{_name()} run: there is no file {arguments[1]!r}", file=sys.stderr)
        return 2
    stand_in.install()
    try:
        _run(arguments[1:])
    except SystemExit:
        _report()
        raise
    except BaseException as error:  # noqa: BLE001  # whatever the program raises is shown as Python shows it
        traceback.print_exception(type(error), error, _without_ours(error.__traceback__))
        stand_in.name_missing(error)
        _report()
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    _report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
