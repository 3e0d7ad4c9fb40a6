"""Aliases: one device's name is read as another's."""

import pickle

import pytest

from dispatch_core.devices import Device, alias_device, read_alias
from dispatch_core.errors import ArgumentError


@pytest.fixture
def alias():
    """Read ``abacus`` as ``slate`` within a test."""
    before = Device("abacus")
    alias_device("abacus", "slate")
    yield before
    alias_device("abacus", None)


def test_every_spelling_of_the_alias_is_the_device(alias):
    wanted = Device("slate", 1)
    assert Device("abacus", 1) == Device("abacus:1") == Device.parse("abacus:1") == Device(wanted) == wanted
    assert str(Device("abacus")) == "slate" and read_alias("abacus") == "slate" and read_alias("cpu") == "cpu"
    assert pickle.loads(pickle.dumps(Device("abacus:1"))) == wanted


def test_a_device_that_was_made_before_stays_what_it_is(alias):
    assert alias.type == "abacus" and Device.parse(alias) is alias


def test_an_alias_is_taken_back():
    assert Device.parse("abacus:2").type == "abacus"
    alias_device("abacus", "slate")
    assert Device.parse("abacus:2").type == "slate"
    alias_device("abacus", None)
    assert Device.parse("abacus:2").type == "abacus" and read_alias("abacus") == "abacus"
    alias_device("abacus", None)


@pytest.mark.parametrize("pair", [("slate", "cpu"), ("other", "abacus"), ("cpu", "cpu")])
def test_aliases_of_aliases_are_refused(alias, pair):
    with pytest.raises(ArgumentError, match="aliases lead from names of no device to a device\nHint: name the device"):
        alias_device(*pair)
    assert Device("other").type == "other" and Device("slate").type == "slate"
