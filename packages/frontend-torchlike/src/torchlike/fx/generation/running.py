"""Code of graphs as functions that tracebacks can show, and as files."""

from __future__ import annotations

import linecache
import sys
import traceback
from itertools import count
from typing import Any, Final

from .literals import is_name, standard_globals

__all__ = ["compile_forward", "describe_failure", "import_lines"]

_numbers: Final = count()
_sources: Final[dict[str, str]] = {}


class _SourceLoader:
    """Gives the standard library the source of generated functions."""

    def get_source(self, name: str) -> str | None:
        """Return the source that has a name, None where there is none."""
        return _sources.get(name)


def compile_forward(source: str, variables: dict[str, Any], origin: dict[str, Any] | None = None) -> Any:
    r"""Return the function ``forward`` that a source defines; tracebacks show the source.

    ``origin`` has the file, line and name of the function that was traced.

    >>> compile_forward("def forward(self, x):\n    return x + one\n", {"one": 1})(None, 2)
    3
    """
    name = f"<eval_with_key>.{next(_numbers)}"
    if origin:
        function = str(origin.get("co_name")).strip("<>")  # linecache passes over names that end so
        name += f" from {origin.get('co_filename')}:{origin.get('co_firstlineno')} in {function}"
    _sources[name] = source
    found = dict(variables)
    linecache.lazycache(name, {**found, "__file__": name, "__name__": name, "__loader__": _SourceLoader()})
    exec(compile(source, name, "exec", dont_inherit=True), found)  # noqa: S102  # code of literals and names alone
    return found.pop("forward")


def import_lines(variables: dict[str, Any]) -> str:
    """Return the lines that import the global variables of generated code.

    Raises ``RuntimeError`` for a value that cannot be imported by a name.

    >>> import operator
    >>> import_lines({"plus": operator.add})
    'from _operator import add as plus'
    """
    standard = standard_globals()
    return "\n".join(
        sorted(
            {standard[name][0] if name in standard else _import_line(name, value) for name, value in variables.items()}
        )
    )


def _import_line(name: str, value: Any) -> str:
    module, qualified = (
        getattr(value, "__module__", None),
        getattr(value, "__qualname__", getattr(value, "__name__", None)),
    )
    if isinstance(module, str) and isinstance(qualified, str):
        owner = sys.modules.get(module)
        for each in (qualified, name):
            if all(map(is_name, [*module.split("."), each])) and getattr(owner, each, None) is value:
                return f"from {module} import {each} as {name}"
    raise RuntimeError(
        f"the generated code uses {value!r}, which no module has under its name, so the code cannot be written to a "
        f"file or a"
        " pickle; define it at the top level of a module"
    )


def describe_failure(error: BaseException) -> str | None:
    """Return a text that shows the line of generated code at which an error was raised; None for one of other code."""
    last = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__))[-1]
    if "eval_with_key" not in last.filename or last.lineno is None:
        return None
    lines = linecache.getlines(last.filename)
    return "\n".join(
        [
            traceback.format_exc(),
            f"Call using an FX-traced Module, line {last.lineno} of the traced Module's generated forward function:",
            "".join(lines[last.lineno - 2 : last.lineno]),
            f"{'~' * len(last.line or '')}~~~ <--- HERE",
            "\n".join(lines[last.lineno : last.lineno + 2]),
        ]
    )
