import threading
import time
import warnings

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKey, LazyDefinition, Library, Registry

TEXTS = {
    "f": "f(Tensor x) -> str",
    "f.int": "f.int(int x) -> str",
    "g": "g(int x) -> str",
    "bad": "bad(int x -> str",
    "other": "another(int x) -> str",
}


@pytest.fixture
def registry():
    return Registry()


@pytest.fixture
def asked():
    return []


@pytest.fixture
def library(registry, asked):
    with Library("demo", "DEF", registry=registry) as made:
        made.define_lazily(TEXTS, lambda name: (asked.append(name), define(name))[1])
        yield made


def define(name):
    kernels = {"CompositeImplicitAutograd": lambda x: f"composite {name}"}
    return LazyDefinition(TEXTS[name], ("pointwise",), kernels if name != "f" else {})


def test_names_are_listed_and_missed_without_a_definition(registry, library, asked):
    assert set(dir(registry.ops.demo)) >= {"f", "g", "bad", "other"}
    assert dir(registry.ops) == ["demo"]
    with pytest.raises(dc.OperatorNotFoundError, match="did you mean demo::g"):
        registry.get("demo::gg")
    assert asked == []


def test_all_overloads_are_defined_at_the_first_name_and_once(registry, library, asked):
    assert registry.ops.demo.f.overloads() == ["default", "int"]
    assert registry.get("demo::f.int").tags == {"pointwise"}
    assert registry.ops.demo.f.int(3) == registry.dispatch("demo::f.int", 3) == "composite f.int"
    assert asked == ["f", "f.int"]
    with pytest.raises(dc.OperatorNotFoundError, match="its overloads are default, int"):
        registry.get("demo::f.float")


@pytest.mark.parametrize("name", ["bad", "other"])
def test_a_faulty_definition_defines_nothing_and_answers_each_time(registry, library, name):
    for _ in range(2):
        with pytest.raises(dc.SchemaError, match=r"bad|demo::other, announced at"):
            getattr(registry.ops.demo, name)
        assert f"demo::{name}" not in registry._entries
    assert registry.ops.demo.g(1) == "composite g"


def test_what_asking_for_a_definition_raises_is_chained(registry):
    library = Library("demo", "DEF", registry=registry)
    library.define_lazily(
        ["f", "g"], lambda name: 1 // 0 if name == "f" else LazyDefinition("g() -> ()", (), {"CPU": id})
    )
    with pytest.raises(dc.RegistrationError, match=r"demo::f is announced at .*ZeroDivisionError") as caught:
        registry.get("demo::f")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(dc.RegistrationError, match="has a kernel under CPU"):
        registry.get("demo::g")


def test_names_clash_as_those_of_defined_operators_do(registry, library, asked):
    fragment = Library("demo", "FRAGMENT", registry=registry)
    with pytest.raises(dc.RegistrationError, match=r"demo::f.int is defined already, at .*the second definition is at"):
        fragment.define_lazily(["new", "f.int"], define)
    with pytest.raises(dc.OperatorNotFoundError):
        registry.get("demo::new")
    with pytest.raises(dc.RegistrationError, match="demo::g is defined already, at"):
        fragment.define("g(int x) -> str")
    fragment.define("f.float(float x) -> str")
    assert registry.ops.demo.f.overloads() == ["default", "int", "float"]
    assert asked == ["g", "f", "f.int"]
    fragment.define_lazily(["f.complex"], lambda name: LazyDefinition("f.complex(complex x) -> str"))
    assert registry.ops.demo.f.overloads() == ["default", "int", "float", "complex"]


def test_kernels_wait_and_define_nothing(registry, library, asked):
    kernels = Library("demo", "IMPL", "CPU", registry=registry)
    kernels.impl("f", lambda x: "cpu")
    assert asked == []
    assert registry.has_kernel("demo::f", "CPU")
    assert asked == ["f", "f.int"]


@pytest.mark.parametrize("is_closed_first", [False, True])
def test_a_waiting_kernel_is_taken_back(registry, library, is_closed_first):
    kernels = Library("demo", "IMPL", "CPU", registry=registry)
    kernels.impl("g", lambda x: "cpu")
    if is_closed_first:
        kernels.close()
    entry = registry.get("demo::g")
    kernels.close()
    assert entry.newest(DispatchKey.CPU) is None and entry.newest(DispatchKey.CompositeImplicitAutograd) is not None


def test_a_rollback_takes_waiting_kernels_and_announcements_back(registry):
    with pytest.raises(OSError, match="half way"), registry.transaction():
        library = Library("demo", "DEF", registry=registry)
        library.define_lazily(["f", "g"], define)
        Library("demo", "IMPL", "CPU", registry=registry).impl("g", lambda x: "cpu")
        registry.get("demo::f")
        raise OSError("half way")
    assert not registry.entries and not registry.packets and dir(registry.ops) == []
    Library("demo", "DEF", registry=registry).define("g(int x) -> str")
    assert registry.get("demo::g").kernels == {}


def test_a_waiting_kernel_stays_where_its_operator_goes(registry):
    library = Library("demo", "DEF", registry=registry)
    library.define_lazily(["f", "g"], define)
    Library("demo", "IMPL", "CPU", registry=registry).impl("g", lambda x: "cpu")
    library.close()
    assert registry.get("demo::g").schema is None
    assert registry.call_direct("demo::g", "CPU", 1) == "cpu"
    with pytest.raises(dc.OperatorNotFoundError):
        registry.get("demo::f")


def test_a_second_kernel_for_a_key_is_reported_at_once(registry, library):
    kernels = Library("demo", "IMPL", registry=registry)
    kernels.impl("g", lambda x: "one", "CPU")
    with pytest.warns(dc.OverwriteWarning, match="demo::g has a kernel for CPU"):
        kernels.impl("g", lambda x: "two", "CPU")
    with pytest.raises(dc.RegistrationError, match="demo::g has a kernel for CPU"):
        kernels.impl("g", lambda x: "three", "CPU", allow_override=False)
    with pytest.warns(dc.OverwriteWarning, match="CompositeImplicitAutograd"):
        kernels.impl("g", lambda x: "composite", "CompositeImplicitAutograd")
    with pytest.raises(dc.RegistrationError, match="argument 'y', which the schema lacks"):
        kernels.impl("g", lambda x: "special", "CPU", when=("y", 1))


def tables(order):
    """Return the computed table of an operator after the steps of ``order``."""
    registry = Registry()
    library = Library("demo", "DEF", registry=registry)
    library.define_lazily(["g"], define)

    def lazily():
        Library("demo", "IMPL", "Autograd", registry=registry).impl_lazily(lambda name: str)

    def override():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Library("demo", "IMPL", registry=registry).impl("g", repr, "CompositeImplicitAutograd")

    steps = {
        "define": lambda: registry.get("demo::g"),
        "cpu": lambda: Library("demo", "IMPL", "CPU", registry=registry).impl("g", id),
        "autograd": lazily,
        "override": override,
    }
    for step in order:
        steps[step]()
    return {
        key.name: (slot.rule, getattr(slot.kernel, "__name__", ""))
        for key, slot in registry.get("demo::g").computed_table().items()
    }


def test_tables_do_not_depend_on_when_an_operator_is_defined():
    wanted = tables(["define", "cpu", "autograd", "override"])
    assert wanted["CPU"][1] == "id" and wanted["AutogradCPU"][1] == "str"
    for order in (
        ["cpu", "autograd", "override"],
        ["override", "autograd", "cpu", "define"],
        ["autograd", "cpu", "define", "override"],
        ["cpu", "define", "override", "autograd"],
    ):
        assert tables(order) == wanted


def test_kernels_for_all_operators_come_and_go(registry, library, asked):
    registry.get("demo::g")
    lazily = Library("demo", "IMPL", registry=registry)
    lazily.impl_lazily(lambda name: (lambda x: f"tracer {name}") if name != "f" else None, "Tracer")
    assert asked == ["g"]
    with dc.include_keys("Tracer"):
        assert registry.dispatch("demo::f.int", 3) == "tracer f.int"
        assert registry.dispatch("demo::g", 3) == "tracer g"
    assert registry.get("demo::f").newest(DispatchKey.Tracer) is None
    lazily.close()
    with dc.include_keys("Tracer"):
        assert registry.dispatch("demo::f.int", 3) == "composite f.int"
        assert registry.dispatch("demo::g", 3) == "composite g"
    with pytest.raises(dc.RegistrationError, match="needs a dispatch key"):
        Library("demo", "IMPL", registry=registry).impl_lazily(lambda name: None)


def test_an_operator_that_gives_way_does_so_from_its_definition_on(registry):
    def load(name):
        if name == "twice.Scalar":
            way = ("twice.Tensor", lambda x: f"by tensor: {registry.redispatch('demo::twice.Tensor', 'CPU', x)}", False)
            return LazyDefinition("twice.Scalar(int x) -> str", give_way=way)
        return LazyDefinition("twice.Tensor(int x) -> str")

    library = Library("demo", "DEF", registry=registry)
    with registry.transaction(level="backend"):
        library.define_lazily(["twice.Tensor", "twice.Scalar"], load)
        Library("demo", "IMPL", "CPU", registry=registry).impl("twice.Scalar", lambda x: "own")
    assert registry.redispatch("demo::twice.Scalar", "CPU", 3) == "own"
    Library("demo", "IMPL", "CPU", registry=registry).impl("twice.Tensor", lambda x: "program")
    assert registry.redispatch("demo::twice.Scalar", "CPU", 3) == "by tensor: program"
    library.close()
    assert registry.offers == {}


def test_threads_define_an_operator_once(registry):
    names = [f"op{number}" for number in range(50)]

    def load(name):
        time.sleep(0.0001)
        return LazyDefinition(f"{name}(int x) -> int", kernels={"CompositeImplicitAutograd": lambda x: x + 1})

    library = Library("demo", "DEF", registry=registry)
    library.define_lazily(names, load)
    found, errors = [], []

    def work():
        try:
            ops = [getattr(registry.ops.demo, name).default for name in names]
            found.append(ops)
            assert [op(1) for op in ops] == [2] * len(names)
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(each is first for ops in found for each, first in zip(ops, found[0], strict=True))


def test_everything_that_reads_more_than_names_defines_what_it_reads(registry, library, asked):
    Library("demo", "IMPL", "CPU", registry=registry).impl("g", lambda x: "cpu")
    with pytest.raises(dc.SchemaError):
        list(registry)
    library.close()
    other = Library("demo", "FRAGMENT", registry=registry)
    other.define_lazily(["f", "g2"], lambda name: LazyDefinition(f"{name}(int x) -> str"))
    assert sorted(registry.entries) == ["demo::f", "demo::g", "demo::g2"] == sorted(registry.packets)
    assert registry.kernel_count() == 1


@pytest.mark.parametrize("level", ["backend", "program"])
@pytest.mark.parametrize("way", ["impl", "impl_lazily", "fallback"])
def test_a_short_way_defines_no_parts_and_sees_what_is_registered_for_them(registry, toy, asked, level, way):
    texts = {"whole": "whole(Tensor x) -> str", "part": "part(Tensor x) -> str"}

    def usual(x):
        return registry.ops.demo.part(x)

    def load(name):
        asked.append(name)
        return LazyDefinition(texts[name], (), {"CompositeImplicitAutograd": usual} if name == "whole" else {})

    with registry.transaction(level="backend"):
        library = Library("demo", "DEF", registry=registry)
        library.define_lazily(texts, load)
        if way == "impl":
            library.impl("part", lambda x: "usual", toy.key)
        library.short_way("whole", lambda x: "short", toy.key, parts=("part",))
    whole, x = registry.ops.demo.whole, toy.array([1])
    assert whole(x) == "short"
    assert asked == ["whole"]
    with registry.transaction(level=level):
        later = Library("demo" if way != "fallback" else "_", "IMPL", registry=registry)
        if way == "impl":
            later.impl("part", lambda x: "later", toy.key, allow_override=True)
        elif way == "impl_lazily":
            later.impl_lazily(lambda name: (lambda x: "later") if name == "part" else None, toy.key)
        else:
            later.fallback(lambda op, x: "later", toy.key)
    assert whole(x) == "later"
    later.close()
    assert whole(x) == "short"


@pytest.mark.parametrize("is_known", [False, True])
def test_a_part_of_a_short_way_stands_for_the_operator_it_gives_way_to(registry, toy, asked, is_known):
    texts = {name: f"{name}(Tensor x) -> str" for name in ("whole", "part", "general", "other")}

    def usual(x):
        return registry.ops.demo.part(x)

    def general(x):
        return registry.ops.demo.general(x)

    def load(name):
        asked.append(name)
        way = ("general", general, False) if name == "part" else None
        kernels = {"CompositeImplicitAutograd": usual} if name == "whole" else {}
        return LazyDefinition(texts[name], (), kernels, way)

    with registry.transaction(level="backend"):
        library = Library("demo", "DEF", registry=registry)
        library.define_lazily(texts, load)
        for name in ("part", "general"):
            library.impl(name, lambda x: "usual", toy.key)
        library.short_way("whole", lambda x: "short", toy.key, parts=("part",))
    whole, x = registry.ops.demo.whole, toy.array([1])
    if is_known:
        Library("demo", "IMPL", registry=registry).impl("other", lambda x: "other", toy.key)
    assert whole(x) == "short"
    assert asked == (["whole", "part", "general"] if is_known else ["whole"])
    with Library("demo", "IMPL", registry=registry) as later:
        later.impl("general", lambda x: "later", toy.key, allow_override=True)
        assert whole(x) == "later"
    assert whole(x) == "short"
