/* Normalisation: each row of a tensor, or each channel, is shifted by its mean and divided by its deviation. */
#include "tensor.h"

static const cell *load_if(const aclsim_call *call, int i) { return given(call, i) ? load(tensor(call, i), true) : NULL; }

static void store_if(const aclsim_call *call, int i, const cell *cells) {
    if (given(call, i)) store(tensor(call, i), cells, true);
}

static aclnnStatus check_like(const aclsim_call *call, int i, int like) {
    const aclTensor *self = tensor(call, like);
    PASS_ON(needs_short_floats(call, like));
    return given(call, i) ? same_sizes(call, i, self->sizes, self->rank) : 0;
}

static aclnnStatus check_count(const aclsim_call *call, int i, int64_t count, const char *message) {
    return !given(call, i) || aclsim_numel(tensor(call, i)) == count ? 0 : bad(call, message);
}

/* Rows of `length` elements. The element j of row r takes the weight (r % cycle) * step + j / run. */
typedef struct { int64_t rows, length, cycle, step, run; } layout;

static int64_t weight_of(const layout *l, int64_t at) { return at / l->length % l->cycle * l->step + at % l->length / l->run; }

static void normalise(const layout *l, cell *x, cell *mean, cell *rstd, const cell *weight, const cell *bias, double eps) {
    for (int64_t r = 0; r < l->rows; r++) {
        cell *row = x + r * l->length;
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < l->length; j++) sum += row[j].f;
        mean[r].f = sum / (double)l->length;
        for (int64_t j = 0; j < l->length; j++) squares += (row[j].f - mean[r].f) * (row[j].f - mean[r].f);
        rstd[r].f = 1 / sqrt(squares / (double)l->length + eps);
    }
    for (int64_t i = 0; i < l->rows * l->length; i++) {
        const int64_t r = i / l->length, w = weight_of(l, i);
        x[i].f = (x[i].f - mean[r].f) * rstd[r].f * (weight ? weight[w].f : 1) + (bias ? bias[w].f : 0);
    }
}

/* Write the gradients of the operand into `g`; `weights` numbers of the other two are added up. */
static void normalise_backward(const layout *l, cell *g, const cell *x, const cell *mean, const cell *rstd, const cell *weight, cell *by_weight, cell *by_bias) {
    for (int64_t r = 0; r < l->rows; r++) {
        double sum = 0, product = 0;
        for (int64_t i = r * l->length; i < (r + 1) * l->length; i++) {
            const int64_t w = weight_of(l, i);
            const double unit = (x[i].f - mean[r].f) * rstd[r].f;
            by_weight[w].f += g[i].f * unit;
            by_bias[w].f += g[i].f;
            g[i].f *= weight ? weight[w].f : 1;
            sum += g[i].f;
            product += g[i].f * unit;
        }
        for (int64_t i = r * l->length; i < (r + 1) * l->length; i++) {
            const double unit = (x[i].f - mean[r].f) * rstd[r].f;
            g[i].f = rstd[r].f * (g[i].f - (sum + unit * product) / (double)l->length);
        }
    }
}

/* ---- By the last dims ---- */

static layout by_last_dims(const aclsim_call *call, int input, int shape) {
    layout l = {.length = 1, .cycle = 1, .run = 1};
    for (int64_t i = 0; i < call->arguments[shape].count; i++) l.length *= call->arguments[shape].values[i];
    l.rows = l.length ? aclsim_numel(tensor(call, input)) / l.length : 0;
    return l;
}

static aclnnStatus check_last_dims(const aclsim_call *call, int input, int shape) {
    const aclTensor *self = tensor(call, input);
    const int64_t count = call->arguments[shape].count;
    if (count < 1 || count > self->rank) return bad(call, "normalizedShape has other dimensions than input");
    for (int64_t i = 0; i < count; i++)
        if (call->arguments[shape].values[i] != self->sizes[self->rank - count + i]) return bad(call, "normalizedShape is not that of the last dimensions");
    return 0;
}

aclnnStatus check_layer_norm(aclsim_call *call) {
    PASS_ON(check_last_dims(call, 0, 1));
    const layout l = by_last_dims(call, 0, 1);
    PASS_ON(check_count(call, 2, l.length, "weight is not of normalizedShape"));
    PASS_ON(check_count(call, 3, l.length, "bias is not of normalizedShape"));
    PASS_ON(check_count(call, 6, aclsim_numel(tensor(call, 0)) ? l.rows : aclsim_numel(tensor(call, 6)), "meanOut has one element a row"));
    return check_like(call, 5, 0);
}

void kernel_layer_norm(aclsim_call *call) {
    const layout l = by_last_dims(call, 0, 1);
    cell *x = load(tensor(call, 0), true), *mean = zeros(l.rows), *rstd = zeros(l.rows);
    const cell *weight = load_if(call, 2), *bias = load_if(call, 3);
    normalise(&l, x, mean, rstd, weight, bias, call->arguments[4].real);
    store(tensor(call, 5), x, true);
    store_if(call, 6, mean);
    store_if(call, 7, rstd);
    scratch_done();
}

aclnnStatus check_layer_norm_backward(aclsim_call *call) {
    PASS_ON(check_last_dims(call, 1, 2));
    const layout l = by_last_dims(call, 1, 2);
    PASS_ON(check_mask(call, 7, 8));
    if (!aclsim_numel(tensor(call, 1))) return bad(call, "input has no elements");
    PASS_ON(check_count(call, 3, l.rows, "mean has one element a row"));
    PASS_ON(check_count(call, 4, l.rows, "rstd has one element a row"));
    PASS_ON(check_count(call, 9, l.length, "gradWeightOut is not of normalizedShape"));
    PASS_ON(check_count(call, 10, l.length, "gradBiasOut is not of normalizedShape"));
    return check_like(call, 8, 1);
}

void kernel_layer_norm_backward(aclsim_call *call) {
    const layout l = by_last_dims(call, 1, 2);
    cell *g = load(tensor(call, 0), true), *by_weight = zeros(l.length), *by_bias = zeros(l.length);
    const cell *x = load(tensor(call, 1), true), *mean = load(tensor(call, 3), true), *rstd = load(tensor(call, 4), true);
    normalise_backward(&l, g, x, mean, rstd, load_if(call, 5), by_weight, by_bias);
    store_if(call, 8, g);
    store_if(call, 9, by_weight);
    store_if(call, 10, by_bias);
    scratch_done();
}

/* ---- By groups of channels; N, C, HxW and group are four arguments in this order ---- */

static layout by_groups(const aclsim_call *call, int first) {
    const int64_t batch = integer(call, first), channels = integer(call, first + 1), area = integer(call, first + 2), groups = integer(call, first + 3);
    return (layout){.rows = batch * groups, .length = channels / groups * area, .cycle = groups, .step = channels / groups, .run = area};
}

static aclnnStatus check_groups(const aclsim_call *call, int input, int first) {
    const int64_t channels = integer(call, first + 1), groups = integer(call, first + 3);
    if (groups < 1 || channels % groups) return bad(call, "group does not divide C");
    return aclsim_numel(tensor(call, input)) == integer(call, first) * channels * integer(call, first + 2) ? 0 : bad(call, "the operand has other sizes than N, C and HxW");
}

aclnnStatus check_group_norm(aclsim_call *call) {
    PASS_ON(check_groups(call, 0, 3));
    if (!(call->arguments[7].real > 0)) return bad(call, "eps is not positive");
    PASS_ON(check_count(call, 1, integer(call, 4), "gamma has one element a channel"));
    PASS_ON(check_count(call, 2, integer(call, 4), "beta has one element a channel"));
    PASS_ON(same_sizes(call, 9, (int64_t[]){integer(call, 3), integer(call, 6)}, 2));
    PASS_ON(same_sizes(call, 10, (int64_t[]){integer(call, 3), integer(call, 6)}, 2));
    return check_like(call, 8, 0);
}

void kernel_group_norm(aclsim_call *call) {
    const layout l = by_groups(call, 3);
    cell *x = load(tensor(call, 0), true), *mean = zeros(l.rows), *rstd = zeros(l.rows);
    const cell *weight = load(tensor(call, 1), true), *bias = load(tensor(call, 2), true);
    normalise(&l, x, mean, rstd, weight, bias, call->arguments[7].real);
    store(tensor(call, 8), x, true);
    store(tensor(call, 9), mean, true);
    store(tensor(call, 10), rstd, true);
    scratch_done();
}

aclnnStatus check_group_norm_backward(aclsim_call *call) {
    PASS_ON(check_groups(call, 1, 5));
    PASS_ON(check_mask(call, 9, 10));
    const int64_t rows = integer(call, 5) * integer(call, 8);
    if (integer(call, 6) > 240000 || integer(call, 6) / integer(call, 8) > 8000) return bad(call, "a group has too many channels");
    PASS_ON(check_count(call, 2, rows, "mean has one element a group"));
    PASS_ON(check_count(call, 3, rows, "rstd has one element a group"));
    for (int i = 11; i < 13; i++) PASS_ON(check_count(call, i, integer(call, 6), "a gradient has one element a channel"));
    return check_like(call, 10, 1);
}

void kernel_group_norm_backward(aclsim_call *call) {
    const layout l = by_groups(call, 5);
    cell *g = load(tensor(call, 0), true), *by_weight = zeros(integer(call, 6)), *by_bias = zeros(integer(call, 6));
    const cell *x = load(tensor(call, 1), true), *mean = load(tensor(call, 2), true), *rstd = load(tensor(call, 3), true);
    normalise_backward(&l, g, x, mean, rstd, load_if(call, 4), by_weight, by_bias);
    store_if(call, 10, g);
    store_if(call, 11, by_weight);
    store_if(call, 12, by_bias);
    scratch_done();
}

/* ---- By channels: by their own mean and variance in a training, else by those of an earlier one ---- */

/* A chip saves the variances of a training, and takes them for the gradient; the last one has inverse deviations there. */
static bool saves_variance(void) { return aclsim_chip() != CHIPS - 1; }

static aclnnStatus check_channels(const aclsim_call *call, int input, int first, int last) {
    const aclTensor *self = tensor(call, input);
    if (self->rank < 2) return bad(call, "input has 2 to 8 dimensions");
    for (int i = first; i <= last; i++) PASS_ON(check_count(call, i, self->sizes[1], "a tensor has one element a channel"));
    return 0;
}

static aclnnStatus check_saved(const aclsim_call *call, bool training, int running, int saved) {
    const int needed = training ? saved : running;
    if (!given(call, needed) || !given(call, needed + 1))
        return bad(call, training ? "a training needs saveMean and saveInvstd" : "runningMean and runningVar are needed");
    return 0;
}

aclnnStatus check_batch_norm(aclsim_call *call) {
    const bool training = integer(call, 5);
    PASS_ON(check_channels(call, 0, 1, 4));
    PASS_ON(check_saved(call, training, 3, 9));
    if (training) PASS_ON(check_channels(call, 0, 9, 10));
    return check_like(call, 8, 0);
}

static int64_t area_of(const aclTensor *self) {
    int64_t area = 1;
    for (int d = 2; d < self->rank; d++) area *= self->sizes[d];
    return area;
}

/* The mean and the variance of each channel. */
static void measure(const cell *x, int64_t count, int64_t channels, int64_t area, cell *mean, cell *variance) {
    const double n = (double)(count / channels);
    for (int64_t i = 0; i < count; i++) mean[i / area % channels].f += x[i].f / n;
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / area % channels;
        variance[c].f += (x[i].f - mean[c].f) * (x[i].f - mean[c].f) / n;
    }
}

static void move_running(aclsim_call *call, int i, const cell *new, int64_t channels, double momentum, double factor) {
    if (!given(call, i)) return;
    cell *old = load(tensor(call, i), true);
    for (int64_t c = 0; c < channels; c++) old[c].f = (1 - momentum) * old[c].f + momentum * factor * new[c].f;
    store(tensor(call, i), old, true);
}

void kernel_batch_norm(aclsim_call *call) {
    const aclTensor *self = tensor(call, 0);
    const int64_t channels = self->sizes[1], area = area_of(self), count = aclsim_numel(self);
    const bool training = integer(call, 5);
    const double momentum = call->arguments[6].real, eps = call->arguments[7].real, n = (double)(count / channels);
    cell *x = load(self, true), *mean = training ? zeros(channels) : load(tensor(call, 3), true),
         *variance = training ? zeros(channels) : load(tensor(call, 4), true);
    const cell *weight = load_if(call, 1), *bias = load_if(call, 2);
    if (training) {
        measure(x, count, channels, area, mean, variance);
        move_running(call, 3, mean, channels, momentum, 1);
        move_running(call, 4, variance, channels, momentum, n / (n - 1));
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / area % channels;
        x[i].f = (x[i].f - mean[c].f) / sqrt(variance[c].f + eps) * (weight ? weight[c].f : 1) + (bias ? bias[c].f : 0);
    }
    store(tensor(call, 8), x, true);
    if (training) {
        if (!saves_variance()) for (int64_t c = 0; c < channels; c++) variance[c].f = 1 / sqrt(variance[c].f + eps);
        store(tensor(call, 9), mean, true);
        store(tensor(call, 10), variance, true);
    }
    scratch_done();
}

aclnnStatus check_batch_norm_backward(aclsim_call *call) {
    const bool training = integer(call, 7);
    PASS_ON(check_channels(call, 1, 2, 4));
    PASS_ON(check_saved(call, training, 3, 5));
    if (training) PASS_ON(check_channels(call, 1, 5, 6));
    PASS_ON(check_mask(call, 9, 10));
    PASS_ON(check_channels(call, 1, 11, 12));
    return check_like(call, 10, 1);
}

void kernel_batch_norm_backward(aclsim_call *call) {
    const aclTensor *self = tensor(call, 1);
    const int64_t channels = self->sizes[1], area = area_of(self), count = aclsim_numel(self);
    const bool training = integer(call, 7);
    const double eps = call->arguments[8].real, n = (double)(count / channels);
    cell *g = load(tensor(call, 0), true), *by_weight = zeros(channels), *by_bias = zeros(channels), *rstd = zeros(channels);
    const cell *x = load(self, true), *weight = load_if(call, 2), *mean = load(tensor(call, training ? 5 : 3), true),
               *variance = load(tensor(call, training ? 6 : 4), true);
    for (int64_t c = 0; c < channels; c++)
        rstd[c].f = training && !saves_variance() ? variance[c].f : 1 / sqrt(variance[c].f + eps);
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / area % channels;
        by_weight[c].f += g[i].f * (x[i].f - mean[c].f) * rstd[c].f;
        by_bias[c].f += g[i].f;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t c = i / area % channels;
        if (training) g[i].f -= (by_bias[c].f + (x[i].f - mean[c].f) * rstd[c].f * by_weight[c].f) / n;
        g[i].f *= rstd[c].f * (weight ? weight[c].f : 1);
    }
    store_if(call, 10, g);
    store_if(call, 11, by_weight);
    store_if(call, 12, by_bias);
    scratch_done();
}

/* ---- By the root of the mean square ---- */

static aclnnStatus check_factor(const aclsim_call *call, int x, int gamma) {
    const aclTensor *self = tensor(call, x), *factor = tensor(call, gamma);
    PASS_ON(needs_short_floats(call, x));
    if (factor->dtype != self->dtype && (factor->dtype != ACL_FLOAT || self->dtype == ACL_FLOAT)) return bad(call, "gamma has another dtype than x");
    if (factor->rank < 1 || factor->rank > self->rank) return bad(call, "gamma has the last dimensions of x");
    for (int d = 0; d < factor->rank; d++)
        if (factor->sizes[d] != self->sizes[self->rank - factor->rank + d]) return bad(call, "gamma has the last dimensions of x");
    return 0;
}

aclnnStatus check_rms_norm(aclsim_call *call) {
    const aclTensor *x = tensor(call, 0), *gamma = tensor(call, 1), *y = tensor(call, 3), *rstd = tensor(call, 4);
    int64_t sizes[MAX_DIMS];
    PASS_ON(check_factor(call, 0, 1));
    for (int d = 0; d < x->rank; d++) sizes[d] = d < x->rank - gamma->rank ? x->sizes[d] : 1;
    if (y->dtype != x->dtype || rstd->dtype != ACL_FLOAT) return bad(call, "yOut has the dtype of x, rstdOut float");
    PASS_ON(same_sizes(call, 3, x->sizes, x->rank));
    return same_sizes(call, 4, sizes, x->rank);
}

void kernel_rms_norm(aclsim_call *call) {
    cell *x = load(tensor(call, 0), true);
    const cell *gamma = load(tensor(call, 1), true);
    const int64_t length = aclsim_numel(tensor(call, 1)), rows = aclsim_numel(tensor(call, 0)) / length;
    cell *rstd = scratch((size_t)rows * sizeof *rstd);
    for (int64_t r = 0; r < rows; r++) {
        double squares = 0;
        for (int64_t j = 0; j < length; j++) squares += x[r * length + j].f * x[r * length + j].f;
        rstd[r].f = 1 / sqrt(squares / (double)length + call->arguments[2].real);
        for (int64_t j = 0; j < length; j++) x[r * length + j].f *= rstd[r].f * gamma[j].f;
    }
    store(tensor(call, 3), x, true);
    store(tensor(call, 4), rstd, true);
    scratch_done();
}

aclnnStatus check_rms_norm_backward(aclsim_call *call) {
    const aclTensor *dy = tensor(call, 0), *x = tensor(call, 1), *gamma = tensor(call, 3);
    PASS_ON(check_factor(call, 1, 3));
    if (x->rank < 2) return bad(call, "x has at least two dimensions");
    if (dy->dtype != x->dtype || tensor(call, 4)->dtype != x->dtype) return bad(call, "dy and dxOut have the dtype of x");
    if (tensor(call, 2)->dtype != ACL_FLOAT || tensor(call, 5)->dtype != ACL_FLOAT) return bad(call, "rstd and dgammaOut are of float");
    PASS_ON(same_sizes(call, 0, x->sizes, x->rank));
    PASS_ON(same_sizes(call, 2, x->sizes, x->rank - gamma->rank));
    PASS_ON(same_sizes(call, 4, x->sizes, x->rank));
    return same_sizes(call, 5, gamma->sizes, gamma->rank);
}

void kernel_rms_norm_backward(aclsim_call *call) {
    cell *g = load(tensor(call, 0), true);
    const cell *x = load(tensor(call, 1), true), *rstd = load(tensor(call, 2), true), *gamma = load(tensor(call, 3), true);
    const int64_t length = aclsim_numel(tensor(call, 3)), rows = aclsim_numel(tensor(call, 1)) / length;
    cell *by_gamma = zeros(length);
    for (int64_t r = 0; r < rows; r++) {
        double product = 0;
        for (int64_t j = 0; j < length; j++) {
            const int64_t i = r * length + j;
            by_gamma[j].f += g[i].f * x[i].f * rstd[r].f;
            g[i].f *= gamma[j].f;
            product += g[i].f * x[i].f * rstd[r].f;
        }
        for (int64_t i = r * length; i < (r + 1) * length; i++)
            g[i].f = rstd[r].f * (g[i].f - x[i].f * rstd[r].f * product / (double)length);
    }
    store(tensor(call, 4), g, true);
    store(tensor(call, 5), by_gamma, true);
    scratch_done();
}
