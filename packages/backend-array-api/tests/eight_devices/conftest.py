"""Meshes of eight devices; without these the tests are skipped, and ``test_eight_devices`` runs them in a child."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from torchlike.distributed.tensor import init_device_mesh


def pytest_collection_modifyitems(items):
    if jax.device_count() != 8:
        for each in items:
            if not each.path.is_relative_to(Path(__file__).parent):
                continue  # the hook gets the tests of other folders, too
            each.add_marker(pytest.mark.skip(reason="the process has not eight devices of JAX; a child has"))


@pytest.fixture(scope="session")
def line():
    return init_device_mesh("jax", (8,))


@pytest.fixture(scope="session")
def grid():
    return init_device_mesh("jax", (2, 4), mesh_dim_names=("data", "model"))
