"""Devices are loaded when they are asked for. Claims are made by hand here; the modules behind them are real."""

import sys
import textwrap
import threading
import types
import warnings

import pytest

import dispatch_core as dc
from dispatch_core.plugins.catalog import Catalog
from dispatch_core.plugins.loading import BackendLoader
from dispatch_core.plugins.settings import Settings
from dispatch_core.surroundings.distributions import BACKENDS, OPERATORS, Claim, Distribution, Scan

GOOD = """
    import dispatch_core as dc
    @dc.hookimpl
    def dispatch_backend_info():
        return dc.BackendInfo({name!r}, "PrivateUse1")
    @dc.hookimpl
    def dispatch_register(registry):
        registry.register_kernel("demo::{name}", "PrivateUse1", lambda x: x)
"""


class Registry(dc.Registry):
    """A registry whose devices stay out of the process's own tables."""

    def add_backend(self, info):
        return dc.DispatchKey[info.dispatch_key]


class Bench:
    """A loader over modules and claims that a test makes up."""

    def __init__(self, folder):
        self.folder = folder
        self.claims = []
        self.settings = Settings()
        self.scans = 0
        self.registry = Registry()
        self.loader = BackendLoader(
            self.registry, settings=lambda: self.settings, catalog=self.catalog, wait_seconds=0.5
        )

    def catalog(self):
        self.scans += 1
        return Catalog(Scan(tuple(self.claims)), "0.1.0")

    def add(self, name, source=GOOD, *, module=None, group=BACKENDS, distribution=None, requires=()):
        module = module or f"plugin_of_{name}"
        (self.folder / f"{module}.py").write_text(
            textwrap.dedent(source.replace("{name!r}", repr(name)).replace("{name}", name))
        )
        self.claims.append(
            Claim(group, name, module, Distribution(distribution or f"{name}-dist", "1.0", tuple(requires)))
        )
        return module

    def state(self, name):
        return str(self.loader.backends()[name])


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield Bench(tmp_path)
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_device_is_loaded_on_the_first_request_and_kept(bench):
    bench.add("acme")
    assert bench.state("acme") == "installed, acme-dist 1.0"
    info = bench.loader.ensure_backend("acme")
    assert info.name == "acme"
    assert bench.loader.ensure_backend("acme") is bench.loader.load_backend("acme") is info
    assert bench.registry.has_kernel("demo::acme", "PrivateUse1")
    assert repr(bench.loader.backends()["acme"]) == "<acme: loaded, acme-dist 1.0>"
    assert bench.loader.backends()["acme"].dispatch_key == "PrivateUse1"


def test_a_kernel_carries_its_distribution_and_version(bench):
    bench.add("acme")
    bench.loader.ensure_backend("acme")
    registration = bench.registry.get("demo::acme").newest(dc.DispatchKey.PrivateUse1)
    assert registration.origin.distribution == "acme-dist"
    assert "acme-dist 1.0" in str(registration.origin)


def test_asking_for_one_device_imports_no_other_plugin(bench):
    bench.add("acme")
    other = bench.add("other", "raise RuntimeError")
    bench.loader.ensure_backend("acme")
    assert other not in sys.modules
    assert bench.state("other") == "installed, other-dist 1.0"


def test_there_is_one_scan_until_refresh(bench):
    bench.add("acme")
    bench.loader.ensure_backend("acme")
    with pytest.raises(dc.BackendNotFoundError):
        bench.loader.ensure_backend("later")
    assert bench.scans == 1
    bench.add("later")
    bench.loader.refresh()
    assert bench.loader.ensure_backend("later").name == "later"
    assert bench.scans == 2
    assert bench.state("acme") == "loaded, acme-dist 1.0"


FAILURES = {
    "raise ValueError('bad luck')": "ValueError: bad luck",
    "import sys; sys.exit(3)": "it called sys.exit (exit status 3)",
    "import sys; sys.exit()": "it called sys.exit (exit status 0)",
    "import sys; sys.exit('no licence')": "it called sys.exit (exit status 1): no licence",
    "import libacme": (
        "it needs the module 'libacme', which is not installed (ModuleNotFoundError: No module named 'libacme')"
    ),
    "import ctypes; ctypes.CDLL('libacme.so.2')": (
        "it needs the shared library 'libacme.so.2', which cannot be loaded (OSError: libacme.so.2: cannot open"
        " shared object file: No such file or directory)"
    ),
    "class E(Exception):\n    def __str__(self): raise self\nraise E": "E (its text cannot be printed)",
    "": (
        "RegistrationError: The plugin for device 'acme' has no implementation of dispatch_backend_info and"
        " dispatch_register"
    ),
    "def (": "SyntaxError: invalid syntax",
    "raise KeyError": "KeyError",
    "raise GeneratorExit": "GeneratorExit",
}


@pytest.mark.parametrize("source", FAILURES)
def test_a_failure_is_kept_and_chained_for_whoever_asks(bench, source):
    bench.add("acme", source)
    for _ in range(2):
        with pytest.raises(dc.BackendError) as caught:
            bench.loader.ensure_backend("acme")
        first, second, hint = str(caught.value).splitlines()
        assert first.startswith(f"The device 'acme' failed to load: {FAILURES[source]}")
        assert second == "It comes from 'acme = plugin_of_acme' of acme-dist 1.0; nothing of it stayed registered"
        assert hint.startswith("Hint: the exception above shows where, DISPATCH_BACKENDS_BLOCK=acme keeps it out")
        assert caught.value.__cause__.__traceback__ is not None
    assert bench.state("acme").startswith(f"failed, acme-dist 1.0: {FAILURES[source]}")
    assert "plugin_of_acme" not in sys.modules


def test_what_a_failing_plugin_registered_is_taken_back_whole(bench):
    bench.add(
        "acme",
        GOOD
        + '        registry.register_schema("demo::two", "two(int x) -> int")\n        raise OSError("half way")\n',
    )
    with pytest.raises(dc.BackendError, match="OSError: half way"):
        bench.loader.ensure_backend("acme")
    assert bench.registry.kernel_count() == 0
    assert list(bench.registry) == []


def test_half_a_package_does_not_stay_imported(bench):
    package = bench.folder / "acme_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("")
    (package / "plugin.py").write_text("import acme_package.helper, fractions\nraise ValueError('bad luck')")
    bench.claims.append(Claim(BACKENDS, "acme", "acme_package.plugin", Distribution("acme-dist", "1.0")))
    with pytest.raises(dc.BackendError):
        bench.loader.ensure_backend("acme")
    assert [name for name in sys.modules if name.startswith("acme_package")] == []
    assert "fractions" in sys.modules


def test_a_failed_plugin_may_try_again_after_refresh(bench):
    module = bench.add("acme", "raise ValueError('bad luck')")
    with pytest.raises(dc.BackendError):
        bench.loader.ensure_backend("acme")
    bench.claims.clear()
    (bench.folder / f"{module}.py").unlink()
    bench.add("acme", module="mended_plugin")
    bench.loader.refresh()
    assert bench.loader.ensure_backend("acme").name == "acme"


def test_a_keyboard_interrupt_goes_through_and_is_no_failure(bench):
    bench.add("acme", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        bench.loader.ensure_backend("acme")
    assert bench.state("acme") == "installed, acme-dist 1.0"


def test_a_misspelt_hook_is_reported(bench):
    bench.add("acme", GOOD + "    @dc.hookimpl\n    def dispatch_is_availabel(): return True\n")
    with pytest.raises(dc.BackendError, match="unknown hook 'dispatch_is_availabel'"):
        bench.loader.ensure_backend("acme")


def test_a_hook_with_an_argument_that_is_not_passed_is_reported(bench):
    bench.add("acme", GOOD.replace("(registry)", "(registry, device)"))
    with pytest.raises(dc.BackendError, match="'device'"):
        bench.loader.ensure_backend("acme")


DESCRIBED = {
    'dc.BackendInfo("other")': r"names the device 'acme', and dispatch_backend_info\(\) of its plugin names 'other'",
    "None": r"dispatch_backend_info\(\) of the plugin for device 'acme' returned None",
    "'acme'": r"dispatch_backend_info\(\) of the plugin for device 'acme' returned 'acme'",
}


@pytest.mark.parametrize("returned", DESCRIBED)
def test_a_plugin_must_describe_the_device_that_its_entry_point_names(bench, returned):
    bench.add("acme", GOOD.replace('dc.BackendInfo({name!r}, "PrivateUse1")', returned))
    with pytest.raises(dc.BackendError, match=DESCRIBED[returned]):
        bench.loader.ensure_backend("acme")


#: Registrations that a plugin for device "evil" may not make: keys that are not its own, of an operator that is not its own.
FOREIGN = ["CPU", "PrivateUse2", "AutogradPrivateUse2", "Autograd", "CompositeExplicitAutograd", "Meta", "Tracer"]
EVIL = GOOD.replace('registry.register_kernel("demo::{name}", "PrivateUse1", lambda x: x)', "{act}")


def evil(act):
    return EVIL.replace("{act}", act)


@pytest.mark.parametrize("key", FOREIGN)
@pytest.mark.parametrize("act", ["register_kernel('demo::acme', {key!r}, print)", "register_fallback({key!r}, print)"])
def test_a_plugin_registers_under_its_own_keys_only(bench, key, act):
    if "fallback" in act and dc.DispatchKey[key].is_alias:
        act = "register_fallthrough('demo::acme', {key!r})"
    bench.add("acme")
    bench.add("evil", evil(f"registry.{act.format(key=key)}"))
    bench.loader.ensure_backend("acme")
    before = bench.registry.get("demo::acme").computed_table()
    what = "a fallback for every operator" if "fallback" in act else "a kernel of demo::acme"
    with pytest.raises(
        dc.BackendError, match=rf"evil-dist 1\.0 registers {what} under {key}, at .*plugin_of_evil\.py:8"
    ):
        bench.loader.ensure_backend("evil")
    assert bench.registry.get("demo::acme").computed_table() == before
    assert not bench.registry.fallbacks
    assert "set DISPATCH_FOREIGN_KEYS=evil" in str(bench.loader._failures[BACKENDS, "evil"].exception)
    bench.settings = Settings(foreign_keys=("evil",))
    bench.loader.refresh()
    bench.loader.ensure_backend("evil")
    found = (
        bench.registry.get("demo::acme").newest(dc.DispatchKey[key]) or bench.registry.fallbacks[dc.DispatchKey[key]]
    )
    assert (found.origin.distribution, found.level.name) == ("evil-dist", "BACKEND")


@pytest.mark.parametrize("key", FOREIGN)
def test_a_plugin_registers_what_it_likes_for_operators_of_its_own(bench, key):
    bench.add(
        "vendor",
        evil(f"""l = dc.Library("vendor", "DEF", registry=registry)
        l.define("op(Tensor x) -> Tensor")
        l.impl("op", print, {key!r})
        registry.register_kernel("vendor::loose", {key!r}, print)
        registry.register_kernel("demo::acme", "AutogradPrivateUse1", print)"""),
    )
    bench.add("acme")
    bench.loader.ensure_backend("acme")
    bench.loader.ensure_backend("vendor")
    assert bench.registry.has_kernel("vendor::op", key)
    assert bench.registry.has_kernel("demo::acme", "AutogradPrivateUse1")


def test_an_operator_library_registers_for_its_own_operators_only(bench):
    bench.add("acme")
    bench.loader.ensure_backend("acme")
    source = "import dispatch_core.plugins.loading\nimport testing_registry\n"
    source += "testing_registry.it.register_kernel('demo::acme', 'CPU', print)"
    sys.modules["testing_registry"] = types.SimpleNamespace(it=bench.registry)
    try:
        bench.add("strange", source, group=OPERATORS)
        bench.loader.refresh()
        with pytest.raises(dc.BackendError, match="under its own keys only, an operator library has none, and for"):
            bench.loader.operator_library("strange")
    finally:
        del sys.modules["testing_registry"]
    assert not bench.registry.has_kernel("demo::acme", "CPU")


def test_of_two_plugins_that_may_share_a_key_the_later_one_wins_and_a_warning_comes_after_loading(bench):
    bench.add("acme")
    bench.add("evil", GOOD.replace("demo::{name}", "demo::acme"))
    bench.loader.ensure_backend("acme")
    with pytest.warns(dc.OverwriteWarning, match=r"from acme-dist 1\.0 .*; now comes one from evil-dist 1\.0"):
        bench.loader.ensure_backend("evil")
    with warnings.catch_warnings(action="error"):
        bench.loader.ensure_backend("evil")
    assert bench.registry.get("demo::acme").newest(dc.DispatchKey.PrivateUse1).origin.distribution == "evil-dist"


def test_warnings_that_are_errors_do_not_make_a_plugin_fail(bench):
    bench.registry.register_kernel("demo::acme", "PrivateUse1", print)
    bench.add("acme")
    with warnings.catch_warnings(action="error"), pytest.raises(dc.OverwriteWarning):
        bench.loader.ensure_backend("acme")
    assert bench.state("acme") == "loaded, acme-dist 1.0"
    assert bench.registry.get("demo::acme").kernels == {dc.DispatchKey.PrivateUse1: print}


def test_a_plugin_that_fails_takes_back_only_what_it_registered(bench):
    bench.registry.register_kernel("demo::acme", "PrivateUse1", print)
    bench.add("acme", GOOD + "        1 / 0")
    with pytest.raises(dc.BackendError, match="division by zero"):
        bench.loader.ensure_backend("acme")
    (only,) = bench.registry.get("demo::acme").registrations(dc.DispatchKey.PrivateUse1)
    assert only.fn is print


def test_a_plugin_that_asks_for_itself_while_loading_gets_a_clear_error(bench):
    bench.add("acme", GOOD + "    dc.loader_for_test.ensure_backend({name!r})\n")
    dc.loader_for_test = bench.loader
    try:
        with pytest.raises(dc.BackendError, match="The device 'acme' was asked for while it was being loaded"):
            bench.loader.ensure_backend("acme")
    finally:
        del dc.loader_for_test


def test_a_device_that_a_failing_plugin_asked_for_stays(bench):
    bench.add("acme")
    bench.add(
        "evil", "import dispatch_core as dc\ndc.loader_for_test.ensure_backend('acme')\nraise ValueError('bad luck')"
    )
    dc.loader_for_test = bench.loader
    try:
        with pytest.raises(dc.BackendError, match="bad luck"):
            bench.loader.ensure_backend("evil")
    finally:
        del dc.loader_for_test
    assert bench.registry.has_kernel("demo::acme", "PrivateUse1")
    assert bench.state("acme") == "loaded, acme-dist 1.0"


def test_threads_that_ask_at_once_load_once(bench):
    bench.add(
        "acme",
        "import time, dispatch_core as dc\ntime.sleep(0.1)\ndc.loads_for_test.append(1)\n" + textwrap.dedent(GOOD),
    )
    dc.loads_for_test = []
    found = []
    try:
        threads = [threading.Thread(target=lambda: found.append(bench.loader.ensure_backend("acme"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert dc.loads_for_test == [1]
    finally:
        del dc.loads_for_test
    assert len(found) == 8
    assert len(set(map(id, found))) == 1


def test_waiting_for_another_thread_ends_with_an_error(bench):
    go, entered = threading.Event(), threading.Event()
    bench.add(
        "slow",
        "import dispatch_core as dc\ndc.events_for_test[0].set()\ndc.events_for_test[1].wait(30)\n"
        + textwrap.dedent(GOOD),
    )
    bench.add("acme")
    dc.events_for_test = entered, go
    thread = threading.Thread(target=bench.loader.ensure_backend, args=["slow"])
    thread.start()
    try:
        assert entered.wait(30)
        with pytest.raises(dc.BackendError, match=r"another thread has been loading a plugin for 0\.5 seconds"):
            bench.loader.ensure_backend("acme")
    finally:
        go.set()
        thread.join()
        del dc.events_for_test
    assert bench.loader.ensure_backend("acme").name == "acme"


def test_a_state_takes_one_line_and_its_reason_as_many_as_there_are(bench):
    bench.add("acme", "raise ValueError('bad\\nluck')")
    with pytest.raises(dc.BackendError):
        bench.loader.ensure_backend("acme")
    assert bench.state("acme") == "failed, acme-dist 1.0: ValueError: bad"
    assert bench.loader.backends()["acme"].reason == "ValueError: bad\nluck"


def test_an_unknown_device_lists_what_there_is_and_what_is_near(bench):
    bench.add("acme")
    bench.add("broken", "raise ValueError('bad luck')")
    with pytest.raises(dc.BackendError):
        bench.loader.ensure_backend("broken")
    with pytest.raises(dc.BackendNotFoundError) as caught:
        bench.loader.ensure_backend("acne")
    assert str(caught.value) == (
        "No installed distribution provides the device 'acne'\n"
        "Installed devices:\n"
        "  acme: installed, acme-dist 1.0\n"
        "  broken: failed, broken-dist 1.0: ValueError: bad luck\n"
        "Hint: did you mean 'acme'?"
    )


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("npu", "dispatch-backend-npu"),
        ("NPU", "dispatch-backend-npu"),
        ("ascend", "dispatch-backend-npu, whose device is 'npu'"),
        ("jax", '"dispatch-backend-array-api[jax]"'),
        ("cuda", "\"dispatch-backend-array-api[cupy]\", whose device is 'cupy'"),
        ("das", "did you mean 'dask' (pip install \"dispatch-backend-array-api[dask]\")?"),
    ],
)
def test_an_own_device_that_is_not_installed_comes_with_the_command_that_installs_it(bench, name, how):
    with pytest.raises(dc.BackendNotFoundError) as caught:
        bench.loader.ensure_backend(name)
    assert str(caught.value) == (
        f"No installed distribution provides the device {name!r}\n"
        "No backend is installed at all\n"
        f"Hint: {how if how.startswith('did') else f'pip install {how}'}"
    )


def test_two_claims_to_a_name_are_an_error_when_that_name_is_asked_for(bench):
    bench.add("acme", distribution="acme-one", module="one")
    bench.add("acme", distribution="acme-two", module="two")
    bench.add("other")
    assert bench.loader.ensure_backend("other").name == "other"
    with pytest.raises(dc.BackendError) as caught:
        bench.loader.ensure_backend("acme")
    assert str(caught.value) == (
        "The device 'acme' cannot be loaded\n"
        "  the name is claimed more than once: by 'acme = one' of acme-one 1.0 and 'acme = two' of acme-two 1.0\n"
        "Hint: uninstall all but one of acme-one and acme-two"
    )
    assert "one" not in sys.modules


def test_a_plugin_for_another_core_is_refused_before_it_is_imported(bench):
    module = bench.add("acme", requires=["dispatch-core>=9"])
    with pytest.raises(dc.BackendError) as caught:
        bench.loader.load_backend("acme")
    assert str(caught.value) == (
        "The device 'acme' cannot be loaded\n"
        "  'acme = plugin_of_acme' of acme-dist 1.0: it requires dispatch-core>=9, and dispatch-core 0.1.0 is installed\n"
        "Hint: install versions that fit: pip install --upgrade acme-dist dispatch-core"
    )
    assert module not in sys.modules


def test_a_foreign_claim_to_cpu_is_shown_beside_ours(bench):
    bench.add("cpu", distribution="dispatch-backend-cpu")
    bench.add("cpu", "raise SystemExit", distribution="evil", module="evil")
    bench.loader.ensure_backend("cpu")
    state = bench.loader.backends()["cpu"]
    assert str(state) == "loaded, dispatch-backend-cpu 1.0"
    assert [str(rival) for rival in state.rivals] == [
        "refused, evil 1.0: the device 'cpu' belongs to dispatch-backend-cpu"
    ]
    assert "evil" not in sys.modules


def test_without_autoload_own_devices_load_and_others_by_name_only(bench):
    bench.settings = Settings(autoload=False)
    bench.add("cpu", distribution="dispatch-backend-cpu")
    bench.add("acme", GOOD.replace("PrivateUse1", "PrivateUse2"))
    assert bench.loader.ensure_backend("cpu").name == "cpu"
    with pytest.raises(dc.BackendError) as caught:
        bench.loader.ensure_backend("acme")
    assert str(caught.value) == (
        "The device 'acme' of acme-dist 1.0 is not loaded: DISPATCH_AUTOLOAD is off, and it is no device of this"
        " project's own\n"
        "Hint: load it with dispatch_core.load_backend('acme')"
    )
    assert bench.loader.load_backend("acme").name == "acme"
    assert bench.loader.ensure_backend("acme").name == "acme"


@pytest.mark.parametrize("how", ["ensure_backend", "load_backend"])
def test_a_blocked_device_never_loads(bench, how):
    bench.settings = Settings(block=("acme",))
    module = bench.add("acme")
    with pytest.raises(dc.BackendError) as caught:
        getattr(bench.loader, how)("acme")
    assert str(caught.value) == (
        "The device 'acme' of acme-dist 1.0 is not loaded: it is blocked by DISPATCH_BACKENDS_BLOCK\n"
        "Hint: take it out of DISPATCH_BACKENDS_BLOCK and call dispatch_core.refresh()"
    )
    assert bench.state("acme") == "blocked, acme-dist 1.0: it is blocked by DISPATCH_BACKENDS_BLOCK"
    assert module not in sys.modules


def test_an_allow_list_keeps_others_out(bench):
    bench.settings = Settings(allow=("acme",))
    bench.add("acme")
    bench.add("other")
    assert bench.loader.ensure_backend("acme").name == "acme"
    with pytest.raises(dc.BackendError, match="DISPATCH_BACKENDS does not name it"):
        bench.loader.ensure_backend("other")


def test_an_allow_list_is_loud_when_a_device_is_missing(bench):
    bench.settings = Settings(allow=("acme", "acne"))
    bench.add("acme")
    with pytest.raises(dc.BackendError) as caught:
        bench.loader.ensure_backend("acme")
    assert str(caught.value) == (
        "DISPATCH_BACKENDS names 'acne', which no installed distribution provides\n"
        "Installed devices:\n"
        "  acme: installed, acme-dist 1.0\n"
        "Hint: did you mean 'acme'?; or take it out of DISPATCH_BACKENDS"
    )


def test_switches_are_read_again_after_refresh(bench):
    bench.settings = Settings(block=("acme",))
    bench.add("acme")
    with pytest.raises(dc.BackendError):
        bench.loader.ensure_backend("acme")
    bench.settings = Settings()
    bench.loader.refresh()
    assert bench.loader.ensure_backend("acme").name == "acme"


def test_an_operator_library_is_loaded_once_by_its_namespace(bench):
    module = bench.add("demo", "", group=OPERATORS)
    assert bench.loader.operator_library("demo") is True
    del sys.modules[module]
    assert bench.loader.operator_library("demo") is True
    assert module not in sys.modules
    assert bench.loader.operator_library("nothing") is False


def test_an_operator_library_that_fails_is_reported_and_gone(bench):
    module = bench.add("demo", "raise ValueError('bad luck')", group=OPERATORS)
    for _ in range(2):
        with pytest.raises(dc.BackendError) as caught:
            bench.loader.operator_library("demo")
        assert str(caught.value).startswith(
            "The operator library for namespace 'demo' failed to load: ValueError: bad luck\nIt comes from 'demo ="
        )
        assert isinstance(caught.value.__cause__, ValueError)
    assert module not in sys.modules


OPERATOR_LIBRARY = """
    import dispatch_core as dc
    dc.registry_for_test.register_schema("demo::one", "one(int x) -> int")
"""


@pytest.mark.parametrize("requires", [["demo-dist>=1"], []])
def test_an_operator_library_outlives_the_plugin_that_imported_it_first(bench, requires):
    library = bench.add("demo", OPERATOR_LIBRARY, group=OPERATORS)
    bench.add("evil", f"import {library}\nraise ValueError('bad luck')", requires=requires)
    dc.registry_for_test = bench.registry
    try:
        with pytest.raises(dc.BackendError, match="bad luck"):
            bench.loader.ensure_backend("evil")
        assert bench.loader.operator_library("demo") is True
    finally:
        del dc.registry_for_test
    assert [entry.name for entry in bench.registry] == ["demo::one"]


def with_device(body, hook="dispatch_is_available()"):
    return GOOD + f"    @dc.hookimpl\n    def {hook}: {body}\n"


def test_a_device_without_the_optional_hooks_opens(bench):
    bench.add("acme")
    assert bench.loader.open_device("acme").name == "acme"
    assert bool(bench.loader.availability("acme"))


def test_a_plugin_gives_its_devices_own_interface(bench):
    bench.add("acme", with_device("return {'streams': 3}", "dispatch_runtime()"))
    assert bench.loader.runtime("acme") == {"streams": 3}


def test_a_plugin_without_an_interface_of_its_own_is_named(bench):
    bench.add("acme")
    with pytest.raises(dc.BackendError, match="device 'acme' has no interface of its own") as caught:
        bench.loader.runtime("acme")
    assert "dispatch_runtime" in str(caught.value)


def test_a_device_is_opened_once_for_each_index(bench):
    bench.add("acme", with_device("registered.append(index)", "dispatch_open_device(index)") + "    registered = []\n")
    for index in (None, 0, 0, 1, None):
        bench.loader.open_device("acme", index)
    assert sys.modules["plugin_of_acme"].registered == [None, 0, 1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return False", "its plugin gives no reason"),
        ("return dc.Availability(False, 'no driver')", "no driver"),
        ("raise OSError('libacme.so: cannot open')", "it needs the shared library 'libacme.so'"),
    ],
)
def test_a_device_that_cannot_be_opened_says_why_and_stays_loaded(bench, body, reason):
    bench.add("acme", with_device(body))
    with pytest.raises(dc.BackendUnavailableError) as caught:
        bench.loader.open_device("acme", 0)
    assert str(caught.value).startswith(
        f"The device 'acme' of acme-dist 1.0 cannot be opened on this machine: {reason}"
    )
    assert "\nHint: its kernels are registered all the same" in str(caught.value)
    assert bench.state("acme") == "loaded, acme-dist 1.0"


def test_two_devices_answer_each_for_itself(bench):
    bench.add("yes", with_device("return True"))
    bench.add("no", with_device("return dc.Availability(False, 'none')").replace("PrivateUse1", "PrivateUse2"))
    assert bool(bench.loader.availability("yes"))
    assert bench.loader.availability("no") == dc.Availability(False, "none")


def test_factories_open_their_device_again_after_refresh(install, run_python):
    plugin = """
import dispatch_core as dc
class Array: pass
@dc.hookimpl
def dispatch_backend_info():
    return dc.BackendInfo("acme", array_types=(dc.ArrayType(Array, shape=lambda a: (), dtype=lambda a: "f"),))
@dc.hookimpl
def dispatch_register(registry):
    registry.register_kernel("demo::new", dc.device_key("acme"), lambda *, device: Array())
@dc.hookimpl
def dispatch_open_device(index):
    print("opened", index)
"""
    site = install("acme-dist", backends={"acme": "acme_plugin"}, modules={"acme_plugin": plugin})
    code = """
import dispatch_core as dc
library = dc.Library("demo", "DEF")
library.define("new(*, Device? device=None) -> Tensor")
for _ in range(2):
    dc.ops.demo.new(device="acme"), dc.ops.demo.new(device="acme:0"), dc.ops.demo.new(device="acme")
    print("refreshed")
    dc.refresh()
"""
    done = run_python("-c", code, site=[site])
    assert done.stdout.split("\n")[:-1] == ["opened None", "opened 0", "refreshed"] * 2, done.stderr


COUNTED = """
    import dispatch_core as dc
    opened = []

    @dc.hookimpl
    def dispatch_backend_info():
        return dc.BackendInfo("counted", "PrivateUse3")

    @dc.hookimpl
    def dispatch_register(registry):
        pass

    @dc.hookimpl
    def dispatch_open_device(index):
        opened.append(index)

    @dc.hookimpl
    def dispatch_device_count():
        return {count}
"""


@pytest.mark.parametrize(("count", "there"), [(0, "there are none"), (1, "there is one"), (2, "there are 2")])
def test_an_index_out_of_range_is_refused_before_the_device_is_opened(install, run_python, count, there):
    program = f"""
import dispatch_core as dc
from dispatch_core.discovery import loader
import counted_plugin
for index in (None, *range({count}), {count}, 10**30):
    try:
        loader().open_device("counted", index)
    except dc.BackendUnavailableError as error:
        print(error)
print(counted_plugin.opened)
"""
    site = install(
        "counted-backend",
        backends={"counted": "counted_plugin"},
        requires=["dispatch-core"],
        modules={"counted_plugin": COUNTED.format(count=count)},
    )
    done = run_python("-c", program, site=[site])
    lines = done.stdout.splitlines()
    assert lines[0] == f"There is no device 'counted:{count}': of the devices of counted-backend 1.0 {there}"
    assert lines[1] == "Hint: indices begin at 0: write 'counted' or 'counted:0' for the first one"
    assert len(lines) == 5
    assert lines[-1] == str([None, *range(count)])


def test_a_count_that_is_no_number_is_the_plugins_fault(install, run_python):
    site = install(
        "counted-backend",
        backends={"counted": "counted_plugin"},
        requires=["dispatch-core"],
        modules={"counted_plugin": COUNTED.format(count="'two'")},
    )
    program = "from dispatch_core.discovery import loader; loader().open_device('counted', 1)"
    done = run_python("-c", program, site=[site])
    assert "The device 'counted' of counted-backend 1.0 cannot be opened" in done.stderr
    assert "dispatch_device_count returned 'two', which is not an int" in done.stderr
