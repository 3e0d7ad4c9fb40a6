"""Discrete Fourier transforms (source: ``torch.fft``).

>>> import torchlike
>>> torchlike.fft.rfft(torchlike.tensor([1., 0., 0., 0.])).real
tensor([1., 1., 1.])
"""

from __future__ import annotations

from .functions.frequencies import fftfreq, rfftfreq
from .functions.operator_functions import NAMESPACES
from .names.lazy_names import load_table

__all__, __getattr__, __dir__ = load_table(__name__, NAMESPACES["fft"], fftfreq, rfftfreq)
