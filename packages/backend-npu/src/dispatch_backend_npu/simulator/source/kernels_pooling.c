/* Pooling: windows over the last dims, of any position or so that the result has a wanted size. */
#include "tensor.h"

/* ---- Pooling: a window for each place of the result, by dim. `span` counts the padding, too. ---- */

typedef struct { int64_t begin, end, span; } window;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static window *sliding(const aclsim_call *call, int kernel, int d, int64_t size, int64_t count) {
    const int64_t width = nth(call, kernel, d), padding = nth(call, kernel + 2, d);
    const int64_t stride = length(call, kernel + 1) ? nth(call, kernel + 1, d) : width;
    window *windows = scratch((size_t)(count ? count : 1) * sizeof *windows);
    for (int64_t o = 0; o < count; o++) {
        const int64_t begin = o * stride - padding, end = smaller(begin + width, size + padding);
        windows[o] = (window){begin < 0 ? 0 : begin, smaller(end, size), end - begin};
    }
    return windows;
}

static window *adaptive(int64_t size, int64_t count) {
    window *windows = scratch((size_t)(count ? count : 1) * sizeof *windows);
    for (int64_t o = 0; o < count; o++) {
        const int64_t begin = o * size / count, end = ((o + 1) * size + count - 1) / count;
        windows[o] = (window){begin, end, end - begin};
    }
    return windows;
}

typedef struct { int64_t planes, height, width, rows, columns; const window *down, *across; } pooling;

/* The pooling of `in` to `out`; `kernel` is the number of that argument, -1 where the windows follow from the sizes. */
static pooling read_pooling(const aclsim_call *call, const aclTensor *in, const aclTensor *out, int kernel) {
    pooling p = {.height = in->sizes[in->rank - 2], .width = in->sizes[in->rank - 1], .rows = out->sizes[out->rank - 2], .columns = out->sizes[out->rank - 1]};
    p.planes = p.height && p.width ? aclsim_numel(in) / (p.height * p.width) : 0;
    p.down = kernel < 0 ? adaptive(p.height, p.rows) : sliding(call, kernel, 0, p.height, p.rows);
    p.across = kernel < 0 ? adaptive(p.width, p.columns) : sliding(call, kernel, 1, p.width, p.columns);
    return p;
}

#define FOR_EACH_WINDOW(p) \
    for (int64_t at = 0; at < (p).planes * (p).rows * (p).columns; at++) \
        for (const window *v = &(p).down[at / (p).columns % (p).rows], *h = &(p).across[at % (p).columns], *once = v; once; once = NULL)
#define FOR_EACH_PLACE(p) \
    for (int64_t y = v->begin; y < v->end; y++) \
        for (int64_t x = h->begin, from = (at / ((p).rows * (p).columns) * (p).height + y) * (p).width + x; x < h->end; x++, from++)

static void average(const pooling *p, cell *large, cell *small, bool backward, bool padded, int64_t divisor) {
    FOR_EACH_WINDOW(*p) {
        const int64_t inside = (v->end - v->begin) * (h->end - h->begin);
        const double scale = 1 / (double)(divisor ? divisor : padded ? v->span * h->span : inside);
        FOR_EACH_PLACE(*p) {
            if (backward) large[from].f += small[at].f * scale;
            else small[at].f += large[from].f * scale;
        }
    }
}

static aclnnStatus check_pooled(const aclsim_call *call, int in, int out) {
    const aclTensor *x = tensor(call, in), *y = tensor(call, out);
    PASS_ON(check_images(call, in));
    if (x->rank < 3 || x->rank > 4 || y->rank != x->rank) return bad(call, "images have 3 or 4 dimensions");
    for (int d = 0; d < x->rank - 2; d++)
        if (x->sizes[d] != y->sizes[d]) return bad(call, "the result has other planes than the operand");
    return 0;
}

/* The argument after kernel, stride and padding is ceilMode, or dilation and ceilMode. */
static aclnnStatus check_sliding(const aclsim_call *call, int in, int out, int kernel, bool dilated) {
    PASS_ON(check_pooled(call, in, out));
    const bool ceiling = integer(call, kernel + 3 + dilated);
    for (int i = kernel; i < kernel + 3 + dilated; i++)
        if (length(call, i) > 2 || (i != kernel + 1 && !length(call, i))) return bad(call, "windows have one or two numbers");
    for (int d = 0; d < 2; d++) {
        const int64_t width = nth(call, kernel, d), padding = nth(call, kernel + 2, d);
        const int64_t stride = length(call, kernel + 1) ? nth(call, kernel + 1, d) : width;
        const int64_t size = tensor(call, in)->sizes[tensor(call, in)->rank - 2 + d];
        if (width < 1 || stride < 1 || padding < 0 || padding > width / 2) return bad(call, "a window does not fit its padding");
        if (dilated && nth(call, kernel + 3, d) != 1) return bad(call, "dilation is 1");
        int64_t count = (size + 2 * padding - width + (ceiling ? stride - 1 : 0)) / stride + 1;
        if (ceiling && (count - 1) * stride >= size + padding) count--;
        if (count != tensor(call, out)->sizes[tensor(call, out)->rank - 2 + d]) return bad(call, "the result has another size than the windows give");
    }
    return 0;
}

aclnnStatus check_avg_pool(aclsim_call *call) {
    PASS_ON(needs_short_floats(call, 0));
    return check_sliding(call, 0, 8, 1, false);
}

void kernel_avg_pool(aclsim_call *call) {
    const aclTensor *out = tensor(call, 8);
    const pooling p = read_pooling(call, tensor(call, 0), out, 1);
    cell *x = load(tensor(call, 0), true), *y = zeros(aclsim_numel(out));
    average(&p, x, y, false, integer(call, 5), integer(call, 6));
    store(out, y, true);
    scratch_done();
}

aclnnStatus check_avg_pool_backward(aclsim_call *call) {
    PASS_ON(needs_short_floats(call, 0));
    PASS_ON(same_sizes(call, 9, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_sliding(call, 1, 0, 2, false);
}

void kernel_avg_pool_backward(aclsim_call *call) {
    const aclTensor *out = tensor(call, 9);
    const pooling p = read_pooling(call, out, tensor(call, 0), 2);
    cell *g = load(tensor(call, 0), true), *x = zeros(aclsim_numel(out));
    average(&p, x, g, true, integer(call, 6), integer(call, 7));
    store(out, x, true);
    scratch_done();
}

aclnnStatus check_adaptive_avg_pool(aclsim_call *call) {
    PASS_ON(needs_short_floats(call, 0));
    return check_pooled(call, 0, 2);
}

void kernel_adaptive_avg_pool(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const pooling p = read_pooling(call, tensor(call, 0), out, -1);
    cell *x = load(tensor(call, 0), true), *y = zeros(aclsim_numel(out));
    average(&p, x, y, false, false, 0);
    store(out, y, true);
    scratch_done();
}

aclnnStatus check_adaptive_avg_pool_backward(aclsim_call *call) {
    PASS_ON(needs_short_floats(call, 0));
    PASS_ON(same_sizes(call, 2, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_pooled(call, 1, 0);
}

void kernel_adaptive_avg_pool_backward(aclsim_call *call) {
    const aclTensor *out = tensor(call, 2);
    const pooling p = read_pooling(call, out, tensor(call, 0), -1);
    cell *g = load(tensor(call, 0), true), *x = zeros(aclsim_numel(out));
    average(&p, x, g, true, false, 0);
    store(out, x, true);
    scratch_done();
}

/* The largest element of each window, the first of several, and its place in the plane; a nan is larger than everything. */
static void largest(const aclsim_call *call, int kernel, int values_out, int places_out) {
    const aclTensor *out = tensor(call, values_out);
    const pooling p = read_pooling(call, tensor(call, 0), out, kernel);
    const cell *cells = load(tensor(call, 0), true);
    cell *most = zeros(aclsim_numel(out)), *place = zeros(aclsim_numel(out));
    FOR_EACH_WINDOW(p) {
        most[at].f = -INFINITY, place[at].i = v->begin * p.width + h->begin;
        FOR_EACH_PLACE(p) if (cells[from].f > most[at].f || isnan(cells[from].f)) most[at] = cells[from], place[at].i = y * p.width + x;
    }
    store(out, most, true);
    store(tensor(call, places_out), place, false);
}

static aclnnStatus check_places(const aclsim_call *call, int i, const aclTensor *like) {
    if (tensor(call, i)->dtype != ACL_INT32 && tensor(call, i)->dtype != ACL_INT64) return bad(call, "indices must hold int64 or int32");
    return same_sizes(call, i, like->sizes, like->rank);
}

aclnnStatus check_max_pool(aclsim_call *call) {
    PASS_ON(needs_short_floats(call, 0));
    PASS_ON(check_places(call, 7, tensor(call, 6)));
    return check_sliding(call, 0, 6, 1, true);
}

void kernel_max_pool(aclsim_call *call) {
    largest(call, 1, 6, 7);
    scratch_done();
}

aclnnStatus check_adaptive_max_pool(aclsim_call *call) {
    PASS_ON(check_places(call, 3, tensor(call, 2)));
    if (tensor(call, 3)->dtype != ACL_INT64) return bad(call, "indicesOut must hold int64");
    return check_pooled(call, 0, 2);
}

void kernel_adaptive_max_pool(aclsim_call *call) {
    largest(call, -1, 2, 3);
    scratch_done();
}

aclnnStatus check_max_pool_backward(aclsim_call *call) {
    if (tensor(call, 0)->dtype != ACL_FLOAT || tensor(call, 2)->dtype != ACL_INT32) return bad(call, "gradOutput must hold float, indices int32");
    PASS_ON(check_places(call, 2, tensor(call, 0)));
    PASS_ON(same_sizes(call, 8, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_sliding(call, 1, 0, 3, true);
}

void kernel_max_pool_backward(aclsim_call *call) {
    const aclTensor *gradient = tensor(call, 0), *out = tensor(call, 8);
    const int64_t count = aclsim_numel(gradient), plane = out->sizes[out->rank - 1] * out->sizes[out->rank - 2];
    const int64_t places = gradient->sizes[gradient->rank - 1] * gradient->sizes[gradient->rank - 2];
    const cell *g = load(gradient, true), *index = load(tensor(call, 2), false);
    cell *sums = zeros(aclsim_numel(out));
    for (int64_t i = 0; i < count; i++) sums[i / places * plane + modulo_whole(index[i].i, plane)].f += g[i].f;
    store(out, sums, true);
    scratch_done();
}

