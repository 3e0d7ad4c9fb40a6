"""What the tests of the core share."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def install(tmp_path):
    """Write distributions with their metadata and modules into a folder that is made for ``sys.path``."""

    def install(name, version="1.0", *, backends=(), array_types=(), operators=(), requires=(), modules=(), to="site"):
        site = tmp_path / to
        folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")
        text = ""
        for group, entries in (("backends", backends), ("array_types", array_types), ("operators", operators)):
            if entries:
                text += f"[dispatch_core.{group}]\n" + "".join(f"{key} = {value}\n" for key, value in dict(entries).items())
        (folder / "entry_points.txt").write_text(text)
        for module, source in dict(modules).items():
            (site / f"{module}.py").write_text(textwrap.dedent(source))
        return site

    return install


@pytest.fixture
def run_python(tmp_path):
    """Run an interpreter that sees the given folders first."""

    def run(*arguments, site=(), environment=(), timeout=120):
        path = [*map(str, site), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **dict(environment)},
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout,
        )

    return run
