"""Further samples: of every operator a few of many kinds, drawn by its name, so that all of them together have all.

>>> from dispatch_aten.testing.placing import dtypes_of
>>> [str(sample) for sample in further_samples("sqrt", dtypes_of("cpu"))][:2]
['sqrt(int8[2, 3])  int8', 'sqrt(int16[2, 3])  int16']
"""

from __future__ import annotations

from .calls import SEED, further_samples, large_samples
from .refusals import list_refusals

__all__ = ["SEED", "further_samples", "large_samples", "list_refusals"]
