"""The function that runs a tape: its source, written for one structure, and the buffers that it works in.

Note [Numbers are remembered]
    What a chain computes of numbers alone is kept from run to run: mostly they are the same as the last time.

Note [Two forms]
    Small values are computed whole, one ufunc after the other, each into memory that NumPy provides: the call is what
    counts. Large ones are computed tile by tile in two or three buffers that stay in the cache, and only what is kept
    gets memory of its own: what counts is how much memory is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

import numpy as np

from dispatch_aten.shapes import TensorMeta, contiguous_strides
from dispatch_core.pipelines.program import Value

from ..arrays import Array, check_writable, empty_strided, numpy_dtype
from ..fp_errors import ignore_fp_errors
from ..ops.fast_paths import INTO
from ..output_specs import OutputSpec, conform
from .compiled import can_compile, is_available, is_literal, runs_before
from .compiled import loop as compiled_loop
from .folds import LONGEST_ROW, Fold, halves, leaves, total
from .space import Space, Tile, make_space
from .tape import Call, Symbol

__all__ = ["TILE", "WHOLE", "Fold", "Work", "function"]

#: The elements of a tile.
TILE: Final = 32768
#: Up to so many elements values are computed whole.
WHOLE: Final = 16384


@dataclass(frozen=True, slots=True)
class Work:
    """What a group computes."""

    calls: list[Call]
    shape: tuple[int, ...]
    #: The arrays and numbers that are read, by index.
    given: dict[int, Value]
    #: What is stored, and the symbol that it is at the end.
    stored: dict[Value, Symbol]
    #: Which of these are arrays that are there before.
    targets: frozenset[Value]
    fold: Fold | None

    def space(self) -> Space:
        """Return the space of the tiles."""
        arrays = [value for value in self.given.values() if value.number is None]
        stored = list(self.stored)
        if self.fold is not None and not stored:
            stored = [self.fold.value]
        space = make_space(self.shape, stored, arrays)
        by_rows = self.fold is not None and not self.fold.over_all
        return replace(space, is_flat=False) if by_rows else space


def function(work: Work) -> Callable[[list[Any]], None]:
    """Make the function that runs ``work`` on the list of a plan's values."""
    space = work.space()
    writer = _Whole(work) if space.size <= WHOLE or not work.shape else _Tiled(work, space)
    run: Callable[[list[Any]], None] = ignore_fp_errors(writer.made())
    limit = runs_before()
    jit = limit and work.fold is None and work.shape and space.is_flat and is_available() and can_compile(work.calls)
    return _compiled_later(run, work, space, limit) if jit else run


def _compiled_later(
    run: Callable[[list[Any]], None], work: Work, space: Space, limit: int
) -> Callable[[list[Any]], None]:
    """Make a function that compiles the work once it has been called ``limit`` times; see Note [When it is compiled]."""
    left = limit
    fast: Callable[[list[Any]], None] | None = None

    def either(values: list[Any]) -> None:
        nonlocal left, fast
        if fast is not None:
            try:
                fast(values)
            except TypeError:
                pass  # Arrays that were not compiled for: read-only or not aligned. Nothing has run.
            else:
                return
        elif left > 0:
            left -= 1
            if not left:
                fast = _Compiled(work, space).made()
        run(values)

    return either


class _Writer:
    """What the two forms of source have in common."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self.names: dict[Symbol, str] = {}
        self._memory: list[Any] = []
        #: The place of the last call that reads a symbol; beyond all calls for what is read afterwards.
        self.last: dict[Symbol, int] = {}
        for place, call in enumerate(work.calls):
            for each in call.inputs:
                self.last[each] = place
        for symbol in (*work.stored.values(), *([work.fold.symbol] if work.fold else ())):
            self.last[symbol] = len(work.calls)

    def made(self) -> Callable[[list[Any]], None]:
        """Compile the source."""
        self.write()
        source = "\n    ".join(["def run(v):", *self.lines, "return None"])
        self.scope["memory"] = self._memory
        exec(compile(source, "<planned chain>", "exec"), self.scope)  # noqa: S102  # the source is written here
        run: Callable[[list[Any]], None] = self.scope["run"]
        return run

    def write(self) -> None:
        raise NotImplementedError

    def constant(self, value: Any) -> str:
        """Give the name of something that the function knows."""
        name = getattr(value, "__name__", "") if isinstance(value, np.ufunc) or callable(value) else ""
        name = name if name.isidentifier() and self.scope.get(name, value) is value else f"k{len(self.scope)}"
        self.scope[name] = value
        return name

    def name(self, symbol: Symbol) -> str:
        """Give the name under which a symbol's value is to be found."""
        known = self.names.get(symbol)
        if known is None:
            if symbol.constant is not None:
                known = self.constant(symbol.constant)
            else:
                assert symbol.source is not None
                known = f"v[{symbol.source}]"
            self.names[symbol] = known
        return known

    def check_targets(self) -> None:
        """Refuse what cannot be written to before anything is."""
        for value in self.work.targets:
            self.lines.append(f"{self.constant(check_writable)}(v[{value.index}])")

    def scalar(self, call: Call, name: str) -> None:
        """Write a call whose operands have no dimensions; see Note [Numbers are remembered]."""
        place = len(self._memory)
        self._memory.append(((None,) * len(call.inputs), None))
        inputs = [self.name(each) for each in call.inputs]
        compute = _number_of(call)
        made = self.constant(partial(_remembered, self._memory, place, compute))
        same = " and ".join(f"c[{index}] is {each}" for index, each in enumerate(inputs))
        self.lines.append(f"c, {name} = memory[{place}]")
        self.lines.append(f"if not ({same}): {name} = {made}({', '.join(inputs)})")

    def expression(self, call: Call) -> str:
        """Give the source of a call that makes an array of its own."""
        names = [self.name(each) for each in call.inputs]
        if call.kind == "ufunc":
            return f"{self.constant(call.fn)}({', '.join(names)})"
        if call.kind == "where":
            return f"{self.constant(np.where)}({', '.join(names)})"
        if call.kind == "choose":
            return f"({names[1]} if {names[0]} else {names[2]})"
        if call.kind == "cast":
            array = f"{self.constant(np.asarray)}({names[0]})" if call.inputs[0].is_scalar else names[0]
            return f"{array}.astype({self.constant(call.out.dtype)})"
        return f"{names[0]}.copy()"

    def into(self, call: Call, out: str) -> list[str]:
        """Give the source of a call that writes its result to ``out``."""
        names = [self.name(each) for each in call.inputs]
        copy = self.constant(np.copyto)
        if call.kind == "ufunc":
            return [f"{self.constant(INTO.get(call.fn, call.fn))}({', '.join(names)}, out={out})"]
        if call.kind == "where":
            return [f"{copy}({out}, {names[2]})", f"{copy}({out}, {names[1]}, where={names[0]})"]
        if call.kind == "choose":
            return [f"{copy}({out}, {names[1]} if {names[0]} else {names[2]})"]
        return [f'{copy}({out}, {names[0]}, casting="unsafe")']


def _conforming(value: Value) -> Callable[[Any], Array]:
    """Make the function that gives an array the layout of ``value``."""
    return partial(conform, spec=OutputSpec(TensorMeta(value.shape, value.strides, value.dtype)))


def _number_of(call: Call) -> Callable[..., Any]:
    """Return what computes a call whose operands have no dimensions."""
    if call.kind == "ufunc":
        return cast("Callable[..., Any]", call.fn)
    if call.kind in ("where", "choose"):
        return np.where
    dtype = call.out.dtype
    return lambda number: np.asarray(number).astype(dtype)


def _remembered(memory: list[Any], place: int, compute: Callable[..., Any], *inputs: Any) -> Array:
    """Compute a number, unless it is the one of the last time."""
    before, made = memory[place]
    for a, b in zip(before, inputs, strict=True):
        # A float may be another object; zeros are told apart by their signs.
        if a is not b and not (type(a) is type(b) is float and a == b != 0):
            made = np.asarray(compute(*inputs))
            break
    memory[place] = inputs, made
    return made


class _Whole(_Writer):
    """Everything at once, one ufunc after the other."""

    def write(self) -> None:
        work = self.work
        self.check_targets()
        targets = {symbol: value for value, symbol in work.stored.items() if value in work.targets}
        free: list[str] = []
        for place, call in enumerate(work.calls):
            done = [each for each in dict.fromkeys(call.inputs) if self.last[each] == place and each in self.names]
            reusable = [self.names[each] for each in done if self.names[each].startswith("t")]
            if call.out not in self.last:
                continue
            if call.out in targets and not (call.kind == "where" and work.shape):
                out = f"v[{targets[call.out].index}]"
                self.lines += self.into(call, out)
            elif call.out in targets:
                out = f"v[{targets[call.out].index}]"
                self.lines.append(f"{self.constant(np.copyto)}({out}, {self.expression(call)})")
            else:
                out = (reusable or free or [f"t{len(self.lines)}"])[-1]
                if call.out.is_scalar:
                    out = f"s{len(self.lines)}"
                    self.scalar(call, out)
                else:
                    self.lines.append(f"{out} = {self.expression(call)}")
            free = [each for each in (*free, *reusable) if each != out]
            self.names[call.out] = out
        for value, symbol in work.stored.items():
            if value in work.targets:
                continue
            fix = self.constant(_conforming(value))
            steps = tuple(stride * numpy_dtype(value.dtype).itemsize for stride in value.strides)
            name = self.name(symbol)
            if value.shape and not symbol.is_scalar:
                self.lines.append(f"v[{value.index}] = {name} if {name}.strides == {steps} else {fix}({name})")
            else:
                self.lines.append(f"v[{value.index}] = {fix}({name})")
        if work.fold is not None:
            self._fold(work.fold)

    def _fold(self, fold: Fold) -> None:
        axis = None if fold.over_all else len(fold.value.shape) - 1
        name = self.name(fold.symbol)
        # The layout that the kernel would see.
        steps = tuple(stride * numpy_dtype(fold.value.dtype).itemsize for stride in fold.value.strides)
        fix = self.constant(_conforming(fold.value))
        self.lines.append(f"r = {name} if {name}.strides == {steps} else {fix}({name})")
        self.lines.append(f"r = {self.constant(fold.fold)}(r, {axis})")
        if fold.divisor is not None:
            self.lines.append(f"r = r / {self.constant(fold.divisor)}")
        made = self.constant(_conforming(fold.result))
        self.lines.append(f"v[{fold.result.index}] = {made}(r)")


class _Compiled(_Writer):
    """One compiled loop."""

    def __init__(self, work: Work, space: Space) -> None:
        super().__init__(work)
        self.space = space

    def write(self) -> None:
        work = self.work
        self.check_targets()
        read: dict[Symbol, str] = {}
        scalars: dict[Symbol, str] = {}
        given: list[str] = []
        numbers: list[str] = []
        for place, call in enumerate(work.calls):
            if call.out.is_scalar:
                self.names[call.out] = f"s{place}"
                self.scalar(call, f"s{place}")
        for symbol in dict.fromkeys(each for call in work.calls if not call.out.is_scalar for each in call.inputs):
            value = None if symbol.source is None else work.given[symbol.source]
            if value is not None and value.shape == work.shape:
                read[symbol] = f"a{len(read)}"
                given.append(self.row(f"v[{value.index}]", value))
            elif (symbol.is_scalar or value is not None) and not is_literal(symbol):
                scalars[symbol] = f"c{len(scalars)}"
                numbers.append(f"{self.name(symbol)}{'' if symbol.is_scalar else '.reshape(())'}[()]")
        stored: dict[Symbol, str] = {}
        seen = {symbol.source: name for symbol, name in read.items()}
        for value, symbol in work.stored.items():
            if value in work.targets and value.index in seen:
                # One argument for what is read and written: the fewer they are, the sooner LLVM sees that they lie apart.
                stored[symbol] = seen[value.index]
                continue
            stored[symbol] = f"o{len(stored)}"
            if value in work.targets:
                given.append(self.row(f"v[{value.index}]", value))
                continue
            make = partial(empty_strided, value.shape, value.strides, numpy_dtype(value.dtype))
            self.lines.append(f"r{value.index} = {self.constant(make)}()")
            given.append(self.row(f"r{value.index}", value))
        loop = self.constant(compiled_loop(work.calls, read, scalars, stored))
        self.lines.append(f"{loop}({', '.join([*given, *numbers])})")
        self.lines += [f"v[{value.index}] = r{value.index}" for value in work.stored if value not in work.targets]

    def row(self, source: str, value: Value) -> str:
        """Give the source of an array seen as one row."""
        if not self.space.in_order:
            source = f"{source}.transpose({self.space.order})"
        return source if len(value.shape) == 1 else f"{source}.reshape(-1)"


class _Tiled(_Writer):
    """Tile by tile, in buffers."""

    def __init__(self, work: Work, space: Space) -> None:
        super().__init__(work)
        self.space = space
        self._body: list[str] = []
        self._buffers: list[Any] = []

    def write(self) -> None:
        work, lines = self.work, self.lines
        self.check_targets()
        fold = work.fold
        by_halves = (
            fold is not None
            and fold.over_all
            and self.space.is_flat
            and self.space.in_order
            and self.space.size <= LONGEST_ROW
        )
        tree = halves(0, self.space.size, TILE)
        tiles: list[Tile]
        if by_halves:
            tiles = [((slice(*piece),), (piece[1] - piece[0],), piece[1] - piece[0]) for piece in leaves(tree)]
        else:
            tiles = self.space.tiles(TILE)
        if self.space.is_flat:
            tiles = [(index[0], shape, size) for index, shape, size in tiles]
        whole_rows = all(len(shape) > 1 for _, shape, _ in tiles) and self.space.in_order and not self.space.is_flat
        fused = fold is not None and (by_halves or (not fold.over_all and whole_rows))
        arrays: dict[Symbol, str] = {}
        for symbol in dict.fromkeys(each for call in work.calls for each in call.inputs):
            value = None if symbol.source is None else work.given[symbol.source]
            if value is not None and value.number is None and value.shape:
                self._see(symbol, value, arrays)
        for place, call in enumerate(work.calls):
            if call.out.is_scalar and call.out in self.last:
                self.names[call.out] = f"s{place}"
                self.scalar(call, f"s{place}")
        outs = self._outputs(fold if fold is not None and not fused else None)
        self._calls(outs)
        if fused and fold is not None:
            self._fold_tile(fold)
        most = max(size for _, _, size in tiles)
        lines.append(f"blocks, b = {self.constant(partial(_taken, self._buffers, most))}()")
        lines.append("now = None")
        if by_halves:
            lines.append("sums = []")
        lines.append(f"for i, shape, size in {self.constant(tiles)}:")
        lines.append("    if shape is not now:")
        lines.append("        now = shape")
        for number in range(len(self._buffers)):
            lines.append(f"        t{number} = b[{number}][:size].reshape(shape)")
        lines += ["    " + line for line in self._sliced(arrays) + self._body]
        lines.append(f"{self.constant(_given_back)}(blocks)")
        for value in work.stored:
            if value not in work.targets:
                lines.append(f"v[{value.index}] = o{value.index}")
        if fold is not None:
            self._fold_end(fold, fused=fused, tree=tree)

    def _see(self, symbol: Symbol, value: Value, arrays: dict[Symbol, str]) -> None:
        """Bring an array into the shape of the space."""
        source = f"v[{value.index}]"
        if value.shape != self.space.shape:
            if all(size == 1 for size in value.shape):
                self.lines.append(f"a{value.index} = {source}.reshape(())")
                self.names[symbol] = f"a{value.index}"
                return
            source = f"{self.constant(np.broadcast_to)}({source}, {self.space.shape})"
        self.lines.append(f"a{value.index} = {self._seen(source)}")
        arrays[symbol] = f"a{value.index}"

    def _seen(self, source: str) -> str:
        if not self.space.in_order:
            source = f"{source}.transpose({self.space.order})"
        if self.space.is_flat and len(self.space.shape) != 1:
            source = f"{source}.reshape(-1)"
        return source

    def _outputs(self, fold: Fold | None) -> dict[Symbol, str]:
        """Make the arrays that are stored; what is reduced afterwards has to be stored as well."""
        outs: dict[Symbol, str] = {}
        stored = dict(self.work.stored)
        if fold is not None:
            stored.setdefault(fold.value, fold.symbol)
        for value, symbol in stored.items():
            if value in self.work.targets:
                source = f"v[{value.index}]"
            else:
                make = partial(empty_strided, value.shape, value.strides, numpy_dtype(value.dtype))
                source = f"o{value.index}"
                self.lines.append(f"{source} = {self.constant(make)}()")
            self.lines.append(f"y{value.index} = {self._seen(source)}")
            outs[symbol] = f"y{value.index}"
        return outs

    def _sliced(self, arrays: dict[Symbol, str]) -> list[str]:
        lines = [f"x{name} = {name}[i]" for symbol, name in arrays.items()]
        return lines + [f"x{name} = {name}[i]" for name in self._out_names]

    def _calls(self, outs: dict[Symbol, str]) -> None:
        work = self.work
        self._out_names = list(outs.values())
        for symbol in dict.fromkeys(each for call in work.calls for each in call.inputs):
            if symbol.source is not None and symbol not in self.names:
                value = work.given[symbol.source]
                self.names[symbol] = (
                    f"xa{symbol.source}" if value.number is None and value.shape else f"v[{symbol.source}]"
                )
        targets = {f"y{value.index}" for value in work.targets}
        free: dict[Any, list[int]] = {}
        held: dict[Symbol, int] = {}
        for place, call in enumerate(work.calls):
            out = call.out
            if out.is_scalar or out not in self.last:
                continue
            stored = f"x{outs[out]}" if out in outs else ""
            # A choice is written in two steps, and what it reads must still be there at the second.
            if stored and not (call.kind == "where" and outs[out] in targets):
                name = stored
            else:
                # Another buffer than the operands': NumPy is slower where it writes to what it reads.
                unused = free.setdefault(out.dtype, [])
                if not unused:
                    unused.append(len(self._buffers))
                    self._buffers.append(out.dtype)
                held[out] = unused.pop()
                name = f"t{held[out]}"
            self._body += self.into(call, name)
            if stored and name != stored:
                self._body.append(f"{self.constant(np.copyto)}({stored}, {name})")
                free[out.dtype].append(held.pop(out))
            self.names[out] = stored or name
            for each in dict.fromkeys(call.inputs):
                if self.last[each] == place and each in held:
                    free[each.dtype].append(held.pop(each))

    def _fold_tile(self, fold: Fold) -> None:
        name = self.name(fold.symbol)
        reduce = self.constant(fold.fold)
        if fold.over_all:
            self._body.append(f"sums.append({reduce}({name}))")
            return
        make = partial(
            empty_strided,
            fold.value.shape[:-1],
            contiguous_strides(fold.value.shape[:-1]),
            numpy_dtype(fold.result.dtype),
        )
        self.lines.append(f"f = {self.constant(make)}()")
        self._body.append(f"{reduce}({name}, -1, None, f[i])")

    def _fold_end(self, fold: Fold, *, fused: bool, tree: Any) -> None:
        lines = self.lines
        if not fused:
            axis = None if fold.over_all else len(fold.value.shape) - 1
            source = f"{'v[%d]' if fold.value in self.work.targets else 'o%d'}" % fold.value.index
            lines.append(f"r = {self.constant(fold.fold)}({source}, {axis})")
        elif fold.over_all:
            lines.append(f"r = {self.constant(total)}({self.constant(tree)}, sums[::-1])")
        else:
            lines.append("r = f")
        if fold.divisor is not None:
            lines.append(f"r = r / {self.constant(fold.divisor)}")
        made = self.constant(_conforming(fold.result))
        lines.append(f"v[{fold.result.index}] = {made}(r)")


#: How many sets of buffers are kept for later.
_POOLED: Final = 4
#: Sets of buffers that no chain is using.
_POOL: Final[list[list[Array]]] = []
#: Bytes of a cache line, and of the widest elements.
_LINE: Final = 64
_WIDEST: Final = 16


def _taken(dtypes: list[Any], most: int) -> tuple[list[Array], list[Array]]:
    """Take buffers out of the pool: what is to be given back, and arrays of ``most`` elements in them."""
    try:
        blocks = _POOL.pop()
    except IndexError:
        blocks = []
    while len(blocks) < len(dtypes):
        blocks.append(_block(len(blocks)))
    return blocks, [block[: most * dtype.itemsize].view(dtype) for block, dtype in zip(blocks, dtypes, strict=False)]


def _block(number: int) -> Array:
    """Make a buffer that begins with a cache line, and elsewhere in its page than the others and the arrays of NumPy.

    Where what is read and what is written lie in the same places of their pages, the processor takes one for the other
    and waits.
    """
    page = 4096
    size = TILE * _WIDEST
    raw = np.empty(size + 2 * page, np.uint8)
    start = (1344 * (number + 1) // _LINE * _LINE - raw.__array_interface__["data"][0]) % page
    return raw[start : start + size]


def _given_back(blocks: list[Array]) -> None:
    if len(_POOL) < _POOLED:
        _POOL.append(blocks)
