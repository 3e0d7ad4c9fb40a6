"""The function ``forward`` of a graph, as code (source: ``torch.fx.graph.CodeGen``)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ...tensors.tensor import Tensor
from ...values.dtype_abbreviations import ABBREVIATIONS
from ..node import Node
from ..node_order import find_last_uses
from ..targets import qualified_name
from ..tracing.wrapped import wrap
from .literals import CodeWriter, is_name, write_path
from .namespace import UniqueNames
from .signs import INPLACE_METHODS, MAGIC_METHODS

__all__ = ["BoxedCodeGen", "CodeGen", "PythonCode", "TransformCodeFunc"]

TransformCodeFunc = Callable[[list[str]], list[str]]

_COLORS: Final = {
    name: f"\033[{code}m"
    for name, code in {"red": "31", "blue": "34", "dim": "2", "dim_blue": "2m\033[34", "dim_green": "2m\033[32"}.items()
}
_FRAME: Final = re.compile(r"^File \"(.+)\", line (\d+), in (.+)$")


@dataclass
class PythonCode:
    """A graph's code: the source of the function, and the global variables that it needs."""

    src: str
    globals: dict[str, Any]
    #: Line of the function → index of the node that it computes.
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


@dataclass
class _Details:
    """How much of the nodes' ``meta`` the code shows."""

    verbose: bool = False
    include_stride: bool = False
    include_device: bool = False
    colored: bool = False
    expanded_def: bool = False
    additional_meta: list[str] = field(default_factory=list)

    def paint(self, text: str, color: str) -> str:
        return f"{_COLORS[color]}{text}\033[0m" if self.colored and text else text


class _Body:
    """The lines of a function, node by node."""

    def __init__(self, nodes: Iterable[Node], root_module: str, writer: CodeWriter, options: _Details) -> None:
        self.nodes = list(nodes)
        self.root_module, self.writer, self.options = root_module, writer, options
        self.parameters: list[str] = []
        self.statements: list[str] = []
        self.returns = ""
        self.wrapped: dict[str, None] = {}
        self._last_uses = find_last_uses(self.nodes)
        self._summary = ""

    def write(self, codegen: CodeGen) -> None:
        """Write all nodes."""
        for index, node in enumerate(self.nodes):
            if self.options.verbose:
                self._write_summary(node)
            self.statements.append(f"# COUNTER: {index}\n")
            if node.op == "placeholder":
                self._write_placeholder(node)
                continue
            if node.op == "output":
                if node.type is not None:
                    self.returns = f" -> {self.writer.write_type(node.type)}"
                text = _call_with_known(codegen.generate_output, node.args[0], repr_fn=self.writer.write)
                self.statements.append(f"{text}\n")
                continue
            self.statements.append(self._write_call(node, f"{node!r}{self._write_annotation(node)}"))
            dead = [*self._last_uses.get(node, []), *([] if node.users else [node])]
            names = " = ".join([*map(repr, dead), "None"])
            self.statements.append(f";  {self.options.paint(names, 'dim')}\n" if dead else "\n")

    def _write_annotation(self, node: Node) -> str:
        found = _describe_value(node, self.options) if self.options.verbose else ""
        if found:
            return f': "{found}"'
        return "" if node.type is None else f" : {self.writer.write_type(node.type)}"

    def _write_placeholder(self, node: Node) -> None:
        name = node.target.replace("*", "")
        if not is_name(name) or node.target.count("*") > 2:
            raise ValueError(
                f"placeholder {node.name} has the target {node.target!r}, which is not a name for an argument"
            )
        default = f" = {self.writer.write(node.args[0])}" if node.args else ""
        note = node.meta.get("desc") if self.options.expanded_def else None
        comment = "" if note is None else f"  # {' '.join(str(note).split())}"
        self.parameters.append(f"{node.target}{self._write_annotation(node)}{default}{comment}")
        if name != repr(node):
            self.statements.append(f"{node!r} = {name}\n")

    def _write_call(self, node: Node, result: str) -> str:
        write, arguments = self.writer.write, self.writer.write_arguments
        if node.op == "call_method":
            owner = write_path(write(node.args[0]), node.target)
            return f"{result} = {owner}({arguments(node.args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{result} = {write_path(self.root_module, node.target)}({arguments(node.args, node.kwargs)})"
        if node.op == "get_attr":
            return f"{result} = {write_path(self.root_module, node.target)}"
        if node.op != "call_function":
            raise NotImplementedError(f"node: {node.op} {node.target}")
        target = node.target
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == "_operator" and not node.kwargs:
            if name in MAGIC_METHODS and MAGIC_METHODS[name].count("{}") == len(node.args):
                return f"{result} = {MAGIC_METHODS[name].format(*map(write, node.args))}"
            if name in INPLACE_METHODS and INPLACE_METHODS[name].count("{}") == len(node.args):
                changed = INPLACE_METHODS[name].format(*map(write, node.args))
                return f"{changed};  {result} = {write(node.args[0])}"
        function = self.writer.add_global(qualified_name(target), target)
        if function == "getattr" and len(node.args) == 2 and is_name(node.args[1]) and not node.kwargs:
            return f"{result} = {write_path(write(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(function)
        return f"{result} = {function}({arguments(node.args, node.kwargs)})"

    def _write_summary(self, node: Node) -> None:
        """Write a comment with the line that a node comes from, unless the node before it comes from there, too."""
        if node.op in ("placeholder", "output"):
            return
        shown = ", ".join(f"{key}: {node.meta[key]}" for key in self.options.additional_meta if key in node.meta)
        custom = {key: _shorten(value) for key, value in (node.meta.get("custom") or {}).items()}
        text = f"{f'# {shown} ' if shown else ''}#{f' Annotation: {custom}' if custom else ''} {_find_line(node)}"
        text = f"\n{self.options.paint(' '.join(text.splitlines()), 'dim')}\n"
        if text != self._summary:
            self._summary = text
            self.statements.append(text)


def _shorten(value: Any) -> Any:
    text = str(value)
    return f"{text[:40]}..." if len(text) > 40 else value


def _find_line(node: Node) -> str:
    """Return the innermost line of a node's stack trace."""
    lines = (node.stack_trace or "").strip().split("\n")
    for index in range(len(lines) - 2, -1, -1):
        found = _FRAME.match(lines[index].strip())
        if found:
            return f"File: {found[1]}:{found[2]} in {found[3]}, code: {lines[index + 1].strip()}"
    return "No stacktrace found for following nodes"


def _describe_value(node: Node, options: _Details) -> str:
    """Return the dtype and shape of a node's value, as they are known from its ``meta``."""
    value: Any = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
    if isinstance(value, Tensor):
        text = options.paint(ABBREVIATIONS[value.dtype], "red") + options.paint(str(list(value.shape)), "blue")
        if options.include_stride:
            text += options.paint(str(list(value.stride())), "dim_blue")
        if options.include_device:
            text += options.paint(str(value.device), "dim_green")
        return text if type(value) is Tensor else f"{type(value).__name__}({text})"
    if hasattr(value, "_fields") and hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{ABBREVIATIONS[value.dtype]}{list(value.shape)}"
    return ""


def _call_with_known(method: Callable[..., str], *args: Any, **kwargs: Any) -> str:
    """Call a method with those of the keywords that it takes: subclasses may have been written for fewer."""
    known = inspect.signature(method).parameters
    return method(*args, **{name: value for name, value in kwargs.items() if name in known})


class CodeGen:
    """Writes the code of a graph; a subclass changes the function's arguments and its result (source: ``CodeGen``)."""

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the line ``def forward(…):`` for the parameters; with ``expanded_def`` each is on a line of its own.

        >>> CodeGen().gen_fn_def(["x"], "")
        'def forward(self, x):'
        """
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if not expanded_def:
            return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"
        lines = []
        for text in free_vars:
            code, mark, comment = text.partition("#")
            lines.append(f"    {code.rstrip()},{f'  # {comment.lstrip()}' if mark else ''}\n")
        return f"def {self._func_name}(\n{''.join(lines)}){maybe_return_annotation}:"

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[Any], str] | None = None,
    ) -> str:
        """Return the statement that returns the result, of which ``repr_fn`` makes code.

        >>> CodeGen().generate_output([1, 2])
        'return [1, 2]'
        """
        return f"return {(repr_fn or CodeWriter(UniqueNames()).write)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return the result of a call for the value of the output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return names and values of further global variables of the code."""
        return []

    def _gen_python_code(
        self, nodes: Iterable[Node], root_module: str, namespace: UniqueNames, **options: Any
    ) -> PythonCode:
        chosen = _Details(**options)
        writer = CodeWriter(namespace, lambda text: chosen.paint(text, "blue"))
        writer.add_standard_globals()
        body = _Body(nodes, root_module, writer, chosen)
        body.write(self)
        statements = body.statements or ["pass\n"]
        calls = ""
        if body.wrapped:
            name = writer.add_global("wrap", wrap)
            calls = "\n".join(f'{name}("{each}")' for each in body.wrapped)
        if self._body_transformer is not None:
            statements = self._body_transformer(statements)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        head = _call_with_known(self.gen_fn_def, body.parameters, body.returns, expanded_def=chosen.expanded_def)
        lines, numbers = _drop_counters("".join(statements), head.count("\n") + 1)
        text = "\n".join(f"    {line}" for line in "\n".join(lines).lstrip("\n").split("\n"))
        return PythonCode(f"\n{calls}\n\n{head}\n{text}", writer.globals, numbers, calls.count("\n") + 4)


_COUNTER: Final = re.compile(r"# COUNTER: (\d+)")


def _drop_counters(text: str, first: int) -> tuple[list[str], dict[int, int | None]]:
    """Return the lines without the comments that count nodes, and the index of the node of each line."""
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    current = None
    for line in text.split("\n"):
        found = _COUNTER.search(line)
        if found:
            current = int(found[1])
            continue
        numbers[len(lines) + first] = current
        lines.append(line)
    return lines, numbers


class BoxedCodeGen(CodeGen):
    """Writes a function that takes its arguments in one list, which it empties."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        names = [re.split("[:=]", each)[0].strip() for each in free_vars if each != "self"]
        lines = [f"def {self._func_name}(self, args_list){maybe_return_annotation}:"]
        if names:
            lines += ["    args_iter = iter(args_list)", *(f"    {name} = next(args_iter)" for name in names)]
            lines.append("    args_list.clear()")
        return "\n".join(lines)
