"""Writes ``torchlike/shells/torch_tree.txt``: the modules of torch, and the kind of each name in them.

python tools/record_torch_modules.py           # where torch is installed: writes the table
python tools/record_torch_modules.py --check   # fails where it is out of date

Private names are recorded where a public module, or a library that is installed beside torch, imports them.

The table has facts alone: names, bases of classes, members of enumerations, plain values. Two kinds are judged by the lists
below: functions that do nothing in a program that compiles nothing, and blocks that do nothing. Questions are asked: the
answer has to be no, for each of the arguments that are tried.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import importlib
import inspect
import io
import logging
import pkgutil
import re
import sys
import textwrap
import types
import typing
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch

TABLE: Final = Path(__file__).parent.parent / "packages/frontend-torchlike/src/torchlike/shells/torch_tree.txt"
HEAD: Final = """\
The modules of torch {version} and the names in them, by tools/record_torch_modules.py; `table` reads it. A line begins with
the kind of its names, or with `from` and the module that they are taken from. Bases of classes stand in parentheses.
"""

#: Modules that are left out, with all that lies in them: tests, programs, code generators, and formulas of operators.
LEFT_OUT: Final = re.compile(
    r"torch\.(testing\._internal|utils\.(benchmark\.examples|bottleneck|hipify|model_dump|tensorboard|data\.datapipes)|_vendor|contrib"
    r"|_inductor\.\w+\.|_inductor\.(codegen|kernel|fx_passes|runtime|compile_worker|autoheuristic|package)"
    r"|onnx\._internal\.\w+\.|_export\.db|distributed\.(_tools|launch|run|benchmarks|debug|flight_recorder|pipelining\._)"
    r"|_numpy|_refs|_prims\.|_decomp|_meta_registrations|_native|_lazy|_strobelight|_awaits|_vendor"
    r"|_inductor\.(?!(config|utils|compile_fx|codecache|ir|lowering|pattern_matcher|scheduler|custom_graph_pass|exc|graph|async_compile"
    r"|decomposition|metrics|cudagraph_trees|virtualized|select_algorithm|dependencies|freezing|output_code)$)"
    r"|distributed\.(_shard|_sharded_tensor|_sharding_spec|_symmetric_memory|_local_tensor|_pycute|tensor\._(collective|op_schema|sharding|redis)"
    r"|checkpoint\._(?!state_dict)|fsdp\._(?!fully_shard|fsdp_api|common_utils|traversal)|elastic\.(rendezvous\.etcd|agent\.server\.))"
    r"|_functorch\.(aot_autograd_|_activation|_aot)|utils\.(viz|data\.backward|_sympy|_debug|_strobelight)|cuda\._|sparse\._|nested\._internal\.ops"
    r"|ao\.(quantization\.(pt2e|quantizer|backend_config|fx)\._|ns\.)|distributed\.elastic\.\w+\.\w+\._"
    r"|_C\._dynamo\.|_C\._instruction_counter|_C\._verbose|fx\.passes\.(backends|tests)\.|fx\.experimental\.migrate_gradual_types"
    r"|backends\.python_native|ao\.pruning\._experimental|_dynamo\.(polyfills|repro|test_|variables\.)|_C\._VariableFunctions"
    r"|distributed\.(checkpoint\.examples|rpc\._testing|tensor\.examples)"
    r"|distributed\.(_tensor\.examples|elastic\.timer\.debug|tensor\._ops|nn\.jit)|fb\b|_functorch\._aot_autograd\.|__main__|.*\.__main__)"
)
#: Modules whose functions compute: none is recorded, a program has to find out that they are not there.
COMPUTES: Final = re.compile(
    r"torch(\.(_C\._(nn|linalg|fft|special|sparse|nested)|masked|_prims|_prims_common|nn(?!\.(attention|parallel))|optim|distributions|linalg|fft|special|sparse|nested|signal|func|functional"
    r"|return_types|random|_tensor|_lowrank|_lobpcg|amp|cuda|xpu|mps|mtia|quasirandom|storage|serialization|cpu|autograd|types)\b.*)?$"
    r"|torch\.utils(\.(data|checkpoint|dlpack|_foreach_utils|_pytree)\b.*)?$"
)
#: Private modules whose private names are used elsewhere.
USED: Final = re.compile(
    r"torch\.(_C|_utils|_jit_internal|_ops|_guards|_dynamo|_utils_internal|_namedtensor_internals|_tensor)(\._[a-z]\w*)?"
)
#: Functions that do nothing in a program which compiles, traces and exports nothing: decorators and registrations.
NOTHING: Final = re.compile(
    r"torch\.(_jit_internal|jit(\.\w+)*)\.(_overload(_method)?|_script_if_tracing|script_if_tracing|ignore|unused|export|interface"
    r"|_drop|script_method|_copy_to_script_wrapper|boolean_dispatch_|_try_get_dispatched_fn_|_register_builtin"
    r"|_enable_future_annotations_|set_module|_qualified_name_)"
    r"|torch\.compiler\.\w*(disable|allow_in_graph|assume_constant_result|skip_\w+|nested_compile_region)"
    r"|torch\._dynamo(\.\w+)*\.(disable|allow_in_graph|forbid_in_graph|disallow_in_graph|nonstrict_trace|mark_\w+|maybe_mark_dynamic"
    r"|skip|run|reset\w*|graph_break|assume_constant_result|substitute_in_graph|skip_code|dont_skip_tracing|_disable_dynamo"
    r"|register_backend|error_on_graph_break|leaf_function|override_optimization_hint|patch_dynamo_config|disable_nested_graph_breaks"
    r"|set_stance_|patch_dynamo_config|step_unsupported|unmark_\w+|_allow_in_graph_einops|decorate_context_)"
    r"|torch\._disable_dynamo|torch\._compile\._disable_dynamo|torch\.fx(\._symbolic_trace)?\.wrap"
    r"|torch\.fx(\.\w+)*\.compatibility|torch\.fx(\.\w+)*\.(register_pytree_flatten_spec|_register_custom_builtin)"
    r"|torch\.onnx(\.\w+)*\.(parse_args|quantized_args|onnx_symbolic|custom_onnx_symbolic|register_custom_op_symbolic"
    r"|unregister_custom_op_symbolic|_onnx_symbolic|_apply_params|register_quantized_ops_)"
    r"|torch\._(decomp|refs|prims)(\.\w+)*\.register_decomposition|torch\._inductor(\.\w+)*\.(register_decomposition|register_lowering)"
    r"|torch\.utils\._exposed_in\.exposed_in|torch\._utils_internal\.(compile_time_strobelight_meta|log_\w+|signpost_event|record_\w+)"
    r"|torch\.distributed\.elastic(\.\w+)*\.(record|prof|put_metric|record_event|configure|add_metric)"
    r"|torch\.distributed(\.\w+)*\.(_exception_logger|_time_logger|contract|_require_initialized)"
    r"|torch\._export\.wrappers\.mark_subclass_constructor_exportable_experimental|torch\._export\.wrappers\.allow_training_\w+"
    r"|torch\.export(\.\w+)*\.(register_dataclass|_disable_prexisting_fake_mode_)"
    r"|torch\._logging(\.\w+)*\.(set_logs|trace_structured|dtrace_structured|warning_once_|trace_structured_artifact)"
    r"|torch\._C\.(_log_api_usage\w*|_jit_set_\w+|_set_graph_executor_optimize|_jit_override_can_fuse_\w+|_jit_register_\w+"
    r"|_debug_set_\w+|_jit_clear_class_registry|_initExtension_)"
    r"|torch\._weights_only_unpickler\._(add|clear)_safe_globals_|torch\._higher_order_ops(\.\w+)*\.register_\w+"
    r"|torch\._lobpcg_|torch\.package(\.\w+)*\.is_from_package_"
    r"|torch\._functorch(\.\w+)*\.(doesnt_support_saved_tensors_hooks|exposed_in|register_\w+)"
    r"|torch\.ao(\.\w+)*\.(register_\w+|_register_\w+)|torch\._subclasses(\.\w+)*\.register_\w+"
    r"|torch\._custom_ops_|torch\.utils\._config_module\.install_config_module"
)
#: Blocks and their classes that do nothing there.
BLOCKS: Final = re.compile(
    r"torch(\.\w+)*\.(TransformGetItemToIndex|disable_proxy_modes_tracing|maybe_disable_fake_tensor_mode|unset_fake_temporarily"
    r"|_disable_current_modes|_disable_jit_autocast_|strict_fusion|_DisableFuncTorch|_DisableAutocast|_AutoDispatchBelowAutograd"
    r"|_AutoDispatchBelowADInplaceOrView|_DisablePythonDispatcher|_DisableTorchDispatch|optimized_execution|fuser|dynamo_timed"
    r"|_suppress_guards|_suspend_guards|suspend_functionalization|patch_dynamo_config|set_stance|_enable_hidden_|config_patch"
    r"|_optimize_trace_|parallel_and_export_|_SetFwdGradEnabled_|preserve_global_state_|disable_saved_tensors_hooks_"
    r"|_pop_mode_temporarily_|set_fullgraph|set_eager_fallback|chromium_event_timed|compile_context_|tracing_context_)"
)
#: The kinds, in the order of their lines.
KINDS: Final = "class exception enum function nothing question block alias logger object config".split()
PLAIN_BASES: Final = {each for each in [*vars(builtins).values(), OrderedDict] if isinstance(each, type)} - {object}


def import_all() -> list[str]:
    """Import the modules that can be imported here; return the names of all that are recorded."""

    def walk(path: Any, prefix: str) -> None:
        for found in pkgutil.iter_modules(path, prefix):
            if LEFT_OUT.match(found.name):
                continue
            try:
                module = importlib.import_module(found.name)
            except BaseException as error:  # noqa: BLE001  # some end the process, others need a library
                print(f"left out: {found.name}: {type(error).__name__}", file=sys.stderr)  # noqa: T201
                continue
            if found.ispkg and hasattr(module, "__path__"):
                walk(module.__path__, f"{found.name}.")

    walk(torch.__path__, "torch.")
    names = (name for name in sys.modules if name == "torch" or name.startswith("torch."))
    return sorted(name for name in names if not LEFT_OUT.match(name) and ".<" not in name)


def list_imports() -> set[tuple[str, str]]:
    """Return the names of torch's modules that installed libraries import."""
    found = set()
    imports = re.compile(r"^\s*from\s+(torch\.[\w.]+)\s+import\s+(\([^)]*\)|[^\n(]+)", re.MULTILINE)
    for path in Path(torch.__file__).parents[1].rglob("*.py"):
        if path.parts[-2] != "torch" and "/torch/" not in str(path):
            text = path.read_text(encoding="utf-8", errors="replace")
            for module, names in imports.findall(text) if "torch" in text else ():
                plain = re.sub(r"#[^\n]*|[()\\]", " ", names)
                found |= {(module, each.split()[0]) for each in plain.split(",") if each.strip()}
    return found


class Recorder:
    """Finds the kind of each name; ``homes`` says where an object was defined."""

    def __init__(self, modules: list[str]) -> None:
        self.modules = {name: sys.modules[name] for name in modules}
        self.rows: dict[str, dict[str, list[str]]] = {}
        #: Names that public modules and libraries take from their modules.
        self.handed_on = list_imports()
        for where, name in list(self.handed_on):
            home = self.home_of(vars(self.modules[where]).get(name)) if where in self.modules else None
            if home is not None:
                self.handed_on.add(home)
        for name, module in self.modules.items():
            if not is_private(name):
                with contextlib.suppress(Exception):  # as below
                    self.handed_on |= {
                        home for each in [*vars(module).values()] if (home := self.home_of(each)) is not None
                    }

    def home_of(self, value: Any) -> tuple[str, str] | None:
        """Return the module and the name of a class or function where these lead back to it."""
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if not isinstance(module, str) or not isinstance(name, str):
            return None
        owner = self.modules.get(module)
        return (module, name) if owner is not None and vars(owner).get(name) is value else None

    def record(self) -> dict[str, dict[str, list[str]]]:
        """Return, for each module, kind → names with their details."""
        for where, module in self.modules.items():
            rows: dict[str, list[str]] = defaultdict(list)
            for name, value in sorted(vars(module).items()):
                if not (name.startswith("__") and name.endswith("__")) and name.isidentifier():
                    with contextlib.suppress(Exception):  # `Skip`, and objects that look for a GPU or a library
                        kind, text = self.describe(where, name, value)
                        rows[kind].append(text)
            if getattr(module, "_is_dirty_", None) is None and hasattr(module, "get_config_copy"):
                for name, value in sorted(module.get_config_copy().items()):
                    if "." not in name and name != "TYPE_CHECKING" and (text := write_plain(value)) is not None:
                        rows["constant"].append(f"{name} = {text}")
                rows["block"].append("patch")
            self.rows[where] = rows
        return self.rows

    def describe(self, where: str, name: str, value: Any) -> tuple[str, str]:
        """Return the kind of a name and its text; raise `Skip` for one that is not recorded."""
        if isinstance(value, types.ModuleType):
            if value.__name__ not in self.modules or name not in ("F", "nn", "init") or is_private(where):
                raise Skip
            return f"module {value.__name__}", name
        if name == "TYPE_CHECKING" or (
            is_private(where) and is_private(name) and (where, name) not in self.handed_on and not USED.fullmatch(where)
        ):
            raise Skip
        home = self.home_of(value)
        if home is not None and home != (where, name) and not isinstance(value, (typing.TypeVar, typing.ParamSpec)):
            listed = getattr(self.modules[where], "__all__", ())
            inner = is_private(where) and not USED.fullmatch(where) and not hasattr(self.modules[where], "__path__")
            if inner and name not in listed and (where, name) not in self.handed_on:
                raise Skip
            if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) and COMPUTES.match(where):
                raise Skip
            return f"from {shorten(home[0], where)}", name if home[1] == name else f"{home[1]}:{name}"
        if isinstance(value, type):
            return self.describe_class(where, name, value, home)
        if isinstance(value, (typing.TypeVar, typing.ParamSpec)) or typing.get_origin(value) is not None:
            if name[0] == "_" or len(name) < 3 or is_private(where):
                raise Skip
            return "alias", name
        if isinstance(value, logging.Logger):
            if is_private(where):
                raise Skip
            return "logger", name
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
            owner = getattr(value, "__module__", None) or where
            if not owner.startswith("torch") or COMPUTES.match(where):
                raise Skip
            return self.describe_function(where, name, value)
        text = write_plain(value)
        if text is not None:
            return "constant", f"{name} = {text}"
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format, torch.Tensor)):
            raise Skip
        if type(value).__module__.startswith("torch"):
            return "object", name
        if isinstance(value, (dict, list, set, tuple, frozenset)) and not COMPUTES.match(where):
            return "constant", f"{name} = {write_empty(value)}"
        raise Skip

    def describe_class(self, where: str, name: str, value: type, home: tuple[str, str] | None) -> tuple[str, str]:
        """Return the kind of a class of torch's, with its bases."""
        if not (value.__module__ or "").startswith("torch"):
            raise Skip
        if BLOCKS.fullmatch(f"{where}.{name}"):
            return "block", name
        members = getattr(value, "__members__", None)
        if members and (issubclass(value, enum.Enum) or hasattr(next(iter(members.values())), "value")):
            values = [(key, write_plain(each.value)) for key, each in members.items()]
            if all(key.isidentifier() and text and not set(" ,") & set(text) for key, text in values):
                return "enum", f"{name}({','.join(f'{key}={text}' for key, text in values)})"
        bases = [*dict.fromkeys(re.sub(rf"^{where}(?=\.\w+$)", "", each) for each in self.list_bases(value))]
        kind = "exception" if issubclass(value, BaseException) else "class"
        return kind, f"{name}({','.join(bases)})" if bases else name

    def list_bases(self, value: type) -> Iterator[str]:
        """Yield the full names of the bases that a subclass needs: recorded ones of torch's, and Python's own."""
        for base in value.__bases__:
            home = self.home_of(base)
            if base in PLAIN_BASES:
                yield base.__name__
            elif home is not None and not (is_private(home[0]) and is_private(home[1]) and home not in self.handed_on):
                yield ".".join(home)
            elif home is not None:
                yield from self.list_bases(base)

    def describe_function(self, where: str, name: str, value: Any) -> tuple[str, str]:
        """Return the kind of a function."""
        path = f"{where}.{name}"
        if NOTHING.fullmatch(path):
            return "nothing", name
        if BLOCKS.fullmatch(path):
            return "block", name
        if re.match(r"_?(is|has|can|in|are|any)_", name) and answers_no(value):
            return "question", name
        return "function", name


def is_private(path: str) -> bool:
    """Return whether a part of a path begins with an underscore."""
    return "._" in f".{path}"


def shorten(home: str, where: str) -> str:
    """Return a module's name as one writes it in another module of its package."""
    package = f"{where.rpartition('.')[0]}."
    return f".{home.removeprefix(package)}" if package != "torch." and home.startswith(package) else home


class Skip(Exception):  # noqa: N818  # no error
    """Says that a name is not recorded."""


def answers_no(function: Any) -> bool:
    """Return whether a question has the answer no for all arguments that are tried."""
    model = torch.nn.Linear(1, 1)
    tried: list[tuple[Any, ...]] = [
        (torch.ones(2),),
        (model,),
        (lambda x: x,),
        (None,),
        (torch.Tensor,),
        (3,),
        ("name",),
    ]
    if not isinstance(function, types.FunctionType):
        return True  # machine code: some of it ends the process
    with contextlib.suppress(TypeError, ValueError):
        needed = [
            each
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        if not needed:
            tried = [()]
    answers = []
    for arguments in tried:
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            answers.append(function(*arguments))
    if tried == [()] and answers and answers[0] in (True, False):
        return True  # about this process, or this build, which torchlike is not
    return bool(answers) and all(each is False for each in answers)


def write_plain(value: Any) -> str | None:
    """Return the source of a plain value, None for another one and a long one."""
    if isinstance(value, enum.Enum) or type(value) not in (
        int,
        float,
        str,
        bool,
        bytes,
        type(None),
        tuple,
        list,
        dict,
        set,
        complex,
    ):
        return None
    if isinstance(value, dict) and any(type(key) is int and key > 1 << 32 for key in value):
        return None  # by the addresses of objects
    text = f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, set) and value else repr(value)
    if len(text) > 60 or "/" in text or "\n" in text:
        return None
    try:
        return text if ast.literal_eval(text) == value else None
    except (ValueError, SyntaxError):
        return None


def write_empty(value: Any) -> str:
    """Return the source of an empty container of the kind of one that is not plain."""
    for kind, text in ((dict, "{}"), (list, "[]"), (tuple, "()")):
        if isinstance(value, kind):
            return text
    return "{*()}"


def write(rows: dict[str, dict[str, list[str]]]) -> str:
    """Return the table's text."""

    def lines(kinds: dict[str, list[str]]) -> Iterator[str]:
        order = {kind: number for number, kind in enumerate(KINDS)}
        for kind, names in sorted(kinds.items(), key=lambda each: (order.get(each[0].split()[0], 50), each[0])):
            if kind == "constant":
                yield from (f"constant {text}" for text in names)
            else:
                yield from textwrap.wrap(
                    f"{kind} {' '.join(names)}",
                    125,
                    subsequent_indent=" ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )

    blocks = ("\n".join([f"[{where}]", *lines(kinds)]) for where, kinds in rows.items())
    return HEAD.format(version=torch.__version__.partition("+")[0]) + "\n" + "\n\n".join(blocks) + "\n"


def main() -> int:
    """Write the table, or compare it."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    text = write(Recorder(import_all()).record())
    if "--check" in sys.argv[1:]:
        if TABLE.read_text(encoding="utf-8") != text:
            print(f"{TABLE.name} is out of date: run python tools/record_torch_modules.py")  # noqa: T201
            return 1
        return 0
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
