/* 16-bit floats, NumPy's and ml_dtypes' bfloat16, by the loops of float32; a part of _loops.c.
 *
 * Note [Halves in blocks]
 *     Rows whose ufunc is rounded as a whole give of 16-bit floats what float32 gives, rounded once more: so blocks are
 *     widened into scratch memory, computed there, and narrowed. Both conversions move bits as NumPy's and ml_dtypes' do. Of
 *     two nans the result is the one or the other, which depends on the loop: calls with such a pair are left to Python.
 */
#include <stdint.h>
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#include <immintrin.h>
#define HAS_WAYS_OF_X86 1
#endif

#define WIDE 2048 /* elements of a block */

enum { HALF = 1, BRAIN };                                        /* the two formats; 0 is neither */
enum { SERVES_HALVES = 1, ROUNDS_FOR_HALF = 2, ROUNDS_FOR_BRAIN = 4, ONLY_BRAIN = 8, ONE_BLOCK = 16 }; /* a row's `halves`: it rounds numbers */

static PyTypeObject *brain_type; /* the class of bfloat16's scalars, when one was met */

static inline int format_of(PyArrayObject *a) {
    if (PyArray_TYPE(a) == NPY_HALF) return HALF;
    if (PyArray_TYPE(a) < NPY_USERDEF || PyArray_ITEMSIZE(a) != 2) return 0;
    PyTypeObject *type = PyArray_DESCR(a)->typeobj;
    if (!brain_type && type && !strcmp(type->tp_name, "ml_dtypes.bfloat16")) brain_type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    return type && type == brain_type ? BRAIN : 0;
}

/* The format of an array that a row serves, or 0. */
static inline int narrow_format(Kernel *k, PyArrayObject *a) {
    if (!k->halves || k->loop[NPY_FLOAT] < 0) return 0;
    int format = format_of(a);
    return format && PyArray_SIZE(a) > 0 && is_dense(a) ? format : 0;
}

static inline float as_float(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static inline uint32_t bits_of(float f) { uint32_t bits; memcpy(&bits, &f, 4); return bits; }

static inline float widen_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, bits = (uint32_t)(half & 0x7fff) << 13;
    if ((half & 0x7c00) == 0x7c00) return as_float(sign | 0x7f800000 | bits);
    return as_float(sign | bits_of(as_float(bits) * 0x1p112f));
}

static inline uint16_t narrow_half(float wide) {
    uint32_t bits = bits_of(wide), sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) { /* a nan keeps the bits that there is room for, one at least */
        uint32_t found = 0x7c00 + ((bits & 0x7fffff) >> 13);
        return (uint16_t)(sign | (found == 0x7c00 ? found + 1 : found));
    }
    if (bits >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    /* Below the least normal number: a sum with 0.5 is rounded to the last place of a half. */
    if (bits < 0x38800000) return (uint16_t)(sign | (bits_of(as_float(bits) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13);
}

static inline uint16_t narrow_brain(float wide) {
    uint32_t bits = bits_of(wide), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fc0 : rounded);
}

#define CONVERSIONS(ATTRIBUTES, NAME) \
    ATTRIBUTES static void widen_brains##NAME(const uint16_t *in, float *out, npy_intp n) { \
        for (npy_intp i = 0; i < n; i++) out[i] = as_float((uint32_t)in[i] << 16); \
    } \
    ATTRIBUTES static void narrow_brains##NAME(const float *in, uint16_t *out, npy_intp n) { \
        for (npy_intp i = 0; i < n; i++) out[i] = narrow_brain(in[i]); \
    }

CONVERSIONS(, )

static void widen_halves(const uint16_t *in, float *out, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) out[i] = widen_half(in[i]);
}

static void narrow_halves(const float *in, uint16_t *out, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) out[i] = narrow_half(in[i]);
}

/* By format. */
static void (*widen_many[3])(const uint16_t *, float *, npy_intp) = {NULL, widen_halves, widen_brains};
static void (*narrow_many[3])(const float *, uint16_t *, npy_intp) = {NULL, narrow_halves, narrow_brains};

#ifdef HAS_WAYS_OF_X86
#define ON_NEW __attribute__((target("avx2,f16c")))
CONVERSIONS(ON_NEW, _on_new)

/* These instructions set the bit that makes a nan quiet, as arithmetic does. */
ON_NEW static void widen_halves_on_new(const uint16_t *in, float *out, npy_intp n) {
    npy_intp i = 0;
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    for (; i < n; i++) out[i] = _cvtsh_ss(in[i]);
}

ON_NEW static void narrow_halves_on_new(const float *in, uint16_t *out, npy_intp n) {
    npy_intp i = 0;
    for (; i + 8 <= n; i += 8) _mm_storeu_si128((__m128i *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

static void find_conversions(void) {
    unsigned int a, b, c, d;
    if (!__builtin_cpu_supports("avx2") || !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C)) return;
    widen_many[HALF] = widen_halves_on_new, widen_many[BRAIN] = widen_brains_on_new;
    narrow_many[HALF] = narrow_halves_on_new, narrow_many[BRAIN] = narrow_brains_on_new;
}
#else
static void find_conversions(void) {}
#endif

/* Convert to the bit, as NumPy copies: by instructions that make nans quiet, unless there are others among many. */
static void widen_exactly(int format, const uint16_t *in, float *out, npy_intp n) {
    for (npy_intp done = 0; done < n; done += WIDE) {
        npy_intp length = n - done < WIDE ? n - done : WIDE;
        uint16_t found = 0;
        if (format == HALF)
            for (npy_intp i = done; i < done + length; i++) found |= (uint16_t)(((in[i] & 0x7fff) > 0x7c00) & ((in[i] & 0x7fff) < 0x7e00));
        if (found) widen_halves(in + done, out + done, length);
        else widen_many[format](in + done, out + done, length);
    }
}

static void narrow_exactly(int format, const float *in, uint16_t *out, npy_intp n) {
    for (npy_intp done = 0; done < n; done += WIDE) {
        npy_intp length = n - done < WIDE ? n - done : WIDE;
        uint32_t found = 0;
        if (format == HALF)
            for (npy_intp i = done; i < done + length; i++) {
                uint32_t bits = bits_of(in[i]) & 0x7fffffff;
                found |= (bits > 0x7f800000) & (bits < 0x7fc00000);
            }
        if (found) narrow_halves(in + done, out + done, length);
        else narrow_many[format](in + done, out + done, length);
    }
}

/* Of (value, out): write float32 to 16-bit floats, or the other way; return whether the arrays are plain, of one shape and apart. */
static PyObject *convert(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    PyArrayObject *value = n == 2 ? as_array(args[0]) : NULL, *out = n == 2 ? as_array(args[1]) : NULL;
    if (!value || !out || !have_one_shape(value, out) || !PyArray_ISWRITEABLE(out)) Py_RETURN_FALSE;
    int from = format_of(value), to = format_of(out);
    if (from ? to || PyArray_TYPE(out) != NPY_FLOAT : !to || PyArray_TYPE(value) != NPY_FLOAT) Py_RETURN_FALSE;
    for (int i = 0; i < 2; i++) {
        PyArrayObject *each = i ? out : value;
        int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
        if ((PyArray_FLAGS(each) & wanted) != wanted || !PyArray_ISNBO(PyArray_DESCR(each)->byteorder)) Py_RETURN_FALSE;
    }
    npy_intp count = PyArray_SIZE(value);
    char *one = PyArray_BYTES(value), *other = PyArray_BYTES(out);
    if (one < other + PyArray_NBYTES(out) && other < one + PyArray_NBYTES(value)) Py_RETURN_FALSE;
    PyThreadState *state = count < MOST_SHARED ? NULL : PyEval_SaveThread();
    if (from) widen_exactly(from, (const uint16_t *)one, (float *)other, count);
    else narrow_exactly(to, (const float *)one, (uint16_t *)other, count);
    if (state) PyEval_RestoreThread(state);
    Py_RETURN_TRUE;
}

/* Whether two arrays have nans at one place; where an array has one element, its step is 0. */
static int have_nans(const uint16_t *a, npy_intp a_step, const uint16_t *b, npy_intp b_step, npy_intp n, int format) {
    uint16_t top = format == HALF ? 0x7c00 : 0x7f80;
    if (!a_step || !b_step) {
        const uint16_t *one = a_step ? b : a, *many = a_step ? a : b;
        if ((*one & 0x7fff) <= top) return 0;
        a = b = many;
    }
    for (npy_intp done = 0; done < n; done += WIDE) {
        uint16_t found = 0;
        npy_intp end = n - done < WIDE ? n : done + WIDE;
        for (npy_intp i = done; i < end; i++) found |= (uint16_t)(((a[i] & 0x7fff) > top) & ((b[i] & 0x7fff) > top));
        if (found) return 1;
    }
    return 0;
}

/* An operand: many 16-bit floats, or one number. */
typedef struct { const uint16_t *many; float one; } Narrow;

/* Run the loop of float32 on one or two operands. The result has 16-bit floats, or what the loop gives where that is no float. */
static void run_narrow(Kernel *k, int format, const Narrow *operands, int count, char *out, npy_intp n) {
    float wide[2][WIDE], result[WIDE];
    PyUFuncObject *ufunc = (PyUFuncObject *)k->ufunc;
    int which = k->loop[NPY_FLOAT], is_float = k->out[NPY_FLOAT] == NPY_FLOAT;
    void *data = ufunc->data ? (void *)ufunc->data[which] : NULL;
    PyThreadState *state = n < MOST_SHARED ? NULL : PyEval_SaveThread();
    for (npy_intp done = 0; done < n; done += WIDE) {
        npy_intp length = n - done < WIDE ? n - done : WIDE, steps[3];
        char *at[3];
        for (int i = 0; i < count; i++) {
            if (operands[i].many) widen_many[format](operands[i].many + done, wide[i], length);
            at[i] = operands[i].many ? (char *)wide[i] : (char *)&operands[i].one;
            steps[i] = operands[i].many ? 4 : 0;
        }
        at[count] = is_float ? (char *)result : out + done;
        steps[count] = is_float ? 4 : 1;
        ufunc->functions[which](at, &length, steps, data);
        if (is_float) narrow_many[format](result, (uint16_t *)out + done, length);
    }
    if (state) PyEval_RestoreThread(state);
}

/* Make a result like an array, of its own type or of the loop's. */
static PyObject *make_narrow(Kernel *k, PyArrayObject *like) {
    int type = k->out[NPY_FLOAT]; /* of a formula, the same */
    PyArray_Descr *descr = type == NPY_FLOAT ? PyArray_DESCR(like) : PyArray_DescrFromType(type);
    if (type == NPY_FLOAT) Py_INCREF(descr);
    else if (type != NPY_BOOL) { Py_DECREF(descr); return NULL; }
    return PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(like), PyArray_DIMS(like), NULL, NULL, 0, NULL);
}

static inline Narrow as_operand(PyArrayObject *a, int format, int is_one) {
    Narrow operand = {is_one ? NULL : (const uint16_t *)PyArray_BYTES(a), 0};
    if (is_one) widen_many[format]((const uint16_t *)PyArray_BYTES(a), &operand.one, 1);
    return operand;
}

static PyObject *narrow_unary(Kernel *k, PyArrayObject *a) {
    int format = narrow_format(k, a);
    if ((k->halves & ONLY_BRAIN && format != BRAIN) || (k->halves & ONE_BLOCK && PyArray_SIZE(a) > WIDE)) return NULL;
    PyObject *r = format ? make_narrow(k, a) : NULL;
    if (!r) return NULL;
    Narrow operand = as_operand(a, format, 0);
    run_narrow(k, format, &operand, 1, data_of(r), PyArray_SIZE(a));
    return r;
}

/* Of two arrays of one shape, or one with one without dimensions; into the first, or into a new one. */
static PyObject *narrow_binary(Kernel *k, PyArrayObject *a, PyArrayObject *b, int is_into) {
    int format = narrow_format(k, a);
    if (!format || PyArray_DESCR(a) != PyArray_DESCR(b) || narrow_format(k, b) != format) return NULL;
    PyArrayObject *like = a;
    npy_intp a_step = 1, b_step = 1;
    if (!have_one_shape(a, b)) {
        if (!PyArray_NDIM(b)) b_step = 0;
        else if (!PyArray_NDIM(a) && !is_into) { a_step = 0; like = b; }
        else return NULL;
    }
    npy_intp n = PyArray_SIZE(like);
    if (have_nans((uint16_t *)PyArray_BYTES(a), a_step, (uint16_t *)PyArray_BYTES(b), b_step, n, format)) return NULL;
    if (is_into && k->out[NPY_FLOAT] != NPY_FLOAT) return NULL;
    PyObject *r = is_into ? Py_NewRef((PyObject *)a) : make_narrow(k, like);
    if (!r) return NULL;
    Narrow operands[2] = {as_operand(a, format, !a_step), as_operand(b, format, !b_step)};
    run_narrow(k, format, operands, 2, data_of(r), n);
    return r;
}

/* Of an array and a number, which is rounded to the array's type where the row says so. */
static PyObject *narrow_number(Kernel *k, PyArrayObject *a, PyObject *x, int is_into) {
    int format = narrow_format(k, a);
    Number number;
    if (!format || !take_number(x, NPY_FLOAT, &number)) return NULL;
    float value = number.f;
    if (k->halves & (format == HALF ? ROUNDS_FOR_HALF : ROUNDS_FOR_BRAIN))
        value = format == HALF ? widen_half(narrow_half(value)) : as_float((uint32_t)narrow_brain(value) << 16);
    /* Numbers that are too great have errors of their own, and nans their signs. */
    if (!isfinite(value) || (is_into && k->out[NPY_FLOAT] != NPY_FLOAT)) return NULL;
    PyObject *r = is_into ? Py_NewRef((PyObject *)a) : make_narrow(k, a);
    if (!r) return NULL;
    Narrow operands[2] = {as_operand(a, format, 0), {NULL, value}};
    if (k->swapped) {
        Narrow first = operands[0];
        operands[0] = operands[1], operands[1] = first;
    }
    run_narrow(k, format, operands, 2, data_of(r), PyArray_SIZE(a));
    return r;
}

/* What is kept of a half: nans of bfloat16 have one pattern of bits for each sign. */
static inline uint16_t keep_half(uint16_t bits, int format) {
    return format == BRAIN && (bits & 0x7fff) > 0x7f80 ? (bits & 0x8000) | 0x7fc0 : bits;
}

/* relu by bits: negative numbers become zero, nans and the zero with a sign stay. */
static PyObject *narrow_relu(Kernel *k, PyArrayObject *a) {
    int format = narrow_format(k, a);
    PyObject *r = format ? make_narrow(k, a) : NULL;
    if (!r) return NULL;
    const uint16_t *in = (const uint16_t *)PyArray_BYTES(a), top = format == HALF ? 0x7c00 : 0x7f80;
    uint16_t *out = (uint16_t *)data_of(r);
    npy_intp n = PyArray_SIZE(a);
    for (npy_intp i = 0; i < n; i++) out[i] = in[i] > 0x8000 && (in[i] & 0x7fff) <= top ? 0 : keep_half(in[i], format);
    return r;
}

/* relu's gradient: zero where a number is at most zero. */
static PyObject *narrow_gate(Kernel *k, PyArrayObject *g, PyArrayObject *a) {
    int format = narrow_format(k, a);
    if (!format || !is_dense(g) || !have_one_shape(a, g)) return NULL;
    PyObject *r = make_narrow(k, a);
    if (!r) return NULL;
    const uint16_t *in = (const uint16_t *)PyArray_BYTES(a), *gradient = (const uint16_t *)PyArray_BYTES(g);
    uint16_t *out = (uint16_t *)data_of(r), top = format == HALF ? 0x7c00 : 0x7f80;
    npy_intp n = PyArray_SIZE(a);
    for (npy_intp i = 0; i < n; i++) {
        uint16_t each = keep_half(gradient[i], format);
        out[i] = !in[i] || (in[i] >= 0x8000 && (in[i] & 0x7fff) <= top) ? 0 : each;
    }
    return r;
}

/* The elements of an array as float32. */
static PyObject *make_wide(PyArrayObject *a) {
    PyObject *r = make_array(NPY_FLOAT, PyArray_NDIM(a), PyArray_DIMS(a));
    if (r) widen_exactly(format_of(a), (const uint16_t *)PyArray_BYTES(a), (float *)data_of(r), PyArray_SIZE(a));
    return r;
}

/* An array of float32, which is given up, in a type of halves. */
static PyObject *make_rounded(PyObject *wide, PyArray_Descr *descr) {
    PyArrayObject *a = (PyArrayObject *)wide;
    Py_INCREF(descr);
    PyObject *r = PyArray_NewFromDescr(&PyArray_Type, descr, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
    if (r) narrow_exactly(format_of((PyArrayObject *)r), (const float *)PyArray_BYTES(a), (uint16_t *)data_of(r), PyArray_SIZE(a));
    Py_DECREF(wide);
    return r;
}
