"""A Python program that a command runs in its own process, as ``python PROGRAM`` would.

Note [The path of a program]
    A program's folder is the first on ``sys.path``, and replaces the entry that Python has made for the command; under
    ``-P`` neither has one. It is put there after the command's modules and their dependencies are imported, so that no file
    of the folder takes the place of one of those.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import BuiltinImporter, SourceFileLoader
from pathlib import Path
from pkgutil import get_importer
from types import ModuleType, TracebackType
from typing import Any, Final

__all__ = ["FORMS", "run_program"]

#: The function by which Python itself runs `-m`, folders and archives.
_run_as_main: Final[Callable[..., object]] = runpy._run_module_as_main  # type: ignore[attr-defined]
#: Python's options for programs that are no file.
FORMS: Final = ("-m", "-c")


def run_program(
    form: str, arguments: Sequence[str], failed: Callable[[BaseException], object] = lambda error: None
) -> int:
    """Run a program with its arguments as the main module; return its exit status.

    ``form`` is ``-m`` where the first argument is a module, ``-c`` where it is code, and "" for a file, or a folder or
    archive with a file ``__main__.py``. An error of the program is shown as Python shows it, and given to ``failed``.
    Raises ``SystemExit`` where the program does.
    """
    try:
        if form == "-m":
            _run_module(*arguments)
        elif form == "-c":
            _run_code(*arguments)
        else:
            _run_file(*arguments)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001  # whatever the program raises is shown as Python shows it
        error.__traceback__ = _without_ours(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        failed(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _run_module(name: str, *arguments: str) -> None:
    sys.argv = ["-m", *arguments]
    _put_first(str(Path.cwd()))
    _make_main()
    _run_as_main(name)


def _run_code(code: str, *arguments: str) -> None:
    sys.argv = ["-c", *arguments]
    _put_first("")
    exec(compile(code, "<string>", "exec", dont_inherit=True), _make_main())  # noqa: S102  # the user's own code


def _run_file(name: str, *arguments: str) -> None:
    sys.argv = [name, *arguments]
    path = os.path.abspath(name)  # noqa: PTH100  # links are kept, as Python keeps them
    if get_importer(path) is not None:  # a folder or an archive, which Python looks through even under -P
        _put_first()
        sys.path.insert(0, path)
        _make_main()
        _run_as_main("__main__", alter_argv=False)
        return
    code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    # Python follows the link of a script for its folder.
    _put_first(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120  # an entry is a string
    exec(code, _make_main(path))  # noqa: S102  # the user's, too


def _put_first(*folders: str) -> None:
    """Replace Python's own entry of ``sys.path`` by a folder; see Note [The path of a program]."""
    if not sys.flags.safe_path:
        sys.path[:1] = folders


def _make_main(path: str | None = None) -> dict[str, Any]:
    """Return the names of a new main module."""
    main = ModuleType("__main__")
    names = main.__dict__
    names.update({"__builtins__": sys.modules["builtins"], "__loader__": BuiltinImporter})
    if path is not None:
        names.update({"__file__": path, "__cached__": None, "__loader__": SourceFileLoader("__main__", path)})
    sys.modules["__main__"] = main
    return names


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame that is the program's."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace
