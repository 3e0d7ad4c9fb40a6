"""Python's operators as code: name in ``operator`` → the expression or statement."""

from __future__ import annotations

from typing import Final

__all__ = ["INPLACE_METHODS", "MAGIC_METHODS", "REFLECTABLE_MAGIC_METHODS"]

#: Operators that have a second form for the value on the right, such as ``__radd__``.
REFLECTABLE_MAGIC_METHODS: Final = {
    name: f"{{}} {sign} {{}}"
    for name, sign in {
        "add": "+",
        "sub": "-",
        "mul": "*",
        "floordiv": "//",
        "truediv": "/",
        "div": "/",
        "mod": "%",
        "pow": "**",
        "lshift": "<<",
        "rshift": ">>",
        "and_": "&",
        "or_": "|",
        "xor": "^",
        "matmul": "@",
    }.items()
} | {"getitem": "{}[{}]"}
MAGIC_METHODS: Final = {
    **{
        name: f"{{}} {sign} {{}}"
        for name, sign in {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}.items()
    },
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    **REFLECTABLE_MAGIC_METHODS,
}
#: Operators that change the value on the left.
INPLACE_METHODS: Final = {
    f"i{name.rstrip('_')}": form.replace(" {}", "= {}", 1)
    for name, form in REFLECTABLE_MAGIC_METHODS.items()
    if name not in ("getitem", "div")
} | {"setitem": "{}[{}] = {}"}
