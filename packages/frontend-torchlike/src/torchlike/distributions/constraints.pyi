"""Sets of values that arguments and samples of distributions lie in (source: ``torch.distributions.constraints``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.constraints import *
from torchlike_distributions.constraints import _Simple as _Simple
from torchlike_distributions.constraints import _Dependent as _Dependent
from torchlike_distributions.constraints import _Independent as _Independent
from torchlike_distributions.constraints import MixtureSameFamilyConstraint as MixtureSameFamilyConstraint
from torchlike_distributions.constraints import _JoinedConstraint as _JoinedConstraint
from torchlike_distributions.constraints import _Cat as _Cat
from torchlike_distributions.constraints import _Stack as _Stack
from torchlike_distributions.constraints import _Bounded as _Bounded
from torchlike_distributions.constraints import _integer_greater_than as _integer_greater_than
