"""The time of common calls of every kind beside torch's, at three sizes: ``python benchmarks/bench_breadth.py [GROUP ...]``.

A row is an expression, evaluated with torch's module and with torchlike; the inputs have about 1, 1,000 and 1,000,000
elements. Each of the two runs on one thread. The groups' figures are geometric means of the rows' ratios. Beside each row
stands its floor (the NumPy calls that compute it, alone, and 250 ns of dispatch) and the row's time as a multiple of it.
"""

from __future__ import annotations

import math
import operator
import statistics
import warnings
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

import numpy as np
import torch
from floors import DISPATCH, floor_of, names_for_floors
from harness import Measure, Row, parser, report, run

import torchlike

SIZES: Final = (1, 1_000, 1_000_000)

#: Group → expressions at every size. ``T`` is the library, ``F`` its ``nn.functional``; see `_make_inputs` for the others.
CALLS: Final = {
    "element-wise": """
        x + y; x * y; x / y; x + 1; x * 2.5; 1 - x; -x; x ** 2; p ** 0.5; x.abs(); x.exp(); p.log(); p.sqrt()
        p.rsqrt(); x.sin(); x.tanh(); x.sigmoid(); x.relu(); F.gelu(x); F.silu(x); F.leaky_relu(x); F.softplus(x)
        x.clamp(-1, 1); x.clamp(min=0); x.round(); T.maximum(x, y); T.where(b, x, y); x.masked_fill(b, 0.0)
        T.lerp(x, y, 0.5); T.add(x, y, alpha=2); x.float(); x.to(T.int64); i + i; i // 3; x > y; x > 0; b & b
        T.isnan(x); x.clone(); x.log1p()
    """,
    "in place": """
        z.add_(y); z.mul_(1.0); z.add_(y, alpha=0.0); z.zero_(); z.fill_(0.5); z.copy_(y); z.clamp_(-1, 1)
        T.add(x, y, out=z); z.uniform_(); z.normal_()
    """,
    "reductions": """
        x.sum(); x.mean(); x.max(); x.std(); x.norm(); x.argmax(); b.any(); x.logsumexp(0); m.sum(0); m.sum(1)
        m.mean(-1, keepdim=True); m.max(1); m.argmax(1); m.cumsum(1); x.sort(); x.topk(1); m.var(-1, unbiased=False)
        T.count_nonzero(i)
    """,
    "joining and splitting": """
        T.cat([x, y]); T.stack([x, y]); T.cat([m, m], 1); m.chunk(2); m.split(1)[0]; m.repeat(2, 1); m.flip(0)
        m.roll(1, 0)
    """,
    "indexing": """
        x[0]; x[:1]; m[0]; m[:, 0]; m[:1, :1]; x[b]; x[k]; m[r]; m.index_select(0, r); x.gather(0, k)
        z.index_add_(0, k, y); z.scatter_(0, k, y); z.scatter_add_(0, k, y); b.nonzero(); setitem(z, 0, 1.0)
        setitem(z, b, 0.0); T.triu(m)
    """,
    "factories": """
        T.zeros(s); T.ones(s); T.empty(s); T.full((s,), 2.0); T.arange(s); T.linspace(0, 1, s); T.rand(s); T.randn(s)
        T.zeros_like(x); T.ones_like(x); x.new_zeros(s); T.randperm(s); T.from_numpy(a); T.tensor(a)
    """,
    "softmax and losses": """
        F.softmax(m, -1); F.log_softmax(m, -1); F.cross_entropy(m, r); F.nll_loss(m, r); F.mse_loss(x, y)
        F.l1_loss(x, y); F.binary_cross_entropy_with_logits(x, q); F.smooth_l1_loss(x, y); F.one_hot(r, w)
        F.normalize(m, dim=-1); F.kl_div(m, m); F.binary_cross_entropy(q, q); F.cosine_similarity(m, m)
    """,
    "matrices": """
        m @ m; m @ v; v @ v; F.linear(m, m, v); T.addmm(m, m, m); T.outer(v, v); T.bmm(m[None], m[None])
        T.einsum('ij,jk->ik', m, m); T.dot(v, v)
    """,
    "networks": """
        F.layer_norm(m, (w,)); F.embedding(r, m); F.dropout(x, 0.5); F.batch_norm(c, e, d, training=True)
        F.batch_norm(c, e, d); F.pad(x, (1, 1)); F.conv2d(c, f, padding=1); F.max_pool2d(c, 2); F.avg_pool2d(c, 2)
        F.interpolate(c, scale_factor=2); F.scaled_dot_product_attention(h, h, h); F.group_norm(c, 1)
        F.conv1d(c[:, :, 0], f[:, :, 0], padding=1)
    """,
    "gradients": """
        grad(lambda g: (g * g).sum()); grad(lambda g: g.tanh().mean()); grad(lambda g: g.exp().log().sum())
        grad(lambda g: F.mse_loss(g, y)); grad(lambda g: g.view(-1).sum()); grad(lambda g: g.softmax(0).sum())
    """,
}
#: The same for calls whose time does not depend on the size: host reads on one element, the others on 1,000.
ONCE: Final = {
    "views": """
        x.view(-1); x.reshape(-1); m.t(); m.T; m.transpose(0, 1); m.permute(1, 0); x.unsqueeze(0); m.squeeze()
        m.flatten(); x.detach(); m.expand(2, *m.shape); m.view(-1); m.narrow(0, 0, 1); m.select(0, 0); x.view_as(x)
        m.unbind(0)[0]; m.contiguous(); m.t().contiguous(); m.diagonal(); T.atleast_1d(x)
    """,
    "host reads": """
        x.item(); float(x); bool(x); x.tolist(); x.numpy(); x.shape; x.dtype; x.device; x.size(0); x.dim(); x.numel()
        x.stride(); len(x); x.is_contiguous(); x.data_ptr(); x.requires_grad; x.to(T.float32); x.to('cpu'); x.float()
        x.contiguous(); x.cpu(); T.is_tensor(x); i.item(); int(i); x.storage_offset(); x.element_size()
        x.is_floating_point(); T.tensor(1.0); T.tensor([1.0, 2.0]); x.grad
    """,
    "guards": "no_grad(); x.requires_grad_(False); x.detach_()",
}


def _make_inputs(library: Any, count: int) -> dict[str, Any]:
    """Return the names that expressions use, filled alike for both libraries, and for NumPy where ``library`` is that."""
    to_tensor = np.asarray if library is np else library.tensor
    random = np.random.default_rng(0)
    width = math.isqrt(count)
    images = max(1, count // 256)
    floats = {
        "x": random.standard_normal(count),
        "y": random.standard_normal(count),
        "z": random.standard_normal(count),
        "p": random.random(count) + 0.5,
        "q": random.random(count) * 0.9 + 0.05,
        "m": random.standard_normal((width, width)),
        "n": random.standard_normal((width, width)),
        "v": random.standard_normal(width),
        "c": random.standard_normal((1, images, 16, 16) if count > 1 else (1, 1, 2, 2)),
        "f": random.standard_normal((4, images, 3, 3) if count > 1 else (1, 1, 3, 3)),
        "e": np.zeros(images if count > 1 else 1),
        "d": np.ones(images if count > 1 else 1),
        "h": random.standard_normal((1, max(1, count // 4096), min(count, 64), min(count, 64))),
    }
    made: dict[str, Any] = {name: to_tensor(values.astype(np.float32)) for name, values in floats.items()}
    made |= {
        "a": random.standard_normal(count).astype(np.float32),
        "b": to_tensor(random.random(count) > 0.5),
        "i": to_tensor(random.integers(1, 9, count)),
        "k": to_tensor(random.integers(0, count, count)),
        "r": to_tensor(random.integers(0, width, width)),
        "s": count,
        "w": width,
        "T": library,
        "setitem": operator.setitem,
    }
    return names_for_floors(made) if library is np else made | _make_functions(library, floats["x"])


def _make_functions(library: Any, values: Any) -> dict[str, Any]:
    """Return the functions that expressions use."""
    leaf = library.tensor(values.astype(np.float32), requires_grad=True)

    def grad(function: Callable[[Any], Any]) -> None:
        function(leaf).backward()
        leaf.grad = None

    def no_grad() -> None:
        with library.no_grad():
            pass

    return {"F": library.nn.functional, "grad": grad, "no_grad": no_grad}


def _split(text: str) -> list[str]:
    return [call.strip() for line in text.strip().splitlines() for call in line.split(";")]


def _rows(groups: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yield group, size and expression of each row."""
    for group, text in CALLS.items():
        if not groups or group in groups:
            yield from ((group, size, call) for call in _split(text) for size in SIZES)
    for group, text in ONCE.items():
        if not groups or group in groups:
            yield from ((group, SIZES[0] if group == "host reads" else SIZES[1], call) for call in _split(text))


def _prepare(groups: list[str]) -> tuple[list[tuple[str, Measure]], list[str]]:
    """Return the measures with their groups, and the expressions that torchlike cannot evaluate yet."""
    spaces = {size: [_make_inputs(library, size) for library in (torchlike, torch, np)] for size in SIZES}
    measures, missing = [], []
    for group, size, call in _rows(groups):
        *tensors, arrays = spaces[size]
        ours, theirs = (eval(f"lambda: {call}", space) for space in tensors)  # noqa: S307  # the table above
        theirs()
        try:
            ours()
        except (AttributeError, TypeError, RuntimeError) as error:
            missing.append(f"{group}: {call}: {type(error).__name__}: {str(error).splitlines()[0]}")
        else:
            floor = floor_of(call, arrays)
            row = Measure(f"{call}  {size:,}", ours, theirs, floor=floor, dispatch=DISPATCH, group=group)
            measures.append((group, row))
    return measures, missing


def _summarize(groups: list[str], rows: list[Row]) -> str:
    """Return the geometric mean of the ratios of each group, by size too, and of all, and of the multiples of floors."""

    def mean(found: list[Row]) -> str:
        return f"{statistics.geometric_mean(row.ratio for row in found):>8.2f}" if found else " " * 8

    def multiple(found: list[Row]) -> str:
        small = [row.ours / row.floor for row in found if row.floor and not row.name.endswith(f"  {SIZES[-1]:,}")]
        return f"{statistics.geometric_mean(small):>10.2f}{max(small):>8.1f}" if small else ""

    sizes = "".join(f"{size:>9,}" for size in SIZES)
    lines = [f"{'geometric means':<24}{'rows':>5}{'all':>8}{sizes}{'of floor':>11}{'most':>7}  (but for {SIZES[-1]:,})"]
    named = list(zip(groups, rows, strict=True))
    for group, each in [
        *((key, [row for _, row in found]) for key, found in groupby(named, lambda pair: pair[0])),
        ("all", rows),
    ]:
        sizes = ([row for row in each if row.name.endswith(f"  {size:,}")] for size in SIZES)
        lines.append(f"{group:<24}{len(each):>5}{mean(each)} " + " ".join(map(mean, sizes)) + multiple(each))
    return "\n".join(lines)


def main() -> None:
    """Print every row, the rows that cannot run, and the geometric means."""
    options = parser(__doc__, repeats=5)
    options.add_argument("groups", nargs="*", help="groups of rows to measure; all without")
    given = options.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # some calls warn at every size
    measures, missing = _prepare(given.groups)
    rows = []
    for _, batch in groupby(measures, lambda pair: pair[0]):
        rows += run([measure for _, measure in batch], repeats=given.repeats, seconds=0.005)
    print(report(rows, given.json))
    if missing:
        print("\nnot there yet:", *dict.fromkeys(missing), sep="\n  ")
    print()
    print(_summarize([group for group, _ in measures], rows))


if __name__ == "__main__":
    main()
