"""The toolkit's libraries, which are loaded when one of their functions is first needed, and these functions with types.

``bind(name)`` returns a function; ``call(name, *args)`` calls it and raises an error where it reports a failure. A caller
on a hot path binds its functions once and checks their status itself: ``if status: fail(name, status)``.

Types are declared as the toolkit's headers spell them, in ``prototypes`` and, for operators, in the table of ``aclnn``.
``c_type`` maps such a spelling to ctypes' type, so that no call passes an argument of another size or layout.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, NoReturn, cast

from dispatch_core.forks import Order, forkable

from . import toolkit
from .errors import AclError, FunctionNotFoundError, ToolkitNotFoundError, ToolkitVersionError
from .prototypes import EXECUTION, OPERATORS, RUNTIME, WORKSPACE, Prototype, prototypes

_PHASE_ONE: Final = "GetWorkspaceSize"

_TYPES: Final[dict[str, Any]] = {
    "void": None,
    "bool": ctypes.c_bool,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "int8_t": ctypes.c_int8,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    # Statuses, and enums, which the compilers of both architectures make ints.
    "aclError": ctypes.c_int,
    "aclnnStatus": ctypes.c_int32,
    "aclDataType": ctypes.c_int,
    "aclFormat": ctypes.c_int,
    "aclrtEventRecordedStatus": ctypes.c_int,
    "aclrtMemAttr": ctypes.c_int,
    "aclrtMemMallocPolicy": ctypes.c_int,
    "aclrtMemcpyKind": ctypes.c_int,
    "aclrtStreamStatus": ctypes.c_int,
    "aclSysParamOpt": ctypes.c_int,
    "aclmdlRICaptureMode": ctypes.c_int,
    "HcclResult": ctypes.c_int,
    "HcclDataType": ctypes.c_int,
    "HcclReduceOp": ctypes.c_int,
    # Names for pointers.
    "aclrtContext": ctypes.c_void_p,
    "aclrtEvent": ctypes.c_void_p,
    "aclrtStream": ctypes.c_void_p,
    "aclmdlRI": ctypes.c_void_p,
    "HcclComm": ctypes.c_void_p,
}
_OPAQUE: Final = frozenset(
    (
        "void aclTensor aclScalar aclIntArray aclBoolArray aclTensorList aclOpExecutor HcclRootInfo HcclSendRecvItem"
    ).split()
)


@cache
def c_type(spelling: str) -> Any:
    """Return the type of ctypes for a type as the toolkit's headers spell it.

    >>> c_type("const aclTensor*"), c_type("int8_t"), c_type("const char*")
    (<class 'ctypes.c_void_p'>, <class 'ctypes.c_byte'>, <class 'ctypes.c_char_p'>)
    """
    bare = " ".join(word for word in spelling.replace("*", " * ").split() if word != "const")
    if not bare.endswith("*"):
        return _TYPES[bare]
    target = bare.removesuffix("*").strip()
    if target == "char":
        return ctypes.c_char_p
    return ctypes.c_void_p if target in _OPAQUE else ctypes.POINTER(c_type(target))


def prototype(name: str) -> Prototype:
    """Return the prototype of a function that this package calls.

    Raises ``FunctionNotFoundError`` for any other.

    >>> prototype("aclnnMulGetWorkspaceSize").arguments[-2:]
    ('uint64_t*', 'aclOpExecutor**')
    """
    found = prototypes().get(name)
    if found is not None:
        return found
    from ..aclnn.table import PROTOTYPES  # the operators' table is long, and the runtime does not need it

    if name in PROTOTYPES:
        return EXECUTION
    arguments = PROTOTYPES.get(name.removesuffix(_PHASE_ONE)) if name.endswith(_PHASE_ONE) else None
    if arguments is None:
        raise FunctionNotFoundError(
            f"{name} is declared neither in acl.prototypes nor in aclnn.table", hint="add a row with its C types"
        )
    return Prototype(OPERATORS, "aclnnStatus", (*arguments, *WORKSPACE))


#: How a library is loaded; Windows has no such choice, and no toolkit.
LAZILY = ctypes.DEFAULT_MODE
if sys.platform != "win32":
    LAZILY = os.RTLD_LAZY
_STATUS: Final = frozenset({"aclError", "aclnnStatus"})
#: The toolkit finds no kernel: of this operator, by ASCEND_OPP_PATH, in its folder.
_WITHOUT_KERNELS: Final = frozenset({561003, 561107, 561112})
_lock: Final = forkable(Order.MEMORY)
#: Functions that have been called with success; None where nothing asks for them.
_called: set[str] | None = None
_functions: Final[dict[str, Callable[..., Any]]] = {}
_handles: Final[dict[str, ctypes.CDLL]] = {}
_folder: str | None = None


def is_loaded() -> bool:
    """Return whether the runtime has been loaded."""
    return bool(_handles)


def folder() -> str:
    """Return the folder of the libraries; once one was loaded, it stays the same until the process ends.

    Raises ``ToolkitNotFoundError`` where there is none.
    """
    found = _folder or toolkit.find_folder()
    if found is None:
        raise ToolkitNotFoundError(
            toolkit.describe_search(),
            hint="install the toolkit and source its set_env.sh; without a device, python -m dispatch_backend_npu simulator"
            " builds a simulator"
            if toolkit.is_linux()
            else "use the device cpu, or a machine with Linux, where there is a simulator, too",
        )
    return found


def open_library(path: str) -> ctypes.CDLL:
    """Load a library; one of the simulator only as it was built: damaged, it is built again.

    Raises ``OSError``.
    """
    home = os.path.dirname(os.path.dirname(path))  # noqa: PTH120  # as in toolkit
    if os.path.isfile(os.path.join(home, toolkit.STAMP)):  # noqa: PTH113, PTH118  # as in toolkit
        from pathlib import Path

        from ..simulator.compilation import repair  # the toolkit's own libraries need nothing of it

        repair(Path(home))
    # Lazy binding: an operator library's own needs are resolved at its first call, as in torch's own adapter.
    return ctypes.CDLL(path, LAZILY)


def _load(path: str) -> ctypes.CDLL:
    global _folder
    handle = _handles.get(path)
    if handle is None:
        if _folder is None and (old := toolkit.describe_age(os.path.dirname(path))):  # noqa: PTH120  # as in toolkit
            raise ToolkitVersionError(old, hint="install a newer toolkit, and source its set_env.sh")
        try:
            handle = open_library(path)
        except OSError as error:
            raise ToolkitNotFoundError(
                f"{path} cannot be loaded: {error}",
                hint="source the toolkit's set_env.sh before the program starts; libraries of the driver are missing where"
                " no driver is installed",
            ) from error
        _folder = os.path.dirname(path) if _folder is None else _folder  # noqa: PTH120  # as in toolkit
        _handles[path] = handle
    return handle


def bind(name: str) -> Callable[..., Any]:
    """Return a function of the toolkit with its argument and result types. Its caller checks the status.

    Raises ``ToolkitNotFoundError`` where there is no toolkit, ``FunctionNotFoundError`` where it lacks the function.
    """
    return _functions.get(name) or _bind(name)


def _bind(name: str) -> Callable[..., Any]:
    declared = prototype(name)
    with _lock:
        where = folder()
        # The other libraries find the runtime's functions, and each other's, only in loaded libraries.
        _load(toolkit.find_files(where, RUNTIME)[0])
        paths = toolkit.find_files(where, declared.library)
        for path in paths:
            try:
                function = _load(path)[name]
            except AttributeError:
                continue
            function.restype = c_type(declared.returns)
            function.argtypes = [c_type(argument) for argument in declared.arguments]
            if _called is not None:
                function.errcheck = _note_call
            _functions[name] = function
            return function
    from .installation import describe_missing  # only failures need it

    missing = describe_missing(where)
    files = ", ".join(path.rpartition("/")[2] for path in paths) or "none of " + ", ".join(
        toolkit.FILES[declared.library]
    )
    raise FunctionNotFoundError(
        f"the toolkit in {where} has no function {name}: {missing or f'looked in {files}'}",
        hint="install the toolkit as a whole, and source its set_env.sh"
        if missing or not paths
        else "a newer toolkit may have it",
    )


def record_calls() -> set[str]:
    """Return a set that gets the name of each function that succeeds from now on."""
    global _called
    if _called is None:
        _called = set()
        for function in _functions.values():
            cast("Any", function).errcheck = _note_call
    return _called


def _note_call(result: Any, function: Any, arguments: object) -> Any:
    """Note a function whose status is success, or which returns something else than a status."""
    succeeded = not result if prototype(function.__name__).returns in _STATUS else bool(result)
    if succeeded and _called is not None:
        _called.add(function.__name__)
    return result


def call(name: str, *args: Any) -> Any:
    """Call a function that returns a status. Raises ``AclError`` where that is not success."""
    status = bind(name)(*args)
    if status:
        fail(name, status)


def call_each(name: str, handles: Iterable[Any]) -> None:
    """Call a function for every handle, also after a failure. Raises ``AclError`` in the end if one was not success."""
    failed = 0
    for handle in handles:
        failed = bind(name)(handle) or failed
    if failed:
        fail(name, failed)


def recent_message() -> str:
    """Return the toolkit's message about this thread's last failure, and clear it; ``""`` where there is none."""
    # The pointer is valid until the next call in this thread; ctypes copies the text.
    message: bytes | None = bind("aclGetRecentErrMsg")()
    return message.decode(errors="replace") if message else ""


def fail(name: str, code: int) -> NoReturn:
    """Raise ``AclError`` for the status of a function; one of missing kernels names the fault of the installation."""
    hint = None
    if code in _WITHOUT_KERNELS and _folder is not None:
        from .installation import find_faults  # only failures need it

        hint = next((f"{fault.text}; {fault.hint}" for fault in find_faults(_folder)), None)
    raise AclError(name, code, recent_message(), hint=hint)
