"""The installed plugins, and their faults, before any of their code is imported."""

import pytest

from dispatch_core.errors import BackendError
from dispatch_core.plugins.array_types import ArrayTypeOwners
from dispatch_core.plugins.catalog import Catalog
from dispatch_core.plugins.settings import Settings
from dispatch_core.surroundings import distributions
from dispatch_core.surroundings.distributions import ARRAY_TYPES, BACKENDS, OPERATORS, Claim, Distribution, Scan


def claim(name, distribution, value="plugin", *, group=BACKENDS, version="1.0", requires=()):
    return Claim(group, name, value, Distribution(distribution, version, tuple(requires)))


def catalog(*claims, core="0.1.0"):
    return Catalog(Scan(claims), core)


def refusal(claim, **options):
    (verdict,) = catalog(claim, **options).verdicts(claim.group, claim.name)
    return verdict.refusal


def test_a_scan_finds_the_entry_points_with_their_distributions(install, monkeypatch):
    site = install("acme-dispatch", "2.1", backends={"acme": "acme.plugin"}, requires=["dispatch-core>=0.1", "numpy"])
    monkeypatch.syspath_prepend(site)
    (found,) = [claim for claim in distributions.scan().claims if claim.name == "acme"]
    assert (found.group, found.value) == (BACKENDS, "acme.plugin")
    assert (found.distribution.name, found.distribution.version) == ("acme-dispatch", "2.1")
    assert found.distribution.requires == ("dispatch-core>=0.1", "numpy")


def test_a_scan_imports_no_plugin(install, monkeypatch, run_python):
    site = install("acme", backends={"acme": "acme_plugin"}, modules={"acme_plugin": "raise SystemExit(9)"})
    code = "import dispatch_core as dc; print(dc.backends()['acme'])"
    done = run_python("-c", code, site=[site])
    assert done.stdout.strip() == "installed, acme 1.0"


def test_one_distribution_on_two_entries_of_the_path_is_one_claim(install, monkeypatch, tmp_path):
    site = install("acme", backends={"acme": "acme.plugin"})
    (tmp_path / "lib64").symlink_to(site, target_is_directory=True)
    monkeypatch.syspath_prepend(tmp_path / "lib64")
    monkeypatch.syspath_prepend(site)
    assert len([claim for claim in distributions.scan().claims if claim.name == "acme"]) == 1


def test_the_first_of_two_installations_of_a_distribution_speaks_for_it(install, monkeypatch):
    old = install("acme", "1.0", backends={"acme": "old"}, to="old")
    new = install("Acme", "2.0", backends={"acme": "new"}, to="new")
    monkeypatch.syspath_prepend(old)
    monkeypatch.syspath_prepend(new)
    assert [claim.value for claim in distributions.scan().claims if claim.name == "acme"] == ["new"]


def test_an_unreadable_distribution_is_reported_and_hides_no_other(install, monkeypatch):
    site = install("acme", backends={"acme": "acme.plugin"})
    broken = install("broken", backends={"broken": "x"}) / "broken-1.0.dist-info"
    (broken / "METADATA").write_text("Metadata-Version: 2.1\n")
    monkeypatch.syspath_prepend(site)
    scan = distributions.scan()
    assert "acme" in [claim.name for claim in scan.claims]
    assert scan.problems == (f"{broken} cannot be read: ValueError: its metadata has no name or no version",)


@pytest.mark.parametrize("name", ["cpu", "meta", "npu"])
def test_a_foreign_claim_to_an_own_device_is_refused_and_ours_goes_on(name):
    ours, foreign = claim(name, f"dispatch-backend-{name}"), claim(name, "evil")
    found = catalog(foreign, ours)
    assert found.usable(BACKENDS, name) is ours
    assert [(verdict.claim, verdict.refusal) for verdict in found.verdicts(BACKENDS, name)] == [
        (ours, ""),
        (foreign, f"the device {name!r} belongs to dispatch-backend-{name}"),
    ]


def test_own_distributions_are_known_by_their_normalized_name():
    assert refusal(claim("cpu", "Dispatch_Backend.CPU")) == ""


def test_a_foreign_operator_library_for_aten_is_refused():
    assert refusal(claim("aten", "evil", group=OPERATORS)) == (
        "the operator namespace 'aten' belongs to dispatch-operators-aten"
    )


def test_two_distributions_that_claim_one_name_are_both_refused_by_name_and_version():
    first, second = claim("acme", "acme-one", "one", version="1.0"), claim("acme", "acme-two", "two", version="2.0")
    expected = "the name is claimed more than once: by 'acme = one' of acme-one 1.0 and 'acme = two' of acme-two 2.0"
    found = catalog(first, second)
    assert [verdict.refusal for verdict in found.verdicts(BACKENDS, "acme")] == [expected, expected]
    assert found.usable(BACKENDS, "acme") is None


@pytest.mark.parametrize("name", ["ac me", "acme:0", "9acme", "äcme", "a-b", "a.b"])
def test_a_name_with_odd_characters_is_refused(name):
    assert refusal(claim(name, "odd")) == f"the name {name!r} has characters that no device may have"


def test_a_value_that_refers_to_nothing_is_refused():
    assert refusal(claim("acme", "odd", "not a module")) == "the value 'not a module' refers to no object"


@pytest.mark.parametrize(
    "requirement",
    [
        "dispatch-core",
        "dispatch-core>=0.1",
        "dispatch_core<1",
        "dispatch-core>=9; python_version < '3'",
        "dispatch-core>=9; extra == 'new'",
        "numpy>=99",
    ],
)
def test_a_requirement_that_the_core_meets_is_no_hindrance(requirement):
    assert refusal(claim("acme", "acme", requires=[requirement])) == ""


def test_a_prerelease_of_the_core_counts_as_a_version():
    assert refusal(claim("acme", "acme", requires=["dispatch-core>=0.1"]), core="0.2.dev1") == ""


@pytest.mark.parametrize("requirement", ["dispatch-core>=9", "Dispatch.Core[extra]>=9; python_version > '3'"])
def test_a_plugin_for_another_core_is_refused_with_the_version_wanted(requirement):
    assert refusal(claim("acme", "acme", requires=[requirement])) == (
        "it requires dispatch-core>=9, and dispatch-core 0.1.0 is installed"
    )


def test_a_requirement_that_cannot_be_read_is_refused():
    assert refusal(claim("acme", "acme", requires=["dispatch-core >>> 1"])) == (
        "its requirement 'dispatch-core >>> 1' cannot be read"
    )


class Array:
    pass


class Subclass(Array):
    pass


HERE = f"{Array.__module__}.Array"


def owner(cls, *claims):
    return ArrayTypeOwners(catalog(*claims)).find(cls)


@pytest.mark.parametrize("value", ["acme", "acme.plugin"])
@pytest.mark.parametrize("name", [HERE, Array.__module__.partition(".")[0]])
@pytest.mark.parametrize("cls", [Array, Subclass])
def test_an_array_type_is_found_by_its_name_or_root_package_along_the_mro(cls, name, value):
    assert owner(cls, claim("acme", "acme", "acme.plugin"), claim(name, "acme", value, group=ARRAY_TYPES)) == "acme"


def test_a_qualified_name_goes_before_a_root_package():
    claims = [claim("rooted", "a"), claim("named", "b")]
    root = claim(HERE.partition(".")[0], "a", "rooted", group=ARRAY_TYPES)
    assert owner(Subclass, *claims, root, claim(HERE, "b", "named", group=ARRAY_TYPES)) == "named"


def test_a_type_that_nobody_claims_has_no_owner():
    assert owner(Array, claim("acme", "acme")) is None


def test_a_distribution_claims_types_for_its_own_devices_only():
    assert owner(Array, claim("acme", "acme"), claim(HERE, "evil", "acme", group=ARRAY_TYPES)) is None


def test_an_own_device_is_not_contested():
    ours = claim("cpu", "dispatch-backend-cpu"), claim(HERE, "dispatch-backend-cpu", "cpu", group=ARRAY_TYPES)
    evil = claim("evil", "evil"), claim(HERE, "evil", "evil", group=ARRAY_TYPES)
    assert owner(Array, *evil, *ours) == "cpu"


def test_two_devices_that_claim_one_type_are_an_error_that_names_both():
    claims = [claim(name, name, group=BACKENDS) for name in ("a", "b")]
    claims += [claim(HERE, name, name, group=ARRAY_TYPES) for name in ("a", "b")]
    with pytest.raises(BackendError) as caught:
        owner(Array, *claims)
    assert str(caught.value) == (
        f"The array type {HERE!r} is claimed by 2 devices\n"
        f"  a: '{HERE} = a' of a 1.0\n  b: '{HERE} = b' of b 1.0\n"
        "Hint: uninstall all but one of a and b"
    )


def test_what_is_required_of_this_project_and_absent_is_told():
    requires = [
        "dispatch-core>=0.1",
        "dispatch_operators.aten",
        "dispatch-backend-cpu>=0.1; python_version>='3'",
        "dispatch-backend-meta; extra=='test'",
        "dispatch-backend-npu; python_version<'3'",
        "dispatch-frontend-torchlike>=",
        "numpy",
    ]
    acme = claim("acme", "acme", requires=requires)
    assert Catalog(Scan((acme,)), "0.1.0").absent(acme.distribution) == [
        "dispatch-operators-aten",
        "dispatch-backend-cpu",
    ]
    installed = {"dispatch-operators-aten": "0.1.0", "dispatch-backend-cpu": "0.1.0"}
    assert Catalog(Scan((acme,), versions=installed), "0.1.0").absent(acme.distribution) == []


def test_a_requirement_on_any_of_this_project_is_compared_with_what_is_installed():
    acme = claim("acme", "acme", requires=["dispatch-operators-aten>=7"])
    (verdict,) = Catalog(Scan((acme,), versions={"dispatch-operators-aten": "0.1.0"}), "0.1.0").verdicts(
        BACKENDS, "acme"
    )
    assert verdict.refusal == "it requires dispatch-operators-aten>=7, and dispatch-operators-aten 0.1.0 is installed"
    assert verdict.hint == "install versions that fit: pip install --upgrade acme dispatch-operators-aten"
    assert refusal(acme) == ""


BRIDGE = "dispatch-backend-array-api"


def test_the_bridge_gives_way_to_another_distributions_device():
    ours, theirs = claim("jax", BRIDGE), claim("jax", "acme-jax")
    found = catalog(ours, theirs)
    assert found.usable(BACKENDS, "jax") is theirs
    assert [(verdict.claim, verdict.state) for verdict in found.verdicts(BACKENDS, "jax")][1] == (ours, "outranked")
    assert found.verdicts(BACKENDS, "jax")[1].refusal == "acme-jax 1.0 offers the device too, and goes first"
    assert catalog(ours).usable(BACKENDS, "jax") is ours


@pytest.mark.parametrize(("first", "second"), [(BRIDGE, "acme-jax"), ("acme-jax", "other-jax")])
@pytest.mark.parametrize("chosen", [0, 1])
def test_the_user_chooses_among_distributions_that_offer_one_device(first, second, chosen):
    claims = claim("jax", first), claim("jax", second)
    settings = Settings.from_environment({"DISPATCH_BACKENDS": f"cpu, jax = {claims[chosen].distribution.name}"})
    assert settings.allow == ("cpu", "jax")
    assert Catalog(Scan(claims), "0.1.0", settings.chosen).usable(BACKENDS, "jax") is claims[chosen]


def test_all_libraries_of_an_extra_are_named():
    requires = ["acme-lib; extra == 'acme'", "acme-files; extra == 'acme'"]
    device = claim("acme", "acme-dispatch", requires=requires)
    array_type = claim("no_such_library_here.Array", "acme-dispatch", "acme", group=ARRAY_TYPES, requires=requires)
    (verdict,) = catalog(device, array_type).verdicts(BACKENDS, "acme")
    assert verdict.refusal.startswith("it needs acme-lib and acme-files, which are not installed: pip install ")


@pytest.mark.parametrize(("module", "state"), [("no_such_library_here", "absent"), ("json", None)])
def test_a_device_named_as_an_extra_claims_nothing_where_its_library_is_not_installed(module, state):
    requires = ["acme-lib>=2; extra == 'acme'"]
    device = claim("acme", "acme-dispatch", requires=requires)
    array_type = claim(f"{module}.Array", "acme-dispatch", "acme", group=ARRAY_TYPES, requires=requires)
    found = catalog(device, array_type)
    (verdict,) = found.verdicts(BACKENDS, "acme")
    if state is None:
        assert verdict.refusal == ""
        return
    assert (verdict.state, verdict.hint) == (state, 'pip install "acme-dispatch[acme]"')
    assert verdict.refusal == 'it needs acme-lib, which is not installed: pip install "acme-dispatch[acme]"'
    rival = claim("acme", "other")
    assert catalog(device, array_type, rival).usable(BACKENDS, "acme") is rival
