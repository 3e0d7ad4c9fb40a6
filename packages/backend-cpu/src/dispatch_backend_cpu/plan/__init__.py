"""Plans for what a pipeline has recorded: chains of element-wise operators run together, tile by tile.

`tape` writes down which ufuncs a kernel calls, by running its formula on symbols; `lowering` says which formula that is;
`groups` puts neighbouring nodes onto one tape; `space` cuts what they compute into tiles; `code` makes the function that
runs a tape, and `compiled` the one that Numba compiles where it is installed.
"""

from __future__ import annotations

from .groups import plan

__all__ = ["plan"]
