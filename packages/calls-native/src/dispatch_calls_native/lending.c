/* Memory that crosses to the user: what `dispatch_core.arrays.lent_memory` does for one array, and a frontend's way to take an
 * array of the user's over.
 *
 * Note [Entries without a lock]
 *     Here the first entry of a memory is added, and its last one taken out, in one step of the interpreter: so without the
 *     lock under which Python changes the entries of a memory that has several. Everything that takes memory, and may so run a
 *     finalizer, comes before. */
#include "front.h"

#define MANY 256 /* sources; from here on Python takes those out that are gone */

typedef struct {
    PyObject_HEAD
    PyObject *lent, *before, *lend, *forget; /* of the core: its entries, what runs before, and its functions in Python */
    PyObject *sources, *holder, *array_type, *show; /* of the frontend */
    PyObject *end;                           /* what a dead entry calls */
} Lending;

static PyObject *s_key, *s_base, *s_flags, *s_owndata, *s_contiguous, *s_writeable, *s_view, *s_strides, *s_dtype;

#define EACH_OF_LENDING(DO) DO(lent) DO(before) DO(lend) DO(forget) DO(sources) DO(holder) DO(array_type) DO(show) DO(end)

/* Take out the entry of a holder that is dead; where it is not the only one of its memory, Python does. */
static PyObject *end_entry(PyObject *self, PyObject *entry) {
    Lending *own = (Lending *)self;
    if (!own->lent) Py_RETURN_NONE; /* the collector has cleared it */
    PyObject *key = PyObject_GetAttr(entry, s_key);
    if (!key) { PyErr_Clear(); Py_RETURN_NONE; }
    PyObject *entries = PyDict_GetItemWithError(own->lent, key);
    PyObject *done = NULL;
    if (!entries) {
        if (!PyErr_Occurred()) done = Py_NewRef(Py_None);
    } else if (PyTuple_CheckExact(entries) && PyTuple_GET_SIZE(entries) == 1) {
        if (PyTuple_GET_ITEM(entries, 0) != entry || PyDict_DelItem(own->lent, key) == 0) done = Py_NewRef(Py_None);
    } else done = PyObject_CallOneArg(own->forget, entry);
    Py_DECREF(key);
    return done;
}

static PyMethodDef end_definition = {"end", end_entry, METH_O, NULL};

/* Mark memory as lent: 1, 0 where Python does, before anything was done, or -1 for an error. */
static int add_entry(Lending *own, PyObject *array, PyObject *holder, PyObject *held, PyObject *key) {
    if (!is_on || !PyList_CheckExact(own->before) || PyList_GET_SIZE(own->before)) return 0;
    PyObject *entries = PyDict_GetItemWithError(own->lent, key);
    if (!entries && PyErr_Occurred()) return -1;
    if (entries) {
        /* Of a memory that is lent already, only the entry of the same object, or of the memory itself, is known at once. */
        if (!PyTuple_CheckExact(entries) || PyTuple_GET_SIZE(entries) != 1) return 0;
        PyObject *entry = PyTuple_GET_ITEM(entries, 0);
        PyObject *known = PyWeakref_Check(entry) ? referent(entry) : NULL;
        Py_XDECREF(known);
        return known == held || known == array;
    }
    PyObject *entry = PyObject_CallFunctionObjArgs(holder, held, own->end, NULL);
    PyObject *made = entry && PyObject_SetAttr(entry, s_key, key) == 0 ? PyTuple_Pack(1, entry) : NULL;
    Py_XDECREF(entry);
    if (!made) return -1;
    PyObject *found = PyDict_SetDefault(own->lent, key, made);
    int is_mine = found == made;
    Py_DECREF(made);
    return found ? is_mine : -1;
}

/* lend(array, holder, held, key): as the function in Python, which serves all that is not plain. */
static PyObject *lend(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Lending *own = (Lending *)self;
    if (count == 4 && PyLong_CheckExact(args[3]) && PyType_Check(args[1])) {
        int is_done = add_entry(own, args[0], args[1], args[2], args[3]);
        if (is_done) return is_done > 0 ? Py_NewRef(args[3]) : NULL;
    }
    return PyObject_Vectorcall(own->lend, args, count, NULL);
}

/* Return whether an attribute is True; -1 for an error. */
static int is_set(PyObject *object, PyObject *name) {
    PyObject *found = PyObject_GetAttr(object, name);
    if (!found) return -1;
    Py_DECREF(found);
    return found == Py_True;
}

/* Return the view of an array by which it is known, as a new reference; NULL without an error where Python is to look. */
static PyObject *find_view(Lending *own, PyObject *array, PyObject *key) {
    PyObject *known = PyDict_GetItemWithError(own->sources, key);
    if (!known && PyErr_Occurred()) return NULL;
    if (known) {
        PyObject *view = PyWeakref_Check(known) ? referent(known) : NULL;
        if (view) return view;
    } else if (PyDict_GET_SIZE(own->sources) >= MANY) return NULL;
    PyObject *view = PyObject_CallMethodNoArgs(array, s_view);
    PyObject *reference = view ? PyWeakref_NewRef(view, NULL) : NULL;
    if (!reference || PyDict_SetItem(own->sources, key, reference) < 0) Py_CLEAR(view);
    Py_XDECREF(reference);
    return view;
}

/* Return an array behind a view of one, where it is as that one; NULL, with an error or without one, where it is not. */
static PyObject *show(Lending *own, PyObject *view, PyObject *array) {
    PyObject *memory = PyMemoryView_FromObject(view);
    PyObject *shown = memory ? PyObject_CallOneArg(own->show, memory) : NULL;
    Py_XDECREF(memory);
    if (!shown) return NULL;
    PyObject *dtype = PyObject_GetAttr(array, s_dtype), *other = PyObject_GetAttr(shown, s_dtype);
    int is_same = dtype && dtype == other;
    Py_XDECREF(dtype); Py_XDECREF(other);
    if (is_same) {
        PyObject *strides = PyObject_GetAttr(array, s_strides), *others = PyObject_GetAttr(shown, s_strides);
        is_same = strides && others && PyObject_RichCompareBool(strides, others, Py_EQ) > 0;
        Py_XDECREF(strides); Py_XDECREF(others);
    }
    if (!is_same) Py_CLEAR(shown);
    return shown;
}

/* borrow(array): an array in the memory of a whole one that may be written to; None where Python is to make it. */
static PyObject *borrow(PyObject *self, PyObject *array) {
    Lending *own = (Lending *)self;
    if (!is_on || (PyObject *)Py_TYPE(array) != own->array_type) Py_RETURN_NONE;
    PyObject *base = PyObject_GetAttr(array, s_base), *flags = base == Py_None ? PyObject_GetAttr(array, s_flags) : NULL;
    Py_XDECREF(base);
    int is_plain = flags && is_set(flags, s_owndata) > 0 && is_set(flags, s_contiguous) > 0 && is_set(flags, s_writeable) > 0;
    Py_XDECREF(flags);
    PyObject *key = is_plain ? PyLong_FromVoidPtr(array) : NULL, *view = key ? find_view(own, array, key) : NULL;
    PyObject *shown = view ? show(own, view, array) : NULL;
    int is_done = shown ? add_entry(own, shown, own->holder, view, key) : 0;
    Py_XDECREF(view);
    Py_XDECREF(key);
    if (is_done > 0) return shown;
    Py_XDECREF(shown);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL; /* an interrupt */
        PyErr_Clear(); /* any other error comes again from Python */
    }
    Py_RETURN_NONE;
}

static PyObject *lending_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *lent, *before, *lend, *forget, *sources, *holder, *array_type, *show;
    if (!PyArg_ParseTuple(args, "O!O!OOO!O!O!O:Lending", &PyDict_Type, &lent, &PyList_Type, &before, &lend, &forget, &PyDict_Type, &sources, &PyType_Type, &holder,
                          &PyType_Type, &array_type, &show)) return NULL;
    Lending *made = (Lending *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    made->lent = Py_NewRef(lent); made->before = Py_NewRef(before); made->lend = Py_NewRef(lend); made->forget = Py_NewRef(forget);
    made->sources = Py_NewRef(sources); made->holder = Py_NewRef(holder); made->array_type = Py_NewRef(array_type); made->show = Py_NewRef(show);
    if (!(made->end = PyCFunction_New(&end_definition, (PyObject *)made))) Py_CLEAR(made);
    return (PyObject *)made;
}

static int lending_traverse(PyObject *self, visitproc visit, void *arg) {
    Lending *own = (Lending *)self;
#define VISIT(name) Py_VISIT(own->name);
    EACH_OF_LENDING(VISIT)
#undef VISIT
    return 0;
}

static int lending_clear(PyObject *self) {
    Lending *own = (Lending *)self;
#define CLEAR(name) Py_CLEAR(own->name);
    EACH_OF_LENDING(CLEAR)
#undef CLEAR
    return 0;
}

static void lending_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    lending_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef lending_methods[] = {
    {"lend", (PyCFunction)(void (*)(void))lend, METH_FASTCALL, "lend(array, holder, held, key): mark memory as lent, and return its key."},
    {"borrow", borrow, METH_O, "borrow(array): return an array in the memory of a whole one, or None."},
    {NULL},
};

static PyTypeObject Lending_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Lending",
    .tp_doc = "Lending(lent, before, lend, forget, sources, holder, array_type, show)",
    .tp_basicsize = sizeof(Lending), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = lending_new, .tp_methods = lending_methods,
    .tp_traverse = lending_traverse, .tp_clear = lending_clear, .tp_dealloc = lending_dealloc,
};

int add_lending(PyObject *module) {
    struct { PyObject **to; const char *text; } names[] = {
        {&s_key, "key"}, {&s_base, "base"}, {&s_flags, "flags"}, {&s_owndata, "owndata"}, {&s_contiguous, "c_contiguous"}, {&s_writeable, "writeable"},
        {&s_view, "view"}, {&s_strides, "strides"}, {&s_dtype, "dtype"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
    }
    return PyType_Ready(&Lending_Type) < 0 ? -1 : PyModule_AddObjectRef(module, "Lending", (PyObject *)&Lending_Type);
}
