"""Random trainings, drawn by a seed: layers, a loss, an optimizer, a few steps, and everything that they leave behind."""

from __future__ import annotations

import contextlib
import random
import warnings
from typing import Any

import torchlike as T
from torchlike import nn

F = nn.functional

#: Ways of running the steps of one training.
WAYS = ["eager"] * 5 + ["pipeline", "captured", "captured", "accumulated", "profile"]


def _layers(draw: random.Random, width: int, dtype: Any) -> tuple[list[Any], int]:
    """Return layers over the last of two or three dimensions, and the width of their results."""
    made: list[Any] = []
    for _ in range(draw.randrange(1, 5)):
        wide = draw.choice([1, 2, 3, 8, 17])
        kinds = {
            "linear": lambda wide=wide, width=width: (nn.Linear(width, wide, bias=draw.random() < 0.8), wide),
            "norm": lambda width=width: (nn.LayerNorm(width, elementwise_affine=draw.random() < 0.7), width),
            "activation": lambda width=width: (draw.choice(ACTIVATIONS)(), width),
            "dropout": lambda width=width: (nn.Dropout(draw.choice([0.0, 0.1, 0.5, 1.0])), width),
            "softmax": lambda width=width: (draw.choice([nn.Softmax, nn.LogSoftmax])(draw.choice([-1, 0])), width),
            "residual": lambda width=width: (_Residual(nn.Linear(width, width)), width),
            "split": lambda width=width: (_Split(), width),
        }
        layer, width = kinds[draw.choice(["linear", "linear", "linear", *kinds])]()
        made.append(layer.to(dtype))
    return made, width


ACTIVATIONS = [
    nn.ReLU,
    nn.GELU,
    lambda: nn.GELU(approximate="tanh"),
    nn.SiLU,
    nn.Tanh,
    nn.Sigmoid,
    nn.Softplus,
    lambda: nn.LeakyReLU(0.1),
    nn.ELU,
    nn.Hardswish,
    lambda: nn.ReLU(inplace=True),
]


class _Residual(nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return x + 0.5 * self.inner(x)


class _Split(nn.Module):
    def forward(self, x: Any) -> Any:
        first, *rest = x.split(2, -1)
        return T.cat([*rest, first.masked_fill(first > 1, 0.25)], dim=-1)


class _Front(nn.Module):
    """Images or words at first, rows of numbers after it."""

    def __init__(self, draw: random.Random, kind: str) -> None:
        super().__init__()
        self.kind = kind
        if kind == "words":
            self.table = nn.Embedding(7, 4, padding_idx=draw.choice([None, 0]))
            self.width = 4
        else:
            groups = draw.choice([1, 1, 2])
            self.pictures = nn.Sequential(
                nn.Conv2d(
                    2, 4, draw.choice([1, 3]), stride=draw.choice([1, 2]), padding=draw.choice([0, 1]), groups=groups
                ),
                draw.choice([nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.Identity()]),
                draw.choice([nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(2)]),
                nn.Flatten(),
            )
            with T.no_grad():
                self.width = self.pictures.eval()(T.zeros(1, 2, 6, 6)).shape[-1]
            self.train()

    def forward(self, x: Any) -> Any:
        return self.table(x) if self.kind == "words" else self.pictures(x)


def _optimizer(draw: random.Random, parameters: list[Any]) -> Any:
    rate, decay, peak = draw.choice([0.1, 0.01, 1.0]), draw.choice([0, 0, 0.1]), draw.random() < 0.2
    extra = {"maximize": peak, "weight_decay": decay}
    kinds = [
        lambda: T.optim.SGD(parameters, lr=rate, **extra),
        lambda: T.optim.SGD(parameters, lr=rate, momentum=0.9, dampening=draw.choice([0, 0.1]), **extra),
        lambda: T.optim.SGD(parameters, lr=rate, momentum=0.5, nesterov=True, **extra),
        lambda: T.optim.Adam(parameters, lr=rate, betas=draw.choice([(0.9, 0.999), (0.0, 0.5)]), **extra),
        lambda: T.optim.Adam(parameters, lr=rate, amsgrad=True, **extra),
        lambda: T.optim.AdamW(parameters, lr=rate, **extra),
        lambda: T.optim.AdamW(parameters, lr=T.tensor(rate), **extra),
        lambda: T.optim.RMSprop(parameters, lr=rate, weight_decay=decay),
        lambda: T.optim.Adagrad(parameters, lr=rate, weight_decay=decay),
    ]
    if len(parameters) > 1 and draw.random() < 0.2:
        groups = [{"params": parameters[:1], "lr": rate / 2}, {"params": parameters[1:]}]
        return draw.choice([T.optim.SGD, T.optim.AdamW])(groups, lr=rate)
    return draw.choice(kinds)()


def run_training(seed: int) -> list[Any]:
    """Run the training of a seed, and return everything that it leaves: losses, parameters, gradients, states, errors."""
    draw = random.Random(seed)
    T.manual_seed(seed)
    shown: list[Any] = []
    dtype = draw.choice([T.float32] * 6 + [T.float64] * 2 + [T.bfloat16, T.float16])
    kind = draw.choice(["rows", "rows", "sequences", "words", "pictures"])
    front = None
    if kind in ("words", "pictures"):
        front = _Front(draw, kind).to(dtype)
        width = front.width
    else:
        width = draw.choice([1, 2, 5, 8, 64])
    layers, width = _layers(draw, width, dtype)
    model = nn.Sequential(*([front] if front else []), *layers)
    count = draw.choice([1, 2, 7, 32])
    sizes = {"rows": (count, width), "sequences": (count, 3, width), "words": (count, 5), "pictures": (count, 2, 6, 6)}
    shape = list(sizes[kind])
    if kind in ("rows", "sequences"):
        shape[-1] = next(
            (each.in_features if isinstance(each, nn.Linear) else each.normalized_shape[0])
            for each in [*layers, nn.Linear(shape[-1], 1)]
            if isinstance(each, (nn.Linear, nn.LayerNorm))
        )
    if draw.random() < 0.1:
        model.eval()
    loss = draw.choice([_cross_entropy, _cross_entropy, _nll, _mse, _binary, _smooth])
    way = draw.choice(WAYS)
    clip, steps = draw.choice([None, None, 0.5]), draw.randrange(1, 5)

    def inputs() -> Any:
        if kind == "words":
            return T.randint(0, 7, shape)
        return T.randn(shape).to(dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parameters = [each for each in model.parameters() if draw.random() < 0.95]
            optimizer = _optimizer(draw, parameters)

            def step(x: Any) -> Any:
                optimizer.zero_grad(set_to_none=draw_none)
                value = loss(model(x))
                value.backward()
                if clip is not None:
                    T.nn.utils.clip_grad_norm_(parameters, clip)
                optimizer.step()
                return value

            draw_none = draw.random() < 0.8
            run = T.compile(step) if way == "captured" else step
            for _ in range(steps):
                x = inputs()
                if way == "accumulated":
                    (loss(model(x)) * 0.5).backward()
                    loss(model(inputs())).backward()
                    optimizer.step()
                    shown.append("accumulated")
                else:
                    with _surroundings(way):
                        found = run(x)
                    shown.append(_show(found.detach()))
        except Exception as error:  # noqa: BLE001  # a part of what is compared
            shown.append(("error", type(error).__name__, str(error)))
        for name, each in [*model.named_parameters(), *model.named_buffers()]:
            shown.append((name, _show(each.detach()), each.grad is not None and _show(each.grad)))
        with contextlib.suppress(NameError):
            for number, state in optimizer.state_dict()["state"].items():
                shown.append((number, {key: _show(value) for key, value in state.items()}))
    return shown


def _surroundings(way: str) -> Any:
    if way == "pipeline":
        return T.pipeline()
    if way == "profile":
        import dispatch_core as dc

        return dc.profile()
    return contextlib.nullcontext()


def _rows(x: Any) -> Any:
    return x.reshape(-1, x.shape[-1])


def _classes(x: Any) -> Any:
    return T.arange(x.shape[0]) % x.shape[-1]


def _cross_entropy(x: Any) -> Any:
    rows = _rows(x)
    return F.cross_entropy(rows, _classes(rows), ignore_index=1 if rows.shape[-1] > 3 else -100)


def _nll(x: Any) -> Any:
    rows = _rows(x)
    weight = T.linspace(0.5, 2, rows.shape[-1]).to(rows.dtype)
    return F.nll_loss(F.log_softmax(rows, -1), _classes(rows), weight=weight, reduction="sum")


def _mse(x: Any) -> Any:
    return F.mse_loss(x, T.full_like(x, 0.5))


def _binary(x: Any) -> Any:
    return F.binary_cross_entropy_with_logits(x, T.ones_like(x) * 0.25)


def _smooth(x: Any) -> Any:
    return F.smooth_l1_loss(x, T.zeros_like(x)) + x.logsumexp(-1).mean()


def _show(value: Any) -> Any:
    if not isinstance(value, T.Tensor):
        return repr(value)
    plain = value.detach().contiguous()
    bits = plain.float() if value.dtype is T.bfloat16 else plain
    return bits.numpy().tobytes(), str(value.dtype), tuple(value.shape), value.stride(), value._version
