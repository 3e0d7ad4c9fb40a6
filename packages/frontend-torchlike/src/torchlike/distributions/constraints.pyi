"""Sets of values that arguments and samples of distributions lie in (source: ``torch.distributions.constraints``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.constraints import *
from torchlike_distributions.constraints import _Dependent as _Dependent
from torchlike_distributions.constraints import _DependentProperty as _DependentProperty
from torchlike_distributions.constraints import _IndependentConstraint as _IndependentConstraint
from torchlike_distributions.constraints import MixtureSameFamilyConstraint as MixtureSameFamilyConstraint
from torchlike_distributions.constraints import _JoinedConstraint as _JoinedConstraint
from torchlike_distributions.constraints import _Cat as _Cat
from torchlike_distributions.constraints import _Stack as _Stack
from torchlike_distributions.constraints import _Bounded as _Bounded
from torchlike_distributions.constraints import _Interval as _Interval
from torchlike_distributions.constraints import _HalfOpenInterval as _HalfOpenInterval
from torchlike_distributions.constraints import _IntegerInterval as _IntegerInterval
from torchlike_distributions.constraints import _IntegerGreaterThan as _IntegerGreaterThan
from torchlike_distributions.constraints import _GreaterThan as _GreaterThan
from torchlike_distributions.constraints import _GreaterThanEq as _GreaterThanEq
from torchlike_distributions.constraints import _LessThan as _LessThan
from torchlike_distributions.constraints import _Multinomial as _Multinomial
from torchlike_distributions.constraints import _Boolean as _Boolean
from torchlike_distributions.constraints import _OneHot as _OneHot
from torchlike_distributions.constraints import _Real as _Real
from torchlike_distributions.constraints import _Simplex as _Simplex
from torchlike_distributions.constraints import _Square as _Square
from torchlike_distributions.constraints import _Symmetric as _Symmetric
from torchlike_distributions.constraints import _LowerTriangular as _LowerTriangular
from torchlike_distributions.constraints import _LowerCholesky as _LowerCholesky
from torchlike_distributions.constraints import _CorrCholesky as _CorrCholesky
from torchlike_distributions.constraints import _PositiveSemidefinite as _PositiveSemidefinite
from torchlike_distributions.constraints import _PositiveDefinite as _PositiveDefinite
