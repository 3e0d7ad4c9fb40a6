"""Writes the table of ``docs/guides/installed.md``: the operators that need a library which a default installation lacks.

python tools/list_libraries.py           # writes the table
python tools/list_libraries.py --check   # fails where it is out of date

Every sample of every operator is called, and its gradients are computed, where SciPy, ml_dtypes and opt_einsum cannot be
imported. Each refusal has to name the operator, the library and the extra; an ``ImportError`` that leaves a call is a fault.
"""

from __future__ import annotations

import re
import sys
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import dispatch_core as dc

PAGE: Final = Path(__file__).parent.parent / "docs" / "guides" / "installed.md"
HEADING: Final = "## Operators that need SciPy\n"
#: Import name → how refusals name it.
LIBRARIES: Final = {"scipy": "SciPy", "ml_dtypes": "ml_dtypes", "opt_einsum": "opt_einsum"}
#: A refusal, as every one of them has to be.
REFUSAL: Final = re.compile(
    r".*\bneeds? (SciPy|ml_dtypes), which is not installed \(aten::([\w.]+)\)\n"
    r'Hint: pip install "dispatch-frontend-torchlike\[full\]", or (scipy|ml_dtypes) alone'
)


class Blocker:
    """Refuses the import of the libraries, as if they were not installed."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raise ``ModuleNotFoundError`` for one of the libraries and what lies in it; leave others to the next finder."""
        if name.partition(".")[0] in LIBRARIES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class UndocumentedError(Exception):
    """A refusal does not say what it has to say."""


def find_refusal(call: Callable[[], Any]) -> tuple[str, str] | None:
    """Return the library and the operator that a call asks for, or None where it asks for none."""
    try:
        call()
    except ImportError as error:
        raise UndocumentedError(repr(error)) from error
    except Exception as error:  # other refusals are another test's affair
        text = str(error)
        if found := REFUSAL.fullmatch(text):
            return found[1], found[2]
        if any(name in text or each in text for name, each in LIBRARIES.items()):
            raise UndocumentedError(text) from error
    return None


def calls_of(name: str) -> Iterator[Callable[[], Any]]:
    """Yield the calls of an operator's samples, of the first with ``dtype=bfloat16`` too where there is such an argument."""
    # Imported where the libraries are blocked already.
    from dispatch_aten.dtypes import ScalarType
    from dispatch_aten.testing.samples import op_samples, schema_of

    op = dc.registry.get(f"aten::{name}").op
    has_dtype = any(each.name == "dtype" for each in schema_of(name).arguments)
    for sample in op_samples(name):
        if sample.layout or sample.change:
            continue
        yield partial(op, **sample.arguments)
        if has_dtype:
            yield partial(op, **sample.arguments | {"dtype": ScalarType.BFloat16})


def gradients_of(name: str) -> Iterator[Callable[[], Any]]:
    """Yield a call of the first sample that computes its gradients."""
    from dispatch_aten.testing.samples import op_samples
    from torchlike import Tensor

    op = dc.registry.get(f"aten::{name}").op

    def differentiate(arguments: dict[str, Any]) -> None:
        results = op(**{key: _as_leaf(value) for key, value in arguments.items()})
        for each in results if isinstance(results, (tuple, list)) else [results]:
            if isinstance(each, Tensor) and each.requires_grad and each.is_floating_point():
                each.sum().backward(retain_graph=True)

    for sample in islice(op_samples(name), 1):
        yield partial(differentiate, sample.arguments)


def _as_leaf(value: Any) -> Any:
    import numpy as np

    import torchlike

    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_leaf, value))
    if not isinstance(value, np.ndarray):
        return value
    tensor = torchlike.from_numpy(value)
    return tensor.requires_grad_() if value.dtype.kind == "f" else tensor


def find_all() -> dict[tuple[str, str], set[str]]:
    """Return, for the library and the operator that refusals name, what is refused so: operators, gradients of operators."""
    from dispatch_aten.operators import ATEN_BY_NAME
    from dispatch_aten.testing.samples import has_samples, schema_of

    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name in sorted(filter(has_samples, ATEN_BY_NAME)):
        if any(each.is_write and each.kwarg_only for each in schema_of(name).arguments):
            continue  # an ``out=`` overload computes as the functional one does
        shown = f"`{name.partition('.')[0].removesuffix('_')}`"
        for title, calls in ((shown, calls_of(name)), (f"the gradient of {shown}", gradients_of(name))):
            for refusal in refusals_of(calls):
                if title == shown or shown not in found[refusal]:
                    found[refusal].add(title)
    return found


def refusals_of(calls: Iterator[Callable[[], Any]]) -> Iterator[tuple[str, str]]:
    """Yield the refusals of calls, and of the calls that their arguments are made by."""
    is_over = False

    def step() -> None:
        nonlocal is_over
        is_over = True  # an iterator that raises has ended
        call = next(calls, None)
        if call is not None:
            is_over = False
            call()

    while not is_over:
        if (refusal := find_refusal(step)) is not None:
            yield refusal


def make_table(found: dict[tuple[str, str], set[str]]) -> str:
    """Return what needs SciPy: the operators by themselves, and a table of those that others need."""
    alone, rows = [], []
    for (library, operator), titles in sorted(found.items()):
        if library == "SciPy":
            own = f"`{operator.partition('.')[0]}`"
            if others := sorted(titles - {own}):
                rows.append(f"| {own} | {', '.join(others)} |")
            else:
                alone.append(own)
    lines = textwrap.wrap(f"{', '.join(alone)}.", 120, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, "", "| operator | and with it |", "| --- | --- |", *rows, ""])


def main(arguments: list[str]) -> None:
    """Write the table, or compare it with the page's."""
    sys.meta_path.insert(0, Blocker())
    warnings.simplefilter("ignore")
    found = find_all()
    text = PAGE.read_text(encoding="utf-8")
    above, _, below = text.partition(HEADING)
    _, mark, after = below.partition("\n## ")
    made = f"{above}{HEADING}\n{make_table(found)}{mark}{after}"
    if "--check" in arguments:
        if made != text:
            sys.exit("docs/guides/installed.md is out of date: python tools/list_libraries.py")
        return
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
