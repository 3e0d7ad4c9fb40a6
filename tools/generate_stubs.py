"""Writes the stubs of torchlike's packages and of the tensor's methods: ``.pyi`` files beside the sources.

python tools/generate_stubs.py           # writes them
python tools/generate_stubs.py --check   # fails where one is out of date

Functions of operators are made when they are first used, so type checkers and editors see none of them in the sources. The
stubs have their signatures (`torchlike.signatures`), and the names that packages import late. A stub hides its source from a
type checker, so only files that hand names on have one: everything written by hand stands in modules that are checked.
A public path whose file lies elsewhere (`torchlike.names.public_paths`) has a stub that hands its names on, too.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final

import dispatch_core
import torchlike
from dispatch_core.signatures import LazySignature, signatures
from torchlike.creation.factories import FACTORIES
from torchlike.device_modules.absent_names import ABSENT
from torchlike.functions.foreach import list_foreach
from torchlike.functions.operator_functions import FUNCTIONS, METHODS
from torchlike.names.operator_table import OPERATORS
from torchlike.names.public_paths import PUBLIC_PATHS
from torchlike.signatures import written_signatures as written
from torchlike.signatures.function_signatures import method_signatures
from torchlike.values.dtypes import DTYPES

SOURCE: Final = Path(torchlike.__file__).parent
#: Package → the folder of its sources.
SOURCES: Final = {path.name: path for path in Path(__file__).parents[1].glob("packages/*/src/*") if path.is_dir()}
_TITLE: Final = '"""{}\n\nMade by ``python tools/generate_stubs.py``; the lint session compares it.\n"""\n'
#: What every stub may name; unused lines are left out.
_IMPORTS: Final = """\
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, Self, TypeVar, overload
"""
#: Name in a signature → what it is in a stub. A module has functions and dtypes, and the tensor methods, of the same names.
_SPELLINGS: Final = {
    **{name: f"builtins.{name}" for name in ("bool", "complex", "float", "int", "type")},
    "Array": "_t.Array",
    "Device": "_t.DeviceLike",
    "Generator": "_Generator",
    "Index": "_t.Index",
    "Number": "_t.Number",
    "NumberOrTensor": "_t.NumberOrTensor",
    "T": "_T",
    "Tensor": "_Tensor",
    "TypedStorage": "_TypedStorage",
    "UntypedStorage": "_UntypedStorage",
    "dtype": "_t.DType",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "return_types": "_return_types",
}
_HOMES: Final = {
    "_Generator": "from dispatch_aten.generator import Generator as _Generator",
    "_Tensor": "from {dots}tensors.tensor import Tensor as _Tensor",
    "_TypedStorage": "from {dots}tensors.storages import TypedStorage as _TypedStorage",
    "_UntypedStorage": "from {dots}tensors.storages import UntypedStorage as _UntypedStorage",
    "_dtype": "from dispatch_aten.dtypes import ScalarType as _dtype",
    "_layout": "from {dots}values.layouts import layout as _layout",
    "_memory_format": "from {dots}values.dtypes import memory_format as _memory_format",
    "_return_types": "from {dots} import return_types as _return_types",
    "_t": "from {dots}values import argument_types as _t",
}
#: The same where tensors may be any library's arrays: for the operators themselves.
_OF_ARRAYS: Final = {
    **{name: f"builtins.{name}" for name in ("bool", "complex", "float", "int")},
    **dict.fromkeys(("Generator", "Tensor", "layout"), "Any"),
    "Device": "_Device",
    "Number": "_Number",
    "dtype": "_DType",
    "memory_format": "builtins.int",
}
_WORD: Final = re.compile(r"\b[A-Za-z_]\w*\b")


def spell(annotation: str, spellings: Mapping[str, str] = _SPELLINGS) -> str:
    """Return an annotation of a signature as a stub has it."""
    spelled = _WORD.sub(lambda found: spellings.get(found[0], found[0]), annotation)
    return spelled.replace("_t.DeviceLike | None", "_t.DeviceLike").replace("_t.DType | None", "_t.DTypeLike")


def _spell_parameter(parameter: Parameter, spellings: Mapping[str, str]) -> str:
    star = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{star}{parameter.name}"
    if parameter.annotation is not Parameter.empty:
        text += f": {spell(str(parameter.annotation), spellings)}"
    if parameter.default is Parameter.empty:
        return text
    is_plain = parameter.default is None or type(parameter.default) in (bool, int, float, str)
    return f"{text} = {parameter.default!r}" if is_plain and repr(parameter.default) != "inf" else f"{text} = ..."


def spell_signature(signature: Signature, spellings: Mapping[str, str] = _SPELLINGS) -> str:
    """Return the text behind ``def name``."""
    parts: list[str] = []
    listed = [*signature.parameters.values()]
    for place, each in enumerate(listed):
        before = listed[place - 1].kind if place else None
        if before is Parameter.POSITIONAL_ONLY and each.kind is not Parameter.POSITIONAL_ONLY:
            parts.append("/")
        if each.kind is Parameter.KEYWORD_ONLY and before not in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_spell_parameter(each, spellings))
    if listed and listed[-1].kind is Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return f"({', '.join(parts)}) -> {spell(signature.return_annotation, spellings)}"


def _with_axis(name: str, signatures: Iterable[Signature]) -> Iterator[Signature]:
    """Yield signatures, and those with NumPy's names for a dimension where a function takes them."""
    listed = [*signatures]
    yield from listed
    operator = OPERATORS.get(name)
    if operator is None or name in written.FUNCTIONS or " dim" not in " ".join(operator.schemas):
        return
    for each in listed:
        if "dim" in each.parameters:
            before = [*each.parameters].index("dim")
            parameters = [*each.parameters.values()]
            behind = [
                one.replace(name=_NUMPYS.get(one.name, one.name), kind=Parameter.KEYWORD_ONLY)
                for one in parameters[before:]
            ]
            behind[0] = behind[0].replace(default=Parameter.empty)
            yield each.replace(parameters=[*parameters[:before], *behind])


#: torch's names for arguments → NumPy's.
_NUMPYS: Final = {"dim": "axis", "keepdim": "keepdims"}


def define(name: str, signatures: Iterable[Signature], indent: str = "") -> Iterator[str]:
    """Yield the lines of a function with its overloads."""
    listed = [*_with_axis(name, signatures)]
    for each in listed:
        if len(listed) > 1:
            yield f"{indent}@overload"
        yield f"{indent}def {name}{spell_signature(each)}: ..."


def _find_signatures(function: Any) -> tuple[Signature, ...] | None:
    found = getattr(function, "__signature__", None)
    return found.overloads if isinstance(found, LazySignature) else None


def _statics(path: Path) -> set[str]:
    """Return the names that a source gives a value, but for those of tables."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                found |= {each.asname or each.name.partition(".")[0] for each in names}
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                found |= {each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)}
    return found


def _own_path(module: str) -> str:
    """Return the path of a module's file as imports write it, which a public path differs from (`public_paths`)."""
    spec = import_module(module).__spec__
    assert spec is not None
    return spec.name


def _source_of(module: str) -> Path:
    path = SOURCE.parent.joinpath(*_own_path(module).split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _re_export(package: str) -> Iterator[str]:
    """Yield the imports that stand in a package's source."""
    for node in ast.parse(_source_of(package).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                name = each.asname or each.name
                if name in import_module(package).__all__:
                    yield f"from {'.' * node.level}{node.module or ''} import {each.name} as {name}"


def _hand_on(package: str, table: dict[str, str], *, with_modules: bool = True) -> Iterator[str]:
    """Yield what a package imports late: names of its modules, and modules."""
    for module, names in table.items():
        full = f"{package}.{module}"
        statics = _statics(_source_of(full))
        for name in names.split():
            value = getattr(import_module(full), name)
            signatures = _find_signatures(value)
            if signatures is not None:
                yield from define(name, signatures)
            elif name in statics or _source_of(full).name == "__init__.py":
                yield f"from {_spell(package, full)} import {name} as {name}"
            else:
                kind = "type[Any]" if isinstance(value, type) else "Any"
                yield f"{name}: Final[{kind}]"
        if with_modules and "." not in module and _is_module(package, module):
            home, _, last = _spell(package, full).rpartition(".")
            yield f"from {home or '.'} import {last} as {module}"


def _spell(package: str, module: str) -> str:
    """Return how a stub of a package writes a module: by a dot where it lies in the package."""
    own, inner = _own_path(module), f"{_own_path(package)}."
    return f".{own.removeprefix(inner)}" if own.startswith(inner) else own


def _is_module(package: str, module: str) -> bool:
    return inspect.ismodule(getattr(import_module(package), module, None))


def _write_all(names: Iterable[str]) -> Iterator[str]:
    yield "__all__ = ["
    yield from (f'    "{name}",' for name in sorted(names))
    yield "]"


def write_package(package: str) -> str:
    """Return the stub of a package that imports its names late."""
    module = import_module(package)
    lines = [*_re_export(package), *_hand_on(package, getattr(module, "_NAMES", {}))]
    if package == "torchlike":
        lines += _write_functions()
    if package == "torchlike.nn":
        from torchlike.nn import modules

        below = _hand_on("torchlike.nn.modules", modules._NAMES, with_modules=False)
        lines += [re.sub(r"^from \.(?: |(?=\w))", _from_modules, line) for line in below]
    lines += _write_all(name for name in module.__all__ if not name.startswith("_"))
    return _finish(package, module, lines)


def _from_modules(found: re.Match[str]) -> str:
    return "from .modules" + (" " if found[0].endswith(" ") else ".")


def _write_functions() -> Iterator[str]:
    """Yield torchlike's own functions: those of operators, the factories, and the dtypes."""
    for table in (FUNCTIONS, FACTORIES):
        for name in sorted(table):
            yield from define(name, _find_signatures(table[name]) or ())
    yield from (f"def {name}(self: Any, *args: Any, **kwargs: Any) -> Any: ..." for name in sorted(list_foreach()))
    yield from (f"{name}: Final[_dtype]" for name in DTYPES)
    yield "from .surface import annotations as types"
    yield "from dispatch_core import Event as Event, Stream as Stream"
    yield "from dispatch_core import capture as capture, ops as ops, pipeline as pipeline, synchronize as synchronize"
    yield "from .device_modules.device_functions import DeviceFunctions as _DeviceFunctions"
    # The package of one of them is a file.
    yield from (f"{name}: Final[_DeviceFunctions]" for name in ABSENT if not (SOURCE / name).is_dir())
    yield from (f"{each.name}: Final[_memory_format]" for each in torchlike.memory_format)
    yield "newaxis: Final[None]"
    yield "__version__: str"


def write_namespace(package: str) -> str:
    """Return the stub of a module whose functions are operators of one namespace."""
    module = import_module(package)
    lines = [*_re_export(package)]
    for name in sorted(module.__all__):
        if not any(line.endswith(f" as {name}") for line in lines):
            lines += define(name, _find_signatures(getattr(module, name)) or ())
    return _finish(package, module, [*lines, *_write_all(module.__all__)])


#: Names for methods that have another, and methods that only raise an error.
_MADE_OF_OTHERS: Final = frozenset("lstsq ndimension nelement symeig".split())
#: Names that annotations of methods may have in a stub.
_PLAIN: Final = frozenset("Any None Sequence Tensor bool dict float int list str tuple".split())
#: Properties that can be assigned to.
_PARTS: Final = ("imag", "real")


def write_methods() -> str:
    """Return the stub of the methods and properties of tensors that are no part of the class's source."""
    lines = [
        "class TensorMethods:",
        '    """The methods of tensors that `torchlike.surface.tensor_class` puts into the class."""',
    ]
    lines += ["    def __init__(self, *args: Any, device: _t.DeviceLike = None) -> None: ..."]
    names = ({*METHODS} | {*written.METHODS}) - {*vars(_plain_tensor()), *_PARTS}
    for name in sorted(names):
        signatures = method_signatures(name)
        if name.endswith("_") and not name.endswith("__"):
            signatures = [each.replace(return_annotation="Self") for each in signatures]
        for line in define(name, signatures, "    "):
            is_comparison = line.strip().startswith(("def __eq__", "def __ne__"))
            lines.append(f"{line}  # type: ignore[override]" if is_comparison else line)
    for name in sorted({*dir(torchlike.Tensor)} - {*vars(_plain_tensor()), *names, *_MADE_OF_OTHERS, *_PARTS}):
        if not name.startswith("_") and inspect.isfunction(method := getattr(torchlike.Tensor, name)):
            lines += define(name, [_read_method(method)], "    ")
    for name in ("H", "T", "mH", "mT"):
        lines += ["    @property", f"    def {name}(self) -> _Tensor: ..."]
    lines += [f"    {name}: _Tensor" for name in _PARTS]
    lines += ["    @property", "    def layout(self) -> _layout: ..."]
    for name in sorted({*dir(torchlike.Tensor)} - {*vars(_plain_tensor())}):
        if name.startswith("is_") and isinstance(getattr(torchlike.Tensor, name), property):
            lines += ["    @property", f"    def {name}(self) -> builtins.bool: ..."]
    return _finish("torchlike.tensor_methods", None, lines)


def _read_method(method: Any) -> Signature:
    """Return the signature of a method that is written by hand, with the annotations that a stub can have."""

    def plain(annotation: Any) -> str:
        text = str(annotation)
        return text if {*_WORD.findall(text)} <= _PLAIN else "Any"

    found = inspect.signature(method)
    first, *rest = found.parameters.values()
    parameters = [each.replace(annotation=plain(each.annotation)) for each in rest]
    self = Parameter("self", first.kind)
    return found.replace(parameters=[self, *parameters], return_annotation=plain(found.return_annotation))


def _plain_tensor() -> Any:
    """Return a namespace with the names that stand in the source of the tensor class and its base."""
    names: set[str] = set()
    for file, kind in (("tensors/tensor.py", "Tensor"), ("history/differentiable.py", "Differentiable")):
        for node in ast.parse((SOURCE / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name == kind:
                names |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return type("Names", (), dict.fromkeys(names))


_KEYS_HEAD: Final = '''\
from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .table import DispatchKey

__all__ = ["KnownKeys"]


class KnownKeys:
    """The keys by name, which type checkers take for attributes of `DispatchKey`."""
'''


def write_keys() -> str:
    """Return the module with the names of the keys that are there from the beginning.

    It is no stub: Pyright finds none of these in a package of which another distribution has a partial stub package.
    """
    lines = [f"    {name}: ClassVar[DispatchKey]" for name in sorted(key.name for key in dispatch_core.DispatchKey)]
    title = _TITLE.format("The keys that are there from the beginning, for type checkers.")
    return "\n".join([title, _KEYS_HEAD, *lines, ""])


_OPERATORS_HEAD: Final = """\
import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias, overload
import numpy as np
from dispatch_aten.dtypes import ScalarType
from dispatch_core import Device
from dispatch_core.operators.namespaces import OpOverloadPacket
from dispatch_core.operators.overloads import OpOverload

_Device: TypeAlias = Device | str
_DType: TypeAlias = ScalarType | type[bool] | type[int] | type[float] | type[complex]
_Number: TypeAlias = builtins.complex | np.generic
"""


def write_operators(namespaces: Sequence[str]) -> str:
    """Return the stub of the namespaces of operators that `dispatch_aten` defines; arrays are of any type."""
    lines, properties = [], []
    for namespace in namespaces:
        operators = getattr(dispatch_core.ops, namespace)
        names = [name for name in dir(operators) if not name.startswith("__")]
        for name in names:
            packet = getattr(operators, name)
            lines.append(f"class _{namespace}_{name}(OpOverloadPacket):")
            lines += [f"    {each}: OpOverload" for each in packet.overloads() if not keyword.iskeyword(each)]
            forms = signatures(packet)
            for form in forms:
                lines += ["    @overload"] if len(forms) > 1 else []
                first = Parameter("_packet", Parameter.POSITIONAL_ONLY)
                whole = form.replace(parameters=[first, *form.parameters.values()])
                lines.append(f"    def __call__{spell_signature(whole, _OF_ARRAYS)}: ...")
        lines += [f"class _{namespace}:", *(f"    {name}: _{namespace}_{name}" for name in names)]
        properties += ["    @property", f"    def {namespace}(self) -> _{namespace}: ..."]
    title = _TITLE.format("The operators of the namespaces that dispatch_aten defines, for type checkers.")
    return "\n".join([title, _OPERATORS_HEAD, *lines, "class KnownNamespaces:", *properties, ""])


def write_return_types() -> str:
    """Return the stub of the classes of operators' named results."""
    lines = []
    for name, operator in sorted(OPERATORS.items()):
        if operator.names is not None and not name.startswith("_"):
            lines += [f"class {name}(NamedTuple):", *(f"    {field}: _Tensor" for field in operator.names)]
    return _finish("torchlike.return_types", import_module("torchlike.return_types"), lines)


def _finish(package: str, module: Any, lines: list[str]) -> str:
    path = _source_of(package) if module is not None else SOURCE / "tensor_methods.py"
    dots = "." * (len(path.relative_to(SOURCE).parts)) if path.is_relative_to(SOURCE) else "torchlike."
    body = "\n".join(line for place, line in enumerate(lines) if line[:5] != "from " or line not in lines[:place])
    used = [line.format(dots=dots) for name, line in sorted(_HOMES.items()) if re.search(rf"\b{name}\b", body)]
    type_variable = ['_T = TypeVar("_T", bound=_Tensor)'] if re.search(r"\b_T\b", body) else []
    imports = []
    for line in _IMPORTS.splitlines():
        head, _, names = line.partition(" import ")
        kept = (
            [name for name in names.split(", ") if re.search(rf"\b{name}\b", body + "".join(type_variable))]
            if names
            else []
        )
        if kept:
            imports.append(f"{head} import {', '.join(kept)}")
        elif not names and "builtins." in body:
            imports.append(line)
    summary = (
        "The methods of tensors, for type checkers." if module is None else (module.__doc__ or "").partition("\n")[0]
    )
    return "\n".join([_TITLE.format(summary), *imports, *used, *type_variable, "", body, ""])


PACKAGES: Final = (
    "torchlike torchlike.autograd torchlike.distributions torchlike.distributions.transforms torchlike.nn"
    " torchlike.nn.functional torchlike.nn.modules torchlike.nn.utils torchlike.optim torchlike.optim.lr_scheduler"
    " torchlike.serialization torchlike.utils torchlike.utils.data"
).split()
NAMESPACES: Final = ("torchlike.fft", "torchlike.linalg", "torchlike.special")


def list_public_paths() -> dict[Path, str]:
    """Return the stub's place for each public path, with those of modules in packages → the path of the file."""
    found = {}
    for public, own in PUBLIC_PATHS.items():
        folder = Path(*public.split("."))
        inner = [each.name for each in iter_modules(getattr(import_module(own), "__path__", ()))]
        found[folder / "__init__.pyi" if inner else folder.with_suffix(".pyi")] = own
        found |= {folder / f"{name}.pyi": f"{own}.{name}" for name in inner}
    return found


def write_public_path(own: str) -> str:
    """Return the stub of a public path: all that the file defines, private classes included, which users inherit from."""
    module, lines = import_module(own), [f"from {own} import *"]
    listed = getattr(module, "__all__", None)
    for node in ast.parse(_source_of(own).read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                is_given = name[0] != "_" if listed is None else name in listed
                if not is_given and (name[0] != "_" or isinstance(node, ast.ClassDef)):
                    lines.append(f"from {own} import {name} as {name}")
            case ast.ImportFrom(module=inner, names=[ast.alias(name="*")], level=1):
                # mypy leaves out names of an ``__all__`` that is added up.
                lines.append(f"from {own}.{inner} import *")
    if hasattr(module, "__getattr__"):  # names of its modules, imported at their first use
        private = {name: getattr(module, name) for name in dir(module) if name[0] == "_" != name[1:2]}
        private = {name: found for name, found in private.items() if isinstance(found, type)}
        own_ones = [name for name, found in private.items() if found.__module__.startswith(module.__name__)]
        lines += [f"from {own} import {name} as {name}" for name in own_ones]
    return "\n".join([_TITLE.format((module.__doc__ or "").partition("\n")[0]), *lines, ""])


def write_stubs() -> dict[Path, str]:
    """Return the text of every stub by its place, below the folder that packages are imported from."""
    texts = {_source_of(package).with_suffix(".pyi"): write_package(package) for package in PACKAGES}
    texts |= {_source_of(package).with_suffix(".pyi"): write_namespace(package) for package in NAMESPACES}
    found = {path.relative_to(SOURCE.parent): text for path, text in texts.items()}
    found |= {place: write_public_path(own) for place, own in list_public_paths().items()}
    found[Path("torchlike", "tensor_methods.pyi")] = write_methods()
    found[Path("torchlike", "return_types.pyi")] = write_return_types()
    found[Path("dispatch_core", "keys", "known_keys.py")] = write_keys()
    # A part of the core's types that only who installs the operators has, by a partial stub package (PEP 561).
    operators = Path("dispatch_core-stubs", "operators", "known_namespaces.pyi")
    found[operators] = write_operators(["aten", "prims"])
    return found


def main() -> None:
    """Write the stubs, or compare them with those that are there."""
    stale = []
    for place, text in write_stubs().items():
        path = SOURCES[place.parts[0]].parent / place
        if "--check" in sys.argv[1:]:
            stale += [] if path.exists() and path.read_text(encoding="utf-8") == text else [path]
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"out of date: {', '.join(map(str, stale))}\nrun python tools/generate_stubs.py")


if __name__ == "__main__":
    main()
