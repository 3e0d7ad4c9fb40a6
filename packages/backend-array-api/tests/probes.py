"""Expressions of every kind, computed on a device and compared with the cpu's values, dtypes and gradients."""

import re
import warnings

import numpy as np

import torchlike as t
from torchlike.nn import functional as F

#: Each is evaluated with the tensors of `operands`, ``t`` and ``F``; several statements end with the result.
PROBES = """
a + b * 2 - 1 ; a / b ; a / 3 ; 2 - a ; n / 2 ; n // 3 ; n % 3 ; a % 0.7 ; t.fmod(a, 0.3) ; -a ; a ** 2 ; b ** a
b ** 0.5 ; a.abs() ; a.exp() ; b.log() ; b.sqrt() ; b.rsqrt() ; a.sin() ; a.tanh() ; a.sigmoid() ; a.erf() ; b.log1p()
a.expm1() ; a.sign() ; a.floor() ; (a * 3).round() ; a.trunc() ; a.frac() ; t.atan2(a, b) ; t.hypot(a, b)
t.lerp(a, b, 0.3) ; t.addcmul(a, b, b, value=2) ; a.clamp(-0.5, 0.5) ; a.clamp_min(0) ; t.maximum(a, b)
t.minimum(a, 0 * b) ; a.relu() ; F.gelu(a) ; F.silu(a) ; F.softplus(a) ; F.leaky_relu(a) ; F.elu(a) ; F.hardswish(a)
F.logsigmoid(a) ; t.where(a > 0, a, b) ; t.where(q, a, 0.5) ; a.masked_fill(q, -1) ; a > b ; a <= 0.1 ; n == 2
n != m ; q & (a > 0) ; q | q.logical_not() ; ~q ; n ^ m ; n << 1 ; u + u ; u * 2 ; u - 200 ; q + q ; q * n ; a + n
n + 2.5 ; u + n ; q + 1 ; a.double() + b ; a + t.tensor(2.0, dtype=t.float64) ; n * t.tensor(1.5) ; h.float()
a.to(t.int32) ; (a * 100).to(t.int64).to(t.float32) ; a.bool() ; (a * 5).to(t.int8) ; n.to(t.uint8) ; h + 1
(h * 2).sum() ; h @ h.T ; a.sum() ; a.sum(0) ; a.sum((0, 1), keepdim=True) ; n.sum() ; q.sum() ; u.sum() ; a.mean()
a.mean(1, keepdim=True) ; a.var() ; a.std(0) ; a.prod() ; b.prod(1) ; a.amax(0) ; a.amin() ; a.max() ; a.max(1).values
a.max(1).indices ; a.argmax() ; a.argmin(0) ; a.norm() ; a.logsumexp(1) ; q.any() ; q.all(0) ; a.median()
a.cumsum(0) ; a.cumprod(1) ; n.cumsum(1) ; a.cummax(0).values ; a.diff() ; t.var_mean(a, 0)[1] ; a.count_nonzero()
a.nansum() ; n.max(0).values ; a.aminmax().min ; a.flip(0) ; a.roll(1, 1) ; a.sort(1).values
a.sort(0, descending=True).indices ; a.argsort(1) ; a.topk(2).values ; n.sort(1).values ; q.sort(1).values
a.kthvalue(2, 1).values ; n.unique() ; n.flatten().bincount() ; t.searchsorted(a.sort(1).values, b) ; a.msort()
t.isin(n, m) ; a.T ; a[1] ; a[:, 1:3] ; a[::2, ::3] ; a[-1, -2] ; a[None] ; a[..., 0] ; a.view(2, 6) ; a.reshape(-1)
a.permute(1, 0) ; a.unsqueeze(1) ; a[:1].squeeze(0) ; a.expand(2, 3, 4) ; a.diagonal() ; a.unfold(1, 2, 1)
a.narrow(1, 1, 2) ; a.unbind(1)[2] ; a.split(2, 1)[1] ; a.chunk(2)[0] ; a.movedim(0, 1) ; a.swapaxes(0, 1)
a.flatten() ; a.T.reshape(2, 6) ; a.T.contiguous() ; t.atleast_3d(a) ; a.repeat(2, 1) ; a.tile(2) ; t.cat([a, b])
t.stack([a, b], 1) ; t.cat([a, n]) ; t.meshgrid(a[0], b[:, 0])[0] ; a.tril() ; a.triu(1) ; t.tril(a, -1)
a.repeat_interleave(2, 1) ; t.block_diag(a, b) ; F.pad(a, (1, 2)) ; F.pad(a[None], (1, 1), mode="reflect") ; a[i]
a[:, j] ; a[i, j[:2]] ; a[q] ; a[a > 0.2] ; a[i[:, None], j] ; a[i, 1:] ; a[:, j, None] ; a.index_select(1, i)
a.gather(1, n % 4) ; a.take(n) ; t.take_along_dim(a, n % 4, 1) ; a.scatter(1, n % 4, b) ; a.scatter_add(1, n % 4, b)
a.index_add(0, i, b[:2]) ; a.index_copy(1, j, b[:, :3]) ; a.index_fill(0, i, 7) ; a.masked_select(q) ; q.nonzero()
a.scatter_reduce(1, n % 4, b, "amax") ; a.index_put((i,), b[:2]) ; a.index_put((i,), b[:2], accumulate=True)
a.masked_scatter(q, b) ; F.one_hot(n, 12) ; x = a.clone(); x[0] = 9; x[:, 1] += b[:, 0]; x
x = a.clone(); x[q] = 0; x ; x = a.clone(); x.T[1].mul_(3); x ; x = a.clone(); x[i] = b[:2]; x
x = a.clone(); x[1:, ::2] = b[:2, :2]; x ; x = a * 1; x.add_(b).mul_(2); x
x = a.clone(); x.view(-1)[::3].fill_(5); x ; x = a.clone(); x.diagonal().zero_(); x
x = a * 1; x.fill_diagonal_(2); x ; x = a.clone(); y = x.view(4, 3); x[0].zero_(); y * 2
x = a.clone(); x.index_add_(0, i, b[:2]); x ; x = a.clone(); x.clamp_(max=0); x
x = a.clone(); x.unsqueeze(0).expand(1, 3, 4)[0, 1].copy_(b[2]); x ; x = a.clone(); x.copy_(n); x
x = n.clone(); x[0, 0] = 77; x.T.sum(0) ; a @ b.T ; a.mm(v.expand(5, 4).T) ; a.mv(v) ; v.dot(v)
t.bmm(a[None], b.T[None]) ; t.matmul(w[0], w[1].transpose(1, 2)) ; t.einsum("ij,kj->ik", a, b)
t.addmm(a[:, :3], a, b.T) ; F.linear(a, b, v[:3]) ; t.outer(v, v) ; t.baddbmm(a[None, :, :3], a[None], b.T[None])
t.linalg.det(s) ; t.linalg.inv(s) ; t.linalg.solve(s, s[0]) ; t.linalg.norm(a)
t.linalg.cholesky(s @ s.T + t.eye(3, device=s.device)) ; t.linalg.svdvals(a) ; t.linalg.eigvalsh(s + s.T)
t.linalg.matrix_exp(s * 0.1) ; t.trace(s) ; t.kron(s, s) ; t.cross(s, s.flip(0), dim=1) ; F.conv2d(g, w)
F.conv2d(g, w, stride=2, padding=1) ; F.conv1d(g[0, :, 0][None], w[:, :, 0]) ; F.conv_transpose2d(F.conv2d(g, w), w)
F.max_pool2d(g, 2) ; F.avg_pool2d(g, 2) ; F.adaptive_avg_pool2d(g, 2) ; F.interpolate(g, scale_factor=2)
F.unfold(g, 3).sum(1) ; F.layer_norm(a, (4,)) ; F.group_norm(g, 3) ; F.batch_norm(a, None, None, training=True)
F.instance_norm(g) ; F.normalize(a) ; F.rms_norm(a, (4,)) ; F.softmax(a, 1) ; F.log_softmax(a, 0)
F.cross_entropy(a, n[:, 0] % 4) ; F.nll_loss(F.log_softmax(a, 1), n[:, 0] % 4) ; F.mse_loss(a, b)
F.binary_cross_entropy_with_logits(a, q.float()) ; F.l1_loss(a, b) ; F.smooth_l1_loss(a, b) ; F.huber_loss(a, b)
F.kl_div(a, b) ; F.binary_cross_entropy(a.sigmoid(), q.float()) ; F.cosine_similarity(a, b) ; F.embedding(n % 3, a)
F.triplet_margin_loss(a, b, a * b) ; F.scaled_dot_product_attention(a[None], b[None], b[None])
F.multi_margin_loss(a, n[:, 0] % 4) ; F.glu(a) ; F.pairwise_distance(a, b) ; t.zeros(2, 3, device=d)
t.ones(2, dtype=t.int64, device=d) ; t.full((2,), 3.5, device=d) ; t.arange(2, 9, 3, device=d) ; t.eye(3, device=d)
t.linspace(0, 1, 5, device=d) ; t.full((2,), -1, dtype=t.uint8, device=d) ; t.tensor([[1, 2], [3, 4]], device=d)
a.new_zeros(2) ; t.zeros_like(n) ; t.full_like(a, 2) ; t.empty(0, 3, device=d).sum(1) ; t.zeros(0, device=d).sum()
t.tensor(3.0, device=d) * 2 ; t.cat([a[:0], a]) ; a[:0].amax(1) ; t.tensor(5, device=d) // 2
t.tensor(True, device=d) & False ; a.sum().reshape(1, 1) ; t.tensor(2.0, device=d).cumsum(0)
t.tensor(1.0, device=d).sort().values ; e.isnan() ; e.max() ; e.sum() ; e.sort().values ; e.nan_to_num() ; e > 0
e.argmax() ; t.maximum(e, e.flip(0)) ; e.clamp(-1, 1) ; e.isinf() ; e.sort(descending=True).indices
t.manual_seed(3); t.rand(3, device=d) ; t.manual_seed(3); t.randn(2, 2, device=d)
t.manual_seed(3); F.dropout(a, 0.5) ; t.manual_seed(1); t.randint(0, 9, (4,), device=d)
t.manual_seed(3); a.bernoulli(0.5) < 2 ; t.manual_seed(2); t.multinomial(b, 2) ; t.randperm(5, device=d).sort().values
c * c ; c.abs() ; c.real + c.imag ; c.conj() @ c.T ; t.fft.fft(a) ; t.fft.rfft(a).abs() ; t.fft.ifft(c)
t.view_as_real(c) ; a.to(t.complex64) * 1j ; t.polar(b, a) ; c.sum() ; t.fft.irfft(c)
"""


def probes():
    """Return each probe once."""
    found = [probe.strip() for line in PROBES.strip().splitlines() for probe in line.split(" ; ")]
    return list(dict.fromkeys(found))


def operands(device, *, grad):
    """Return the tensors that the probes compute with, the same numbers for every device."""
    draw = np.random.default_rng(0)

    def floats(*shape, low=-1.0, high=1.0):
        return t.tensor(draw.uniform(low, high, shape).astype(np.float32), device=device)

    values = {
        "a": floats(3, 4),
        "b": floats(3, 4, low=0.1, high=2.0),
        "v": floats(4),
        "s": floats(3, 3),
        "g": floats(2, 3, 6, 6),
        "w": floats(4, 3, 3, 3),
    }
    for tensor in values.values() if grad else ():
        tensor.requires_grad_()
    values |= {
        "n": t.tensor(draw.integers(0, 12, (3, 4)), device=device),
        "m": t.tensor(draw.integers(0, 4, (3, 4)), device=device),
        "u": t.tensor(draw.integers(0, 255, (3, 4)).astype(np.uint8), device=device),
        "q": t.tensor(draw.integers(0, 2, (3, 4)).astype(bool), device=device),
        "c": t.tensor(draw.uniform(-1, 1, (3, 4, 2)).astype(np.float32).view(np.complex64)[..., 0], device=device),
        "i": t.tensor([2, 0], device=device),
        "j": t.tensor([1, 3, -4] if not grad else [1, 3, 0], device=device),
        "e": t.tensor([1.0, float("nan"), -float("inf"), 3.0], device=device),
    }
    return values


def _evaluate(probe, values, device):
    *statements, last = probe.split("; ")
    scope = {"t": t, "F": F, "d": device, **values}
    if re.search(r"\bh\b", probe):  # not every library has the dtype
        scope["h"] = values["b"].half()
    exec("\n".join(statements), scope)
    return eval(last, scope)


def outcome(probe, device, *, pipeline=False, grad=False):
    """Return the result of a probe and the gradients as NumPy arrays, or the error's type."""
    values = operands(device, grad=grad)

    def compute():
        result = _evaluate(probe, values, device)
        if grad:
            if not result.requires_grad:
                return []
            weights = t.arange(1.0, result.numel() + 1, device=device).reshape(result.shape)
            (result * weights).sum().abs().backward()
            return [tensor.grad for tensor in values.values() if tensor.grad is not None]
        return [result]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if pipeline:
            with t.pipeline():
                found = compute()
        else:
            found = compute()
    assert all(each.device.type == device for each in found)
    return [each.detach().resolve_conj().cpu().numpy() for each in found]
