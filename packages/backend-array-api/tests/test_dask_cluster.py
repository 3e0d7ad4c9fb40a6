"""The device ``dask`` on a cluster of two worker processes: training, lost workers, lineage, a scheduler that is gone."""

import contextlib
import importlib.util
import logging
import os
import signal
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_core import frontends
from torchlike import nn, optim

distributed = pytest.importorskip("distributed")
EXAMPLE = next(path for folder in Path(__file__).parents for path in folder.glob("examples/train_on_a_cluster.py"))
JOBS = next(path for folder in Path(__file__).parents for path in folder.glob("benchmarks/dask_jobs.py"))


def start(workers, **options):
    """Start workers on this machine; no other program's port is taken."""
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
        **options,
    )


@pytest.fixture(scope="module")
def cluster():
    with start(2, memory_limit="512MiB") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    cluster.wait_for_workers(2)
    with distributed.Client(cluster) as client:
        yield client


def load(path):
    """Return a script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example():
    return load(EXAMPLE)


def lose_a_worker(client):
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def count_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def test_a_linear_model_on_more_than_a_worker_holds_is_torchs_and_a_lost_worker_changes_nothing(example, capsys):
    torch = pytest.importorskip("torch")
    rows, features, steps = 400_000, 200, 4  # 305 MiB
    sizes = ["--rows", str(rows), "--features", str(features), "--steps", str(steps), "--chunk", "20000"]
    got = example.main([*sizes, "--memory-limit", "300MiB", "--lose-worker-at", "1"])
    told = capsys.readouterr().out
    assert "305 MiB of data; workers of 300MiB" in told and "a worker was killed" in told
    assert "Completed" in told  # Dask's own bar
    data, target = (torch.from_numpy(each.cpu().numpy().copy()) for each in example.make_data(rows, features, 20_000))
    torchlike.manual_seed(1)
    ours = nn.Linear(features, 1)
    model = torch.nn.Linear(features, 1)
    model.load_state_dict({name: torch.from_numpy(each.detach().numpy()) for name, each in ours.state_dict().items()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(data), target).backward()
        optimizer.step()
    np.testing.assert_allclose(got.weight.detach(), model.weight.detach(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got.bias.detach(), model.bias.detach(), rtol=1e-4)


def array_of(tensor):
    """Return Dask's array, which a tensor holds after a pipeline."""
    return frontends.materialize(tensor)


def train(steps, after_step=lambda step: None, chunk=200):
    """Return the weights after steps of training on data that workers draw."""
    torchlike.manual_seed(2)
    x = torchlike.randn(400, 6, device="dask", chunks=(chunk, None))
    w = torchlike.zeros(6, device="dask", requires_grad=True)
    optimizer = optim.SGD([w], lr=0.01)
    for step in range(steps):
        with torchlike.pipeline():
            loss = ((x @ w - 1.0) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            del loss
        after_step(step)
    return w


@pytest.fixture
def client_in_process():
    """A client of a worker that is a thread, which is quicker."""
    with start(1, processes=False, protocol="tcp://") as cluster, distributed.Client(cluster) as client:
        yield client


def test_the_graph_and_the_schedulers_tasks_stay_within_bounds_over_300_steps(client_in_process):
    client, tasks = client_in_process, []

    def look(step):
        if step % 10 == 9:
            torchlike.synchronize("dask")
            tasks.append(count_tasks(client))

    w = train(300, look, chunk=400)
    assert len(array_of(w).dask.layers) == 1
    # Without the cut there would be fifteen times as many at the end; some are forgotten a little later than others.
    assert max(tasks[-10:]) <= 2 * max(tasks[:4])


def test_a_worker_that_is_lost_in_the_middle_does_not_change_the_result(client):
    wanted = train(12).tolist()
    found = train(12, lambda step: lose_a_worker(client) if step == 5 else None).tolist()
    assert found == pytest.approx(wanted, rel=1e-5, abs=1e-7)  # but for rounding


def test_values_that_a_lost_worker_held_are_computed_again(client):
    x = torchlike.rand(1000, device="dask", chunks=100)
    y = x * 2
    torchlike.synchronize("dask")
    wanted = (x.cpu() * 2).tolist()
    lose_a_worker(client)
    assert y.tolist() == wanted


def test_a_pipelines_values_stay_on_the_cluster(client):
    with torchlike.pipeline():
        kept = torchlike.ones(1000, device="dask", chunks=100) * 2
    assert distributed.futures_of(array_of(kept))
    assert kept.sum().item() == 2000


def test_numbers_that_a_cluster_held_are_made_again_without_it():
    with start(1, processes=False, protocol="tcp://") as cluster, distributed.Client(cluster):
        with torchlike.pipeline():
            held = torchlike.full((), 7.25, device="dask")
        assert distributed.futures_of(array_of(held))
        del held
    assert torchlike.tensor([1.0, 9.0], device="dask").clamp_min(7.25).tolist() == [7.25, 9.0]


def test_an_error_of_a_chunk_is_one_of_the_operator_and_names_it(client):
    x = torchlike.ones(4, 3, device="dask", chunks=(2, None))
    wrong = torchlike.full((4, 1), 7, device="dask", chunks=(2, None))
    with pytest.raises(IndexError, match=r"index 7 is out of bounds for dimension 1 with size 3 \(aten::gather\)"):
        x.gather(1, wrong).tolist()
    assert x.sum().item() == 12


def test_jobs_on_tall_matrices_are_right(client):
    jobs = load(JOBS)
    found = jobs.run_jobs(client, 20_000, 20, 1_000)
    assert set(found) == set(jobs.JOBS)


def test_the_chunks_of_a_value_are_read_one_by_one(client):
    x = torchlike.rand(1000, 7, device="dask", chunks=(100, 3))
    with torchlike.pipeline():
        kept = x * 2
    values = kept.cpu()
    assert values.shape == (1000, 7)
    assert (values / 2).sum().item() == pytest.approx(x.sum().item(), rel=1e-5)
    ran = client.run_on_scheduler(lambda dask_scheduler: [str(key) for key in dask_scheduler.tasks])
    assert not [key for key in ran if "finalize" in key]


def test_a_cancelled_value_is_said_to_be_cancelled(client):
    with torchlike.pipeline():
        kept = torchlike.ones(1000, device="dask", chunks=100) * 2
    client.cancel(distributed.futures_of(array_of(kept)))
    for use in (lambda: kept.sum().item(), kept.tolist):
        with pytest.raises(
            dc.BackendError, match=r"(?s)Dask has cancelled a computation.*the program cancels a future"
        ):
            use()
    assert torchlike.ones(10, device="dask").sum().item() == 10


def test_an_operator_whose_workers_die_is_named(client):
    def die(block):
        if block.size:
            os._exit(9)  # as a worker ends that takes too much memory
        return block

    values = da.ones((10, 2), chunks=5, dtype=np.float32).map_blocks(die, dtype=np.float32, meta=np.empty((0, 0), "f4"))
    x = dc.wrap_like(torchlike.ones(1, device="dask"), values)
    with pytest.raises(
        dc.BackendError, match=r"(?s)workers died while they computed aten::cumsum \(task .*more memory"
    ):
        x.erf().cumsum(0).tolist()
    assert torchlike.ones(10, device="dask").sum().item() == 10


def test_a_scheduler_that_is_gone_is_one_error_that_names_its_address(monkeypatch):
    from dispatch_backend_array_api.devices.dask import settings

    monkeypatch.setattr(settings, "patience", 1.0)
    cluster = start(1, processes=False, protocol="tcp://")
    client = distributed.Client(cluster)
    try:
        address = client.scheduler.address
        x = torchlike.ones(10, device="dask", chunks=5) * 2
        total = x.sum()
        assert total.item() == 20
        held = x._dispatch_data
        cluster.sync(cluster.scheduler.close)
        for use in (x.tolist, lambda: (x + 1).sum().item(), lambda: torchlike.synchronize("dask")):
            before = time.monotonic()
            with pytest.raises(dc.BackendError, match=f"the scheduler at {address} is gone"):
                use()
            assert time.monotonic() - before < 15
        assert x._dispatch_data is held
    finally:
        with contextlib.suppress(TimeoutError, OSError):
            client.close(timeout=1)
        with contextlib.suppress(TimeoutError, OSError):
            cluster.close(timeout=2)
        # Without its scheduler it may not come to an end by itself, and warns when it is collected.
        cluster.status = distributed.Status.closed
    monkeypatch.setattr("dispatch_backend_array_api.dask_cluster.find_client", lambda: None)  # other tests may have one
    with pytest.raises(dc.BackendError, match=f"no client now, and the cluster at {address} held these arrays"):
        (total + 1).item()
