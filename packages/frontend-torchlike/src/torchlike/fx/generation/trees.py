"""Code of graphs whose arguments and results are containers (source: ``torch.fx.graph._PyTreeCodeGen``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...utils import pytree
from .code import CodeGen
from .literals import CodeWriter
from .namespace import UniqueNames

__all__ = ["PyTreeCodeGen", "PyTreeInfo"]


class PyTreeInfo(NamedTuple):
    """The arguments of the function as it was written, and the specs of its arguments and its result."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class PyTreeCodeGen(CodeGen):
    """Writes a function that takes containers apart, and puts its result together."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        """Return the leaves of the arguments."""
        return pytree.tree_leaves(args)

    def process_outputs(self, outputs: Any) -> Any:
        """Return the result with the leaves in their places."""
        if self.pytree_info.out_spec is None:
            return outputs
        leaves = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return pytree.tree_unflatten(leaves, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the line ``def forward(…):`` of the original arguments, and one that takes them apart."""
        names = self.pytree_info.orig_args
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(names[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        noted = [each for each in free_vars if ":" in each]
        if noted and expanded_def:
            head += "".join(f"\n    {each}" for each in noted)
        elif noted:
            head += "\n    " + "".join(f"{each}; " for each in noted) + "\n"
        bound = ", ".join(each.split(":")[0].split("#")[0] for each in free_vars)
        return f"{head}\n    {bound}, = fx_pytree.tree_flatten_spec({self._write_arguments(names)}, self._in_spec)"

    def _write_arguments(self, names: list[str]) -> str:
        """Return the tree of the arguments as code; that of an exported call has two branches."""
        spec = self.pytree_info.in_spec
        parts = spec.children()
        if spec.type is tuple and [part.type for part in parts] == [tuple, dict]:
            count = len(parts[0].children())
            named = zip(parts[1].context, names[count:], strict=True)
            inner = ", ".join(f"{str.__repr__(key)}:{name}" for key, name in named)
            return f"([{', '.join(names[:count])}], {{{inner}}})"
        return f"[{', '.join(names)}]"

    def generate_output(
        self,
        output_args: Any,
        *,
        descs: Sequence[str] | None = None,
        repr_fn: Callable[[Any], str] | None = None,
    ) -> str:
        """Return the statement that returns the result with the leaves in their places."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        text = (repr_fn or CodeWriter(UniqueNames()).write)(output_args)
        return f"return pytree.tree_unflatten({text}, self._out_spec)"
