"""Loaders with workers: order, seeds, errors and ends."""

import os
import time

import pytest

import torchlike
from torchlike.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore::DeprecationWarning"),
    pytest.mark.no_pipeline(reason="its workers are processes of their own"),
]


class Numbers(Dataset):
    """Integers, with some that do something else."""

    def __init__(self, special=None):
        self.special = special or {}

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return self.special.get(index, int)(index)


def die(index):
    os._exit(3)


def wait(index):
    time.sleep(30)


def load(dataset, **options):
    return DataLoader(dataset, **{"num_workers": 2, "multiprocessing_context": "fork"} | options)


def test_spawned_and_forked_workers_give_the_batches_of_this_process():
    data = TensorDataset(torchlike.arange(7), torchlike.arange(7.0).reshape(7, 1))
    expected = [[part.tolist() for part in batch] for batch in DataLoader(data, 3)]
    for method in ("fork", "spawn"):
        loader = load(data, batch_size=3, multiprocessing_context=method, num_workers=1)
        assert [[part.tolist() for part in batch] for batch in loader] == expected


def test_persistent_workers_are_the_same_processes_in_every_pass():
    loader = load(Numbers({index: lambda _: os.getpid() for index in range(6)}), persistent_workers=True)
    seen = [{int(batch) for batch in loader} for _ in range(3)]
    next(iter(loader))  # a pass that is not finished does not disturb the next one
    assert len(seen[0]) == 2 and seen == [seen[0]] * 3 and {int(batch) for batch in loader} == seen[0]


def test_a_worker_that_dies_or_is_slow_is_an_error():
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(load(Numbers({1: die}), timeout=1))
    with pytest.raises(RuntimeError, match=r"timed out after 0\.3 seconds"):
        list(load(Numbers({1: wait}), timeout=0.3))


def test_errors_of_the_start_and_of_samples_keep_their_class():
    def fail(number):
        raise ZeroDivisionError(f"worker {number}")

    with pytest.raises(ZeroDivisionError, match="Caught ZeroDivisionError in DataLoader worker process 0"):
        list(load(Numbers(), worker_init_fn=fail))
    with pytest.raises(IndexError, match=r"Original Traceback(.|\n)*IndexError"):
        list(load(Numbers({4: [].pop})))


def test_streams_end_one_by_one_and_batches_come_unordered_where_that_is_asked_for():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(1 + 4 * get_worker_info().id))

    assert [int(batch) for batch in load(Stream())] == [0, 0, 1, 2, 3, 4]
    assert sorted(int(batch) for batch in load(Stream(), in_order=False)) == [0, 0, 1, 2, 3, 4]


def test_settings_are_fixed_once_the_loader_is_made():
    loader = DataLoader(Numbers())
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
