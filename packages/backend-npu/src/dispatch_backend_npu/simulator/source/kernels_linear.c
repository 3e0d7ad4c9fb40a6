/* Vectors and matrices beyond products. */
#include "tensor.h"

/* ---- The cross product of vectors of three ---- */

aclnnStatus check_cross(aclsim_call *call) {
    aclTensor wide;
    if (tensor(call, 0)->dtype != tensor(call, 1)->dtype) return bad(call, "self and other have different data types");
    if (broadcast(call, &wide) < 0) return bad(call, "the shapes of self and other do not broadcast");
    const int64_t dim = wrapped(integer(call, 2), wide.rank);
    if (dim < 0 || dim >= wide.rank) return bad(call, "dim is out of range");
    if (wide.sizes[dim] != 3) return bad(call, "the size along dim is not 3");
    return same_sizes(call, 3, wide.sizes, wide.rank);
}

void kernel_cross(aclsim_call *call) {
    const aclTensor *out = tensor(call, 3);
    const aclTensor self = expanded(tensor(call, 0), out->sizes, out->rank), other = expanded(tensor(call, 1), out->sizes, out->rank);
    const int64_t dim = wrapped(integer(call, 2), out->rank), count = aclsim_numel(out);
    const aclTensor left = turned(&self, dim), right = turned(&other, dim), result = turned(out, dim);
    const bool real = computes_real(call);
    const cell *x = load(&left, real), *y = load(&right, real);
    cell *z = scratch((size_t)count * sizeof *z);
    for (int64_t i = 0; i < count; i += 3)
        for (int64_t k = 0; k < 3; k++) {
            const int64_t a = i + (k + 1) % 3, b = i + (k + 2) % 3;
            if (real) z[i + k].f = x[a].f * y[b].f - x[b].f * y[a].f;
            else z[i + k].i = x[a].i * y[b].i - x[b].i * y[a].i;
        }
    store(&result, z, real);
    scratch_done();
}

/* ---- The sum of a diagonal ---- */

aclnnStatus check_trace(aclsim_call *call) {
    if (tensor(call, 0)->rank != 2) return bad(call, "self is a matrix");
    return tensor(call, 1)->rank ? bad(call, "out has no dimensions") : 0;
}

void kernel_trace(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const bool real = computes_real(call);
    const int64_t least = self->sizes[0] < self->sizes[1] ? self->sizes[0] : self->sizes[1];
    cell total = {0};
    for (int64_t i = 0; i < least; i++) {
        const cell x = read_at(self, self->offset + i * (self->strides[0] + self->strides[1]), real);
        if (real) total.f += x.f;
        else total.i += x.i;
    }
    store(tensor(call, 1), &total, real);
    scratch_done();
}

/* ---- QR by Householder's reflections, with LAPACK's signs; mode is 0 for reduced, 1 for complete, 2 for R alone ---- */

aclnnStatus check_qr(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t mode = integer(call, 1), rank = self->rank;
    if (rank < 2) return bad(call, "self is a matrix, or a batch of them");
    if (mode < 0 || mode > 2) return bad(call, "mode is 0 to 2");
    const int64_t m = self->sizes[rank - 2], n = self->sizes[rank - 1], k = m < n ? m : n;
    int64_t sizes[MAX_DIMS];
    for (int d = 0; d < rank; d++) sizes[d] = self->sizes[d];
    sizes[rank - 2] = mode == 1 ? m : k;
    PASS_ON(same_sizes(call, 3, sizes, (int)rank));
    if (mode == 2) return aclsim_numel(tensor(call, 2)) ? bad(call, "Q has no elements in mode 2") : 0;
    sizes[rank - 2] = m, sizes[rank - 1] = mode == 1 ? m : k;
    return same_sizes(call, 2, sizes, (int)rank);
}

/* Reflect the rows from `from` on of a matrix of `width` columns: a -= tau * v * (v . a). */
static void reflect(cell *a, int64_t rows, int64_t width, int64_t from, const double *v, double tau) {
    for (int64_t j = 0; j < width; j++) {
        double dot = 0;
        for (int64_t i = from; i < rows; i++) dot += v[i] * a[i * width + j].f;
        for (int64_t i = from; i < rows; i++) a[i * width + j].f -= tau * dot * v[i];
    }
}

void kernel_qr(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t mode = integer(call, 1), m = self->sizes[self->rank - 2], n = self->sizes[self->rank - 1], k = m < n ? m : n;
    const int64_t batches = aclsim_numel(self) / (m * n), height = mode == 1 ? m : k;
    cell *a = load(self, true), *q = zeros(batches * m * height), *r = zeros(batches * height * n), *whole = scratch((size_t)(m * m) * sizeof *whole);
    double *v = scratch((size_t)(k * m) * sizeof *v), *tau = scratch((size_t)k * sizeof *tau);
    for (int64_t batch = 0; batch < batches; batch++, a += m * n) {
        for (int64_t c = 0; c < k; c++) {
            double norm = 0, *w = v + c * m;
            for (int64_t i = c + 1; i < m; i++) norm = hypot(norm, a[i * n + c].f);
            const double alpha = a[c * n + c].f, beta = norm == 0 ? alpha : -copysign(hypot(alpha, norm), alpha);
            tau[c] = norm == 0 ? 0 : (beta - alpha) / beta;
            for (int64_t i = c; i < m; i++) w[i] = i == c ? 1 : norm == 0 ? 0 : a[i * n + c].f / (alpha - beta);
            reflect(a, m, n, c, w, tau[c]);
        }
        for (int64_t i = 0; i < height; i++)
            for (int64_t j = i; j < n; j++) r[(batch * height + i) * n + j] = a[i * n + j];
        for (int64_t i = 0; i < m * m; i++) whole[i].f = i / m == i % m;
        for (int64_t c = k - 1; c >= 0; c--) reflect(whole, m, m, c, v + c * m, tau[c]);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < height; j++) q[(batch * m + i) * height + j] = whole[i * m + j];
    }
    if (mode != 2) store(tensor(call, 2), q, true);
    store(tensor(call, 3), r, true);
    scratch_done();
}
