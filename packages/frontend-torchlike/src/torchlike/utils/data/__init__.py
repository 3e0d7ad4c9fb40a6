"""Data sets, the order of their samples, and batches of them (source: ``torch.utils.data``)."""

from __future__ import annotations

from functools import partial
from typing import Final

from ...names.docstrings import complete
from ...names.lazy_names import load_names

_NAMES: Final = {
    "collation": "default_collate default_convert",
    "dataloader": "DataLoader",
    "dataset": "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset random_split",
    "distributed": "DistributedSampler",
    "fetching": "",
    "pinning": "",
    "sampler": "BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler",
    "worker": "WorkerInfo get_worker_info",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES, partial(complete, namespace="utils.data"))
