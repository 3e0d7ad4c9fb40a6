"""Record which of torch's functions may be overridden, and how they hand on their arguments: run it beside torch.

``python tools/record_overridable.py`` writes ``overridable.txt`` of ``torchlike.overriding``: facts of the installed torch,
by namespace. A function of torch's that is Python calls ``handle_torch_function`` itself; for it the table has the
arguments whose classes are asked, and those that are handed on by position and by name. Any other name is a function that
asks all arguments and hands on what it is given. A name with ``.__get__`` is a property, one with ``.__set__`` one that may
be assigned. ``operators`` are Python's operators with another method's name, ``ignored`` the names of
``get_ignored_functions()``, and ``plain results`` those of ``get_default_nowrap_functions()``.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from torch import overrides
from torch._jit_internal import boolean_dispatched

_TARGET = Path(__file__).parent.parent / "packages/frontend-torchlike/src/torchlike/overriding/overridable.txt"
_NAMESPACES = {
    "torch": torch,
    "functional": torch.functional,
    "nn.functional": torch.nn.functional,
    "nn.init": torch.nn.init,
    "linalg": torch.linalg,
    "fft": torch.fft,
    "special": torch.special,
    "Tensor": torch.Tensor,
}
_UNLISTED = ("torch.nn.functional", "torch.nn.init")
_WIDTH = 120


def _names(value: ast.expr, body: ast.AST) -> str:
    """Return the names in the tuple of arguments that are asked, which may be a variable."""
    if isinstance(value, ast.Name):
        for node in ast.walk(body):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == value.id:
                return _names(node.value, body)
        return f"*{value.id}"
    if not isinstance(value, ast.Tuple):
        return " ".join(node.id for node in ast.walk(value) if isinstance(node, ast.Name))
    return " ".join(ast.unparse(each) for each in value.elts)


def describe(function: Any) -> str:
    """Return how a function that is Python hands on its arguments, "" for any other."""
    if not isinstance(function, FunctionType):
        return ""
    if function in boolean_dispatched:  # it calls one of two functions, the second one by default
        function = boolean_dispatched[function]["if_false"]
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("handle_torch_function"):
            _, asked, *given = node.args
            named = " ".join(each.arg or "**" for each in node.keywords)
            return f"({_names(asked, tree)}|{' '.join(map(ast.unparse, given))}|{named})"
    return ""


def list_functions(namespace: Any, listed: list[Any]) -> Iterator[str]:
    """Yield the names of a namespace whose values may be overridden."""
    for name in sorted(dir(namespace)):
        value = getattr(namespace, name, None)
        if any(value is each for each in listed):
            yield f"{name}{describe(value)}"
        elif getattr(value, "__module__", None) in _UNLISTED and name[0] != "_" and describe(value):
            yield f"{name}{describe(value)}"  # torch leaves it out of its list, though it asks


def list_properties() -> Iterator[str]:
    """Yield the names of the properties of tensors that may be overridden."""
    listed = overrides.get_overridable_functions()
    for name in sorted(dir(torch.Tensor)):
        value = inspect.getattr_static(torch.Tensor, name)
        if hasattr(value, "__set__") and any(value is each for each in listed):
            yield f"{name}.__get__"


def list_operators() -> Iterator[str]:
    """Yield Python's operators whose calls are handed on as those of another method, and the method's name."""
    seen: list[Any] = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return None

    tensor = torch.ones(2, dtype=torch.int64).as_subclass(Seen)
    for name in sorted(dir(torch.Tensor)):
        if not name.startswith("__") or name in ("__init__", "__new__", "__class__", "__iter__", "__hash__"):
            continue
        for arguments in ((), (1,)):
            seen.clear()
            with suppress(Exception):  # a call with arguments that it does not take tells nothing
                getattr(tensor, name)(*arguments)
            found = next((each for each in dir(torch.Tensor) if seen and getattr(torch.Tensor, each) is seen[0]), "")
            if len(seen) == 1 and found and getattr(torch.Tensor, name) is not seen[0]:
                yield f"{name}={resolve(seen[0])}"
                break


def resolve(function: Any) -> str:
    """Return the name of a function below ``torch.Tensor``, or below torch."""
    name = overrides.resolve_name(function) or getattr(function, "__name__", "")
    return str(name).removeprefix("torch.").removeprefix("Tensor.")


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    listed = overrides.get_overridable_functions()
    sections = {name: list(list_functions(value, listed.get(value, []))) for name, value in _NAMESPACES.items()}
    sections["properties"] = list(list_properties())
    sections["operators"] = list(list_operators())
    sections["ignored"] = sorted({resolve_ignored(each) for each in overrides.get_ignored_functions()} - {""})
    sections["plain results"] = sorted(map(resolve, overrides.get_default_nowrap_functions()))
    lines = []
    for name, words in sections.items():
        text = textwrap.fill("  ".join(words).replace("  ", "\n"), _WIDTH, break_long_words=False)
        lines.append(f"[{name}]\n{text}\n" if not any("(" in each for each in words) else f"[{name}]\n" + wrap(words))
    _TARGET.write_text("\n".join(lines))


def wrap(words: list[str]) -> str:
    """Return names in lines; those with arguments have a line of their own."""
    plain = [each for each in words if "(" not in each]
    return "\n".join([textwrap.fill(" ".join(plain), _WIDTH), *(each for each in words if "(" in each), ""])


def resolve_ignored(function: Any) -> str:
    """Return the full name of a function below ``torch``, "" where it has none."""
    for prefix, namespace in _NAMESPACES.items():
        name = getattr(function, "__name__", "")
        if getattr(namespace, name, None) is function:
            return name if prefix == "torch" else f"{prefix}.{name}"
    found = next((name for name in dir(torch.Tensor) if getattr(torch.Tensor, name, None) is function), "")
    return found and f"Tensor.{found}"


if __name__ == "__main__":
    main()
