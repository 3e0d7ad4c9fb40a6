"""Load backends and operator libraries on first request, whole or not at all.

Note [Loads are independent]
    A plugin may need another device or an operator library while it loads. That one gets a transaction of its own, in
    an empty ``contextvars.Context``, so it stays when the plugin that asked for it fails and is rolled back.

Note [One load at a time]
    One re-entrant lock covers every load. Waiting for it has a limit, because a thread that waits in the middle of an
    import may hold the very module that the loading thread wants; a late error is better than silence for ever.
"""

from __future__ import annotations

import contextvars
import gc
import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dispatch_core.bookkeeping import transactions
from dispatch_core.bookkeeping.changes import notify_change, notify_devices, notify_refresh
from dispatch_core.bookkeeping.levels import Level
from dispatch_core.discovery import loader
from dispatch_core.errors import ArgumentError, BackendError, RegistrationError, short_repr
from dispatch_core.keys.table import DispatchKey
from dispatch_core.tracebacks import note_memory_errors

from ..forks import Order, forkable
from ..surroundings.distributions import BACKENDS, KERNELS, OPERATORS, Claim, Distribution
from ..surroundings.logs import Log
from . import messages, policy
from .catalog import Catalog
from .device_hooks import DeviceHooks
from .foreign import refuse_foreign_keys
from .import_rollback import forget_on_failure, import_object
from .installed import InstalledPlugins
from .providers import KernelProviders
from .settings import Settings
from .state import Backends, BackendState, Failure, ProviderState

if TYPE_CHECKING:
    from dispatch_core.arrays.types import BackendInfo
    from dispatch_core.operators.registries import Registry

    from .host import PluginHost
    from .in_process import BackendHandle, Kernels

_NOUNS: Final = {BACKENDS: "device", OPERATORS: "operator library for namespace", KERNELS: "provider of kernels"}
_LOG: Final = Log("plugins")
_Key = tuple[str, str]


class BackendLoader(InstalledPlugins, DeviceHooks):
    """The plugins of one registry: the installed and the loaded ones, and the reasons why others are not loaded.

    ``settings`` replaces the environment variables and ``catalog`` the scan of the installed distributions; both are called
    at the first need and after ``refresh()``. ``wait_seconds`` limits the wait for a load in another thread.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        settings: Callable[[], Settings] = Settings.from_environment,
        catalog: Callable[[], Catalog] = Catalog.from_installed,
        wait_seconds: float = 120.0,
    ) -> None:
        InstalledPlugins.__init__(self, settings, catalog)
        DeviceHooks.__init__(self)
        self._registry = registry
        self._wait_seconds = wait_seconds
        self._lock: Final = forkable(Order.LOADING, self._forget_loads)
        self._host: PluginHost | None = None
        self._loading: list[_Key] = []
        #: The rollback of each load under way, the innermost last.
        self._rollbacks: list[ExitStack] = []
        self._loaded: dict[str, BackendInfo] = {}
        self._keys: dict[str, str] = {}
        self._origins: dict[_Key, Claim] = {}
        self._libraries: dict[str, bool] = {}
        self.kernels: Final = KernelProviders(self)
        self._failures: dict[_Key, Failure] = {}
        #: Warnings about plugins' registrations, kept until no plugin is loading.
        self._warned: list[transactions.Warned] = []
        #: How long each plugin took to import and register, in seconds.
        self.seconds: dict[_Key, float] = {}

    def ensure_backend(self, name: str) -> BackendInfo:
        """Return a device's backend, loading it on the first request, as far as the environment variables allow.

        Raises ``BackendNotFoundError`` where nothing provides the device, and ``BackendError`` where its plugin was
        refused, kept out, or failed; the plugin's own error is chained.
        """
        return self._loaded.get(name) or self._backend(name, automatic=True)

    def load_backend(self, name: str) -> BackendInfo:
        """Return a device's backend, loading it whatever ``DISPATCH_AUTOLOAD`` says.

        Raises as ``ensure_backend`` does.
        """
        return self._loaded.get(name) or self._backend(name, automatic=False)

    def register_backend(self, handle: BackendHandle, kernels: Kernels) -> BackendHandle:
        """Register a backend of the program's own, so that it leaves nothing behind if it raises; the handle is returned.

        Raises as `dispatch_core.register_backend` does.
        """
        from .in_process import refuse_name

        with self._exclusive("device", handle.info.name):
            name = handle.info.name
            is_free = name not in self._loaded and self.catalog.gives_way(name)
            refuse_name(handle, self.settings, None if is_free else self._state(name))
            warned: list[transactions.Warned] = []
            contextvars.Context().run(self._register_in_process, handle, kernels, warned)
        transactions.on_rollback(handle.close)
        try:
            transactions.issue(warned)
        except Warning:
            handle.close()
            raise
        return handle

    def _register_in_process(self, handle: BackendHandle, kernels: Kernels, warned: list[transactions.Warned]) -> None:
        from .in_process import register_kernels

        name, registry = handle.info.name, handle.registry
        transaction = transactions.transaction(level=Level.BACKEND, warned=warned)
        with self._taken_back(nullcontext(), transaction) as under_way:
            info = self._compute_late(handle.info) if "dispatch_compute" in handle.hooks else handle.info
            handle.key = registry.add_backend(info)
            register_kernels(handle, kernels)
            self._add_fallback(info, registry)
            self._check_keys(registry, handle.distribution, name, handle.key, under_way)
            handle.undo = under_way.undo
        self._handles[name], self._loaded[name], self._keys[name] = handle, handle.info, handle.key.name
        if self.brings_interface(name):
            notify_change()  # a call that was resolved before knows nothing of the interface
        notify_devices([name])

    def close_backend(self, handle: BackendHandle) -> None:
        """Take back a backend of the program's own; nothing happens where that was done before."""
        name = handle.info.name
        with self._exclusive("device", name):
            if self._handles.get(name) is not handle:
                return
            del self._handles[name], self._loaded[name], self._keys[name]
            if any(each.device_index is not None for each in handle.info.array_types):
                from dispatch_core.arrays.indices import forget_indices

                forget_indices(name, handle.key)
            if self._interfaces.pop(name, None) is not None:
                from dispatch_core.arrays.launches import LOGS

                LOGS.pop(name, None)
            note_memory_errors(name, None)
            self._opened = {opened for opened in self._opened if opened[0] != name}
            undo, handle.undo = handle.undo, []
            for step in reversed(undo):
                step()
        notify_refresh()

    def backends(self) -> Backends:
        """Return the state of every device that a distribution claims or the program registered. Nothing is loaded."""
        names = sorted({*self.catalog.names(BACKENDS), *self._loaded})
        return Backends({name: self._state(name) for name in names})

    def refresh(self) -> None:
        """Forget the scan, the failures, the refused types and the switches; loaded plugins stay."""
        with self._exclusive("list of", "installed backends"):
            importlib.invalidate_caches()
            self._settings = self._catalog = self._type_owners = None
            self._failures.clear()
            self._opened.clear()
            self._libraries = {name: True for name, loaded in self._libraries.items() if loaded}

    def operator_library(self, namespace: str) -> bool:
        """Load the operator library of a namespace, once. Return False if nothing installed provides one.

        Raises ``BackendError``, with the library's own error as its cause, if it fails; none of its registrations stay.
        """
        known = self._libraries.get(namespace)
        return self._library(namespace) if known is None else known

    def has_operators(self, namespace: str) -> bool:
        """Return whether the operator library of a namespace was loaded completely."""
        return self._libraries.get(namespace, False)

    @contextmanager
    def _exclusive(self, noun: str, name: str) -> Iterator[None]:
        """Hold the lock; see Note [One load at a time]."""
        if not self._lock.acquire(timeout=self._wait_seconds):
            raise messages.load_timeout(noun, name, self._wait_seconds)
        try:
            yield
        finally:
            self._lock.release()
        if self._warned and not self._loading:
            warned, self._warned[:] = [*self._warned], []
            transactions.issue(warned)

    def _backend(self, name: str, *, automatic: bool) -> BackendInfo:
        if not isinstance(name, str):
            raise ArgumentError(f"expected a device's name, not {type(name).__name__}")
        with self._exclusive("device", name):
            if name not in self._loaded:
                claim = policy.choose(self.catalog, self.settings, name, automatic=automatic, states=self.backends)
                self._load(claim)
            return self._loaded[name]

    def _library(self, namespace: str) -> bool:
        with self._exclusive("operator library for namespace", namespace):
            if (OPERATORS, namespace) in self._loading:
                return True
            if namespace not in self._libraries:
                verdicts = self.catalog.verdicts(OPERATORS, namespace)
                claim = self.catalog.usable(OPERATORS, namespace)
                if verdicts and claim is None:
                    raise messages.refusal(_NOUNS[OPERATORS], namespace, verdicts)
                if claim is not None:
                    self._load(claim)
                self._libraries[namespace] = claim is not None
            return self._libraries[namespace]

    def _load(self, claim: Claim) -> None:
        """Load a plugin in an empty context, remembering whatever it raises; see Note [Loads are independent]."""
        key = claim.group, claim.name
        if key in self._loading:
            raise messages.circular_load(_NOUNS[claim.group], claim.name)
        if key not in self._failures:
            _LOG.debug("%s %r of %s is being loaded", _NOUNS[claim.group], claim.name, claim.distribution)
            self._loading.append(key)
            started, is_loaded = time.perf_counter(), False
            collects = gc.isenabled()
            try:
                gc.disable()  # objects of a plugin stay, and to look through all of it takes a third of the time
                contextvars.Context().run(self._transact, claim)
                is_loaded = True
                return
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a plugin that calls sys.exit must not end the program
                failure = self._failures[key] = Failure(claim, error)
                _LOG.warning(
                    "%s %r of %s failed: %s", _NOUNS[claim.group], claim.name, claim.distribution, failure.reason
                )
            finally:
                if collects:
                    gc.enable()
                self._loading.remove(key)
                self.seconds[key] = time.perf_counter() - started
                if is_loaded:
                    _LOG.info(
                        "%s %r of %s loaded in %.3f s",
                        _NOUNS[claim.group],
                        claim.name,
                        claim.distribution,
                        self.seconds[key],
                    )
        failure = self._failures[key]
        raise messages.load_failure(_NOUNS[claim.group], failure) from failure.exception

    def _transact(self, claim: Claim) -> None:
        """Import and register a plugin so that it leaves nothing behind if it raises."""
        distribution = claim.distribution
        if claim.group != OPERATORS:
            # A library that is first imported by the plugin would be rolled back with the plugin.
            for namespace in self.catalog.libraries_of(distribution):
                self.operator_library(namespace)

        def root_of(owner: Claim) -> str:
            return owner.module.partition(".")[0]

        def roots() -> set[str]:
            # An operator library that was loaded for a registration of the plugin's stays, and with it its modules.
            libraries = self.catalog.usable_libraries()
            loaded = {root_of(library) for library in libraries if self._libraries.get(library.name)}
            return {root_of(claim), *({root_of(library) for library in libraries} - loaded)}

        origin = distribution.name, distribution.version
        level = Level.ALTERNATIVE if claim.group == KERNELS else Level.BACKEND
        transaction = transactions.transaction(distribution=origin, level=level, warned=self._warned)
        if claim.group != BACKENDS:
            with self._taken_back(forget_on_failure(roots), transaction) as under_way:
                found = import_object(claim.value)
                if claim.group == KERNELS:
                    self.kernels.register(claim, found, under_way)
                    return
                self._check_keys(self._registry, distribution, claim.name, None, under_way)
            return
        host = self._plugins()
        try:
            with self._taken_back(forget_on_failure(roots), transaction) as under_way:
                info = self._register(host, claim.name, import_object(claim.value))
                named = self._keys[claim.name]
                self._check_keys(self._registry, distribution, claim.name, DispatchKey[named], under_way)
        except BaseException:
            host.remove(claim.name)
            raise
        self._origins[BACKENDS, claim.name] = claim
        self._loaded[claim.name] = info
        if self.brings_interface(claim.name):
            notify_change()  # as above
        notify_devices([claim.name])

    @contextmanager
    def _taken_back(
        self, modules: AbstractContextManager[None], transaction: AbstractContextManager[transactions.Transaction]
    ) -> Iterator[transactions.Transaction]:
        """Take back a load that fails, in a forked process also one that another thread was in the middle of."""
        with ExitStack() as rollback:
            rollback.enter_context(modules)
            under_way = rollback.enter_context(transaction)
            self._rollbacks.append(rollback)
            try:
                yield under_way
            finally:
                self._rollbacks.remove(rollback)

    def _forget_loads(self) -> None:
        """Take back in a forked process the loads of other threads, so that they can run again."""
        error = BackendError("the process was forked while another thread loaded this plugin")
        for rollback in reversed(self._rollbacks):
            # The context of that load is the other thread's.
            with suppress(Exception):
                rollback.__exit__(type(error), error, None)
        for group, name in self._loading:
            if group == BACKENDS and self._host is not None:
                self._host.remove(name)
        self._rollbacks.clear()
        self._loading.clear()

    def _check_keys(
        self,
        registry: Registry,
        distribution: Distribution,
        name: str,
        key: DispatchKey | None,
        under_way: transactions.Transaction,
    ) -> None:
        if name not in self.settings.foreign_keys:
            refuse_foreign_keys(registry, distribution, name, key, under_way.registered)

    def _register(self, host: PluginHost, name: str, plugin: object) -> BackendInfo:
        from dispatch_core.arrays.types import BackendInfo

        host.add(name, plugin)
        info = host.call(name, "dispatch_backend_info")
        if not isinstance(info, BackendInfo):
            raise RegistrationError(
                f"dispatch_backend_info() of the plugin for device {name!r} returned {short_repr(info)}",
                hint=f"return dispatch_core.BackendInfo({name!r}, ...)",
            )
        if info.name != name:
            raise RegistrationError(
                f"the entry point names the device {name!r}, and dispatch_backend_info() of its plugin names {info.name!r}",
                hint=f"return dispatch_core.BackendInfo({name!r}, ...), or name the entry point {info.name!r}",
            )
        if host.implements(name, "dispatch_compute"):
            info = self._compute_late(info)
        self._keys[name] = self._registry.add_backend(info).name
        host.call(name, "dispatch_register", registry=self._registry)
        self._add_fallback(info, self._registry)
        return info

    @staticmethod
    def _add_fallback(info: BackendInfo, registry: Registry) -> None:
        if info.fallback:
            from dispatch_core.runtime.host_fallback import register_fallback

            register_fallback(registry, info.name, info.fallback)

    def _state(self, name: str) -> BackendState:
        rivals = policy.judge(self.catalog, self.settings, name)
        if (handle := self._handles.get(name)) is not None:
            owner, place = handle.distribution, handle.origin
            return BackendState(
                name, "loaded", owner.name, owner.version, "", self._keys[name], rivals, f"{place.file}:{place.line}"
            )
        if name in self._loaded:
            origin = self._origins[BACKENDS, name].distribution
            others = tuple(rival for rival in rivals if rival.distribution != origin.name)
            return BackendState(name, "loaded", origin.name, origin.version, "", self._keys[name], others)
        state = replace(rivals[0], rivals=rivals[1:])
        failure = self._failures.get((BACKENDS, name))
        if failure is None or state.state == "blocked":
            return state
        return replace(state, state="failed", reason=failure.reason)


def load_backend(name: str) -> BackendInfo:
    """Return a device's backend, loading it whatever ``DISPATCH_AUTOLOAD`` says.

    Raises ``BackendNotFoundError`` where nothing provides the device, and ``BackendError`` where its plugin was
    refused, kept out, or failed; the plugin's own error is chained.
    """
    return loader().load_backend(name)


def backends() -> Backends:
    """Return the state of every device that a distribution claims or the program registered. Nothing is loaded.

    It is a mapping by the devices' names, and shows itself as a table.
    """
    return loader().backends()


def kernel_providers() -> Mapping[str, ProviderState]:
    """Return the state of every provider of kernels that an installed distribution claims. Nothing is loaded."""
    return loader().kernels.states()


def refresh() -> None:
    """Forget the scan, the failures, the refused types and the environment variables; loaded plugins stay.

    Call it after installing a plugin or changing a variable in a running process.
    """
    loader().refresh()
    notify_refresh()
    _LOG.info("refreshed: the installed distributions and the environment variables are read again")
