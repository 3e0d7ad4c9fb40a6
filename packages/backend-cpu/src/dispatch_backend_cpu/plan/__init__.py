"""Plans for recorded programs: chains of element-wise operators run together, tile by tile.

`ops.support.tape` traces the ufuncs that a kernel calls, by running its formula on symbols; `lowering` finds the formula of
a node; `groups` puts neighbouring nodes onto one tape, and `folds` a reduction at their end; a `chain` is the result.
`functions` makes the function that runs it, in one of three forms: `whole`, `tiled` (in the tiles of a `space` and in
`buffers`), or `compiled` by Numba where that is installed; small ones may be one compiled kernel (`native_chain`). `writer`
is the part that their source has in common.
"""

from __future__ import annotations

from .groups import plan

__all__ = ["plan"]
