"""Environments for the commands of a page: one sees what is installed here, both install into themselves."""

from __future__ import annotations

import os
import re
import sysconfig
import venv
from importlib import metadata
from pathlib import Path


def make_empty_environment(environment: Path) -> dict[str, str]:
    """Make a virtual environment with pip alone, and return the variables to run in it with."""
    venv.create(environment, symlinks=True, with_pip=True)
    return _variables(environment)


def make_environment(environment: Path, paths: list[str]) -> dict[str, str]:
    """Make a virtual environment that sees the installations in ``paths``, and return the variables to run in it with."""
    venv.create(environment, symlinks=True)
    site = sysconfig.get_path("purelib", "venv", vars={"base": str(environment)})
    shared = [path for path in paths if path.endswith("-packages")]
    # Not only their modules: editable installations are lines of files beside them.
    Path(site, "shared.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in shared))
    for script in metadata.entry_points(group="console_scripts"):
        path = environment / "bin" / script.name
        module, _, function = script.value.partition(":")
        if function.isidentifier() and not path.exists():
            lines = ["import sys", f"from {module} import {function}", f"sys.exit({function}())"]
            path.write_text("\n".join([f"#!{environment}/bin/python", *lines, ""]))
            path.chmod(0o755)
    return _variables(environment) | {
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say: without
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
    }


def _variables(environment: Path) -> dict[str, str]:
    variables = {
        name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "DISPATCH_", "PIP_"))
    }
    return variables | {
        "PATH": os.pathsep.join([str(environment / "bin"), os.environ["PATH"]]),
        "OMP_NUM_THREADS": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
    }


def plain(text: str) -> str:
    """Return a text without blanks at the ends of its lines, and without the lines that tell slow machines' progress."""
    lines = (line.rstrip() for line in text.rstrip().splitlines())
    return "".join(f"{line}\n" for line in lines if not re.match(r" *\d+ %  \d+ of \d+ checks", line))
