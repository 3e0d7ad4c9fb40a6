"""What serves each operator on each device, and which of torch's names there are, asked of the installed packages."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path

import dispatch_core as dc
from dispatch_aten.operators import ATEN, KIND_OF
from dispatch_aten.torch_names import TORCH_NAMES
from dispatch_core.keys import DispatchKey
from torchlike.names.left_out import NOT_YET, list_left_out, reason_for

sys.path.append(str(Path(__file__).parents[1]))
from list_operators import served

__all__ = ["devices", "names", "reasons", "summary"]

#: The devices, in the order of the columns; one whose library is not installed where the site is built has none.
DEVICES = ("cpu", "meta", "npu", "jax", "dask", "strict")
NUMBA = "cpu, numba"
#: What an entry of the tables means, and the class by which the site's style draws it.
KERNEL, HOST, PARTS, NO = "kernel", "host", "parts", "no"


@cache
def keys() -> dict[str, DispatchKey]:
    """Return the dispatch key of each column: of the devices that can be loaded here, and of Numba's kernels."""
    found = {}
    for device in DEVICES:
        try:
            dc.load_backend(device)
        except dc.BackendError:
            continue
        found[device] = dc.device_key(device)
        if device == "cpu":
            try:
                with dc.use_kernels("numba"):
                    found[NUMBA] = DispatchKey[dc.kernel_providers()["numba"].dispatch_key]
            except (dc.DispatchError, KeyError):
                continue
    return found


@cache
def cells() -> dict[str, tuple[str, ...]]:
    """Return the entries of each overload, one for each column."""
    found = {}
    for operator in ATEN:
        entry = dc.registry.get(f"aten::{operator.name}{'' if '.' in operator.name else '.default'}")
        row = []
        for column, key in keys().items():
            if column == NUMBA:
                row.append(KERNEL if entry.newest(key) is not None else "")
            else:
                row.append(served(entry, key))
        found[operator.name] = tuple(row)
    return found


def _table(titles: list[str], rows: list[list[str]]) -> str:
    """Return an HTML table: cells have classes, and a row's head is one."""
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    inner = f"<thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody>"
    return f'<div class="scroll"><table class="coverage">{inner}</table></div>'


def _head(name: str) -> str:
    return f'<th scope="row">{name}</th>'


def _bar(part: int, whole: int) -> str:
    """Return a count with a bar as long as its share."""
    return f'<td class="bar" style="--share: {part / whole:.1%}">{part:,}</td>'


def summary() -> str:
    """Return the table of how many overloads each device serves, and how."""
    rows = []
    for number, column in enumerate(keys()):
        counted = Counter(row[number] for row in cells().values())
        whole = counted.total()
        rows.append([_head(column), *(_bar(counted[each], whole) for each in (KERNEL, HOST, PARTS, NO))])
    return _table(["device", "kernel", "through the host", "composed", "not served"], rows)


def devices() -> str:
    """Return the tables of the operators by kind: a row is one name, and those of its overloads that are served alike."""
    by_kind: dict[str, dict[tuple[str, tuple[str, ...]], list[str]]] = {}
    for full, row in cells().items():
        name, _, overload = full.partition(".")
        by_kind.setdefault(KIND_OF[full], {}).setdefault((name, row), []).append(overload or "-")
    parts = []
    for kind, found in sorted(by_kind.items()):
        rows = []
        for (name, row), overloads in sorted(found.items()):
            entries = [f'<td class="{each or "none"}">{each}</td>' for each in row]
            rows.append([_head(name), f"<td>{' '.join(overloads)}</td>", *entries])
        parts += [f"## {kind.replace('_', ' ')}", _table(["operator", "overloads", *keys()], rows)]
    return "\n\n".join(parts)


def names() -> str:
    """Return the table of how many of torch's public names there are, by namespace."""
    rows = []
    for namespace, listed in TORCH_NAMES.items():
        missing = list_left_out(namespace)
        title = namespace if namespace == "torch" else f"torch.{namespace}"
        anchor = title.replace(".", "").lower()
        left_out = f'<a href="../operators.html#{anchor}">{len(missing)}</a>' if missing else "0"
        not_yet = sum(1 for name in missing if str(reason_for(namespace, name)) == NOT_YET)
        bar = _bar(len(listed) - len(missing), len(listed))
        rows.append([_head(title), bar, f"<td>{left_out}</td>", f"<td>{not_yet}</td>"])
    return _table(["namespace", "names that there are", "left out", "of these not yet written"], rows)


def reasons() -> str:
    """Return the table of the reasons for which names are left out."""
    counted = Counter(str(reason_for(space, name)) for space in TORCH_NAMES for name in list_left_out(space))
    whole = counted.total()
    rows = [[f"<td>{reason}</td>", _bar(count, whole)] for reason, count in counted.most_common()]
    return _table(["reason", "names"], rows)
