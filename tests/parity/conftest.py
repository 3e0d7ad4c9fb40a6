"""Shared parts of the comparisons with torch."""

import pytest


@pytest.fixture
def compare():
    """Return the function that holds one call of a cpu kernel against torch."""
    from cpu_cases import compare  # late, as torch need not be there

    return compare
