"""A typed façade over pluggy: one plugin in, its hooks called one plugin at a time, one plugin out."""

from __future__ import annotations

from typing import Any

from dispatch_core.errors import RegistrationError


class PluginHost:
    """The plugins that are registered in this process, by device name.

    pluggy calls a hook for every plugin at once and lets the first exception end the round; here a call concerns one
    plugin, so that a failure belongs to that plugin.
    """

    def __init__(self) -> None:
        import pluggy

        from . import hooks

        self._required = hooks.REQUIRED
        self._manager = pluggy.PluginManager(hooks.PROJECT)
        self._manager.add_hookspecs(hooks)

    def add(self, name: str, plugin: object) -> None:
        """Register a plugin under its device name.

        Raises ``RegistrationError`` for a plugin that lacks a required hook, misspells one or takes arguments that the
        hook does not pass. Nothing of it stays registered then.
        """
        import pluggy

        try:
            self._manager.register(plugin, name=name)
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            self.remove(name)
            raise RegistrationError(
                f"The plugin for device {name!r} has hooks that do not fit: {str(error).strip()}",
                hint=f"the hooks are {', '.join(self._hook_names())}",
            ) from error
        missing = [hook for hook in self._required if not self.implements(name, hook)]
        if missing:
            self.remove(name)
            raise RegistrationError(
                f"The plugin for device {name!r} has no implementation of {' and '.join(missing)}",
                hint="mark them with @dispatch_core.hookimpl, in the module or object that the entry point names",
            )

    def remove(self, name: str) -> None:
        """Take a plugin back, if it is registered."""
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)

    def call(self, name: str, hook: str, default: object = None, **arguments: object) -> Any:
        """Call one hook of one plugin; a plugin that does not implement it gives the default."""
        if not self.implements(name, hook):
            return default
        others = [plugin for other, plugin in self._manager.list_name_plugin() if other != name and plugin is not None]
        results = self._manager.subset_hook_caller(hook, others)(**arguments)
        return results[0] if results else None

    def implements(self, name: str, hook: str) -> bool:
        """Return whether a plugin implements a hook."""
        return any(impl.plugin_name == name for impl in getattr(self._manager.hook, hook).get_hookimpls())

    def _hook_names(self) -> list[str]:
        callers = ((name, getattr(self._manager.hook, name)) for name in vars(self._manager.hook))
        return sorted(name for name, caller in callers if not name.startswith("_") and caller.has_spec())
