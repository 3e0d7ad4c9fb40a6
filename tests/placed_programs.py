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


def networks(torch, ops, group):
    """Return the greatest difference to one device's parameters after 10 steps of networks, eager and captured."""
    from dispatch_aten.placements import DeviceMesh as Mesh
    from torchlike.distributed import device_mesh, placed
    from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor

    device_mesh._groups_of = lambda root: [group]
    mesh = device_mesh.as_device_mesh(Mesh("npu", [*range(group.size)], rank=group.rank))
    nn, functional = torch.nn, torch.nn.functional
    generator = torch.Generator().manual_seed(1)
    pictures = torch.rand(4, 3, 6, 6, generator=generator)
    words = torch.rand(2, 4, 8, generator=generator)
    answers = {"pictures": torch.randint(0, 4, (4,), generator=generator), "words": torch.arange(8) % 4}

    class Pictures(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
            self.groups, self.head = nn.GroupNorm(2, 4), nn.Linear(4, 4)

        def forward(self, x):
            return self.head(self.groups(functional.relu(self.norm(self.conv(x)))).mean((2, 3)))

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(8, 8, bias=False) for _ in range(3))
            self.head = nn.Linear(8, 4)

        def forward(self, x):
            parts = [each(x).unflatten(-1, (2, 4)).transpose(1, 2) for each in (self.query, self.key, self.value)]
            found = functional.scaled_dot_product_attention(*parts, is_causal=True)
            return self.head(found.transpose(1, 2).flatten(2)).flatten(0, 1)

    cut = {"query.weight": 0, "key.weight": 0, "value.weight": 0, "head.weight": 0, "head.bias": 0}

    def place(value, placement):
        return distribute_tensor(value, mesh, [placement], src_data_rank=None)

    def run(name, in_parts, captures=False):
        torch.manual_seed(3)
        model = {"pictures": Pictures, "words": Words}[name]().to("npu")
        x, y = (each.to("npu") for each in ({"pictures": pictures, "words": words}[name], answers[name]))
        if in_parts:
            whole = name == "words"
            for path, each in [*model.named_parameters(), *model.named_buffers()]:
                module, _, last = path.rpartition(".")
                to = Shard(cut[path]) if whole and path in cut else Replicate()
                made = place(each.detach(), to)
                setattr(model.get_submodule(module), last, nn.Parameter(made) if each.requires_grad else made)
            x, y = (place(each, Replicate() if whole else Shard(0)) for each in (x, y))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x, y):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        step = torch.capture(step) if captures else step
        for _ in range(10):
            step(x, y)
        return [each.detach().full_tensor() if in_parts else each.detach() for each in model.parameters()]

    worst = {}
    for name in ("pictures", "words"):
        alone = run(name, False)
        for captures in (False, True):
            pairs = zip(run(name, True, captures), alone, strict=True)
            worst[f"{name} {captures}"] = max((one - other).abs().max().item() for one, other in pairs)
    return {"worst": worst, "gathers": placed.gathers()}
