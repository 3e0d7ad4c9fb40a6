"""Random numbers that JAX draws on the device, by the seed and the offset of its generator."""

from .kernels import DRAWS, KERNELS
from .keys import Engine, ProgramDraws, Source, following_draws, restart_draws

__all__ = ["DRAWS", "KERNELS", "Engine", "ProgramDraws", "Source", "following_draws", "restart_draws"]
