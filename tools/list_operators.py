"""Writes ``docs/operators.md``: every operator and what serves it, and torch's names that are left out, with the reasons.

python tools/list_operators.py           # writes the page
python tools/list_operators.py --check   # fails where it is out of date
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import dispatch_core as dc
import torchlike  # noqa: F401  # its autograd is one of the columns
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT, composite_kernels
from dispatch_aten.derivatives import NOT_DIFFERENTIABLE
from dispatch_aten.operators import ATEN, OperatorDef
from dispatch_aten.shapes import RULES
from dispatch_aten.texts import sentence_of
from dispatch_aten.torch_names import TORCH_NAMES
from dispatch_core.keys import DispatchKey
from torchlike.autograd.rules.register import find_formula
from torchlike.names.left_out import list_left_out, reason_for

PAGE = Path(__file__).parent.parent / "docs" / "operators.md"

_HEAD = """\
# Operators

Which operators exist, and how each device implements them. Overloads with the same support share a row.

## What there is

`-` is the overload without a name. The first row of a name says what the operator does. `python tools/list_operators.py`
writes this page.

| column | entry | meaning |
| --- | --- | --- |
| cpu, npu | kernel | the backend has a kernel of its own |
| | parts | it is composed of other operators |
| | host | the host computes it on a copy, and counts that |
| | no | the device does not serve it |
| meta | rule | a shape rule describes its results without data |
| | parts | its parts are described |
| | values | a rule, where the result's shape does not depend on values |
| | no | the result's shape always depends on values |
| autograd | formula | it has a derivative formula |
| | parts | its parts have formulas |
| | zero | its result never requires a gradient |
| | refused | `out=` refuses tensors that require a gradient |
| | no | a gradient is lost, with a warning |
| decomposed | yes | a device needs no kernel for it |
| recorded | yes | a pipeline records it if the device has a kernel |
| | parts | a pipeline records its parts |
| | values | a pipeline records it if its shape rule gives the result |
| | no | it runs at once |

"""


def served(entry: dc.OperatorEntry, key: DispatchKey) -> str:
    """Return how the device of a key serves an operator: by a kernel, the host, the parts that it is composed of, or not."""
    registration = entry.slot(key).registration
    if registration is None:
        return "no"
    if registration.traits.on_host:
        return "host"
    return "parts" if entry.newest(key) is None else "kernel"


def _autograd(operator: OperatorDef) -> str:
    name = operator.name
    if find_formula(name) is not None:
        return "zero" if name in NOT_DIFFERENTIABLE else "formula"
    if "out" in operator.tags:
        return "refused"
    if name in NOT_DIFFERENTIABLE:
        return "zero"
    if "Tensor" not in operator.schema.partition(" -> ")[0] or "Tensor" not in operator.schema.partition(" -> ")[2]:
        return "zero"
    return "parts" if "CompositeImplicitAutograd" in composite_kernels(operator) else "no"


def _cells(operator: OperatorDef) -> tuple[str, ...]:
    entry = dc.registry.get(f"aten::{operator.name}{'' if '.' in operator.name else '.default'}")
    depends = {"data_dependent_output", "dynamic_output_shape"} & {*operator.tags}
    meta = "rule" if operator.name in RULES and entry.newest(DispatchKey.Meta) else served(entry, DispatchKey.Meta)
    if depends:
        meta = "values" if meta == "rule" else "no"
    cpu = served(entry, DispatchKey.CPU)
    return (
        cpu,
        meta,
        served(entry, DispatchKey["NPU"]),
        _autograd(operator),
        "yes" if composite_kernels(operator) else "no",
        {"rule": "yes", "values": "values"}.get(meta, "parts" if meta == cpu == "parts" else "no"),
    )


def _rows() -> Iterator[str]:
    rows: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for operator in ATEN:
        name, _, overload = operator.name.partition(".")
        rows.setdefault((name, _cells(operator)), []).append(overload or "-")
    told: set[str] = set()
    for (name, cells), overloads in sorted(rows.items()):
        sentence = "" if name in told else _escape(sentence_of(name) or "")
        told.add(name)
        yield f"| {name} | {' '.join(overloads)} | {' | '.join(cells)} | {sentence} |"


def _escape(text: str) -> str:
    """Return a sentence as a cell of a Markdown table."""
    return text.replace("``", "`").replace("|", r"\|")


def _left_out() -> Iterator[str]:
    yield "## What torch has and torchlike leaves out"
    yield ""
    yield "Asking for one of these names is an `AttributeError` that says the same and names the nearest that there are."
    for namespace in TORCH_NAMES:
        names = list_left_out(namespace)
        if not names:
            continue
        title = "torch.Tensor" if namespace == "Tensor" else "torch" if namespace == "torch" else f"torch.{namespace}"
        yield from ("", f"### {title}", "", "| reason | names |", "| --- | --- |")
        by_reason: dict[str, list[str]] = {}
        for name in names:
            by_reason.setdefault(str(reason_for(namespace, name)), []).append(name)
        for reason, those in sorted(by_reason.items()):
            yield f"| {reason} | {' '.join(those)} |"


def page() -> str:
    """Return the page's text."""
    for device in ("cpu", "meta", "npu"):
        dc.load_backend(device)
    kernels = len(set(IMPLICIT) | set(EXPLICIT))
    packets = len({operator.name.partition(".")[0] for operator in ATEN})
    count = f"There are {len(ATEN)} overloads of {packets} names; {kernels} of them are written as decompositions.\n\n"
    titles = ("operator", "overloads", "cpu", "meta", "npu", "autograd", "decomposed", "recorded", "what it does")
    table: Iterable[str] = (f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|", *_rows())
    return _HEAD + count + "\n".join(table) + "\n\n" + "\n".join(_left_out()) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit(f"{PAGE} is out of date: run python tools/list_operators.py")
    else:
        PAGE.write_text(page(), encoding="utf-8")
