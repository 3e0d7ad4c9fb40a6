"""Writes ``docs/coverage/compositions.md``: what becomes of each pair of layers, one inside the other, found by running it.

python tools/list_compositions.py           # writes the page
python tools/list_compositions.py --check   # fails where it is out of date
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from composed_layouts import COMPOSED, ComposedLayout, open_device, save
from composed_layouts import DEVICES as LAYOUT_DEVICES

import dispatch_core as dc
import torchlike as torch

PAGE: Final = Path(__file__).parent.parent / "docs" / "coverage" / "compositions.md"
#: The devices of the page's columns; ``jax`` stands on it where it is installed.
DEVICES: Final = ("cpu", "meta", "jax")

Function = Callable[[Any], Any]


class Layer(NamedTuple):
    """A layer around a function of one tensor whose result has the tensor's shape, and the same in eager calls alone.

    ``ranks`` is how many dimensions it takes off the tensor that its function sees. A ``linear`` layer takes functions
    of products and sums alone.
    """

    name: str
    around: Callable[[Function], Function]
    meaning: Callable[[Function], Function]
    ranks: int = 0
    linear: bool = False


def _same(function: Function) -> Function:
    return function


#: How many calls the blocks that watch calls have seen since a pair was begun, by block.
_SEEN: Final[Counter[Any]] = Counter()


def _open(block: Callable[[], Any], count: Callable[[Any], int] | None = None) -> Callable[[Function], Function]:
    """Return a layer that is a block; ``count`` tells how many calls it has seen."""

    def around(function: Function) -> Function:
        def call(x: Any) -> Any:
            with block() as opened:
                result = function(x)
            if count is not None:
                _SEEN[block] += count(opened)
            return result

        return call

    return around


@contextmanager
def _count() -> Iterator[list[str]]:
    seen: list[str] = []

    class Count(dc.DispatchMode):
        def __dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    with Count():
        yield seen


def _capture(function: Function) -> Function:
    captured = dc.capture(function)

    def call(x: Any) -> Any:
        for _ in range(3):  # two recordings are compared, the third call replays
            result = captured(x)
        return result

    return call


def _differentiate(function: Function) -> Function:
    def call(x: Any) -> Any:
        is_inner = x.requires_grad
        leaf = x if is_inner else x.detach().requires_grad_()
        (found,) = torch.autograd.grad(function(leaf).sum(), leaf, create_graph=is_inner)
        return found

    return call


def _nest(function: Function) -> Function:
    def call(x: Any) -> Any:
        offsets = torch.tensor([0, 1, x.shape[0]], device=x.device)
        rows = torch.nested.nested_tensor_from_jagged(x, offsets)
        return function(rows).values()

    return call


def _scatter(function: Function) -> Function:
    def call(x: Any) -> Any:
        rows, columns = x.shape
        places = torch.tensor([[row, column] for row in range(rows) for column in range(columns)], device=x.device)
        return function(torch.sparse_coo_tensor(places.t(), x.reshape(-1), x.shape))

    return call


def _compress(function: Function) -> Function:
    def call(x: Any) -> Any:
        rows, columns = x.shape
        places = torch.tensor([*range(columns)] * rows, device=x.device)
        ends = torch.tensor([columns * row for row in range(rows + 1)], device=x.device)
        return function(torch.sparse_csr_tensor(ends, places, x.reshape(-1), x.shape))

    return call


LAYERS: Final = (
    Layer("Pipeline", _open(dc.pipeline), _same),
    Layer("Capture", _capture, _same),
    Layer("Autograd", _differentiate, _differentiate),
    Layer("vmap", torch.func.vmap, lambda f: lambda x: torch.stack([f(row) for row in x.unbind(0)]), 1),
    Layer("grad", lambda f: torch.func.grad(lambda x: f(x).sum()), _differentiate),
    Layer("Autocast", lambda f: lambda x: _cast(f, x), _same),
    Layer("functionalize", torch.func.functionalize, _same),
    Layer("Profiler", _open(dc.profile, lambda opened: len(opened.events)), _same),
    Layer("Tracer", _open(dc.trace, lambda opened: len(opened.graph.steps)), _same),
    Layer("modes", _open(_count, len), _same),
    Layer("nested", _nest, _same),
    Layer("sparse", _scatter, _same, linear=True),
    Layer("compressed", _compress, _same, linear=True),
)


#: The layers of the tables of layouts.
AROUND_LAYOUTS: Final = (
    Layer("eager", _same, _same),
    *(each for each in LAYERS if each.name in "Pipeline Capture vmap grad Autocast Profiler modes".split()),
    Layer("save", lambda f: f, _same),
)


def _cast(function: Function, x: Any) -> Any:
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        return function(x)


class Outcome(NamedTuple):
    """What became of a pair: ``computes``, or the error's class and first line."""

    kind: str
    text: str = ""


COMPUTES: Final = "computes"


def _make_function(weight: Any, linear: bool) -> Function:
    if linear:
        return lambda x: x @ weight

    def function(x: Any) -> Any:
        y = x @ weight
        y.mul_(0.5)
        return y.tanh() + x

    return function


@cache
def try_pair(outer: Layer, inner: Layer, device: str) -> Outcome:
    """Return what becomes of a layer inside another; raises ``AssertionError`` where they compute something else."""
    torch.manual_seed(0)
    shape = (2,) * (outer.ranks + inner.ranks) + (4, 3)
    host, weight = torch.randn(*shape), torch.randn(3, 3)
    linear = outer.linear or inner.linear
    expected = outer.meaning(inner.meaning(_make_function(weight, linear)))(host)
    function = _make_function(weight.to(device), linear)
    _SEEN.clear()
    try:
        found = outer.around(inner.around(function))(host.to(device))
    except AssertionError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever refuses the pair; the test looks at its class
        return Outcome(type(error).__name__, str(error).partition("\n")[0])
    assert all(_SEEN.values()), _SEEN
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert found.device.type == device
    if device != "meta":
        loose = "Autocast" in {outer.name, inner.name}
        torch.testing.assert_close(
            found.cpu().float(), expected, rtol=5e-2 if loose else 1e-5, atol=5e-2 if loose else 1e-6
        )
    return Outcome(COMPUTES)


@cache
def try_layout(layout: ComposedLayout, layer: Layer, device: str) -> Outcome:
    """Return what becomes of a layout's tensor as the argument of a layer; raises ``AssertionError`` for other values."""
    torch.manual_seed(0)
    host, weight = torch.randn(4, 3), torch.randn(3, 3)
    expected = layer.meaning(lambda x: (x * 2) @ weight)(host)
    _SEEN.clear()
    with open_device(device):
        there = weight.to(device)
        try:
            x = layout.make(host.to(device))
            x = save(x) if layer.name == "save" else x
            found = layout.read(layer.around(lambda x: (x * 2) @ there)(x))
        except Exception as error:  # noqa: BLE001  # whatever refuses it; the test looks at its class
            return Outcome(type(error).__name__, str(error).partition("\n")[0])
        assert all(_SEEN.values()), _SEEN
        assert found.device.type == device
        tolerance = 5e-2 if layer.name == "Autocast" else 1e-5
        torch.testing.assert_close(found.cpu().float(), expected, rtol=tolerance, atol=tolerance)
    return Outcome(COMPUTES)


_HEAD: Final = """\
# Compositions of layers

Which layers work inside which others. A row is the outer layer, a column the inner one: row `vmap`, column `grad` is
`vmap(grad(f))`. "yes" means that the pair has the results of eager calls (values on cpu and jax, shapes on meta). A number
leads to the error that refuses the pair. `python tools/list_compositions.py` runs each pair and writes this page.

The function is a matrix product, an in-place write, a `tanh` and a sum. In the tables:

* `Pipeline` is `dc.pipeline()`, and `Capture` the third call of `dc.capture(f)`;
* `Autograd` is `torchlike.autograd.grad` of the sum by a leaf;
* `modes` is a `DispatchMode` that counts calls;
* `nested` is the rows of a jagged tensor; `sparse` the tensor by coordinates, and `compressed` by rows (CSR).
"""


_LAYOUTS: Final = """\
## Layouts

A tensor of a layout as the argument of the function, which multiplies it by a number and by a matrix. `vmap` maps over its
first dimension, `grad` is the gradient of the sum by it, and `save` calls the function of the tensor that was written to a
file and read again. The layouts by hand are written as [Write a layout](../guides/write-a-layout.md) tells.
"""


def page() -> str:
    """Return the page's text."""
    errors: dict[Outcome, int] = {}

    def cell(outcome: Outcome) -> str:
        return "yes" if outcome.kind == COMPUTES else f"[{errors.setdefault(outcome, len(errors) + 1)}](#refused)"

    parts = [_HEAD]
    for device in DEVICES:
        parts.append(f"## {device}\n")
        parts.append(f"| outside \\ inside | {' | '.join(each.name for each in LAYERS)} |")
        parts.append("| --- " * (len(LAYERS) + 1) + "|")
        for outer in LAYERS:
            row = [cell(try_pair(outer, inner, device)) for inner in LAYERS]
            parts.append(f"| {outer.name} | {' | '.join(row)} |")
        parts.append("")
    parts.append(_LAYOUTS)
    for device, title in LAYOUT_DEVICES.items():
        parts.append(f"### Layouts on {title}\n")
        parts.append(f"| layout | {' | '.join(each.name for each in AROUND_LAYOUTS)} |")
        parts.append("| --- " * (len(AROUND_LAYOUTS) + 1) + "|")
        for layout in COMPOSED:
            row = [cell(try_layout(layout, layer, device)) for layer in AROUND_LAYOUTS]
            parts.append(f"| {layout.name} | {' | '.join(row)} |")
        parts.append("")
    parts.append("## Refused\n")
    parts += [f"{number}. `{outcome.kind}`: {outcome.text}" for outcome, number in errors.items()]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"{PAGE} is out of date: run python tools/list_compositions.py")
    else:
        PAGE.write_text(text, encoding="utf-8")
