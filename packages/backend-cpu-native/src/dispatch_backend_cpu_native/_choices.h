/* Choices by a condition, and the places of extreme elements: a part of _loops.c. */

#define CHOOSE(TYPE, ONE, TWO)                                                                                                   \
    for (npy_intp i = 0; i < n; i++) {                                                                                           \
        TYPE mask = (TYPE)-(TYPE)(is_one[i] != 0);                                                                               \
        to[i] = (TYPE)((TWO) ^ (((ONE) ^ (TWO)) & mask));                                                                        \
    }
#define CHOOSE_BY_BITS(TYPE)                                                                                                     \
    do {                                                                                                                         \
        TYPE *to = (TYPE *)out, *one = (TYPE *)a, *two = (TYPE *)b, x = *one, y = *two;                                          \
        if (one_step && two_step) CHOOSE(TYPE, one[i], two[i])                                                                   \
        else if (one_step) CHOOSE(TYPE, one[i], y)                                                                               \
        else if (two_step) CHOOSE(TYPE, x, two[i])                                                                               \
        else CHOOSE(TYPE, x, y)                                                                                                  \
    } while (0)

/* Copy each element from the one or the other, whose steps are elements; return whether elements of that size are known, and lie as numbers
 * of it do. */
static int choose_elements(const npy_bool *is_one, char *a, npy_intp one_step, char *b, npy_intp two_step, char *out, npy_intp n, npy_intp size) {
    typedef struct { npy_uint64 parts[2]; } Wide;
    size_t part = (size_t)(size > 8 ? 8 : size);
    if (((size_t)a | (size_t)b | (size_t)out) % part) return 0;
    switch (size) {
    case 1: CHOOSE_BY_BITS(npy_uint8); return 1;
    case 2: CHOOSE_BY_BITS(npy_uint16); return 1;
    case 4: CHOOSE_BY_BITS(npy_uint32); return 1;
    case 8: CHOOSE_BY_BITS(npy_uint64); return 1;
    case 16:
        for (npy_intp i = 0; i < n; i++) ((Wide *)out)[i] = is_one[i] ? ((Wide *)a)[i * one_step] : ((Wide *)b)[i * two_step];
        return 1;
    default: return 0;
    }
}

static inline int is_condition(PyArrayObject *a) { return a && PyArray_TYPE(a) == NPY_BOOL && PyArray_SIZE(a) && is_dense(a); }

/* Of (condition, self, other): arrays of the condition's shape, or without dimensions. */
static PyObject *serve_where(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *condition = as_array(args[0]), *a = as_array(args[1]), *b = as_array(args[2]);
    if (!is_condition(condition) || !a || !b || PyArray_DESCR(a) != PyArray_DESCR(b)) return NULL;
    int type = type_of(k, a), one = have_one_shape(condition, a), two = have_one_shape(condition, b);
    if (type < 0 || type_of(k, b) < 0 || (!one && PyArray_NDIM(a)) || (!two && PyArray_NDIM(b))) return NULL;
    npy_intp count = PyArray_SIZE(condition);
    if (count > k->most) return NULL;
    PyObject *r = make_array(type, PyArray_NDIM(condition), PyArray_DIMS(condition));
    if (r && !choose_elements((npy_bool *)PyArray_BYTES(condition), PyArray_BYTES(a), one, PyArray_BYTES(b), two, data_of(r), count, PyArray_ITEMSIZE(a)))
        Py_CLEAR(r);
    return r;
}

/* Of (self, mask, value), a number. */
static PyObject *serve_masked_fill(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]), *mask = as_array(args[1]);
    int type = a ? type_of(k, a) : -1;
    Number number;
    double value = 0;
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || !is_condition(mask) || !have_one_shape(a, mask) || !take_number(args[2], type, &number)) return NULL;
    if (PyFloat_CheckExact(args[2])) value = PyFloat_AS_DOUBLE(args[2]);
    if (value - value == 0 && !(-1e38 < value && value < 1e38)) return NULL;
    PyObject *r = make_array(type, PyArray_NDIM(a), PyArray_DIMS(a));
    npy_intp size = type == NPY_FLOAT ? 4 : 8;
    if (r) choose_elements((npy_bool *)PyArray_BYTES(mask), (char *)&number, 0, PyArray_BYTES(a), 1, data_of(r), PyArray_SIZE(a), size);
    return r;
}

/* The places of extreme elements, of all where `dim` is NULL. The kernel is one of minima where it is swapped. */
static PyObject *find_places(Kernel *k, PyArrayObject *a, npy_intp *dim) {
    int axis = dim ? (int)*dim : NPY_RAVEL_AXIS;
    return k->swapped ? PyArray_ArgMin(a, axis, NULL) : PyArray_ArgMax(a, axis, NULL);
}

/* Of (self, dim=None, keepdim=False): the places. */
static PyObject *serve_places(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = n > 0 && n < 4 && !names ? as_array(args[0]) : NULL;
    npy_intp dim;
    if (!a || type_of(k, a) < 0 || (n == 3 && args[2] != Py_False)) return NULL;
    if (n == 1 || args[1] == Py_None) return find_places(k, a, NULL);
    return PyArray_NDIM(a) && take_dim(args[1], a, &dim) ? find_places(k, a, &dim) : NULL;
}

/* Of (self, dim, keepdim=False): the elements along a dimension, and their places. */
static PyObject *serve_extremes(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = n > 1 && n < 4 && !names ? as_array(args[0]) : NULL;
    npy_intp dim, behind = 1;
    int type = a ? type_of(k, a) : -1;
    if (type < 0 || !PyArray_NDIM(a) || (n == 3 && args[2] != Py_False) || !take_dim(args[1], a, &dim)) return NULL;
    PyObject *found = find_places(k, a, &dim), *values, *r = NULL;
    if (!found) return NULL;
    PyArrayObject *places = as_array(found);
    if (!places || PyArray_TYPE(places) != NPY_INTP || !is_dense(places)) {
        Py_DECREF(found);
        return NULL;
    }
    if ((values = make_array(type, PyArray_NDIM(places), PyArray_DIMS(places)))) {
        npy_intp size = PyArray_ITEMSIZE(a), length = PyArray_DIM(a, dim), *at = (npy_intp *)PyArray_BYTES(places);
        for (int i = (int)dim + 1; i < PyArray_NDIM(a); i++) behind *= PyArray_DIM(a, i);
        for (npy_intp i = 0; i < PyArray_SIZE(places); i++)
            memcpy(data_of(values) + i * size, PyArray_BYTES(a) + ((i / behind * length + at[i]) * behind + i % behind) * size, (size_t)size);
        r = PyTuple_Pack(2, values, found);
        Py_DECREF(values);
    }
    Py_DECREF(found);
    return r;
}

