"""Data sets, orders, batches and workers, against torch's: the same samples in the same order from the same seed."""

import itertools
import random
import warnings
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.utils.data

import torchlike
import torchlike.utils.data

FRONTENDS = (torchlike, torch)


class Point(NamedTuple):
    x: int
    y: float


def plain(value):
    """Return a batch as Python's values, with the types of its containers."""
    if hasattr(value, "detach"):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(inner) for inner in value]
    return value


def both(function):
    """Return the outcomes of a function of a frontend, its refusal included, which must be equal."""
    found = []
    for frontend in FRONTENDS:
        frontend.manual_seed(7)
        try:
            found.append(plain(function(frontend, frontend.utils.data)))
        except Exception as error:  # noqa: BLE001  # both must raise the same
            found.append((type(error), str(error).partition("\nHint: ")[0]))
    assert found[0] == found[1]
    return found[0]


SAMPLES = [
    [1, 2, 3],
    [1.5, 2.5],
    ["a", "b"],
    [b"a", b"b"],
    [True, False],
    [(1, 2.0), (3, 4.0)],
    [[1, 2], [3, 4]],
    [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    [OrderedDict(a=1), OrderedDict(a=2)],
    [Point(1, 2.0), Point(3, 4.0)],
    [np.ones(2), np.zeros(2)],
    [np.float32(1), np.float32(2)],
    [np.array("a"), np.array("b")],
    [[1, 2], [3]],
    [None, None],
    [object(), object()],
]


@pytest.mark.parametrize("batch", SAMPLES[:-1], ids=repr)
def test_batches_are_collated_and_converted_alike(batch):
    both(lambda f, data: data.default_collate(batch))
    both(lambda f, data: data.default_convert(batch))


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"drop_last": True, "shuffle": True}, {"batch_size": None}])
def test_orders_are_torchs_from_the_same_seed(options):
    def run(f, data):
        loader = data.DataLoader(data.TensorDataset(f.arange(11), f.arange(11.0)), **{"batch_size": 4} | options)
        return [list(loader) for _ in range(2)], len(loader), f.rand(2)

    both(run)


def test_samplers_draw_torchs_indices():
    both(lambda f, d: list(d.RandomSampler(range(40), replacement=True, num_samples=70)))
    both(lambda f, d: list(d.RandomSampler(range(5), num_samples=12)))
    both(lambda f, d: list(d.RandomSampler(range(5), generator=f.Generator().manual_seed(3))))
    both(lambda f, d: list(d.SubsetRandomSampler([4, 6, 8])))
    both(lambda f, d: [list(d.BatchSampler(range(7), 3, last)) for last in (True, False)])
    for options in itertools.product([3], range(3), [True], [5], [True, False]):
        both(lambda f, d, options=options: list(d.DistributedSampler(range(10), *options)))
    both(lambda f, d: list(d.DistributedSampler(range(2), 7, 3, shuffle=False)))
    if hasattr(torchlike, "multinomial"):
        both(lambda f, d: list(d.WeightedRandomSampler([0.1, 0.5, 0.4], 6)))


def test_data_sets_are_split_and_joined_alike():
    def split(f, data):
        parts = data.random_split(data.TensorDataset(f.arange(10)), [0.5, 0.3, 0.2])
        return [part.indices for part in parts], parts[0][1], parts[0].__getitems__([0, 1])

    both(split)
    both(lambda f, d: [part.indices for part in d.random_split(range(7), [3, 4], f.Generator().manual_seed(1))])
    both(lambda f, d: d.random_split(range(7), [3, 5]))
    both(lambda f, d: [(d.ConcatDataset([range(3), range(10, 12)])[at]) for at in (0, 3, -1)])
    both(lambda f, d: d.ConcatDataset([range(3)])[-4])
    both(lambda f, d: d.StackDataset(range(3), range(3, 6)).__getitems__([0, 2]))
    both(lambda f, d: d.StackDataset(a=range(3), b=range(3, 6))[1])
    both(lambda f, d: d.StackDataset(range(3), range(4)))
    both(lambda f, d: d.TensorDataset(f.ones(2), f.ones(3)))


BAD = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"persistent_workers": True},
    {"sampler": [1], "shuffle": True},
    {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": 2.5},
    {"num_workers": 1, "multiprocessing_context": "nothing"},
    {"multiprocessing_context": "fork"},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_options_that_exclude_each_other_are_refused_in_torchs_words(options):
    assert isinstance(both(lambda f, data: data.DataLoader(range(3), **options))[0], type)


def make_squares(f, data):
    class Squares(data.Dataset):
        def __len__(self):
            return 9

        def __getitem__(self, index):
            drawn = random.random(), np.random.rand(), f.rand(1), f.randint(0, 1000, (1,))  # noqa: NPY002  # seeded
            return index**2, data.get_worker_info().id, data.get_worker_info().seed, *drawn

    return Squares()


def make_stream(f, data):
    class Stream(data.IterableDataset):
        def __iter__(self):
            info = data.get_worker_info()
            return iter(range(info.id if info else 0, 7, info.num_workers if info else 1))

    return Stream()


@pytest.mark.parametrize("make", [make_squares, make_stream])
def test_workers_are_seeded_and_give_batches_in_torchs_order(make):
    def run(f, data):
        loader = data.DataLoader(
            make(f, data), 2, shuffle=make is make_squares, num_workers=2, multiprocessing_context="fork"
        )
        return [list(loader) for _ in range(2)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(run)


def test_a_worker_that_fails_raises_the_same_class_here():
    def run(f, data):
        class Bad(data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                return {}[index] if index == 2 else index

        found = []
        loader = data.DataLoader(Bad(), num_workers=1, multiprocessing_context="fork")
        try:
            found += list(loader)
        except KeyError as error:
            found.append(str(error).partition("Original")[0])
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both(run)


def test_states_of_random_numbers_are_torchs_and_go_over():
    for seed, draws in ((5, 3), (0, 1), (7, 700), (3, 0)):
        for frontend in FRONTENDS:
            frontend.manual_seed(seed)
            frontend.randn(draws)
        ours, theirs = torchlike.get_rng_state(), torch.get_rng_state()
        assert ours.dtype is torchlike.uint8 and ours.shape == theirs.shape
        expected = torch.rand(3).tolist(), torch.randn(3).tolist()
        torchlike.manual_seed(99)
        torchlike.set_rng_state(torchlike.from_numpy(theirs.numpy()))
        assert (torchlike.rand(3).tolist(), torchlike.randn(3).tolist()) == expected
        torch.set_rng_state(torch.from_numpy(ours.numpy()))
        assert (torch.rand(3).tolist(), torch.randn(3).tolist()) == expected
