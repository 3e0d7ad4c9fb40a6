/* libopapi: reading and writing tensors, views of views, and the checks that families of operators share. */
#include "tensor.h"

/* ---- Memory until the kernel is done: a fixed piece, and further pieces where it is full ---- */

enum { FIXED = 1 << 16, EXTRA = 256 };
static _Alignas(16) char fixed[FIXED];
static size_t used;
static void *extra[EXTRA];
static int extras;

void *scratch(size_t size) {
    size = (size + 15) / 16 * 16;
    if (used + size <= FIXED) {
        void *piece = fixed + used;
        used += size;
        return piece;
    }
    if (extras == EXTRA) abort(); /* a kernel needs a few pieces, not one for each element */
    return extra[extras++] = malloc(size);
}

void scratch_done(void) {
    used = 0;
    while (extras) free(extra[--extras]);
}

cell *zeros(int64_t count) {
    cell *cells = scratch((size_t)(count ? count : 1) * sizeof *cells);
    memset(cells, 0, (size_t)count * sizeof *cells);
    return cells;
}

/* ---- Elements ---- */

static int64_t whole_of(double value) {
    if (value != value) return 0;
    if (value >= 9.2233720368547758e18) return INT64_MAX;
    if (value <= -9.2233720368547758e18) return INT64_MIN;
    return (int64_t)value;
}

/* For each dtype: its C type, an element as double, as int64_t, and back from both. */
#define FOR_EACH_DTYPE(X) \
    X(ACL_FLOAT, float, (double)v, whole_of((double)v), (float)c.f, (float)c.i) \
    X(ACL_DOUBLE, double, v, whole_of(v), c.f, (double)c.i) \
    X(ACL_FLOAT16, uint16_t, (double)aclsim_from_half(v), whole_of((double)aclsim_from_half(v)), aclsim_to_half((float)c.f), aclsim_to_half((float)c.i)) \
    X(ACL_BF16, uint16_t, (double)aclsim_from_bfloat(v), whole_of((double)aclsim_from_bfloat(v)), aclsim_to_bfloat((float)c.f), aclsim_to_bfloat((float)c.i)) \
    X(ACL_BOOL, uint8_t, (double)(v != 0), v != 0, c.f != 0, c.i != 0) \
    X(ACL_INT8, int8_t, (double)v, v, (int8_t)whole_of(c.f), (int8_t)c.i) \
    X(ACL_UINT8, uint8_t, (double)v, v, (uint8_t)whole_of(c.f), (uint8_t)c.i) \
    X(ACL_INT16, int16_t, (double)v, v, (int16_t)whole_of(c.f), (int16_t)c.i) \
    X(ACL_UINT16, uint16_t, (double)v, v, (uint16_t)whole_of(c.f), (uint16_t)c.i) \
    X(ACL_INT32, int32_t, (double)v, v, (int32_t)whole_of(c.f), (int32_t)c.i) \
    X(ACL_UINT32, uint32_t, (double)v, v, (uint32_t)whole_of(c.f), (uint32_t)c.i) \
    X(ACL_INT64, int64_t, (double)v, v, whole_of(c.f), c.i) \
    X(ACL_UINT64, uint64_t, (double)v, (int64_t)v, c.f >= 9.2e18 ? (uint64_t)c.f : (uint64_t)whole_of(c.f), (uint64_t)c.i)

/* A row: n elements that are `stride` apart. */
static void load_row(aclDataType dtype, const char *data, int64_t n, int64_t stride, cell *to, bool real) {
    switch ((int)dtype) {
#define CASE(name, type, as_real, as_whole, from_real, from_whole) \
    case name: { \
        const type *from = (const type *)data; \
        if (real) for (int64_t i = 0; i < n; i++) { type v = from[i * stride]; to[i].f = as_real; } \
        else for (int64_t i = 0; i < n; i++) { type v = from[i * stride]; to[i].i = as_whole; } \
    } break;
        FOR_EACH_DTYPE(CASE)
#undef CASE
        default: break;
    }
}

static void store_row(aclDataType dtype, char *data, int64_t n, int64_t stride, const cell *from, bool real) {
    switch ((int)dtype) {
#define CASE(name, type, as_real, as_whole, from_real, from_whole) \
    case name: { \
        type *to = (type *)data; \
        if (real) for (int64_t i = 0; i < n; i++) { cell c = from[i]; to[i * stride] = from_real; } \
        else for (int64_t i = 0; i < n; i++) { cell c = from[i]; to[i * stride] = from_whole; } \
    } break;
        FOR_EACH_DTYPE(CASE)
#undef CASE
        default: break;
    }
}

/* Walk a view by rows: set `at` to the offset of each, from the beginning of the data. */
#define FOR_EACH_ROW(view, at, row) \
    int64_t place[MAX_DIMS] = {0}, at = (view)->offset, row = 0; \
    const int outer = (view)->rank - 1; \
    const int64_t length = (view)->rank ? (view)->sizes[outer] : 1, step = (view)->rank ? (view)->strides[outer] : 1; \
    for (bool more = aclsim_numel(view) > 0; more; row++, more = advance(view, place, &at, outer))

static bool advance(const aclTensor *view, int64_t *place, int64_t *at, int outer) {
    for (int d = outer - 1; d >= 0; d--) {
        *at += view->strides[d];
        if (++place[d] < view->sizes[d]) return true;
        *at -= place[d] * view->strides[d];
        place[d] = 0;
    }
    return false;
}

cell *load(const aclTensor *view, bool real) {
    const int64_t item = (int64_t)aclsim_item_size(view->dtype);
    cell *cells = scratch((size_t)aclsim_numel(view) * sizeof *cells);
    FOR_EACH_ROW(view, at, row) load_row(view->dtype, view->data + at * item, length, step, cells + row * length, real);
    return cells;
}

void store(const aclTensor *view, const cell *cells, bool real) {
    const int64_t item = (int64_t)aclsim_item_size(view->dtype);
    FOR_EACH_ROW(view, at, row) store_row(view->dtype, view->data + at * item, length, step, cells + row * length, real);
}

cell read_at(const aclTensor *view, int64_t at, bool real) {
    cell value;
    load_row(view->dtype, view->data + at * (int64_t)aclsim_item_size(view->dtype), 1, 1, &value, real);
    return value;
}

void write_at(const aclTensor *view, int64_t at, cell value, bool real) {
    store_row(view->dtype, view->data + at * (int64_t)aclsim_item_size(view->dtype), 1, 1, &value, real);
}

void positions(const aclTensor *view, int64_t index, int64_t *where) {
    for (int d = view->rank - 1; d >= 0; d--) {
        where[d] = index % view->sizes[d];
        index /= view->sizes[d];
    }
}

int64_t place(const aclTensor *view, const int64_t *where) {
    int64_t at = view->offset;
    for (int d = 0; d < view->rank; d++) at += where[d] * view->strides[d];
    return at;
}

int64_t element(const aclTensor *view, int64_t index) {
    int64_t where[MAX_DIMS];
    positions(view, index, where);
    return place(view, where);
}

void copy_all(const aclTensor *to, const aclTensor *from, bool real) { store(to, load(from, real), real); }

/* ---- Views of views ---- */

aclTensor expanded(const aclTensor *view, const int64_t *sizes, int rank) {
    aclTensor wide = *view;
    wide.rank = rank;
    for (int i = 0; i < rank; i++) {
        int own = i - (rank - view->rank);
        wide.sizes[i] = sizes[i];
        wide.strides[i] = own < 0 || (view->sizes[own] == 1 && sizes[i] != 1) ? 0 : view->strides[own];
    }
    return wide;
}

int64_t wrapped(int64_t dim, int rank) { return dim < 0 ? dim + (rank ? rank : 1) : dim; }

static bool among(int dim, const int64_t *dims, int64_t count, int rank) {
    for (int64_t i = 0; i < count; i++)
        if (wrapped(dims[i], rank) == dim) return true;
    return false;
}

/* The dims that are named come last, in their own order; the others keep theirs. */
aclTensor dims_last(const aclTensor *view, const int64_t *dims, int64_t count) {
    aclTensor turned = *view;
    int at = 0;
    for (int named = 0; named < 2; named++)
        for (int d = 0; d < view->rank; d++)
            if (among(d, dims, count, view->rank) == (bool)named) {
                turned.sizes[at] = view->sizes[d];
                turned.strides[at++] = view->strides[d];
            }
    return turned;
}

aclTensor without_dims(const aclTensor *view, const int64_t *dims, int64_t count) {
    aclTensor less = *view;
    less.rank = 0;
    for (int d = 0; d < view->rank; d++)
        if (!among(d, dims, count, view->rank)) {
            less.sizes[less.rank] = view->sizes[d];
            less.strides[less.rank++] = view->strides[d];
        }
    return less;
}

aclTensor narrowed(const aclTensor *view, int dim, int64_t start, int64_t length) {
    aclTensor part = *view;
    part.offset += start * view->strides[dim];
    part.sizes[dim] = length;
    return part;
}

/* ---- Dtypes ---- */

static int category(aclDataType dtype) { return dtype == ACL_BOOL || dtype == ACL_DT_UNDEFINED ? 0 : aclsim_is_real(dtype) ? 2 : 1; }

/* Promotion as torch's: the higher category wins, then the wider dtype; signs and half types as torch has them. */
static aclDataType promote(aclDataType a, aclDataType b) {
    if (a == b || b == ACL_DT_UNDEFINED) return a;
    if (a == ACL_DT_UNDEFINED) return b;
    if (category(a) != category(b)) return category(a) > category(b) ? a : b;
    if ((a == ACL_FLOAT16 && b == ACL_BF16) || (a == ACL_BF16 && b == ACL_FLOAT16)) return ACL_FLOAT;
    size_t x = aclsim_item_size(a), y = aclsim_item_size(b);
    if (x != y) return x > y ? a : b;
    return a == ACL_UINT8 || b == ACL_UINT8 ? ACL_INT16 : a;
}

int output(const aclsim_call *call, int n) {
    for (int i = 0; i < call->op->count; i++) {
        const char role = call->op->roles[i];
        if ((role == 'o' || role == 'O' || role == 'r') && n-- == 0) return i;
    }
    return -1;
}

static bool is_read(const aclsim_call *call, int i) {
    char role = call->op->roles[i];
    return role == 'i' || role == 'I' || role == 'r';
}

/* Tensors without dims count only where their category is higher than that of all others. */
aclDataType promoted(const aclsim_call *call) {
    aclDataType wide = ACL_DT_UNDEFINED, narrow = ACL_DT_UNDEFINED;
    for (int i = 0; i < call->op->count; i++)
        if (is_read(call, i))
            for (int64_t j = 0; j < call->arguments[i].count; j++) {
                const aclTensor *t = &call->arguments[i].tensors[j];
                if (t->rank) wide = promote(wide, t->dtype);
                else narrow = promote(narrow, t->dtype);
            }
    if (wide == ACL_DT_UNDEFINED || narrow == ACL_DT_UNDEFINED) return wide == ACL_DT_UNDEFINED ? narrow : wide;
    return category(narrow) > category(wide) ? narrow : wide;
}

cell held(aclDataType dtype, cell c, bool real) {
    char memory[8];
    cell kept;
    store_row(dtype, memory, 1, 1, &c, real);
    load_row(dtype, memory, 1, 1, &kept, real);
    return kept;
}

cell *load_as(const aclTensor *view, aclDataType dtype, bool real) {
    cell *cells = load(view, real);
    if (view->dtype != dtype && category(dtype) && aclsim_is_real(dtype) == real)
        for (int64_t i = 0, n = aclsim_numel(view); i < n; i++) cells[i] = held(dtype, cells[i], real);
    return cells;
}

bool tensors_real(const aclsim_call *call) {
    for (int i = 0; i < call->op->count; i++)
        if (call->op->kinds[i] == 'T' || call->op->kinds[i] == 'L')
            for (int64_t j = 0; j < call->arguments[i].count; j++)
                if (aclsim_is_real(call->arguments[i].tensors[j].dtype)) return true;
    return false;
}

static bool scalars_real(const aclsim_call *call) {
    for (int i = 0; i < call->op->count; i++)
        if (call->op->kinds[i] == 'S' && given(call, i) && aclsim_is_real(call->arguments[i].scalar_dtype)) return true;
    return false;
}

bool computes_real(const aclsim_call *call) { return tensors_real(call) || scalars_real(call); }

/* A scalar is converted to the dtype of the tensors; a number among truth values stays one where the result is a number or
 * a test, and becomes a truth value where the result is one. */
double scalar_real(const aclsim_call *call, int i) {
    const aclsim_argument *a = &call->arguments[i];
    const aclDataType dtype = promoted(call);
    const cell value = {.f = aclsim_is_real(a->scalar_dtype) ? a->scalar_real : (double)a->scalar_integer};
    return aclsim_is_real(dtype) ? held(dtype, value, true).f : value.f;
}

int64_t scalar_integer(const aclsim_call *call, int i) {
    const aclsim_argument *a = &call->arguments[i];
    const aclDataType dtype = promoted(call);
    const cell value = {.i = aclsim_is_real(a->scalar_dtype) ? whole_of(a->scalar_real) : a->scalar_integer};
    return category(dtype) == 1 ? held(dtype, value, false).i : value.i;
}

/* ---- Checks ---- */

/* Arguments that an operator does not take are 161002. */
aclnnStatus bad(const aclsim_call *call, const char *message) {
    REFUSE(ACLNN_PARAM_INVALID, "%s: %s", call->op->phase_one, message);
}

/* The caller allocates results, of the shape that the operator documents: any other is 161002. */
aclnnStatus same_sizes(const aclsim_call *call, int i, const int64_t *sizes, int rank) {
    const aclTensor *t = tensor(call, i);
    bool same = t->rank == rank;
    for (int d = 0; d < rank && same; d++) same = t->sizes[d] == sizes[d];
    if (!same) REFUSE(ACLNN_PARAM_INVALID, "%s: %s does not have the shape that the operands give", call->op->phase_one, call->op->names[i]);
    return 0;
}

/* Return the number of operands, and set the sizes of `wide` to those that they broadcast to; -1 if they do not. */
int broadcast(const aclsim_call *call, aclTensor *wide) {
    int rank = 0, reads = 0;
    for (int i = 0; i < call->op->count; i++)
        if (is_read(call, i) && given(call, i) && tensor(call, i)->rank > rank) rank = tensor(call, i)->rank;
    wide->rank = rank;
    for (int d = 0; d < rank; d++) wide->sizes[d] = 1;
    for (int i = 0; i < call->op->count; i++) {
        if (!is_read(call, i) || !given(call, i)) continue;
        const aclTensor *t = tensor(call, i);
        reads++;
        for (int d = 0; d < t->rank; d++) {
            int64_t *size = &wide->sizes[rank - t->rank + d];
            if (t->sizes[d] == *size || t->sizes[d] == 1) continue;
            if (*size != 1) return -1;
            *size = t->sizes[d];
        }
    }
    return reads;
}

/* Element by element: operands broadcast to the shape of the result, which must be their common shape. */
aclnnStatus check_map(aclsim_call *call) {
    aclTensor wide;
    const int reads = broadcast(call, &wide), rank = wide.rank;
    const int64_t *sizes = wide.sizes;
    if (reads < 0) return bad(call, "the operands' shapes do not broadcast");
    for (int i = 0; i < call->op->count && reads; i++) {
        char role = call->op->roles[i];
        if (role == 'o' || role == 'O' || role == 'r') PASS_ON(given(call, i) ? same_sizes(call, i, sizes, rank) : 0);
    }
    return 0;
}

/* A floating result is not stored in an integer, as torch's out= refuses it, unless the operator is a cast or a test. */
aclnnStatus check_map_result(aclsim_call *call, int rules) {
    PASS_ON(check_map(call));
    bool real = computes_real(call);
    bool result_is_real = aclsim_is_real(promoted(call)) || (scalars_real(call) && !(rules & OWN_DTYPE));
    if (rules & INTEGER_ONLY && real) return bad(call, "takes integers and truth values only");
    for (int i = 0; i < call->op->count; i++) {
        char role = call->op->roles[i];
        if ((role != 'o' && role != 'r') || !given(call, i) || rules & ANY_RESULT) continue;
        aclDataType dtype = tensor(call, i)->dtype;
        if (!aclsim_is_real(dtype) && (rules & REAL_RESULT || result_is_real))
            return bad(call, "a floating result cannot be stored in an integer tensor");
        if (dtype == ACL_BOOL && category(promoted(call)) == 1) return bad(call, "an integer result cannot be stored in a truth value");
    }
    return 0;
}

/* The documents name FLOAT, FLOAT16 and BFLOAT16 for these, on the devices that the simulator stands for. */
aclnnStatus needs_short_floats(const aclsim_call *call, int i) {
    if (aclsim_is_real(tensor(call, i)->dtype) && tensor(call, i)->dtype != ACL_DOUBLE) return 0;
    REFUSE(ACLNN_PARAM_INVALID, "%s: %s must hold float, float16 or bfloat16", call->op->phase_one, call->op->names[i]);
}

aclnnStatus check_images(const aclsim_call *call, int i) {
    const aclTensor *t = tensor(call, i);
    /* Convolution and pooling are documented for the formats of images, not for ND. */
    if (t->format == ACL_FORMAT_ND) REFUSE(ACLNN_PARAM_INVALID, "%s: %s has format ND", call->op->phase_one, call->op->names[i]);
    return 0;
}

/* Results that the mask asks for must be there. */
aclnnStatus check_mask(const aclsim_call *call, int mask, int first) {
    if (call->arguments[mask].count != 3) return bad(call, "the mask has three values");
    for (int i = 0; i < 3; i++)
        if (call->arguments[mask].values[i] && !given(call, first + i))
            REFUSE(ACLNN_PARAM_NULLPTR, "%s: %s is a null pointer", call->op->phase_one, call->op->names[first + i]);
    return 0;
}

/* Indices are documented as INT64 or INT32. */
aclnnStatus needs_integers(const aclsim_call *call, int i) {
    aclDataType dtype = tensor(call, i)->dtype;
    if (dtype == ACL_INT64 || dtype == ACL_INT32) return 0;
    REFUSE(ACLNN_PARAM_INVALID, "%s: %s must hold int64 or int32", call->op->phase_one, call->op->names[i]);
}


/* Operators other than maps require a workspace, so that callers have to provide it: the results' size, rounded up to 512. */
uint64_t workspace_of_results(const aclsim_call *call) {
    uint64_t bytes = 0;
    for (int i = 0; i < call->op->count; i++) {
        char role = call->op->roles[i];
        if ((role == 'o' || role == 'O' || role == 'r') && given(call, i))
            bytes += (uint64_t)aclsim_numel(tensor(call, i)) * aclsim_item_size(tensor(call, i)->dtype);
    }
    return (bytes + 511) / 512 * 512 + 512;
}
