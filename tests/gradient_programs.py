"""What `DistributedDataParallel` does beside the average of all, by either library: ``torch`` and ``torchlike`` must agree.

Each function is called in all processes with a library, and returns arrays.
"""

import copy
import importlib
import pickle

import numpy as np


def fill(lib, net):
    drawn = np.random.default_rng(0)
    with lib.no_grad():
        for each in net.parameters():
            each.copy_(lib.tensor(drawn.standard_normal(tuple(each.shape)).astype(np.float32)))
    return net


def draw(lib, rank, step, rows=5):
    return lib.tensor(np.random.default_rng(100 * step + rank).standard_normal((rows, 4)).astype(np.float32))


def make(lib):
    return fill(lib, lib.nn.Sequential(lib.nn.Linear(4, 5), lib.nn.ReLU(), lib.nn.Linear(5, 3)))


def wrap(lib, net, **options):
    return lib.nn.parallel.DistributedDataParallel(net, **options)


def grads(net):
    return [None if each.grad is None else each.grad.to_dense().numpy().copy() for each in net.parameters()]


def values(net):
    return [each.detach().numpy().copy() for each in [*net.parameters(), *net.buffers()]]


def _module(lib, name):
    return __import__(f"{lib.__name__}.distributed.algorithms.{name}", fromlist=["module"])


def hooks(lib, rank):
    default, found = _module(lib, "ddp_comm_hooks.default_hooks"), []

    def add(state, bucket):
        future = lib.futures.Future()
        future.set_result(bucket.buffer() * 10 + state)
        return future

    def chain(state, bucket):
        future = lib.distributed.all_reduce(bucket.buffer(), async_op=True).get_future()
        doubled = future.then(lambda done: done.value()[0] * 2)
        return doubled.then(lambda done: done.value() + len(bucket.gradients()) - len(bucket.parameters()))

    compress = default.fp16_compress_wrapper(default.allreduce_hook)
    for state, hook in ((None, default.allreduce_hook), (None, default.fp16_compress_hook), (3.0, add), (None, chain)):
        for is_view in (False, True):
            net = wrap(lib, make(lib), bucket_cap_mb=1e-5, gradient_as_bucket_view=is_view)
            net.register_comm_hook(state, hook)
            for step in range(2):
                net(draw(lib, rank, step)).pow(2).sum().backward()
            found += grads(net)
    net = wrap(lib, make(lib))
    net.register_comm_hook(None, compress)
    net(draw(lib, rank, 0)).pow(2).sum().backward()
    return [*found, *grads(net)]


def views(lib, rank):
    net = wrap(lib, make(lib), gradient_as_bucket_view=True)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for step in range(4):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        with net.no_sync() if step == 1 else lib.enable_grad():
            net(draw(lib, rank, step)).pow(2).sum().backward()
        optimizer.step()
    return grads(net) + values(net)


def sparse(lib, rank):
    class Words(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.word = lib.nn.Embedding(10, 4, sparse=True)
            self.bag = lib.nn.EmbeddingBag(6, 4, sparse=True, mode="sum")
            self.last = lib.nn.Linear(4, 2)

        def forward(self, x):
            return self.last(self.word(x) + self.bag(x[:, None] % 6))

    net, found = wrap(lib, fill(lib, Words())), []
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        chosen = lib.tensor(np.random.default_rng(10 * step + rank).integers(0, 10, 3 + rank))
        optimizer.zero_grad()
        net(chosen).pow(2).sum().backward()
        assert net.module.word.weight.grad.is_sparse
        found += grads(net)
        optimizer.step()
    own = lib.sparse_coo_tensor([[rank, 2]], [1.0, 2.0 + rank], (4,))
    lib.distributed.all_reduce(own)
    return [*found, *values(net), own.to_dense().numpy()]


def leave_out_parts(lib, rank):
    class Parts(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = (lib.nn.Linear(4, 4) for _ in range(3))

        def forward(self, x, goes_on):
            return self.second(self.first(x)) if goes_on else self.first(x)

    found = []
    for options in ({}, {"gradient_as_bucket_view": True}):
        net = wrap(lib, fill(lib, Parts()), find_unused_parameters=True, **options)
        for step in range(3):
            net(draw(lib, rank, step), rank == 0 or step == 2).pow(2).sum().backward()
            found += grads(net)
    return found


def join(lib, rank):
    class Normed(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.norm = make(lib), lib.nn.BatchNorm1d(3)

        def forward(self, x):
            return self.norm(self.body(x))

    found = []
    for divides in (True, False):
        for options in ({}, {"find_unused_parameters": True}, {"bucket_cap_mb": 1e-5}):
            net = wrap(lib, Normed(), **options)
            optimizer = lib.optim.SGD(net.parameters(), lr=0.01)
            with net.join(divide_by_initial_world_size=divides):
                for step in range(2 + 2 * rank):
                    optimizer.zero_grad()
                    net(draw(lib, rank, step)).pow(2).sum().backward()
                    found += grads(net)
                    optimizer.step()
            found += values(net)
    net = wrap(lib, make(lib))
    with _module(lib, "join").Join([net]):
        for step in range(2 + rank):
            with net.no_sync():
                net(draw(lib, rank, step)).pow(2).sum().backward()
            net(draw(lib, rank, step)).pow(2).sum().backward()
    return found + grads(net)


def early_end(lib, rank):
    net, steps = wrap(lib, make(lib)), 0
    try:
        with net.join(throw_on_early_termination=True):
            for step in range(2 + 2 * rank):
                net(draw(lib, rank, step)).sum().backward()
                steps += 1
    except RuntimeError as error:
        return [np.frombuffer(str(error).encode(), np.uint8), np.array(steps)]
    return []


def copies(lib, rank):
    net, found = wrap(lib, make(lib)), []
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        other(draw(lib, rank, 1)).pow(2).sum().backward()
        found += grads(other)
        assert all(each.grad is None for each in net.parameters())
    return found


def messages(lib, rank):
    """Return gradients of calls between processes, and the gradients of these."""
    calls = importlib.import_module(f"{lib.__name__}.distributed.nn.functional")
    functions = {
        "all_reduce": calls.all_reduce,
        "the greatest": lambda x: calls.all_reduce(x, op=lib.distributed.ReduceOp.MAX),
        "broadcast": lambda x: calls.broadcast(x, 1) * x,
        "reduce": lambda x: calls.reduce(x * x, 1) * (rank == 1),
        "all_gather": lambda x: lib.stack(calls.all_gather(x * x)).sum(0) + 2 * calls.all_gather(x)[rank],
        "gather": lambda x: sum(calls.gather(x**3, 1)),
        "scatter": lambda x: calls.scatter([x, x * x], 1),
        "reduce_scatter": lambda x: calls.reduce_scatter(lib.empty_like(x), [x, x**3]),
        "all_to_all": lambda x: sum(calls.all_to_all([lib.empty_like(x), lib.empty_like(x)], [x, x**3])) * x,
        "all_to_all_single": lambda x: calls.all_to_all_single(
            lib.empty(2 if rank else 6, 3, dtype=x.dtype), x * x, [1, 1] if rank else [3, 3], [3, 1]
        ),
    }
    found = []
    for name, function in functions.items():
        x = lib.tensor(np.random.default_rng(rank).standard_normal((4, 3)), requires_grad=True)
        y = function(x)
        (first,) = lib.autograd.grad((y * y.detach().sin()).sum(), x, create_graph=True)
        found += [y.detach().numpy(), first.detach().numpy()]
        if name not in ("all_reduce", "the greatest"):
            found.append(lib.autograd.grad((first * first).sum(), x)[0].numpy())
    return found


def optimizers(lib, rank):
    """Return parameters and states of optimizers whose states lie in parts, and of what goes on from these."""
    found = []
    kinds = ((lib.optim.Adam, {"lr": 0.05, "weight_decay": 0.1}), (lib.optim.SGD, {"lr": 0.1, "momentum": 0.9}))
    make_parts = importlib.import_module(f"{lib.__name__}.distributed.optim").ZeroRedundancyOptimizer
    for kind, options in kinds:
        net = wrap(lib, make(lib))
        optimizer = make_parts(net.module[0].parameters(), kind, **options)
        optimizer.add_param_group({"params": net.module[2].parameters(), "lr": 0.02})
        schedule = lib.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def learn(optimizer, steps, net=net):
            for step in steps:
                optimizer.zero_grad()
                net(draw(lib, rank, step)).pow(2).sum().backward()
                optimizer.step()

        for step in range(4):
            learn(optimizer, [step])
            schedule.step()
        found += values(net)
        optimizer.consolidate_state_dict(to=1)
        told = [None]
        if rank == 1:
            told = [optimizer.state_dict()]
            found += [np.array(sorted(told[0]["state"])), np.array(len(optimizer.optim.state))]
        lib.distributed.broadcast_object_list(told, 1)
        other = make_parts(net.module[0].parameters(), kind, **options)
        other.add_param_group({"params": net.module[2].parameters()})
        other.load_state_dict(told[0])
        learn(other, range(4, 6))
        found += [*values(net), np.array([each["lr"] for each in other.param_groups])]
        try:
            optimizer.consolidate_state_dict()
            if rank == 1:
                optimizer.state_dict()
        except RuntimeError as error:
            found.append(np.frombuffer(str(error).encode(), np.uint8))
    return found


def products(lib, rank):
    """Return gradients that are sent as products of thin matrices, until these are exact, and what was saved."""
    module, found = _module(lib, "ddp_comm_hooks.powerSGD_hook"), []
    for options in (
        {},
        {"matrix_approximation_rank": 3, "use_error_feedback": False},
        {"warm_start": False, "batch_tensors_with_same_shape": True, "orthogonalization_epsilon": 1e-8},
    ):
        net = wrap(lib, fill(lib, lib.nn.Sequential(*(lib.nn.Linear(12, 12) for _ in range(3)))), bucket_cap_mb=25)
        state = module.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1, random_seed=4, **options)
        net.register_comm_hook(state, module.powerSGD_hook)
        for step in range(6):
            net.zero_grad()
            x = np.random.default_rng(10 * step + rank).standard_normal((5, 12)).astype(np.float32)
            net(lib.tensor(x)).tanh().sum().backward()
            found += grads(net)
        own = [each for each in grads(net) if each.ndim == 2]
        ranks = [np.linalg.matrix_rank(each, tol=1e-3 * abs(each).max()) for each in own]
        found += [np.array(ranks), np.array(state.compression_stats()), np.array(state.iter)]
    return found


PROGRAMS = (hooks, views, sparse, leave_out_parts, join, early_end, copies, messages, optimizers, products)
