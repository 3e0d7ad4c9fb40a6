"""Shape rules that keep their answers, and the key under which these can be kept.

Note [Rules are cached]
    A rule's answer depends on its tensors' descriptions, on its other arguments and on the default dtype. So it is kept
    under these: a description by its identity (Note [Descriptions are interned]), another argument by value *and* type,
    because ``True``, ``1`` and ``1.0`` are equal and mean different things to a rule, a list by its elements. The key leaves
    out the arguments that no rule reads, devices, layouts and generators, and the values of an element-wise operator's
    numbers, of which only the type counts.
    Errors are not kept: a call that fails asks the rule each time. Nor is an answer during which the default dtype changed,
    nor one to unhashable arguments or to those that the dispatcher refuses. Each operator keeps ``_LIMIT`` answers, and then
    empties its cache.
    Where in its storage an array begins is no part of its description here, so that a loop over rows asks once for all rows.
    A view's offset is counted from where its first argument begins; only a ``storage_offset`` that was an argument of
    ``as_strided`` is absolute.

`RuleKey` owns the text of the key; ``cached_rule``, the recorders of pipelines and the backends generate code with it.
"""

from __future__ import annotations

import keyword
import re
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import DEFAULT_DTYPE
from dispatch_aten.operators import row_of
from dispatch_aten.variants import functional_of
from dispatch_core import FunctionSchema, registry
from dispatch_core.caches import keep
from dispatch_core.calls import LazyFunction, define, make_function

from .meta import TensorMeta
from .rules import RULES, reads_types_only, with_namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from dispatch_aten.dtypes import ScalarType

_LIMIT: Final = 1024


class HasSpec:
    """An array that carries its description, for ``cached_rule``.

    ``spec`` describes it as if it lay at the start of its storage, ``storage_offset`` is where it lies.

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


#: How an argument that carries tensors takes part in a key: {0} is its name, {1} the description of an array.
_TENSORS: Final = {
    "Tensor": "{1}",
    "Tensor?": "None if {0} is None else ({1})",
    "Tensor[]": "tuple([({1}) for __t in {0}])",
    "Tensor?[]": "tuple([None if __t is None else ({1}) for __t in {0}])",
}
#: How others do, by their type in the schema; those that are not here by value and type, None included.
_OTHERS: Final = {
    "int[]": "tuple({0})",
    "int[]?": "None if {0} is None else tuple({0})",
    "bool[]": "tuple({0})",
    "Device?": "",
    "Generator?": "",
    "Layout?": "",
}
_NUMBERS: Final = ("Scalar", "Scalar?", "float", "float?")

#: The parts of a type's text that make no difference to how its values are kept: aliases and sizes.
_ASIDE: Final = re.compile(r"\([^)]*\)|\d")


class RuleKey:
    """The key under which the answers of an operator's shape rule can be kept, for code that is generated.

    >>> rule_key("sum.dim_IntList").text(["x", "dim", "keepdim", "dtype"], "{0}.spec")
    '__settings.dtype, x.spec, None if dim is None else tuple(dim), keepdim, keepdim.__class__, dtype, dtype.__class__'
    """

    __slots__ = ("_by_type", "_kinds", "names", "schema", "settings")

    def __init__(self, name: str) -> None:
        entry = registry.find_entry(with_namespace(name))
        schema = None if entry is None else entry.schema
        self.schema = FunctionSchema.parse(row_of(name).schema) if schema is None else schema
        #: The arguments' names as Python can spell them.
        self.names = [f"{each.name}_" if keyword.iskeyword(each.name) else each.name for each in self.schema.arguments]
        #: The state that answers depend on beside the arguments; the text of a key calls it ``__settings``.
        self.settings = DEFAULT_DTYPE
        self._kinds = [_ASIDE.sub("", str(each.type)).replace("SymInt", "int") for each in self.schema.arguments]
        self._by_type = reads_types_only(functional_of(name) or name)

    def text(self, names: Sequence[str], array: str | None = None, *, by_value: Container[str] = ()) -> str:
        """Return the elements of the key as text, for arguments of these ``names``, in the schema's order.

        ``array`` is the text of an array's description, with {0} for the array; without it the names of tensors are those
        of their descriptions, or of tuples of descriptions. Numbers ``by_value`` take part by their values also where the
        rule reads their types alone: for callers that keep more than the rule's answer.
        """
        parts = ["__settings.dtype"]
        for name, kind in zip(names, self._kinds, strict=False):  # the last may be left to their defaults
            if kind in _TENSORS:
                item = "__t" if kind.endswith("[]") else name
                parts.append(name if array is None else _TENSORS[kind].format(name, array.format(item)))
            elif kind in _OTHERS:
                parts += [_OTHERS[kind].format(name)] if _OTHERS[kind] else []
            elif self._by_type and kind in _NUMBERS and name not in by_value:
                parts.append(f"{name}.__class__")
            else:
                parts.append(f"{name}, {name}.__class__")
        return ", ".join(parts)

    def reads(self) -> tuple[str, list[bool]]:
        """Return the attribute of ``settings`` that counts their changes, and of which arguments the type alone counts."""
        return "generation", [self._by_type and kind in _NUMBERS for kind in self._kinds]

    @property
    def signature(self) -> str:
        """The text of the operator's parameters; ``defaults`` holds the values that it names."""
        parts: list[str] = []
        for argument, name in zip(self.schema.arguments, self.names, strict=True):
            parts += ["*"] if argument.kwarg_only and "*" not in parts else []
            parts.append(f"{name}=__default_{argument.name}" if argument.has_default else name)
        return ", ".join(parts)

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters' defaults, by their names in ``signature``."""
        return {f"__default_{each.name}": each.value for each in self.schema.arguments if each.has_default}

    def cache(self, ask: Callable[..., Any]) -> tuple[dict[Any, Any], Callable[..., Any]]:
        """Return a dictionary for answers by key, and a function ``learn(key, *args, **kwargs)`` that fills it.

        It returns ``ask(*args, **kwargs)``, and keeps that unless the key is None or Note [Rules are cached] says otherwise.
        ``args`` and ``kwargs`` are the arguments in the schema's order.
        """
        answers: dict[Any, Any] = {}
        settings = self.settings
        # The items that a list's key tells apart; None for arguments that carry tensors.
        plain = [None if kind in _TENSORS else _PLAIN.get(kind, _ONLY_INT) for kind in self._kinds]

        def learn(key: Any, /, *args: Any, **kwargs: Any) -> Any:
            generation = settings.generation
            answer = ask(*args, **kwargs)
            if key is None or generation != settings.generation or settings.dtype is not key[0]:
                return answer
            for value, types in zip((*args, *kwargs.values()), plain, strict=False):
                # The key does not have the types of a list's elements.
                if types is not None and isinstance(value, (list, tuple)) and not types.issuperset(map(type, value)):
                    return answer
            with suppress(TypeError):  # A key that cannot be hashed.
                keep(answers, key, answer, _LIMIT)
            return answer

        return answers, learn


_ONLY_INT: Final = frozenset({int, type(None)})
#: Kind → the types of items whose equality says all; a rule reads the truth of a list of bool alone.
_PLAIN: Final = {"bool[]": frozenset({int, bool})}


@cache
def rule_key(name: str) -> RuleKey:
    """Return the key of an operator's shape rule."""
    return RuleKey(name)


@cache
def cached_rule(name: str, then: Callable[[Any, Any], Any] | None = None) -> Callable[..., Any]:
    """Return the rule of an operator for ``HasSpec`` arrays, with a cache of its answers; the same function each time.

    It takes the operator's arguments as a kernel does, and returns a ``TensorMeta`` or a tuple of them; those of fresh
    results lie at the start of a storage. It raises the rule's errors. See Note [Rules are cached].
    With ``then``, it returns ``then(answer, first)``, where ``first`` is the first argument that is a tensor, or None:
    so a kernel costs one call more than its rule.

    Its trait ``cache_key`` is a function that returns the `RuleKey`, for pipelines, which keep the answers too.

    >>> from dispatch_aten.dtypes import float32
    >>> array = HasSpec()
    >>> array.spec = TensorMeta((2, 3), (3, 1), float32)
    >>> cached_rule("t")(array)
    TensorMeta(shape=(3, 2), strides=(1, 3), dtype=torchlike.float32, storage_offset=0)
    """
    traits = dc.KernelTraits(stands_for=lambda: RULES[name], cache_key=lambda: rule_key(name))
    return traits(_function(name, partial(_cache_of, name), "{0}.spec", then))


def memoize(name: str, ask: Callable[..., Any], array: str) -> Callable[..., Any]:
    """Return a function of an operator's arguments that keeps the answers of ``ask`` under the key of its shape rule.

    ``array`` is the text of an array's description, with {0} for the array, as in `RuleKey.text`.

    >>> total = memoize("sum", lambda self, *, dtype: f"the sum of {self}", "len({0})")
    >>> total("abc"), total("xyz"), total("xyz", dtype=float)
    ('the sum of abc', 'the sum of abc', 'the sum of xyz')
    """
    return _function(name, partial(_cache_for, name, ask), array)


def _cache_for(name: str, ask: Callable[..., Any]) -> tuple[dict[Any, Any], Callable[..., Any]]:
    return rule_key(name).cache(ask)


def _function(
    name: str,
    cache: Callable[[], tuple[dict[Any, Any], Callable[..., Any]]],
    array: str,
    then: Callable[[Any, Any], Any] | None = None,
) -> Callable[..., Any]:
    """Return a function that looks an answer up; its code is generated at the first call."""
    # Of partials and no closures: there are hundreds of these functions, and a closure is many objects.
    return LazyFunction(partial(_generate, name, cache, array, then), name=name).function


def _generate(
    name: str,
    cache: Callable[[], tuple[dict[Any, Any], Callable[..., Any]]],
    array: str,
    then: Callable[[Any, Any], Any] | None,
) -> Any:
    key = rule_key(name)
    answers, learn = cache()
    names = {"__then": then, "__settings": key.settings, "__answers": answers, "__learn": learn}
    label = f"rule of {with_namespace(name)}"
    return make_function(_source(key, array, then=then is not None), label, key.defaults | names)


def _source(key: RuleKey, array: str, *, then: bool) -> str:
    """Return the source of the function that looks an answer up."""
    given = [
        f"**{{{each.name!r}: {name}}}" if each.kwarg_only else name
        for each, name in zip(key.schema.arguments, key.names, strict=True)
    ]
    first = next((name for name, kind in zip(key.names, key._kinds, strict=True) if kind == "Tensor"), None)
    answer = f"return __then(__answer, {first})" if then else "return __answer"
    lines = [
        "__key = None",
        "try:",
        f"    __key = ({key.text(key.names, array)},)",
        "    __answer = __answers[__key]",
        "except (AttributeError, KeyError, TypeError):",
        "    pass",
        "else:",
        f"    {answer}",
        f"__answer = __learn(__key, {', '.join(given)})",
        answer,
    ]
    return define(f"rule({key.signature})", lines)


@cache
def _cache_of(name: str) -> tuple[dict[Any, Any], Callable[..., Any]]:
    """Return the answers of an operator's rule, and the function that asks it and keeps its answer."""
    rule = RULES[name]
    is_fresh = not {"view", "inplace", "out"} & {*row_of(name).tags}

    def ask(*args: Any, **kwargs: Any) -> Any:
        answer = rule(*map(_spec, args), **{name: _spec(value) for name, value in kwargs.items()})
        if isinstance(answer, (list, tuple)):
            return tuple(meta.at_start() if is_fresh else meta for meta in answer)
        return answer.at_start() if is_fresh and answer is not None else answer

    return rule_key(name).cache(ask)


def _spec(value: Any) -> Any:
    """Return an argument with descriptions in place of arrays, as rules take it."""
    if isinstance(value, HasSpec):
        return value.spec
    return [_spec(item) for item in value] if isinstance(value, (list, tuple)) else value
