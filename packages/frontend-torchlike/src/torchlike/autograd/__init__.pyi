"""Gradients (source: ``torch.autograd``): grad mode, backward, ``grad``, custom functions, forward mode and checks.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from ..history import Node as Node
from ..history import RemovableHandle as RemovableHandle
from ..history import enable_grad as enable_grad
from ..history import grad_mode as grad_mode
from ..history import inference_mode as inference_mode
from ..history import is_grad_enabled as is_grad_enabled
from ..history import is_inference_mode_enabled as is_inference_mode_enabled
from ..history import no_grad as no_grad
from ..history import set_grad_enabled as set_grad_enabled
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from . import anomaly_mode as anomaly_mode
from . import forward_ad as forward_ad
from .function import Function as Function
from . import function as function
from torchlike.levels import functional as functional
from .gradients import backward as backward
from .gradients import grad as grad
from . import gradients as gradients
from . import graph as graph
from .multithreading import is_multithreading_enabled as is_multithreading_enabled
from .multithreading import set_multithreading_enabled as set_multithreading_enabled
from . import multithreading as multithreading
from torchlike.testing.numerical_check import GradcheckError as GradcheckError
from torchlike.testing.numerical_check import gradcheck as gradcheck
from torchlike.testing.numerical_check import gradgradcheck as gradgradcheck
from torchlike.testing import numerical_check as numerical_check
from .variable import Variable as Variable
from . import variable as variable
__all__ = [
    "Function",
    "GradcheckError",
    "Node",
    "RemovableHandle",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
