/* Draws of a Mersenne Twister into arrays, with the bits of the cpu backend's own code in Python.
 *
 * Note [Draws]
 *     Every function takes the generator's capsule, as NumPy's bit generators give it, and an array to fill, which the caller
 *     has just made or checked: exactly numpy.ndarray, without gaps, aligned, writeable, and of a dtype that the function
 *     names. The caller holds the generator's lock, so that others may run meanwhile where there is much to draw. Arithmetic
 *     is written in the order of the code in Python; logarithms, sines and cosines of blocks are the loops of NumPy's ufuncs,
 *     over as many elements at once as there, because a loop may round the last elements of a row otherwise.
 */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <math.h>
#include <numpy/arrayobject.h>
#include <numpy/random/bitgen.h>
#include <numpy/ufuncobject.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "-ffast-math changes the bits of results"
#endif

/* The number that the backend carries, too: it goes up where the arguments of a function change their meaning. */
#define LAYOUT 1
#define BLOCK 16       /* normal numbers are made in blocks of as many */
#define TILE 32768     /* elements whose logarithms are taken at once */
#define MOST_HELD 4096 /* from here on other threads may run meanwhile */
#define TWO_PI 6.283185307179586

typedef struct { PyUFuncGenericFunction loop; void *data; } Loop;

/* The loops of log, sqrt, cos and sin, for floats and for doubles. */
static Loop loops[2][4];

static bitgen_t *bits_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, "BitGenerator"); }

/* The array that an argument is, or NULL with an error; see Note [Draws]. */
static PyArrayObject *target_of(PyObject *x, int is_integer) {
    if (!Py_IS_TYPE(x, &PyArray_Type)) {
        PyErr_Format(PyExc_TypeError, "not an array: %R", x);
        return NULL;
    }
    PyArrayObject *a = (PyArrayObject *)x;
    int type = PyArray_TYPE(a);
    if (!(is_integer ? type == NPY_INT64 : type == NPY_FLOAT || type == NPY_DOUBLE) || !PyArray_ISCARRAY(a)) {
        PyErr_SetString(PyExc_ValueError, "the array has gaps, is read-only, or has another dtype than the function fills");
        return NULL;
    }
    return a;
}

static inline double draw_double(bitgen_t *bits) {
    uint64_t high = bits->next_uint32(bits->state);
    return (double)((high << 32 | bits->next_uint32(bits->state)) & ((1ULL << 53) - 1)) * 0x1p-53;
}

static inline float draw_float(bitgen_t *bits) {
    return (float)(bits->next_uint32(bits->state) & 0xFFFFFF) * 0x1p-24f;
}

static void draw_uniform(bitgen_t *bits, char *out, npy_intp n, int is_double) {
    if (is_double) for (npy_intp i = 0; i < n; i++) ((double *)out)[i] = draw_double(bits);
    else for (npy_intp i = 0; i < n; i++) ((float *)out)[i] = draw_float(bits);
}

static PyObject *uniform(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "uniform(capsule, array)");
    bitgen_t *bits = bits_of(args[0]);
    PyArrayObject *a = bits ? target_of(args[1], 0) : NULL;
    if (!a) return NULL;
    npy_intp n = PyArray_SIZE(a);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    if (n < MOST_HELD) draw_uniform(bits, PyArray_BYTES(a), n, is_double);
    else { Py_BEGIN_ALLOW_THREADS draw_uniform(bits, PyArray_BYTES(a), n, is_double); Py_END_ALLOW_THREADS }
    Py_RETURN_NONE;
}

/* ------------------------------------------------------------------------------------------------------- normal numbers */

static inline void run(Loop *loop, void *from, void *to, npy_intp n, npy_intp size) {
    char *args[2] = {from, to};
    npy_intp steps[2] = {size, size};
    loop->loop(args, &n, steps, loop->data);
}

/* Box and Muller: of each block the first half makes radii, the second angles. Memory for `n` elements lies at `radius` and
 * for half as many at `angle`. */
#define BOX_MULLER(NAME, REAL, KIND)                                                                                          \
    static void NAME(REAL *out, npy_intp n, REAL *radius, REAL *angle, REAL mean, REAL std) {                                 \
        npy_intp half = n / 2, place = 0;                                                                                     \
        REAL *sine = radius + half, turn = (REAL)TWO_PI;                                                                      \
        Loop *found = loops[KIND];                                                                                            \
        for (npy_intp i = 0; i < n; i += BLOCK)                                                                               \
            for (int j = 0; j < BLOCK / 2; j++, place++) {                                                                    \
                radius[place] = (REAL)1 - out[i + j];                                                                         \
                angle[place] = out[i + j + BLOCK / 2] * turn;                                                                 \
            }                                                                                                                 \
        run(&found[0], radius, radius, half, sizeof(REAL));                                                                   \
        for (npy_intp i = 0; i < half; i++) radius[i] *= (REAL)-2;                                                            \
        run(&found[1], radius, radius, half, sizeof(REAL));                                                                   \
        run(&found[3], angle, sine, half, sizeof(REAL));                                                                      \
        run(&found[2], angle, angle, half, sizeof(REAL));                                                                     \
        place = 0;                                                                                                            \
        for (npy_intp i = 0; i < n; i += BLOCK)                                                                               \
            for (int j = 0; j < BLOCK / 2; j++, place++) {                                                                    \
                REAL first = angle[place] * radius[place], second = sine[place] * radius[place];                              \
                out[i + j] = first * std + mean;                                                                              \
                out[i + j + BLOCK / 2] = second * std + mean;                                                                 \
            }                                                                                                                 \
    }

BOX_MULLER(make_floats, float, 0)
BOX_MULLER(make_doubles, double, 1)

static void make_normal(char *out, npy_intp n, char *scratch, int is_double, double mean, double std) {
    npy_intp tile = n < TILE ? n : TILE;
    for (npy_intp start = 0; start < n; start += TILE) {
        npy_intp count = n - start < TILE ? n - start : TILE;
        if (is_double) make_doubles((double *)out + start, count, (double *)scratch, (double *)scratch + tile, mean, std);
        else make_floats((float *)out + start, count, (float *)scratch, (float *)scratch + tile, (float)mean, (float)std);
    }
}

/* At least one block. Where the last one is cut, the last sixteen elements are drawn again. */
static void draw_blocks(bitgen_t *bits, char *out, npy_intp n, char *scratch, int is_double, double mean, double std) {
    npy_intp size = is_double ? sizeof(double) : sizeof(float), whole = n - n % BLOCK;
    draw_uniform(bits, out, n, is_double);
    make_normal(out, whole, scratch, is_double, mean, std);
    if (whole == n) return;
    char *last = out + (n - BLOCK) * size;
    draw_uniform(bits, last, BLOCK, is_double);
    make_normal(last, BLOCK, scratch, is_double, mean, std);
}

/* In double precision two at a time; the second one is left for the next call. Return it, or None. */
static PyObject *draw_singly(bitgen_t *bits, char *out, npy_intp n, int is_double, double mean, double std, PyObject *kept) {
    double spare = 0;
    int has_spare = kept != Py_None;
    if (has_spare && (spare = PyFloat_AsDouble(kept)) == -1 && PyErr_Occurred()) return NULL;
    for (npy_intp i = 0; i < n; i++) {
        double next = spare;
        if (!has_spare) {
            double angle = draw_double(bits), radius = sqrt(-2 * log1p(-draw_double(bits)));
            angle *= TWO_PI;
            spare = radius * sin(angle);
            next = radius * cos(angle);
        }
        has_spare = !has_spare;
        next = next * std + mean;
        if (is_double) ((double *)out)[i] = next;
        else ((float *)out)[i] = (float)next;
    }
    return has_spare ? PyFloat_FromDouble(spare) : Py_NewRef(Py_None);
}

static PyObject *normal(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "normal(capsule, array, mean, std, spare)");
    if (!loops[0][0].loop) return PyErr_Format(PyExc_RuntimeError, "no ufuncs to use");
    bitgen_t *bits = bits_of(args[0]);
    PyArrayObject *a = bits ? target_of(args[1], 0) : NULL;
    if (!a) return NULL;
    double mean = PyFloat_AsDouble(args[2]), std = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    npy_intp n = PyArray_SIZE(a);
    int is_double = PyArray_TYPE(a) == NPY_DOUBLE;
    char *out = PyArray_BYTES(a);
    if (n < BLOCK) return draw_singly(bits, out, n, is_double, mean, std, args[4]);
    char *scratch = PyMem_Malloc((size_t)(n < TILE ? n : TILE) * (size_t)PyArray_ITEMSIZE(a) * 3 / 2);
    if (!scratch) return PyErr_NoMemory();
    if (n < MOST_HELD) draw_blocks(bits, out, n, scratch, is_double, mean, std);
    else { Py_BEGIN_ALLOW_THREADS draw_blocks(bits, out, n, scratch, is_double, mean, std); Py_END_ALLOW_THREADS }
    PyMem_Free(scratch);
    return Py_NewRef(args[4]);
}

/* ------------------------------------------------------------------------------------------------------------- integers */

static void draw_integers(bitgen_t *bits, npy_int64 *out, npy_intp n, npy_int64 low, uint32_t span) {
    for (npy_intp i = 0; i < n; i++) out[i] = low + (npy_int64)(bits->next_uint32(bits->state) % span);
}

static PyObject *integers(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "integers(capsule, array, low, span)");
    bitgen_t *bits = bits_of(args[0]);
    PyArrayObject *a = bits ? target_of(args[1], 1) : NULL;
    if (!a) return NULL;
    long long low = PyLong_AsLongLong(args[2]), span = PyLong_AsLongLong(args[3]);
    if (PyErr_Occurred()) return NULL;
    if (span < 1 || span > UINT32_MAX) return PyErr_Format(PyExc_ValueError, "a range of %lld numbers", span);
    npy_int64 *out = (npy_int64 *)PyArray_BYTES(a);
    npy_intp n = PyArray_SIZE(a);
    if (n < MOST_HELD) draw_integers(bits, out, n, low, (uint32_t)span);
    else { Py_BEGIN_ALLOW_THREADS draw_integers(bits, out, n, low, (uint32_t)span); Py_END_ALLOW_THREADS }
    Py_RETURN_NONE;
}

static void draw_order(bitgen_t *bits, npy_int64 *out, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) out[i] = i;
    for (npy_intp i = 0; i < n - 1; i++) {
        npy_intp other = i + (npy_intp)(bits->next_uint32(bits->state) % (uint64_t)(n - i));
        npy_int64 kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
}

static PyObject *permutation(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "permutation(capsule, array)");
    bitgen_t *bits = bits_of(args[0]);
    PyArrayObject *a = bits ? target_of(args[1], 1) : NULL;
    if (!a) return NULL;
    npy_int64 *out = (npy_int64 *)PyArray_BYTES(a);
    npy_intp n = PyArray_SIZE(a);
    if (n < MOST_HELD) draw_order(bits, out, n);
    else { Py_BEGIN_ALLOW_THREADS draw_order(bits, out, n); Py_END_ALLOW_THREADS }
    Py_RETURN_NONE;
}

/* ----------------------------------------------------------------------------------------------------------- the module */

/* Find the loops of a ufunc of one operand for floats and doubles. */
static int find_loops(PyObject *x, Loop both[2]) {
    if (!Py_IS_TYPE(x, &PyUFunc_Type)) {
        PyErr_Format(PyExc_TypeError, "not a ufunc: %R", x);
        return -1;
    }
    PyUFuncObject *ufunc = (PyUFuncObject *)x;
    for (int kind = 0; kind < 2; kind++) {
        char wanted = kind ? NPY_DOUBLE : NPY_FLOAT;
        Loop *found = &both[kind];
        found->loop = NULL;
        for (int i = 0; i < ufunc->ntypes && ufunc->nargs == 2 && !found->loop; i++)
            if (ufunc->types[2 * i] == wanted && ufunc->types[2 * i + 1] == wanted) {
                found->loop = ufunc->functions[i];
                found->data = ufunc->data ? (void *)ufunc->data[i] : NULL;
            }
        if (!found->loop) {
            PyErr_Format(PyExc_TypeError, "%R has no loop for floats of its own", x);
            return -1;
        }
    }
    return 0;
}

static PyObject *use(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "use(log, sqrt, cos, sin)");
    Loop found[4][2];
    for (int i = 0; i < 4; i++)
        if (find_loops(args[i], found[i]) < 0) return NULL;
    for (int i = 0; i < 8; i++) loops[i % 2][i / 2] = found[i / 2][i % 2];
    Py_RETURN_NONE;
}

#define FUNCTION(NAME, TEXT) {#NAME, (PyCFunction)(void (*)(void))NAME, METH_FASTCALL, PyDoc_STR(TEXT)}
static PyMethodDef functions[] = {
    FUNCTION(use, "Use these ufuncs: log, sqrt, cos and sin."),
    FUNCTION(uniform, "Fill an array of float32 or float64 with numbers of [0, 1)."),
    FUNCTION(normal, "Fill an array of float32 or float64 with normal numbers; return the number that is left for the next call."),
    FUNCTION(integers, "Fill an array of int64 with numbers of [low, low + span), by the remainder of 32 bits."),
    FUNCTION(permutation, "Fill an array of int64 with 0, 1, ... in an order drawn by Fisher and Yates, from the front."),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_draws",
    .m_doc = PyDoc_STR("Draws of a Mersenne Twister into arrays; the cpu backend calls them."),
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__draws(void) {
    import_array();
    import_umath();
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, LAYOUT) < 0) Py_CLEAR(module);
    return module;
}
