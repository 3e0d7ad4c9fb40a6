"""Schedules of learning rates (source: ``torch.optim.lr_scheduler``); each is imported when first used.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .annealing import CosineAnnealingLR as CosineAnnealingLR
from .annealing import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from . import annealing as annealing
from .cycles import CyclicLR as CyclicLR
from .cycles import OneCycleLR as OneCycleLR
from . import cycles as cycles
from .factors import ConstantLR as ConstantLR
from .factors import ExponentialLR as ExponentialLR
from .factors import LambdaLR as LambdaLR
from .factors import LinearLR as LinearLR
from .factors import MultiStepLR as MultiStepLR
from .factors import MultiplicativeLR as MultiplicativeLR
from .factors import PolynomialLR as PolynomialLR
from .factors import StepLR as StepLR
from . import factors as factors
from .joined import ChainedScheduler as ChainedScheduler
from .joined import SequentialLR as SequentialLR
from . import joined as joined
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from . import plateau as plateau
from .scheduler import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from .scheduler import LRScheduler as LRScheduler
from .scheduler import _LRScheduler as _LRScheduler
from .scheduler import _enable_get_lr_call as _enable_get_lr_call
from .scheduler import _format_param as _format_param
from .scheduler import _initial_mode as _initial_mode
from .scheduler import _param_groups_val_list as _param_groups_val_list
from .scheduler import _update_param_group_val as _update_param_group_val
from .scheduler import _warn_get_lr_called_within_step as _warn_get_lr_called_within_step
from . import scheduler as scheduler
__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
