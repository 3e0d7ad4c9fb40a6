"""What processes do together, and tell: ``python process_programs.py FOLDER NAME...`` is one of several.

Each function is called in all processes, and returns what JSON has; ``FOLDER/RANK`` gets all of it, under the names.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

import torchlike as torch
from torchlike import distributed as dist

DTYPES = (
    "float16 bfloat16 float32 float64 int8 uint8 int16 int32 int64 uint16 uint32 uint64 bool complex64 complex128"
).split()
REDUCTIONS = ("sum", "avg", "product", "min", "max")
TIMEOUT = float(os.environ.get("TEST_TIMEOUT", "30"))


def make(dtype, shape, rank):
    """Return a rank's numbers, small enough for sums and products of three of them to be exact."""
    drawn = np.random.default_rng(100 * len(shape) + rank).integers(-3, 4, shape)
    if dtype == "bool":
        return drawn > 0
    if dtype.startswith("u"):
        return np.abs(drawn).astype(dtype)
    if dtype.startswith("complex"):
        return (drawn + 1j * drawn[::-1]).astype(dtype)
    return drawn / 2 if "float" in dtype else drawn.astype(dtype)


def tensor(dtype, array):
    return torch.as_tensor(array).to(getattr(torch, dtype))


def numbers(each):
    return (each.double() if each.is_floating_point() else each).numpy()


def combine(op, arrays):
    stacked = np.stack(arrays)
    if stacked.dtype.kind == "b":
        return stacked.any(0) if op in ("sum", "max") else stacked.all(0)
    if op == "avg":
        return stacked.sum(0) / len(arrays)
    return {"sum": np.sum, "product": np.prod, "min": np.min, "max": np.max}[op](stacked, axis=0).astype(stacked.dtype)


def reductions():
    """Return the calls whose results are not NumPy's, and those that are refused."""
    wrong, refused, rank, size = [], [], dist.get_rank(), dist.get_world_size()
    for dtype in DTYPES:
        for op in REDUCTIONS:
            for shape in ((2 * size, 3), (size, 0), (size,)):
                arrays = [make(dtype, shape, each) for each in range(size)]
                expected, given = combine(op, arrays), tensor(dtype, arrays[rank])
                try:
                    found, part, root = given.clone(), given[:: size or 1][: shape[0] // size].clone(), given.clone()
                    dist.all_reduce(found, op)
                    dist.reduce_scatter_tensor(part, given, op)
                    dist.reduce(root, 1, op)
                except (TypeError, RuntimeError) as error:
                    refused.append([dtype, op, type(error).__name__])
                    continue
                kept = expected if rank == 1 else arrays[rank]
                for name, made, wanted in (
                    ("all_reduce", found, expected),
                    ("reduce_scatter", part, np.split(expected, size)[rank]),
                    ("reduce", root, kept),
                ):
                    exact = "avg" not in op
                    tolerance = 0 if exact else {"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
                    if not np.allclose(numbers(made), wanted, rtol=tolerance, atol=0):
                        wrong.append([dtype, op, name, list(shape)])
    return {"wrong": wrong, "refused": sorted(map(list, {tuple(each) for each in refused}))}


def moves():
    """Return the calls that move numbers wrongly."""
    wrong, rank, size = [], dist.get_rank(), dist.get_world_size()
    for dtype in DTYPES:
        arrays = [make(dtype, (size, 3), each) for each in range(size)]
        given = [tensor(dtype, each) for each in arrays]
        own = given[rank]

        def check(name, found, wanted, dtype=dtype):
            if not torch.equal(found, wanted):
                wrong.append([dtype, name])

        sent = own.clone()
        dist.broadcast(sent, 1)
        check("broadcast", sent, given[1])
        listed = [torch.zeros_like(own) for _ in range(size)]
        dist.all_gather(listed, own)
        check("all_gather", torch.stack(listed), torch.stack(given))
        behind = torch.zeros_like(torch.cat(given))
        dist.all_gather_into_tensor(behind, own)
        check("all_gather_into_tensor", behind, torch.cat(given))
        into = own[0].clone()
        dist.scatter(into, list(given[1]) if rank == 1 else None, src=1)
        check("scatter", into, given[1][rank])
        taken = [torch.zeros_like(own) for _ in range(size)]
        dist.gather(own, taken if rank == 0 else None, dst=0)
        if rank == 0:
            check("gather", torch.stack(taken), torch.stack(given))
        swapped = torch.zeros_like(own)
        dist.all_to_all_single(swapped, own)
        check("all_to_all_single", swapped, torch.stack([each[rank] for each in given]))
        strided = torch.zeros(3, size).to(own.dtype).t()
        strided.copy_(own)
        dist.broadcast(strided, 0)
        check("broadcast of strides", strided, given[0])
        if rank == 0:
            dist.send(own, 1)
        elif rank == 1:
            received = torch.zeros_like(own)
            assert dist.recv(received, 0) == 0
            check("recv", received, given[0])
        around = torch.zeros_like(own)
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, own, (rank + 1) % size), dist.P2POp(dist.irecv, around, (rank - 1) % size)]
        )
        for each in works:
            each.wait()
        check("batch_isend_irecv", around, given[rank - 1])
    return wrong


def groups():
    """Return sums within groups of some ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    pair, alone, backwards = dist.new_group([0, 1]), dist.new_group([size - 1]), dist.new_group(range(size))
    found = []
    for group, members in ((pair, [0, 1]), (alone, [size - 1]), (backwards, range(size))):
        x = torch.ones(2) * (rank + 1)
        if rank in members:
            dist.all_reduce(x, group=group)
            found.append(x.tolist() == [sum(each + 1 for each in members)] * 2)
            y = torch.tensor([rank])
            dist.broadcast(y, members[-1], group=group)
            found.append(y.item() == members[-1])
        else:
            found.append(dist.get_rank(group) == -1)
    return found


def asynchronous():
    """Return whether collectives that were started give, in each order of waiting, what they must."""
    rank, size = dist.get_rank(), dist.get_world_size()
    xs = [torch.full((1000,), float(rank + each)) for each in range(4)]
    works = [dist.all_reduce(each, async_op=True) for each in xs]
    works[3].wait()
    for each in works[:3]:
        each.wait(20)
    total = size * (size - 1) / 2
    found = [x.tolist() == [total + size * each] * 1000 for each, x in enumerate(xs)]
    half = torch.full((3,), rank + 1, dtype=torch.bfloat16)
    work = dist.all_reduce(half, "avg", async_op=True)
    while not work.is_completed():
        time.sleep(0.001)
    return [*found, half.tolist() == [(size + 1) / 2] * 3, work.is_success(), work.result()[0] is half]


def objects():
    """Return whether objects arrive."""
    rank, size = dist.get_rank(), dist.get_world_size()
    own, found = {"rank": rank, "data": list(range(rank * 5))}, []
    everyone = [{"rank": each, "data": list(range(each * 5))} for each in range(size)]
    listed = [None] * size
    dist.all_gather_object(listed, own)
    found.append(listed == everyone)
    sent = [own, "text"] if rank == 1 else [None, None]
    dist.broadcast_object_list(sent, src=1)
    found.append(sent == [everyone[1], "text"])
    taken = [None] * size if rank == 0 else None
    dist.gather_object(own, taken, dst=0)
    found.append(taken == (everyone if rank == 0 else None))
    into = [None]
    dist.scatter_object_list(into, everyone if rank == 0 else None, src=0)
    found.append(into == [own])
    dist.monitored_barrier(timeout=10)
    return found


def barriers():
    """Return whether no process leaves a barrier before the last has come."""
    time.sleep(0.2 * dist.get_rank())
    came = time.time()
    dist.barrier()
    left, times = time.time(), [torch.zeros(1, dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(times, torch.tensor([came], dtype=torch.float64))
    return max(each.item() for each in times) <= left + 0.01


def gradients():
    """Return the programs of `gradient_programs` in which torchlike gives something else than torch, where that is there."""
    import datetime as dt
    from importlib.util import find_spec

    import gradient_programs

    rank, folder = dist.get_rank(), os.environ["TEST_FOLDER"]
    own = {each.__name__: each(torch, rank) for each in gradient_programs.PROGRAMS}
    if not find_spec("torch"):
        return []
    import torch as theirs

    theirs.distributed.init_process_group(
        "gloo", f"file://{folder}/torch", dt.timedelta(seconds=TIMEOUT), dist.get_world_size(), rank
    )
    wrong = []
    for each in gradient_programs.PROGRAMS:
        pairs = list(zip(own[each.__name__], each(theirs, rank), strict=True))
        if any((a is None) != (b is None) or (a is not None and not np.allclose(a, b, 1e-4, 1e-4)) for a, b in pairs):
            wrong.append(each.__name__)
    theirs.distributed.destroy_process_group()
    return wrong


def stores():
    """Return whether a store in a file, in which processes meet, and parts of the group's do as they must."""
    rank, size, folder = dist.get_rank(), dist.get_world_size(), os.environ["TEST_FOLDER"]
    store = dist.FileStore(f"{folder}/store", size)
    store.enter(rank)
    total = store.add("count", rank + 1)
    store.set(f"{rank}", f"{total}")
    found = [max(int(each) for each in store.multi_get([f"{each}" for each in range(size)])) == size * (size + 1) // 2]
    part = dist.PrefixStore("part", dist.group.WORLD.get_group_store())
    part.append(f"{rank}", "a")
    part.append(f"{rank}", "b")
    found.append(part.get(f"{(rank + 1) % size}") in (b"a", b"ab"))
    store.wait(["0", "1"])
    dist.barrier()
    store.close()
    dist.barrier()
    return [*found, not Path(folder, "store").exists()]


def lists_and_methods():
    """Return whether collectives of lists, methods of groups, sub-groups and bits do as they must."""
    rank, size = dist.get_rank(), dist.get_world_size()
    world = dist.group.WORLD
    tensors = [torch.ones(2) * rank, torch.ones(1)]
    dist.all_reduce_coalesced(tensors)
    found = [[each.tolist() for each in tensors] == [[size * (size - 1) / 2] * 2, [size]]]
    lists = [[torch.zeros(2), torch.zeros(1)] for _ in range(size)]
    dist.all_gather_coalesced(lists, [torch.full((2,), rank), torch.full((1,), -rank)])
    found.append([each[1].item() for each in lists] == [-each for each in range(size)])
    options, x = dist.BroadcastOptions(), torch.tensor([rank])
    options.rootRank = 1
    world.broadcast([x], options).wait()
    found += [x.item() == 1, (world.rank(), world.size()) == (rank, size)]
    own, made = dist.new_subgroups(1)
    found += [dist.get_process_group_ranks(own) == [rank], len(made) == size, dist.get_global_rank(own, 0) == rank]
    bits = torch.tensor([1 << rank])
    dist.all_reduce(bits, dist.ReduceOp.BOR)
    found.append(bits.item() == (1 << size) - 1)
    if rank == 0:
        dist.send_object_list([{"a": 1}, "b"], 1)
    elif rank == 1:
        into = [None, None]
        dist.recv_object_list(into, 0)
        found.append(into == [{"a": 1}, "b"])
    return found


def kill_one():
    """End at a drawn place without a word where this is the chosen rank; else return the error that comes."""
    victim, after = int(os.environ["TEST_VICTIM"]), int(os.environ["TEST_AFTER"])
    x = torch.ones(1000)
    for step in range(1000):
        if dist.get_rank() == victim and step == after:
            os.kill(os.getpid(), 9)
        started = time.time()
        try:
            (dist.all_reduce if step % 3 else dist.broadcast)(x, *([] if step % 3 else [0]))
            if step % 5 == 0:
                dist.barrier()
        except RuntimeError as error:
            found = [type(error).__name__, list(getattr(error, "ranks", [])), time.time() - started]
            time.sleep(3)  # the others look for ranks that are gone, and would find this one
            return found
    return None


def late():
    """Return the error of a process that waits for one that comes too late."""
    dist.all_reduce(torch.ones(2))
    if dist.get_rank() == 0:
        try:
            dist.all_reduce(torch.ones(2))
        except RuntimeError as error:
            return type(error).__name__
        return None
    time.sleep(TIMEOUT * 2)
    return "late"


def main(folder, *names):
    dist.init_process_group(os.environ.get("TEST_BACKEND"), timeout=TIMEOUT)
    rank = dist.get_rank()
    path, found = Path(folder, str(rank)), {}
    for each in names:
        found[each] = (globals().get(each) or getattr(__import__("parallel_programs"), each))()
        path.write_text(json.dumps(found), encoding="utf-8")
    if names[0] not in ("kill_one", "late"):
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
