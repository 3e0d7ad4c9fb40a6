"""Programs of networks and arrays with `vmap`: gradients for each sample, ensembles of models, Jacobians.

A program is a function of the library and of tensors, with the arrays that these are made of.
"""

import numpy as np

_NUMBERS = np.random.default_rng(0)


def floats(*shape, dtype=np.float32):
    """Draw normal values."""
    return _NUMBERS.standard_normal(shape).astype(dtype)


def unit(*shape):
    """Draw values between 0 and 1."""
    return _NUMBERS.random(shape).astype(np.float32)


def places(high, *shape):
    """Draw integers up to ``high``, which is left out."""
    return _NUMBERS.integers(0, high, shape)


def nn(t):
    return t.nn.functional


def per_sample(loss, *, shared=0):
    """Return a program that differentiates a loss of the first arguments, shared by all samples, or else of all."""

    def program(t, *args):
        slopes = t.func.grad(lambda *args: loss(t, *args), tuple(range(len(args))))
        return t.func.vmap(slopes, in_dims=(None,) * shared + (0,) * (len(args) - shared))(*args)

    return program


def by_label(loss, *, shared=0):
    """Do the same by the first argument that is a sample, with targets that have no gradient."""

    def program(t, *args):
        slopes = t.func.grad(lambda *args: loss(t, *args), shared)
        return t.func.vmap(slopes, in_dims=(None,) * shared + (0,) * (len(args) - shared))(*args)

    return program


def over_rows(function, **options):
    """Return a program that maps a function over the first dimension of all its arguments."""
    return lambda t, *args: t.func.vmap(lambda *args: function(t, *args), **options)(*args)


X, IMAGES = floats(3, 4, 5), floats(3, 2, 6, 6)
W, B = floats(4, 2, 3, 3), floats(4)

NETWORKS = {
    "a convolution of each sample": (
        per_sample(lambda t, w, b, x: nn(t).conv2d(x[None], w, b, padding=1).relu().sum(), shared=2),
        (W, B, IMAGES),
    ),
    "groups and strides": (
        per_sample(lambda t, w, b, x: nn(t).conv2d(x[None], w, b, groups=2, stride=2).pow(2).sum(), shared=2),
        (floats(4, 1, 3, 3), B, IMAGES),
    ),
    "an ensemble of convolutions": (
        lambda t, w, b, x: t.func.vmap(t.func.grad(lambda w, b: nn(t).conv2d(x, w, b).tanh().sum(), (0, 1)))(w, b),
        (floats(3, 4, 2, 3, 3), floats(3, 4), IMAGES),
    ),
    "an ensemble of grouped convolutions": (
        lambda t, w, x: t.func.vmap(lambda w: nn(t).conv2d(x, w, groups=2))(w),
        (floats(3, 4, 1, 3, 3), IMAGES),
    ),
    "an ensemble of transposed convolutions": (
        lambda t, w, x: t.func.vmap(t.func.grad(lambda w: nn(t).conv_transpose2d(x, w, stride=2).tanh().sum()))(w),
        (floats(3, 2, 4, 3, 3), IMAGES),
    ),
    "samples without a batch": (
        over_rows(lambda t, x, w: nn(t).conv1d(x, w), in_dims=(0, None)),
        (floats(3, 2, 7), floats(4, 2, 3)),
    ),
    "pooling": (
        per_sample(
            lambda t, x: (
                nn(t).max_pool2d(x, 2).sum()
                + nn(t).avg_pool2d(x, 3).sum()
                + nn(t).adaptive_avg_pool2d(x, (2, 2)).pow(2).sum()
                + nn(t).adaptive_max_pool2d(x, 2).sum()
            )
        ),
        (IMAGES,),
    ),
    "interpolation": (
        per_sample(
            lambda t, x: (
                nn(t).interpolate(x[None], scale_factor=2, mode="bilinear").pow(2).sum()
                + nn(t).interpolate(x[None], size=(3, 3)).sum()
            )
        ),
        (IMAGES,),
    ),
    "padding": (
        per_sample(
            lambda t, x: nn(t).pad(x, (1, 1, 1, 0), mode="reflect").pow(2).sum() + nn(t).pad(x, (1, 2)).pow(3).sum()
        ),
        (IMAGES,),
    ),
    "columns of windows": (
        per_sample(lambda t, x: nn(t).fold(nn(t).unfold(x[None], 2), (6, 6), 2).pow(2).sum()),
        (IMAGES,),
    ),
    "samples of a grid": (
        per_sample(lambda t, x, g: nn(t).grid_sample(x[None], g[None], align_corners=False).pow(2).sum()),
        (IMAGES, floats(3, 3, 3, 2) / 2),
    ),
    "layer norm": (
        per_sample(lambda t, w, b, x: nn(t).layer_norm(x, (5,), w, b).pow(3).sum(), shared=2),
        (floats(5), floats(5), X),
    ),
    "an ensemble of layer norms": (
        per_sample(lambda t, w, b, x: nn(t).layer_norm(x, (5,), w, b).pow(3).sum()),
        (floats(3, 5), floats(3, 5), X),
    ),
    "group norm": (
        per_sample(lambda t, w, b, x: nn(t).group_norm(x, 2, w, b).pow(3).sum(), shared=2),
        (B, floats(4), floats(3, 2, 4, 5)),
    ),
    "an ensemble of group norms": (
        per_sample(lambda t, w, b, x: nn(t).group_norm(x, 2, w, b).pow(3).sum()),
        (floats(3, 4), floats(3, 4), floats(3, 2, 4, 5)),
    ),
    "batch norm by running statistics": (
        per_sample(lambda t, w, b, x: nn(t).batch_norm(x, t.ones(4), t.ones(4) * 2, w, b).pow(3).sum(), shared=2),
        (B, floats(4), floats(3, 2, 4, 5)),
    ),
    "batch norm of each row": (
        per_sample(lambda t, w, b, x: nn(t).batch_norm(x, None, None, w, b, training=True).pow(3).sum()),
        (floats(3, 4), floats(3, 4), floats(3, 2, 4, 5)),
    ),
    "a linear layer": (
        per_sample(lambda t, w, b, x: nn(t).linear(x, w, b).tanh().sum(), shared=2),
        (floats(2, 5), floats(2), X),
    ),
    "an ensemble of linear layers": (
        per_sample(lambda t, w, b, x: nn(t).linear(x, w, b).tanh().sum()),
        (floats(3, 2, 5), floats(3, 2), X),
    ),
    "an embedding": (
        lambda t, w, i: t.func.vmap(
            t.func.grad(lambda w, i: nn(t).embedding(i, w, padding_idx=1).pow(2).sum()), in_dims=(None, 0)
        )(w, i),
        (floats(5, 3), places(5, 3, 2)),
    ),
    "an ensemble of embeddings": (
        lambda t, w, i: t.func.vmap(t.func.grad(lambda w: nn(t).embedding(i, w).pow(2).sum()))(w),
        (floats(3, 5, 3), places(5, 3, 2)),
    ),
    "attention": (
        per_sample(
            lambda t, q, k, v: nn(t).scaled_dot_product_attention(q, k, v, is_causal=True).pow(2).sum(),
        ),
        (floats(3, 2, 4, 5), floats(3, 2, 4, 5), floats(3, 2, 4, 5)),
    ),
    "attention of several heads": (
        lambda t, x, w, o: t.func.vmap(
            lambda x: nn(t).multi_head_attention_forward(
                x, x, x, 4, 2, w, None, None, None, False, 0.0, o, None, training=False
            )
        )(x),
        (floats(3, 5, 2, 4), floats(12, 4), floats(4, 4)),
    ),
    "one class": (by_label(lambda t, x, y: nn(t).cross_entropy(x, y)), (floats(3, 4), places(4, 3))),
    "classes with weights": (
        by_label(lambda t, w, x, y: nn(t).cross_entropy(x, y, weight=w.abs(), label_smoothing=0.1), shared=1),
        (floats(5), X, places(5, 3, 4)),
    ),
    "classes of images": (
        by_label(lambda t, x, y: nn(t).cross_entropy(x, y, ignore_index=1)),
        (floats(3, 2, 5, 4, 4), places(5, 3, 2, 4, 4)),
    ),
    "reductions of a loss": (
        over_rows(lambda t, x, y: [nn(t).cross_entropy(x, y, reduction=each) for each in ("sum", "none", "mean")]),
        (X, places(5, 3, 4)),
    ),
    "a learning rate of gradients": (
        lambda t, w, x, y: t.func.grad(
            lambda w: t.func.vmap(
                lambda x, y: (x @ (w - 0.1 * t.func.grad(lambda w: ((x @ w - y) ** 2).mean())(w)) - y).pow(2).mean()
            )(x, y).mean()
        )(w),
        (floats(4), floats(3, 5, 4), floats(3, 5)),
    ),
} | {
    name: (by_label(lambda t, x, y, name=name: getattr(nn(t), name)(x.sigmoid(), y)), (X, unit(3, 4, 5)))
    for name in (
        "mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss poisson_nll_loss binary_cross_entropy"
        " binary_cross_entropy_with_logits"
    ).split()
}

ACTIVATIONS = (
    "relu gelu silu elu selu celu leaky_relu mish softplus hardtanh hardswish hardsigmoid sigmoid tanh logsigmoid"
    " hardshrink softshrink tanhshrink relu6 softsign"
).split()

NETWORKS["activations"] = (
    lambda t, x: [t.func.vmap(t.func.vmap(t.func.grad(getattr(nn(t), name))))(x) for name in ACTIVATIONS],
    (floats(3, 4),),
)


def _write(t, a, i):
    a = a.clone()
    a[i] = 2.0
    a[:, 1] = a[:, 2]
    a[0] += 1
    return a


def _change(t, a):
    changed = a.clone().add_(1).mul_(a).clamp_(-1, 1).masked_fill_(a > 0, 2.0)
    return changed.t_().unsqueeze_(0).copy_(a.t()).sub_(a.sum())


#: Rows of many results would take a page each.
# fmt: off
ARRAYS = {
    "arithmetic of numbers of each row": (
        over_rows(lambda t, a, b: (a + b, b * a, a / 2, a * t.ones(3), t.where(a > 0, a, b))),
        (floats(3, dtype=np.float64), floats(3)),
    ),
    "integers of each row": (
        over_rows(lambda t, a: (a + 2.5, a * t.ones(2, dtype=t.int32), a // 2, a % 2, a**2, a / 2, a.float().mean())),
        (places(5, 3),),
    ),
    "other dimensions in and out": (
        over_rows(lambda t, a, b: a * b.sum() + a.mean(-1, keepdim=True), in_dims=(2, 1), out_dims=1),
        (X, floats(2, 5)),
    ),
    "writes in place": (over_rows(_change), (X,)),
    "writes by index": (over_rows(_write), (X, places(4, 3, 2))),
    "reads by index": (
        over_rows(lambda t, a, i: (a[i], a[:, i], a[i][..., None], a[i, i], a[0, i], a[..., -1], a[None, i, 1:3])),
        (X, places(4, 3, 2)),
    ),
    "gathers and scatters": (
        over_rows(
            lambda t, a, i: (
                a.gather(0, i), t.take_along_dim(a, i, 0), a.scatter(0, i, 1.0), a.scatter_add(0, i, a), a.take(i),
                a.index_select(0, i[0]), t.index_add(a, 1, i[0], a), a.scatter_reduce(0, i, a, "amax"),
                a.index_fill(0, i[0], 3.0),
            )
        ),
        (floats(3, 5, 5), places(5, 3, 5, 5)),
    ),
    "sorts and searches": (
        over_rows(
            lambda t, a: (
                a.sort(0), a.topk(2), a.argsort(1, descending=True), a.kthvalue(2), a.median(0), a.mode(0), a.argmax(),
                a.cummax(1), a.argmax(0, keepdim=True), a.flip(0), a.roll(1, 0), a.roll(3), a.msort(),
                t.searchsorted(a.sort(1)[0], a), t.bucketize(a, t.tensor([-1.0, 0.0, 1.0])), t.isin(a, a[0]),
            )
        ),
        (X,),
    ),
    "reductions": (
        over_rows(
            lambda t, a: (
                a.sum(), a.sum(0), a.mean((0, 1)), a.std(), a.var(1, keepdim=True), t.var_mean(a, 0), a.prod(1), a.any(),
                a.amax((0, 1)), a.all(0), a.norm(), a.norm(1, dim=0), a.max(), a.max(1), a.min(0, keepdim=True),
                t.aminmax(a), a.nansum(), a.count_nonzero(), a.logcumsumexp(0), t.logsumexp(a, (0, 1)), a.trace(),
                t.quantile(a, 0.3), t.nanmedian(a), a.cumprod(1), t.diff(a), t.trapz(a), a.softmax(0),
            )
        ),
        (X,),
    ),
    "views and copies": (
        over_rows(
            lambda t, a: (
                a.view(-1), a.reshape(2, 10), a.permute(1, 0), a.T, a.unsqueeze(0), a[None].squeeze(0), a.expand(2, 4, 5),
                a.split(2), a.chunk(2, 1), a.unbind(1), t.diagonal(a), a.unfold(1, 2, 2), a.movedim(0, 1), a.flatten(),
                a.narrow(1, 0, 2), a.repeat(2, 1), a.tile(2), t.atleast_3d(a), t.tril(a), t.triu(a, 1), t.diag_embed(a),
                t.rot90(a), a.unflatten(1, (5, 1)), t.meshgrid(a[0], a[1], indexing="ij"), t.hsplit(a, [2]),
                a.repeat_interleave(2, 0), t.block_diag(a, a), t.cartesian_prod(a[0], a[1]), a.double(), a.int(), a.bool(),
                a.half(), a.type_as(t.ones(1, dtype=t.float64)),
            )
        ),
        (X,),
    ),
    "joined and made": (
        over_rows(
            lambda t, a: (
                t.cat([a, t.ones(1, 5)]), t.stack([a, a], 1), t.stack([a.sum(), t.tensor(1.0)]), t.hstack([a, a]),
                t.dstack([a, t.zeros(4, 5)]), t.cat([a, t.zeros(0)]), a.new_zeros(2), t.zeros_like(a), t.full_like(a, 3),
                a.new_full((2,), 1.0), t.arange(3) + a[0, :3], t.ones(2), nn(t).one_hot(t.arange(2), 3) * a.sum(),
            )
        ),
        (X,),
    ),
    "complex numbers and transforms": (
        over_rows(
            lambda t, a: (
                t.complex(a, a).abs(), t.view_as_real(t.complex(a, a)), t.polar(a, a).real, t.fft.fft(a),
                t.fft.rfft(a, dim=0), t.fft.ifft2(t.complex(a, a)), t.fft.irfft(t.fft.rfft(a)), t.fft.fftshift(a),
            )
        ),
        (X,),
    ),
    "special functions": (
        over_rows(
            lambda t, a: (
                t.special.erf(a), t.lgamma(a.abs() + 1), t.digamma(a.abs() + 1), t.special.i0(a), t.sinc(a), t.frexp(a),
                t.xlogy(a.abs(), a.abs()), t.logaddexp(a, a), t.hypot(a, a), t.nan_to_num(a), t.special.entr(a.abs()),
                t.polygamma(1, a.abs() + 1), t.lerp(a, a * 2, 0.3), t.addcmul(a, a, a), t.heaviside(a, a),
                t.float_power(a.abs(), 2), t.clamp(a, -0.5), t.clamp(a, a / 2, a * 2), t.copysign(a, -a),
            )
        ),
        (X,),
    ),
    "products": (
        over_rows(
            lambda t, a, b, v: (
                a @ b, b.T @ a.T, a @ v, v @ a.T, v @ v, t.mv(a, v), t.mm(a, b), t.bmm(a[None], b[None]), t.dot(v, v),
                t.vdot(v, v), t.einsum("ij,jk->ki", a, b), t.tensordot(a, b, 1), t.kron(a, b), t.kron(a.t(), b),
                t.outer(v, v), t.inner(a, a), t.cross(a[:, :3], a[:, 2:], dim=1), t.addmm(a @ b, a, b, beta=0.5, alpha=2),
                t.matrix_power(b[:2], 2), t.baddbmm(a[None] @ b, a[None], b[None]), nn(t).bilinear(a, a, t.ones(2, 5, 5)),
                t.cdist(a, a),
            ),
            in_dims=(0, None, 0),
        ),
        (X, floats(5, 2), floats(3, 5)),
    ),
    "linear algebra": (
        over_rows(
            lambda t, a: (
                t.linalg.svdvals(a), t.linalg.eigvalsh(a @ a.T), t.linalg.det(a @ a.T), t.linalg.matrix_norm(a),
                t.linalg.slogdet(a @ a.T + t.eye(4)), t.linalg.inv(a @ a.T + t.eye(4)),
                t.linalg.cholesky(a @ a.T + t.eye(4)), t.linalg.solve(a @ a.T + t.eye(4), a),
                t.linalg.solve(a @ a.T + t.eye(4), a[:, 0]), t.linalg.solve(t.eye(4) * 2, a[:, 0]),
            )
        ),
        (X,),
    ),
    "three maps": (
        lambda t, a: t.func.vmap(t.func.vmap(t.func.vmap(lambda a: (a * 2 + a.sin(), a.sum(), t.ones(2) * a))))(a),
        (X,),
    ),
    "a map in a map": (
        lambda t, a, b: t.func.vmap(
            lambda a: t.func.vmap(lambda b: (a @ b, (a * b.sum()).softmax(0), t.outer(a[0], b)))(b)
        )(a),
        (X, floats(2, 5)),
    ),
    "a Jacobian in both modes": (
        lambda t, x: [
            jacobian(lambda x: (x @ x.T).tanh().cumsum(0).sort(1)[0])(x) for jacobian in (t.func.jacrev, t.func.jacfwd)
        ],
        (floats(3, 4),),
    ),
    "a Hessian": (
        lambda t, x: t.func.hessian(
            lambda x: (x @ x.T).softmax(1).std() + x.var(0).prod() + x.norm() + t.linalg.det(x[:3, :3])
        )(x),
        (floats(3, 4),),
    ),
    "a Jacobian of a convolution": (
        lambda t, x, w: (
            t.func.jacrev(lambda x: nn(t).conv2d(x[None], w).relu().mean((2, 3)))(x),
            t.func.jacfwd(lambda w: nn(t).conv2d(x[None], w).tanh().mean((2, 3)))(w),
        ),
        (floats(2, 4, 4), W),
    ),
    "a Jacobian of linear algebra": (
        lambda t, x: t.func.jacrev(
            lambda x: (
                t.linalg.inv(x @ x.T + 3 * t.eye(3)).sum(0)
                + t.linalg.solve(x @ x.T + 3 * t.eye(3), x[:, 0])
                + t.linalg.cholesky(x @ x.T + t.eye(3)).sum(0)
            )
        )(x),
        (floats(3, 4),),
    ),
}
# fmt: on
