/* The functions that kernels use: tensors are read into plain rows of cells, and results are written back.
 *
 * A kernel computes in double where a floating dtype takes part, else in int64_t, and rounds once, when it stores.
 */
#ifndef TENSOR_H
#define TENSOR_H

#include "aclsim.h"

#include <math.h>
#include <stdlib.h>

typedef union { double f; int64_t i; } cell;

/* Memory until the kernel is done. */
void *scratch(size_t size);
void scratch_done(void);
cell *zeros(int64_t count);

/* Read a view, element by element in row-major order, and write one. */
cell *load(const aclTensor *view, bool real);
cell held(aclDataType dtype, cell c, bool real); /* a value converted to the dtype */
cell *load_as(const aclTensor *view, aclDataType dtype, bool real); /* the elements, converted to another dtype */
void store(const aclTensor *view, const cell *cells, bool real);
/* One element, `at` elements from the beginning of the data (the offset included). */
cell read_at(const aclTensor *view, int64_t at, bool real);
void write_at(const aclTensor *view, int64_t at, cell value, bool real);

/* Views of views. */
aclTensor expanded(const aclTensor *view, const int64_t *sizes, int rank);
aclTensor dims_last(const aclTensor *view, const int64_t *dims, int64_t count);
aclTensor turned(const aclTensor *view, int64_t dim); /* one dim last */
int64_t length_of(const aclTensor *view);             /* of the last dim */
aclTensor without_dims(const aclTensor *view, const int64_t *dims, int64_t count);
aclTensor narrowed(const aclTensor *view, int dim, int64_t start, int64_t length);
/* The position of the index-th element, dim by dim; the offset of a position, for read_at; the offset of an element. */
void positions(const aclTensor *view, int64_t index, int64_t *where);
int64_t place(const aclTensor *view, const int64_t *where);
int64_t element(const aclTensor *view, int64_t index);
void copy_all(const aclTensor *to, const aclTensor *from, bool real);

/* Arguments. */
static inline const aclTensor *tensor(const aclsim_call *call, int i) { return &call->arguments[i].tensors[0]; }
int output(const aclsim_call *call, int n); /* the n-th argument that is written, as its number; -1 after the last */
static inline bool given(const aclsim_call *call, int i) { return call->arguments[i].count > 0; }
static inline int64_t integer(const aclsim_call *call, int i) { return call->arguments[i].integer; }
static inline const int64_t *values(const aclsim_call *call, int i) { return call->arguments[i].values; }
static inline int64_t length(const aclsim_call *call, int i) { return call->arguments[i].count; }
/* The d-th number of an array that may have one for all dims. */
static inline int64_t nth(const aclsim_call *call, int i, int d) { return values(call, i)[length(call, i) == 1 ? 0 : d]; }
double scalar_real(const aclsim_call *call, int i);
int64_t scalar_integer(const aclsim_call *call, int i);
static inline cell scalar_cell(const aclsim_call *call, int i, bool real) {
    return real ? (cell){.f = scalar_real(call, i)} : (cell){.i = scalar_integer(call, i)};
}

/* Dtypes. */
aclDataType promoted(const aclsim_call *call);  /* of the operands, except a truth-valued condition */
bool computes_real(const aclsim_call *call);    /* whether an operand has a floating dtype */
bool tensors_real(const aclsim_call *call);     /* the same, without scalars */
/* A floating dtype is moved as double, others as int64_t: no element changes. */
static inline bool moves_real(const aclTensor *view) { return aclsim_is_real(view->dtype); }

/* Checks of phase one; `bad` returns 161002 with the message. */
aclnnStatus bad(const aclsim_call *call, const char *message);
int64_t wrapped(int64_t dim, int rank);
aclnnStatus same_sizes(const aclsim_call *call, int i, const int64_t *sizes, int rank);
aclnnStatus needs_short_floats(const aclsim_call *call, int i); /* float, float16 or bfloat16 */
aclnnStatus needs_integers(const aclsim_call *call, int i);    /* indices: int64 or int32 */
aclnnStatus check_images(const aclsim_call *call, int i);       /* a format of images */
aclnnStatus check_mask(const aclsim_call *call, int mask, int first); /* three results from `first` on */
aclnnStatus check_map(aclsim_call *call);
enum { ANY_RESULT = 1, REAL_RESULT = 2, INTEGER_ONLY = 4, OWN_DTYPE = 8 };
aclnnStatus check_map_result(aclsim_call *call, int rules);
int broadcast(const aclsim_call *call, aclTensor *wide);
aclnnStatus check_loss(aclsim_call *call, int reduction);
void store_loss(const aclsim_call *call, const cell *cells, int64_t count, int64_t reduction);
uint64_t workspace_of_results(const aclsim_call *call);

/* ---- Functions of the expressions in operators.txt beyond the C library ---- */

#define EITHER(a, b, real, whole) _Generic((a) + (b), double: real, default: whole)(a, b)
static inline double max_real(double a, double b) { return a > b || a != a ? a : b; }
static inline int64_t max_whole(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double min_real(double a, double b) { return a < b || a != a ? a : b; }
static inline int64_t min_whole(int64_t a, int64_t b) { return a < b ? a : b; }
static inline double modulo_real(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t modulo_whole(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t fmod_whole(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline double quotient_real(double a, double b) {
    if (b == 0) return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign(0, a / b);
    double f = floor(q);
    return q - f > 0.5 ? f + 1 : f;
}
static inline int64_t truncated_whole(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? (int64_t)-(uint64_t)a : a / b; }
static inline int64_t quotient_whole(int64_t a, int64_t b) {
    int64_t q = truncated_whole(a, b);
    return b != 0 && a % (b == -1 ? 1 : b) && (a < 0) != (b < 0) ? q - 1 : q;
}
static inline double truncated_real(double a, double b) { return trunc(a / b); }
static inline int64_t pow_whole(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t result = 1, base = (uint64_t)a;
    for (; b; b >>= 1, base *= base) if (b & 1) result *= base;
    return (int64_t)result;
}
#define MAX(a, b) EITHER(a, b, max_real, max_whole)
#define MIN(a, b) EITHER(a, b, min_real, min_whole)
#define MODULO(a, b) EITHER(a, b, modulo_real, modulo_whole)
#define FMOD(a, b) EITHER(a, b, fmod, fmod_whole)
#define QUOTIENT(a, b) EITHER(a, b, quotient_real, quotient_whole)
#define TRUNCATED(a, b) EITHER(a, b, truncated_real, truncated_whole)
#define POW(a, b) EITHER(a, b, pow, pow_whole)
#define AS_FLOAT(x) (result->dtype == ACL_DOUBLE ? (double)(x) : (double)(float)(x))
#define SIGMOID(x) (1 / (1 + exp(-(x))))

static inline double gelu(double x, bool tanh_form) {
    return tanh_form ? 0.5 * x * (1 + tanh(M_SQRT2 * M_2_SQRTPI * 0.5 * (x + 0.044715 * x * x * x))) : 0.5 * x * (1 + erf(x * M_SQRT1_2));
}
static inline double gelu_slope(double x, bool tanh_form) {
    if (!tanh_form) return 0.5 * (1 + erf(x * M_SQRT1_2)) + x * exp(-0.5 * x * x) * M_SQRT1_2 * M_2_SQRTPI * 0.5;
    double k = M_SQRT2 * M_2_SQRTPI * 0.5, t = tanh(k * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
}
static inline double mish_slope(double x) {
    double t = tanh(max_real(x, 0) + log1p(exp(-fabs(x))));
    return t + x * SIGMOID(x) * (1 - t * t);
}

/* Newton's method from a rough start; the ends are infinite. */
static inline double erfinv(double y) {
    if (!(fabs(y) < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
    double l = log1p(-y * y), b = 2 / (M_PI * 0.147) + l / 2, x = copysign(sqrt(sqrt(b * b - l / 0.147) - b), y);
    for (int i = 0; i < 3; i++) {
        double slope = M_2_SQRTPI * exp(-x * x);
        if (slope > 0) x -= (y < 0 ? erfc(-x) - (1 + y) : (1 - y) - erfc(x)) / slope;
    }
    return x;
}
/* By reflection below 0, by recurrence up to 10, then the asymptotic series. */
static inline double digamma(double x) {
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0 && x == floor(x)) return NAN;
    double shift = 0;
    if (x < 0) shift = -M_PI / tan(M_PI * fmod(x, 1)), x = 1 - x;
    for (; x < 10; x++) shift -= 1 / x;
    double z = 1 / (x * x);
    return shift + log(x) - 0.5 / x - z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132)))));
}

/* ---- Indices ---- */

/* No first phase can refuse an index that is out of range, because it does not read elements: the kernel meets it, and the
 * device faults. It is taken modulo the size meanwhile, so that it stays within the memory. */
static inline int64_t in_range(int64_t index, int64_t size) {
    if (index < 0) index += size;
    if (index >= 0 && index < size) return index;
    aclsim_out_of_range = true;
    return size ? modulo_whole(index, size) : 0;
}

#endif
