"""Training in processes, which must be that of one: each function is called in all of them, and returns what JSON has."""

import numpy as np

import torchlike as torch
from torchlike import distributed as dist
from torchlike import nn
from torchlike.nn.parallel import DistributedDataParallel
from torchlike.utils.data import DataLoader, DistributedSampler, TensorDataset

STEPS = 20
OPTIMIZERS = {"sgd": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}), "adam": (torch.optim.Adam, {"lr": 0.01})}


def build(dtype, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 10)).to(dtype)


def batches(dtype, size=12):
    drawn = np.random.default_rng(1)
    for _ in range(STEPS):
        yield torch.tensor(drawn.normal(size=(size, 6))).to(dtype), torch.tensor(drawn.integers(0, 10, size))


def learn(net, name, dtype, part=slice(None)):
    make, options = OPTIMIZERS[name]
    optimizer = make(net.parameters(), **options)
    for x, y in batches(dtype):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[part]), y[part]).backward()
        optimizer.step()
    return net


def _difference(left, right):
    return max((a - b).abs().max().item() for a, b in zip(left, right, strict=True))


def ddp():
    """Return the greatest differences between training in all processes and in one."""
    rank, size, found = dist.get_rank(), dist.get_world_size(), {}
    for dtype in (torch.float32, torch.float64):
        for name in OPTIMIZERS:
            alone = learn(build(dtype), name, dtype)
            # Each begins elsewhere, and gets what rank 0 has; small buckets are several.
            net = DistributedDataParallel(build(dtype, seed=rank), bucket_cap_mb=0.0005)
            learn(net, name, dtype, slice(rank, None, size))
            found[f"{name} {dtype}"] = _difference(alone.parameters(), net.module.parameters())
    return found


class Branches(nn.Module):
    """A module with a part that each process chooses, and one that none uses."""

    def __init__(self):
        super().__init__()
        self.first, self.parts = nn.Linear(2, 2), nn.ModuleList(nn.Linear(2, 1) for _ in range(3))

    def forward(self, x, part):
        return self.parts[part](self.first(x))


def leave_out():
    """Return the gradients of a module with unused parts, and the error without ``find_unused_parameters``."""
    rank = min(dist.get_rank(), 1)
    net = DistributedDataParallel(Branches(), find_unused_parameters=True)
    net(torch.ones(1, 2), rank).sum().backward()
    grads = [None if each.bias.grad is None else each.bias.grad.tolist() for each in net.module.parts]
    strict = DistributedDataParallel(Branches())
    strict(torch.ones(1, 2), 0).sum().backward()
    try:
        strict(torch.ones(1, 2), 0)
    except RuntimeError as error:
        return grads, str(error)
    return grads, None


def synchronize():
    """Return whether buffers, `no_sync` and tied weights do as they must."""
    rank, size = dist.get_rank(), dist.get_world_size()
    net = DistributedDataParallel(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    for step in range(3):
        net(torch.ones(4, 2) * (rank + step)).sum().backward()
    kept = net.module[1].running_mean.clone()
    with torch.no_grad():
        net(torch.ones(4, 2))  # rank 0's buffers come first
    after = [torch.zeros(3) for _ in range(size)]
    dist.all_gather(after, net.module[1].running_mean)
    found = [all(torch.equal(each, after[0]) for each in after), not torch.equal(kept, after[0])]
    plain = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with plain.no_sync():
        plain(torch.ones(1, 1) * (rank + 1)).sum().backward()
    found.append(plain.module.weight.grad.item() == rank + 1)
    plain(torch.ones(1, 1) * (rank + 1)).sum().backward()
    found.append(plain.module.weight.grad.item() == size + 1)  # twice the mean of 1 to size
    tied = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    tied[1].weight = tied[0].weight
    whole = nn.Sequential(*tied)
    net = DistributedDataParallel(tied)
    x = torch.ones(1, 2) * (rank + 1)
    net(x).sum().backward()
    grads = [torch.zeros(2, 2) for _ in range(size)]
    dist.all_gather(grads, torch.autograd.grad(whole(x).sum(), whole[0].weight)[0])
    found.append(torch.allclose(tied[0].weight.grad, sum(grads) / size))
    return found


def replicate_module():
    """Return whether `replicate` averages gradients of the module itself."""
    from torchlike.distributed._composable import replicate

    rank, size = dist.get_rank(), dist.get_world_size()
    net = replicate(nn.Linear(1, 1, bias=False))
    net(torch.ones(1, 1) * (rank + 1)).sum().backward()
    return [list(net.state_dict()), net.weight.grad.item() == (size + 1) / 2]


def sample():
    """Return the difference of an epoch with `DistributedSampler` from one of one process."""
    data = TensorDataset(torch.arange(24.0).reshape(12, 2) / 24, torch.arange(12) % 10)
    sampler = DistributedSampler(data, shuffle=False)
    return sorted(int(each) for _, y in DataLoader(data, batch_size=2, sampler=sampler) for each in y)


def other_parameters():
    """Return the error of processes whose modules differ."""
    try:
        DistributedDataParallel(nn.Linear(2, 2 + dist.get_rank()))
    except RuntimeError as error:
        return str(error)
    return None


def shard():
    """Return the greatest differences between training with `fully_shard` and in one process, and what lies here."""
    from torchlike.distributed.fsdp import fully_shard

    rank, size, found = dist.get_rank(), dist.get_world_size(), {}
    for dtype in (torch.float32, torch.float64):
        for name in OPTIMIZERS:
            alone, net = learn(build(dtype), name, dtype), build(dtype)
            fully_shard(net[0])
            fully_shard(net)
            learn(net, name, dtype, slice(rank, None, size))
            wholes = [each.full_tensor() for each in net.parameters()]
            found[f"{name} {dtype}"] = _difference(alone.parameters(), wholes)
    alone, net = learn(build(dtype), name, dtype), build(dtype)
    fully_shard(net[0])
    fully_shard(net)
    net.set_modules_to_forward_prefetch([net[0]])

    def gather(module, _):
        for each in (module, module[0]):
            each.unshard()

    net.register_forward_pre_hook(gather, prepend=True)
    learn(net, name, dtype, slice(rank, None, size))
    net[0].unshard()
    found["gathered by the program 64"] = _difference(
        alone.parameters(), [each.full_tensor() for each in net.state_dict().values()]
    )
    alone, accumulated = build(torch.float64), build(torch.float64)
    fully_shard(accumulated)
    for number, (x, y) in zip(range(3), batches(torch.float64), strict=False):
        accumulated.set_requires_gradient_sync(number == 2)
        nn.functional.cross_entropy(alone(x), y).backward()
        nn.functional.cross_entropy(accumulated(x[rank::size]), y[rank::size]).backward()
        assert (accumulated[0].bias.grad is None) == (number < 2)
    wanted, grads = ([each.grad for each in one.parameters()] for one in (alone, accumulated))
    found["accumulated 64"] = _difference(wanted, [each.full_tensor() for each in grads])
    return found, list(net[0].weight.to_local().shape)


def save_and_load():
    """Return whether a sharded network goes on as it was from a checkpoint, which another one reads."""
    import os

    from torchlike.distributed import checkpoint
    from torchlike.distributed.fsdp import fully_shard

    folder = os.environ["TEST_FOLDER"] + "/checkpoint"
    net = fully_shard(build(torch.float64, seed=3))
    kept = [each.full_tensor().clone() for each in net.parameters()]
    checkpoint.save({"net": net.state_dict()}, checkpoint_id=folder)
    other = fully_shard(build(torch.float64, seed=4))
    state = {"net": other.state_dict()}
    checkpoint.load(state, checkpoint_id=folder)
    other.load_state_dict(state["net"])
    plain = {"net": build(torch.float64, seed=5).state_dict()}
    checkpoint.load(plain, checkpoint_id=folder)
    return [
        _difference(kept, [each.full_tensor() for each in other.parameters()]) == 0,
        _difference(kept, plain["net"].values()) == 0,
    ]


def whole_states():
    """Return whether training goes on from states of whole tensors that process 0 alone has, and the names that DDP has."""
    from torchlike.distributed.checkpoint import state_dict as states
    from torchlike.distributed.fsdp import fully_shard

    rank, size, dtype = dist.get_rank(), dist.get_world_size(), torch.float64
    part = slice(rank, None, size)

    def step(net, optimizer, count):
        for (x, y), _ in zip(batches(dtype), range(count), strict=False):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[part]), y[part]).backward()
            optimizer.step()
        return [each.full_tensor() for each in net.parameters()]

    net = fully_shard(build(dtype, seed=3))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    step(net, optimizer, 2)
    on_host = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
    model, own = states.get_state_dict(net, optimizer, options=on_host)
    told = [len(model), len(own)] == ([6, 2] if rank == 0 else [0, 0])
    whole = [type(each) is torch.Tensor for each in model.values()]
    expected = step(net, optimizer, 3)

    with torch.device("meta"):
        other = build(dtype)
    fully_shard(other)
    optimizer = torch.optim.Adam(other.parameters(), lr=0.5)
    from_first = states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    states.set_model_state_dict(other, model, options=from_first)
    optimizer = torch.optim.Adam(other.parameters(), lr=0.5)
    states.set_optimizer_state_dict(other, optimizer, own, options=from_first)
    found = step(other, optimizer, 3)

    wrapped = DistributedDataParallel(nn.Sequential(build(dtype)))
    names = [*states.get_model_state_dict(wrapped)]
    changed = {name: each * 0 for name, each in states.get_model_state_dict(wrapped).items()}
    states.set_model_state_dict(wrapped, changed)
    zeros = not any(each.any() for each in wrapped.parameters())
    return [told, all(whole), _difference(expected, found) == 0, names[0] == "0.0.weight", zeros]
