"""The environment, by files alone: system, packages, variables, the toolkit's folders and releases, kernels, the driver."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from dispatch_aten.testing.outcomes import Outcome

from ..acl import toolkit
from ..acl.installation import find_faults, list_kernels

_PACKAGES: Final = (
    "dispatch-backend-npu",
    "dispatch-core",
    "dispatch-operators-aten",
    "dispatch-backend-cpu",
    "dispatch-frontend-torchlike",
    "numpy",
    "ml-dtypes",
)
#: Variables that name folders, and those whose values are numbers.
_FOLDERS: Final = (*toolkit.HOME_VARIABLES, "ASCEND_OPP_PATH", "ASCEND_CUSTOM_OPP_PATH", "ASCEND_AICPU_PATH")
_NUMBERS: Final = ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_LAUNCH_BLOCKING", "ASCEND_GLOBAL_LOG_LEVEL")
_DRIVER: Final = Path("/usr/local/Ascend/driver")
_DEVICES: Final = Path("/dev")


def find_environment(environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the facts about this machine; paths, the names of users and of the machine are not among them.

    >>> sorted(find_environment({}))
    ['driver', 'kernels', 'packages', 'python', 'system', 'toolkit', 'variables']
    """
    environment = os.environ if environment is None else environment
    folder = toolkit.find_folder(environment)
    operators = toolkit.find_operators_folder(environment)
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver())}".strip(),
        "packages": {name: found for name in _PACKAGES if (found := _version_of(name))},
        "variables": dict(_describe_variables(environment)),
        "toolkit": {} if folder is None else _describe_toolkit(folder, environment),
        "kernels": {} if operators is None else list_kernels(operators),
        "driver": _describe_driver(),
    }


def _version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _describe_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in _FOLDERS:
        if value := environment.get(name):
            there = all(toolkit.is_folder(each) for each in value.split(os.pathsep) if each)
            yield name, "a folder" if there else "not a folder"
    for name in _NUMBERS:
        if value := environment.get(name):
            yield name, value if value.replace(",", "").isdigit() else "not a number"


def _describe_toolkit(folder: str, environment: Mapping[str, str]) -> dict[str, Any]:
    libraries = [path for library in toolkit.FILES for path in toolkit.find_files(folder, library, environment)]
    names = dict.fromkeys(path.rpartition("/")[2] for path in libraries)
    opp = environment.get("ASCEND_OPP_PATH")
    return {
        "simulator": toolkit.is_simulator(folder),
        "release": toolkit.version(folder),
        "releases": [f"{each.file} {each.part}: {each.name}" for each in toolkit.list_releases(folder, environment)],
        "layout": "/".join(part for part in folder.split("/")[-2:] if part.endswith("-linux") or part == "lib64"),
        "libraries": sorted(names),
        "vendors": len(toolkit.list_vendors(opp)) if opp else 0,
    }


def _describe_driver() -> dict[str, Any]:
    """Return the driver's version, and how many devices of it there are and can be opened."""
    found = [path for path in _DEVICES.glob("davinci[0-9]*") if path.name[7:].isdigit()]
    manager = _DEVICES / "davinci_manager"
    told = ""
    try:
        lines = (_DRIVER / "version.info").read_text(encoding="utf-8", errors="replace").splitlines()
        told = next((line.partition("=")[2].strip() for line in lines if line.lower().startswith("version=")), "")
    except OSError:
        pass
    return {
        "version": told,
        "devices": len(found),
        "openable": sum(os.access(path, os.R_OK | os.W_OK) for path in found),
        "manager": manager.exists(),
    }


def check_environment(facts: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Iterator[Outcome]:
    """Yield the outcomes of the environment: the toolkit or each fault of it, packages."""
    environment = os.environ if environment is None else environment
    folder = toolkit.find_folder(environment)
    if folder is None:
        hint = "install the toolkit, and source its set_env.sh" if toolkit.is_linux() else "use Linux"
        yield Outcome("environment: toolkit", "failed", f"{toolkit.describe_search(environment)}\nHint: {hint}")
        return
    faults = find_faults(folder, environment)
    for fault in faults:
        yield Outcome("environment: toolkit", "failed", str(fault))
    if not faults:
        release = facts["toolkit"]["release"]
        told = (
            "the simulator" if facts["toolkit"]["simulator"] else f"CANN {release}" if release else "no release named"
        )
        yield Outcome("environment: toolkit", "passed", told)
    if not facts["packages"].get("dispatch-backend-cpu"):
        text = "dispatch-backend-cpu is not installed, with which operators are compared"
        yield Outcome("environment: cpu", "failed", f"{text}\nHint: pip install dispatch-backend-cpu")
    if not facts["packages"].get("ml-dtypes"):
        text = "ml-dtypes is not installed: bfloat16 is not checked"
        yield Outcome("environment: bfloat16", "not run", f"{text}\nHint: pip install 'dispatch-backend-npu[bfloat16]'")


def check_driver(facts: Mapping[str, Any], *, can_open: bool) -> Outcome:
    """Return the outcome of the driver; where a device can be opened it is fine, whatever its files say."""
    check, driver = "environment: driver", facts["driver"]
    if facts["toolkit"].get("simulator"):
        return Outcome(check, "not run", "the simulator needs none")
    if can_open:
        return Outcome(check, "passed", f"driver {driver['version'] or 'of an unknown version'}")
    if not driver["devices"]:
        text = "there is no /dev/davinci0: the driver is not installed, or this container was not given a device"
        return Outcome(check, "failed", f"{text}\nHint: npu-smi info lists the devices of a machine; {_DOCKER}")
    if driver["openable"] < driver["devices"] or not driver["manager"]:
        text = f"{driver['openable']} of {driver['devices']} devices can be opened by this user"
        text += "" if driver["manager"] else ", and there is no /dev/davinci_manager"
        return Outcome(check, "failed", f"{text}\nHint: join the group of the driver, HwHiAiUser; {_DOCKER}")
    return Outcome(
        check, "passed", f"driver {driver['version'] or 'of an unknown version'}, {driver['devices']} devices"
    )


_DOCKER: Final = (
    "docker takes --device /dev/davinci0 --device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc"
)
