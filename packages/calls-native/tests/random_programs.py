"""Programs of a few statements, drawn by a seed, and everything that they show of themselves."""

from __future__ import annotations

import contextlib
import random
import re
import threading
import traceback
from typing import Any

import dispatch_core as dc
import torchlike as T

#: The number of frames that a note tells: those of first calls in plain code are others than those of generated code.
_FRAMES = re.compile(r"shows \d+ frames?")
_PLACE = re.compile(r"0x[0-9a-f]+")
_SHAPES = [(), (1,), (3,), (2, 3), (3, 3), (1, 3), (3, 1), (2, 1, 3), (0,), (2, 0), (4, 3, 3)]
_DTYPES = [T.float32, T.float32, T.float32, T.float64, T.int64, T.int32, T.bool, T.float16, T.complex64, T.uint8]
_NUMBERS = [0, 1, 2, -1, 2.0, 0.5, -0.0, True, 2**40, 2**63, 1e30, float("nan"), None, 1j, "x"]
_BINARY = (
    "add sub mul div maximum minimum eq ne lt le gt ge pow remainder floor_divide atan2 logical_and bitwise_and fmod"
).split()
_UNARY = (
    "neg abs exp relu sqrt sin tanh sigmoid floor sign log square reciprocal logical_not bitwise_not detach t".split()
)
_FOLDS = "sum mean max min amax amin prod argmax std var any all cumsum softmax logsumexp norm".split()
_ASKED = "size stride dim numel is_contiguous".split()
_INDICES = (
    "0|-1|1|7|...|:|::1|1:|:-1|::2|::-1|::0|5:2|-9:9|:2**70|None|()|0, 0|..., 0|0, ...|..., ...|None, 0|:, None|0, :, 1"
    "|:, 1:, 0|1:, None, ..., -1|True|None, None, None|0, 0, 0, 0|1.0|'x'|0.0, 1|:1.0|[0]"
).split("|")
_SYMBOLS = ["+", "-", "*", "/", "//", "%", "@", "<", "==", "&", "**", ">=", "!="]


def _draw_tensor(draw: random.Random) -> Any:
    shape, dtype = draw.choice(_SHAPES), draw.choice(_DTYPES)
    count = 1
    for size in shape:
        count *= size
    values = [draw.choice([0, 1, 2, 3, -1, -2, 5]) for _ in range(count)]
    if dtype in (T.uint8, T.bool):
        values = [abs(value) for value in values]
    made = T.tensor(values, dtype=T.float64 if dtype.is_floating_point else T.int64).to(dtype).reshape(shape)
    way = draw.random()
    if made.ndim >= 2 and way < 0.15:
        made = made.transpose(0, 1)
    elif made.ndim >= 1 and way < 0.25:
        made = made[::2]
    elif made.ndim >= 1 and way < 0.3:
        made = made.expand(2, *made.shape)
    if (dtype.is_floating_point or dtype.is_complex) and draw.random() < 0.35:
        made = made.detach().clone().requires_grad_()
    return made


def _statements(draw: random.Random) -> list[str]:
    made = []
    for _ in range(draw.randrange(4, 12)):
        x, y, z = (f"v[{draw.randrange(8)} % len(v)]" for _ in range(3))
        number, dim = draw.choice(_NUMBERS), draw.choice([0, 1, -1, 2, -3, None, (0, 1), [0], True])
        sizes = draw.choice([(-1,), (3, -1), (9,), (1, 3), (-1, 1), (2, 3), (3, 2), (5,)])
        wanted = draw.choice(_FOLDS)
        forms = [
            *[f"T.{draw.choice(_BINARY)}({x}, {draw.choice([y, y, repr(number)])})" for _ in range(3)],
            f"{x} {draw.choice(_SYMBOLS)} {draw.choice([y, y, repr(number)])}",
            f"{number!r} {draw.choice(_SYMBOLS)} {x}",
            f"T.{draw.choice(_UNARY)}({x})",
            f"{x}.{draw.choice(_UNARY)}()",
            f"-{x}",
            f"T.add({x}, {y}, alpha={draw.choice([1, 2, 0.5, -1, 'q', True])!r})",
            f"T.add(input={x}, other={y})",
            f"T.sub({x}, other={y}, alpha=2)",
            f"{x}.{wanted}({draw.choice(['', repr(dim), f'dim={dim!r}', f'{dim!r}, keepdim=True', 'dtype=T.float64'])})",
            f"T.{wanted}({x}, {dim!r})",
            f"T.{wanted}({x})",
            *[f"{x}.view({draw.choice([str(sizes), repr(list(sizes)), str(sizes)[1:-1], 'T.int32'])})"] * 2,
            f"{x}.reshape{sizes}",
            f"{x}.view({y}.shape)",
            f"{x}.expand({draw.choice(['3, 3', '(2, 3)', '-1', '4, -1, -1'])})",
            f"{x}.transpose({draw.choice(['0, 1', '-1, 0', '0, 5', '1, 0.0'])})",
            f"{x}.permute({draw.choice(['0', '1, 0', '(1, 0)', '2, 0, 1', '*range(2)'])})",
            f"{x}.unsqueeze({draw.choice([0, -1, 4, 1])})",
            f"{x}.squeeze({draw.choice(['', '0', '-1', '(0, 1)'])})",
            f"{x}[{draw.choice(['0', '-1', '5', '...', ':2', '::2', 'None', '0, 1', ':, 0', 'True', '[0, 1]'])}]",
            f"{x}[{draw.choice(_INDICES)}]",
            f"{x}[{draw.choice(_INDICES)}][{draw.choice(_INDICES)}]",
            f"{x}.select({draw.choice(['0, 0', '-1, 1', '3, 0'])})",
            f"{x}.narrow(0, 0, 1)",
            f"{x}.unbind(0)",
            f"{x}.split({draw.choice(['1', '2', '[1, 2]'])})",
            f"{x}.chunk(2, -1)",
            f"T.cat([{x}, {y}], {draw.choice([0, 1, -1])})",
            f"T.stack(({x}, {y}))",
            f"T.where({x}, {y}, {z})",
            f"T.clamp({x}, {draw.choice(['0', 'min=0.5', 'max=1', '0, 1', 'None, 2', '1.0, 0'])})",
            f"T.mm({x}, {y})",
            f"T.matmul({x}, {y})",
            f"T.addmm({x}, {y}, {z})",
            f"T.nn.functional.linear({x}, {y}, {draw.choice([z, 'None'])})",
            f"T.nn.functional.{draw.choice(['relu', 'gelu', 'silu', 'softplus'])}({x})",
            f"T.nn.functional.layer_norm({x}, {x}.shape[-1:])",
            f"{x}.to(T.{draw.choice(['float64', 'int64', 'float32', 'float16'])})",
            f"{x}.clone()",
            f"{x}.contiguous()",
            f"{x}.{draw.choice(['add_', 'mul_', 'sub_', 'div_', 'copy_'])}({draw.choice([y, repr(number)])})",
            f"{x}.{draw.choice(['relu_', 'neg_', 'zero_', 'exp_', 'detach_', 't_'])}()",
            f"{x}.fill_({draw.choice([y, repr(number)])})",
            f"{x}.__setitem__({draw.choice(['0', '...', 'slice(None)'])}, {draw.choice([y, repr(number)])})",
            f"T.add({x}, {y}, out={z})",
            f"T.neg({x}, out={y})",
            f"{x}.requires_grad_()",
            f"{x}.sum().backward()",
            f"T.autograd.grad({x}.sum(), [{y}], allow_unused=True)",
            f"{x}.grad",
            f"({x}.is_leaf, {x}.grad_fn is None, {x}.grad is None, {x}.requires_grad)",
            f"T.index_select({x}, 0, {y})",
            f"T.gather({x}, 0, {y})",
            f"T.embedding({x}, {y})",
            f"({x}.shape, {x}.dtype, {x}.device, {x}.ndim, {x}.requires_grad)",
            f"({x}.dim(), {x}.numel(), {x}.size(), {x}.stride(), {x}.is_contiguous(), {x}.ndimension(), {x}.nelement())",
            f"{x}.{draw.choice(_ASKED)}({draw.choice(['', '0', '-1', '2', '-3', 'True', '1.0', 'None', 'dim=0', '2**70'])})",
            f"T.nn.Parameter({x}).{draw.choice(_ASKED)}()",
            f"{x}.__setattr__({draw.choice(['shape', 'ndim', 'requires_grad'])!r}, {draw.choice([1, True])!r})",
            f"T.nn.Parameter({x}) * {y}",
            f"{x}.item()",
            f"{x}.tolist()",
            f"dc.ops.aten.add.Tensor({x}, {y}, alpha={draw.choice([1, 2])})",
            f"dc.ops.aten.mul({x}, {draw.choice([y, '2.0'])})",
            f"dc.ops.aten.add.Tensor({x}.numpy(), {y}.numpy())",
            f"dc.ops.aten.add.Tensor({x}, {y}.numpy())",
            f"dc.ops.aten.add_.Tensor({x}.numpy(), {draw.choice([y, repr(number)])}.numpy())",
            f"dc.ops.aten.view.default({x}.numpy(), {draw.choice(['[-1]', '(3, 3)', '[2, -1]'])})",
            f"dc.ops.aten.cat.default([{x}.numpy(), {draw.choice([f'{y}.numpy()', y])}], {draw.choice(['0', '1', '-1'])})",
            f"dc.ops.aten.{draw.choice(['neg', 'exp', 'relu', 'detach', 'sum', 't', 'neg_'])}.default({x}.numpy())",
            f"dc.ops.aten.max.dim({x}.numpy(), 0)",
            f"dc.ops.aten.max.dim({x}, 0)",
            f"dc.ops.aten.linear.default({x}, {y}, {draw.choice([z, 'None'])})",
            f"dc.ops.aten.native_layer_norm({x}, {x}.shape[-1:], {draw.choice([y, 'None'])}, None, 1e-5)",
            f"({x} * 1).{draw.choice(['add_', 'mul_', 'div_', 'copy_', 'pow_'])}({draw.choice([y, repr(number)])})",
            f"({x} * 1)[0].{draw.choice(['add_', 'mul_', 'exp_', 'zero_', 'tanh_'])}({draw.choice(['', y, '2'])})",
            f"T.cat([{x}, {y}, {z}]).sum().backward()",
            f"({x} @ {y}).sum().backward()",
            f"dc.ops.aten.sum.dim_IntList({x}, {draw.choice(['0', '[0]', '[0, 1]', 'None', '(1,)'])}, keepdim=True)",
            f"dc.ops.aten.add.Tensor({x})",
            f"dc.ops.aten.add.Tensor({x}, {y}, {z})",
            f"dc.ops.aten.neg.default({x}, wrong=1)",
            f"dc.ops.front_tests.pair({x}, {y})",
            f"dc.ops.front_tests.pair({x}, {y}, mode={draw.choice(['1', '2', '3', '2.0', 'True'])})",
            f"dc.ops.front_tests.fails({x})",
            f"dc.ops.front_tests.fails({x}, {draw.choice([0, 1, 2, 3, 4])})",
            f"dc.ops.front_tests.both({x}, {y})",
            f"dc.ops.front_tests.count({x})",
        ]
        made.append(draw.choice(forms))
    return made


class _KernelError(Exception):
    pass


def _pair(x: Any, y: Any, mode: int = 1) -> Any:
    return x + y if mode == 1 else x * y


def _fails(x: Any, how: int = 0) -> Any:
    if how == 0:
        raise _KernelError("on purpose")
    if how == 1:
        return "no array"
    if how == 2:
        return NotImplemented
    if how == 3:
        raise KeyboardInterrupt
    empty: list[Any] = []
    return empty[how]


def define_operators() -> Any:
    """Define the operators of the programs; the library is to be kept."""
    library = dc.Library("front_tests", "DEF")
    library.define("pair(Tensor x, Tensor y, *, int mode=1) -> Tensor")
    library.define("fails(Tensor x, int how=0) -> Tensor")
    library.define("both(Tensor x, Tensor y) -> (Tensor, Tensor)")
    library.define("count(Tensor x) -> int")
    library.impl("pair", _pair, "CPU")
    library.impl("fails", _fails, "CPU")
    library.impl("both", lambda x, y: (x * 1, y * 1), "CPU")
    library.impl("count", lambda x: x.size, "CPU")
    return library


def _show(value: Any) -> Any:
    if isinstance(value, T.Tensor):
        node = value.grad_fn
        return (
            type(value).__name__,
            value.detach().contiguous().numpy().tobytes() if value.numel() else b"",
            tuple(value.shape),
            str(value.dtype),
            value.stride(),
            value.requires_grad,
            value.is_leaf,
            value._version,
            value._is_view(),
            None if node is None else (node.name(), [each[0] and each[0].name() for each in node.next_functions]),
        )
    if isinstance(value, tuple | list):
        return type(value).__name__, [_show(each) for each in value]
    return type(value).__name__, _PLACE.sub("", repr(value))


def _show_error(error: BaseException) -> Any:
    frames = [(each.f_code.co_name, line) for each, line in traceback.walk_tb(error.__traceback__)]
    own = [name for name, _ in frames[1:]]  # the first is this module's
    notes = [_FRAMES.sub("shows frames", each) for each in getattr(error, "__notes__", [])]
    cause, context = error.__cause__, error.__context__
    return type(error).__name__, _PLACE.sub("", str(error)), notes, own, repr(cause), repr(context)


@contextlib.contextmanager
def _profile() -> Any:
    with dc.profile():
        yield


def _surroundings(draw: random.Random) -> Any:
    """Return a context for some of the statements."""
    way = draw.random()
    if way < 0.1:
        return T.no_grad
    if way < 0.16:
        return dc.pipeline
    if way < 0.2:
        return _profile
    if way < 0.23:
        return lambda: dc.exclude_keys("Autograd")
    if way < 0.26:
        return lambda: T.autocast("cpu")
    if way < 0.28:
        return T.inference_mode
    return contextlib.nullcontext


def run_program(seed: int) -> list[Any]:
    """Run the program of a seed, and return everything that it shows."""
    draw = random.Random(seed)
    T.manual_seed(seed)
    shown: list[Any] = []
    values = [_draw_tensor(draw) for _ in range(draw.randrange(2, 5))]
    statements = _statements(draw)
    surroundings = [_surroundings(draw) for _ in statements]
    repeats = [draw.choice([1, 1, 2, 4]) for _ in statements]
    late = draw.random() < 0.05
    library = None
    names = {"T": T, "dc": dc, "v": values}

    def step(text: str) -> None:
        try:
            found = eval(text, names)
            shown.append((text, _show(found)))
        except BaseException as error:  # noqa: BLE001  # interrupts, too, are compared
            shown.append((text, _show_error(error)))
            return
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, T.Tensor) and len(values) < 8:
                values.append(each)

    for number, (text, surrounding, times) in enumerate(zip(statements, surroundings, repeats, strict=True)):
        if late and number == 2:
            library = dc.Library("aten", "IMPL")
            library.impl("neg", lambda x: x * 3, "CPU")
        try:
            with surrounding():
                for _ in range(times):
                    step(text)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is compared
            shown.append(("leaving", _show_error(error)))
    if draw.random() < 0.1:
        worker = threading.Thread(target=step, args=("T.add(v[0], v[-1])",))
        worker.start()
        worker.join()
    if library is not None:
        library.close()
    for number in range(len(values)):
        step(f"v[{number}]")
    return shown
