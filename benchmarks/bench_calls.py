"""The cost of one call, against torch on one thread: ``python benchmarks/bench_calls.py``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from harness import Measure, parser, report, run
from torch.utils._python_dispatch import TorchDispatchMode

import dispatch_core as dc
import torchlike

#: Kept for as long as the process runs: torch crashes when an operator outlives its library.
OURS, THEIRS = dc.Library("bench", "DEF"), torch.library.Library("bench", "DEF")
#: Calls in a block of a mode, beside which to enter it costs little.
CALLS = range(100)


def _pass_on(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return func(*args, **(kwargs or {}))


def _mode_measure() -> Measure:
    """Return the time of a mode that passes calls on, over those of the calls without it."""
    ours = type("Ours", (dc.DispatchMode,), {"__dispatch__": _pass_on})()
    theirs = type("Theirs", (TorchDispatchMode,), {"__torch_dispatch__": _pass_on})()
    a, t = torchlike.ones(1), torch.ones(1)

    def our_adds() -> None:
        for _ in CALLS:
            torchlike.add(a, a)

    def torch_adds() -> None:
        for _ in CALLS:
            torch.add(t, t)

    def our_mode() -> None:
        with ours:
            our_adds()

    def torch_mode() -> None:
        with theirs:
            torch_adds()

    name = f"a mode that passes {len(CALLS)} adds on, over the adds"
    return Measure(name, our_mode, torch_mode, 0.35, our_adds, torch_adds)


def _measures() -> list[Measure]:
    for library in (OURS, THEIRS):
        library.define("noop(Tensor a, Tensor b) -> Tensor")
        library.define("layer(Tensor a, Tensor b) -> Tensor")
        library.define(f"wide({', '.join(f'Tensor t{i}' for i in range(10))}) -> (Tensor, Tensor, Tensor)")
        library.define("recorded(Tensor a, Tensor b) -> Tensor")
        library.impl("noop", lambda a, b: a, "CPU")
        library.impl("recorded", lambda a, b: a, "CPU")
        library.impl("wide", lambda *tensors: tensors[:3], "CPU")
    OURS.impl("layer", kernel := lambda a, b: a, "CompositeImplicitAutograd")
    schema = "(Tensor a, Tensor b) -> Tensor"
    custom = torch.library.custom_op("bench::custom", lambda a, b: a.clone(), mutates_args=(), schema=schema)

    a, t = torchlike.ones(1), torch.ones(1)
    raw = np.ones(1, np.float32)
    grad_a, grad_t = torchlike.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    grad_b, torch_b = torchlike.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    meta_a, meta_t = torchlike.ones(1, device="meta"), torch.ones(1, device="meta")
    recorded, torch_recorded = dc.ops.bench.recorded.default, torch.ops.bench.recorded.default
    below_autograd = torch._C._after_autograd_keyset

    def our_layer(keyset: dc.DispatchKeySet, a: Any, b: Any) -> Any:
        return recorded.redispatch(keyset - dc.DispatchKey.AutogradCPU, a, b)

    def torch_layer(keyset: Any, a: Any, b: Any) -> Any:
        return torch_recorded.redispatch(keyset & below_autograd, a, b)

    OURS.impl("recorded", our_layer, "AutogradCPU", with_keyset=True)
    THEIRS.impl("recorded", torch_layer, "AutogradCPU", with_keyset=True)
    ours_noop, torch_noop = dc.ops.bench.noop.default, torch.ops.bench.noop.default
    layer = dc.ops.bench.layer.default
    wide, torch_wide = dc.ops.bench.wide.default, torch.ops.bench.wide.default
    add = dc.ops.aten.add.Tensor
    ten_a, ten_t = [a] * 10, [t] * 10

    def our_guard() -> None:
        with torchlike.no_grad():
            pass

    def torch_guard() -> None:
        with torch.no_grad():
            pass

    def our_fill() -> None:
        with torchlike.no_grad():
            grad_b.uniform_(0.0, 1.0)

    def torch_fill() -> None:
        with torch.no_grad():
            torch_b.uniform_(0.0, 1.0)

    def our_mask() -> None:
        with dc.exclude_keys("Tracer"):
            pass

    return [
        Measure("no-op kernel under CPU / torch.library op", lambda: ours_noop(a, a), lambda: torch_noop(t, t), 0.18),
        Measure("no-op kernel under CPU / custom_op", lambda: ours_noop(a, a), lambda: custom(t, t), 0.03),
        Measure(
            "dispatch alone, over calling the kernel",
            lambda: layer(a, a),
            lambda: torch_noop(t, t),
            0.08,
            lambda: kernel(a, a),
        ),
        Measure(
            "Python autograd layer that redispatches",
            lambda: recorded(grad_a, a),
            lambda: torch_recorded(grad_t, t),
            0.30,
        ),
        Measure("10 tensors, 3 results / torch.library op", lambda: wide(*ten_a), lambda: torch_wide(*ten_t), 0.35),
        Measure("add, 1 element, cpu", lambda: torchlike.add(a, a), lambda: torch.add(t, t), 0.70),
        Measure("add on raw NumPy arrays", lambda: add(raw, raw), lambda: torch.add(t, t), 0.70),
        Measure("a + b", lambda: a + a, lambda: t + t),
        Measure("a + 1", lambda: a + 1, lambda: t + 1),
        Measure("add(alpha=2)", lambda: torchlike.add(a, a, alpha=2), lambda: torch.add(t, t, alpha=2), 0.95),
        Measure("add, input requires grad", lambda: torchlike.add(grad_a, a), lambda: torch.add(grad_t, t), 0.65),
        Measure("add on meta", lambda: torchlike.add(meta_a, meta_a), lambda: torch.add(meta_t, meta_t), 0.02),
        Measure("uniform_ (its argument is named from)", lambda: a.uniform_(0.0, 1.0), lambda: t.uniform_(0.0, 1.0)),
        Measure("uniform_, requires grad, under no_grad", our_fill, torch_fill),
        Measure("no_grad, enter and leave", our_guard, torch_guard, 0.45),
        Measure("exclude_keys / no_grad", our_mask, torch_guard, 0.45),
        _mode_measure(),
    ]


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    arguments = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(report(run(_measures(), repeats=arguments.repeats), arguments.json))


if __name__ == "__main__":
    main()
