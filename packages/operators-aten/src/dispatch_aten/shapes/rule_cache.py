"""Shape rules that remember what they said, for arrays that carry their own description.

Note [Rules are cached]
    A rule's answer depends on its tensors' descriptions, on its other arguments and on the default dtype. So it is kept
    under these: a description by its identity (Note [Descriptions are interned]), another argument by value *and* type,
    because ``True``, ``1`` and ``1.0`` are equal and mean different things to a rule, a list by its elements. What no rule
    looks at is left out: devices, layouts and generators everywhere, and the values of an element-wise operator's numbers,
    whose types alone decide.
    Errors are not kept: a call that fails asks the rule each time. Nor is an answer during whose making the default dtype
    changed, nor one to arguments that cannot be kept or that the dispatcher would have refused. Each operator keeps
    ``_KEPT`` answers, and then begins anew.
    Where in its storage an array begins is no part of its description here: a loop over rows asks the same question for
    each. So a view's offset is counted from where its first argument begins; only a ``storage_offset`` that was given to
    ``as_strided`` is what it says.

The function that looks an answer up is generated from the operator's schema, at first use.
"""

from __future__ import annotations

import builtins
import keyword
import re
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten import dtypes
from dispatch_aten.operators import ATEN
from dispatch_aten.variants import functional_of
from dispatch_core import FunctionSchema

from .meta import TensorMeta
from .pointwise import NUMBERS_BY_TYPE
from .rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch_aten.dtypes import ScalarType
    from dispatch_aten.operators import OperatorDef

__all__ = ["HasSpec", "cached_rule"]

_KEPT: Final = 1024


class HasSpec:
    """An array that carries its description, for ``cached_rule``.

    ``spec`` describes it as if it lay at the start of its storage, and ``storage_offset`` says where it does.

    >>> from dispatch_aten.dtypes import float32
    >>> array = HasSpec()
    >>> array.spec, array.storage_offset = TensorMeta((2, 3), (3, 1), float32), 6
    >>> array.shape, array.dtype
    ((2, 3), torchlike.float32)
    """

    __slots__ = ("spec", "storage_offset")

    spec: TensorMeta
    storage_offset: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self.spec.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The step of each dimension, in elements."""
        return self.spec.strides

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return self.spec.dtype


#: How an argument takes part in the key, by its type in the schema; others by value and type, None included.
_KEYS: Final = {
    "Tensor": "{0}.spec",
    "Tensor?": "None if {0} is None else {0}.spec",
    "Tensor[]": "tuple([__t.spec for __t in {0}])",
    "Tensor?[]": "tuple([None if __t is None else __t.spec for __t in {0}])",
    "int[]": "tuple({0})",
    "int[]?": "None if {0} is None else tuple({0})",
    "Device?": "",
    "Generator?": "",
    "Layout?": "",
}
_BY_VALUE: Final = "{0}, {0}.__class__"
_BY_TYPE: Final = "{0}.__class__"
_NUMBERS: Final = ("Scalar", "Scalar?", "float", "float?")

#: What a type is spelled with that does not change how values of it are kept: aliases and sizes.
_ASIDE: Final = re.compile(r"\([^)]*\)|\d")


def cached_rule(name: str, then: Callable[[Any, Any], Any] | None = None) -> Callable[..., Any]:
    """Make the rule of an operator that takes ``HasSpec`` arrays, and answers again what it answered before.

    It takes the operator's arguments as a kernel does, and gives a ``TensorMeta`` or a tuple of them; those of fresh
    results lie at the start of a storage. It raises what the rule raises. See Note [Rules are cached].
    With ``then``, what it gives is ``then(answer, first)``, where ``first`` is the first argument that is a tensor, or None:
    so a kernel costs one call more than its rule.

    >>> from dispatch_aten.dtypes import float32
    >>> array = HasSpec()
    >>> array.spec = TensorMeta((2, 3), (3, 1), float32)
    >>> cached_rule("t")(array)
    TensorMeta(shape=(3, 2), strides=(1, 3), dtype=torchlike.float32, storage_offset=0)
    """
    operator = _operators()[name]
    names: dict[str, Any] = {"__builtins__": builtins, "__then": then, "__settings": dtypes._default}

    def become() -> Callable[..., Any]:
        schema = FunctionSchema.parse(operator.schema)
        answers, missed = _memory(name)
        defaults = {f"__default_{argument.name}": argument.value for argument in schema.arguments}
        names.update(defaults, __answers=answers, __missed=missed)
        code = compile(_source(schema, by_type=_by_type(name), then=then is not None), f"<rule of {name}>", "exec")
        exec(code, names)  # noqa: S102  # the source is made below, of a parsed schema's identifiers alone
        made = names["__rule"]
        # The code comes last: until it is there, the defaults are those of code that does not look at them.
        rule.__defaults__, rule.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
        rule.__code__ = made.__code__
        return rule

    names["__become"] = become
    rule: Any = FunctionType(_first.__code__, names, name)
    # What people are shown: the rule itself.
    rule.stands_for = lambda: RULES[name]
    # For whoever wants to keep its answers too: the settings that it goes by, and whether of numbers the type alone counts.
    rule.remembers = lambda: (dtypes._default, _by_type(name))
    return rule


def _first(*args: Any, **kwargs: Any) -> Any:
    return __become()(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821  # a global of the function it becomes


def _by_type(name: str) -> bool:
    return (functional_of(name) or name) in NUMBERS_BY_TYPE


@cache
def _operators() -> dict[str, OperatorDef]:
    return {operator.name: operator for operator in ATEN}


def _source(schema: FunctionSchema, *, by_type: bool, then: bool) -> str:
    """Return the source of the function that looks an answer up."""
    signature: list[str] = []
    positional: list[str] = []
    keywords: list[str] = []
    tensors: list[str] = []
    key = ["__settings[0]"]
    for argument in schema.arguments:
        name = f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name
        if argument.kwarg_only:
            signature += [] if keywords else ["*"]
            keywords.append(f"{name!r}: {name}")
        else:
            positional.append(f"{name}, ")
        signature.append(f"{name}=__default_{argument.name}" if argument.has_default else name)
        kind = _ASIDE.sub("", str(argument.type)).replace("SymInt", "int")
        tensors += [name] if kind == "Tensor" else []
        part = _KEYS.get(kind, _BY_TYPE if by_type and kind in _NUMBERS else _BY_VALUE)
        key += [part.format(name)] if part else []
    given = "return __then({0}, " + (tensors[0] if tensors else "None") + ")" if then else "return {0}"
    return f"""\
def __rule({", ".join(signature)}):
    __key = None
    try:
        __key = ({", ".join(key)},)
        __answer = __answers[__key]
    except (AttributeError, KeyError, TypeError):
        pass
    else:
        {given.format("__answer")}
    __answer = __missed(__key, ({"".join(positional)}), {{{", ".join(keywords)}}})
    {given.format("__answer")}
"""


@cache
def _memory(name: str) -> tuple[dict[Any, Any], Callable[..., Any]]:
    """Make the answers of an operator's rule, and the function that asks it and keeps what it says."""
    rule = RULES[name]
    fresh = not {"view", "inplace", "out"} & {*_operators()[name].tags}
    answers: dict[Any, Any] = {}

    def missed(key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        settings = dtypes._default.copy()
        found = rule(*map(_spec, args), **{name: _spec(value) for name, value in kwargs.items()})
        if isinstance(found, (list, tuple)):
            found = tuple(meta.at_start() if fresh else meta for meta in found)
        elif fresh and found is not None:
            found = found.at_start()
        if key is None or settings != dtypes._default or settings[0] is not key[0]:
            return found
        for value in (*args, *kwargs.values()):
            if isinstance(value, (list, tuple)) and not all(map(_tells, value)):
                return found
        if len(answers) >= _KEPT:
            answers.clear()
        try:
            answers[key] = found
        except TypeError:
            return found  # what cannot be hashed is not kept
        return found

    return answers, missed


def _spec(value: Any) -> Any:
    """Give what a rule takes in place of an argument."""
    if isinstance(value, HasSpec):
        return value.spec
    return [_spec(item) for item in value] if isinstance(value, (list, tuple)) else value


def _tells(item: Any) -> bool:
    """Say whether an element of a list may stand in a key, which does not have its type."""
    return type(item) is int or item is None or isinstance(item, HasSpec)
