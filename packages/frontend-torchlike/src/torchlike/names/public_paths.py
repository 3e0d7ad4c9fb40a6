"""Modules that users import by another path than that of their file: torch's paths, and torchlike's former ones.

Note [Public paths]
    ``torchlike.distributions.normal`` is a path of torch's; its file is ``torchlike_distributions/continuous/normal.py``.
    Both names are one module in ``sys.modules``, by the finder below. A file with a public path sets ``__name__`` to it, so
    that its classes say it in texts and pickles. Classes that ``torchlike`` itself hands on, such as ``Size``, say so by
    ``__module__``, and its functions are told so when they are handed on (`docstrings.complete_function`).
    torch has the layers of `torchlike.ao` by several paths each (`torch_modules`), and packages where ours are single files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from dispatch_core.surroundings.former_paths import AliasLoader, find_former

__all__ = ["PUBLIC_PATHS", "AliasFinder", "DeviceFinder", "PublicLoader", "keep_function"]

#: The public package and the package of the files → the modules.
_FOLDERS: Final = {
    ("torchlike", "torchlike.surface"): "futures",
    ("torchlike.autograd", "torchlike.levels"): "functional",
    ("torchlike.autograd", "torchlike.testing"): "numerical_check",
    (
        "torchlike.nn.modules",
        "torchlike.nn.modules.arrangement",
    ): "channelshuffle flatten fold padding pixelshuffle upsampling",
    ("torchlike.nn.modules", "torchlike.nn.modules.parts"): "multihead parameter_container rnn_cells",
    ("torchlike.utils", "torchlike.values"): "pytree",
    ("torchlike.distributions", "torchlike_distributions"): (
        "constraint_registry constraints distribution independent kl mixture_same_family transformed_distribution transforms"
        " utils"
    ),
    ("torchlike.distributions", "torchlike_distributions.continuous"): (
        "cauchy chi2 exponential fishersnedecor gamma generalized_pareto gumbel half_cauchy half_normal inverse_gamma"
        " kumaraswamy laplace log_normal normal pareto studentT uniform von_mises weibull"
    ),
    ("torchlike.distributions", "torchlike_distributions.discrete"): (
        "bernoulli binary binomial categorical continuous_bernoulli geometric multinomial negative_binomial"
        " one_hot_categorical poisson relaxed_bernoulli relaxed_categorical"
    ),
    ("torchlike.distributions", "torchlike_distributions.multivariate"): (
        "beta dirichlet lkj_cholesky logistic_normal lowrank_multivariate_normal multivariate_normal wishart"
    ),
}
#: Public path → path of the file.
PUBLIC_PATHS: Final = {
    "torchlike.array_api": "torchlike_array_api",
    **{f"{public}.{name}": f"{own}.{name}" for (public, own), names in _FOLDERS.items() for name in names.split()},
}
_PUBLIC: Final = {own: public for public, own in PUBLIC_PATHS.items()}
#: How torch's paths of quantization begin, which it has in several places; `torch_modules` lists them.
_OF_QUANTIZATION: Final = (
    "torchlike.ao.",
    "torchlike.quantization",
    *(f"torchlike.nn.{name}" for name in "intrinsic qat quantizable quantized".split()),
)
#: Path that 0.2 takes away → the present one; pickles of 0.1 name them.
_FORMER: Final = {
    "torchlike.interop": "torchlike.tensors.arrays",
    "torchlike.levels.functionalizing": "torchlike.levels.functionalization.functionalizing",
    **{
        f"torchlike.{name}": f"torchlike.{folder}.{name}"
        for folder, names in {
            "creation": "legacy_types sources",
            "functions": "arrangements frequencies matrices tensor_questions",
            "device_modules": "absent_devices",
            "tensors": "printing storages",
            "values": "devices dtypes settings size",
        }.items()
        for name in names.split()
    },
}


class PublicLoader(AliasLoader):
    """Gives a module by its public path."""

    def exec_module(self, module: ModuleType) -> None:
        """Give what the module imported its second names, too."""
        super().exec_module(module)
        for own, loaded in list(sys.modules.items()):
            parent, _, child = own.rpartition(".")
            public = _PUBLIC.get(own) or (f"{_PUBLIC[parent]}.{child}" if parent in _PUBLIC else "")
            if public and not getattr(loaded.__spec__, "_initializing", False):
                sys.modules.setdefault(public, loaded)


class _Package(ModuleType):
    """A package that keeps a function when a module of the function's name is imported, as torch's packages do."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and callable(vars(self).get(name))):
            super().__setattr__(name, value)


def keep_function(path: str) -> None:
    """Keep the function that a module's package has under the module's name, when the module is imported."""
    parent, _, child = path.rpartition(".")
    owner = sys.modules.get(parent)
    if owner is not None and child in getattr(owner, "__all__", ()) and callable(getattr(owner, child)):
        owner.__class__ = _Package


class _PackageLoader(PublicLoader):
    """Gives a module by a path of torch's, at which it may be a package that others are imported in."""

    def __init__(self, name: str, target: str) -> None:
        super().__init__(target)
        self._name = name

    def exec_module(self, module: ModuleType) -> None:
        """Make it a package, and keep the function of its parent that has its name."""
        super().exec_module(module)
        vars(module).setdefault("__path__", [])
        keep_function(self._name)


class AliasFinder:
    """Finds the modules of public paths, and what lies in packages among them; see Note [Public paths]."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a second name for a module, None for all other modules."""
        if not name.startswith("torchlike."):
            return None
        own = PUBLIC_PATHS.get(name)
        if own is None and name.startswith(_OF_QUANTIZATION):
            from .torch_modules import MODULES  # a table that only programs which quantize need

            of_torch = MODULES.get(f"torch{name.removeprefix('torchlike')}")
            if of_torch is not None:
                return ModuleSpec(name, _PackageLoader(name, of_torch))  # type: ignore[arg-type]  # as below
        if own is None:
            parent, _, child = name.rpartition(".")
            spec = getattr(sys.modules.get(parent), "__spec__", None)
            file_name = getattr(spec, "own_name", getattr(spec, "name", parent))  # `stand_in` renames the spec
            if file_name != parent and _is_package(sys.modules.get(file_name)):
                own = f"{file_name}.{child}"
        if own is not None:
            return ModuleSpec(name, PublicLoader(own))  # type: ignore[arg-type]
        return find_former(name, _FORMER) if name in _FORMER else None


class DeviceFinder:
    """Finds the modules of devices, where no file has the name; ``find_module`` returns a device's, or None."""

    def __init__(self, find_module: Callable[[str], ModuleType | None]) -> None:
        self._find_module = find_module

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Return the spec of a device's module, None for all other modules."""
        parent, _, child = name.rpartition(".")
        found = self._find_module(child) if parent == "torchlike" else None
        return None if found is None else ModuleSpec(name, _DeviceLoader(found))  # type: ignore[arg-type]  # as above


class _DeviceLoader:
    """Gives a device's module, which is made already."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def _is_package(module: ModuleType | None) -> bool:
    """Return whether a module's file is that of a package; under torch's name each module may have others in it."""
    return module is None or (getattr(module, "__file__", None) or "").endswith("__init__.py")
