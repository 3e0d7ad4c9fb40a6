"""Modules as notebooks show them: a tree to unfold, with the shapes of parameters and their numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dispatch_core.display import Column, DataTable, show_count, show_number_of, show_size
from dispatch_core.escapes import to_printable
from dispatch_devkit.fragments import to_fragment, to_markup, to_note

from ..names.lazy_names import import_lazily
from .uninitialized import is_lazy

if TYPE_CHECKING:
    from .modules.module import Module
else:
    Module = import_lazily("torchlike.nn.modules.module", "Module")

#: How many modules are shown in all, those near the root first, and how many of one parent, and of parameters of one module.
_MOST, _MOST_CHILDREN, _MOST_TENSORS = 200, 48, 24
#: Letters of a module's text.
_LONGEST: Final = 160
#: The first levels are unfolded.
_OPEN: Final = 1


@dataclass(slots=True)
class _Node:
    """A place in the tree; ``path`` is the one of the same module elsewhere, where it is shown in full."""

    name: str
    module: Module | None
    depth: int = 0
    path: str | None = None
    children: list[_Node] = field(default_factory=list)
    #: Children that are not shown.
    left_out: int = 0


def to_html(root: Module) -> str | None:
    """Return a module as a piece of HTML that needs nothing else; None where its class has a ``repr`` of its own."""
    if _has_own_repr(root):
        return None
    tree, shown = _choose(root)
    parameters = _unique(root.parameters())
    facts = [show_number_of("parameter", _count(parameters))]
    trained = _count(each for each in parameters if each.requires_grad)
    if trained != _count(parameters):
        facts.append(f"{show_count(trained)} of them trained")
    if any(map(is_lazy, parameters)):
        facts.append("some not initialized")
    facts.append(show_size(sum(each.numel() * each.element_size() for each in parameters if not is_lazy(each))))
    facts += sorted({f"{each.dtype}, {each.device}" for each in parameters})
    if not root.training:
        facts.append("eval")
    total = sum(1 for _ in root.modules())
    parts = [f'<div class="dispatch-tree">{_draw(tree)}</div>']
    if shown < total:
        parts.append(to_note(f"{show_count(shown)} of {show_number_of('module', total)} are shown"))
    return to_fragment(type(root).__name__, facts, parts)


def _choose(root: Module) -> tuple[_Node, int]:
    """Return the tree that is shown, and how many modules are in it: those near the root, and each of them once."""
    tree = _Node("", root)
    paths: dict[int, str] = {id(root): ""}
    waiting = deque([(tree, "")])
    places = 1
    while waiting:
        node, path = waiting.popleft()
        assert node.module is not None
        for name, module in node.module._modules.items():
            if places >= _MOST or len(node.children) >= _MOST_CHILDREN:
                node.left_out += 1
                continue
            places += 1
            inner = _Node(name, module, node.depth + 1)
            node.children.append(inner)
            if module is None:
                continue
            inner.path = paths.get(id(module))
            if inner.path is None:
                paths[id(module)] = f"{path}.{name}" if path else name
                waiting.append((inner, paths[id(module)]))
    return tree, len(paths)


def _draw(root: _Node) -> str:
    """Return the element of a place, with those inside; from below, since modules may lie deep."""
    order = [root]
    for node in order:
        order += node.children
    drawn: dict[int, str] = {}
    for node in reversed(order):
        inside = "".join(drawn.pop(id(each)) for each in node.children)
        drawn[id(node)] = _draw_place(node, inside)
    return drawn[id(root)]


def _draw_place(node: _Node, inside: str) -> str:
    label = f'<span class="dispatch-facts">({to_markup(node.name)})</span> ' if node.depth else ""
    if node.module is None:
        return f'<div class="dispatch-leaf">{label}None</div>'
    text = _describe(node.module)
    if node.path is not None:
        same = "the module itself" if not node.path else f"the same as {node.path}"
        return f'<div class="dispatch-leaf">{label}{text} <span class="dispatch-facts">{to_markup(same)}</span></div>'
    parameters = _unique(node.module.parameters())
    if parameters:
        text += f' <span class="dispatch-facts">{show_number_of("parameter", _count(parameters))}</span>'
    body = _list_tensors(node.module) + inside
    if node.left_out:
        body += to_note(f"and {show_number_of('more module', node.left_out)}")
    if not body:
        return f'<div class="dispatch-leaf">{label}{text}</div>'
    unfolds = " open" if node.depth <= _OPEN and node.children else ""
    return f"<details{unfolds}><summary>{label}{text}</summary>{body}</details>\n"


def _list_tensors(module: Module) -> str:
    rows = [(name, *_describe_tensor(each, "")) for name, each in module._parameters.items()]
    rows += [(name, *_describe_tensor(each, "buffer")) for name, each in module._buffers.items()]
    if not rows:
        return ""
    left = len(rows) - _MOST_TENSORS
    columns = [Column(title, is_code=True) for title in ("name", "shape", "dtype", "device", "")]
    note = f"and {show_number_of('more tensor', left)}" if left > 0 else ""
    return DataTable(columns, rows[:_MOST_TENSORS], left_out=note).html()


def _describe_tensor(tensor: Any, kind: str) -> tuple[str, ...]:
    if tensor is None:
        return ("None", "", "", kind)
    shape = "not initialized" if is_lazy(tensor) else str(list(tensor.shape))
    if not kind and not tensor.requires_grad:
        kind = "not trained"
    return shape, str(tensor.dtype), str(tensor.device), kind


def _describe(module: Module) -> str:
    """Return a module's own line, as its ``repr`` begins."""
    if _has_own_repr(module):
        text = repr(module)
    else:
        extra = ", ".join(line.strip() for line in module.extra_repr().splitlines())
        text = f"{module._get_name()}({extra})"
    text = to_printable(" ".join(text.split()))
    if len(text) <= _LONGEST:
        return to_markup(text)
    return f'<span title="{to_markup(text)}">{to_markup(text[: _LONGEST - 1])}…</span>'


def _has_own_repr(module: Module) -> bool:
    return type(module).__repr__.__module__.partition(".")[0] not in ("torchlike", "torch")


def _unique(tensors: Iterable[Any]) -> list[Any]:
    return list({id(each): each for each in tensors}.values())


def _count(tensors: Iterable[Any]) -> int:
    return sum(each.numel() for each in tensors if not is_lazy(each))
