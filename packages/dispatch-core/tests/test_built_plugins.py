"""Plugins as build backends make them: one distribution each, wherever it is seen from."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
import textwrap

import pytest

from dispatch_core.surroundings import distributions

PLUGIN = """
    import dispatch_core as dc

    class Array:
        shape = ()

    @dc.hookimpl
    def dispatch_backend_info():
        return dc.BackendInfo("acme", "PrivateUse2", (dc.ArrayType(Array, shape=lambda a: (), dtype=lambda a: "f4"),))

    @dc.hookimpl
    def dispatch_register(registry):
        pass
"""
SHOW = """
    import dispatch_core as dc
    print(dc.backends()["acme"])
    dc.device_key("acme")
    print(dc.backends()["acme"].state, dc.backends()["acme"].source)
"""
PROJECT = """
    [project]
    name = "acme-dispatch"
    version = "1.5"
    description = "A plugin"
    [project.entry-points."dispatch_core.backends"]
    acme = "acme_plugin"
"""
BUILDERS = {
    "setuptools": ("setuptools", "setuptools.build_meta", PROJECT),
    "hatchling": (
        "hatchling",
        "hatchling.build",
        PROJECT + '    [tool.hatch.build.targets.wheel]\n    include = ["acme_plugin.py"]\n',
    ),
    "flit": ("flit_core", "flit_core.buildapi", PROJECT + '    [tool.flit.module]\n    name = "acme_plugin"\n'),
    "poetry": (
        "poetry.core",
        "poetry.core.masonry.api",
        PROJECT + '    [tool.poetry]\n    packages = [{include = "acme_plugin.py"}]\n',
    ),
}
METADATA = "Metadata-Version: 2.1\nName: acme\nVersion: {}\n"
ENTRY = "[dispatch_core.backends]\nacme = {}\n"


@pytest.fixture
def add_metadata(tmp_path):
    """Write the metadata of a distribution into a folder, as a build backend leaves it."""

    def add(where, kind, version, value, *, is_whole=True):
        stem = {"dist-info": f"acme-{version}", "egg-info": "acme", "old egg-info": f"acme-{version}-py3.11"}[kind]
        folder = tmp_path / where / f"{stem}.{kind.rpartition(' ')[2]}"
        folder.mkdir(parents=True)
        if is_whole:
            (folder / ("METADATA" if kind == "dist-info" else "PKG-INFO")).write_text(METADATA.format(version))
        if value is not None:
            (folder / "entry_points.txt").write_text(ENTRY.format(value))
        return tmp_path / where

    return add


KINDS = ("dist-info", "egg-info", "old egg-info")
PAIRS = [
    (*kinds, *wholes, value)
    for kinds in itertools.product(KINDS, KINDS)
    for wholes in itertools.product((True, False), repeat=2)
    for value in ("one", None)
]


@pytest.mark.parametrize(("front", "behind", "is_front_whole", "is_behind_whole", "value"), PAIRS)
def test_the_first_whole_metadata_speaks_for_a_distribution(
    add_metadata, monkeypatch, front, behind, is_front_whole, is_behind_whole, value
):
    monkeypatch.syspath_prepend(add_metadata("behind", behind, "2.0", "two", is_whole=is_behind_whole))
    monkeypatch.syspath_prepend(add_metadata("front", front, "1.0", value, is_whole=is_front_whole))
    found = [(each.value, each.distribution.version) for each in distributions.scan().claims if each.name == "acme"]
    first = [(value, "1.0")] if value else []
    assert found == (first if is_front_whole else [("two", "2.0")] if is_behind_whole else [])


@pytest.mark.parametrize("value", ["plugin", "plugin:hooks", "plugin:hooks.all", "one.two:three"])
@pytest.mark.parametrize("extras", ["", " [fast]", "[fast]", " [fast,small]", "  [ fast , small ] "])
def test_extras_of_entry_points_are_left_out(add_metadata, monkeypatch, value, extras):
    monkeypatch.syspath_prepend(add_metadata("site", "dist-info", "1.0", f"{value}{extras}"))
    (claim,) = [each for each in distributions.scan().claims if each.name == "acme"]
    assert (claim.value, claim.module) == (value, value.partition(":")[0])


@pytest.mark.long
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("editable", [False, True], ids=["installed", "editable"])
def test_a_built_plugin_is_one_distribution_from_everywhere(tmp_path, builder, editable):
    module, backend, project = BUILDERS[builder]
    if importlib.util.find_spec(module.partition(".")[0]) is None or importlib.util.find_spec("pip") is None:
        pytest.skip(f"{builder} is not installed")
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    requires = f'[build-system]\nrequires = ["{module}"]\nbuild-backend = "{backend}"\n'
    (source / "pyproject.toml").write_text(requires + textwrap.dedent(project))
    (source / "acme_plugin.py").write_text('"""A plugin."""\n' + textwrap.dedent(PLUGIN))
    flags = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    install = [sys.executable, "-m", "pip", "install", *flags, "--target", str(site)]
    subprocess.run([*install, *(["--editable"] if editable else []), str(source)], check=True, stdin=subprocess.DEVNULL)
    # A folder of paths alone is read where the interpreter takes it for one of packages.
    code = f"import site; site.addsitedir({str(site)!r})\n{textwrap.dedent(SHOW)}"
    for folder in (source, tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            capture_output=True,
            check=False,
            env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert done.stdout.splitlines() == ["installed, acme-dispatch 1.5", "loaded acme-dispatch 1.5"], done.stderr
