"""The reference of the core and of the backends' public faces: directives for mkdocstrings, which reads the sources."""

from __future__ import annotations

import dispatch_core

#: Page → its title, what it is about, and the modules of the core whose public names it shows.
PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "arrays": (
        "Arrays and devices",
        "Which arrays belong to which device, and how one is read.",
        ("arrays", "devices"),
    ),
    "custom-operators": (
        "Custom operators",
        "Operators made of functions, with fakes, derivatives and checks.",
        ("custom_ops",),
    ),
    "errors": (
        "Errors",
        "Every error has one root; [what they say](../../errors.md).",
        ("errors", "dispatch_pipelines.record.errors"),
    ),
    "explain": (
        "Explaining, profiling, tracing",
        "Why a call runs its kernel, how long calls take, which were made, and what devices have kernels for.",
        ("dispatch_devkit", "layers", "display"),
    ),
    "keys": ("Keys and keysets", "A bit for each key, a rank for each bit, and the masks of the context.", ("keys",)),
    "operators": (
        "Operators, registries, libraries",
        "The operators, where kernels are registered, and the calls that find them.",
        ("operators", "bookkeeping.origins", "calls.traits"),
    ),
    "pipelines": (
        "Pipelines and captured functions",
        "Calls that are recorded and run later. The rules: [pipelines](../../pipeline.md), [capture](../../capture.md).",
        ("dispatch_pipelines", "runtime"),
    ),
    "plugins": ("Plugins", "Devices that are installed, loaded, or registered by the program.", ("plugins",)),
    "schemas": ("Schemas", "Torch's schema language, parsed and printed.", ("schema",)),
}
#: The modules of names that are no functions or classes of their own.
MODULE_OF = {
    "DISPATCH_KEY_PRIORITY": "keys",
    "call_direct": "operators",
    "dispatch": "operators",
    "dispatch_with_keyset": "operators",
    "hookimpl": "plugins",
    "ops": "operators",
    "redispatch": "operators",
    "registry": "operators",
}
#: Where the sources say what an attribute of the package is.
WRITTEN_AT = {
    "call_direct": "dispatch_core.operators.registries.Registry.call_direct",
    "dispatch": "dispatch_core.operators.registries.Registry.dispatch",
    "dispatch_with_keyset": "dispatch_core.operators.registries.Registry.dispatch_with_keyset",
    "redispatch": "dispatch_core.operators.registries.Registry.redispatch",
}
#: What the sources have no docstring for.
DESCRIBED = {
    "DISPATCH_KEY_PRIORITY": "Every dispatch key, highest priority first: a live view of the table of keys.",
    "hookimpl": "Marks a function of a plugin as the implementation of the [hook](../plugins/hooks.md) of that name.",
    "ops": "The operators of the process by namespace and name: `dispatch_core.ops.aten.add`, `.aten.add.Tensor`.",
    "registry": "The registry of the process, a [Registry][dispatch_core.Registry].",
}
#: Further modules with public names: page → title and module.
MODULES: dict[str, tuple[str, str]] = {
    "dispatch_core/frontends": ("For frontends", "dispatch_core.frontends"),
    "dispatch_core/planning": ("For planners of devices", "dispatch_core.planning"),
    "dispatch_core/tools": ("For commands of other distributions", "dispatch_core.tools"),
    "backends/array-api": ("dispatch_backend_array_api", "dispatch_backend_array_api"),
    "backends/npu": ("dispatch_backend_npu", "dispatch_backend_npu"),
    "operators-aten/dtypes": ("dispatch_aten.dtypes", "dispatch_aten.dtypes"),
    "operators-aten/errors": ("dispatch_aten.errors", "dispatch_aten.errors"),
    "operators-aten/generator": ("dispatch_aten.generator", "dispatch_aten.generator"),
    "operators-aten/shapes": ("dispatch_aten.shapes", "dispatch_aten.shapes"),
    "operators-aten/testing": ("dispatch_aten.testing", "dispatch_aten.testing"),
    "plugins/hooks": ("Hooks", "dispatch_core.plugins.hooks"),
}


def pages() -> dict[str, str]:
    """Return the text of each page, by its path in the site; every public name of the core is on one."""
    made = {}
    names = {name: _module_of(name) for name in dispatch_core.__all__}
    for page, (title, about, modules) in PAGES.items():
        shown = [name for name, module in names.items() if _is_in(module, modules, page)]
        parts = [_entry(name) for name in sorted(shown, key=lambda name: (name[0].islower(), name.lower()))]
        made[f"reference/dispatch_core/{page}.md"] = "\n\n".join([f"# {title}", about, *parts, ""])
        for name in shown:
            del names[name]
    if names:  # of modules that no page is about yet
        made["reference/dispatch_core/others.md"] = "\n\n".join(["# Further names", *map(_entry, sorted(names)), ""])
    for page, (title, module) in MODULES.items():
        made[f"reference/{page}.md"] = f"# {title}\n\n{directive(module, heading_level=1, show_root_heading=False)}\n"
    return made


def directive(path: str, **options: object) -> str:
    """Return the directive by which mkdocstrings shows an object of the sources."""
    lines = "".join(
        f"      {name}: {str(value).lower() if value in (True, False) else value}\n" for name, value in options.items()
    )
    return f"::: {path}\n" + (f"    options:\n{lines}" if options else "")


def _module_of(name: str) -> str:
    value = getattr(dispatch_core, name)
    module = getattr(value, "__module__", "")
    return MODULE_OF.get(name) or module.removeprefix("dispatch_core.")


def _is_in(module: str, modules: tuple[str, ...], page: str) -> bool:
    if module == "dispatch_pipelines.record.errors":  # the errors of all modules stand together
        return page == "errors"
    return any(module == each or module.startswith(f"{each}.") for each in modules)


def _entry(name: str) -> str:
    full = f"dispatch_core.{name}"
    if name in DESCRIBED:
        return f"## `{full}` {{#{full} .doc-heading}}\n\n{DESCRIBED[name]}"
    return directive(WRITTEN_AT.get(name, full), heading=full, toc_label=name)
