"""Backends that the program registers itself, without a distribution, by the rules that hold for plugins.

Note [A device of the program's own]
    A program that registers a device asks for the same as a plugin: the device's own keys, the level of backends, a
    transaction of its own. It is refused the same as a plugin: another's name, key or array type, a name that the
    environment variables keep out, kernels under keys that are not its own. Its handle takes everything back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

from dispatch_core.arrays.protocols import Kernel
from dispatch_core.discovery import loader
from dispatch_core.errors import ArgumentError, BackendError, RegistrationError, short_repr
from dispatch_core.keys.table import DispatchKey
from dispatch_core.operators.registration import caller_origin
from dispatch_core.operators.registries import Registry, the_registry
from dispatch_core.tracebacks import api_boundary

from ..pipelines import open_session
from ..surroundings.distributions import BACKENDS, Distribution
from . import hooks as hookspecs
from . import messages, policy
from .catalog import OWNERS, is_device_name

if TYPE_CHECKING:
    from dispatch_core.arrays.types import BackendInfo
    from dispatch_core.bookkeeping.origins import Origin

    from .settings import Settings
    from .state import BackendState

Kernels: TypeAlias = Mapping[str, Kernel] | Callable[[Registry], object]
_PREFIX: Final = "dispatch_"
#: The hooks that a program may give, by the keyword: the hook's name without ``dispatch_``.
HOOKS: Final = tuple(
    name.removeprefix(_PREFIX)
    for name in vars(hookspecs)
    if name.startswith(_PREFIX) and name not in hookspecs.REQUIRED
)


class BackendHandle:
    """A backend that the program registered; closing it takes everything back that was registered with it."""

    def __init__(
        self, info: BackendInfo, hooks: Mapping[str, Callable[..., Any]], registry: Registry, origin: Origin
    ) -> None:
        self.info = info
        self.registry = registry
        #: Where it was registered.
        self.origin = origin
        #: Hook → the function that implements it.
        self.hooks = hooks
        #: The backend's dispatch key, under which its kernels stand.
        self.key: DispatchKey
        #: Takes its registrations back, the last one first.
        self.undo: list[Callable[[], None]] = []

    @property
    def distribution(self) -> Distribution:
        """Return the distribution whose code registered it; without a name where that belongs to none."""
        return Distribution(self.origin.distribution, self.origin.version)

    @property
    def is_closed(self) -> bool:
        """Return whether the device is gone again."""
        return not self.undo

    def close(self) -> None:
        """Take back the device, its key's claim, its array types and its kernels. Closing twice is harmless.

        The running pipeline computes its pending values before. Arrays of the device that are left belong to no backend
        afterwards, until a backend registers their type again.
        """
        session = None if self.is_closed else open_session()
        try:
            if session is not None:
                session.flush()
        finally:
            loader().close_backend(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else self.key.label
        return f"<BackendHandle {self.info.name!r}, {state}, registered at {self.origin.short}>"


@api_boundary
def register_backend(
    info: BackendInfo, kernels: Kernels, *, registry: Registry | None = None, **hooks: Callable[..., Any]
) -> BackendHandle:
    """Register a device in this process, without a distribution, and return a handle that takes it back.

    ``kernels`` maps operators (``"aten::add.Tensor"``, or ``"add.Tensor"`` for aten's) to functions, which are registered
    under the device's key; or it is a function that registers them, as a plugin's hook ``dispatch_register``. The other
    hooks of a plugin are keyword arguments, without ``dispatch_``: ``is_available``, ``open_device``, ``device_count``,
    ``runtime``, ``plan``, ``compute``, ``synchronize``. The device is known by name in the whole process; with ``registry``
    its kernels are that registry's, in which it may own array types of other backends. A call that raises leaves nothing
    behind.
    Raises ``ArgumentError`` for arguments of another type and unknown hooks, ``RegistrationError`` for a name, key or array
    type of another backend's and kernels under keys that are not the device's, ``BackendError`` for a device that an
    environment variable keeps out.

    >>> import dispatch_core as dc
    >>> class Celsius(float):
    ...     pass
    >>> library = dc.Library("weather", "DEF")
    >>> _ = library.define("warmer(Tensor self, float by) -> Tensor")
    >>> degrees = dc.ArrayType(Celsius, shape=lambda array: (), dtype=lambda array: "float64")
    >>> kernels = {"weather::warmer": lambda self, by: Celsius(self + by)}
    >>> with dc.register_backend(dc.BackendInfo("thermometer", array_types=(degrees,)), kernels):
    ...     dc.ops.weather.warmer(Celsius(20), 1.5), dc.device(Celsius(20))
    (21.5, device(type='thermometer'))
    >>> library.close()
    """
    from dispatch_core.arrays.types import BackendInfo

    if not isinstance(info, BackendInfo):
        raise ArgumentError(
            f"register_backend() takes a BackendInfo first, not {type(info).__name__}",
            hint='describe the device: BackendInfo("acme", array_types=(ArrayType(...),))',
        )
    if not callable(kernels) and not isinstance(kernels, Mapping):
        raise ArgumentError(
            f"register_backend() takes kernels as a mapping of operators' names, not {type(kernels).__name__}",
            hint='write {"aten::add.Tensor": function, ...}, or give a function of the registry that registers them',
        )
    given = {f"{_PREFIX}{name}": _checked_hook(name, function) for name, function in hooks.items()}
    return loader().register_backend(BackendHandle(info, given, the_registry(registry), caller_origin()), kernels)


def _checked_hook(name: str, function: object) -> Callable[..., Any]:
    if name not in HOOKS:
        raise ArgumentError(
            f"register_backend() got an unexpected keyword argument {name!r}", hint=f"the hooks are {', '.join(HOOKS)}"
        )
    if not callable(function):
        raise ArgumentError(
            f"register_backend() takes functions as hooks: {name} is {short_repr(function)}, of type"
            f" {type(function).__name__}",
            hint=f"write {name}=lambda: {short_repr(function)}" if name != "plan" else None,
        )
    return function


def refuse_name(handle: BackendHandle, settings: Settings, held: BackendState | None) -> None:
    """Raise for a device name that the program may not register; ``held`` is the state of a device that has it.

    See Note [A device of the program's own].
    """
    name, place = handle.info.name, handle.origin
    if not isinstance(name, str) or not is_device_name(name):
        raise RegistrationError(
            f"the name {short_repr(name)} has characters that no device may have",
            hint="a device is named with ASCII letters, digits and underscores, and does not begin with a digit",
        )
    if (owner := OWNERS.get((BACKENDS, name))) is not None:
        raise RegistrationError(
            f"the device name {name!r}, registered at {place}, belongs to {owner}", hint="choose another name"
        )
    if held is not None:
        raise RegistrationError(
            f"the device {name!r} is that of {held.source}, and is registered again at {place}",
            hint="choose another name, or close the handle of the first" if held.place else "choose another name",
        )
    if (variable := policy.kept_out_by(settings, name)) is not None:
        raise BackendError(
            f"the device {name!r}, registered at {place}, is kept out: {messages.switch_reason(variable)}",
            hint=f"change {variable} and call dispatch_core.refresh()",
        )


def register_kernels(handle: BackendHandle, kernels: Kernels) -> None:
    """Register a backend's kernels under its key."""
    if not isinstance(kernels, Mapping):
        kernels(handle.registry)
        return
    for name, kernel in kernels.items():
        if not isinstance(name, str):
            raise ArgumentError(
                f"kernels are registered by the operator's name, not {short_repr(name)} of type {type(name).__name__}",
                hint='write "add.Tensor" or "aten::add.Tensor"',
            )
        handle.registry.register_kernel(name, handle.key, kernel)
