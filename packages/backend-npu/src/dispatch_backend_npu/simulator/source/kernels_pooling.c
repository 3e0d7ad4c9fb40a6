/* Pooling: windows over the last two or three dims, that slide or lie so that the result has a wanted size. */
#include "tensor.h"

enum { SPATIAL = 3 };
typedef struct { int64_t begin, end, span; } window; /* `span` counts the padding, too */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static window *windows_for(int64_t count) { return scratch((size_t)(count ? count : 1) * sizeof(window)); }

static int64_t stride_of(const aclsim_call *call, int kernel, int d) {
    return length(call, kernel + 1) ? nth(call, kernel + 1, d) : nth(call, kernel, d);
}

static window *sliding(const aclsim_call *call, int kernel, int d, int64_t size, int64_t count) {
    window *windows = windows_for(count);
    for (int64_t o = 0; o < count; o++) {
        const int64_t padding = nth(call, kernel + 2, d), begin = o * stride_of(call, kernel, d) - padding;
        const int64_t end = smaller(begin + nth(call, kernel, d), size + padding);
        windows[o] = (window){begin < 0 ? 0 : begin, smaller(end, size), end - begin};
    }
    return windows;
}

static window *adaptive(int64_t size, int64_t count) {
    window *windows = windows_for(count);
    for (int64_t o = 0; o < count; o++) {
        const int64_t begin = o * size / count, end = ((o + 1) * size + count - 1) / count;
        windows[o] = (window){begin, end, end - begin};
    }
    return windows;
}

/* Images are volumes of one layer. */
typedef struct { int64_t planes, sizes[SPATIAL], counts[SPATIAL]; const window *lines[SPATIAL]; } pooling;

/* The pooling of `in` to `out`; `kernel` is the number of that argument, -1 where the windows follow from the sizes. */
static pooling read_pooling(const aclsim_call *call, const aclTensor *in, const aclTensor *out, int dims, int kernel) {
    pooling p = {.planes = 1};
    for (int d = 0; d < in->rank - dims; d++) p.planes *= in->sizes[d];
    for (int d = 0; d < SPATIAL; d++) {
        const int own = d - (SPATIAL - dims);
        p.sizes[d] = own < 0 ? 1 : in->sizes[in->rank - dims + own];
        p.counts[d] = own < 0 ? 1 : out->sizes[out->rank - dims + own];
        p.lines[d] = own < 0 || kernel < 0 ? adaptive(p.sizes[d], p.counts[d]) : sliding(call, kernel, own, p.sizes[d], p.counts[d]);
    }
    return p;
}

#define COUNT_OF(p) ((p).counts[0] * (p).counts[1] * (p).counts[2])
#define FOR_EACH_WINDOW(p) \
    for (int64_t at = 0; at < (p).planes * COUNT_OF(p); at++) \
        for (window w[SPATIAL] = {(p).lines[0][at / ((p).counts[1] * (p).counts[2]) % (p).counts[0]], (p).lines[1][at / (p).counts[2] % (p).counts[1]], \
                                  (p).lines[2][at % (p).counts[2]]}, *once = w; once; once = NULL)
#define FOR_EACH_PLACE(p) \
    for (int64_t z = w[0].begin; z < w[0].end; z++) \
        for (int64_t y = w[1].begin; y < w[1].end; y++) \
            for (int64_t x = w[2].begin, from = PLACE(p, z, y, x) + at / COUNT_OF(p) * (p).sizes[0] * (p).sizes[1] * (p).sizes[2]; x < w[2].end; x++, from++)
#define PLACE(p, z, y, x) (((z) * (p).sizes[1] + (y)) * (p).sizes[2] + (x))

static void average(const pooling *p, cell *large, cell *small, bool backward, bool padded, int64_t divisor) {
    FOR_EACH_WINDOW(*p) {
        int64_t inside = 1, span = 1;
        for (int d = 0; d < SPATIAL; d++) inside *= w[d].end - w[d].begin, span *= w[d].span;
        const double scale = 1 / (double)(divisor ? divisor : padded ? span : inside);
        FOR_EACH_PLACE(*p) {
            if (backward) large[from].f += small[at].f * scale;
            else small[at].f += large[from].f * scale;
        }
    }
}

static aclnnStatus check_pooled(const aclsim_call *call, int in, int out, int dims) {
    const aclTensor *x = tensor(call, in), *y = tensor(call, out);
    PASS_ON(check_images(call, in));
    if (x->rank < dims + 1 || x->rank > dims + 2 || y->rank != x->rank) return bad(call, "an image has one or two dimensions before its own");
    for (int d = 0; d < x->rank - dims; d++)
        if (x->sizes[d] != y->sizes[d]) return bad(call, "the result has other planes than the operand");
    return 0;
}

/* The argument after kernel, stride and padding is ceilMode, or dilation and ceilMode. */
static aclnnStatus check_sliding(const aclsim_call *call, int in, int out, int dims, int kernel, bool dilated) {
    PASS_ON(check_pooled(call, in, out, dims));
    const bool ceiling = integer(call, kernel + 3 + dilated);
    for (int i = kernel; i < kernel + 3 + dilated; i++)
        if (length(call, i) != 1 && length(call, i) != dims && (i != kernel + 1 || length(call, i))) return bad(call, "windows have one number, or one for each dimension");
    const aclTensor *x = tensor(call, in), *y = tensor(call, out);
    for (int d = 0; d < dims; d++) {
        const int64_t width = nth(call, kernel, d), padding = nth(call, kernel + 2, d), stride = stride_of(call, kernel, d);
        const int64_t size = x->sizes[x->rank - dims + d];
        if (width < 1 || stride < 1 || padding < 0 || padding > width / 2) return bad(call, "a window does not fit its padding");
        if (dilated && nth(call, kernel + 3, d) != 1) return bad(call, "dilation is 1");
        int64_t count = (size + 2 * padding - width + (ceiling ? stride - 1 : 0)) / stride + 1;
        if (ceiling && (count - 1) * stride >= size + padding) count--;
        if (count != y->sizes[y->rank - dims + d]) return bad(call, "the result has another size than the windows give");
    }
    return 0;
}

/* ---- Averages ---- */

static aclnnStatus check_average(const aclsim_call *call, int dims, int out) {
    PASS_ON(needs_short_floats(call, 0));
    for (int d = 0; d < dims && dims == 3; d++)
        if (nth(call, 1, d) > tensor(call, 0)->sizes[tensor(call, 0)->rank - dims + d]) return bad(call, "a window is larger than the image");
    return check_sliding(call, 0, out, dims, 1, false);
}

static aclnnStatus check_average_backward(const aclsim_call *call, int dims, int out) {
    PASS_ON(needs_short_floats(call, 0));
    PASS_ON(same_sizes(call, out, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_sliding(call, 1, 0, dims, 2, false);
}

static void run_average(const aclsim_call *call, int dims, int out) {
    const pooling p = read_pooling(call, tensor(call, 0), tensor(call, out), dims, 1);
    cell *x = load(tensor(call, 0), true), *y = zeros(aclsim_numel(tensor(call, out)));
    average(&p, x, y, false, integer(call, 5), integer(call, 6));
    store(tensor(call, out), y, true);
    scratch_done();
}

static void run_average_backward(const aclsim_call *call, int dims, int out) {
    const pooling p = read_pooling(call, tensor(call, out), tensor(call, 0), dims, 2);
    cell *g = load(tensor(call, 0), true), *x = zeros(aclsim_numel(tensor(call, out)));
    average(&p, x, g, true, integer(call, 6), integer(call, 7));
    store(tensor(call, out), x, true);
    scratch_done();
}

aclnnStatus check_avg_pool(aclsim_call *call) { return check_average(call, 2, 8); }
aclnnStatus check_avg_pool3(aclsim_call *call) { return check_average(call, 3, 7); }
aclnnStatus check_avg_pool_backward(aclsim_call *call) { return check_average_backward(call, 2, 9); }
aclnnStatus check_avg_pool3_backward(aclsim_call *call) { return check_average_backward(call, 3, 8); }
void kernel_avg_pool(aclsim_call *call) { run_average(call, 2, 8); }
void kernel_avg_pool3(aclsim_call *call) { run_average(call, 3, 7); }
void kernel_avg_pool_backward(aclsim_call *call) { run_average_backward(call, 2, 9); }
void kernel_avg_pool3_backward(aclsim_call *call) { run_average_backward(call, 3, 8); }

static aclnnStatus check_adaptive(const aclsim_call *call, int dims) {
    PASS_ON(needs_short_floats(call, 0));
    if (dims == 3 && length(call, 1) != dims) return bad(call, "outputSize has three numbers");
    return check_pooled(call, 0, 2, dims);
}

static aclnnStatus check_adaptive_backward(const aclsim_call *call, int dims) {
    PASS_ON(needs_short_floats(call, 0));
    PASS_ON(same_sizes(call, 2, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_pooled(call, 1, 0, dims);
}

static void run_adaptive(const aclsim_call *call, int dims) {
    const pooling p = read_pooling(call, tensor(call, 0), tensor(call, 2), dims, -1);
    cell *x = load(tensor(call, 0), true), *y = zeros(aclsim_numel(tensor(call, 2)));
    average(&p, x, y, false, false, 0);
    store(tensor(call, 2), y, true);
    scratch_done();
}

static void run_adaptive_backward(const aclsim_call *call, int dims) {
    const pooling p = read_pooling(call, tensor(call, 2), tensor(call, 0), dims, -1);
    cell *g = load(tensor(call, 0), true), *x = zeros(aclsim_numel(tensor(call, 2)));
    average(&p, x, g, true, false, 0);
    store(tensor(call, 2), x, true);
    scratch_done();
}

aclnnStatus check_adaptive_avg_pool(aclsim_call *call) { return check_adaptive(call, 2); }
aclnnStatus check_adaptive_avg_pool3(aclsim_call *call) { return check_adaptive(call, 3); }
aclnnStatus check_adaptive_avg_pool_backward(aclsim_call *call) { return check_adaptive_backward(call, 2); }
aclnnStatus check_adaptive_avg_pool3_backward(aclsim_call *call) { return check_adaptive_backward(call, 3); }
void kernel_adaptive_avg_pool(aclsim_call *call) { run_adaptive(call, 2); }
void kernel_adaptive_avg_pool3(aclsim_call *call) { run_adaptive(call, 3); }
void kernel_adaptive_avg_pool_backward(aclsim_call *call) { run_adaptive_backward(call, 2); }
void kernel_adaptive_avg_pool3_backward(aclsim_call *call) { run_adaptive_backward(call, 3); }

/* ---- The largest element of each window, the first of several, and its place; a nan is larger than everything ---- */

static void largest(const aclsim_call *call, int dims, int kernel, int values_out, int places_out) {
    const aclTensor *out = tensor(call, values_out);
    const pooling p = read_pooling(call, tensor(call, 0), out, dims, kernel);
    const cell *cells = load(tensor(call, 0), true);
    cell *most = zeros(aclsim_numel(out)), *place = zeros(aclsim_numel(out));
    FOR_EACH_WINDOW(p) {
        most[at].f = -INFINITY, place[at].i = PLACE(p, w[0].begin, w[1].begin, w[2].begin);
        FOR_EACH_PLACE(p) if (cells[from].f > most[at].f || isnan(cells[from].f)) most[at] = cells[from], place[at].i = PLACE(p, z, y, x);
    }
    store(out, most, true);
    store(tensor(call, places_out), place, false);
    scratch_done();
}

static aclnnStatus check_places(const aclsim_call *call, int i, const aclTensor *like) {
    PASS_ON(needs_integers(call, i));
    return same_sizes(call, i, like->sizes, like->rank);
}

static aclnnStatus check_largest(const aclsim_call *call, int dims) {
    PASS_ON(needs_short_floats(call, 0));
    PASS_ON(check_places(call, 7, tensor(call, 6)));
    return check_sliding(call, 0, 6, dims, 1, true);
}

static aclnnStatus check_adaptive_largest(const aclsim_call *call, int dims) {
    PASS_ON(check_places(call, 3, tensor(call, 2)));
    return check_pooled(call, 0, 2, dims);
}

aclnnStatus check_max_pool(aclsim_call *call) { return check_largest(call, 2); }
aclnnStatus check_max_pool3(aclsim_call *call) { return check_largest(call, 3); }
void kernel_max_pool(aclsim_call *call) { largest(call, 2, 1, 6, 7); }
void kernel_max_pool3(aclsim_call *call) { largest(call, 3, 1, 6, 7); }
aclnnStatus check_adaptive_max_pool(aclsim_call *call) { return check_adaptive_largest(call, 2); }
aclnnStatus check_adaptive_max_pool3(aclsim_call *call) { return check_adaptive_largest(call, 3); }
void kernel_adaptive_max_pool(aclsim_call *call) { largest(call, 2, -1, 2, 3); }
void kernel_adaptive_max_pool3(aclsim_call *call) { largest(call, 3, -1, 2, 3); }

/* ---- Elements that go to places: gradients add up there, and an inverse leaves the last ---- */

static void send(const aclsim_call *call, int dims, int from, int places, int to, bool adds) {
    const aclTensor *small = tensor(call, from), *large = tensor(call, to);
    int64_t size = 1, count = 1;
    for (int d = 1; d <= dims; d++) size *= large->sizes[large->rank - d], count *= small->sizes[small->rank - d];
    const bool real = moves_real(small);
    const cell *cells = load(small, real), *index = load(tensor(call, places), false);
    cell *found = zeros(aclsim_numel(large));
    for (int64_t i = 0, all = aclsim_numel(small); i < all; i++) {
        cell *there = &found[i / count * size + in_range(index[i].i, size)];
        if (adds) there->f += cells[i].f;
        else *there = cells[i];
    }
    store(large, found, real);
    scratch_done();
}

static aclnnStatus check_largest_backward(const aclsim_call *call, int dims) {
    if (tensor(call, 0)->dtype != tensor(call, 1)->dtype) return bad(call, "gradOutput and self have different types");
    PASS_ON(check_places(call, 2, tensor(call, 0)));
    PASS_ON(same_sizes(call, 8, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_sliding(call, 1, 0, dims, 3, true);
}

aclnnStatus check_max_pool_backward(aclsim_call *call) { return check_largest_backward(call, 2); }
aclnnStatus check_max_pool3_backward(aclsim_call *call) { return check_largest_backward(call, 3); }
void kernel_max_pool_backward(aclsim_call *call) { send(call, 2, 0, 2, 8, true); }
void kernel_max_pool3_backward(aclsim_call *call) { send(call, 3, 0, 2, 8, true); }

aclnnStatus check_adaptive_max_pool3_backward(aclsim_call *call) {
    PASS_ON(check_places(call, 2, tensor(call, 0)));
    PASS_ON(same_sizes(call, 3, tensor(call, 1)->sizes, tensor(call, 1)->rank));
    return check_pooled(call, 1, 0, 3);
}

void kernel_adaptive_max_pool3_backward(aclsim_call *call) { send(call, 3, 0, 2, 3, true); }

static aclnnStatus check_inverse(const aclsim_call *call, int dims, int out) {
    const aclTensor *small = tensor(call, 0), *large = tensor(call, out);
    PASS_ON(check_places(call, 1, small));
    if (small->rank < dims + 1 || small->rank > dims + 2 || large->rank != small->rank || length(call, 2) != dims || large->dtype != small->dtype)
        return bad(call, "the tensors are no images of one type");
    int64_t count = 1, size = 1;
    for (int d = 0; d < small->rank; d++) {
        const int own = d - (small->rank - dims);
        if (large->sizes[d] != (own < 0 ? small->sizes[d] : values(call, 2)[own])) return bad(call, "the result has another size than outputSize");
        if (own >= 0) count *= small->sizes[d], size *= large->sizes[d];
    }
    return size < count ? bad(call, "outputSize has fewer elements than the images") : 0;
}

aclnnStatus check_max_unpool2(aclsim_call *call) { return check_inverse(call, 2, 3); }
void kernel_max_unpool2(aclsim_call *call) { send(call, 2, 0, 1, 3, false); }

aclnnStatus check_max_unpool3(aclsim_call *call) {
    if (length(call, 3) != 3 || length(call, 4) != 3) return bad(call, "stride and padding have three numbers");
    for (int d = 0; d < 3; d++)
        if (values(call, 3)[d] < 1) return bad(call, "stride is positive");
    return check_inverse(call, 3, 5);
}

void kernel_max_unpool3(aclsim_call *call) { send(call, 3, 0, 1, 5, false); }
