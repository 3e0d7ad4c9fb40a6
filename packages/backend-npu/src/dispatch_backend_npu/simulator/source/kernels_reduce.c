/* Reductions, running sums and softmax: the reduced dims are moved last, and rows are processed. */
#include "tensor.h"

/* ---- Rows of the operand, and results in the order of the remaining dims ---- */

typedef struct {
    const cell *cells;
    int64_t rows, length;
    bool real;
} rows;

/* The dims that are reduced: those of `dim` or `dims`; an empty array, or no such argument, means all. */
static int dim_argument(const aclsim_call *call) {
    for (int i = 1; i < call->op->count; i++)
        if (!strcmp(call->op->names[i], "dim") || !strcmp(call->op->names[i], "dims")) return i;
    return -1;
}

static int64_t reduced(const aclsim_call *call, int64_t dims[MAX_DIMS]) {
    const aclTensor *self = tensor(call, 0);
    int at = dim_argument(call);
    if (at >= 0 && call->op->kinds[at] == 'n') {
        dims[0] = wrapped(integer(call, at), self->rank);
        return 1;
    }
    if (at >= 0 && call->op->kinds[at] == 'I' && call->arguments[at].count) {
        for (int64_t i = 0; i < call->arguments[at].count; i++) dims[i] = wrapped(call->arguments[at].values[i], self->rank);
        return call->arguments[at].count;
    }
    for (int i = 0; i < self->rank; i++) dims[i] = i;
    return self->rank;
}

static rows rows_of(const aclsim_call *call, bool real) {
    int64_t dims[MAX_DIMS], count = reduced(call, dims);
    const aclTensor turned = dims_last(tensor(call, 0), dims, count);
    rows r = {load(&turned, real), 1, 1, real};
    for (int d = 0; d < turned.rank; d++) *(d < turned.rank - (int)count ? &r.rows : &r.length) *= turned.sizes[d];
    return r;
}

static void store_output(const aclsim_call *call, int n, const cell *cells, bool real) { store(tensor(call, output(call, n)), cells, real); }

/* ---- Checks ---- */

static aclnnStatus check_reduced(aclsim_call *call, bool keep) {
    const aclTensor *self = tensor(call, 0);
    int64_t dims[MAX_DIMS], sizes[MAX_DIMS];
    int at = dim_argument(call), rank = 0;
    if (at >= 0 && call->op->kinds[at] == 'I' && call->arguments[at].count > MAX_DIMS) return bad(call, "more dims than a tensor can have");
    int64_t count = reduced(call, dims);
    for (int64_t i = 0; i < count; i++) {
        if (dims[i] < 0 || dims[i] >= (self->rank ? self->rank : 1)) return bad(call, "a dim is out of range");
        for (int64_t j = 0; j < i; j++) if (dims[i] == dims[j]) return bad(call, "a dim is named twice");
    }
    for (int d = 0; d < self->rank; d++) {
        bool gone = false;
        for (int64_t i = 0; i < count; i++) gone |= dims[i] == d;
        if (!gone || keep) sizes[rank++] = gone ? 1 : self->sizes[d];
    }
    for (int n = 0; output(call, n) >= 0; n++) PASS_ON(same_sizes(call, output(call, n), sizes, rank));
    return 0;
}

aclnnStatus check_reduction(aclsim_call *call) {
    bool keep = false;
    for (int i = 0; i < call->op->count; i++)
        if (!strcmp(call->op->names[i], "keepDim") || !strcmp(call->op->names[i], "keepDims") || !strcmp(call->op->names[i], "keepdim"))
            keep = integer(call, i);
    for (int i = 0; i < call->op->count; i++)
        if (!strcmp(call->op->names[i], "dtype") && integer(call, i) != tensor(call, output(call, 0))->dtype)
            return bad(call, "dtype and the data type of out differ");
    return check_reduced(call, keep);
}

aclnnStatus check_reduction_dim(aclsim_call *call) { return check_reduction(call); }

/* One element: torch has no dims there, aclnn's documents also show one of size 1. */
aclnnStatus check_single(aclsim_call *call) {
    for (int n = 0; output(call, n) >= 0; n++)
        if (aclsim_numel(tensor(call, output(call, n))) != 1) return bad(call, "out must have one element");
    return 0;
}

/* The results have the shape of the first tensor. */
aclnnStatus check_like_first(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    int at = dim_argument(call);
    if (at >= 0 && call->op->kinds[at] == 'n') {
        int64_t dim = wrapped(integer(call, at), self->rank);
        if (dim < 0 || dim >= (self->rank ? self->rank : 1)) return bad(call, "dim is out of range");
    }
    for (int n = 0; output(call, n) >= 0; n++) PASS_ON(same_sizes(call, output(call, n), self->sizes, self->rank));
    return 0;
}

/* ---- Reductions to one number a row ---- */

/* The operand is cast to an explicit dtype first, which is the result's; truth values come from any operand. */
static bool result_is_real(const aclsim_call *call) {
    const aclDataType dtype = tensor(call, output(call, 0))->dtype;
    return dtype == ACL_BOOL ? computes_real(call) : aclsim_is_real(dtype);
}

/* A reduction of rows by statements on the row's cells `x`, its length and the result, in double or in int64_t. */
#define REDUCTION(name, real_body, whole_body) \
    void kernel_##name(aclsim_call *call) { \
        const bool real = result_is_real(call); \
        const rows r = rows_of(call, real); \
        cell *out = scratch((size_t)r.rows * sizeof *out); \
        for (int64_t row = 0; row < r.rows; row++) { \
            const cell *x = r.cells + row * r.length; \
            if (real) { double result; real_body; out[row].f = result; } \
            else { int64_t result; whole_body; out[row].i = result; } \
        } \
        store_output(call, 0, out, real); \
        scratch_done(); \
    }
#define OVER(statement) for (int64_t j = 0; j < r.length; j++) { statement; }

REDUCTION(reduce_sum, result = 0; OVER(result += x[j].f), result = 0; OVER(result += x[j].i))
REDUCTION(reduce_nansum, result = 0; OVER(if (x[j].f == x[j].f) result += x[j].f), result = 0; OVER(result += x[j].i))
REDUCTION(prod, result = 1; OVER(result *= x[j].f), result = 1; OVER(result *= x[j].i))
REDUCTION(amax, result = x[0].f; OVER(result = max_real(result, x[j].f)), result = x[0].i; OVER(result = max_whole(result, x[j].i)))
REDUCTION(amin, result = x[0].f; OVER(result = min_real(result, x[j].f)), result = x[0].i; OVER(result = min_whole(result, x[j].i)))
REDUCTION(all, result = 1; OVER(result = result && x[j].f != 0), result = 1; OVER(result = result && x[j].i != 0))
REDUCTION(any, result = 0; OVER(result = result || x[j].f != 0), result = 0; OVER(result = result || x[j].i != 0))
void kernel_prod_dim(aclsim_call *call) { kernel_prod(call); }
void kernel_max_all(aclsim_call *call) { kernel_amax(call); }
void kernel_min_all(aclsim_call *call) { kernel_amin(call); }

static double sum(const cell *x, int64_t n) {
    double total = 0;
    for (int64_t i = 0; i < n; i++) total += x[i].f;
    return total;
}

static void reduce_real(aclsim_call *call, double (*reduce)(const aclsim_call *, const cell *, int64_t)) {
    const rows r = rows_of(call, true);
    cell *out = scratch((size_t)r.rows * sizeof *out);
    for (int64_t row = 0; row < r.rows; row++) out[row].f = reduce(call, r.cells + row * r.length, r.length);
    store_output(call, 0, out, true);
}

static double mean_of(const aclsim_call *call, const cell *x, int64_t n) {
    (void)call;
    return sum(x, n) / (double)n;
}

static double variance_of(const aclsim_call *call, const cell *x, int64_t n) {
    double mean = sum(x, n) / (double)n, total = 0, divisor = (double)(n - integer(call, 2));
    for (int64_t i = 0; i < n; i++) total += (x[i].f - mean) * (x[i].f - mean);
    return total / (divisor > 0 ? divisor : 0);
}

static double deviation_of(const aclsim_call *call, const cell *x, int64_t n) { return sqrt(variance_of(call, x, n)); }

static double norm_of(const aclsim_call *call, const cell *x, int64_t n) {
    double p = scalar_real(call, 1), total = p == -INFINITY ? INFINITY : 0;
    for (int64_t i = 0; i < n; i++) {
        double v = fabs(x[i].f);
        if (p == INFINITY) total = max_real(total, v);
        else if (p == -INFINITY) total = min_real(total, v);
        else if (p == 0) total += v != 0;
        else total += p == 2 ? v * v : p == 1 ? v : pow(v, p);
    }
    if (isinf(p) || p == 0 || p == 1) return total;
    return p == 2 ? sqrt(total) : pow(total, 1 / p);
}

static double log_sum_exp_of(const aclsim_call *call, const cell *x, int64_t n) {
    (void)call;
    double most = n ? x[0].f : -INFINITY, total = 0;
    for (int64_t i = 0; i < n; i++) most = max_real(most, x[i].f);
    if (isinf(most)) return most;
    for (int64_t i = 0; i < n; i++) total += exp(x[i].f - most);
    return most + log(total);
}

#define REAL_REDUCTION(name, function) \
    void kernel_##name(aclsim_call *call) { \
        reduce_real(call, function); \
        scratch_done(); \
    }
REAL_REDUCTION(mean, mean_of)
REAL_REDUCTION(variance, variance_of)
REAL_REDUCTION(deviation, deviation_of)
REAL_REDUCTION(vector_norm, norm_of)
REAL_REDUCTION(log_sum_exp, log_sum_exp_of)

void kernel_var_mean(aclsim_call *call) {
    reduce_real(call, variance_of);
    const rows r = rows_of(call, true);
    cell *out = scratch((size_t)r.rows * sizeof *out);
    for (int64_t row = 0; row < r.rows; row++) out[row].f = mean_of(call, r.cells + row * r.length, r.length);
    store_output(call, 1, out, true);
    scratch_done();
}

/* ---- The first position of the largest or smallest element; a nan counts as both ---- */

static int64_t place_of(const cell *x, int64_t n, bool real, bool largest) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        if (real && x[best].f != x[best].f) break;
        bool better = real ? (largest ? x[i].f > x[best].f : x[i].f < x[best].f) || x[i].f != x[i].f
                           : (largest ? x[i].i > x[best].i : x[i].i < x[best].i);
        if (better) best = i;
    }
    return best;
}

static void extremes(aclsim_call *call, bool largest, int values, int places) {
    const bool real = aclsim_is_real(tensor(call, 0)->dtype);
    const rows r = rows_of(call, real);
    cell *value = scratch((size_t)r.rows * sizeof *value), *place = scratch((size_t)r.rows * sizeof *place);
    for (int64_t row = 0; row < r.rows && r.length; row++) {
        const cell *x = r.cells + row * r.length;
        place[row].i = place_of(x, r.length, real, largest);
        value[row] = x[place[row].i];
    }
    if (values >= 0) store_output(call, values, value, real);
    if (places >= 0) store_output(call, places, place, false);
}

#define EXTREMES(name, ...) \
    void kernel_##name(aclsim_call *call) { \
        __VA_ARGS__; \
        scratch_done(); \
    }
EXTREMES(max_dim, extremes(call, true, 0, 1))
EXTREMES(min_dim, extremes(call, false, 0, 1))
EXTREMES(argmax, extremes(call, true, -1, 0))
EXTREMES(argmin, extremes(call, false, -1, 0))
EXTREMES(aminmax_dim, extremes(call, false, 0, -1); extremes(call, true, 1, -1))
EXTREMES(aminmax_all, extremes(call, false, 0, -1); extremes(call, true, 1, -1))

/* ---- Along one dim, with a result of the same shape ---- */

aclTensor turned(const aclTensor *view, int64_t dim) { return view->rank ? dims_last(view, &dim, 1) : *view; }

int64_t length_of(const aclTensor *view) { return view->rank ? view->sizes[view->rank - 1] : 1; }

static void cumulate(aclsim_call *call, int64_t dim, bool product) {
    const bool real = result_is_real(call);
    const aclTensor in = turned(tensor(call, 0), dim), out = turned(tensor(call, output(call, 0)), dim);
    cell *x = load(&in, real);
    const int64_t n = length_of(&in), count = aclsim_numel(&in);
    for (int64_t i = 0; i < count; i++) {
        if (i % n == 0) continue;
        if (real) x[i].f = product ? x[i].f * x[i - 1].f : x[i].f + x[i - 1].f;
        else x[i].i = product ? x[i].i * x[i - 1].i : x[i].i + x[i - 1].i;
    }
    store(&out, x, real);
    scratch_done();
}

void kernel_cumsum(aclsim_call *call) { cumulate(call, integer(call, 1), false); }
void kernel_cumprod(aclsim_call *call) { cumulate(call, scalar_integer(call, 1), true); }

/* The largest or smallest element so far, and the last place that has it; a nan is both, and stays. */
static void running_extreme(aclsim_call *call, bool largest) {
    const bool real = aclsim_is_real(tensor(call, 0)->dtype);
    const int64_t dim = integer(call, 1);
    const aclTensor in = turned(tensor(call, 0), dim), values = turned(tensor(call, 2), dim), places = turned(tensor(call, 3), dim);
    cell *x = load(&in, real), *place = zeros(aclsim_numel(&in));
    const int64_t n = length_of(&in), count = aclsim_numel(&in);
    for (int64_t i = 0; i < count; i++) {
        if (i % n == 0) continue;
        const cell before = x[i - 1];
        const bool better = !real ? (largest ? x[i].i >= before.i : x[i].i <= before.i)
                                  : x[i].f != x[i].f || (before.f == before.f && (largest ? x[i].f >= before.f : x[i].f <= before.f));
        place[i].i = better ? i % n : place[i - 1].i;
        if (!better) x[i] = before;
    }
    store(&values, x, real);
    store(&places, place, false);
    scratch_done();
}

void kernel_cummax(aclsim_call *call) { running_extreme(call, true); }
void kernel_cummin(aclsim_call *call) { running_extreme(call, false); }

static void softmax(aclsim_call *call, bool logarithm) {
    const int64_t dim = integer(call, 1);
    const aclTensor in = turned(tensor(call, 0), dim), out = turned(tensor(call, 2), dim);
    cell *x = load(&in, true);
    const int64_t n = length_of(&in), count = aclsim_numel(&in);
    for (cell *row = x; row < x + count; row += n) {
        double most = row[0].f, total = 0;
        for (int64_t i = 1; i < n; i++) most = max_real(most, row[i].f);
        for (int64_t i = 0; i < n; i++) total += exp(row[i].f - most);
        const double shift = log(total);
        for (int64_t i = 0; i < n; i++) row[i].f = logarithm ? row[i].f - most - shift : exp(row[i].f - most) / total;
    }
    store(&out, x, true);
    scratch_done();
}

void kernel_softmax(aclsim_call *call) { softmax(call, false); }
void kernel_log_softmax(aclsim_call *call) { softmax(call, true); }

static void softmax_backward(aclsim_call *call, bool logarithm) {
    const int64_t dim = integer(call, 2);
    const aclTensor gradient = turned(tensor(call, 0), dim), forward = turned(tensor(call, 1), dim), out = turned(tensor(call, 3), dim);
    cell *g = load(&gradient, true), *y = load(&forward, true);
    const int64_t n = length_of(&gradient), count = aclsim_numel(&gradient);
    for (int64_t at = 0; at < count; at += n) {
        double total = 0;
        for (int64_t i = at; i < at + n; i++) total += logarithm ? g[i].f : g[i].f * y[i].f;
        for (int64_t i = at; i < at + n; i++) g[i].f = logarithm ? g[i].f - exp(y[i].f) * total : y[i].f * (g[i].f - total);
    }
    store(&out, g, true);
    scratch_done();
}

void kernel_softmax_backward(aclsim_call *call) { softmax_backward(call, false); }
void kernel_log_softmax_backward(aclsim_call *call) { softmax_backward(call, true); }
