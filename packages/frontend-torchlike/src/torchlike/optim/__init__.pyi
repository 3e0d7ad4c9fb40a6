"""Optimizers (source: ``torch.optim``); each is imported when first used.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .adagrad import Adadelta as Adadelta
from .adagrad import Adagrad as Adagrad
from .adagrad import RMSprop as RMSprop
from . import adagrad as adagrad
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .adam import Adamax as Adamax
from .adam import NAdam as NAdam
from .adam import RAdam as RAdam
from . import adam as adam
from .averages import ASGD as ASGD
from . import averages as averages
from .factored import Adafactor as Adafactor
from .factored import Muon as Muon
from . import factored as factored
from .lbfgs import LBFGS as LBFGS
from . import lbfgs as lbfgs
from . import lr_scheduler as lr_scheduler
from .optimizer import Optimizer as Optimizer
from . import optimizer as optimizer
from .sgd import SGD as SGD
from .sgd import Rprop as Rprop
from . import sgd as sgd
from .sparse_adam import SparseAdam as SparseAdam
from . import sparse_adam as sparse_adam
from . import swa_utils as swa_utils
__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
]
