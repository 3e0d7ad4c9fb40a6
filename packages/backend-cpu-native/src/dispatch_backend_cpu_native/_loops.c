/* Kernels of the cpu backend for small plain arrays: objects that run a ufunc's inner loop themselves.
 *
 * Note [Python is the definition]
 *     A Kernel has the place of a kernel in Python, and takes its arguments. Where they are plain it runs the loop that NumPy
 *     would choose, so that the bits are NumPy's. All other calls, and all that fail here, go to the kernel in Python, with
 *     the caller's own arguments and before anything is written. So no argument, result or error exists here alone. In all
 *     but calls a Kernel is the kernel in Python: its attributes are that one's. Many of these get their code at their first
 *     call, of which an error shows a frame more: so a kernel that has been called gets it before the first call that is left.
 *
 * Note [What is plain]
 *     Arrays of exactly numpy.ndarray, of one dtype of the Kernel's in the machine's byte order, aligned, with the strides of
 *     a new array in every dimension, those of one element too, with 1 to 65,536 elements, of formulas up to 1,048,576. Folds take fewer: NumPy folds
 *     long arrays in parts, in another order of additions.
 *
 * Note [Floating-point flags]
 *     A loop may set the processor's flags of overflow or division by zero. NumPy clears them before its own loops and looks
 *     at them afterwards; nothing here looks, as torch's operators do not warn. PyArray_MatrixProduct2 does look, and is
 *     called within the backend's context in which NumPy ignores them.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>
#include <math.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "-ffast-math changes the bits of results"
#endif

/* The number that the backend carries, too: it goes up where the arguments of Kernel change their meaning. */
#define LAYOUT 8
#define TYPES 24          /* NumPy's plain types have lower numbers */
#define MOST 65536        /* elements */
#define MOST_FOLDED 4096  /* the same of folds */
#define MOST_SHARED 4096  /* from here on other threads may run meanwhile */
#define LONGEST ((npy_intp)1 << 20) /* elements of a formula */
#define PART 32768        /* bytes of its results between: long arrays are computed part by part, so that these stay in the cache */
#define MOST_OPERANDS 5   /* of a step, its result among them */
#define MOST_VARIANTS 4    /* of a formula: further options are left */
#define ON_STACK 4096     /* bytes of a formula's results */
#define EXACT (1LL << 53) /* a double has every whole number up to this */

typedef struct Kernel Kernel;
/* Returns NULL for a call that is left to Python, mostly without an error. */
typedef PyObject *(*Way)(Kernel *, PyObject *const *, Py_ssize_t, PyObject *);

/* A step of a formula: a loop, or a choice where there is none, and the places of its operands and its result. */
typedef struct { PyUFuncGenericFunction loop; void *data; int count, places[MOST_OPERANDS]; } Step;

/* A formula for a type and up to so many elements: arrays have the first places, then constants, then results, the last of
 * which is the formula's. The next one is for more. */
typedef struct Chain {
    int arity, constants, steps, out, is_foreign; /* whether a loop is not NumPy's, and may fail */
    npy_intp most;
    struct Chain *next;
    Step *step;
    char **constant;
    npy_intp *size; /* of an element, by place */
    int *room, rooms, width; /* by step: where its result lies, in room that an earlier one needs no more; bytes of an element there */
} Chain;

/* A formula with some options, by type; what the chains point to lies in `found`. */
typedef struct {
    PyObject *options, *found;
    Chain *chain[TYPES];
} Variant;

struct Kernel {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Way way;
    Py_ssize_t count;                    /* of arguments, all by position; -1 where the way looks itself */
    PyObject *python, *ufunc, *constants, *weak;
    npy_intp most;                       /* elements of an operand */
    char swapped, keeps_sum;             /* the operands' order, and whether a fold is no mean */
    char halves;                         /* whether 16-bit floats are served: see `_halves.h` */
    char was_served, was_left;           /* whether calls were served, and whether one was left to Python */
    signed char loop[TYPES], out[TYPES]; /* by type: the ufunc's loop, or -1, and the type of its results */
    PyObject *maker;                     /* of chains and of formulas of rows */
    int arity, variants, first, least;   /* of these: the number of arrays or of arguments, of variants, an array's place, the
                                            least number of arguments */
    Variant *variant;
    struct RowsVariant *of_rows;
    PyObject *marks, *mark[TYPES];       /* by type: an argument that stands for it */
    char roles[16];                      /* of a formula of rows: of its arguments */
    char *constant[2][TYPES];            /* by type: an element that the loop takes besides */
};

static PyObject *name_of_dtype, *name_of_alpha, *name_of_beta;
static PyObject *quiet;   /* the context in which NumPy ignores floating-point errors */
static PyObject *windows; /* the classes of memory that was lent, each a storage of its own: a tuple */
static PyObject *make_code; /* makes the code of a kernel in Python that gets it at its first call */
static int is_on = 1;
static long long served, left;

/* ---------------------------------------------------------------------------------------------------- arrays and loops */

static inline PyArrayObject *as_array(PyObject *x) { return Py_IS_TYPE(x, &PyArray_Type) ? (PyArrayObject *)x : NULL; }

static inline int is_dense(PyArrayObject *a) {
    int flags = PyArray_FLAGS(a), n = PyArray_NDIM(a);
    if (!(flags & NPY_ARRAY_C_CONTIGUOUS) || !(flags & NPY_ARRAY_ALIGNED) || !PyArray_ISNBO(PyArray_DESCR(a)->byteorder)) return 0;
    npy_intp step = PyArray_ITEMSIZE(a);
    while (n--) {
        if (PyArray_STRIDE(a, n) != step) return 0;
        step *= PyArray_DIM(a, n);
    }
    return 1;
}

static inline int have_one_shape(PyArrayObject *a, PyArrayObject *b) {
    int n = PyArray_NDIM(a);
    return n == PyArray_NDIM(b) && (!n || !memcmp(PyArray_DIMS(a), PyArray_DIMS(b), sizeof(npy_intp) * (size_t)n));
}

/* The type of an array that the kernel serves, or -1. See Note [What is plain]. */
static inline int type_of(Kernel *k, PyArrayObject *a) {
    int type = PyArray_TYPE(a);
    if (type < 0 || type >= TYPES || k->loop[type] < 0) return -1;
    npy_intp n = PyArray_SIZE(a);
    return n > 0 && n <= k->most && is_dense(a) ? type : -1;
}

static inline PyObject *make_array(int type, int ndim, npy_intp *dims) {
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type), ndim, dims, NULL, NULL, 0, NULL);
}

static inline char *data_of(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }

static inline void run(Kernel *k, int type, char **args, npy_intp n, npy_intp *steps) {
    PyUFuncObject *ufunc = (PyUFuncObject *)k->ufunc;
    int which = k->loop[type];
    void *data = ufunc->data ? (void *)ufunc->data[which] : NULL;
    if (n < MOST_SHARED) ufunc->functions[which](args, &n, steps, data);
    else { Py_BEGIN_ALLOW_THREADS ufunc->functions[which](args, &n, steps, data); Py_END_ALLOW_THREADS }
}

/* Read the number of a type out of an iterator or a key; -1 is an error. */
static int read_type(PyObject *number) {
    long type = PyLong_AsLong(number);
    if (type == -1 && PyErr_Occurred()) return -1;
    if (type < 0 || type >= TYPES) {
        PyErr_Format(PyExc_ValueError, "%ld is not the number of a plain dtype", type);
        return -1;
    }
    return (int)type;
}

typedef union { float f; double d; npy_int64 i; } Number;

/* Write a Python number in an array's type; return whether that is as NumPy does it, and exact for whole numbers. */
static inline int take_number(PyObject *x, int type, Number *number) {
    int overflow = 0;
    if (type == NPY_INT64) {
        if (!PyLong_CheckExact(x)) return 0;
        number->i = PyLong_AsLongLongAndOverflow(x, &overflow);
        return !overflow;
    }
    double value;
    if (PyFloat_CheckExact(x)) value = PyFloat_AS_DOUBLE(x);
    else if (PyLong_CheckExact(x)) {
        long long whole = PyLong_AsLongLongAndOverflow(x, &overflow);
        if (overflow || whole > EXACT || whole < -EXACT) return 0;
        value = (double)whole;
    } else return 0;
    if (type == NPY_FLOAT) number->f = (float)value;
    else if (type == NPY_DOUBLE) number->d = value;
    else return 0;
    return 1;
}

#include "_halves.h"

/* -------------------------------------------------------------------------------------------------------- element-wise */

static PyObject *serve_unary(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    int type = a ? type_of(k, a) : -1;
    if (type < 0) return a ? narrow_unary(k, a) : NULL;
    PyObject *r = make_array(k->out[type], PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    char *at[2] = {PyArray_BYTES(a), data_of(r)};
    npy_intp steps[2] = {PyArray_ITEMSIZE(a), PyArray_ITEMSIZE((PyArrayObject *)r)};
    run(k, type, at, PyArray_SIZE(a), steps);
    return r;
}

/* A ufunc of an array and two constants of its type, as a bound below and above. */
static PyObject *serve_bounded(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    int type = a ? type_of(k, a) : -1;
    if (type < 0 && a && k->halves) return narrow_relu(k, a);
    if (type < 0 || !k->constant[0][type] || !k->constant[1][type]) return NULL;
    PyObject *r = make_array(type, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    char *at[4] = {PyArray_BYTES(a), k->constant[0][type], k->constant[1][type], data_of(r)};
    npy_intp size = PyArray_ITEMSIZE(a), steps[4] = {size, 0, 0, size};
    run(k, type, at, PyArray_SIZE(a), steps);
    return r;
}

/* Whether there is a nan among so many numbers. */
static int is_nan_in(int type, char *data, npy_intp count) {
    int found = 0;
    if (type == NPY_CFLOAT || type == NPY_CDOUBLE) count *= 2;
    if (type == NPY_FLOAT || type == NPY_CFLOAT) {
        float *x = (float *)data;
        for (npy_intp i = 0; i < count; i++) found |= x[i] != x[i];
    } else if (type == NPY_DOUBLE || type == NPY_CDOUBLE) {
        double *x = (double *)data;
        for (npy_intp i = 0; i < count; i++) found |= x[i] != x[i];
    }
    return found;
}

/* Whether there is a nan. Where an operand is broadcast NumPy may copy it and go through all rows at once, according to its
 * version; of two nans the loop may give the other one then. All else is the same. */
static int has_nan(PyObject *array) {
    PyArrayObject *a = (PyArrayObject *)array;
    return is_nan_in(PyArray_TYPE(a), PyArray_BYTES(a), PyArray_SIZE(a));
}

/* Rows of one operand, each with the other: with its elements, where that has the last dimensions alone, or with one of them. */
static PyObject *by_rows(Kernel *k, PyArrayObject *a, PyArrayObject *b, int type) {
    int is_first = PyArray_NDIM(a) > PyArray_NDIM(b) || (PyArray_NDIM(a) == PyArray_NDIM(b) && PyArray_SIZE(a) >= PyArray_SIZE(b));
    PyArrayObject *full = is_first ? a : b, *part = is_first ? b : a;
    int ndim = PyArray_NDIM(full), own = PyArray_NDIM(part);
    npy_intp size = PyArray_ITEMSIZE(a), *dims = PyArray_DIMS(full), *its = PyArray_DIMS(part);
    npy_intp length = PyArray_SIZE(part), advance = 0, step = size;
    if (ndim == own && ndim > 1 && its[ndim - 1] == 1 && !memcmp(dims, its, sizeof(npy_intp) * (size_t)(ndim - 1))) {
        length = dims[ndim - 1];
        advance = size;
        step = 0;
    } else if (ndim <= own || memcmp(dims + ndim - own, its, sizeof(npy_intp) * (size_t)own)) return NULL;
    PyObject *r = make_array(k->out[type], ndim, dims);
    if (!r) return NULL;
    npy_intp each = PyArray_ITEMSIZE((PyArrayObject *)r), rows = PyArray_SIZE(full) / length;
    npy_intp steps[3] = {is_first ? size : step, is_first ? step : size, each};
    for (npy_intp i = 0; i < rows; i++) {
        char *row = PyArray_BYTES(full) + i * length * size, *other = PyArray_BYTES(part) + i * advance;
        char *at[3] = {is_first ? row : other, is_first ? other : row, data_of(r) + i * length * each};
        run(k, type, at, length, steps);
    }
    if (has_nan(r)) Py_CLEAR(r);
    return r;
}

static PyObject *serve_binary(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]), *b = as_array(args[1]), *like = a;
    if (!a || !b || PyArray_DESCR(a) != PyArray_DESCR(b)) return NULL;
    int type = type_of(k, a);
    if (type < 0) return narrow_binary(k, a, b, 0);
    if (type_of(k, b) < 0) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a), steps[3] = {size, size, 0};
    if (!have_one_shape(a, b)) {
        if (PyArray_NDIM(b) == 0) steps[1] = 0;
        else if (PyArray_NDIM(a) == 0) { steps[0] = 0; like = b; }
        else return by_rows(k, a, b, type);
    }
    PyObject *r = make_array(k->out[type], PyArray_NDIM(like), PyArray_DIMS(like));
    if (!r) return NULL;
    steps[2] = PyArray_ITEMSIZE((PyArrayObject *)r);
    char *at[3] = {PyArray_BYTES(a), PyArray_BYTES(b), data_of(r)};
    run(k, type, at, PyArray_SIZE(like), steps);
    return r;
}

static PyObject *serve_number(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    int type = a ? type_of(k, a) : -1;
    Number number;
    if (type < 0) return a ? narrow_number(k, a, args[1], 0) : NULL;
    if (!take_number(args[1], type, &number)) return NULL;
    PyObject *r = make_array(k->out[type], PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    char *at[3] = {PyArray_BYTES(a), (char *)&number, data_of(r)};
    npy_intp size = PyArray_ITEMSIZE(a), steps[3] = {size, 0, PyArray_ITEMSIZE((PyArrayObject *)r)};
    if (k->swapped) {
        at[0] = (char *)&number, at[1] = PyArray_BYTES(a);
        steps[0] = 0, steps[1] = size;
    }
    run(k, type, at, PyArray_SIZE(a), steps);
    return r;
}

/* A ufunc of an array and two bounds, each a number or None: of (self, min, max), (self, min) or (self, max). Where one is
 * missing, the constants are the least and the greatest element. */
static PyObject *clamp(Kernel *k, PyObject *x, PyObject *least, PyObject *most) {
    PyArrayObject *a = as_array(x);
    int type = a ? type_of(k, a) : -1;
    Number bounds[2];
    if (type < 0 || !k->constant[0][type] || !k->constant[1][type] || (least == Py_None && most == Py_None)) return NULL;
    if (least != Py_None && !take_number(least, type, &bounds[0])) return NULL;
    if (most != Py_None && !take_number(most, type, &bounds[1])) return NULL;
    PyObject *r = make_array(type, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    char *at[4] = {PyArray_BYTES(a), least == Py_None ? k->constant[0][type] : (char *)&bounds[0],
                   most == Py_None ? k->constant[1][type] : (char *)&bounds[1], data_of(r)};
    npy_intp size = PyArray_ITEMSIZE(a), steps[4] = {size, 0, 0, size};
    run(k, type, at, PyArray_SIZE(a), steps);
    return r;
}

static PyObject *serve_clamp(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return clamp(k, args[0], args[1], args[2]); }
static PyObject *serve_clamp_min(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return clamp(k, args[0], args[1], Py_None); }
static PyObject *serve_clamp_max(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return clamp(k, args[0], Py_None, args[1]); }

/* relu's gradient: of (gradient, self, threshold) where the threshold is zero. */
static PyObject *serve_gate(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *g = as_array(args[0]), *a = as_array(args[1]);
    Number zero;
    if (!g || !a || PyArray_DESCR(g) != PyArray_DESCR(a) || !take_number(args[2], NPY_DOUBLE, &zero) || zero.d != 0) return NULL;
    int type = type_of(k, a);
    if (type < 0 && k->halves) return narrow_gate(k, g, a);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || !is_dense(g) || !have_one_shape(a, g)) return NULL;
    PyObject *r = make_array(type, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!r) return NULL;
    npy_intp count = PyArray_SIZE(a);
    if (type == NPY_FLOAT) {
        float *out = (float *)data_of(r), *in = (float *)PyArray_BYTES(a), *gradient = (float *)PyArray_BYTES(g);
        for (npy_intp i = 0; i < count; i++) { float each = gradient[i]; out[i] = in[i] <= 0 ? 0 : each; } /* read in any case, so that compilers need no branch */
    } else {
        double *out = (double *)data_of(r), *in = (double *)PyArray_BYTES(a), *gradient = (double *)PyArray_BYTES(g);
        for (npy_intp i = 0; i < count; i++) { double each = gradient[i]; out[i] = in[i] <= 0 ? 0 : each; }
    }
    return r;
}

/* ------------------------------------------------------------------------------------------------------------ formulas */

/* Copy an element, of a size that compilers know. */
static inline void copy_element(char *to, const char *from, npy_intp size) {
    if (size == 4) memcpy(to, from, 4);
    else if (size == 8) memcpy(to, from, 8);
    else memcpy(to, from, (size_t)size);
}

static int choose_elements(const npy_bool *is_one, char *a, npy_intp one_step, char *b, npy_intp two_step, char *out, npy_intp n, npy_intp size);

static void choose(char **at, npy_intp n, npy_intp *steps) {
    npy_intp size = steps[3];
    if (steps[0] == 1 && choose_elements((npy_bool *)at[0], at[1], steps[1] / size, at[2], steps[2] / size, at[3], n, size)) return;
    for (npy_intp i = 0; i < n; i++)
        copy_element(at[3] + i * size, at[0][i * steps[0]] ? at[1] + i * steps[1] : at[2] + i * steps[2], size);
}

static void free_chain(Chain *chain) {
    if (!chain) return;
    free_chain(chain->next);
    PyMem_Free(chain->step);
    PyMem_Free(chain->constant);
    PyMem_Free(chain->size);
    PyMem_Free(chain->room);
    PyMem_Free(chain);
}

/* Read a step: (ufunc or None, numbers of types, places). */
static int read_step(PyObject *given, Step *step, npy_intp *size, int places) {
    PyObject *fn, *types, *at;
    if (!PyArg_ParseTuple(given, "OO!O!", &fn, &PyTuple_Type, &types, &PyTuple_Type, &at)) return -1;
    step->count = (int)PyTuple_GET_SIZE(at);
    if (step->count < 2 || step->count > MOST_OPERANDS || PyTuple_GET_SIZE(types) != step->count) goto misfit;
    int number[MOST_OPERANDS];
    for (int i = 0; i < step->count; i++) {
        if ((number[i] = read_type(PyTuple_GET_ITEM(types, i))) < 0) return -1;
        long place = PyLong_AsLong(PyTuple_GET_ITEM(at, i));
        if (place < 0 || place >= places || number[i] == NPY_OBJECT) goto misfit;
        step->places[i] = (int)place;
        PyArray_Descr *dtype = PyArray_DescrFromType(number[i]);
        if (size[place] && size[place] != PyDataType_ELSIZE(dtype)) { Py_DECREF(dtype); goto misfit; }
        size[place] = PyDataType_ELSIZE(dtype);
        Py_DECREF(dtype);
    }
    step->loop = NULL;
    if (fn == Py_None) {
        if (step->count == 4 && number[0] == NPY_BOOL && number[1] == number[2] && number[2] == number[3]) return 0;
        goto misfit;
    }
    if (!Py_IS_TYPE(fn, &PyUFunc_Type)) goto misfit;
    PyUFuncObject *ufunc = (PyUFuncObject *)fn;
    if (ufunc->nargs != step->count || ufunc->nout != 1 || ufunc->core_enabled) goto misfit;
    for (int i = 0; i < ufunc->ntypes; i++) {
        int is_it = ufunc->functions[i] != NULL;
        for (int j = 0; j < ufunc->nargs; j++) is_it &= ufunc->types[i * ufunc->nargs + j] == number[j];
        if (!is_it) continue;
        step->loop = ufunc->functions[i];
        step->data = ufunc->data ? (void *)ufunc->data[i] : NULL;
        return 0;
    }
misfit:
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not a step of a formula");
    return -1;
}

/* Give the result of each step but the last the first room whose own result no later step reads. */
static int find_rooms(Chain *chain) {
    int first = chain->arity + chain->constants, *until = PyMem_Calloc(2 * (size_t)chain->steps + 1, sizeof(int)), *last = until + chain->steps;
    chain->room = PyMem_Calloc((size_t)chain->steps + 1, sizeof(int));
    if (!until || !chain->room) { PyMem_Free(until); PyErr_NoMemory(); return -1; }
    for (int i = 0; i < chain->steps; i++) {
        last[i] = i;
        for (int j = 0; j + 1 < chain->step[i].count; j++)
            if (chain->step[i].places[j] >= first) last[chain->step[i].places[j] - first] = i;
    }
    for (int i = 0; i + 1 < chain->steps; i++) {
        int room = 0;
        while (room < chain->rooms && until[room] >= i) room++;
        if (room == chain->rooms) chain->rooms++;
        chain->room[i] = room;
        until[room] = last[i];
        if (chain->size[first + i] > chain->width) chain->width = (int)chain->size[first + i];
    }
    PyMem_Free(until);
    return 0;
}

/* Read a formula: (the greatest number of elements, constants, steps, whether a ufunc is not NumPy's). The kernel keeps the arrays of constants and the ufuncs alive. */
static Chain *read_chain(PyObject *given, int arity) {
    PyObject *constants, *steps;
    Py_ssize_t most;
    int is_foreign;
    if (!PyArg_ParseTuple(given, "nO!O!p", &most, &PyList_Type, &constants, &PyList_Type, &steps, &is_foreign)) return NULL;
    Chain *chain = PyMem_Calloc(1, sizeof(Chain));
    if (!chain) return (Chain *)PyErr_NoMemory();
    chain->arity = arity;
    chain->most = most;
    chain->is_foreign = is_foreign;
    chain->constants = (int)PyList_GET_SIZE(constants);
    chain->steps = (int)PyList_GET_SIZE(steps);
    int first = arity + chain->constants, places = first + chain->steps;
    chain->step = PyMem_Calloc((size_t)chain->steps + 1, sizeof(Step));
    chain->constant = PyMem_Calloc((size_t)chain->constants + 1, sizeof(char *));
    chain->size = PyMem_Calloc((size_t)places + 1, sizeof(npy_intp));
    if (!chain->step || !chain->constant || !chain->size) { PyErr_NoMemory(); goto fail; }
    for (int i = 0; i < chain->constants; i++) {
        PyArrayObject *each = as_array(PyList_GET_ITEM(constants, i));
        if (!each || PyArray_SIZE(each) != 1 || !is_dense(each)) { PyErr_SetString(PyExc_TypeError, "not a constant"); goto fail; }
        chain->constant[i] = PyArray_BYTES(each);
        chain->size[arity + i] = PyArray_ITEMSIZE(each);
    }
    for (int i = 0; i < chain->steps; i++) {
        Step *step = &chain->step[i];
        if (read_step(PyList_GET_ITEM(steps, i), step, chain->size, places) < 0) goto fail;
        for (int j = 0; j < step->count; j++)
            if (j + 1 < step->count ? step->places[j] >= first + i : step->places[j] != first + i) {
                PyErr_SetString(PyExc_ValueError, "a step reads what is not there yet");
                goto fail;
            }
    }
    if (!chain->steps) return chain; /* so many elements are left */
    PyObject *types = PyTuple_GET_ITEM(PyList_GET_ITEM(steps, chain->steps - 1), 1);
    chain->out = (int)PyLong_AsLong(PyTuple_GET_ITEM(types, PyTuple_GET_SIZE(types) - 1));
    for (int i = 0; i < arity; i++)
        if (!chain->size[i]) chain->size[i] = chain->size[0] ? chain->size[0] : 1;
    if (find_rooms(chain) == 0) return chain;
fail:
    free_chain(chain);
    return NULL;
}

/* Whether two options are the same: plain numbers to the bit, others by identity. */
static inline int are_same(PyObject *x, PyObject *y) {
    if (x == y) return 1;
    if (PyFloat_CheckExact(x) && PyFloat_CheckExact(y)) {
        double one = PyFloat_AS_DOUBLE(x), two = PyFloat_AS_DOUBLE(y);
        return !memcmp(&one, &two, sizeof(double));
    }
    Number one, two;
    return PyLong_CheckExact(x) && take_number(x, NPY_INT64, &one) && take_number(y, NPY_INT64, &two) && one.i == two.i;
}

/* The formula with some options: those behind the arrays by position, then those by keyword, then the names of the latter. */
static Variant *find_variant(Kernel *k, PyObject *const *options, Py_ssize_t count, PyObject *names) {
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (int i = 0; i < k->variants; i++) {
        PyObject *given = k->variant[i].options;
        if (PyTuple_GET_SIZE(given) != count + 2 * named) continue;
        int is_it = 1;
        for (Py_ssize_t j = 0; is_it && j < count + named; j++) is_it = are_same(options[j], PyTuple_GET_ITEM(given, j));
        for (Py_ssize_t j = 0; is_it && j < named; j++)
            is_it = PyTuple_GET_ITEM(names, j) == PyTuple_GET_ITEM(given, count + named + j);
        if (is_it) return &k->variant[i];
    }
    return NULL;
}

/* Trace the formula with further options. NULL where there are too many, or where that fails, with an error; then the options
 * are kept, so that it is not tried again. */
static Variant *make_variant(Kernel *k, PyObject *const *options, Py_ssize_t count, PyObject *names) {
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0, at = 0;
    if (k->variants == MOST_VARIANTS) return NULL;
    PyObject *given = PyTuple_New(count + 2 * named), *by_keyword = given ? PyDict_New() : NULL, *number, *formula;
    for (Py_ssize_t i = 0; given && i < count + named; i++) PyTuple_SET_ITEM(given, i, Py_NewRef(options[i]));
    for (Py_ssize_t i = 0; by_keyword && i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyTuple_SET_ITEM(given, count + named + i, Py_NewRef(name));
        if (PyDict_SetItem(by_keyword, name, options[count + i]) < 0) Py_CLEAR(by_keyword);
    }
    PyObject *by_position = by_keyword ? PyTuple_GetSlice(given, 0, count) : NULL;
    PyObject *found = by_position ? PyObject_CallFunctionObjArgs(k->maker, by_position, by_keyword, NULL) : NULL;
    Py_XDECREF(by_keyword);
    Py_XDECREF(by_position);
    /* Python may have run other calls of this kernel meanwhile. */
    if (!given || (!found && (PyErr_ExceptionMatches(PyExc_MemoryError) || !PyErr_ExceptionMatches(PyExc_Exception))) || k->variants == MOST_VARIANTS) {
        Py_XDECREF(given);
        Py_XDECREF(found);
        return NULL;
    }
    Variant *variant = &k->variant[k->variants++];
    variant->options = given;
    variant->found = found;
    while (found && PyDict_CheckExact(found) && PyDict_Next(found, &at, &number, &formula)) {
        int type = read_type(number);
        if (type < 0 || variant->chain[type]) return NULL;
        PyObject *each = PySequence_Tuple(formula);
        Chain **last = &variant->chain[type];
        for (Py_ssize_t i = 0; each && i < PyTuple_GET_SIZE(each); i++) {
            if (!(*last = read_chain(PyTuple_GET_ITEM(each, i), k->arity))) Py_CLEAR(each);
            else last = &(*last)->next;
        }
        if (!each) return NULL;
        Py_DECREF(each);
    }
    return found ? variant : NULL;
}

/* Compute a formula for so many elements from `start` on; the results between, but for the last, have room for them alone. */
static void run_chain(Chain *chain, char **place, npy_intp start, npy_intp count) {
    int first = chain->arity + chain->constants;
    for (int i = 0; i < chain->steps; i++) {
        Step *step = &chain->step[i];
        char *operands[MOST_OPERANDS];
        npy_intp steps[MOST_OPERANDS], length = count;
        for (int j = 0; j < step->count; j++) {
            int which = step->places[j];
            steps[j] = which >= chain->arity && which < first ? 0 : chain->size[which];
            operands[j] = place[which] + (which < chain->arity || which + 1 == first + chain->steps ? start * steps[j] : 0);
        }
        if (chain->is_foreign) PyUFunc_clearfperr(); /* as NumPy does, for loops that look at them */
        if (step->loop) step->loop(operands, &length, steps, step->data);
        else choose(operands, length, steps);
    }
}

/* Of (array, …, *options, **options), where the arrays have one shape, and dimensions. */
static PyObject *serve_chain(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = n >= k->arity ? as_array(args[0]) : NULL;
    int type = a ? type_of(k, a) : -1, format = a && type < 0 ? narrow_format(k, a) : 0;
    if (format && PyArray_SIZE(a) <= k->most && (format == BRAIN || !(k->halves & ONLY_BRAIN))) type = NPY_FLOAT;
    if (type < 0 || !PyArray_NDIM(a)) return NULL;
    for (int i = 1; i < k->arity; i++) {
        PyArrayObject *other = as_array(args[i]);
        if (!other || PyArray_DESCR(other) != PyArray_DESCR(a) || !have_one_shape(a, other) || !is_dense(other)) return NULL;
    }
    Variant *variant = find_variant(k, args + k->arity, n - k->arity, names);
    if (!variant && !(variant = make_variant(k, args + k->arity, n - k->arity, names))) return NULL;
    Chain *chain = variant->chain[type];
    npy_intp count = PyArray_SIZE(a), needed;
    /* Python may compute 16-bit floats as of another size. */
    if (format && (count >= MOST_SHARED || !chain || chain->most < MOST_SHARED - 1 || chain->is_foreign || chain->out != NPY_FLOAT)) return NULL;
    while (chain && chain->most < count) chain = chain->next;
    if (!chain || !chain->steps) return NULL;
    int first = chain->arity + chain->constants, last = first + chain->steps - 1;
    npy_intp block = count;
    if (count >= MOST_SHARED && chain->rooms) block = (1 + PART / (chain->rooms * chain->width) + 63) & ~(npy_intp)63;
    /* A line of the cache apart, and not some pages. */
    npy_intp room = count < MOST_SHARED ? (chain->width * block + 15) & ~(npy_intp)15 : ((chain->width * block + 63) & ~(npy_intp)63) + 192;
    needed = room * chain->rooms + 64;
    if (format) needed += (chain->arity + 1) * (4 * count + 64);
    char stack[ON_STACK], *scratch = needed <= ON_STACK ? stack : PyMem_Malloc((size_t)needed);
    PyObject *r = !scratch ? PyErr_NoMemory() : format ? make_narrow(k, a) : make_array(chain->out, PyArray_NDIM(a), PyArray_DIMS(a));
    char **place = r ? PyMem_Malloc(sizeof(char *) * (size_t)(last + 1)) : NULL;
    if (!place) {
        if (scratch != stack) PyMem_Free(scratch);
        Py_XDECREF(r);
        return NULL;
    }
    for (int i = 0; i < chain->arity; i++) place[i] = PyArray_BYTES((PyArrayObject *)args[i]);
    for (int i = 0; i < chain->constants; i++) place[chain->arity + i] = chain->constant[i];
    char *at = (char *)(((size_t)scratch + 63) & ~(size_t)63);
    for (int i = first; i < last; i++) place[i] = at + room * chain->room[i - first];
    at += room * chain->rooms;
    place[last] = data_of(r);
    for (int i = 0; format && i <= chain->arity; i++) { /* the arrays and the result as float32 */
        at = (char *)(((size_t)at + 15) & ~(size_t)15);
        if (i < chain->arity) widen_exactly(format, (uint16_t *)place[i], (float *)at, count);
        place[i < chain->arity ? i : last] = at;
        at += 4 * count;
    }
    PyThreadState *state = count < MOST_SHARED || chain->is_foreign ? NULL : PyEval_SaveThread();
    int is_left = 0;
    for (npy_intp start = 0; start < count && !is_left; start += block) {
        npy_intp length = count - start < block ? count - start : block;
        run_chain(chain, place, start, length);
        /* NumPy may compute a long sum or product over one of its operands, and exchanges them then: of two nans it gives the other one. */
        is_left = count >= MOST_SHARED && is_nan_in(chain->out, place[last] + start * chain->size[last], length);
    }
    if (state) PyEval_RestoreThread(state);
    if (is_left) Py_CLEAR(r);
    if (format && r) narrow_exactly(format, (float *)place[last], (uint16_t *)data_of(r), count);
    if (chain->is_foreign && PyErr_Occurred()) Py_CLEAR(r);
    PyMem_Free(place);
    if (scratch != stack) PyMem_Free(scratch);
    return r;
}

/* ------------------------------------------------------------------------------------------------------------ in place */

/* Whether an array is a storage of its own: two of these do not overlap. */
static inline int is_storage(PyArrayObject *a) {
    PyObject *base = PyArray_BASE(a);
    if (!base) return 1;
    for (Py_ssize_t i = 0; windows && i < PyTuple_GET_SIZE(windows); i++)
        if (PyType_IsSubtype(Py_TYPE(base), (PyTypeObject *)PyTuple_GET_ITEM(windows, i))) return 1;
    return 0;
}

static PyObject *serve_unary_into(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    int type = a ? type_of(k, a) : -1;
    if (type < 0 || k->out[type] != type || !PyArray_ISWRITEABLE(a)) return NULL;
    char *at[2] = {PyArray_BYTES(a), PyArray_BYTES(a)};
    npy_intp steps[2] = {PyArray_ITEMSIZE(a), PyArray_ITEMSIZE(a)};
    run(k, type, at, PyArray_SIZE(a), steps);
    return Py_NewRef(args[0]);
}

static PyObject *serve_binary_into(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]), *b = as_array(args[1]);
    if (!a || !b || PyArray_DESCR(a) != PyArray_DESCR(b)) return NULL;
    int type = type_of(k, a);
    if (!PyArray_ISWRITEABLE(a) || (a != b && !(is_storage(a) && is_storage(b)))) return NULL;
    if (type < 0) return narrow_binary(k, a, b, 1);
    if (k->out[type] != type || type_of(k, b) < 0) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a), steps[3] = {size, size, size};
    if (!have_one_shape(a, b)) {
        if (PyArray_NDIM(b)) return NULL;
        steps[1] = 0;
    }
    char *at[3] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(a)};
    run(k, type, at, PyArray_SIZE(a), steps);
    return Py_NewRef(args[0]);
}

/* Of (self, number), or with a factor of 1 behind them. */
static PyObject *serve_number_into(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (names || n < 2 || n > 3) return NULL;
    PyArrayObject *a = as_array(args[0]);
    int type = a ? type_of(k, a) : -1;
    Number number, factor;
    if (!a || !PyArray_ISWRITEABLE(a)) return NULL;
    if (n == 3 && (!take_number(args[2], NPY_INT64, &factor) || factor.i != 1)) return NULL;
    if (type < 0) return narrow_number(k, a, args[1], 1);
    if (k->out[type] != type || !take_number(args[1], type, &number)) return NULL;
    char *at[3] = {PyArray_BYTES(a), (char *)&number, PyArray_BYTES(a)};
    npy_intp size = PyArray_ITEMSIZE(a), steps[3] = {size, 0, size};
    run(k, type, at, PyArray_SIZE(a), steps);
    return Py_NewRef(args[0]);
}

#include "_optimizers.h"

/* --------------------------------------------------------------------------------------------------------------- folds */

/* Fold all elements, or along dimension `dim`, in the order in which NumPy goes through such an array: elements that lie
 * side by side are folded by one call of the loop, rows of results are added row by row. Other orders are left. */
static PyObject *fold(Kernel *k, PyArrayObject *a, int is_whole, int dim, int keeps) {
    int type = type_of(k, a), ndim = PyArray_NDIM(a), count = 0;
    if (type < 0 && narrow_format(k, a) && PyArray_SIZE(a) <= k->most) {
        PyObject *wide = make_wide(a), *found = wide ? fold(k, (PyArrayObject *)wide, is_whole, dim, keeps) : NULL;
        Py_XDECREF(wide);
        return found ? make_rounded(found, PyArray_DESCR(a)) : NULL;
    }
    if (type < 0 || k->out[type] != type) return NULL;
    npy_intp size = PyArray_ITEMSIZE(a), length = PyArray_SIZE(a), before = 1, behind = 1, dims[NPY_MAXDIMS];
    if (!is_whole) {
        if (dim < 0) dim += ndim;
        if (dim < 0 || dim >= ndim) return NULL;
        length = PyArray_DIM(a, dim);
        for (int i = 0; i < ndim; i++) {
            if (i < dim) before *= PyArray_DIM(a, i);
            if (i > dim) behind *= PyArray_DIM(a, i);
            if (i != dim) dims[count++] = PyArray_DIM(a, i);
            else if (keeps) dims[count++] = 1;
        }
        if (before > 1 && behind > 1) return NULL;
    }
    PyObject *r = make_array(type, count, dims);
    if (!r) return NULL;
    char *out = data_of(r), *in = PyArray_BYTES(a), *start = k->constant[0][type];
    npy_intp step = behind == 1 ? 0 : size, first = start ? 0 : 1, results = before * behind;
    for (npy_intp i = 0; i < results; i++) {
        char *from = start ? start : in + (behind == 1 ? i * length : i) * size;
        memcpy(out + i * size, from, (size_t)size);
    }
    if (behind == 1) {
        npy_intp steps[3] = {0, size, 0};
        for (npy_intp i = 0; i < before && length > first; i++) {
            char *at[3] = {out + i * size, in + (i * length + first) * size, out + i * size};
            run(k, type, at, length - first, steps);
        }
    } else {
        npy_intp steps[3] = {step, size, step};
        for (npy_intp i = first; i < length; i++) {
            char *at[3] = {out, in + i * behind * size, out};
            run(k, type, at, behind, steps);
        }
    }
    if (!k->keeps_sum) {
        if (type == NPY_FLOAT) for (npy_intp i = 0; i < results; i++) ((float *)out)[i] /= (float)length;
        else for (npy_intp i = 0; i < results; i++) ((double *)out)[i] /= (double)length;
    }
    return r;
}

static inline int has_no_dtype(PyObject *const *args, Py_ssize_t n, PyObject *names) {
    return !names || (PyTuple_GET_SIZE(names) == 1 && PyTuple_GET_ITEM(names, 0) == name_of_dtype && args[n] == Py_None);
}

/* Of (self, *, dtype=None). */
static PyObject *serve_fold(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = n == 1 && has_no_dtype(args, n, names) ? as_array(args[0]) : NULL;
    return a ? fold(k, a, 1, 0, 0) : NULL;
}

/* Read a plain whole number that is small, as those of dimensions are. */
static inline int take_small(PyObject *x, npy_intp *value) {
    int overflow = 0;
    if (!PyLong_CheckExact(x)) return 0;
    long long whole = PyLong_AsLongLongAndOverflow(x, &overflow);
    *value = (npy_intp)whole;
    return !overflow && whole >= -EXACT && whole <= EXACT && *value == whole;
}

/* Of (self, dim, keepdim=False, *, dtype=None), with one dimension. */
static PyObject *serve_fold_along(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (n < 2 || n > 3 || !has_no_dtype(args, n, names)) return NULL;
    PyArrayObject *a = as_array(args[0]);
    PyObject *dims = args[1];
    npy_intp dim;
    if (!a || (n == 3 && !PyBool_Check(args[2]))) return NULL;
    if (PyTuple_CheckExact(dims) || PyList_CheckExact(dims)) {
        if (PySequence_Fast_GET_SIZE(dims) != 1) return NULL;
        dims = PySequence_Fast_GET_ITEM(dims, 0);
    }
    if (!take_small(dims, &dim) || dim < -NPY_MAXDIMS || dim > NPY_MAXDIMS) return NULL;
    return fold(k, a, 0, (int)dim, n == 3 && args[2] == Py_True);
}

#include "_rows.h"
#include "_losses.h"

/* ------------------------------------------------------------------------------------------------------------ products */

static inline int is_packed(PyArrayObject *a) { return PyArray_CHKFLAGS(a, NPY_ARRAY_C_CONTIGUOUS) || PyArray_CHKFLAGS(a, NPY_ARRAY_F_CONTIGUOUS); }

/* Multiply two matrices, or one and a vector, as ndarray.dot does; see Note [Floating-point flags]. */
static PyObject *multiply(PyObject *x, PyObject *y, int ndim) {
    PyArrayObject *a = as_array(x), *b = as_array(y);
    if (!quiet || !a || !b || PyArray_DESCR(a) != PyArray_DESCR(b)) return NULL;
    int type = PyArray_TYPE(a);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != ndim) return NULL;
    if (PyArray_DIM(a, 1) != PyArray_DIM(b, 0) || !PyArray_SIZE(a) || !PyArray_SIZE(b)) return NULL;
    if (!is_packed(a) || !is_packed(b) || PyContext_Enter(quiet) < 0) return NULL;
    PyObject *r = PyArray_MatrixProduct2(x, y, NULL);
    if (PyContext_Exit(quiet) < 0) Py_CLEAR(r);
    return r;
}

static PyObject *serve_mm(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return multiply(args[0], args[1], 2); }
static PyObject *serve_mv(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) { return multiply(args[0], args[1], 1); }

/* Of (self, mat1, mat2, *, beta=1, alpha=1) with factors of 1: a product, to which the ufunc adds a row or a matrix. */
static PyObject *serve_addmm(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (n != 3) return NULL;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        Number factor;
        if ((name != name_of_alpha && name != name_of_beta) || !take_number(args[3 + i], NPY_INT64, &factor) || factor.i != 1) return NULL;
    }
    PyArrayObject *bias = as_array(args[0]), *a = as_array(args[1]), *b = as_array(args[2]);
    if (!bias || !a || !b || PyArray_DESCR(bias) != PyArray_DESCR(a) || PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2) return NULL;
    int type = type_of(k, bias), ndim = PyArray_NDIM(bias);
    npy_intp rows = PyArray_DIM(a, 0), columns = PyArray_DIM(b, 1);
    if (type < 0 || rows * columns > k->most) return NULL;
    if (ndim == 1 ? PyArray_DIM(bias, 0) != columns : ndim != 2 || PyArray_DIM(bias, 0) != rows || PyArray_DIM(bias, 1) != columns) return NULL;
    PyObject *r = multiply(args[1], args[2], 2);
    if (!r) return NULL;
    npy_intp size = PyArray_ITEMSIZE(bias), steps[3] = {size, size, size}, length = ndim == 1 ? columns : rows * columns;
    for (char *at = data_of(r), *end = at + rows * columns * size; at < end; at += length * size) {
        char *each[3] = {at, PyArray_BYTES(bias), at};
        run(k, type, each, length, steps);
    }
    if (ndim == 1 && has_nan(r)) Py_CLEAR(r); /* the call is left: of two nans, NumPy's loop for rows takes another */
    return r;
}

/* --------------------------------------------------------------------------------------------------------------- views */

/* Of (self, size): an array that lies row by row, in another shape. */
static PyObject *serve_view(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    PyObject *sizes = args[1];
    if (!a || !(PyTuple_CheckExact(sizes) || PyList_CheckExact(sizes))) return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sizes);
    npy_intp total = PyArray_SIZE(a), dims[NPY_MAXDIMS], known = 1;
    int open = -1;
    if (!total || count > NPY_MAXDIMS || !is_dense(a)) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!take_small(PySequence_Fast_GET_ITEM(sizes, i), &dims[i]) || dims[i] < -1 || !dims[i] || dims[i] > total) return NULL;
        if (dims[i] > 0) {
            if ((known *= dims[i]) > total) return NULL;
        } else if (open < 0) open = (int)i;
        else return NULL;
    }
    if (open >= 0) {
        if (total % known) return NULL;
        dims[open] = total / known;
    } else if (known != total) return NULL;
    PyArray_Dims wanted = {dims, (int)count};
    return PyArray_Newshape(a, &wanted, NPY_CORDER);
}

static PyObject *serve_alias(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    return a && PyArray_SIZE(a) ? PyArray_View(a, NULL, NULL) : NULL;
}

static PyObject *serve_t(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    return a && PyArray_NDIM(a) == 2 && PyArray_SIZE(a) ? PyArray_Transpose(a, NULL) : NULL;
}

static inline int take_dim(PyObject *x, PyArrayObject *a, npy_intp *dim) {
    int ndim = PyArray_NDIM(a);
    if (!take_small(x, dim) || *dim < -ndim || *dim >= ndim) return 0;
    if (*dim < 0) *dim += ndim;
    return 1;
}

static PyObject *serve_transpose(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    npy_intp one, two;
    if (!a || !PyArray_SIZE(a) || !take_dim(args[1], a, &one) || !take_dim(args[2], a, &two)) return NULL;
    return PyArray_SwapAxes(a, (int)one, (int)two);
}

/* A view of an array's memory from `data` on. */
static PyObject *view_at(PyArrayObject *a, int ndim, npy_intp *dims, npy_intp *strides, char *data) {
    PyArray_Descr *dtype = PyArray_DESCR(a);
    Py_INCREF(dtype);
    PyObject *r = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, dims, strides, data, PyArray_FLAGS(a) & NPY_ARRAY_WRITEABLE, NULL);
    if (!r) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)r, Py_NewRef((PyObject *)a)) < 0) {
        Py_DECREF(r);
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)r, NPY_ARRAY_UPDATE_ALL);
    return r;
}

/* Of (self, dim, index). */
static PyObject *serve_select(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    npy_intp dim, index, dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!a || !PyArray_SIZE(a) || !take_dim(args[1], a, &dim) || !take_small(args[2], &index)) return NULL;
    npy_intp size = PyArray_DIM(a, dim);
    if (index < -size || index >= size) return NULL;
    if (index < 0) index += size;
    int count = 0;
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        if (i == dim) continue;
        dims[count] = PyArray_DIM(a, i);
        strides[count++] = PyArray_STRIDE(a, i);
    }
    return view_at(a, count, dims, strides, PyArray_BYTES(a) + index * PyArray_STRIDE(a, dim));
}

/* Of (self, dim=0, start=None, end=None, step=1), where the slice has elements. */
static PyObject *serve_slice(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = n > 0 && n < 6 && !names ? as_array(args[0]) : NULL;
    npy_intp dim = 0, step = 1, dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!a || !PyArray_SIZE(a) || !PyArray_NDIM(a) || (n > 1 && !take_dim(args[1], a, &dim))) return NULL;
    Py_ssize_t start = 0, stop = PyArray_DIM(a, dim);
    if (n > 2 && args[2] != Py_None && !take_small(args[2], &start)) return NULL;
    if (n > 3 && args[3] != Py_None && !take_small(args[3], &stop)) return NULL;
    if (n > 4 && (!take_small(args[4], &step) || step < 1)) return NULL;
    Py_ssize_t length = PySlice_AdjustIndices(PyArray_DIM(a, dim), &start, &stop, step);
    if (length < 1) return NULL;
    int ndim = PyArray_NDIM(a);
    for (int i = 0; i < ndim; i++) {
        dims[i] = i == dim ? length : PyArray_DIM(a, i);
        strides[i] = PyArray_STRIDE(a, i) * (i == dim ? step : 1);
    }
    return view_at(a, ndim, dims, strides, PyArray_BYTES(a) + start * PyArray_STRIDE(a, dim));
}

/* Of (self, dims). */
static PyObject *serve_permute(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    PyObject *dims = args[1];
    if (!a || !PyArray_SIZE(a) || !PyArray_NDIM(a) || !(PyTuple_CheckExact(dims) || PyList_CheckExact(dims))) return NULL;
    npy_intp order[NPY_MAXDIMS];
    unsigned char is_taken[NPY_MAXDIMS] = {0};
    int ndim = PyArray_NDIM(a);
    if (PySequence_Fast_GET_SIZE(dims) != ndim) return NULL;
    for (int i = 0; i < ndim; i++)
        if (!take_dim(PySequence_Fast_GET_ITEM(dims, i), a, &order[i]) || is_taken[order[i]]++) return NULL;
    PyArray_Dims wanted = {order, ndim};
    return PyArray_Transpose(a, &wanted);
}

/* Of (self, dim): an array that lies row by row, with a dimension of size 1 more. */
static PyObject *serve_unsqueeze(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    npy_intp dim, dims[NPY_MAXDIMS];
    int ndim = a ? PyArray_NDIM(a) : 0;
    if (!a || !PyArray_SIZE(a) || ndim + 1 > NPY_MAXDIMS || !is_dense(a) || !take_small(args[1], &dim)) return NULL;
    if (dim < 0) dim += ndim + 1;
    if (dim < 0 || dim > ndim) return NULL;
    for (int i = 0; i <= ndim; i++) dims[i] = i < dim ? PyArray_DIM(a, i) : i == dim ? 1 : PyArray_DIM(a, i - 1);
    PyArray_Dims wanted = {dims, ndim + 1};
    return PyArray_Newshape(a, &wanted, NPY_CORDER);
}

static PyObject *serve_squeeze(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    return a && PyArray_SIZE(a) ? PyArray_Squeeze(a) : NULL;
}

/* Of (self, dim). */
static PyObject *serve_squeeze_dim(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    npy_intp dim, dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (!a || !PyArray_SIZE(a) || !take_dim(args[1], a, &dim)) return NULL;
    if (PyArray_DIM(a, dim) != 1) return PyArray_View(a, NULL, NULL);
    int count = 0;
    for (int i = 0; i < PyArray_NDIM(a); i++) {
        if (i == dim) continue;
        dims[count] = PyArray_DIM(a, i);
        strides[count++] = PyArray_STRIDE(a, i);
    }
    return view_at(a, count, dims, strides, PyArray_BYTES(a));
}

/* Of (self, size), a tuple: an array that lies row by row, with its elements again and again. */
static PyObject *serve_expand(Kernel *k, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    PyArrayObject *a = as_array(args[0]);
    PyObject *size = args[1];
    if (!a || !PyArray_SIZE(a) || !PyTuple_CheckExact(size) || !is_dense(a)) return NULL;
    int own = PyArray_NDIM(a);
    Py_ssize_t count = PyTuple_GET_SIZE(size), added = count - own;
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    if (added < 0 || count > NPY_MAXDIMS) return NULL;
    for (Py_ssize_t i = count - 1; i >= 0; i--) {
        if (!take_small(PyTuple_GET_ITEM(size, i), &dims[i])) return NULL;
        if (i < added) {
            if (dims[i] < 1) return NULL;
            /* A dimension of size 1 has the stride of one that begins a new array. */
            strides[i] = dims[i] == 1 && i + 1 < count ? dims[i + 1] * strides[i + 1] : 0;
            continue;
        }
        npy_intp length = PyArray_DIM(a, i - added);
        if (dims[i] == -1) dims[i] = length;
        if (dims[i] == length) strides[i] = PyArray_STRIDE(a, i - added);
        else if (length == 1 && dims[i] > 0) strides[i] = 0;
        else return NULL;
    }
    return view_at(a, (int)count, dims, strides, PyArray_BYTES(a));
}

#include "_places.h"
#include "_columns.h"

#include "_choices.h"

/* ------------------------------------------------------------------------------------------------------ the Kernel type */

static const struct { const char *name; Way way; Py_ssize_t count; } ways[] = {
    {"unary", serve_unary, 1}, {"chain", serve_chain, -1}, {"rows", serve_rows, -1},
    {"where", serve_where, 3}, {"masked fill", serve_masked_fill, 3}, {"places", serve_places, -1}, {"extremes", serve_extremes, -1},
    {"nll", serve_nll, 5}, {"nll gradient", serve_nll_gradient, 7}, {"bounded", serve_bounded, 1}, {"binary", serve_binary, 2}, {"number", serve_number, 2},
    {"clamp", serve_clamp, 3}, {"clamp min", serve_clamp_min, 2}, {"clamp max", serve_clamp_max, 2}, {"gate", serve_gate, 3}, {"unary into", serve_unary_into, 1}, {"binary into", serve_binary_into, 2},
    {"number into", serve_number_into, -1}, {"fold", serve_fold, -1}, {"fold along", serve_fold_along, -1},
    {"mm", serve_mm, 2}, {"mv", serve_mv, 2}, {"addmm", serve_addmm, -1}, {"view", serve_view, 2}, {"alias", serve_alias, 1}, {"t", serve_t, 1},
    {"transpose", serve_transpose, 3}, {"select", serve_select, 3}, {"slice", serve_slice, -1},
    {"permute", serve_permute, 2}, {"unsqueeze", serve_unsqueeze, 2}, {"squeeze", serve_squeeze, 1},
    {"squeeze dim", serve_squeeze_dim, 2}, {"expand", serve_expand, 2},
    {"cat", serve_cat, -1}, {"stack", serve_stack, -1}, {"gather", serve_gather, -1}, {"index_select", serve_index_select, 3},
    {"scatter", serve_scatter, 4}, {"scatter_add", serve_scatter_add, 4}, {"index_add", serve_index_add, -1},
    {"embedding gradient", serve_embedding_gradient, 5}, {"running sum", serve_running_sum, -1},
    {"adam", serve_adam, -1}, {"sgd", serve_sgd, -1}, {NULL, NULL, 0},
};

static PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names) {
    Kernel *k = (Kernel *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (is_on && (k->count < 0 || (n == k->count && !names))) {
        PyObject *r = k->way(k, args, n, names);
        if (r) {
            served++;
            k->was_served = 1;
            return r;
        }
        if (PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
            PyErr_Clear(); /* the kernel in Python meets what is in the way, and says so in its words */
        }
    }
    left++;
    if (!k->was_left) {
        k->was_left = 1;
        if (k->was_served && make_code) {
            PyObject *r = PyObject_CallOneArg(make_code, k->python);
            if (!r && !PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
            if (!r) PyErr_Clear();
            Py_XDECREF(r);
        }
    }
    return PyObject_Vectorcall(k->python, args, nargsf, names);
}

/* Find the ufunc's first loop whose operands are all of a type, as NumPy does for operands of one type. */
static void find_loop(Kernel *k, int type) {
    PyUFuncObject *ufunc = (PyUFuncObject *)k->ufunc;
    if (type < 0 || type >= TYPES || type == NPY_OBJECT || ufunc->nout != 1 || ufunc->core_enabled) return;
    for (int i = 0; i < ufunc->ntypes && i < 128; i++) {
        int is_it = ufunc->functions[i] != NULL;
        for (int j = 0; j < ufunc->nin; j++) is_it &= ufunc->types[i * ufunc->nargs + j] == type;
        if (!is_it) continue;
        k->loop[type] = (signed char)i;
        k->out[type] = (signed char)ufunc->types[i * ufunc->nargs + ufunc->nin];
        return;
    }
}

static int read_types(Kernel *k, PyObject *types) {
    PyObject *all = PySequence_Tuple(types);
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        int type = read_type(PyTuple_GET_ITEM(all, i));
        if (type < 0) Py_CLEAR(all);
        else if (k->ufunc != Py_None) find_loop(k, type);
        else k->loop[type] = 0, k->out[type] = (signed char)type; /* the way computes by itself */
    }
    Py_XDECREF(all);
    return all ? 0 : -1;
}

/* Read the constants: numbers of types → tuples of at most two arrays of one element. The dictionary keeps them alive. */
static int read_constants(Kernel *k) {
    PyObject *number, *arrays;
    Py_ssize_t at = 0;
    while (PyDict_Next(k->constants, &at, &number, &arrays)) {
        int type = read_type(number);
        if (type < 0) return -1;
        if (!PyTuple_CheckExact(arrays) || PyTuple_GET_SIZE(arrays) > 2) goto misfit;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
            PyArrayObject *each = as_array(PyTuple_GET_ITEM(arrays, i));
            if (!each || PyArray_TYPE(each) != type || PyArray_NDIM(each) || !is_dense(each)) goto misfit;
            k->constant[i][type] = PyArray_BYTES(each);
        }
    }
    return 0;
misfit:
    PyErr_SetString(PyExc_TypeError, "constants are at most two arrays without dimensions for each dtype");
    return -1;
}

static PyObject *kernel_new(PyTypeObject *cls, PyObject *args, PyObject *options) {
    static char *names[] = {"way", "python", "ufunc", "types", "constants", "most", "swapped", "mean", "arity", "maker", "roles", "marks", "halves", NULL};
    const char *way, *roles = "";
    PyObject *python, *ufunc = Py_None, *types = NULL, *constants = NULL, *maker = NULL, *marks = NULL;
    Py_ssize_t most = MOST;
    int swapped = 0, mean = 0, arity = 0, halves = 0, which = 0;
    if (!PyArg_ParseTupleAndKeywords(args, options, "sO|OOO!nppiOsO!i:Kernel", names, &way, &python, &ufunc, &types, &PyDict_Type,
                                     &constants, &most, &swapped, &mean, &arity, &maker, &roles, &PyDict_Type, &marks, &halves)) return NULL;
    while (ways[which].name && strcmp(ways[which].name, way)) which++;
    if (!ways[which].name) return PyErr_Format(PyExc_ValueError, "there is no way %s to serve a kernel's calls", way);
    if (!PyCallable_Check(python)) return PyErr_Format(PyExc_TypeError, "a kernel is callable, not %R", python);
    if (ufunc != Py_None && !Py_IS_TYPE(ufunc, &PyUFunc_Type)) return PyErr_Format(PyExc_TypeError, "not a ufunc: %R", ufunc);
    Kernel *k = (Kernel *)cls->tp_alloc(cls, 0);
    if (!k) return NULL;
    k->vectorcall = call;
    k->way = ways[which].way;
    k->count = ways[which].count;
    if (k->way == serve_chain) {
        if (!maker || arity < 1 || arity > MOST_OPERANDS) {
            Py_DECREF(k);
            return PyErr_Format(PyExc_TypeError, "a chain has a maker and an arity");
        }
        k->arity = arity;
        k->maker = Py_NewRef(maker);
        k->variant = PyMem_Calloc(MOST_VARIANTS, sizeof(Variant));
        if (!k->variant) {
            Py_DECREF(k);
            return PyErr_NoMemory();
        }
    }
    if (k->way == serve_rows) {
        if (!maker || !marks) {
            Py_DECREF(k);
            return PyErr_Format(PyExc_TypeError, "a formula of rows has a maker, roles and marks");
        }
        k->maker = Py_NewRef(maker);
        if (set_roles(k, roles, marks) < 0) {
            Py_DECREF(k);
            return NULL;
        }
    }
    int is_fold = k->way == serve_fold || k->way == serve_fold_along;
    npy_intp limit = k->way == serve_chain ? LONGEST : MOST;
    k->most = most < limit ? most : limit;
    if (is_fold && k->most > MOST_FOLDED) k->most = MOST_FOLDED;
    k->swapped = (char)swapped;
    k->halves = (char)halves;
    k->keeps_sum = !mean;
    k->python = Py_NewRef(python);
    k->ufunc = Py_NewRef(ufunc);
    k->constants = constants ? PyDict_Copy(constants) : PyDict_New();
    memset(k->loop, -1, TYPES);
    if (!k->constants || read_constants(k) < 0 || (types && read_types(k, types) < 0)) {
        Py_DECREF(k);
        return NULL;
    }
    return (PyObject *)k;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Kernel *k = (Kernel *)self;
    Py_VISIT(k->python);
    Py_VISIT(k->ufunc);
    Py_VISIT(k->constants);
    Py_VISIT(k->maker);
    Py_VISIT(k->marks);
    for (int i = 0; k->of_rows && i < k->variants; i++) {
        Py_VISIT(k->of_rows[i].options);
        Py_VISIT(k->of_rows[i].found);
    }
    for (int i = 0; k->variant && i < k->variants; i++) {
        Py_VISIT(k->variant[i].options);
        Py_VISIT(k->variant[i].found);
    }
    return 0;
}

static void dealloc(PyObject *self) {
    Kernel *k = (Kernel *)self;
    PyObject_GC_UnTrack(self);
    if (k->weak) PyObject_ClearWeakRefs(self);
    Py_XDECREF(k->python);
    Py_XDECREF(k->ufunc);
    Py_XDECREF(k->constants);
    Py_XDECREF(k->maker);
    Py_XDECREF(k->marks);
    for (int i = 0; k->of_rows && i < k->variants; i++) {
        for (int type = 0; type < TYPES; type++) free_rows(k->of_rows[i].rows[type]);
        Py_XDECREF(k->of_rows[i].options);
        Py_XDECREF(k->of_rows[i].found);
    }
    PyMem_Free(k->of_rows);
    for (int i = 0; k->variant && i < k->variants; i++) {
        for (int type = 0; type < TYPES; type++) free_chain(k->variant[i].chain[type]);
        Py_XDECREF(k->variant[i].options);
        Py_XDECREF(k->variant[i].found);
    }
    PyMem_Free(k->variant);
    Py_TYPE(self)->tp_free(self);
}

/* See Note [Python is the definition]. */
static PyObject *getattro(PyObject *self, PyObject *name) { return PyObject_GetAttr(((Kernel *)self)->python, name); }
static int setattro(PyObject *self, PyObject *name, PyObject *value) { return PyObject_SetAttr(((Kernel *)self)->python, name, value); }

static PyTypeObject KernelType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dispatch_backend_cpu_native._loops.Kernel",
    .tp_doc = PyDoc_STR("Kernel(way, python, ufunc=None, types=(), constants={}, most=65536, swapped=False, mean=False)"),
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_new = kernel_new,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Kernel, vectorcall),
    .tp_getattro = getattro,
    .tp_setattro = setattro,
    .tp_weaklistoffset = offsetof(Kernel, weak),
};

/* --------------------------------------------------------------------------------------------------------- the module */

static PyObject *use(PyObject *module, PyObject *args) {
    PyObject *context, *classes, *maker;
    if (!PyArg_ParseTuple(args, "O!O!O:use", &PyContext_Type, &context, &PyTuple_Type, &classes, &maker)) return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); i++)
        if (!PyType_Check(PyTuple_GET_ITEM(classes, i))) return PyErr_Format(PyExc_TypeError, "not classes: %R", classes);
    Py_XSETREF(quiet, Py_NewRef(context));
    Py_XSETREF(windows, Py_NewRef(classes));
    Py_XSETREF(make_code, Py_NewRef(maker));
    Py_RETURN_NONE;
}

static PyObject *serve(PyObject *module, PyObject *on) {
    int was = is_on, now = PyObject_IsTrue(on);
    if (now < 0) return NULL;
    is_on = now;
    return PyBool_FromLong(was);
}

static PyObject *counts(PyObject *module, PyObject *nothing) { return Py_BuildValue("LL", served, left); }

static PyObject *facts(PyObject *module, PyObject *x) {
    if (!Py_IS_TYPE(x, &KernelType)) return PyErr_Format(PyExc_TypeError, "not a Kernel: %R", x);
    Kernel *k = (Kernel *)x;
    PyObject *types = PyList_New(0);
    for (int type = 0; types && type < TYPES; type++) {
        if (k->loop[type] < 0) continue;
        PyObject *number = PyLong_FromLong(type);
        if (!number || PyList_Append(types, number) < 0) Py_CLEAR(types);
        Py_XDECREF(number);
    }
    int which = 0;
    while (ways[which].way != k->way) which++;
    return types ? Py_BuildValue("{sssOsOsNsnsnsOsi}", "way", ways[which].name, "python", k->python, "ufunc", k->ufunc, "types", types,
                                 "most", (Py_ssize_t)k->most, "arity", (Py_ssize_t)k->arity, "maker", k->maker ? k->maker : Py_None, "halves", k->halves) : NULL;
}

static PyMethodDef functions[] = {
    {"use", use, METH_VARARGS, PyDoc_STR("Use a context in which NumPy ignores floating-point errors, the classes of lent memory, and a maker of code.")},
    {"serve", serve, METH_O, PyDoc_STR("Serve calls, or leave all to the kernels in Python; return what was so before.")},
    {"columns", (PyCFunction)(void (*)(void))columns, METH_FASTCALL, PyDoc_STR("Write the columns of a convolution to a buffer; return whether the arrays were plain.")},
    {"convert", (PyCFunction)(void (*)(void))convert, METH_FASTCALL, PyDoc_STR("Write float32 to an array of 16-bit floats, or the other way; return whether the arrays were plain.")},
    {"counts", counts, METH_NOARGS, PyDoc_STR("Return how many calls were served, and how many left to Python.")},
    {"facts", facts, METH_O, PyDoc_STR("Return the facts about a Kernel: its way, its kernel in Python, its ufunc, types and size.")},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_loops",
    .m_doc = PyDoc_STR("Kernels of the cpu backend for small plain arrays; the backend makes them."),
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__loops(void) {
    import_array();
    import_umath();
    find_conversions();
    name_of_dtype = PyUnicode_InternFromString("dtype");
    name_of_alpha = PyUnicode_InternFromString("alpha");
    name_of_beta = PyUnicode_InternFromString("beta");
    if (!name_of_dtype || !name_of_alpha || !name_of_beta || PyType_Ready(&KernelType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (find_arithmetic(module) < 0 || PyModule_AddObjectRef(module, "Kernel", (PyObject *)&KernelType) < 0 || PyModule_AddIntMacro(module, LAYOUT) < 0 ||
        PyModule_AddStringConstant(module, "FLAGS", LOOPS_FLAGS) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
