"""Random numbers that JAX draws on the device, by the seed and the offset of its generator."""

from .kernels import DRAWS, KERNELS
from .keys import KeyEngine, ProgramDraws, Source, following_draws, restart_draws

__all__ = ["DRAWS", "KERNELS", "KeyEngine", "ProgramDraws", "Source", "following_draws", "restart_draws"]
