"""What ranks do with collectives, and tell: each function is run by all ranks of a group, and returns what JSON has.

``torch`` is torchlike, ``ops`` the namespace ``dispatch`` of the operators. The numbers are compared with NumPy's there.
"""

import numpy as np

DTYPES = "float16 bfloat16 float32 int8 uint8 int16 int32 int64 bool complex64".split()
MOVED = [*DTYPES, "float64", "complex128", "uint16", "uint32", "uint64"]
REDUCTIONS = ("sum", "avg", "product", "min", "max")
#: Reductions that are refused by name, for each dtype.
REFUSED = {
    "bfloat16": {"product"},
    "int16": {"product", "avg"},
    "complex64": {"product", "min", "max"},
    **{dtype: {"avg"} for dtype in ("int8", "uint8", "int32", "int64", "bool")},
}


def make(dtype, shape, rank):
    """Return a rank's numbers, small enough for sums and products of four of them, as NumPy's float64 or their own dtype."""
    drawn = np.random.default_rng(100 * len(shape) + rank).integers(-3, 4, shape)
    if dtype == "bool":
        return drawn > 0
    if dtype.startswith("u"):
        return np.abs(drawn).astype(dtype)
    if dtype.startswith("complex"):
        return (drawn + 1j * drawn[::-1]).astype(dtype)
    if dtype == "bfloat16":
        return (drawn / 2).astype("float32")
    return (drawn / 2 if dtype.startswith("float") else drawn).astype(dtype)


def to_device(torch, array, dtype):
    return torch.as_tensor(array).to(getattr(torch, dtype)).to("npu")


def to_host(torch, tensor):
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).cpu().numpy()


def combine(op, arrays):
    dtype = arrays[0].dtype
    stacked = np.stack(arrays)
    if dtype.kind == "b":
        return stacked.any(0) if op in ("sum", "max") else stacked.all(0)
    if op == "avg":
        return stacked.sum(0) / len(arrays)
    return {"sum": np.sum, "product": np.prod, "min": np.min, "max": np.max}[op](stacked, axis=0).astype(dtype)


def reductions(torch, ops, group):
    """Return the calls whose results differ from NumPy's, and the refused ones."""
    from dispatch_aten.errors import DtypeError

    wrong, refused, size = [], {}, group.size
    for dtype in DTYPES:
        for op in REDUCTIONS:
            for shape in ((2 * size, 3), (size, 0), ()):
                arrays = [make(dtype, shape or (1,), rank).reshape(shape) for rank in range(size)]
                expected = combine(op, arrays)
                x = to_device(torch, arrays[group.rank], dtype)
                try:
                    found = ops.all_reduce(x, op, group)
                    inplace = to_device(torch, arrays[group.rank], dtype)
                    same = ops.all_reduce_(inplace, op, group) is inplace
                except DtypeError as error:
                    refused.setdefault(dtype, {})[op] = str(error)
                    continue
                pairs = [("all_reduce", found, expected), ("all_reduce_", inplace, expected)]
                if shape:
                    part = np.split(expected, size)[group.rank]
                    pairs.append(("reduce_scatter", ops.reduce_scatter(x, op, group), part))
                    out = torch.empty(part.shape, dtype=x.dtype, device="npu")
                    ops.reduce_scatter.out(x, op, group, out=out)
                    pairs.append(("reduce_scatter.out", out, part))
                for name, made, want in pairs:
                    got = to_host(torch, made)
                    if got.shape != want.shape or not np.allclose(got, want, 1e-3) or not same:
                        wrong.append([name, dtype, op, shape, got.tolist(), want.tolist()])
    return {"wrong": wrong, "refused": refused}


def moves(torch, ops, group):
    wrong, size = [], group.size
    for dtype in MOVED:
        for shape in ((2, 3), (1, 0), ()):
            arrays = [make(dtype, shape or (1,), rank).reshape(shape) for rank in range(size)]
            x = to_device(torch, arrays[group.rank], dtype)
            whole = np.concatenate([each if shape else each.reshape(1) for each in arrays])
            out = torch.empty((size, *shape), dtype=x.dtype, device="npu")
            pairs = [
                ("all_gather", ops.all_gather(x, group), whole),
                ("all_gather.out", ops.all_gather.out(x, group, out=out), np.stack(arrays)),
                ("broadcast", ops.broadcast(x, size - 1, group), arrays[-1]),
                ("broadcast_", ops.broadcast_(to_device(torch, arrays[group.rank], dtype), 0, group), arrays[0]),
            ]
            around = torch.empty_like(x)
            ops.exchange([x], [(group.rank + 1) % size], [around], [(group.rank - 1) % size], group)
            pairs.append(("exchange", around, arrays[group.rank - 1]))
            for name, made, want in pairs:
                got = to_host(torch, made)
                if got.shape != want.shape or not (got == want).all():
                    wrong.append([name, dtype, shape, got.tolist(), want.tolist()])
    return wrong


def views(torch, ops, group):
    """Return whether arrays with gaps, in another order and behind an offset, come and go."""
    size, rank = group.size, group.rank
    base = torch.arange(24.0).reshape(4, 6) + rank
    total = sum(np.arange(24.0).reshape(4, 6) + each for each in range(size))
    x = base.to("npu")
    found = [np.array_equal(to_host(torch, ops.all_reduce(x.t(), "sum", group)), total.T)]
    column = x[:, 1::2]
    ops.all_reduce_(column, "sum", group)
    found.append(np.array_equal(to_host(torch, x)[:, 1::2], total[:, 1::2]))
    found.append(np.array_equal(to_host(torch, x)[:, ::2], base.numpy()[:, ::2]))
    y = torch.zeros(6, 4, device="npu")
    ops.exchange([base.to("npu")], [(rank + 1) % size], [y.t()], [(rank - 1) % size], group)
    found.append(np.array_equal(to_host(torch, y.t()), np.arange(24.0).reshape(4, 6) + (rank - 1) % size))
    part = np.arange(24.0).reshape(4, 6)[1:3, 2:4]
    gathered = np.concatenate([part + each for each in range(size)])
    found.append(np.array_equal(to_host(torch, ops.all_gather(base.to("npu")[1:3, 2:4], group)), gathered))
    into = torch.zeros(2, 2 * size, device="npu").t()
    ops.all_gather.out(base.to("npu")[1:3, 2:4], group, out=into)
    found.append(np.array_equal(to_host(torch, into), gathered))
    return found


def messages(torch, ops, group):
    x = torch.arange(5, device="npu") if group.rank == 0 else torch.zeros(5, dtype=torch.int64, device="npu")
    if group.rank == 0:
        ops.send(x, 1, group)
        ops.recv_(x, 1, group)
    else:
        ops.recv_(x, 0, group)
        ops.send(x * 10, 0, group)
    other = 1 - group.rank
    taken = [torch.zeros(2, device="npu"), torch.zeros(3, device="npu")]
    given = [torch.full((2,), float(group.rank), device="npu"), torch.full((3,), 5.0 + group.rank, device="npu")]
    ops.exchange(given, [other, other], taken, [other, other], group)
    return [x.tolist(), [each.tolist() for each in taken]]


def refusals(torch, ops, group):
    """Return the errors of calls that are refused before anything is touched, and the functions that were called."""
    from dispatch_backend_npu.simulator import Simulator

    ops.all_reduce(torch.ones(1, device="npu"), "sum", group)
    torch.npu.synchronize()
    Simulator().reset()
    x = torch.ones(3, 2, device="npu")
    whole = x.int()
    calls = {
        "uneven": lambda: ops.reduce_scatter(x, "sum", group),
        "scalar": lambda: ops.reduce_scatter(x[0, 0], "sum", group),
        "reduction": lambda: ops.all_reduce(x, "xor", group),
        "average": lambda: ops.all_reduce_(whole, "avg", group),
        "double": lambda: ops.all_reduce_(x.double(), "sum", group),
        "complex": lambda: ops.all_reduce(torch.ones(1, dtype=torch.complex64).to("npu"), "max", group),
        "root": lambda: ops.broadcast_(x, 2, group),
        "itself": lambda: ops.send(x, group.rank, group),
        "group": lambda: ops.all_reduce(x, "sum", "world"),
        "out": lambda: ops.all_gather.out(x, group, out=torch.ones(5, device="npu")),
        "out of another dtype": lambda: ops.all_gather.out(x, group, out=torch.ones(6, 2).int().to("npu")),
    }
    errors = {}
    for name, call in calls.items():
        try:
            call()
        except Exception as error:  # noqa: BLE001  # its class is what a test asks for
            errors[name] = [type(error).__name__, str(error)]
    return [errors, [name for name in Simulator().log() if name.startswith("Hccl")], x.tolist()]


def streams(torch, ops, group):
    """Return values of collectives on side streams, ordered by events, whether and when they are done."""
    x = torch.full((1000,), 1.0 + group.rank, device="npu")
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        y = ops.all_reduce(x * 2, "sum", group)
        done = side.record_event()
    for _ in range(3):  # memory that is given up may not be used before the collective has read it
        x = ops.all_reduce(x, "sum", group)
        del y
        y = torch.zeros(1000, device="npu")
    torch.npu.current_stream().wait_event(done)
    return [x[:2].tolist(), y[:2].tolist(), done.query()]


def progress(torch, ops, group):
    """Return a sum that one rank waits for, while the other waits for a word of that one by the store."""
    found = ops.all_reduce(torch.ones(1, device="npu"), "sum", group)
    if group.rank:
        group.store.wait(["go on"], 20)
        return found.item()
    value = found.item()
    group.store.set("go on", "")
    return value


def gradients(torch, ops, group):
    """Return the greatest difference of parameters after steps on parts of a batch, and on all of it in one process."""
    from torchlike import nn

    def build():
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)).to("npu")
        return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(model, optimizer, x, y, mean):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        for each in model.parameters():
            mean(each.grad)
        optimizer.step()

    generator = torch.Generator().manual_seed(1)
    x, y = torch.rand(8, 6, generator=generator).to("npu"), torch.rand(8, 3, generator=generator).to("npu")
    alone, parts = build(), build()
    part = slice(4 * group.rank, 4 * group.rank + 4)
    for _ in range(3):
        step(*alone, x, y, lambda grad: None)
        step(*parts, x[part], y[part], lambda grad: ops.all_reduce_(grad, "avg", group))
    pairs = zip(alone[0].parameters(), parts[0].parameters(), strict=True)
    worst = max((a - b).abs().max().item() for a, b in pairs)
    # Weights that each rank has a part of, gathered in the forward pass; the gradient is scattered.
    whole = torch.rand(4, 6, generator=generator).to("npu")
    mine = whole[2 * group.rank : 2 * group.rank + 2].clone().requires_grad_()
    full = whole.clone().requires_grad_()
    (ops.all_gather(mine, group) @ x.t()).pow(2).mean().backward()
    (full @ x.t()).pow(2).mean().backward()
    expected = full.grad[2 * group.rank : 2 * group.rank + 2] * group.size
    scattered = (mine.grad - expected).abs().max().item()
    z = torch.full((2, 2), 1.0 + group.rank, device="npu", requires_grad=True)
    (ops.reduce_scatter(z, "avg", group) * (group.rank + 1)).sum().backward()
    b = torch.ones(2, device="npu", requires_grad=True)
    (ops.broadcast(b, 1, group) * (group.rank + 1)).sum().backward()
    r = torch.ones(2, device="npu", requires_grad=True)
    (ops.all_reduce(r, "sum", group) * (group.rank + 1)).sum().backward()
    return [worst, scattered, z.grad.tolist(), b.grad.tolist(), r.grad.tolist()]


def record_calls(torch, ops, group):
    """Return values of collectives among recorded calls, and the counts of those that ran at once."""
    x = torch.full((3,), 1.0 + group.rank, device="npu")
    with torch.pipeline() as pipe:
        y = x * 2
        before = y + 1
        ops.all_reduce_(y, "sum", group)
        if group.rank:
            unread = ops.all_reduce(y * 3, "sum", group)
        else:
            z = ops.all_reduce(y * 3, "sum", group) + 1
        found = [before.tolist(), y.tolist()]
        eager = {" ".join(key): count for key, count in pipe.stats().eager.items()}
    del before
    found.append(unread.tolist() if group.rank else z.tolist())

    @torch.capture
    def step(x):
        return ops.all_reduce(x + 1, "sum", group)

    found.append([step(x + each).tolist() for each in range(5)])
    return [found, eager, step.stats().replays]


def asynchronous(torch, ops, group):
    """Return what programs of torch.distributed see."""
    from torchlike import distributed

    port = int(group.store.get("port"))
    distributed.init_process_group(
        "hccl", init_method=f"tcp://127.0.0.1:{port}", rank=group.rank, world_size=2, timeout=20
    )
    rank, other = distributed.get_rank(), 1 - distributed.get_rank()
    x = torch.full((2,), 1.0 + rank, device="npu")
    works = [distributed.all_reduce(x, async_op=True)]
    gathered = torch.zeros(4, device="npu")
    works.append(distributed.all_gather_into_tensor(gathered, torch.ones(2, device="npu") * rank, async_op=True))
    works[0].wait()
    y = x * 2
    works[1].wait(timeout=10)
    listed = [torch.zeros(1, device="npu") for _ in range(2)]
    distributed.all_gather(listed, torch.ones(1, device="npu") * rank)
    received = torch.zeros(2, device="npu")
    batch = [distributed.P2POp(distributed.isend, y, other), distributed.P2POp(distributed.irecv, received, other)]
    for work in distributed.batch_isend_irecv(batch):
        work.wait()
    part = torch.zeros(1, device="npu")
    distributed.reduce_scatter_tensor(part, y, op=distributed.ReduceOp.MAX)
    if rank == 0:
        distributed.send(part, 1)
    else:
        assert distributed.recv(part, 0) == 0
    distributed.broadcast(part, src=1)
    distributed.reduce(y, dst=0)
    parts, whole = [torch.zeros(1, device="npu") for _ in range(2)], torch.zeros(2 + 2 * rank, device="npu")
    distributed.all_to_all(parts, [torch.full((1,), 10.0 * rank + each, device="npu") for each in range(2)])
    distributed.all_to_all_single(whole, torch.arange(3, device="npu").float() + 10 * rank, [1 + rank] * 2, [1, 2])
    scattered = torch.zeros(1, device="npu")
    distributed.scatter(scattered, parts if rank else None, src=1)
    listed_at_0 = [torch.zeros(1, device="npu") for _ in range(2)] if rank == 0 else None
    distributed.gather(scattered + rank, listed_at_0)
    swaps = [[each.item() for each in parts], whole.tolist(), scattered.item()]
    swaps.append(rank == 0 and [each.item() for each in listed_at_0])
    alone = distributed.new_group([1])
    z = torch.ones(1, device="npu")
    if rank == 1:
        distributed.all_reduce(z, group=alone)
    sizes = [distributed.get_world_size(), distributed.get_world_size(alone), distributed.get_rank(alone)]
    distributed.barrier()
    found = [each.tolist() for each in (x, y, gathered, *listed, received, part, z)]
    found += [swaps, sizes, distributed.is_available(), distributed.get_backend(), works[0].is_completed()]
    distributed.destroy_process_group()
    return [*found, distributed.is_initialized(), distributed.group.WORLD]
