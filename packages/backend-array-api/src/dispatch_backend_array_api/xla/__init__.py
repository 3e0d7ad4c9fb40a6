"""Programs of JAX: a plan's nodes as compiled functions, with their numbers and error words."""

from .planner import Compiled, make_planner, write_slice

__all__ = ["Compiled", "make_planner", "write_slice"]
