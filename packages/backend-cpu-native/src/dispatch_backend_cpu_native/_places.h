/* Operators that copy or add elements at places: joins, choices by an index, running sums; a part of _loops.c.
 *
 * Note [Sums at places]
 *     Elements are added one after the other, in the order of the index, as `ufunc.at` adds them. Where nans come out the
 *     call is left after it was computed, because which of two nans a sum gives depends on the loop.
 */
enum { ADDS, STORES };

/* Whether an array is plain and of a type that the row serves, of any size. */
static inline int is_plain(Kernel *k, PyArrayObject *a) {
    int type = PyArray_TYPE(a);
    int is_served = type >= 0 && type < TYPES ? k->loop[type] >= 0 : 0;
    return (is_served || (k->halves && format_of(a))) && PyArray_SIZE(a) > 0 && is_dense(a);
}

/* The same of an index: of int64, with numbers from zero to below `size`. */
static inline int is_index(PyArrayObject *index, npy_intp size) {
    if (PyArray_TYPE(index) != NPY_INT64 || PyArray_SIZE(index) == 0 || !is_dense(index)) return 0;
    const npy_int64 *at = (const npy_int64 *)PyArray_BYTES(index);
    npy_intp n = PyArray_SIZE(index);
    int is_outside = 0;
    for (npy_intp i = 0; i < n; i++) is_outside |= (npy_uint64)at[i] >= (npy_uint64)size;
    return !is_outside;
}

static inline PyObject *make_like(PyArrayObject *a, int ndim, npy_intp *dims) {
    Py_INCREF(PyArray_DESCR(a));
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), ndim, dims, NULL, NULL, 0, NULL);
}

static inline void copy_item(char *to, const char *from, npy_intp size) {
    switch (size) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, (size_t)size);
    }
}

/* Of (arrays, dim=0): joined along a dimension that is there, or a new one; the others are equal. */
static PyObject *join(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names, int is_new) {
    npy_intp dim = 0, dims[NPY_MAXDIMS], before = 1, length = 0;
    if (names || n < 1 || n > 2 || !(PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0])) || (n == 2 && !take_small(args[1], &dim))) return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(args[0]);
    PyObject **items = PySequence_Fast_ITEMS(args[0]);
    PyArrayObject *first = count ? as_array(items[0]) : NULL;
    if (!first || !is_plain(k, first)) return NULL;
    int own = PyArray_NDIM(first), ndim = own + is_new;
    if (dim < 0) dim += ndim;
    if (dim < 0 || dim >= ndim || ndim > NPY_MAXDIMS) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyArrayObject *each = as_array(items[i]);
        if (!each || PyArray_DESCR(each) != PyArray_DESCR(first) || PyArray_NDIM(each) != own || !is_plain(k, each)) return NULL;
        for (int j = 0; j < own; j++)
            if ((is_new || j != dim) && PyArray_DIM(each, j) != PyArray_DIM(first, j)) return NULL;
        length += is_new ? 1 : PyArray_DIM(each, dim);
    }
    for (int i = 0; i < ndim; i++) dims[i] = i == dim ? length : PyArray_DIM(first, is_new && i > dim ? i - 1 : i);
    for (int i = 0; i < dim; i++) before *= dims[i];
    PyObject *r = make_like(first, ndim, dims);
    if (!r) return NULL;
    char *to = data_of(r);
    for (npy_intp i = 0; i < before; i++)
        for (Py_ssize_t j = 0; j < count; j++) {
            PyArrayObject *each = (PyArrayObject *)items[j];
            npy_intp size = PyArray_NBYTES(each) / before;
            copy_item(to, PyArray_BYTES(each) + i * size, size);
            to += size;
        }
    return r;
}

static PyObject *serve_cat(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return join(k, args, n, names, 0); }
static PyObject *serve_stack(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return join(k, args, n, names, 1); }

/* An array as lines along a dimension: their number, their length, and the elements from one of a line to the next. */
typedef struct { npy_intp before, length, behind; } Lines;

static int find_lines(PyArrayObject *a, PyObject *dim, Lines *lines) {
    npy_intp which;
    if (!PyArray_NDIM(a) || !take_dim(dim, a, &which)) return -1;
    lines->before = lines->behind = 1;
    lines->length = PyArray_DIM(a, which);
    for (int i = 0; i < which; i++) lines->before *= PyArray_DIM(a, i);
    for (int i = (int)which + 1; i < PyArray_NDIM(a); i++) lines->behind *= PyArray_DIM(a, i);
    return (int)which;
}

/* Whether arrays have the same sizes but along one dimension. */
static inline int are_alike(PyArrayObject *a, PyArrayObject *b, int but) {
    if (PyArray_NDIM(a) != PyArray_NDIM(b)) return 0;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (i != but && PyArray_DIM(a, i) != PyArray_DIM(b, i)) return 0;
    return 1;
}

/* Of (self, dim, index, *, sparse_grad=False). */
static PyObject *serve_gather(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (n != 3 || (names && (PyTuple_GET_SIZE(names) != 1 || args[3] != Py_False))) return NULL;
    PyArrayObject *a = as_array(args[0]), *index = as_array(args[2]);
    Lines lines;
    int dim = a && index && is_plain(k, a) ? find_lines(a, args[1], &lines) : -1;
    if (dim < 0 || !are_alike(a, index, dim) || !is_index(index, lines.length)) return NULL;
    PyObject *r = make_like(a, PyArray_NDIM(index), PyArray_DIMS(index));
    if (!r) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a), each = PyArray_DIM(index, dim) * lines.behind;
    const npy_int64 *place = (const npy_int64 *)PyArray_BYTES(index);
    char *from = PyArray_BYTES(a), *to = data_of(r);
    PyThreadState *state = PyArray_SIZE(index) < MOST_SHARED ? NULL : PyEval_SaveThread();
    for (npy_intp i = 0; i < lines.before; i++, from += lines.length * lines.behind * size)
        for (npy_intp j = 0; j < each; j += lines.behind)
            for (npy_intp l = 0; l < lines.behind; l++, to += size) copy_item(to, from + (*place++ * lines.behind + l) * size, size);
    if (state) PyEval_RestoreThread(state);
    return r;
}

/* Of (self, dim, index): slices along a dimension. */
static PyObject *serve_index_select(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]), *index = as_array(args[2]);
    Lines lines;
    int dim = a && index && PyArray_NDIM(index) == 1 && is_plain(k, a) ? find_lines(a, args[1], &lines) : -1;
    if (dim < 0 || !is_index(index, lines.length)) return NULL;
    npy_intp dims[NPY_MAXDIMS], count = PyArray_SIZE(index), size = PyArray_ITEMSIZE(a) * lines.behind;
    memcpy(dims, PyArray_DIMS(a), sizeof(npy_intp) * (size_t)PyArray_NDIM(a));
    dims[dim] = count;
    PyObject *r = make_like(a, PyArray_NDIM(a), dims);
    if (!r) return NULL;
    const npy_int64 *place = (const npy_int64 *)PyArray_BYTES(index);
    char *from = PyArray_BYTES(a), *to = data_of(r);
    PyThreadState *state = PyArray_SIZE((PyArrayObject *)r) < MOST_SHARED ? NULL : PyEval_SaveThread();
    for (npy_intp i = 0; i < lines.before; i++, from += lines.length * size)
        for (npy_intp j = 0; j < count; j++, to += size) copy_item(to, from + place[j] * size, size);
    if (state) PyEval_RestoreThread(state);
    return r;
}

/* Add `n` elements to others. Returns whether a sum is a nan. */
static int add_many(char *to, const char *from, npy_intp n, int type) {
    int is_nan = 0;
    if (type == NPY_FLOAT) {
        float *out = (float *)to;
        const float *in = (const float *)from;
        for (npy_intp i = 0; i < n; i++) { out[i] += in[i]; is_nan |= out[i] != out[i]; }
    } else if (type == NPY_DOUBLE) {
        double *out = (double *)to;
        const double *in = (const double *)from;
        for (npy_intp i = 0; i < n; i++) { out[i] += in[i]; is_nan |= out[i] != out[i]; }
    } else {
        npy_uint64 *out = (npy_uint64 *)to; /* they overflow as NumPy's do */
        const npy_uint64 *in = (const npy_uint64 *)from;
        for (npy_intp i = 0; i < n; i++) out[i] += in[i];
    }
    return is_nan;
}

static inline int can_add(int type) { return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_INT64; }

/* Of (self, dim, index, src): a copy with elements of src stored, or added. */
static PyObject *scatter(Kernel *k, PyObject *const *args, int does) {
    PyArrayObject *a = as_array(args[0]), *index = as_array(args[2]), *src = as_array(args[3]);
    Lines lines;
    int dim = a && index && src && PyArray_DESCR(a) == PyArray_DESCR(src) && is_plain(k, a) && is_plain(k, src) ? find_lines(a, args[1], &lines) : -1;
    if (dim < 0 || !are_alike(a, index, dim) || !have_one_shape(index, src) || !is_index(index, lines.length)) return NULL;
    int type = PyArray_TYPE(a), is_nan = 0;
    if (does == ADDS && !can_add(type)) return NULL;
    PyObject *r = make_like(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a), each = PyArray_DIM(index, dim);
    const npy_int64 *place = (const npy_int64 *)PyArray_BYTES(index);
    char *to = data_of(r), *from = PyArray_BYTES(src);
    PyThreadState *state = PyArray_SIZE(a) < MOST_SHARED && PyArray_SIZE(src) < MOST_SHARED ? NULL : PyEval_SaveThread();
    memcpy(to, PyArray_BYTES(a), (size_t)PyArray_NBYTES(a));
    for (npy_intp i = 0; i < lines.before; i++, to += lines.length * lines.behind * size)
        for (npy_intp j = 0; j < each; j++)
            for (npy_intp l = 0; l < lines.behind; l++, from += size) {
                char *at = to + (*place++ * lines.behind + l) * size;
                if (does == STORES) copy_item(at, from, size);
                else is_nan |= add_many(at, from, 1, type);
            }
    if (state) PyEval_RestoreThread(state);
    if (is_nan) Py_CLEAR(r);
    return r;
}

static PyObject *serve_scatter(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return scatter(k, args, STORES); }
static PyObject *serve_scatter_add(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return scatter(k, args, ADDS); }

/* Of (self, dim, index, source, *, alpha=1): a copy with slices of the source added. */
static PyObject *serve_index_add(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    Number alpha;
    if (n != 4 || (names && (PyTuple_GET_SIZE(names) != 1 || PyTuple_GET_ITEM(names, 0) != name_of_alpha || !take_number(args[4], NPY_INT64, &alpha) || alpha.i != 1))) return NULL;
    PyArrayObject *a = as_array(args[0]), *index = as_array(args[2]), *source = as_array(args[3]);
    Lines lines;
    if (!a || !index || !source || PyArray_DESCR(a) != PyArray_DESCR(source) || !is_plain(k, a) || !is_plain(k, source)) return NULL;
    int dim = PyArray_NDIM(index) == 1 && can_add(PyArray_TYPE(a)) ? find_lines(a, args[1], &lines) : -1;
    if (dim < 0 || !are_alike(a, source, dim) || PyArray_DIM(source, dim) != PyArray_SIZE(index) || !is_index(index, lines.length)) return NULL;
    PyObject *r = make_like(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a) * lines.behind, count = PyArray_SIZE(index);
    const npy_int64 *place = (const npy_int64 *)PyArray_BYTES(index);
    char *to = data_of(r), *from = PyArray_BYTES(source);
    int is_nan = 0, type = PyArray_TYPE(a);
    PyThreadState *state = PyArray_SIZE(a) < MOST_SHARED && PyArray_SIZE(source) < MOST_SHARED ? NULL : PyEval_SaveThread();
    memcpy(to, PyArray_BYTES(a), (size_t)PyArray_NBYTES(a));
    for (npy_intp i = 0; i < lines.before; i++, to += lines.length * size)
        for (npy_intp j = 0; j < count; j++, from += size) is_nan |= add_many(to + place[j] * size, from, lines.behind, type);
    if (state) PyEval_RestoreThread(state);
    if (is_nan) Py_CLEAR(r);
    return r;
}

/* Of (gradient, indices, num_weights, padding_idx, scale_grad_by_freq): rows added to those that the indices name. */
static PyObject *serve_embedding_gradient(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]), *index = as_array(args[1]);
    npy_intp dims[2], padding;
    if (!a || !index || args[4] != Py_False || !take_small(args[2], &dims[0]) || !take_small(args[3], &padding)) return NULL;
    int ndim = PyArray_NDIM(index), type = PyArray_TYPE(a);
    if (dims[0] < 1 || !is_plain(k, a) || (type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_NDIM(a) != ndim + 1) return NULL;
    if (memcmp(PyArray_DIMS(a), PyArray_DIMS(index), sizeof(npy_intp) * (size_t)ndim) || !is_index(index, dims[0])) return NULL;
    dims[1] = PyArray_DIM(a, ndim);
    PyObject *r = make_array(type, 2, dims);
    if (!r) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a) * dims[1], count = PyArray_SIZE(index);
    const npy_int64 *place = (const npy_int64 *)PyArray_BYTES(index);
    char *to = data_of(r), *from = PyArray_BYTES(a);
    int is_nan = 0;
    PyThreadState *state = PyArray_SIZE(a) < MOST_SHARED ? NULL : PyEval_SaveThread();
    memset(to, 0, (size_t)PyArray_NBYTES((PyArrayObject *)r));
    for (npy_intp i = 0; i < count; i++, from += size)
        if (padding < 0 || place[i] != padding) is_nan |= add_many(to + place[i] * size, from, dims[1], type);
    if (state) PyEval_RestoreThread(state);
    if (is_nan) Py_CLEAR(r);
    return r;
}

/* Of (self, dim, *, dtype=None): running sums, those of float32 in float64, which begin with zero. */
static PyObject *serve_running_sum(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = n == 2 && has_no_dtype(args, n, names) ? as_array(args[0]) : NULL;
    Lines lines;
    if (!a || !is_plain(k, a) || find_lines(a, args[1], &lines) < 0) return NULL;
    int type = PyArray_TYPE(a), is_nan = 0;
    if (!can_add(type)) return NULL;
    PyObject *r = make_like(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    npy_intp line = lines.length * lines.behind;
    PyThreadState *state = PyArray_SIZE(a) < MOST_SHARED ? NULL : PyEval_SaveThread();
    for (npy_intp i = 0; i < lines.before; i++)
        for (npy_intp j = 0; j < lines.behind; j++) {
            npy_intp first = i * line + j;
            if (type == NPY_INT64) {
                const npy_uint64 *in = (const npy_uint64 *)PyArray_BYTES(a) + first;
                npy_uint64 *out = (npy_uint64 *)data_of(r) + first, total = 0;
                for (npy_intp l = 0; l < line; l += lines.behind) out[l] = total += in[l];
            } else if (type == NPY_FLOAT) {
                const float *in = (const float *)PyArray_BYTES(a) + first;
                float *out = (float *)data_of(r) + first;
                double total = 0;
                for (npy_intp l = 0; l < line; l += lines.behind) out[l] = (float)(total += (double)in[l]);
                is_nan |= total != total;
            } else {
                const double *in = (const double *)PyArray_BYTES(a) + first;
                double *out = (double *)data_of(r) + first, total = 0;
                for (npy_intp l = 0; l < line; l += lines.behind) out[l] = total += in[l];
                is_nan |= total != total;
            }
        }
    if (state) PyEval_RestoreThread(state);
    if (is_nan) Py_CLEAR(r);
    return r;
}
