"""Schedules of learning rates (source: ``torch.optim.lr_scheduler``); each is imported when first used."""

from __future__ import annotations

from functools import partial
from typing import Final

from ...names.docstrings import complete
from ...names.lazy_names import load_names

_NAMES: Final = {
    "annealing": "CosineAnnealingLR CosineAnnealingWarmRestarts",
    "cycles": "CyclicLR OneCycleLR",
    "factors": "ConstantLR ExponentialLR LambdaLR LinearLR MultiStepLR MultiplicativeLR PolynomialLR StepLR",
    "joined": "ChainedScheduler SequentialLR",
    "plateau": "ReduceLROnPlateau",
    "scheduler": (
        "EPOCH_DEPRECATION_WARNING LRScheduler _LRScheduler _enable_get_lr_call _format_param _initial_mode"
        " _param_groups_val_list _update_param_group_val _warn_get_lr_called_within_step"
    ),
}
_listed, __getattr__, __dir__ = load_names(__name__, _NAMES, partial(complete, namespace="optim.lr_scheduler"))
__all__ = [name for name in _listed if not name.startswith(("_", "EPOCH"))]
