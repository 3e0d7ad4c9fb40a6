"""Fast paths: kernels that call NumPy at once where that gives torch's result, and leave all else to a general kernel.

Note [Fast paths]
Where a ufunc gives torch's result for operands of one dtype, the kernel calls it before it looks at anything else. Little
is left to do afterwards: results of two or more dimensions may need another layout (see ``match_layout``). After an error
the general kernel takes over, which checks everything, raises torch's error and finds its way around an occupied context. A
kernel's whole budget is half a microsecond, of which one more call would be a tenth: so `attempt` writes condition and call
into the kernel's code, which is compiled once for all kernels of a kind. To the dispatcher it is one kernel: a candidate of
its own would cost that call, and there is nothing to choose, because the general kernel takes every call that the path
leaves.

Note [Small arrays are written in two steps]
A ufunc that is to write to one of its operands takes twice as long to begin. So for few elements it makes a new array, which
is copied then. Arrays that are storages of their own do not overlap, unless NumPy lent both, which is not a fault; and NumPy
itself refuses an array that is read-only or a number that is too big.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_core.calls import LazyFunction, define, make_function
from dispatch_core.frontends import WINDOWS

from ...arrays import FLOAT, NARROW, Array, match_layout
from ...fp_errors import run
from ...halves import LOOKED_UP
from ...kernel_table import Kernel, computed_by
from ...output_specs import output_rule
from .compiled_kernels import native, native_formula
from .constants import INTEGERS, NUMBERS, PLAIN
from .rule_kernels import WHOLE, check_overlap, finish, store

Dtypes = frozenset[np.dtype[Any]]
"""The dtypes for which a ufunc gives torch's result."""


def is_small(array: Array) -> bool:
    """Return whether an array is written in two steps; see Note [Small arrays are written in two steps]."""
    return ((base := array.base) is None or isinstance(base, WINDOWS)) and array.size <= _SMALL


_SMALL = 1024


#: The names that the texts of all fast paths may use.
_NAMES: Final = {
    "FLOAT": FLOAT,
    "MANY": LOOKED_UP,
    "LARGE": 2 * LOOKED_UP,
    "NARROW": NARROW,
    "INTEGERS": INTEGERS,
    "NUMBERS": NUMBERS,
    "PLAIN": PLAIN,
    "WHOLE": WHOLE,
    "WINDOWS": WINDOWS,
    "check_overlap": check_overlap,
    "finish": finish,
    "is_small": is_small,
    "match_layout": match_layout,
    "ndarray": np.ndarray,
    "run": run,
}


def attempt(
    parameters: str,
    when: str,
    call: str,
    general: Kernel,
    *,
    operands: str = "",
    first: str = "",
    into: str = "",
    accept: str = "",
    rule: str = "",
    **names: Any,
) -> Kernel:
    """Make a kernel that makes a ``call`` where ``when`` holds, and leaves all else to ``general``; see Note [Fast paths].

    The texts may use the ``parameters``, ``names`` and those of ``_NAMES``. With ``operands``, of which the parameters are
    arrays, the result gets torch's layout; ``accept`` says which results are taken; others are brought into the
    form that the shape rule of the operator ``rule`` has inferred. ``first`` runs before anything else; with ``into`` the
    result is written to that parameter, which is returned. The code is compiled at the first call.

    >>> half = attempt("a", "a.ndim == 1", "run(halve, a)", lambda a: "many", halve=lambda a: a / 2)
    >>> half(np.ones(2)), half(np.ones((2, 2)))
    (array([0.5, 0.5]), 'many')
    """
    names |= {"general": general} | ({"infer": output_rule(rule)} if rule else {})
    texts = parameters, when, call, operands, first, into, accept
    return dc.KernelTraits(stands_for=lambda: general)(
        LazyFunction(partial(_make, texts, names), name="kernel").function
    )


def _make(texts: tuple[str, ...], names: dict[str, Any]) -> FunctionType:
    template = _compile(*texts)
    # Code of its own, because the interpreter keeps in it where a function's globals were found.
    function = FunctionType(template.__code__.replace(), {**_NAMES, **names}, "kernel")
    function.__defaults__, function.__kwdefaults__ = template.__defaults__, template.__kwdefaults__
    return function


@cache
def _compile(parameters: str, when: str, call: str, operands: str, first: str, into: str, accept: str) -> FunctionType:
    by_position, _, by_keyword = parameters.partition(", *, ")
    given = [each.partition("=")[0] for each in by_position.split(", ")]
    given += [f"{name}={name}" for name in (each.partition("=")[0] for each in by_keyword.split(", ") if each)]
    taken = "return r"
    if operands:
        arrays = " and ".join(f"{name}.flags.c_contiguous" for name in operands.split(", ") if name in given)
        fits = f"r.ndim < 2 or ({arrays} and 1 not in r.shape)"
        taken = f"return r if {fits} else match_layout(r, {operands})"
    if accept:
        taken = f"return r if {accept} else finish(r, infer({', '.join(given)}))"
    if into:
        taken = f"return {into}"
    body = [
        *([first] if first else []),
        f"if {when}:",
        "    try:",
        f"        {f'{into}[...]' if into else 'r'} = {call}",
        "    except (RuntimeError, ValueError, TypeError, OverflowError):",
        "        pass",
        "    else:",
        f"        {taken}",
        f"return general({', '.join(given)})",
    ]
    template: FunctionType = make_function(define(f"kernel({parameters})", body), f"fast path of {call}", {})
    return template


def _is_few(array: str, other: str = "") -> str:
    """Return the text that leaves many 16-bit floats of a ``dtype`` to the general kernel; see `halves`."""
    few = f"{array}.size < MANY"
    if other:
        few = f"{array}.size * {other}.size < MANY or ({few} and {array}.shape == {other}.shape)"
    return f"(dtype is FLOAT or dtype not in NARROW or {few})"


#: The ufuncs that NumPy computes of many halves at once.
_QUICK: Final = frozenset(
    getattr(np, name)
    for name in """
        absolute exp exp2 expm1 log log2 log10 log1p sin tan arctan sinh cosh tanh arcsinh
    """.split()
)


def _most(*, only_few: bool) -> int:
    """Return the greatest number of elements that a compiled kernel serves."""
    return 2 * LOOKED_UP - 1 if only_few else _LONGEST


_LONGEST: Final = 1 << 16


def make_binary(ufunc: Callable[..., Any], general: Kernel, dtypes: Dtypes | None, *, only_few: bool = False) -> Kernel:
    """Make a kernel of two arrays: ``ufunc`` where both have one of ``dtypes`` (None: any), else ``general``.

    With ``only_few``, arrays of many elements are left to ``general``.
    """
    when = f"(dtype := a.dtype) is b.dtype and {'a.size < LARGE' if only_few else _is_few('a', 'b')}"
    when += "" if dtypes is None else " and dtype in dtypes"
    kernel = attempt("a, b", when, "run(ufunc, a, b)", general, operands="a, b", ufunc=ufunc, dtypes=dtypes)
    return native("binary", kernel, ufunc, dtypes, most=_most(only_few=only_few))


def make_with_number(
    ufunc: Callable[..., Any], general: Kernel, rule: str = "", *, integers: bool = False, reverses: Any = None
) -> Kernel:
    """Make a kernel of an array and a Python number, which takes the array's dtype if that is one of `NUMBERS`.

    With ``integers``, the ufunc serves int64 and ints as well. The result is laid out as that of two arrays, or as the shape
    rule of the operator ``rule`` has inferred. A function ``reverses`` the operands of a ufunc.
    """
    when = "(numbers := NUMBERS.get(a.dtype)) is not None and type(b) in PLAIN"
    if integers:
        when = f"({when}) or ((numbers := INTEGERS.get(a.dtype)) is not None and type(b) is int)"
    call = "run(ufunc, a, (number := numbers[b]))"
    if rule:
        accept = "r.size and (r.ndim < 2 or (a.flags.c_contiguous and 1 not in r.shape))"
        kernel = attempt("a, b", when, call, general, accept=accept, rule=rule, ufunc=ufunc)
    else:
        kernel = attempt("a, b", when, call, general, operands="a, number", ufunc=ufunc)
    dtypes = {*NUMBERS, *(INTEGERS if integers else ())}
    return native("number", kernel, reverses or ufunc, dtypes, swapped=reverses is not None)


def make_unary(
    ufunc: Callable[..., Any], general: Kernel, dtypes: Dtypes, *, only_few: bool = False, by_float: bool = False
) -> Kernel:
    """Make a kernel of one array: ``ufunc`` for ``dtypes``, else ``general``, as for many elements with ``only_few``.

    With ``by_float``, the general kernel computes bfloat16 by the ufunc in float32.
    """
    when = "(dtype := a.dtype) in dtypes"
    if ufunc not in _QUICK:
        when += f" and {'a.size < LARGE' if only_few else _is_few('a')}"
    kernel = attempt("a", when, "run(ufunc, a)", general, operands="a", ufunc=ufunc, dtypes=dtypes)
    return native("unary", kernel, ufunc, dtypes, most=_most(only_few=only_few), halves=(1 | 8 | 16) * by_float)


def make_formula(
    formula: Callable[..., Any],
    general: Kernel,
    arity: int,
    options: str = "",
    *,
    first: str = "a",
    opmath: bool | None = None,
) -> Kernel:
    """Make a kernel of ``arity`` small arrays of one dtype of `NUMBERS` and of ``options``: ``formula``, else ``general``.

    The result lies as ``first`` does where the arrays differ. The options are written as parameters,
    ``"alpha=1, *, value"``; they are numbers but for those of `_CONDITIONS`. See `native_formula` for ``opmath``.
    """
    operands = ", ".join("abc"[:arity])
    like = ", ".join(sorted("abc"[:arity], key=lambda name: name != first))
    when = "(dtype := a.dtype) in NUMBERS and a.size <= WHOLE"
    when += "".join(f" and {name}.dtype is dtype" for name in "bc"[: arity - 1])
    names = [each.partition("=")[0] for each in options.split(", ") if each not in ("", "*")]
    fits = "".join(f" and {_CONDITIONS.get(name, 'type({}) in PLAIN').format(name)}" for name in names)
    when += fits
    by_position, _, by_keyword = f", {options}".partition(", *, ")
    given = [each.partition("=")[0] for each in by_position.split(", ") if each]
    given += [f"{name}={name}" for name in (each.partition("=")[0] for each in by_keyword.split(", ") if each)]
    taken = ", ".join([operands, *given])
    parameters = f"{operands}, {options}" if options else operands
    kernel = attempt(parameters, when, f"run(formula, {taken})", general, operands=like, formula=formula)
    if not options:
        return native_formula(kernel, formula, arity, opmath)

    def compute(*args: Any, **kwargs: Any) -> Any:
        body = [f"return formula({taken}) if True{fits} else NotImplemented"]
        text, known = define(f"formula_of({parameters})", body), {**_NAMES, "formula": formula}
        return make_function(text, "formula with options", known, is_shared=True)(*args, **kwargs)

    return native_formula(kernel, compute, arity, opmath)


#: When an option is one that a formula can take, where it is not a number.
_CONDITIONS: Final = {
    "approximate": "{} in ('none', 'tanh')",
    "decimals": "type({}) is int",
    "eps": "{} is None",
    "self_is_result": "not {}",
}


def make_by_copy(name: str, functional: Kernel) -> Kernel:
    """Make the in-place kernel ``name`` that stores the result of ``functional``; the overlap has been checked."""
    infer = output_rule(name)

    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        infer(self, *args, **kwargs)
        return store(self, functional(self, *args, **kwargs))

    return computed_by(kernel, functional)


def negative(a: Array, out: Array) -> Array:
    """Do as ``np.negative``, which is wrong in NumPy 2 from and into memory with gaps, such as every fourth ``float32``."""
    if out.flags.c_contiguous:
        return np.negative(a, out)
    out[...] = np.negative(a)
    return out


#: Ufunc → the function that writes its result into an array, where that is not the ufunc itself.
INTO: Final[dict[Any, Callable[..., Any]]] = {np.negative: negative}


def make_inplace_unary(name: str, ufunc: Callable[..., Any], functional: Kernel, dtypes: Dtypes) -> Kernel:
    """Make the in-place kernel ``name`` of one array; where ``ufunc`` cannot write it, ``functional`` computes a copy."""
    kernel = attempt(
        "self",
        f"(dtype := self.dtype) in dtypes and {_is_few('self')}",
        "run(write, self, self)",
        make_by_copy(name, functional),
        first="check_overlap(self)",
        write=INTO.get(ufunc, ufunc),
        dtypes=dtypes,
    )
    return native("unary into", kernel, ufunc, dtypes)


def make_inplace_binary(name: str, ufunc: Callable[..., Any], functional: Kernel, dtypes: Dtypes | None) -> Kernel:
    """Make the in-place kernel ``name`` of two arrays; where ``ufunc`` cannot write it, ``functional`` computes a copy."""
    when = "type(other) is ndarray and (dtype := self.dtype) is other.dtype"
    when += f" and {_is_few('self')}" + ("" if dtypes is None else " and dtype in dtypes")
    names: dict[str, Any] = {"ufunc": ufunc, "dtypes": dtypes}
    general = make_by_copy(name, functional)
    large = attempt(
        "self, other", when, "run(ufunc, self, other, self)", general, first="check_overlap(self, other)", **names
    )
    when += " and is_small(self) and ((base := other.base) is None or isinstance(base, WINDOWS))"
    when += " and other.ndim <= self.ndim"
    kernel = attempt("self, other", when, "run(ufunc, self, other)", large, into="self", **names)
    return native("binary into", kernel, ufunc, dtypes)
