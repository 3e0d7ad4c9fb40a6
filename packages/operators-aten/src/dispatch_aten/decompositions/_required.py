"""The demands on a backend's kernel for an operator that nothing composes: dtypes, by the shape rules, and purpose."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import ScalarType, bool_, complex64, float32, int64, uint8
from dispatch_aten.operators import row_of
from dispatch_aten.shapes import RULES, TensorMeta, contiguous
from dispatch_core import FunctionSchema

if TYPE_CHECKING:
    from collections.abc import Iterator

_EACH: Final = (bool_, uint8, int64, float32, complex64)

#: Values for arguments without a default, by their names, and by operator and name where the name alone does not tell.
_VALUES: Final[dict[str, Any]] = {
    "dim": 0,
    "dims": [1, 0],
    "dtype": float32,
    "end": 2,
    "fill_value": 1,
    "forward": True,
    "last_dim_size": 2,
    "normalization": 0,
    "onesided": True,
    "reduce": "sum",
    "shape": [2, 2],
    "size": [2, 2],
    "stable": False,
    "start": 0,
    "step": 1,
    "stride": [2, 1],
    "upper": True,
    "value": 1,
}
_SPECIAL: Final[dict[tuple[str, str], Any]] = {
    ("sum.dim_IntList", "dim"): [0],
    ("_fft_c2c", "dim"): [0],
    ("_fft_c2r", "dim"): [0],
    ("_fft_r2c", "dim"): [0],
}
_SHAPES: Final[dict[tuple[str, str], tuple[int, ...]]] = {
    ("index.Tensor", "indices"): (2,),
    ("index_put", "indices"): (2,),
    ("index_put_", "indices"): (2,),
    ("linalg_ldl_solve", "pivots"): (2,),
}

_PURPOSES: Final = {
    "prims::device_get": "printing, tolist, item, copies to other devices, pickling",
    "prims::device_put": "tensor, to, and whatever the host makes",
    "prims::reshape": "view, reshape, squeeze, unsqueeze, flatten",
    "prims::permute": "transpose, permute, t, movedim",
    "prims::slice": "indexing by numbers and slices, split, chunk, diagonal",
    "prims::broadcast_to": "expand, and operands of kernels that do not broadcast",
    "empty_strided": "every factory",
    "empty.memory_format": "every factory",
    "as_strided": "every view",
    "copy_": "clone, conversion, every in-place and out= operator, cat",
    "copy": "clone, conversion, every in-place and out= operator",
    "fill_.Scalar": "full, ones, zeros, every operator with a number",
    "fill.Scalar": "full, ones, zeros, every operator with a number",
    "index_put_": "assignment by index, scatter, gradients of indexing",
    "index_put": "assignment by index and slice, cat, scatter, gradients of indexing",
    "index.Tensor": "indexing by arrays, gather, embedding, unfold and other windows",
    "add.Tensor": "add, sub, and their forms with numbers",
    "mul.Tensor": "neg, square, logical_and; with sums mm, bmm, linear",
    "div.Tensor": "reciprocal, mean, var",
    "le.Tensor": "every other comparison, isnan; with where.self abs, maximum, clamp, relu",
    "where.self": "masked_fill, tril, derivatives of functions with a kink",
    "sum.dim_IntList": "sum, mean, any, all, gradients of broadcast arguments",
    "amax": "amin, max, min, argmax, argmin",
    "exp": "sigmoid, softmax, logsumexp, most losses",
    "log": "log_softmax, logsumexp, most losses",
}


_TEXTS: Final = {
    "index.Tensor": "any; int64, and bool and uint8 for masks -> the first array's",
    "nonzero": "any -> int64",
    "prims::device_get": "any -> NumPy's array of it",
    "prims::device_put": "a NumPy array of any, without dimensions or read-only, too",
    "view.dtype": "any, and any to view it as; those of one size, at least",
}
"""What the rules do not tell."""


class RequiredKernel(str):
    """An operator that a backend has to register a kernel for: its name, and the demands on the kernel.

    The text is the name as `Library.impl` takes it; one of ``prims`` has its namespace before it.

    >>> kernel = RequiredKernel("le.Tensor")
    >>> kernel.namespace, kernel.name, kernel.purpose[:22]
    ('aten', 'le.Tensor', 'every other comparison')
    >>> print(kernel.dtypes)
    bool, uint8, int64, float32, in any mixture -> bool
    >>> kernel.takes[float32, int64]
    (torchlike.bool,)
    """

    __slots__ = ("__dict__",)

    @property
    def namespace(self) -> str:
        """The library to open for it."""
        return "prims" if self.startswith("prims::") else "aten"

    @property
    def name(self) -> str:
        """The name without the namespace."""
        return self.rpartition("::")[2]

    @property
    def schema(self) -> str:
        """The arguments and results, in torch's schema language."""
        return row_of(str(self)).schema

    @property
    def purpose(self) -> str:
        """The composites of it, for the most important ones."""
        return _PURPOSES.get(str(self), "")

    @cached_property
    def takes(self) -> dict[tuple[ScalarType, ...], tuple[ScalarType, ...]]:
        """The dtypes of array arguments that the kernel is called with, and those of its results.

        They are told by the shape rule for ``bool``, ``uint8``, ``int64``, ``float32`` and ``complex64``, which represent
        their kinds; a device without a dtype leaves it out. Empty where dtypes make no difference, and where no rule tells.
        """
        rule = RULES.get(str(self))
        schema = FunctionSchema.parse(self.schema)
        arrays = [argument for argument in schema.arguments if "Tensor" in str(argument.type)]
        given = [argument for argument in arrays if not argument.has_default]
        if rule is None or not given:
            return {}
        found = {}
        for kinds in product(_EACH, repeat=len(given)):
            dtypes = dict(zip((argument.name for argument in given), kinds, strict=True))
            try:
                result = rule(*self._positional(schema, dtypes), **self._keywords(schema))
            except Exception:  # noqa: BLE001, S112  # the rule refuses these dtypes
                continue
            found[kinds] = tuple(each.dtype for each in (result if isinstance(result, (tuple, list)) else (result,)))
        return found

    def _positional(self, schema: FunctionSchema, dtypes: dict[str, ScalarType]) -> Iterator[Any]:
        for argument in schema.arguments:
            if argument.kwarg_only:
                return
            if argument.name in dtypes:
                yield self._array(argument, dtypes[argument.name])
            else:
                yield argument.value if argument.has_default else self._value(argument.name)

    def _keywords(self, schema: FunctionSchema) -> dict[str, Any]:
        return {
            argument.name: argument.value if argument.has_default else self._value(argument.name)
            for argument in schema.arguments
            if argument.kwarg_only
        }

    def _value(self, name: str) -> Any:
        return _SPECIAL.get((str(self), name), _VALUES.get(name, 0))

    def _array(self, argument: Any, dtype: ScalarType) -> Any:
        meta: TensorMeta = contiguous(_SHAPES.get((str(self), argument.name), (2, 2)), dtype)
        return [meta] if "[]" in str(argument.type) else meta

    @cached_property
    def dtypes(self) -> str:
        """The same in words."""
        found = self.takes
        if str(self) in _TEXTS or not found:
            return _TEXTS.get(str(self), "any")
        places = [sorted({kinds[place] for kinds in found}, key=_EACH.index) for place in range(len(next(iter(found))))]
        mixture = len(found) == len(list(product(*places)))
        same = all(each == places[0] for each in places)
        arguments = (
            ", ".join(each.short for each in places[0])
            if same
            else "; ".join(", ".join(each.short for each in place) for place in places)
        )
        if len(places) > 1 and same:
            arguments += (
                ", in any mixture"
                if mixture
                else ", all arrays the same"
                if all(len(set(kinds)) == 1 for kinds in found)
                else ", in some mixtures"
            )
        return f"{arguments} -> {self._results()}"

    def _results(self) -> str:
        found = self.takes
        kept = [{results[place] for results in found.values()} for place in range(len(next(iter(found.values()))))]
        parts = []
        for place, kinds in enumerate(kept):
            if len(kinds) == 1:
                parts.append(next(iter(kinds)).short)
            elif all(results[place] == arguments[0] for arguments, results in found.items()):
                parts.append("the first array's")
            elif all(
                results[place] == (arguments[0] if arguments[0].is_differentiable else float32)
                for arguments, results in found.items()
                if len(set(arguments)) == 1
            ):
                parts.append("promoted, integers and bool to float32")
            elif all(
                results[place] == (arguments[0] if arguments[0].is_differentiable else int64)
                for arguments, results in found.items()
            ):
                parts.append("the array's, integers and bool to int64")
            else:
                parts.append("promoted")
        return ", ".join(parts)
