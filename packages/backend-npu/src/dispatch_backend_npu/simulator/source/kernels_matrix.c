/* Matrix products. cubeMathType allows the hardware to drop precision; the simulator drops none. */
#include "tensor.h"

/* (..., m, k) by (..., k, n), the batches broadcast; a row-by-row product in double. */
static cell *product(const aclTensor *a, const aclTensor *b, const aclTensor *out, bool real) {
    const int64_t m = a->sizes[a->rank - 2], k = a->sizes[a->rank - 1], n = b->sizes[b->rank - 1];
    int64_t sizes[MAX_DIMS];
    for (int d = 0; d < out->rank; d++) sizes[d] = out->sizes[d];
    sizes[out->rank - 2] = m, sizes[out->rank - 1] = k;
    const aclTensor wide_a = expanded(a, sizes, out->rank);
    sizes[out->rank - 2] = k, sizes[out->rank - 1] = n;
    const aclTensor wide_b = expanded(b, sizes, out->rank);
    const cell *x = load(&wide_a, real), *y = load(&wide_b, real);
    const int64_t count = aclsim_numel(out), batches = m && n ? count / (m * n) : 0;
    cell *z = scratch((size_t)count * sizeof *z);
    memset(z, 0, (size_t)count * sizeof *z);
    for (int64_t batch = 0; batch < batches; batch++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t l = 0; l < k; l++) {
                const cell left = x[(batch * m + i) * k + l], *right = y + (batch * k + l) * n;
                cell *to = z + (batch * m + i) * n;
                if (real) for (int64_t j = 0; j < n; j++) to[j].f += left.f * right[j].f;
                else for (int64_t j = 0; j < n; j++) to[j].i += left.i * right[j].i;
            }
    return z;
}

static aclnnStatus check_product(aclsim_call *call, int left, int right, int out) {
    const aclTensor *a = tensor(call, left), *b = tensor(call, right);
    if (a->rank < 2 || b->rank < 2) return bad(call, "the operands are matrices, or batches of them");
    if (a->sizes[a->rank - 1] != b->sizes[b->rank - 2]) return bad(call, "the inner sizes differ");
    if (a->dtype != b->dtype) return bad(call, "the operands have different data types");
    int64_t sizes[MAX_DIMS];
    int rank = a->rank > b->rank ? a->rank : b->rank;
    for (int d = 0; d < rank - 2; d++) {
        int x = d - (rank - a->rank), y = d - (rank - b->rank);
        int64_t p = x < 0 ? 1 : a->sizes[x], q = y < 0 ? 1 : b->sizes[y];
        if (p != q && p != 1 && q != 1) return bad(call, "the batches do not broadcast");
        sizes[d] = p == 1 ? q : p;
    }
    sizes[rank - 2] = a->sizes[a->rank - 2], sizes[rank - 1] = b->sizes[b->rank - 1];
    return same_sizes(call, out, sizes, rank);
}

aclnnStatus check_matmul(aclsim_call *call) {
    if (integer(call, 3) < 0 || integer(call, 3) > 4) return bad(call, "cubeMathType is 0 to 4");
    return check_product(call, 0, 1, 2);
}

void kernel_matmul(aclsim_call *call) {
    const bool real = computes_real(call);
    store(tensor(call, 2), product(tensor(call, 0), tensor(call, 1), tensor(call, 2), real), real);
    scratch_done();
}

aclnnStatus check_mv(aclsim_call *call) {
    const aclTensor *a = tensor(call, 0), *b = tensor(call, 1);
    if (a->rank != 2 || b->rank != 1 || a->sizes[1] != b->sizes[0]) return bad(call, "a matrix and a vector of its width are needed");
    return same_sizes(call, 2, a->sizes, 1);
}

void kernel_mv(aclsim_call *call) {
    const bool real = computes_real(call);
    aclTensor column = *tensor(call, 1), out = *tensor(call, 2);
    column.rank = out.rank = 2;
    column.sizes[1] = out.sizes[1] = 1;
    column.strides[1] = out.strides[1] = 0;
    store(&out, product(tensor(call, 0), &column, &out, real), real);
    scratch_done();
}

void kernel_dot(aclsim_call *call) {
    const bool real = computes_real(call);
    const cell *x = load(tensor(call, 0), real), *y = load(tensor(call, 1), real);
    cell total = {.i = 0};
    if (real) total.f = 0;
    for (int64_t i = 0; i < aclsim_numel(tensor(call, 0)); i++) {
        if (real) total.f += x[i].f * y[i].f;
        else total.i += x[i].i * y[i].i;
    }
    store(tensor(call, 2), &total, real);
    scratch_done();
}

/* beta * self + alpha * (mat1 @ mat2); with beta 0 self is not read, so that its nans do not matter. */
static int result_of(const aclsim_call *call) { return call->op->roles[0] == 'r' ? 0 : 5; }

aclnnStatus check_addmm(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0), *out = tensor(call, result_of(call));
    PASS_ON(check_product(call, 1, 2, result_of(call)));
    for (int d = 0; d < self->rank; d++) {
        int at = out->rank - self->rank + d;
        if (at < 0 || (self->sizes[d] != 1 && self->sizes[d] != out->sizes[at])) return bad(call, "self does not broadcast to the product");
    }
    return 0;
}

void kernel_addmm(aclsim_call *call) {
    const bool real = computes_real(call);
    const aclTensor *out = tensor(call, result_of(call)), self = expanded(tensor(call, 0), out->sizes, out->rank);
    cell *z = product(tensor(call, 1), tensor(call, 2), out, real);
    const cell *s = load(&self, real), beta = scalar_cell(call, 3, real), alpha = scalar_cell(call, 4, real);
    for (int64_t i = 0; i < aclsim_numel(out); i++) {
        if (real) z[i].f = alpha.f * z[i].f + (beta.f == 0 ? 0 : beta.f * s[i].f);
        else z[i].i = alpha.i * z[i].i + beta.i * s[i].i;
    }
    store(out, z, real);
    scratch_done();
}
