"""The cost of layers in use, beside torch's: ``python benchmarks/bench_layers.py [ROW ...]``.

Autocast's blocks, modes and function transforms, on one thread, on inputs so small that the calls cost more than the
arithmetic, and layers of integers. Rows "over ..." leave out the time of the same calls without the layer, on both sides.
Rows "what the block adds" do so on ours alone, because torch's is a part of its noise: they are fractions of torch's whole
call.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch
from harness import Measure, parser, report, run
from torch.utils._python_dispatch import TorchDispatchMode as TheirMode

import dispatch_core as dc
import torchlike
from torchlike.utils._python_dispatch import TorchDispatchMode as OurMode

#: Calls in a block, beside which to enter it costs little.
CALLS: Final = range(100)
_Call = Callable[[], object]


def _repeat(call: _Call) -> _Call:
    def many() -> None:
        for _ in CALLS:
            call()

    return many


def _inside(make_block: Callable[[], Any], call: _Call) -> _Call:
    many = _repeat(call)

    def block() -> None:
        with make_block():
            many()

    return block


def _nothing() -> None:
    """Do nothing, in no time."""


def _autocast(library: Any) -> Callable[[], Any]:
    return lambda: library.autocast("cpu", library.bfloat16)


def _leaf(library: Any, *shape: int) -> Any:
    return library.ones(*shape, requires_grad=True)


def _listed_calls(library: Any) -> dict[str, tuple[_Call, _Call]]:
    """Return calls for a block of autocast, and those with the same kernels and no cast, which run outside."""
    functions, low, ones = library.nn.functional, library.bfloat16, library.ones
    x, leaf, bias = ones(1, 1), _leaf(library, 1, 1), _leaf(library, 1)
    low_x, low_leaf, low_bias = (each.detach().to(low) for each in (x, leaf, bias))
    image, filters = ones(1, 1, 1, 1), _leaf(library, 1, 1, 1, 1)
    low_image, low_filters = image.to(low), filters.detach().to(low)
    vector = ones(1)
    low_vector = vector.to(low)
    for each in (low_leaf, low_bias, low_filters):
        each.requires_grad_()
    linear, conv2d, mse, cat = functions.linear, functions.conv2d, functions.mse_loss, library.cat
    return {
        "matmul of bfloat16": (lambda: library.matmul(low_x, low_x),) * 2,
        "matmul of float32": (lambda: library.matmul(x, x), lambda: library.matmul(low_x, low_x)),
        "linear of bfloat16 by leaves": (
            lambda: linear(low_x, leaf, bias),
            lambda: linear(low_x, low_leaf, low_bias),
        ),
        "linear of float32 by leaves": (
            lambda: linear(x, leaf, bias),
            lambda: linear(low_x, low_leaf, low_bias),
        ),
        "conv2d of bfloat16 by leaves": (
            lambda: conv2d(low_image, filters, bias),
            lambda: conv2d(low_image, low_filters, low_bias),
        ),
        "mse_loss of float32": (lambda: mse(vector, vector),) * 2,
        "mse_loss of bfloat16": (lambda: mse(low_vector, low_vector), lambda: mse(vector, vector)),
        "cat of bfloat16": (lambda: cat([low_x, low_x]),) * 2,
        "add, on no list": (lambda: library.add(x, x),) * 2,
    }


def _autocast_measures() -> Iterator[Measure]:
    def enter(library: Any) -> _Call:
        def block() -> None:
            with library.autocast("cpu", library.bfloat16):
                pass

        return block

    def enter_again(library: Any) -> _Call:
        made = library.autocast("cpu", library.bfloat16)

        def block() -> None:
            with made:
                pass

        return block

    yield Measure("autocast: make a block, enter and leave", enter(torchlike), enter(torch))
    yield Measure("autocast: enter and leave", enter_again(torchlike), enter_again(torch))
    theirs = _listed_calls(torch)
    for name, (our_call, our_plain) in _listed_calls(torchlike).items():
        their_call = theirs[name][0]
        our_block, their_block = _inside(_autocast(torchlike), our_call), _inside(_autocast(torch), their_call)
        yield Measure(f"autocast: {name}", our_block, their_block)
        yield Measure(
            f"autocast: {name}, what the block adds", our_block, their_block, None, _repeat(our_plain), _nothing
        )


def _pass_on(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return func(*args, **(kwargs or {}))


def _mode_measures() -> Iterator[Measure]:
    dispatch = type("Dispatch", (dc.DispatchMode,), {"__dispatch__": _pass_on})()
    ours = type("Ours", (OurMode,), {"__torch_dispatch__": _pass_on})()
    theirs = type("Theirs", (TheirMode,), {"__torch_dispatch__": _pass_on})()

    def calls(library: Any) -> dict[str, _Call]:
        a, leaf = library.ones(1), _leaf(library, 1)
        return {
            "adds": lambda: library.add(a, a),
            "adds with alpha": lambda: library.add(a, a, alpha=2),
            "sums along a dimension": lambda: library.sum(a, 0),
            "adds to a leaf": lambda: library.add(leaf, a),
        }

    def enter(mode: Any) -> _Call:
        def block() -> None:
            with mode:
                pass

        return block

    yield Measure("mode: enter and leave", enter(ours), enter(theirs))
    their_calls = calls(torch)
    for name, our_call in calls(torchlike).items():
        their_call = their_calls[name]
        pairs = {"DispatchMode": dispatch, "TorchDispatchMode": ours} if name == "adds" else {"TorchDispatchMode": ours}
        for kind, mode in pairs.items():
            yield Measure(
                f"mode: a {kind} that passes {name} on, over the {name}",
                _inside(lambda mode=mode: mode, our_call),
                _inside(lambda: theirs, their_call),
                0.15 if name == "adds" else None,
                _repeat(our_call),
                _repeat(their_call),
            )


def _mlp(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))


def _convolution(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(0), nn.Linear(64, 4))


def _transformer(library: Any) -> Any:
    nn = library.nn
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return nn.Sequential(layer, nn.Flatten(0), nn.Linear(8 * 16, 4))


#: Program → network, and the shape of one sample.
PROGRAMS: Final = {
    "MLP": (_mlp, (8,)),
    "small CNN": (_convolution, (1, 8, 8)),
    "transformer layer": (_transformer, (8, 16)),
}


def _make_loss(library: Any, make: Callable[[Any], Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return a network's loss of one sample, its parameters, and eight samples with their labels."""
    random = np.random.default_rng(0)
    model = make(library)
    parameters = {
        name: library.tensor(random.standard_normal(tuple(each.shape), np.float32) * 0.1)
        for name, each in model.named_parameters()
    }
    samples = library.tensor(random.standard_normal((8, *shape), np.float32))
    labels = library.tensor(random.integers(0, 4, 8))
    cross_entropy, functional_call = library.nn.functional.cross_entropy, library.func.functional_call

    def loss(parameters: Any, sample: Any, label: Any) -> Any:
        out = functional_call(model, parameters, (sample[None] if make is _transformer else sample,))
        return cross_entropy(out[None], label[None])

    return loss, parameters, samples, labels


def _level_measures() -> Iterator[Measure]:
    def gradients(library: Any, name: str) -> _Call:
        loss, parameters, samples, labels = _make_loss(library, *PROGRAMS[name])
        run = library.func.vmap(library.func.grad(loss), in_dims=(None, 0, 0))
        return lambda: run(parameters, samples, labels)

    def hessian(library: Any) -> _Call:
        loss, parameters, samples, labels = _make_loss(library, *PROGRAMS["MLP"])
        run = library.func.hessian(lambda sample: loss(parameters, sample, labels[0]))
        return lambda: run(samples[0])

    def one_gradient(library: Any) -> _Call:
        run, x = library.func.grad(lambda x: x.sin().sum()), library.ones(3)
        return lambda: run(x)

    def map_add(library: Any) -> _Call:
        run, x = library.func.vmap(lambda x, y: x + y), library.ones(3)
        return lambda: run(x, x)

    for name in PROGRAMS:
        yield Measure(f"levels: gradients per sample, {name}", gradients(torchlike, name), gradients(torch, name))
    yield Measure("levels: Hessian by the inputs, MLP", hessian(torchlike), hessian(torch))
    yield Measure("levels: grad of sin and sum", one_gradient(torchlike), one_gradient(torch))
    yield Measure("levels: vmap of an add", map_add(torchlike), map_add(torch))


def _quantized_measures() -> Iterator[Measure]:
    """Yield layers of integers, beside torch's and beside our own of float32."""

    def linear(library: Any, rows: int, inner: int, outputs: int) -> _Call:
        x = library.quantize_per_tensor(library.ones(rows, inner), 0.05, 7, library.quint8)
        weight = library.quantize_per_tensor(library.ones(outputs, inner), 0.02, 0, library.qint8)
        packed = library.ops.quantized.linear_prepack(weight, library.ones(outputs))
        call = library.ops.quantized.linear
        return lambda: call(x, packed, 0.5, 3)

    def convolution(library: Any) -> _Call:
        x = library.quantize_per_tensor(library.ones(1, 16, 32, 32), 0.05, 7, library.quint8)
        weight = library.quantize_per_tensor(library.ones(32, 16, 3, 3), 0.02, 0, library.qint8)
        packed = library.ops.quantized.conv2d_prepack(weight, None, [1, 1], [1, 1], [1, 1], 1)
        call = library.ops.quantized.conv2d
        return lambda: call(x, packed, 0.5, 3)

    def quantize(library: Any) -> _Call:
        x = library.ones(65536)
        return lambda: library.quantize_per_tensor(x, 0.05, 7, library.quint8).dequantize()

    for sizes in ((1, 1, 1), (64, 256, 256), (64, 4096, 64)):
        name = "quantized: linear of {} x {} by {}".format(*sizes)
        yield Measure(name, linear(torchlike, *sizes), linear(torch, *sizes))
    yield Measure("quantized: convolution of 16 channels", convolution(torchlike), convolution(torch))
    yield Measure("quantized: 65,536 numbers to integers and back", quantize(torchlike), quantize(torch))


def _placed_measures() -> Iterator[Measure]:
    """Yield a step of training on a mesh of one process, where the cost is that of asking how results lie."""
    import importlib

    their_mesh = _one_process()
    our_mesh = importlib.import_module("torchlike.distributed.tensor").init_device_mesh("cpu", (1,))

    def step(library: Any, mesh: Any) -> _Call:
        tensors = importlib.import_module(f"{library.__name__}.distributed.tensor")
        place, whole, rows = tensors.distribute_tensor, [tensors.Replicate()], [tensors.Shard(0)]
        model = library.nn.Sequential(library.nn.Linear(64, 128), library.nn.ReLU(), library.nn.Linear(128, 10))
        for layer in model:
            for name, each in list(layer.named_parameters()):
                setattr(layer, name, library.nn.Parameter(place(each.detach(), mesh, whole)))
        x, y = place(library.ones(64, 64), mesh, rows), place(library.arange(64) % 10, mesh, rows)
        optimizer = library.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

        def run() -> None:
            optimizer.zero_grad()
            library.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()

        return run

    yield Measure(
        "placements: a step of an MLP, one process", step(torchlike, our_mesh), step(torch, their_mesh), goal=0.9
    )


def _one_process() -> Any:
    """Return torch's mesh of this process alone."""
    import torch.distributed as processes
    from torch.distributed.tensor import init_device_mesh

    processes.init_process_group("gloo", store=processes.HashStore(), rank=0, world_size=1)
    return init_device_mesh("cpu", (1,))


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    options = parser(__doc__)
    options.add_argument("rows", nargs="*", help="beginnings of the names of rows to measure; all without")
    given = options.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    measures = [
        *_autocast_measures(),
        *_mode_measures(),
        *_level_measures(),
        *_quantized_measures(),
        *_placed_measures(),
    ]
    wanted = [each for each in measures if not given.rows or each.name.startswith(tuple(given.rows))]
    print(report(run(wanted, repeats=given.repeats), given.json))


if __name__ == "__main__":
    main()
