"""Writes ``torchlike/amp/policies.py``: which operators autocast computes in which precision, by torch's own lists.

PYTHONPATH=FOLDER_OF_TORCH python tools/generate_autocast_lists.py           # writes the module
PYTHONPATH=FOLDER_OF_TORCH python tools/generate_autocast_lists.py --check   # fails where it is out of date

The lists of CUDA stand in a header that torch's wheel brings. Those of the cpu stand in no file of it: each operator that
torch has registered under AutocastCPU is called with tensors of one value, and the casts before it are watched.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dispatch_aten.decompositions import IMPLICIT

MODULE = Path(__file__).parent.parent / "packages/frontend-torchlike/src/torchlike/amp/policies.py"

_HEAD = '''\
"""Which operators autocast computes in which precision: torch {version}'s lists, by ``tools/generate_autocast_lists.py``.

A policy is the name of a function in `kernels`. ``CPU`` holds for the device cpu, ``CUDA`` for every other device.
"""

from __future__ import annotations

from typing import Final

#: The version of torch whose lists these are.
VERSION: Final = "{version}"
'''
_COMPOSED = '''
#: Operators that are composed of others here, and by kernels of their own in torch: their parts are not cast.
COMPOSED_HERE: Final = frozenset(
    """
{names}
    """.split()
)
'''
#: torch's macro → the policy of the operators in it.
_MACROS = {
    "AT_FORALL_LOWER_PRECISION_FP": "lower_precision_fp",
    "AT_FORALL_FP32": "fp32",
    "AT_FORALL_FP32_SET_OPT_DTYPE": "fp32_set_opt_dtype",
    "AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE": "fp32_append_dtype",
    "AT_FORALL_PROMOTE": "promote",
}
_SINGLE = {"int": 1, "float": 1.0, "number": 1, "bool": True, "str": "mean"}
_LISTS = {"List[int]": [1, 1, 1], "List[bool]": [True, True, True], "List[float]": [1.0]}


class _Casts(TorchDispatchMode):  # type: ignore[misc]  # torch is not there for the type checker
    """Note the dtypes to which some tensors are cast."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[torch.Tensor] = []
        self.targets: set[torch.dtype] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._to_copy.default and any(args[0] is each for each in self.made):
            self.targets.add(kwargs.get("dtype"))
        return func(*args, **(kwargs or {}))


def _watch(name: str, *dtypes: torch.dtype) -> set[torch.dtype]:
    """Return the dtypes to which an operator's arguments, of these dtypes in turn, are cast."""
    casts, kinds = _Casts(), itertools.cycle(dtypes)

    def make() -> torch.Tensor:
        casts.made.append(torch.ones(2, 2, 2, dtype=next(kinds)))
        return casts.made[-1]

    def argument(kind: str) -> Any:
        if kind in ("Tensor", "Optional[Tensor]"):
            return make()
        if kind == "List[Tensor]":
            return [make(), make()]
        return None if kind.startswith("Optional") else {**_SINGLE, **_LISTS}[kind]

    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    values = [(each, argument(str(each.type))) for each in operator._schema.arguments]
    on = torch.autocast("cpu", dtype=torch.bfloat16)
    # The casts come first, and tensors of 2 by 2 by 2 suit few operators.
    refused = contextlib.suppress(RuntimeError, IndexError, ValueError)
    with casts, on, warnings.catch_warnings(action="ignore"), refused:
        operator(
            *(value for each, value in values if not each.kwarg_only),
            **{each.name: value for each, value in values if each.kwarg_only},
        )
    return casts.targets


def _policy_on_cpu(name: str) -> str:
    if torch.bfloat16 in _watch(name, torch.float32):
        return "lower_precision_fp"
    if torch.float32 in _watch(name, torch.bfloat16):
        return "fp32"
    if torch.float32 in _watch(name, torch.bfloat16, torch.float32):
        return "promote"
    raise SystemExit(f"no policy was found for {name}")


def cpu_lists() -> dict[str, list[str]]:
    """Return the operators of the cpu by policy."""
    found: dict[str, list[str]] = {}
    for full in sorted(torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")):
        name = full.removeprefix("aten::")
        found.setdefault(_policy_on_cpu(name), []).append(name)
    return found


def cuda_lists() -> dict[str, list[str]]:
    """Return the operators of CUDA by policy, and the one that is refused."""
    header = (Path(torch.__file__).parent / "include/ATen/autocast_mode.h").read_text()
    found = {}
    for macro, policy in _MACROS.items():
        body = re.search(rf"#define {macro}\(_\)(.*?[^\\])\n", header, re.DOTALL)
        assert body is not None
        pattern = r'"(\w+\.\w+)"' if policy == "fp32_append_dtype" else r"_\((\w+(?:, \w+)?)\)"
        found[policy] = sorted(name.replace(", ", ".") for name in re.findall(pattern, body[1]))
    listed = {name for names in found.values() for name in names}
    registered = {
        name.removeprefix("aten::") for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    }
    # A build without cuDNN names those of its convolutions that the wheel knows.
    found["banned"] = sorted(name for name in registered - listed if not name.startswith("cudnn_"))
    assert found["banned"] == ["binary_cross_entropy"], found["banned"]
    return found


def composed_here() -> list[str]:
    """Return the operators that are composed here and not by torch."""
    theirs = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    # torch's kernels of these call operators that are cast.
    composed = {"affine_grid_generator", "view_as_complex_copy"} | {name.removeprefix("aten::") for name in theirs}
    # torch writes the parts of these into a result, and they are joined by `cat` here, which is cast.
    composed -= {"_pad_circular", "linalg_vander", "vander"}
    return sorted({*IMPLICIT} - composed)


def _fill(names: list[str], indent: int) -> str:
    return textwrap.fill(" ".join(names), 119, initial_indent=" " * indent, subsequent_indent=" " * indent,
                         break_on_hyphens=False, break_long_words=False)  # fmt: skip


def source() -> str:
    """Return the module's text."""
    parts = [_HEAD.format(version=torch.__version__.partition("+")[0])]
    for title, lists in (("CPU", cpu_lists()), ("CUDA", cuda_lists())):
        rows = [f'    "{policy}": """\n{_fill(names, 8)}\n    """,' for policy, names in lists.items()]
        parts.append(f"{title}: Final = {{\n" + "\n".join(rows) + "\n}")
    return "\n".join(parts) + "\n" + _COMPOSED.format(names=_fill(composed_here(), 4))


def main() -> None:
    """Write or check the module."""
    made = source()
    if "--check" in sys.argv:
        if MODULE.read_text() != made:
            raise SystemExit("torchlike/amp/policies.py is out of date: run tools/generate_autocast_lists.py")
    else:
        MODULE.write_text(made)


if __name__ == "__main__":
    main()
