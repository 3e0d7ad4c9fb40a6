"""Optimizers (source: ``torch.optim``); each is imported when first used."""

from __future__ import annotations

from functools import partial
from typing import Final

from ..names.docstrings import complete
from ..names.lazy_names import load_names

_NAMES: Final = {
    "adagrad": "Adadelta Adagrad RMSprop",
    "adam": "Adam AdamW Adamax NAdam RAdam",
    "averages": "ASGD",
    "factored": "Adafactor Muon",
    "lbfgs": "LBFGS",
    "lr_scheduler": "",
    "optimizer": "Optimizer",
    "sgd": "SGD Rprop",
    "sparse_adam": "SparseAdam",
    "swa_utils": "",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES, partial(complete, namespace="optim"))
