"""torch's signatures, read from the stubs beside its modules, and the calls that they allow of known values.

A form is one overload of a name. `bind` gives its parameters the values of a call that is known to be right, and `respell`
writes such a call in each way that the form admits, and in a few that it does not.
"""

import ast
import copy
import functools
import inspect
import pathlib
import random
from inspect import Parameter

import torch
from comparison import attempt

from torchlike.names.operator_table import PREFIXES

_FOLDER = pathlib.Path(torch.__file__).parent
#: Owner of names → the stubs that tell their signatures, and the class whose methods are meant.
STUBS = {
    "torch": [("_C/_VariableFunctions.pyi", None)],
    "Tensor": [("_C/__init__.pyi", "TensorBase")],
    "nn.functional": [("nn/functional.pyi", None), ("_C/_nn.pyi", None)],
}
OWNERS = (*STUBS, *PREFIXES.values())
#: Parameters whose values are known for every call.
EXTRAS = {
    "dtype": [torch.float64],
    "device": ["cpu", torch.device("cpu")],
    "requires_grad": [True],
    "layout": [torch.strided],
}
#: Arguments that are numbers in schemas → what they are in calls.
_NUMBERED = {
    "memory_format": (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d),
    "reduction": ("none", "mean", "sum"),
}


def find(library, owner):
    """Return the object of a library that has an owner's names."""
    return functools.reduce(getattr, () if owner == "torch" else owner.split("."), library)


@functools.cache
def _read_stub(path, class_name):
    body = ast.parse((_FOLDER / path).read_text(encoding="utf-8")).body
    if class_name:
        body = next(each.body for each in body if isinstance(each, ast.ClassDef) and each.name == class_name)
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_read_form(node))
    return found


def _read_form(node):
    given = node.args
    places = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(places) - len(given.defaults)) + given.defaults
    listed = [(each, Parameter.POSITIONAL_OR_KEYWORD, value) for each, value in zip(places, defaults, strict=True)]
    if given.vararg:
        listed.append((given.vararg, Parameter.VAR_POSITIONAL, None))
    listed += zip(given.kwonlyargs, [Parameter.KEYWORD_ONLY] * len(given.kwonlyargs), given.kw_defaults, strict=True)
    return [
        Parameter(
            each.arg,
            kind,
            default=_evaluate(value) if value is not None else None if each.arg == "out" else Parameter.empty,
            annotation="" if each.annotation is None else ast.unparse(each.annotation),
        )
        for each, kind, value in listed
    ]


def _evaluate(node):
    """Return a default, ``...`` where the stub does not tell it."""
    return eval(compile(ast.Expression(node), "<stub>", "eval"), {"inf": torch.inf, **vars(torch)})


def forms_of(owner, name):
    """Return the forms of a name: those of the stubs, of a function of Python the one that it has."""
    function = getattr(find(torch, owner), name)
    if inspect.isfunction(function) and not hasattr(function, "__wrapped__"):
        return [[each.replace(annotation="") for each in inspect.signature(function).parameters.values()]]
    return [form for stub in STUBS.get(owner, ()) for form in _read_stub(*stub).get(name, [])]


def schema_form(schema):
    """Return the form that torch's bindings make of a schema, for names that no stub has."""
    return [
        Parameter(
            "input" if each.name == "self" and str(each.type) != "Scalar" else each.name,
            Parameter.KEYWORD_ONLY if each.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD,
            default=each.default if each.has_default else Parameter.empty,
            annotation=str(each.type).replace("SymInt", "int").replace("Scalar", "Number").replace("int[", "[_int["),
        )
        for each in schema.arguments
        if not (each.is_write and each.kwarg_only)
    ]


def bind(form, args, is_method):
    """Return the values of a call by a form's names, or None where the form does not take them."""
    names = [each.name for each in form]
    given = {}
    for key, value in args.items():
        name = next((each for each in ("self", "input") if each in names), None) if key == "self" else key
        if name not in names:
            return None
        parameter = form[names.index(name)]
        numbered = _NUMBERED.get(name) if type(value) is int else None
        given[name] = value if numbered is None else numbered[value]
        if not (is_method and name == names[0]) and not _fits(given[name], parameter):
            return None
    wanted = [each.name for each in form if each.default is Parameter.empty and "VAR" not in each.kind.name]
    return {name: given[name] for name in names if name in given} if given.keys() >= {*wanted} else None


def find_values(function, form, seed):
    """Return values that torch's function takes for what a form requires, found by trial, or None."""
    required = [each for each in form if each.default is Parameter.empty and each.kind is not Parameter.VAR_KEYWORD]
    drawn = random.Random(seed)
    pools = [_candidates(each, place) for place, each in enumerate(required)]
    if not any(isinstance(each, torch.Tensor) for pool in pools for value in pool for each in (value, *_items(value))):
        return None
    for trial in range(_TRIALS):
        # Integers are drawn where floats do not do; no two tensors share memory.
        kinds = (_is_float, lambda value: True)[trial % 2 or trial > _TRIALS // 2]
        chosen = [drawn.choice([each for each in pool if kinds(each)] or pool) for pool in pools]
        values = {each.name: copy.deepcopy(value) for each, value in zip(required, chosen, strict=True)}
        made = copy.deepcopy(values)
        star = [each for part in required if part.kind is Parameter.VAR_POSITIONAL for each in made[part.name]]
        places = [made[each.name] for each in required if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
        named = {each.name: made[each.name] for each in required if each.kind is Parameter.KEYWORD_ONLY}
        result, error = attempt(function, *places, *star, **named)
        if error is None and (result is not None and result is not NotImplemented):
            return values
    return None


_TRIALS = 300


def _is_float(value):
    return not isinstance(value, torch.Tensor) or value.is_floating_point()


def _items(value):
    return value if isinstance(value, (list, tuple)) else ()


def _candidates(parameter, place):
    """Return values that a parameter may mean, by its type or, where that is not told, its place."""
    text = parameter.annotation
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return [[2, 3], [1, 1]] if "int" in text else [_pool(0)[2:4], _pool(0)[:1], _pool(0)[4:6]]
    if not text:
        return [*_pool(0), *_pool(1)] if place else _pool(0)
    return [value for part, pool in _POOLS.items() if part in text for value in pool] or [None]


@functools.cache
def _pool(kind):
    made = torch.Generator().manual_seed(3)
    floats = [torch.rand(*sizes, generator=made, dtype=torch.float64) for sizes in ([3], [2, 3], [3, 3], [2, 3, 3])]
    whole = floats[2] @ floats[2].T + torch.eye(3, dtype=torch.float64)
    tensors = [*floats, whole, whole, torch.tensor([0, 2, 1]), torch.tensor([[0, 1, 1], [2, 0, 1]])]
    return (tensors, [0, 1, 2])[kind]


#: Part of a type's name → values that may be of it.
_POOLS = {
    "Tensor": _pool(0),
    "[Tensor": [_pool(0)[:1], _pool(0)[4:6]],
    "_int": _pool(1),
    "int": _pool(1),
    "size": [[0], [1], [2, 3], [0, 1], [3, 3]],
    "[_int": [[0], [1], [2, 3], [0, 1]],
    "Number": [1, 2, 0.5],
    "float": [0.5, 2.0],
    "bool": [False, True],
    "str": ["sum", "mean"],
    "dtype": [torch.float64],
}

_TAKEN = {
    torch.Tensor: ("Tensor",),
    bool: ("bool", "Number"),
    int: ("int", "Int", "Number", "float"),
    float: ("float", "Number"),
    complex: ("complex",),
    str: ("str",),
    type(None): ("None",),
    torch.dtype: ("dtype",),
    torch.memory_format: ("memory_format",),
}


def _fits(value, parameter):
    text = parameter.annotation
    if not text or parameter.kind is Parameter.VAR_POSITIONAL:
        return True
    if isinstance(value, (list, tuple)):
        if any(isinstance(each, torch.Tensor) for each in value):
            return "[Tensor" in text
        return any(each in text for each in ("size", "Sequence", "list", "tuple", "List", "Tuple"))
    alone = " | ".join(each for each in text.split(" | ") if "[" not in each)
    return any(each in alone for each in _TAKEN.get(type(value), ("",)))


def vary(form, given, make_out):
    """Yield a call's values, then those of others: with optional arguments left out, as their defaults, in other types."""
    by_name = {each.name: each for each in form}
    optional = [name for name in given if by_name[name].default is not Parameter.empty]
    missing = [each for each in form if each.name not in given]
    yield given
    for name in optional:
        yield {key: value for key, value in given.items() if key != name}
    told = {
        each.name: each.default
        for each in missing
        if each.default not in (Parameter.empty, ...) and each.name != "names"
    }
    for name, value in told.items():
        yield given | {name: value}
    if len(told) > 1:
        yield given | told
    for name, value in given.items():
        text = by_name[name].annotation
        if type(value) is list:
            yield given | {name: tuple(value)}
            if len(value) == 1 and type(value[0]) is int and "_int" in text.split(" | "):
                yield given | {name: value[0]}
        elif type(value) is int and "size" in text:
            yield given | {name: [value]}
            yield given | {name: (value,)}
    for each in missing:
        for value in make_out(given) if each.name == "out" else EXTRAS.get(each.name, ()):
            yield given | {each.name: value}


def respell(form, given, is_method):
    """Yield how a call's values are written: names by place, the one that is spread behind them, and those by name."""
    star = next((each.name for each in form if each.kind is Parameter.VAR_POSITIONAL and each.name in given), None)
    listed = [each.name for each in form if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    first = [name for place, name in enumerate(listed) if {*listed[: place + 1]} <= given.keys()]
    rest = [name for name in given if name not in first and name != star]
    if star:
        yield first, star, rest
        yield [*first, star], None, rest
        return
    for split in range(is_method, len(first) + 1):
        yield first[:split], None, [*first[split:], *rest]


def misspell(form, given, is_method):
    """Yield ways to write a call that the form does not admit, as `respell` does."""
    listed = [each.name for each in form if each.kind is Parameter.POSITIONAL_OR_KEYWORD and each.name in given]
    rest = [name for name in given if name not in listed]
    if any(each.kind is Parameter.VAR_POSITIONAL for each in form):
        return
    if rest:
        yield [*listed, *rest], None, []
    if listed[is_method:]:
        yield listed, None, [listed[-1], *rest]
        yield listed[:-1], None, rest
