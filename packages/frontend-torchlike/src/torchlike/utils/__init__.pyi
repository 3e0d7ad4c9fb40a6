"""Tools around tensors and networks (source: ``torch.utils``); each part is imported when first used.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .backend_registration import generate_methods_for_privateuse1_backend as generate_methods_for_privateuse1_backend
from .backend_registration import rename_privateuse1_backend as rename_privateuse1_backend
from . import backend_registration as backend_registration
from . import checkpoint as checkpoint
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import flop_counter as flop_counter
from . import hooks as hooks
from . import module_tracker as module_tracker
from torchlike.values import pytree as pytree
from .swapping import set_module as set_module
from .swapping import swap_tensors as swap_tensors
from . import swapping as swapping
from . import tensorboard as tensorboard
from . import weak as weak
__all__ = [
    "generate_methods_for_privateuse1_backend",
    "rename_privateuse1_backend",
    "set_module",
    "swap_tensors",
]
