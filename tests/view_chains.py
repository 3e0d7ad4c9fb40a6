"""Random chains of views with writes, for devices whose arrays have no strides."""

import random

import dispatch_core as dc
import torchlike


def choose_view(rng, sizes):
    """Return a view of a tensor of these sizes, as a function; the cpu may refuse it."""
    count = len(sizes)
    if not count:
        return lambda t: t.unsqueeze(0)
    dim, order = rng.randrange(count), rng.sample(range(count), count)
    size = sizes[dim]
    start, step, end = rng.randrange(size + 1), rng.choice([1, 1, 2, 3]), rng.randrange(size + 2)
    place, window = rng.randrange(-size, size) if size else 0, rng.randrange(1, size + 1) if size else 1
    gap, offset = rng.randrange(window, window + 2), rng.randrange(-1, 2)
    choices = [
        lambda t: t.permute(order),
        lambda t: t.transpose(dim, order[0]),
        lambda t: t.movedim(dim, order[0]),
        lambda t: dc.ops.aten.slice(t, dim, start, end, step),
        lambda t: t[(slice(None),) * dim + (slice(None, None, step),)],
        lambda t: t.squeeze(),
        lambda t: t.unsqueeze(dim),
        lambda t: t.view(-1),
        lambda t: t.view(*sizes[:dim], -1, 1, *sizes[dim + 1 :]),
        lambda t: t.narrow(dim, 0, max(size - 1, 0)),
        lambda t: dc.ops.aten.alias(t) if t.requires_grad else t.detach(),
    ]
    if size:
        choices += [
            lambda t: t.select(dim, place),
            lambda t: t.unbind(dim)[place],
            lambda t: t.split(max(size // 2, 1), dim)[-1],
            lambda t: t.unfold(dim, window, gap),
        ]
    if count > 1:
        other = next(each for each in order if each != dim)
        choices += [lambda t: t.diagonal(offset, dim, other), lambda t: t.view(-1, sizes[-1])]
    return rng.choice(choices)


def choose_write(rng):
    number = float(rng.randrange(2, 9))
    return rng.choice(
        [
            lambda t: t.add_(number),
            lambda t: t.mul_(number),
            lambda t: t.fill_(number),
            lambda t: t.copy_(torchlike.arange(float(t.numel())).view(t.shape).to(t.device)),
            lambda t: t.masked_fill_(t.gt(number), -number),
            lambda t: t.__setitem__(slice(None) if t.dim() else (), number),
        ]
    )


def make_chain(seed, length=5):
    """Return the views of a chain, and a write after each, that the cpu takes."""
    rng = random.Random(seed)
    x = torchlike.zeros(rng.choice([(4, 3), (2, 3, 4), (6,), (2, 1, 5), (3, 3, 2), (0, 3)]))
    sizes, chain = x.shape, []
    while len(chain) < length:
        view, write = choose_view(rng, x.shape), choose_write(rng)
        try:
            x = view(x)
        except (RuntimeError, IndexError):
            continue
        chain.append((view, write, rng.random() < 0.6))
    return sizes, chain


def run_chain(device, sizes, chain, start=None):
    base = torchlike.arange(float(torchlike.Size(sizes).numel())).view(sizes).to(device, copy=True)
    base = base if start is None else base * start
    held = [base]
    for view, write, now in chain:
        held.append(view(held[-1]))
        if now:
            write(held[-1])
    for place, (_, write, _) in reversed(list(enumerate(chain))):
        write(held[place])
    return held
