"""What ranks of a group see where one of them fails, is killed or does something else than the others."""

import os
import time


def sums(torch, ops, group, run):
    """Return the error of a call, and how long it took to come."""
    before = time.monotonic()
    try:
        found = run()
        torch.npu.synchronize()
    except Exception as error:  # noqa: BLE001  # its class is what a test asks for
        names = [each.__name__ for each in type(error).__mro__[:2]]
        cause = type(error.__cause__).__name__
        return [names, str(error), cause, time.monotonic() - before, list(getattr(error, "ranks", ()))]
    return found.tolist()


def another_shape(torch, ops, group):
    return sums(torch, ops, group, lambda: ops.all_reduce(torch.ones(2 + group.rank, device="npu"), "sum", group))


def another_dtype(torch, ops, group):
    x = torch.ones(2, device="npu")
    return sums(torch, ops, group, lambda: ops.all_reduce(x.int() if group.rank else x, "sum", group))


def another_function(torch, ops, group):
    x = torch.ones(2, device="npu")
    call = (lambda: ops.all_gather(x, group)) if group.rank else (lambda: ops.all_reduce(x, "sum", group))
    return sums(torch, ops, group, call)


def another_message(torch, ops, group):
    x = torch.ones(2 + group.rank, device="npu")

    def run():
        ops.send(x, 1, group) if group.rank == 0 else ops.recv_(x, 0, group)
        return x

    return sums(torch, ops, group, run)


def kill_last(torch, ops, group):
    """Return the error of a collective after the last rank was killed; a second one tells again."""
    x = torch.ones(2, device="npu")
    ops.all_reduce(x, "sum", group).tolist()
    if group.rank == 2:
        os.kill(os.getpid(), 9)
    first = sums(torch, ops, group, lambda: ops.all_reduce(x, "sum", group))
    return [first, sums(torch, ops, group, lambda: ops.all_reduce(x, "sum", group))]


def killed_before(torch, ops, group):
    """Return the error of the first collective, where the last rank was killed before."""
    group.meet()
    if group.rank == 2:
        os.kill(os.getpid(), 9)
    return sums(torch, ops, group, lambda: ops.all_reduce(torch.ones(2, device="npu"), "sum", group))


def master_killed(torch, ops, group):
    x = torch.ones(2, device="npu")
    ops.all_reduce(x, "sum", group).tolist()
    if group.rank == 0:
        os.kill(os.getpid(), 9)
    return sums(torch, ops, group, lambda: ops.all_reduce(x, "sum", group))


def kill_one_that_a_device_waits_for(torch, ops, group):
    """Return the errors of a device that hangs, as one does while HCCL waits for a rank that was killed."""
    from dispatch_backend_npu.runtime import waiting
    from dispatch_backend_npu.simulator import Simulator

    waiting.WATCHED = 200
    x = torch.ones(2, device="npu")
    ops.all_reduce(x, "sum", group).tolist()
    if group.rank:
        group.store.wait(["hangs"], 20)
        os.kill(os.getpid(), 9)
    Simulator().hang_task(1)
    group.store.set("hangs", "")
    return [sums(torch, ops, group, lambda: ops.all_reduce(x, "sum", group)), sums(torch, ops, group, lambda: x + 1)]


def late(torch, ops, group):
    """Return the error of a collective to which the other rank does not come."""
    x = torch.ones(2, device="npu")
    ops.all_reduce(x, "sum", group).tolist()
    if group.rank:
        group.store.wait(["over"], 30)
        return None
    found = sums(torch, ops, group, lambda: ops.all_reduce(x, "sum", group))
    group.store.set("over", "")
    return found


def functions(torch, ops, group):
    """Return the functions of HCCL whose failure was told in its words, in a group of one process."""
    from dispatch_backend_npu.acl.prototypes import COLLECTIVES, prototypes
    from dispatch_backend_npu.collectives import HcclError, connect
    from dispatch_backend_npu.simulator import Simulator

    simulator = Simulator()

    def program():
        connection = connect(group, 0)
        try:
            x, y = torch.ones(4, device="npu"), torch.zeros(4, device="npu")
            a, b = x._dispatch_data, y._dispatch_data
            connection.all_reduce(a, "sum", b)
            connection.all_gather(a, b)
            connection.reduce_scatter(a, "max", b)
            connection.broadcast(a, 0, b)
            connection.barrier()
            connection.exchange([(a, 0)], [(b, 0)])
            assert connection.name.startswith("simulated")
            torch.npu.synchronize()
            connection.check()
        finally:
            connection.close()
        connection.close()

    program()
    found = {}
    for name, row in prototypes().items():
        if row.library == COLLECTIVES and name not in ("HcclGetErrorString", "HcclSend", "HcclRecv"):
            with simulator.failing(name, 1, 4):
                try:
                    program()
                except HcclError as error:
                    found[name] = str(error)
    torch.npu.synchronize()
    return [found, simulator.counts().get("communicators", 0)]
