"""Programs of a few calls in pipelines, drawn by a seed, and everything that they show of themselves."""

from __future__ import annotations

import math
import random
import re
import threading
import traceback
from typing import Any

import numpy as np

import dispatch_core as dc
import torchlike as T
from dispatch_pipelines.record.steps import to_step

_SHAPES = [(), (1,), (3,), (3,), (2, 3), (2, 3), (3, 3), (0,)]
_DTYPES = [T.float32, T.float32, T.float32, T.float64, T.int64, T.bool]
_NUMBERS = [0, 1, 2, -1, 2.0, 0.5, -0.0, True, 2**40, float("nan")]
_BINARY = "add sub mul div maximum minimum eq lt pow atan2 logical_and".split()
_UNARY = "neg abs exp relu sqrt sin tanh sign square logical_not clone".split()
_FOLDS = "sum mean amax prod argmax all cumsum softmax".split()
_SYMBOLS = ["+", "-", "*", "/", "<", "==", "**"]
_OPTIONS: list[dict[str, Any]] = [
    {}, {}, {}, {}, {}, {"max_ops": 3}, {"max_bytes": 64}, {"fuse": False}, {"inputs_unchanged": True},
]  # fmt: skip
#: The times that a run took, which differ.
_TIMES = re.compile(r"[0-9.]+ (ns|µs|us|ms|s)\b")
_PLACE = re.compile(r"0x[0-9a-f]+")


def _draw_tensor(draw: random.Random, usual: Any, held: list[Any]) -> Any:
    shape, dtype = usual if draw.random() < 0.8 else (draw.choice(_SHAPES), draw.choice(_DTYPES))
    count = int(np.prod(shape, dtype=int))
    values = [draw.choice([0, 1, 2, 3, -1, -2]) for _ in range(count)]
    made = T.tensor(values).to(dtype).reshape(shape)
    way = draw.random()
    if way < 0.1 and made.ndim == 2:
        return made.transpose(0, 1)
    if way < 0.25:
        # Memory that the user holds, too.
        held.append(np.ones(shape, np.float32))
        return T.from_numpy(held[-1])
    if way < 0.3 and dtype.is_floating_point:
        return made.requires_grad_()
    return T.nn.Parameter(made.to(T.float32)) if way < 0.35 else made


def _draw_line(draw: random.Random) -> str:
    x, y, z = (f"v[{draw.randrange(12)} % len(v)]" for _ in range(3))
    number, dim = draw.choice(_NUMBERS), draw.choice([0, 1, -1, None, (0,), [0]])
    forms = [
        *[f"T.{draw.choice(_BINARY)}({x}, {y})" for _ in range(4)],
        *[f"{x} {draw.choice(_SYMBOLS)} {draw.choice([y, repr(number)])}" for _ in range(4)],
        *[f"T.{draw.choice(_UNARY)}({x})" for _ in range(3)],
        f"{number!r} {draw.choice(_SYMBOLS)} {x}",
        f"{x} * (0.5 + n)",
        f"T.add({x}, {y}, alpha={draw.choice([1, 2, 0.5, True, 'q'])!r})",
        f"T.{draw.choice(_FOLDS)}({x}, {dim!r})",
        f"T.{draw.choice(_FOLDS)}({x})",
        f"{x}.sum({draw.choice(['0', '0, keepdim=True', '(0, 1)', 'dtype=T.float64'])})",
        f"T.where({x} > 0, {y}, {z})",
        f"T.clamp({x}, {draw.choice(['0', 'min=0.5', '0, 1', 'None, 2', 'n'])})",
        f"T.mm({x}, {y})",
        f"T.cat([{x}, {y}])",
        f"T.nn.functional.linear({x}, {y}, {draw.choice([z, 'None'])})",
        f"{x}.view(-1)",
        f"{x}[{draw.choice(['0', '::2', 'None', '...'])}]",
        f"{x}.{draw.choice(['add_', 'mul_', 'copy_'])}({draw.choice([y, repr(number)])})",
        f"{x}.to(T.{draw.choice(['float64', 'int64', 'float32'])})",
        f"T.rand_like({x})",
        f"T.index_select({x}, 0, {y})",
        f"T.index_select({x}, 0, far)",
        "h[-1].fill(n) if h else None",
        f"{x}.sum().item()",
        f"{x}.tolist()",
        f"{x}.numpy().shape",
        f"({x}.shape, {x}.dtype, {x}.requires_grad)",
        f"T.set_default_dtype(T.{draw.choice(['float32', 'float64'])})",
        "T.nn.functional.gelu(T.tensor([1.0, n]))",
        f"{x}.sum().backward()",
        f"dc.ops.aten.add.Tensor({x}, {y})",
        f"dc.ops.aten.mul.Tensor({x}, {y}.numpy())",
        f"dc.ops.aten.neg.default({x}.detach().numpy())",
        f"v.pop({draw.randrange(3)}).shape if len(v) > 3 else None",
    ]
    return draw.choice(forms)


def _show(value: Any) -> Any:
    if isinstance(value, T.Tensor):
        data = value.detach().contiguous()
        return (
            type(value).__name__,
            data.numpy().tobytes() if value.numel() else b"",
            tuple(value.shape),
            str(value.dtype),
        )
    return type(value).__name__, _PLACE.sub("", repr(value))


def _show_error(error: BaseException) -> Any:
    own = [(each.f_code.co_name, line) for each, line in traceback.walk_tb(error.__traceback__)][1:]
    notes = [_PLACE.sub("", each) for each in getattr(error, "__notes__", [])]
    return type(error).__name__, _PLACE.sub("", str(error)), notes, own, repr(error.__cause__)


def _show_records() -> list[Any]:
    """Return the operators of what is recorded, with the lines that it comes from and the masks of its calls."""
    shown = []
    for each in dc.current_pipeline().records:
        step = to_step(each)
        looks = [getattr(value, "shape", value) for value in (*step.values, *step.outputs) if type(value) is not list]
        shown.append((step.name, step.line, step.state, [type(each).__name__, *map(repr, looks)]))
    return shown


def run_pipelines(seed: int) -> list[Any]:
    """Run the program of a seed, and return everything that it shows."""
    draw = random.Random(seed)
    T.manual_seed(seed)
    T.set_default_dtype(T.float32)
    shown: list[Any] = []
    far = T.tensor([9])
    usual, held = (draw.choice(_SHAPES), draw.choice(_DTYPES)), []
    first = [_draw_tensor(draw, usual, held) for _ in range(draw.randrange(2, 5))]
    lines = [_draw_line(draw) for _ in range(draw.randrange(2, 10))]
    kept = [draw.random() < 0.7 for _ in lines]
    # From some turn on another result is kept, or one is not.
    other, since = draw.randrange(len(lines)), draw.choice([2, 3, 4, 9])
    options, rounds, moves = draw.choice(_OPTIONS), draw.choice([2, 5, 6]), draw.random() < 0.1
    # One file for each program; its lines are those that errors and explanations name.
    codes = [compile("\n" * number + line, f"program {seed}", "eval") for number, line in enumerate(lines)]
    explains, threads, nests = draw.random() < 0.2, draw.random() < 0.1, draw.random() < 0.1

    def step(number: int, values: list[Any], turn: int) -> None:
        try:
            found = eval(
                codes[number], {"T": T, "dc": dc, "v": values, "n": turn, "h": held, "far": far, "nan": math.nan}
            )
        except Exception as error:  # noqa: BLE001  # errors are compared
            shown.append((lines[number], _show_error(error)))
            return
        shown.append((lines[number], type(found).__name__))
        if isinstance(found, T.Tensor) and kept[number] is not (number == other and turn >= since):
            values.append(found)
        elif not isinstance(found, T.Tensor):
            shown.append(repr(found))

    def play(turn: int) -> None:
        values = list(first)
        pipeline = dc.pipeline(**options)
        try:
            with pipeline:
                for number in range(len(lines)):
                    if nests and number == 2:
                        with dc.pipeline():
                            step(number, values, turn)
                    else:
                        step(number, values, turn)
                shown.append(_show_records())
                if explains:
                    shown.append(_TIMES.sub("", _PLACE.sub("", str(pipeline.graph()))))
        except Exception as error:  # noqa: BLE001  # errors are compared
            shown.append(("leaving", _show_error(error)))
        stats = pipeline.stats().as_dict()
        shown.append({name: value for name, value in stats.items() if "time" not in name})
        for value in values:
            try:
                shown.append(_show(value))
            except Exception as error:  # noqa: BLE001  # errors are compared
                shown.append(_show_error(error))

    try:
        for turn in range(rounds):
            if moves:
                first[0] = first[0].detach().clone()
            if threads and turn == 1:
                worker = threading.Thread(target=play, args=(turn,))
                worker.start()
                worker.join()
            else:
                play(turn)
    finally:
        T.set_default_dtype(T.float32)
    return shown
