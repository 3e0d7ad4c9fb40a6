"""What ranks do with tensors of which each has a part, and tell: run by all ranks of a group, on the npu."""


def train(torch, ops, group):
    """Return the greatest difference to one device's parameters after 20 steps, by the way of training and the optimizer."""
    from dispatch_aten.placements import DeviceMesh as Mesh
    from torchlike.distributed import device_mesh, placed
    from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor

    device_mesh._groups_of = lambda root: [group]
    mesh = device_mesh.as_device_mesh(Mesh("npu", [*range(group.size)], rank=group.rank))
    nn = torch.nn
    ways = {"data": {}, "tensor": {"0.weight": 0, "0.bias": 0, "2.weight": 1}}
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(8, 6, generator=generator)
    y = torch.randint(0, 3, (8,), generator=generator)

    def place(value, placement):
        return distribute_tensor(value, mesh, [placement], src_data_rank=None)

    def run(way, kind):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).to("npu")
        a, b = x.to("npu"), y.to("npu")
        if way is not None:
            for name, each in list(model.named_parameters()):
                module, _, last = name.rpartition(".")
                to = Shard(ways[way][name]) if name in ways[way] else Replicate()
                setattr(model.get_submodule(module), last, nn.Parameter(place(each.detach(), to)))
            a, b = (place(each, Shard(0) if way == "data" else Replicate()) for each in (a, b))
        options = {"lr": 0.05, "weight_decay": 0.1}
        optimizer = torch.optim.SGD(model.parameters(), momentum=0.9, **options)
        if kind == "Adam":
            optimizer = torch.optim.Adam(model.parameters(), **options)
        for _ in range(20):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        return [each.detach() if way is None else each.detach().full_tensor() for each in model.parameters()]

    worst = {}
    for kind in ("SGD", "Adam"):
        alone = run(None, kind)
        for way in ways:
            pairs = zip(run(way, kind), alone, strict=True)
            worst[f"{way} {kind}"] = max((one - other).abs().max().item() for one, other in pairs)
    return {"worst": worst, "gathers": placed.gathers()}
