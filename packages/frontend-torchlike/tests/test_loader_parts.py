"""The inner parts of loaders that libraries build theirs of: iterators, kinds of data sets, fetchers, collation."""

import itertools
import pickle

import numpy as np
import pytest

import torchlike
from torchlike.utils.data import _utils, dataloader
from torchlike.utils.data.dataloader import (
    DataLoader,
    _BaseDataLoaderIter,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from torchlike.utils.failures import ExceptionWrapper


class Stream:
    """A loader of another class, with no more than the iterators read."""

    _IterableDataset_len_called, _auto_collation, drop_last, in_order = None, False, False, True
    _index_sampler, generator, prefetch_factor = itertools.count(), None, 2
    _dataset_kind = _DatasetKind.Iterable
    pin_memory, pin_memory_device, timeout, persistent_workers = False, "", 0, False
    worker_init_fn = multiprocessing_context = None

    def __init__(self, num_workers):
        self.dataset, self.num_workers = self, num_workers

    def collate_fn(self, batch):
        return batch

    def __iter__(self):
        return iter([torchlike.ones(2), torchlike.zeros(1)])


@pytest.mark.parametrize("workers", [0, 1])
def test_iterators_serve_loaders_of_other_classes(workers):
    kind = _MultiProcessingDataLoaderIter if workers else _SingleProcessDataLoaderIter
    found = kind(Stream(workers))
    assert isinstance(found, _BaseDataLoaderIter)
    assert [batch.tolist() for batch in found] == [[1.0, 1.0], [0.0]]


def test_a_loader_is_wrapped_by_its_iterator():
    class Negative(DataLoader):
        def _get_iterator(self):
            return map(torchlike.neg, super()._get_iterator())

    assert [batch.tolist() for batch in Negative(torchlike.arange(3), batch_size=2)] == [[0, -1], [-2]]


def test_settings_are_opened_by_the_mark_that_torch_has():
    loader = DataLoader(torchlike.arange(3))
    with pytest.raises(ValueError, match="batch_sampler attribute should not be set"):
        loader.batch_sampler = None
    loader._DataLoader__initialized = False
    loader.batch_sampler = [[0, 2]]
    loader._DataLoader__initialized = True
    assert [batch.tolist() for batch in loader] == [[0, 2]]


def test_workers_end_when_they_are_told():
    found = iter(DataLoader(torchlike.arange(4), num_workers=1))
    workers = found._workers
    found._shutdown_workers()
    found.__del__()
    assert not any(worker.is_alive() for worker in workers)


def test_fetchers_know_both_kinds_of_data_sets():
    by_index = _DatasetKind.create_fetcher(_DatasetKind.Map, "abc", True, "".join, False)
    assert by_index.fetch([0, 2]) == "ac" and type(by_index) is _utils.fetch._MapDatasetFetcher
    stream = _DatasetKind.create_fetcher(_DatasetKind.Iterable, "abc", True, "".join, True)
    assert stream.fetch([None] * 2) == "ab"
    with pytest.raises(StopIteration):
        stream.fetch([None] * 2)
    assert dataloader.default_collate is _utils.collate.default_collate and _utils.MP_STATUS_CHECK_INTERVAL == 5.0


def test_collation_has_a_function_for_each_type():
    table = _utils.collate.default_collate_fn_map
    assert table[torchlike.Tensor] is _utils.collate.collate_tensor_fn
    assert _utils.collate.collate_tensor_fn([torchlike.ones(2)] * 3).shape == (3, 2)
    assert _utils.collate.np_str_obj_array_pattern.search(np.array(["a"]).dtype.str)
    with pytest.raises(TypeError, match="batch must contain tensors"):
        _utils.collate.default_collate([np.array(["a"])])


def test_seeds_of_workers_are_torchs():
    # From torch.utils.data._utils.worker._generate_state.
    assert _utils.worker._generate_state(2**40 + 17, 3) == EXPECTED


EXPECTED = [946516139, 3429289954, 681341045, 323328356]


def test_containers_are_pinned_as_they_are():
    assert _utils.pin_memory.pin_memory({"a": ["x", b"y"], "b": (1, 2)}) == {"a": ["x", b"y"], "b": [1, 2]}

    class Batch:
        def pin_memory(self):
            return "pinned"

    assert _utils.pin_memory.pin_memory([Batch(), 3]) == ["pinned", 3]


def test_errors_travel():
    for kind in (KeyError, ValueError):
        try:
            raise kind("lost")
        except kind:
            failure = pickle.loads(pickle.dumps(ExceptionWrapper(where="in a thread")))
        with pytest.raises(kind, match=r"Caught .*Error in a thread\.\n[^$]*lost"):
            failure.reraise()
    assert failure.exc_type is ValueError and "lost" in failure.exc_msg
