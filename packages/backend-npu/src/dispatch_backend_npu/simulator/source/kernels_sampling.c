/* Sampling of images and volumes at the points of a grid, whose numbers are from -1 to 1, the last dim's first. */
#include "tensor.h"

enum { SPATIAL = 3, TAPS = 4 };
enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };
/* The elements along one dim, their weights, and the derivatives of these by the grid's number. */
typedef struct { int count; double places[TAPS], weights[TAPS], slopes[TAPS]; } taps;

static double inner(double place, double size) { return place > 0 ? (place < size - 1 ? place : size - 1) : 0; }

/* The place within the image, and in `turn` how far it moves with the place outside. */
static double kept(double place, double size, int padding, bool corners, double *turn) {
    *turn = 1;
    if (padding == ZEROS) return place;
    if (padding == REFLECTION) {
        const double least = corners ? 0 : -0.5, span = corners ? size - 1 : size;
        if (span == 0) return *turn = 0;
        const double away = fabs(place - least), extra = fmod(away, span);
        const bool odd = fmod(floor(away / span), 2) != 0;
        if (odd != (place < least)) *turn = -1;
        place = odd ? span - extra + least : extra + least;
    }
    if (!(place > 0 && place < size - 1)) *turn = 0;
    return inner(place, size);
}

/* The cubic convolution kernel with a = -0.75, or its derivative. */
static double cubic(double away, bool derivative) {
    const double a = -0.75, x = fabs(away);
    if (derivative) return copysign(1, away) * (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
    return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static taps line(double number, int64_t sizes, int mode, int padding, bool corners) {
    const double size = (double)sizes, step = corners ? (size - 1) / 2 : size / 2;
    double place = corners ? (number + 1) * step : ((number + 1) * size - 1) / 2, turn;
    if (mode == BICUBIC) {
        taps found = {.count = TAPS};
        const double low = floor(place);
        for (int k = 0; k < TAPS; k++) {
            found.places[k] = kept(low - 1 + k, size, padding, corners, &turn);
            found.weights[k] = cubic(place - low + 1 - k, false);
            found.slopes[k] = cubic(place - low + 1 - k, true) * step;
        }
        return found;
    }
    place = kept(place, size, padding, corners, &turn);
    if (mode == NEAREST) return (taps){1, {nearbyint(place)}, {1}, {0}};
    const double low = floor(place), share = place - low;
    return (taps){2, {low, low + 1}, {1 - share, share}, {-turn * step, turn * step}};
}

typedef struct { int dims, mode, padding; bool corners; int64_t batch, channels, points, plane; const int64_t *sizes; } sampling;

static sampling read_sampling(const aclsim_call *call, int input, int grid) {
    const aclTensor *x = tensor(call, input), *g = tensor(call, grid);
    sampling s = {.dims = x->rank - 2, .mode = (int)integer(call, grid + 1), .padding = (int)integer(call, grid + 2), .corners = integer(call, grid + 3),
                  .batch = x->sizes[0], .channels = x->sizes[1], .points = 1, .plane = 1, .sizes = x->sizes + 2};
    for (int d = 0; d < s.dims; d++) s.plane *= x->sizes[2 + d], s.points *= g->sizes[1 + d];
    return s;
}

/* Do one thing for each element around each point: `at` is its place, -1 outside, `weight` its weight, `slopes` by dim. */
#define FOR_EACH_ELEMENT(s, numbers) \
    for (int64_t point = 0; point < (s).batch * (s).points; point++) \
        for (taps lines[SPATIAL], *once = read_lines(&(s), &(numbers)[point * (s).dims], lines); once; once = NULL) \
            for (int corner = 0, corners = count_of(&(s), lines); corner < corners; corner++)

static taps *read_lines(const sampling *s, const cell *numbers, taps *lines) {
    for (int d = 0; d < s->dims; d++) lines[d] = line(numbers[s->dims - 1 - d].f, s->sizes[d], s->mode, s->padding, s->corners);
    return lines;
}

static int count_of(const sampling *s, const taps *lines) {
    int count = 1;
    for (int d = 0; d < s->dims; d++) count *= lines[d].count;
    return count;
}

static int64_t element_at(const sampling *s, const taps *lines, int corner, double *weight, double *slopes) {
    int64_t at = 0;
    *weight = 1;
    for (int d = 0; d < s->dims; d++) slopes[d] = 1;
    for (int d = 0; d < s->dims; corner /= lines[d].count, d++) {
        const int k = corner % lines[d].count;
        const double place = lines[d].places[k];
        *weight *= lines[d].weights[k];
        for (int e = 0; e < s->dims; e++) slopes[e] *= e == d ? lines[d].slopes[k] : lines[d].weights[k];
        if (!(place >= 0 && place < (double)s->sizes[d])) at = -1;
        if (at >= 0) at = at * s->sizes[d] + (int64_t)place;
    }
    return at;
}

static aclnnStatus check_sampling(const aclsim_call *call, int input, int grid, int result, int dims) {
    const aclTensor *x = tensor(call, input), *g = tensor(call, grid), *y = tensor(call, result);
    if (x->rank != dims + 2 || g->rank != dims + 2 || y->rank != dims + 2) return bad(call, "the tensors have another number of dimensions");
    if (g->dtype != x->dtype || y->dtype != x->dtype) return bad(call, "the tensors have different types");
    if (g->sizes[0] != x->sizes[0] || y->sizes[0] != x->sizes[0] || y->sizes[1] != x->sizes[1] || g->sizes[dims + 1] != dims) return bad(call, "the tensors do not fit");
    for (int d = 0; d < dims; d++)
        if (!x->sizes[2 + d] || y->sizes[2 + d] != g->sizes[1 + d]) return bad(call, "the result has another size than the grid");
    const int64_t mode = integer(call, grid + 1), padding = integer(call, grid + 2);
    if (mode < BILINEAR || mode > (dims == 2 ? BICUBIC : NEAREST) || padding < ZEROS || padding > REFLECTION) return bad(call, "no such mode");
    if (mode == BICUBIC && x->dtype == ACL_DOUBLE) return bad(call, "there is no bicubic interpolation of doubles");
    return 0;
}

static aclnnStatus check_sampling_backward(const aclsim_call *call, int dims) {
    PASS_ON(check_sampling(call, 1, 2, 0, dims));
    if (integer(call, 3) == BICUBIC) return bad(call, "there is no gradient of bicubic interpolation");
    if (length(call, 6) != 2) return bad(call, "the mask has two values");
    PASS_ON(same_sizes(call, 7, tensor(call, 1)->sizes, dims + 2));
    return same_sizes(call, 8, tensor(call, 2)->sizes, dims + 2);
}

aclnnStatus check_sample2(aclsim_call *call) { return check_sampling(call, 0, 1, 5, 2); }
aclnnStatus check_sample3(aclsim_call *call) { return check_sampling(call, 0, 1, 5, 3); }
aclnnStatus check_sample2_backward(aclsim_call *call) { return check_sampling_backward(call, 2); }
aclnnStatus check_sample3_backward(aclsim_call *call) { return check_sampling_backward(call, 3); }

void kernel_sample(aclsim_call *call) {
    const sampling s = read_sampling(call, 0, 1);
    const cell *x = load(tensor(call, 0), true), *numbers = load(tensor(call, 1), true);
    cell *y = zeros(aclsim_numel(tensor(call, 5)));
    FOR_EACH_ELEMENT(s, numbers) {
        double weight, slopes[SPATIAL];
        const int64_t at = element_at(&s, lines, corner, &weight, slopes), image = point / s.points * s.channels;
        for (int64_t c = image; c < image + s.channels && at >= 0; c++) y[c * s.points + point % s.points].f += x[c * s.plane + at].f * weight;
    }
    store(tensor(call, 5), y, true);
    scratch_done();
}

/* Results that the mask does not ask for are left as they are. */
void kernel_sample_backward(aclsim_call *call) {
    const sampling s = read_sampling(call, 1, 2);
    const cell *g = load(tensor(call, 0), true), *x = load(tensor(call, 1), true), *numbers = load(tensor(call, 2), true);
    cell *by_input = zeros(aclsim_numel(tensor(call, 7))), *by_grid = zeros(aclsim_numel(tensor(call, 8)));
    FOR_EACH_ELEMENT(s, numbers) {
        double weight, slopes[SPATIAL], along = 0;
        const int64_t at = element_at(&s, lines, corner, &weight, slopes), image = point / s.points * s.channels;
        for (int64_t c = image; c < image + s.channels && at >= 0; c++) {
            const double slope = g[c * s.points + point % s.points].f;
            by_input[c * s.plane + at].f += slope * weight;
            along += slope * x[c * s.plane + at].f;
        }
        for (int d = 0; d < s.dims; d++) by_grid[point * s.dims + s.dims - 1 - d].f += along * slopes[d];
    }
    if (values(call, 6)[0]) store(tensor(call, 7), by_input, true);
    if (values(call, 6)[1]) store(tensor(call, 8), by_grid, true);
    scratch_done();
}
