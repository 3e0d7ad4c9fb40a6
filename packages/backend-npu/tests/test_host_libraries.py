"""Linear algebra and Fourier transforms on the device: the factors come from the host, the rest is composed of them."""

import numpy as np
import pytest

import torchlike

pytestmark = [pytest.mark.usefixtures("npu"), pytest.mark.of_functions]


def test_factors_come_from_the_host_and_products_from_the_device(host_calls):
    a = torchlike.tensor([[4.0, 1.0], [1.0, 3.0]]).to("npu").requires_grad_()
    host_calls()
    found = torchlike.linalg.solve(a, a)
    assert found.device.type == "npu"
    np.testing.assert_allclose(found.detach().cpu().numpy(), np.eye(2), atol=1e-6)
    torchlike.linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.cpu().numpy(), [[3.0, -1.0], [-1.0, 4.0]], atol=1e-5)
    np.testing.assert_allclose(
        (torchlike.linalg.cholesky(a) @ torchlike.linalg.cholesky(a).mT - a).detach().cpu().numpy(), 0, atol=1e-6
    )
    assert {
        "aten::linalg_lu_factor_ex",
        "aten::linalg_solve_triangular",
        "aten::linalg_cholesky_ex",
    } <= host_calls().keys()


def test_transforms_come_from_the_host(host_calls):
    signal = torchlike.tensor([1.0, 2.0, 3.0, 4.0]).to("npu")
    np.testing.assert_allclose(torchlike.fft.irfft(torchlike.fft.rfft(signal)).cpu().numpy(), [1, 2, 3, 4], atol=1e-6)
    assert {"aten::_fft_r2c", "aten::_fft_c2r"} <= host_calls().keys()
