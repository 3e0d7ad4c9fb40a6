"""The text of every error class, as it comes about; a class without a row here fails."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import warnings
from types import ModuleType

import pytest

import dispatch_core as dc
import dispatch_pipelines
from dispatch_core import devkit
from dispatch_core.plugins.catalog import Catalog
from dispatch_core.plugins.loading import BackendLoader
from dispatch_core.runtime import find_interface
from dispatch_core.schema import SchemaSyntaxError
from dispatch_core.surroundings.distributions import BACKENDS, Claim, Distribution, Scan
from dispatch_core.tracebacks import api_boundary
from dispatch_pipelines.record.errors import PipelineError

HERE = r"\S+test_error_texts\.py:\d+"


def subclasses(cls):
    return {found for each in cls.__subclasses__() for found in {each, *subclasses(each)}}


def every_error():
    for package in (dc, dispatch_pipelines):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    found = {dc.DispatchError, *subclasses(dc.DispatchError), *subclasses(Warning)}
    packages = ("dispatch_core", "dispatch_pipelines")
    ours = {cls for cls in found if cls.__module__.startswith(packages) and not cls.__name__.startswith("_")}
    # Not those that pipelines make of another error's class and their own.
    return {cls for cls in ours if getattr(sys.modules[cls.__module__], cls.__name__, None) is cls}


def out_of_paper(x):
    raise RuntimeError("out of paper")


class NoRoomError(Exception):
    """A device's own error."""


@api_boundary
def allocate():
    raise NoRoomError("the card has no room for 8 bytes")


def run_out_of_memory(setting):
    interface = dc.DeviceInterface(out_of_memory=NoRoomError)
    with dc.register_backend(dc.BackendInfo("small"), {}, device_interface=lambda: interface):
        find_interface("small")
        allocate()


class Setting:
    """An operator of each sort that the rows need, in a registry of the test's own."""

    def __init__(self, registry, make_backend, make_frontend):
        self.registry, self.ops = registry, registry.ops
        self.near, self.far = make_backend("near"), make_backend("far")
        self.boxes, self.cards = make_frontend("boxes"), make_frontend("cards")
        library = self.library = dc.Library("t", "DEF", registry=registry)
        library.define("f(Tensor x, Tensor? y=None) -> Tensor")
        library.define("g.a(int x) -> int")
        library.define("g.b(str x) -> int")
        library.define("number(int x) -> int")
        library.define("liar(Tensor(a!) x) -> Tensor")
        library.define("double(Tensor x) -> Tensor")
        library.define("less(Tensor x) -> Tensor")
        library.impl("less", lambda x: type(x)(x.a[0]), self.near.key)
        dc.register_fake("t::less", lambda x: x, lib=library)
        library.impl("double", out_of_paper, self.near.key)
        library.impl("double", lambda x: x, "Meta")
        library.impl("f", lambda x, y=None: "no array", self.near.key)
        library.impl("number", lambda x: x, "CPU")
        library.impl("liar", lambda x: type(x)(x.a), self.near.key)
        self.array = self.near.array([1])

    def call_after_close(self):
        with dc.Library("gone", "DEF", registry=self.registry) as library:
            library.define("f(int x) -> int")
            op = self.ops.gone.f.default
        op(1)

    def fail_in_a_pipeline(self):
        with dc.pipeline(registry=self.registry):
            result = self.ops.t.double(self.array)
            result.result()

    def mix_frontends(self):
        self.ops.t.f(self.boxes.wrap(self.array), self.cards.wrap(self.array))

    def overwrite(self):
        self.library.impl("number", lambda x: x, "CPU")

    def misspell(self):
        pytest.importorskip("dispatch_aten", reason="names are compared with those of an installed operator library")
        with dc.Library("aten", "IMPL") as library:
            library.impl("expp", lambda x: x, "CPU")

    def check(self):
        dc.opcheck(self.ops.t.liar.default, (self.array,))


def ask_for_a_picture_without_the_devkit(monkeypatch):
    monkeypatch.setattr(devkit, "_PACKAGE", "a_package_that_is_not_installed")
    devkit.to_svg  # noqa: B018


def ask_with_a_bad_switch(monkeypatch):
    monkeypatch.setenv("DISPATCH_AUTOLOAD", "perhaps")
    BackendLoader(dc.Registry()).ensure_backend("nowhere")


class _Plugin:
    """A plugin whose device is not there."""

    @dc.hookimpl
    def dispatch_backend_info(self):
        return dc.BackendInfo("acme", "PrivateUse3")

    @dc.hookimpl
    def dispatch_register(self, registry):
        pass

    @dc.hookimpl
    def dispatch_is_available(self):
        return dc.Availability(False, "no driver")


class _Registry(dc.Registry):
    """A registry whose devices stay out of the process's own tables."""

    def add_backend(self, info):
        return dc.DispatchKey[info.dispatch_key]


def open_an_absent_device(monkeypatch):
    module = ModuleType("acme_plugin")
    module.plugin = _Plugin()
    monkeypatch.setitem(sys.modules, "acme_plugin", module)
    claim = Claim(BACKENDS, "acme", "acme_plugin:plugin", Distribution("acme-dist", "1.0", ()))
    BackendLoader(_Registry(), catalog=lambda: Catalog(Scan((claim,)), "0.1.0")).open_device("acme")


def report_late(error):
    """Wait for a device that reports an error of a call without its number."""

    class Card(float):
        """An array of the device."""

    interface = dc.DeviceInterface(reports=lambda: [(None, None, error)])
    info = dc.BackendInfo("carded", array_types=(dc.ArrayType(Card),))
    with dc.register_backend(info, {}, device_interface=lambda: interface):
        library = dc.Library("late", "DEF")
        try:
            library.define("double(Tensor x) -> Tensor")
            library.impl("double", lambda x: Card(2 * x), "Carded")
            dc.ops.late.double(Card(1))
            dc.synchronize("carded")
        finally:
            library.close()


#: Error → a call that provokes it, and its whole text.
ROWS = {
    dc.DispatchError: (None, "the root: nothing raises it"),
    dc.SchemaError: (
        lambda s: s.registry.register_schema("t::h", "k() -> ()"),
        r"the schema registered for t::h is named t::k\nHint: a schema's name and overload are those it is .*",
    ),
    SchemaSyntaxError: (
        lambda s: s.library.define("h(Tensor x, int) -> ()"),
        r"expected the argument's name but found '\)' \(line 1, column 16\)\n  h\(Tensor x, int\) -> \(\)\n {17}\^",
    ),
    dc.ArgumentError: (
        lambda s: s.ops.t.number("x"),
        r"t::number\(\): argument 'x' \(position 1\) must be int, not str\nDeclaration: t::number\(int x\) -> int",
    ),
    dc.NoMatchingOverloadError: (
        lambda s: s.ops.t.g(1.5),
        (
            r"t::g\(\) received an invalid combination of arguments - got \(float\), but expected one of:\n"
            r" \* t::g\.a\(int x\) -> int\n     argument 'x' \(position 1\) must be int, not float\n"
            r" \* t::g\.b\(str x\) -> int\n     argument 'x' \(position 1\) must be str, not float"
        ),
    ),
    dc.FrontendMismatchError: (
        Setting.mix_frontends,
        r"t::f: tensors of the frontends boxes and cards stand in one call\nHint: convert them to one frontend first",
    ),
    dc.DeviceMismatchError: (
        lambda s: s.ops.t.f(s.array, s.far.array([1])),
        (
            r"t::f: Expected all tensors to be on the same device, but found at least two devices, far and near!"
            r" \(arguments 'x' on near, 'y' on far\)\nHint: move them to one device first,"
            r" or register a kernel for all of their types:"
            r" Library\.impl\('t::f', kernel, types=\(NearArray, FarArray\)\)"
        ),
    ),
    dc.KernelResultError: (
        lambda s: s.ops.t.less(s.array),
        (
            rf"t::less: the result has shape \(\), where the shape rule \({HERE}\) says \(1,\)\n"
            rf"Kernel for Near: \S+<lambda> \({HERE}\), registered by {HERE}; called with float64\[1\]\n"
            r"Hint: the kernel must keep or drop dimensions as the operator's arguments say"
        ),
    ),
    dc.DispatchKeyError: (
        lambda s: s.registry.redispatch("t::number", "CPUU", 1),
        r"no dispatch key is named 'CPUU'\nHint: did you mean .*CPU.*\?",
    ),
    dc.OperatorNotFoundError: (
        lambda s: s.registry.dispatch("t::numbr", 1),
        r"no operator is named t::numbr\nHint: did you mean t::number\?",
    ),
    dc.NoKernelError: (
        lambda s: s.registry.redispatch("t::number", "Meta", 1),
        (
            rf"t::number: no kernel for Meta, the highest key of DispatchKeySet\(Meta\)\n"
            rf"Kernels are registered under CPU \({HERE}\)\nHint: .*"
        ),
    ),
    dc.EmptyKeysetError: (
        lambda s: s.ops.t.number(1),
        (
            rf"t::number: the set of dispatch keys is empty: there are no tensor arguments, or their keys are masked off,"
            rf" and no composite kernel\nKernels are registered under CPU \({HERE}\)\n"
            r"Hint: pass a tensor, or register a kernel for BackendSelect or CompositeExplicitAutograd"
        ),
    ),
    dc.ClosedOperatorError: (
        Setting.call_after_close,
        (
            r"gone::f is gone: the library that defined it was closed\n"
            r"Hint: keep the Library object open as long as its operators are in use"
        ),
    ),
    dc.OpCheckError: (
        Setting.check,
        r"opcheck of t::liar: test_schema failed: result 0 shares memory with argument 'x', but the schema does not say so",
    ),
    dc.RegistrationError: (
        lambda s: dc.Library("t", "DEF", registry=s.registry),
        (
            rf"namespace 't' has a DEF library already, opened at {HERE}; the second is opened at {HERE}\n"
            r"Hint: open a FRAGMENT to define more operators in it"
        ),
    ),
    dc.BackendError: (ask_with_a_bad_switch, r".*DISPATCH_AUTOLOAD.*'perhaps'.*\nHint: .*"),
    dc.BackendNotFoundError: (
        lambda s: dc.device_key("nowhere"),
        r"No installed distribution provides the device 'nowhere'.*\nHint: .*",
    ),
    dc.BackendUnavailableError: (
        open_an_absent_device,
        (
            r"The device 'acme' of acme-dist 1\.0 cannot be opened on this machine: no driver\n"
            r"Hint: its kernels are registered all the same; `python -m dispatch_core doctor` shows the faults of acme"
        ),
    ),
    dc.AsyncDeviceError: (
        lambda s: report_late(OverflowError("too large")),
        (
            r"a call failed on carded after it had been launched: OverflowError: too large\n"
            r"Hint: DISPATCH_LAUNCH_BLOCKING=1 raises it at the call itself"
        ),
    ),
    dc.DeviceLostError: (
        lambda s: report_late(dc.DeviceLostError("the card has left the bus")),
        (
            r"a call failed on carded after it had been launched: DeviceLostError: the card has left the bus\n"
            r"Hint: DISPATCH_LAUNCH_BLOCKING=1 raises it at the call itself"
        ),
    ),
    dc.OutOfMemoryError: (run_out_of_memory, r"the card has no room for 8 bytes"),
    dc.CaptureError: (
        lambda s: dc.capture(lambda: iter([]))(),
        (
            r"a captured function returns <list_iterator .*>, whose code would run after the recording\n"
            r"Hint: return tensors, numbers and containers of them"
        ),
    ),
    dc.DevkitNotFoundError: (
        ask_for_a_picture_without_the_devkit,
        r"'to_svg' belongs to dispatch-devkit, which is not installed\nHint: pip install dispatch-devkit",
    ),
    PipelineError: (
        Setting.fail_in_a_pipeline,
        rf"t::double\(float64\[1\]\) failed in a pipeline: RuntimeError: out of paper\nRecorded at {HERE}",
    ),
    dc.OverwriteWarning: (
        Setting.overwrite,
        rf"t::number has a kernel for CPU from {HERE}; now comes one from {HERE}",
    ),
    dc.UnknownOperatorWarning: (
        Setting.misspell,
        rf"a kernel for aten::expp is registered under CPU at {HERE}, and no operator has that name; did you mean aten.*",
    ),
}


#: These need no operators but the environment.
ABOUT_PLUGINS = (ask_with_a_bad_switch, open_an_absent_device, ask_for_a_picture_without_the_devkit)


def test_every_error_has_a_row():
    assert set(ROWS) == every_error()


@pytest.mark.parametrize("error", [error for error in ROWS if error is not dc.DispatchError], ids=lambda e: e.__name__)
def test_the_text_of_an_error(error, registry, meta, make_backend, make_frontend, monkeypatch):
    provoke, text = ROWS[error]
    setting = monkeypatch if provoke in ABOUT_PLUGINS else Setting(registry, make_backend, make_frontend)
    with pytest.raises(error) as caught, warnings.catch_warnings():
        warnings.simplefilter("error")
        provoke(setting)
    assert type(caught.value) is error
    assert re.fullmatch(text, str(caught.value), re.DOTALL), str(caught.value)
    if "Hint: " in text:
        assert str(caught.value).splitlines()[-1] == f"Hint: {caught.value.hint}"
