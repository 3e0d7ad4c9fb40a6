"""Where results of operators lie, beside torch's DTensor: no process is needed to ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, init_device_mesh
from torch.distributed.tensor import Partial as TheirPartial
from torch.distributed.tensor import Replicate as TheirReplicate
from torch.distributed.tensor import Shard as TheirShard
from torch.testing._internal.distributed.fake_pg import FakeStore

import torchlike
from dispatch_aten.collectives import ProcessGroup
from dispatch_aten.placements import DeviceMesh as Mesh
from torchlike.distributed import device_mesh as torchlike_meshes
from torchlike.distributed import placed  # noqa: F401  # importing it lets tensors be parts of others
from torchlike.distributed.tensor import DTensor as OurDTensor
from torchlike.distributed.tensor import Partial, Replicate, Shard

SIZE = 2


class _Fake:
    """Collectives that leave what is there, as torch's fake ones do."""

    def _leave(self, connection: Any, array: Any, *more: Any) -> Any:
        into = more[-1]
        into[...] = 0
        return into

    all_gather = all_reduce = reduce_scatter = broadcast = _leave

    def exchange(self, connection: Any, sends: Any, receives: Any) -> list[Any]:
        return [into for into, _ in receives]


@pytest.fixture(scope="module")
def meshes() -> Iterator[tuple[Any, Any]]:
    import dispatch_core as dc

    dist.init_process_group("fake", rank=0, world_size=SIZE, store=FakeStore())
    ours = torchlike_meshes.as_device_mesh(Mesh("cpu", [*range(SIZE)], rank=0))
    group = ProcessGroup(0, SIZE, store=object())
    group._connections = {dc.Device("cpu", 0): (_Fake(), None)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torchlike_meshes, "_groups_of", lambda root: [group])
        yield init_device_mesh("cpu", (SIZE,)), ours
    dist.destroy_process_group()


_THEIRS = {"R": TheirReplicate(), "P": TheirPartial(), "0": TheirShard(0), "1": TheirShard(1), "2": TheirShard(2)}
_OURS = {"R": Replicate(), "P": Partial(), "0": Shard(0), "1": Shard(1), "2": Shard(2)}

#: A name → the function of a library and tensors, their shapes (a number: indices below it), and how they lie.
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[str]]] = {
    "add": (lambda t, x, y: x + y, [(4, 6), (4, 6)], ["00", "0R", "R0", "RR", "11", "PP", "P0", "PR", "01"]),
    "add_row": (lambda t, x, y: x + y, [(4, 6), (6,)], ["0R", "1R", "10", "R0", "P0"]),
    "add_number": (lambda t, x: x + 1, [(4, 6)], ["0", "1", "R", "P"]),
    "mul": (lambda t, x, y: x * y, [(4, 6), (4, 6)], ["00", "PR", "PP", "RR", "0P"]),
    "mul_number": (lambda t, x: x * 2, [(4, 6)], ["0", "P", "R"]),
    "div_number": (lambda t, x: x / 2, [(4, 6)], ["0", "P", "R"]),
    "neg": (lambda t, x: -x, [(4, 6)], ["0", "P", "R"]),
    "relu": (lambda t, x: x.relu(), [(4, 6)], ["0", "P", "R", "1"]),
    "mm": (lambda t, x, y: t.mm(x, y), [(4, 6), (6, 8)], ["0R", "R1", "10", "RR", "R0", "1R", "PR", "RP"]),
    "bmm": (lambda t, x, y: t.bmm(x, y), [(4, 2, 6), (4, 6, 8)], ["00", "1R", "R2", "21", "RR"]),
    "addmm": (lambda t, b, x, y: t.addmm(b, x, y), [(8,), (4, 6), (6, 8)], ["R0R", "0R1", "R10", "RRR"]),
    "linear": (lambda t, x, w, b: t.nn.functional.linear(x, w, b), [(4, 6), (8, 6), (8,)], ["0RR", "R00", "11R"]),
    "sum": (lambda t, x: x.sum(), [(4, 6)], ["0", "1", "R", "P"]),
    "sum_dim": (lambda t, x: x.sum(1), [(4, 6)], ["0", "1", "R", "P"]),
    "mean": (lambda t, x: x.mean(), [(4, 6)], ["0", "R"]),
    "mean_dim": (lambda t, x: x.mean(0, keepdim=True), [(4, 6)], ["0", "1", "R"]),
    "amax": (lambda t, x: x.amax(1), [(4, 6)], ["0", "1", "R"]),
    "t": (lambda t, x: x.t(), [(4, 6)], ["0", "1", "R", "P"]),
    "permute": (lambda t, x: x.permute(2, 0, 1), [(4, 6, 2)], ["0", "1", "2", "R", "P"]),
    "view_join": (lambda t, x: x.view(8, 6), [(4, 2, 6)], ["0", "2", "R", "P"]),
    "view_part": (lambda t, x: x.view(4, 2, 6), [(8, 6)], ["0", "1", "R", "P"]),
    "unsqueeze": (lambda t, x: x.unsqueeze(1), [(4, 6)], ["0", "1", "R", "P"]),
    "squeeze": (lambda t, x: x.squeeze(1), [(4, 1, 6)], ["0", "2", "R"]),
    "expand": (lambda t, x: x.expand(3, 4, 6), [(4, 6)], ["0", "1", "R"]),
    "select": (lambda t, x: x.select(1, 2), [(4, 6, 2)], ["0", "2", "R"]),
    "slice": (lambda t, x: x[:, 1:4], [(4, 6)], ["0", "R"]),
    "cat": (lambda t, x, y: t.cat([x, y], 1), [(4, 6), (4, 6)], ["00", "RR"]),
    "stack": (lambda t, x, y: t.stack([x, y], 1), [(4, 6), (4, 6)], ["00", "11", "RR"]),
    "softmax": (lambda t, x: x.softmax(1), [(4, 6)], ["0", "R"]),
    "layer_norm": (lambda t, x, w, b: t.nn.functional.layer_norm(x, (6,), w, b), [(4, 6), (6,), (6,)], ["0RR", "RRR"]),
    "embedding": (lambda t, i, w: t.nn.functional.embedding(i, w), [8, (8, 6)], ["0R", "RR", "R1"]),
    "clone": (lambda t, x: x.clone(), [(4, 6)], ["0", "R", "P"]),
    "zeros_like": (lambda t, x: t.zeros_like(x), [(4, 6)], ["0", "R"]),
    "inplace": (lambda t, x, y: x.mul_(y), [(4, 6), (4, 6)], ["00", "0R", "PR", "RR"]),
    "gelu": (lambda t, x: t.nn.functional.gelu(x), [(4, 6)], ["0", "P", "R"]),
    "where": (lambda t, x, y: t.where(x > 0, x, y), [(4, 6), (4, 6)], ["00", "RR", "0R"]),
}
#: Where ours are others: a whole term is no part of a sum that each process has, and a copy of numbers to be summed is one.
OTHERS = {("add", "PR"): "R", ("clone", "P"): "P(sum)"}


def _part(shape: Any, letter: str) -> list[int]:
    made = [*shape]
    if letter.isdigit():
        made[int(letter)] //= SIZE
    return made


@pytest.mark.parametrize("name", CASES)
def test_results_lie_where_torchs_do(name: str, meshes: tuple[Any, Any]) -> None:
    function, shapes, ways = CASES[name]
    theirs_mesh, ours_mesh = meshes
    for way in ways:
        theirs, ours = [], []
        for shape, letter in zip(shapes, way, strict=True):
            size = (4, 6) if isinstance(shape, int) else shape
            local = np.ones(_part(size, letter), np.int64 if isinstance(shape, int) else np.float32)
            theirs.append(
                DTensor.from_local(
                    torch.from_numpy(local),
                    theirs_mesh,
                    [_THEIRS[letter]],
                    run_check=False,
                    shape=size,
                    stride=torch.empty(size).stride(),
                )
            )
            ours.append(OurDTensor.from_local(torchlike.from_numpy(local), ours_mesh, [_OURS[letter]], shape=size))
        expected = function(torch, *theirs)
        found = function(torchlike, *ours)
        spec = found._dispatch_data.spec
        wanted = OTHERS.get((name, way), str(expected.placements[0]))
        assert str(spec.placements[0]) == wanted, (way, expected.placements)
        assert tuple(found.shape) == tuple(expected.shape)
        assert spec.local_size == tuple(found._dispatch_data.local.shape)
