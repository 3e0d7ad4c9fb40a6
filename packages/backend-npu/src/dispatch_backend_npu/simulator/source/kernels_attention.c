/* Attention of several heads by one function, and its gradient from what that saved of each row: the largest score, and the sum of
 * the exponentials below it. */
#include "tensor.h"

/* What the toolkit's functions write for a row without a score: the least number, and the greatest one. */
static const double LEAST = -(double)0x1.fffffep127f, GREATEST = (double)0x1.fffffep127f;
enum { TIMES = 8 /* how often each number of a row is written */, COMPRESSED = 2048 };

/* Where the arguments that both functions have stand among those of one of them. */
typedef struct { int pse, drop, mask, scale; } arguments;
static const arguments FORWARD = {.pse = 3, .drop = 4, .mask = 6, .scale = 8};
static const arguments BACKWARD = {.pse = 4, .drop = 5, .mask = 7, .scale = 13};

typedef struct {
    int64_t batch, heads, shared /* heads of keys */, rows, columns, width, depth /* of values */;
    int64_t before, after, mode;
    double scale, keep;
    bool skips; /* rows without a score are left out */
    const aclTensor *mask;
    const cell *hidden, *pse, *bits;
    int64_t pse_sizes[4], mask_sizes[4];
} attention;

static int batch_dim(const char *layout) { return layout[0] == 'S'; }
static int rows_dim(const char *layout) { return layout[0] == 'S' ? 0 : !strcmp(layout, "BNSD") ? 2 : 1; }
static int heads_dim(const char *layout) { return !strcmp(layout, "BNSD") ? 1 : 2; }

/* Return a view with the dims batch, heads, rows, width; heads lie together in the last dim of layouts of three. */
static aclTensor by_heads(const aclTensor *x, const char *layout, int64_t heads) {
    aclTensor view = *x;
    const int b = batch_dim(layout), s = rows_dim(layout), h = heads_dim(layout);
    const int64_t width = x->rank == 3 ? x->sizes[2] / heads : x->sizes[3];
    view.rank = 4;
    const int64_t sizes[] = {x->sizes[b], heads, x->sizes[s], width};
    const int64_t strides[] = {x->strides[b], x->rank == 3 ? width * x->strides[2] : x->strides[h], x->strides[s], x->strides[x->rank - 1]};
    memcpy(view.sizes, sizes, sizeof sizes);
    memcpy(view.strides, strides, sizeof strides);
    return view;
}

static aclnnStatus read_sizes(const aclsim_call *call, const arguments *at, attention *a) {
    const aclTensor *q = tensor(call, 0), *k = tensor(call, 1), *v = tensor(call, 2);
    const char *layout = call->arguments[at->scale + 5].text;
    const bool flat = !strcmp(layout, "BSH") || !strcmp(layout, "SBH");
    if (!flat && strcmp(layout, "BNSD") && strcmp(layout, "BSND")) return bad(call, "inputLayout is none of BSH, SBH, BNSD and BSND");
    for (int i = 0; i < 3; i++) {
        if (tensor(call, i)->rank != (flat ? 3 : 4)) return bad(call, "an operand has other dimensions than its layout");
        if (tensor(call, i)->dtype != q->dtype) return bad(call, "query, key and value have different dtypes");
    }
    PASS_ON(needs_short_floats(call, 0));
    a->heads = integer(call, at->scale + 4);
    if (a->heads < 1 || a->heads > 256) return bad(call, "headNum is from 1 to 256");
    const int b = batch_dim(layout), s = rows_dim(layout), h = heads_dim(layout);
    a->batch = q->sizes[b], a->rows = q->sizes[s], a->columns = k->sizes[s];
    if (flat) {
        if (q->sizes[2] % a->heads) return bad(call, "headNum does not divide the last dimension of query");
        a->width = q->sizes[2] / a->heads;
        if (!a->width || k->sizes[2] % a->width || !k->sizes[2]) return bad(call, "query and key have heads of different widths");
        a->shared = k->sizes[2] / a->width;
        if (v->sizes[2] % a->shared) return bad(call, "key and value have different heads");
        a->depth = v->sizes[2] / a->shared;
    } else {
        if (q->sizes[h] != a->heads) return bad(call, "headNum is not the number of heads of query");
        a->width = q->sizes[3], a->shared = k->sizes[h], a->depth = v->sizes[3];
        if (k->sizes[3] != a->width) return bad(call, "query and key have heads of different widths");
        if (v->sizes[h] != a->shared) return bad(call, "key and value have different heads");
    }
    if (!a->batch || !a->rows || !a->columns || !a->shared || !a->width || !a->depth) return bad(call, "an operand has no elements");
    if (a->width > 768) return bad(call, "a head is wider than 768");
    if (a->depth > a->width) return bad(call, "heads of value are wider than those of key");
    if (a->heads % a->shared) return bad(call, "the heads of query are no multiple of those of key");
    if (k->sizes[b] != a->batch || v->sizes[b] != a->batch || v->sizes[s] != a->columns) return bad(call, "key and value have other sizes than query, or each other");
    return 0;
}

static aclnnStatus check_options(const aclsim_call *call, const arguments *at, attention *a) {
    a->scale = call->arguments[at->scale].real, a->keep = call->arguments[at->scale + 1].real;
    a->before = integer(call, at->scale + 2), a->after = integer(call, at->scale + 3), a->mode = integer(call, at->scale + 7);
    a->skips = integer(call, at->scale + 6) == 2 || (a->mode == 3 && a->rows > a->columns);
    if (!(a->keep > 0 && a->keep <= 1)) return bad(call, "keepProb is above 0 and at most 1");
    if (a->mode < 0 || a->mode > 4) return bad(call, "a sparseMode above 4 is not simulated");
    if (given(call, at->drop + 1)) return bad(call, "paddingMaskOptional is not taken");
    const int64_t full[] = {a->batch, a->heads, a->rows, a->columns};
    if (given(call, at->pse)) {
        const aclTensor *pse = tensor(call, at->pse);
        if (pse->dtype != tensor(call, 0)->dtype) return bad(call, "pse has another dtype than query");
        bool fits = pse->rank == 4 && pse->sizes[1] == full[1] && pse->sizes[3] == full[3];
        fits = fits && ((pse->sizes[0] == full[0] && (pse->sizes[2] == full[2] || pse->sizes[2] == 1)) || (pse->sizes[0] == 1 && pse->sizes[2] == full[2]));
        if (!fits) return bad(call, "pse is of [B,N,S,S], [B,N,1,Skv] or [1,N,S,S]");
    }
    if (a->keep < 1) {
        if (!given(call, at->drop)) return bad(call, "keepProb is below 1, and there is no dropMaskOptional");
        const aclTensor *bits = tensor(call, at->drop);
        if (bits->dtype != ACL_UINT8) return bad(call, "dropMaskOptional must be of uint8");
        if (bits->rank != 1 || bits->sizes[0] * 8 < a->batch * a->heads * a->rows * a->columns) return bad(call, "dropMaskOptional has one bit a score");
    }
    if (!given(call, at->mask)) return 0;
    const aclTensor *mask = tensor(call, at->mask);
    if (mask->dtype != ACL_BOOL && mask->dtype != ACL_UINT8) return bad(call, "attenMaskOptional must be of bool or uint8");
    if (a->mode >= 2) return mask->rank == 2 && mask->sizes[0] == COMPRESSED && mask->sizes[1] == COMPRESSED ? 0 : bad(call, "a compressed attenMaskOptional is of [2048,2048]");
    bool fits = (mask->rank == 4 || mask->rank == 2) && mask->sizes[mask->rank - 2] == a->rows && mask->sizes[mask->rank - 1] == a->columns;
    if (fits && mask->rank == 4) {
        const int64_t *m = mask->sizes;
        fits = (m[0] == a->batch && (m[1] == a->heads || m[1] == 1)) || (m[0] == 1 && m[1] == 1);
    }
    return fits ? 0 : bad(call, "attenMaskOptional is of [B,N,S,S], [B,1,S,S], [1,1,S,S] or [S,S]");
}

static aclnnStatus check_attention_of(const aclsim_call *call, const arguments *at, attention *a) {
    PASS_ON(read_sizes(call, at, a));
    return check_options(call, at, a);
}

static aclnnStatus check_statistics(const aclsim_call *call, const attention *a, int first) {
    for (int i = first; i < first + 2; i++) {
        if (!given(call, i)) return bad(call, "softmaxMax and softmaxSum are needed");
        if (tensor(call, i)->dtype != ACL_FLOAT) return bad(call, "softmaxMax and softmaxSum are of float");
        PASS_ON(same_sizes(call, i, (int64_t[]){a->batch, a->heads, a->rows, TIMES}, 4));
    }
    return 0;
}

/* Check that a tensor has the sizes of another one, but for the width of its heads. */
static aclnnStatus check_heads(const aclsim_call *call, int i, int like, int64_t width, int64_t heads) {
    const aclTensor *self = tensor(call, like);
    int64_t sizes[MAX_DIMS];
    memcpy(sizes, self->sizes, sizeof sizes);
    sizes[self->rank - 1] = self->rank == 3 ? width * heads : width;
    if (tensor(call, i)->dtype != self->dtype) return bad(call, "a result or gradient has another dtype than its operand");
    return same_sizes(call, i, sizes, self->rank);
}

/* All results without elements are written by nothing, whatever the operands are. */
static bool is_nothing(const aclsim_call *call, int first, int count) {
    for (int i = first; i < first + count; i++)
        if (given(call, i) && aclsim_numel(tensor(call, i))) return false;
    return true;
}

aclnnStatus check_attention(aclsim_call *call) {
    attention a = {0};
    if (is_nothing(call, 16, 4)) return 0;
    PASS_ON(check_attention_of(call, &FORWARD, &a));
    PASS_ON(check_statistics(call, &a, 16));
    return check_heads(call, 19, 0, a.depth, a.heads);
}

aclnnStatus check_attention_backward(aclsim_call *call) {
    attention a = {0};
    if (is_nothing(call, 21, 3)) return 0;
    PASS_ON(check_attention_of(call, &BACKWARD, &a));
    PASS_ON(check_statistics(call, &a, 8));
    PASS_ON(check_heads(call, 3, 0, a.depth, a.heads));
    PASS_ON(check_heads(call, 11, 0, a.depth, a.heads));
    PASS_ON(check_heads(call, 21, 0, a.width, a.heads));
    PASS_ON(check_heads(call, 22, 1, a.width, a.shared));
    return check_heads(call, 23, 2, a.depth, a.shared);
}

static void sizes_of(const aclTensor *x, int64_t sizes[4]) {
    for (int d = 0; d < 4; d++) sizes[d] = d < 4 - x->rank ? 1 : x->sizes[d - 4 + x->rank];
}

static void load_options(const aclsim_call *call, const arguments *at, attention *a) {
    check_attention_of(call, at, a);
    if (given(call, at->pse)) a->pse = load(tensor(call, at->pse), true), sizes_of(tensor(call, at->pse), a->pse_sizes);
    if (a->keep < 1) a->bits = load(tensor(call, at->drop), false);
    if (!given(call, at->mask)) return;
    a->mask = tensor(call, at->mask);
    sizes_of(a->mask, a->mask_sizes);
    if (a->mode < 2) a->hidden = load(a->mask, false);
}

/* The index of a score in a tensor some of whose sizes are 1. */
static int64_t index_in(const int64_t sizes[4], int64_t b, int64_t n, int64_t i, int64_t j) {
    return ((b % sizes[0] * sizes[1] + n % sizes[1]) * sizes[2] + i % sizes[2]) * sizes[3] + j % sizes[3];
}

/* Whether a score is left out. A compressed mask tells it by the element beside its diagonal, above or below. */
static bool is_hidden(const attention *a, int64_t b, int64_t n, int64_t i, int64_t j) {
    if (!a->mask) return false;
    const int64_t shift = a->mode < 3 ? 0 : a->columns - a->rows, ahead = j - i - shift;
    if (a->mode < 2 && a->hidden[index_in(a->mask_sizes, b, n, i, j)].i) return true;
    if (a->mode == 0) return ahead > a->after || -ahead > a->before;
    if (a->mode < 2) return false;
    const bool above = a->mode < 4 ? ahead > 0 : ahead > a->after || -ahead > a->before;
    return read_at(a->mask, above ? a->mask->strides[1] + a->mask->offset : a->mask->strides[0] + a->mask->offset, false).i;
}

static double dot(const cell *x, const cell *y, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += x[i].f * y[i].f;
    return sum;
}

/* Write the scores of a row; return whether it has any. */
static bool score(const attention *a, const cell *q, const cell *k, int64_t b, int64_t n, int64_t i, double *scores) {
    bool has = false;
    for (int64_t j = 0; j < a->columns; j++) {
        const bool hides = is_hidden(a, b, n, i, j);
        const double shift = a->pse ? a->pse[index_in(a->pse_sizes, b, n, i, j)].f : 0;
        scores[j] = hides ? LEAST : a->scale * (dot(q, k + j * a->width, a->width) + shift);
        has = has || !hides;
    }
    return has;
}

/* The factor that dropout gives a weight. */
static double kept(const attention *a, int64_t b, int64_t n, int64_t i, int64_t j) {
    if (!a->bits) return 1;
    const int64_t at = ((b * a->heads + n) * a->rows + i) * a->columns + j;
    return a->bits[at / 8].i >> at % 8 & 1 ? 1 / a->keep : 0;
}

static cell *load_heads(const aclsim_call *call, const arguments *at, int i, int64_t heads) {
    const aclTensor view = by_heads(tensor(call, i), call->arguments[at->scale + 5].text, heads);
    return load(&view, true);
}

static void store_heads(const aclsim_call *call, const arguments *at, int i, int64_t heads, const cell *cells) {
    const aclTensor view = by_heads(tensor(call, i), call->arguments[at->scale + 5].text, heads);
    store(&view, cells, true);
}

void kernel_attention(aclsim_call *call) {
    attention a = {0};
    if (is_nothing(call, 16, 4)) return;
    load_options(call, &FORWARD, &a);
    const cell *q = load_heads(call, &FORWARD, 0, a.heads), *k = load_heads(call, &FORWARD, 1, a.shared), *v = load_heads(call, &FORWARD, 2, a.shared);
    const int64_t count = a.batch * a.heads * a.rows;
    cell *out = zeros(count * a.depth), *most = zeros(count * TIMES), *sums = zeros(count * TIMES);
    double *scores = scratch((size_t)a.columns * sizeof *scores);
    for (int64_t row = 0; row < count; row++) {
        const int64_t b = row / a.rows / a.heads, n = row / a.rows % a.heads, i = row % a.rows;
        const int64_t source = (b * a.shared + n / (a.heads / a.shared)) * a.columns;
        const bool has = score(&a, q + row * a.width, k + source * a.width, b, n, i, scores);
        double largest = LEAST, sum = 0;
        for (int64_t j = 0; j < a.columns; j++) largest = fmax(largest, scores[j]);
        for (int64_t j = 0; j < a.columns; j++) sum += scores[j] = exp(scores[j] - largest);
        if (!has && a.skips) sum = GREATEST;
        for (int t = 0; t < TIMES; t++) most[row * TIMES + t].f = largest, sums[row * TIMES + t].f = sum;
        for (int64_t j = 0; j < a.columns && sum < GREATEST; j++) {
            const double weight = scores[j] / sum * kept(&a, b, n, i, j);
            for (int64_t d = 0; d < a.depth; d++) out[row * a.depth + d].f += weight * v[(source + j) * a.depth + d].f;
        }
    }
    store_heads(call, &FORWARD, 19, a.heads, out);
    store(tensor(call, 16), most, true);
    store(tensor(call, 17), sums, true);
    scratch_done();
}

void kernel_attention_backward(aclsim_call *call) {
    attention a = {0};
    if (is_nothing(call, 21, 3)) return;
    load_options(call, &BACKWARD, &a);
    const cell *q = load_heads(call, &BACKWARD, 0, a.heads), *k = load_heads(call, &BACKWARD, 1, a.shared), *v = load_heads(call, &BACKWARD, 2, a.shared);
    const cell *dy = load_heads(call, &BACKWARD, 3, a.heads), *out = load_heads(call, &BACKWARD, 11, a.heads);
    const cell *most = load(tensor(call, 8), true), *sums = load(tensor(call, 9), true);
    const int64_t count = a.batch * a.heads * a.rows, sources = a.batch * a.shared * a.columns;
    cell *dq = zeros(count * a.width), *dk = zeros(sources * a.width), *dv = zeros(sources * a.depth);
    double *scores = scratch((size_t)a.columns * sizeof *scores);
    for (int64_t row = 0; row < count; row++) {
        const int64_t b = row / a.rows / a.heads, n = row / a.rows % a.heads, i = row % a.rows;
        const int64_t source = (b * a.shared + n / (a.heads / a.shared)) * a.columns;
        score(&a, q + row * a.width, k + source * a.width, b, n, i, scores);
        const double along = dot(dy + row * a.depth, out + row * a.depth, a.depth);
        for (int64_t j = 0; j < a.columns; j++) {
            const int64_t at = source + j;
            const double weight = exp(scores[j] - most[row * TIMES].f) / sums[row * TIMES].f, factor = kept(&a, b, n, i, j);
            const double slope = weight * (dot(dy + row * a.depth, v + at * a.depth, a.depth) * factor - along) * a.scale;
            for (int64_t d = 0; d < a.depth; d++) dv[at * a.depth + d].f += weight * factor * dy[row * a.depth + d].f;
            for (int64_t d = 0; d < a.width; d++) {
                dq[row * a.width + d].f += slope * k[at * a.width + d].f;
                dk[at * a.width + d].f += slope * q[row * a.width + d].f;
            }
        }
    }
    store_heads(call, &BACKWARD, 21, a.heads, dq);
    store_heads(call, &BACKWARD, 22, a.shared, dk);
    store_heads(call, &BACKWARD, 23, a.shared, dv);
    scratch_done();
}
