"""Data sets, the order of their samples, and batches of them (source: ``torch.utils.data``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .collation import default_collate as default_collate
from .collation import default_convert as default_convert
from . import collation as collation
from .dataloader import DataLoader as DataLoader
from . import dataloader as dataloader
from .dataset import ChainDataset as ChainDataset
from .dataset import ConcatDataset as ConcatDataset
from .dataset import Dataset as Dataset
from .dataset import IterableDataset as IterableDataset
from .dataset import StackDataset as StackDataset
from .dataset import Subset as Subset
from .dataset import TensorDataset as TensorDataset
from .dataset import random_split as random_split
from . import dataset as dataset
from .distributed import DistributedSampler as DistributedSampler
from . import distributed as distributed
from . import fetching as fetching
from . import pinning as pinning
from .sampler import BatchSampler as BatchSampler
from .sampler import RandomSampler as RandomSampler
from .sampler import Sampler as Sampler
from .sampler import SequentialSampler as SequentialSampler
from .sampler import SubsetRandomSampler as SubsetRandomSampler
from .sampler import WeightedRandomSampler as WeightedRandomSampler
from . import sampler as sampler
from .worker import WorkerInfo as WorkerInfo
from .worker import get_worker_info as get_worker_info
from . import worker as worker
__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
