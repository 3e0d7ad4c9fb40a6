"""Groups of one process, and what is refused where processes do not communicate."""

import socket
import subprocess
import sys
import threading

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.runtime import DeviceInterface
from torchlike import distributed
from torchlike.distributed import process_groups
from torchlike.distributed.tensor import DeviceMesh, distribute_tensor
from torchlike.nn.parallel import DistributedDataParallel
from torchlike.utils.data import DistributedSampler

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def group():
    distributed.init_process_group("gloo", rank=0, world_size=1)
    yield distributed.group.WORLD
    if distributed.is_initialized():
        distributed.destroy_process_group()


def test_a_mesh_makes_no_group_but_that_of_one_process(monkeypatch):
    with monkeypatch.context() as context:
        context.setattr("torchlike.distributed.device_mesh._join", lambda ranks: 0)
        left = DeviceMesh("cpu", [0, 1])  # as after the end of a group of two
    with pytest.raises(RuntimeError, match=r"get_group: .*\n.*init_process_group\(\) makes one"):
        left.get_group()
    assert not distributed.is_initialized()
    assert DeviceMesh("cpu", [0]).get_group().size == 1
    distributed.destroy_process_group()


def test_threads_enter_one_mesh_each_for_itself():
    mesh, barrier, found = DeviceMesh("cpu", [0]), threading.Barrier(2, timeout=20), []

    def enter(waits):
        with mesh:
            barrier.wait()
            found.append(distribute_tensor(torchlike.ones(1)).device_mesh is mesh)
            for _ in range(waits):
                barrier.wait()
        for _ in range(1 - waits):
            barrier.wait()
        with pytest.raises(RuntimeError, match="there is no mesh"):
            distribute_tensor(torchlike.ones(1))
        found.append(True)

    threads = [threading.Thread(target=enter, args=(waits,)) for waits in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 4


def test_groups_beside_each_other_are_made_all_or_none(group):
    own, made = distributed.new_subgroups_by_enumeration([[0]])
    assert made == [own] and own.size == 1 and distributed.new_subgroups(1)[0].size == 1
    count = distributed.get_pg_count()
    with pytest.raises(ValueError, match="Rank 0 has appeared in both subgroup"):
        distributed.new_subgroups_by_enumeration([[0], [0]])
    assert distributed.get_pg_count() == count


def test_a_group_of_one_process_has_every_collective(group):
    x = torchlike.arange(4.0)
    assert distributed.is_available() and distributed.is_initialized() and distributed.get_backend() == "gloo"
    assert (distributed.get_rank(), distributed.get_world_size(group)) == (0, 1)
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        work = distributed.all_reduce(x, getattr(distributed.ReduceOp, op), async_op=True)
        assert work.wait() and work.is_completed() and work.result() == [x]
    assert distributed.broadcast(x, src=0) is None is distributed.reduce(x, 0) is distributed.barrier()
    listed, out = [torchlike.zeros(4)], torchlike.zeros(4)
    distributed.all_gather(listed, x)
    distributed.all_gather_into_tensor(out, x)
    part = torchlike.zeros(4)
    distributed.reduce_scatter(part, [x])
    assert listed[0].tolist() == out.tolist() == part.tolist() == x.tolist() == [0, 1, 2, 3]
    swapped = [torchlike.zeros(4) for _ in range(4)]
    distributed.all_to_all([swapped[0]], [x])
    distributed.all_to_all_single(swapped[1], x, [4], [4])
    distributed.scatter(swapped[2], [x])
    distributed.gather(x, [swapped[3]], dst=0)
    assert [each.tolist() for each in swapped] == [x.tolist()] * 4
    alone = distributed.new_group([0])
    distributed.all_reduce(x, group=alone)
    assert distributed.get_process_group_ranks(alone) == [0]
    distributed.destroy_process_group(alone)
    with pytest.raises(distributed.NoProcessGroupError, match="is no group of this process"):
        distributed.all_reduce(x, group=alone)


def test_collectives_write_to_parameters_without_a_history(group):
    x = torchlike.ones(2, requires_grad=True)
    distributed.all_reduce(x)
    assert x.is_leaf and x.grad_fn is None


def test_no_derivative_goes_through_collectives_in_place(group):
    x = torchlike.ones(2, requires_grad=True)
    y = x * 2
    distributed.all_reduce(y)  # backward passes it over, as torch's does
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    for found in (
        dc.ops.dispatch.all_reduce_(x * 2, "sum", group),
        dc.ops.dispatch.all_gather.out(x * 2, group, out=torchlike.ones(2)),
    ):
        with pytest.raises(NotImplementedError, match="derivative for dispatch::all_"):
            found.sum().backward()


def test_a_saved_tensor_that_a_collective_writes_to_is_refused(group):
    x, weight = torchlike.ones(2), torchlike.ones(2, requires_grad=True)
    total = (x * weight).sum()
    distributed.all_reduce(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_what_one_process_cannot_do_is_refused(group):
    x = torchlike.ones(2)
    for call, words in (
        (lambda: distributed.send(x, 1), "no rank 1"),
        (lambda: distributed.isend(x, 0), "is this process itself"),
        (lambda: distributed.recv(x), "any rank cannot be received"),
        (lambda: distributed.all_gather([], x), "0 tensors for 1 ranks"),
        (lambda: distributed.all_reduce(x, "band"), "band does not take float32"),
        (lambda: distributed.all_reduce(x, distributed.ReduceOp.PREMUL_SUM), "no reduction 'premul_sum'"),
        (lambda: distributed.new_group([4]), "no ranks"),
        (lambda: distributed.P2POp(print, x, 0), "expected isend or irecv"),
        (lambda: distributed.batch_isend_irecv([]), "with one at least"),
        (lambda: distributed.all_to_all([x], []), "0 tensors for 1 ranks"),
        (lambda: distributed.scatter(x), "no tensors for 1 ranks"),
        (lambda: distributed.all_to_all_single(x, x, [1], [2]), "are not those of 2"),
        (lambda: distributed.all_gather_object([], x), "0 places for 1 ranks"),
        (lambda: distributed.scatter_object_list([None], [x, x]), "2 places for 1 ranks"),
        (lambda: distributed.init_process_group("gloo", rank=0, world_size=1), "twice"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()


def test_objects_go_through_a_group_of_one_process(group):
    listed, sent, taken, into = [None], [{"a": 1}, "b"], [None], [None]
    distributed.all_gather_object(listed, {"rank": 0})
    distributed.broadcast_object_list(sent, src=0)
    distributed.gather_object("c", taken)
    distributed.scatter_object_list(into, ["d"])
    distributed.monitored_barrier()
    assert (listed, sent, taken, into) == ([{"rank": 0}], [{"a": 1}, "b"], ["c"], ["d"])
    with pytest.raises(ValueError, match="list of size at least 1"):
        distributed.scatter_object_list([], ["d"])


def test_a_module_is_trained_by_a_group_of_one_process(group):
    net = DistributedDataParallel(torchlike.nn.Linear(2, 1))
    net(torchlike.ones(3, 2)).sum().backward()
    assert net.module.weight.grad.tolist() == [[3, 3]] and list(net.state_dict()) == ["module.weight", "module.bias"]
    net.load_state_dict(net.state_dict())
    with net.no_sync():
        net(torchlike.ones(3, 2)).sum().backward()
    net(torchlike.ones(3, 2)).sum().backward()
    assert net.module.bias.grad.tolist() == [9] and net.require_backward_grad_sync


def test_modules_that_cannot_be_trained_together_are_refused(group):
    for make, kind, words in (
        (
            lambda: DistributedDataParallel(torchlike.nn.ReLU()),
            RuntimeError,
            "is not needed when a module doesn't have",
        ),
        (lambda: DistributedDataParallel(torchlike.nn.Linear(1, 1), [0]), ValueError, "device_ids and output_device"),
        (
            lambda: DistributedDataParallel(torchlike.nn.Linear(1, 1), process_group=group, device_mesh=1),
            RuntimeError,
            "Cannot specify both process_group and device_mesh",
        ),
    ):
        with pytest.raises(kind, match=words):
            make()
    distributed.destroy_process_group()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedDataParallel(torchlike.nn.Linear(1, 1))


def test_a_sampler_asks_the_group(group):
    sampler = DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4] and (sampler.rank, sampler.num_replicas) == (0, 1)


def test_the_environment_tells_the_place_of_a_process(monkeypatch):
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        monkeypatch.setenv("WORLD_SIZE", "1")
        distributed.init_process_group("", world_size=1, init_method="env://")
    for name, value in zip(VARIABLES, ("0", "1", "127.0.0.1", "1"), strict=True):
        monkeypatch.setenv(name, value)
    assert distributed.is_available() and not distributed.is_initialized()
    with pytest.raises(RuntimeError, match=r"no group yet\nHint: init_process_group"):
        distributed.get_rank()
    distributed.init_process_group("mpi")
    assert distributed.get_world_size() == 1
    distributed.destroy_process_group()
    assert distributed.group.WORLD is None


def test_backends_whose_library_is_missing_say_what_to_install(monkeypatch):
    monkeypatch.setattr("dispatch_backend_cpu.collectives.part.find_spec", lambda name: None)
    for backend in ("gloo", "mpi", "cpu"):
        with pytest.raises(
            RuntimeError,
            match=rf"do not communicate here by '{backend}': (.|\n)*Hint: (.|\n)*backend-cpu\[mpi\](.|\n)*one process",
        ):
            distributed.init_process_group(backend, init_method="tcp://127.0.0.1:1", rank=0, world_size=2)
    with pytest.raises(ValueError, match="needs a host, a port, a rank"):
        distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="there is no way 'http://x'"):
        distributed.init_process_group("gloo", init_method="http://x", world_size=2)
    assert not distributed.is_initialized()


def test_a_program_that_asks_nothing_loads_nothing_of_it():
    code = "import sys, torchlike; torchlike.distributed.is_initialized(); print('dispatch_aten.collectives' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


class Engine:
    """Collectives that no test calls, by the name of a library."""

    backend = "accl"
    connect = all_reduce = reduce_scatter = all_gather = broadcast = exchange = print


@pytest.fixture
def acme():
    """A device of the program's with collectives, which is no accelerator."""
    interface = DeviceInterface(collectives=Engine())
    kind = dc.ArrayType(type("Plank", (), {}))
    with dc.register_backend(
        dc.BackendInfo("acme", array_types=(kind,)), {}, device_interface=lambda: interface
    ) as handle:
        yield handle


@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("accl", "accl"),
        ("ACCL", "accl"),
        ("acme:accl", "accl"),
        ("cpu:gloo, acme:accl", "accl"),
        ("acme", "acme"),
        (None, "accl"),
    ],
)
def test_a_device_is_found_by_the_name_of_its_collectives(acme, backend, name, monkeypatch):
    monkeypatch.setattr(process_groups, "_list_backends", _without_npu())
    store = distributed.TCPStore("127.0.0.1", 0, is_master=True)
    store.set("default/1/init_process_group/all", "1")
    distributed.init_process_group(backend, store=store, rank=0, world_size=2)
    assert distributed.get_backend() == name
    distributed.destroy_process_group()
    store.close()


def _without_npu():
    found = process_groups._list_backends
    return lambda **options: {name: each for name, each in found(**options).items() if name != "npu"}


def test_the_error_for_another_backend_names_those_that_there_are(acme):
    for method in (None, "tcp://127.0.0.1:1"):
        with pytest.raises(RuntimeError, match=r"by 'nccl'(.|\n)*'accl' between tensors on acme"):
            distributed.init_process_group("nccl", rank=0, world_size=2, init_method=method)
    assert process_groups._find_collectives("other", "acme") is None


def test_a_group_without_a_backend_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(process_groups, "_list_backends", lambda **_: {})
    with pytest.raises(RuntimeError, match="no backend was named, and no device that is installed here has one"):
        distributed.init_process_group(rank=0, world_size=2, init_method="tcp://127.0.0.1:1")


ROUNDS = """
import sys
import threading
import dispatch_core as dc
from dispatch_core.runtime import DeviceInterface
from torchlike import distributed

class Engine:
    connect = all_reduce = reduce_scatter = all_gather = broadcast = exchange = print

kind = dc.ArrayType(type("Plank", (), {}))
dc.register_backend(
    dc.BackendInfo("acme", array_types=(kind,)), {}, device_interface=lambda: DeviceInterface(collectives=Engine())
)
rank, port = int(sys.argv[1]), sys.argv[2]

for each in range(4):
    distributed.init_process_group("acme", f"tcp://127.0.0.1:{port}", 20, 2, rank)
    group = distributed.group.WORLD
    assert group.share("round", lambda: b"%d" % each) == b"%d" % each
    distributed.destroy_process_group()
kept = distributed.TCPStore("127.0.0.1", int(port), 2, rank == 0, timeout=20)
for each in range(3):
    distributed.init_process_group("acme", None, 20, 2, rank, kept)
    assert distributed.group.WORLD.share("round", lambda: b"%d" % each) == b"%d" % each
    distributed.barrier()
    distributed.destroy_process_group()
print("done")
if rank == 0:
    kept.wait(["end"])
else:
    kept.set("end", "")
"""


def test_processes_make_groups_again_at_the_same_port():
    with socket.create_server(("127.0.0.1", 0)) as made:
        port = made.getsockname()[1]
    command = [sys.executable, "-c", ROUNDS]
    started = [
        subprocess.Popen([*command, str(rank), str(port)], stdout=-1, stderr=subprocess.STDOUT, text=True)
        for rank in (0, 1)
    ]
    for each in started:
        told, _ = each.communicate(timeout=60)
        assert (each.returncode, told) == (0, "done\n"), told


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"MASTER_PORT": "abc"}, "MASTER_PORT is 'abc', which is no number"),
        ({"MASTER_PORT": "99999"}, "MASTER_PORT is '99999'(.|\n)*from 1 to 65535"),
        ({"RANK": "x"}, "RANK is 'x', which is no number"),
        ({"WORLD_SIZE": "2.0"}, r"WORLD_SIZE is '2\.0', which is no number"),
        ({"RANK": "2"}, "there is no rank 2 of 2(.|\n)*RANK"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named_with_its_value(monkeypatch, changed, words):
    for name, value in zip(VARIABLES, ("1", "2", "127.0.0.1", "1"), strict=True):
        monkeypatch.setenv(name, changed.get(name, value))
    with pytest.raises(ValueError, match=words):
        distributed.init_process_group("hccl")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("tcp://127.0.0.1:99999", "the port in 'tcp://127.0.0.1:99999' is '99999'"),
        ("tcp://127.0.0.1:abc", "is 'abc', which is no number"),
        ("tcp://127.0.0.1:1?rank=x", "rank in 'tcp.*' is 'x', which is no number"),
        ("tcp://127.0.0.1", "needs a host, a port"),
    ],
)
def test_a_way_that_cannot_be_used_is_named(method, words):
    with pytest.raises(ValueError, match=words):
        distributed.init_process_group("hccl", method, world_size=2, rank=-1 if "rank" in method else 0)


def test_two_processes_with_the_same_rank_are_refused(acme, monkeypatch):
    monkeypatch.setattr(process_groups, "_list_backends", _without_npu())
    store = distributed.TCPStore("127.0.0.1", 0, is_master=True)
    store.enter(1)
    with pytest.raises(RuntimeError, match="another process is rank 1 already"):
        distributed.init_process_group("accl", f"tcp://127.0.0.1:{store.port}", rank=1, world_size=2, timeout=10)
    assert not distributed.is_initialized() and not process_groups._store_is_ours and store.lost_ranks() == ()
    store.close()
