"""Loaders with workers: order, seeds, errors and ends."""

import io
import os
import pickle
import random
import re
import threading
import time

import pytest

import torchlike
from torchlike.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info, worker

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


def raise_local(index):
    class LocalError(Exception):
        pass

    raise LocalError("from within")


class Refusing:
    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error


#: Makers of values that cannot be pickled, and the end of their types' names.
UNPICKLABLE = {
    "function": lambda: lambda: 1,
    "lock": threading.Lock,
    "generator": lambda: (each for each in ()),
    "Refusing": lambda: Refusing(ZeroDivisionError("never")),
    "TextIOWrapper": lambda: io.TextIOWrapper(io.BytesIO()),
}


def bury(choose, value):
    """Return a value within containers, and its place in them."""
    place = ""
    for _ in range(choose.randrange(5)):
        kind, others = choose.randrange(3), [torchlike.arange(2), "text", 1.5][: choose.randrange(4)]
        if kind == 2:
            value, place = {**dict.fromkeys(map(str, others), 1), "key": value, "last": others}, f"['key']{place}"
        else:
            value, place = [tuple, list][kind]([*others, value, *others]), f"[{len(others)}]{place}"
    return value, place


def test_what_cannot_be_pickled_is_an_error_that_names_type_and_place():
    choose = random.Random(0)
    cases = [(name, *bury(choose, name)) for name in UNPICKLABLE for _ in range(8)]
    for name, nested, place in cases:
        with pytest.raises(pickle.PicklingError) as caught:
            worker.encode(replace(nested, UNPICKLABLE[name]()), "batch")
        pattern = rf"batch{re.escape(place)} is a [\w.-]*{name}, which another process cannot be sent"
        assert re.match(pattern, str(caught.value))
    deep = within = []
    for _ in range(100_000):
        within.append([])
        within = within[0]
    with pytest.raises(pickle.PicklingError, match=r"batch is a builtins\.list.*: RecursionError"):
        worker.encode(deep, "batch")


def replace(nested, value):
    """Return nested containers with a value instead of its name."""
    if isinstance(nested, dict):
        return {key: replace(each, value) for key, each in nested.items()}
    if isinstance(nested, (list, tuple)):
        return type(nested)([replace(each, value) for each in nested])
    return value if nested in UNPICKLABLE else nested


def test_a_worker_sends_an_error_for_what_it_cannot_send_and_goes_on():
    special = {1: lambda index: {"x": [index, lambda: 1]}, 3: raise_local}
    batches = iter(load(Numbers(special), collate_fn=list))
    assert next(batches) == [0]
    with pytest.raises(
        pickle.PicklingError, match=r"process 1\.\n(.|\n)*batch\[0\]\[.x.\]\[1\] is a builtins\.function"
    ):
        next(batches)
    assert next(batches) == [2]
    with pytest.raises(RuntimeError, match="Caught LocalError in DataLoader worker process 1"):
        next(batches)
    assert [*batches] == [[4], [5]]


def test_an_index_that_cannot_be_pickled_and_a_batch_that_cannot_be_read_are_errors():
    with pytest.raises(pickle.PicklingError, match=r"the sampler's index\[0\] is a builtins\.function"):
        iter(load(Numbers(), sampler=[lambda: 1]))
    batches = iter(load(Numbers({0: lambda index: Unreadable()}), collate_fn=list))
    with pytest.raises(ValueError, match="invalid literal for int"):
        next(batches)
    assert next(batches) == [1]


def test_an_iterator_that_goes_in_a_worker_of_another_loader_leaves_its_workers_alone():
    outer = iter(load(Numbers(), prefetch_factor=1))
    inner = load(Numbers({0: lambda index: outer._close() or 7}), persistent_workers=False)
    assert [int(each) for each in inner] == [7, 1, 2, 3, 4, 5]
    assert [int(each) for each in outer] == [0, 1, 2, 3, 4, 5]


class Unreadable:
    def __reduce__(self):
        return int, ("no number",)


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
