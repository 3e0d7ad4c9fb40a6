/* Questions about a tensor: properties and methods that are answered by its array, and the reading of its items.
 *
 * Question  a property of a frontend's class
 * Method    a method of it: a front, which is the Python function in everything but calls
 * Item      the method that reads items by ints, slices, None and ..., each by an operator
 *
 * Whatever is not found at once is the answer of the property, or the function, in Python. */
#include "front.h"
#include <frameobject.h>

#define STEPS 16 /* of an index */

/* The answer is an attribute of the array, or what a dictionary has for it; or an attribute of the state of a tensor's
 * history. */
typedef struct {
    Layout *layout;
    PyObject *array_type, *attribute, *answers; /* answers: NULL where the attribute is the answer */
    PyObject *within;                           /* an attribute of the attribute, which is the answer; or NULL */
    PyObject *beside, *unless;                  /* one that is looked up with it, and one that may not be 0; or NULL */
    PyObject *doc;                              /* of the property: a class of its own has no place for it */
    Mask keys;                                  /* without which there is no history; 0 for questions about arrays */
    PyObject *absent, *busy, *sure; /* without a history; nothing is answered while it is true; the states whose None and bools are answers */
    PyObject *state_name, *state_member;
    Py_ssize_t state;
} Asked;

#define EACH_OF_ASKED(DO) DO(layout) DO(array_type) DO(attribute) DO(answers) DO(within) DO(beside) DO(unless) DO(doc) DO(state_name) DO(state_member) DO(absent) DO(busy) DO(sure)

static int traverse_asked(Asked *asked, visitproc visit, void *arg) {
#define VISIT(name) Py_VISIT(asked->name);
    EACH_OF_ASKED(VISIT)
#undef VISIT
    return 0;
}

static void clear_asked(Asked *asked) {
#define CLEAR(name) Py_CLEAR(asked->name);
    EACH_OF_ASKED(CLEAR)
#undef CLEAR
}

/* Return an answer of the state of a tensor's history; or NULL, with an error or without one. */
static PyObject *answer_by_state(Asked *asked, PyObject *tensor) {
    if (asked->busy && PyObject_IsTrue(asked->busy)) return NULL;
    PyObject *mask = AT(tensor, asked->layout->mask), *state = AT(tensor, asked->state);
    if (Py_TYPE(tensor) != asked->layout->type && _PyType_Lookup(Py_TYPE(tensor), asked->state_name) != asked->state_member) return NULL;
    if (!mask || !PyLong_CheckExact(mask)) return NULL;
    Mask found = PyLong_AsUnsignedLongLong(mask);
    if (found == (Mask)-1 && PyErr_Occurred()) { PyErr_Clear(); return NULL; }
    if (!(found & asked->keys)) return Py_NewRef(asked->absent);
    if (!state || PyTuple_CheckExact(state)) return NULL;
    Py_INCREF(state);
    PyObject *wanted = PyObject_GetAttr(state, asked->attribute);
    int is_bool = wanted && PyBool_Check(wanted), is_answer = is_bool;
    if (asked->sure) is_answer = (!is_bool && wanted != Py_None) || (PyObject *)Py_TYPE(state) == asked->sure;
    Py_DECREF(state);
    if (wanted && !is_answer) Py_CLEAR(wanted);
    return wanted;
}

/* Return a tensor's array, held, where it is of the type that is answered for. */
static PyObject *find_array(Layout *layout, PyObject *array_type, PyObject *tensor) {
    PyObject *data = AT(tensor, layout->data);
    return data && (PyObject *)Py_TYPE(data) == array_type ? Py_NewRef(data) : NULL;
}

/* Return the attribute that a question is about, or a pair of two. */
static PyObject *read_attribute(Asked *asked, PyObject *data) {
    if (asked->unless) {
        PyObject *number = PyObject_GetAttr(data, asked->unless);
        int yes = number ? PyObject_IsTrue(number) : -1;
        Py_XDECREF(number);
        if (yes <= 0) return NULL;
    }
    PyObject *found = PyObject_GetAttr(data, asked->attribute);
    if (found && asked->within) Py_SETREF(found, PyObject_GetAttr(found, asked->within));
    if (found && asked->beside) {
        PyObject *other = PyObject_GetAttr(data, asked->beside);
        Py_SETREF(found, other ? PyTuple_Pack(2, found, other) : NULL);
        Py_XDECREF(other);
    }
    return found;
}

/* Return the answer at once, or its item, where `index` is one; or NULL, with an error or without one. */
static PyObject *answer(Asked *asked, PyObject *tensor, PyObject *index) {
    if (!is_on || !asked->layout || !is_tensor(asked->layout, tensor)) return NULL;
    if (asked->keys) return answer_by_state(asked, tensor);
    PyObject *data = find_array(asked->layout, asked->array_type, tensor);
    if (!data) return NULL;
    PyObject *found = read_attribute(asked, data);
    Py_DECREF(data);
    /* An item of a lone attribute is that of its answer, too. */
    if (found && asked->answers && (!index || asked->beside)) Py_SETREF(found, Py_XNewRef(PyDict_GetItemWithError(asked->answers, found)));
    if (!found || !index) return found;
    PyObject *item = NULL;
    if (PyTuple_Check(found)) {
        int overflow;
        Py_ssize_t size = PyTuple_GET_SIZE(found);
        long long at = PyLong_AsLongLongAndOverflow(index, &overflow);
        if (!overflow && at < 0) at += size;
        if (!overflow && at >= 0 && at < size) item = Py_NewRef(PyTuple_GET_ITEM(found, (Py_ssize_t)at));
    }
    Py_DECREF(found);
    return item;
}

/* Return whether Python is to answer: an interrupt goes on to the caller; any other error comes again from Python. */
static int is_for_python(void) {
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) return 0;
        PyErr_Clear();
    }
    return 1;
}

/* Take an optional name. */
static int take_name(PyObject *name, PyObject **to) {
    if (name == Py_None) return 0;
    if (!PyUnicode_CheckExact(name)) { PyErr_SetString(PyExc_TypeError, "not the name of an attribute"); return -1; }
    *to = Py_NewRef(name);
    PyUnicode_InternInPlace(to);
    return 0;
}

/* Read what is asked: `(layout, array_type, attribute, answers, within, beside, unless, keys, state, absent, busy, sure)`. */
static int take_asked(PyObject *given, Asked *asked) {
    PyObject *layout, *array_type, *attribute, *answers, *within, *beside, *unless, *keys, *state, *absent, *busy, *sure;
    if (!PyArg_ParseTuple(given, "O!OUOOOOO!OOOO:question", &Layout_Type, &layout, &array_type, &attribute, &answers, &within, &beside, &unless, &PyLong_Type, &keys, &state, &absent, &busy, &sure)) return -1;
    if (answers != Py_None && !PyDict_Check(answers)) { PyErr_SetString(PyExc_TypeError, "no dictionary of answers"); return -1; }
    asked->keys = PyLong_AsUnsignedLongLongMask(keys); /* a mask with further ones is left to Python */
    if (PyErr_Occurred()) return -1;
    if (take_name(attribute, &asked->attribute) || take_name(within, &asked->within) || take_name(beside, &asked->beside)) return -1;
    if (take_name(unless, &asked->unless) || take_name(state, &asked->state_name)) return -1;
    if (asked->state_name && !(asked->state_member = Py_XNewRef(find_member(((Layout *)layout)->type, asked->state_name, &asked->state)))) return -1;
    if (asked->keys && !asked->state_name) { PyErr_SetString(PyExc_TypeError, "no attribute of states"); return -1; }
    asked->absent = Py_NewRef(absent);
    asked->busy = busy == Py_None ? NULL : Py_NewRef(busy);
    asked->sure = sure == Py_None ? NULL : Py_NewRef(sure);
    asked->array_type = Py_NewRef(array_type);
    asked->answers = answers == Py_None ? NULL : Py_NewRef(answers);
    asked->layout = (Layout *)Py_NewRef(layout);
    return 0;
}

/* ---- Properties ---------------------------------------------------------------------------------------------------- */

static inline Asked *asked_of(PyObject *self) { return (Asked *)((char *)self + PyProperty_Type.tp_basicsize); }

static PyObject *question_get(PyObject *self, PyObject *instance, PyObject *owner) {
    if (instance && instance != Py_None) {
        PyObject *found = answer(asked_of(self), instance, NULL);
        if (found || !is_for_python()) return found;
    }
    return PyProperty_Type.tp_descr_get(self, instance, owner);
}

static PyObject *question_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *python, *spec, *parts[4] = {NULL}, *made = NULL;
    if (!PyArg_ParseTuple(args, "O!O!:Question", &PyProperty_Type, &python, &PyTuple_Type, &spec)) return NULL;
    const char *names[4] = {"fget", "fset", "fdel", "__doc__"};
    int bad = 0;
    for (int i = 0; i < 4 && !bad; i++) bad = !(parts[i] = PyObject_GetAttrString(python, names[i]));
    PyObject *given = bad ? NULL : PyTuple_Pack(3, parts[0], parts[1], parts[2]);
    made = given ? PyProperty_Type.tp_new(cls, given, NULL) : NULL;
    if (made && (PyProperty_Type.tp_init(made, given, NULL) < 0 || take_asked(spec, asked_of(made)) < 0)) Py_CLEAR(made);
    if (made) Py_XSETREF(asked_of(made)->doc, Py_NewRef(parts[3]));
    for (int i = 0; i < 4; i++) Py_XDECREF(parts[i]);
    Py_XDECREF(given);
    return made;
}

static int question_traverse(PyObject *self, visitproc visit, void *arg) {
    int stop = traverse_asked(asked_of(self), visit, arg);
    return stop ? stop : PyProperty_Type.tp_traverse(self, visit, arg);
}

static int question_clear(PyObject *self) {
    clear_asked(asked_of(self));
    return PyProperty_Type.tp_clear ? PyProperty_Type.tp_clear(self) : 0;
}

static void question_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    clear_asked(asked_of(self));
    PyObject_GC_Track(self); /* as the property's own expects it */
    PyProperty_Type.tp_dealloc(self);
}

static PyObject *question_doc(PyObject *self, void *closure) {
    PyObject *doc = asked_of(self)->doc;
    return Py_NewRef(doc ? doc : Py_None);
}

static int question_set_doc(PyObject *self, PyObject *value, void *closure) {
    Py_XSETREF(asked_of(self)->doc, Py_XNewRef(value));
    return 0;
}

static PyGetSetDef question_getset[] = {{"__doc__", question_doc, question_set_doc, NULL, NULL}, {NULL}};

static int question_init(PyObject *self, PyObject *args, PyObject *kwargs) { return 0; } /* `question_new` has done it */

/* What is not said here is the property's; the size is set when the module is made. It shows itself as a property, too. */
PyTypeObject Question_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "property", .tp_init = question_init,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = question_new, .tp_descr_get = question_get, .tp_getset = question_getset,
    .tp_traverse = question_traverse, .tp_clear = question_clear, .tp_dealloc = question_dealloc,
};

/* ---- Methods ------------------------------------------------------------------------------------------------------- */

typedef struct { Front front; int takes_index; Asked asked; } Method;

static PyObject *method_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Method *own = (Method *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (!names && (given == 1 || (given == 2 && own->takes_index && PyLong_CheckExact(args[1])))) {
        PyObject *found = answer(&own->asked, args[0], given == 2 ? args[1] : NULL);
        if (found || !is_for_python()) return found;
    }
    return PyObject_Vectorcall(own->front.python, args, flags, names);
}

/* Make a front without a plan. */
static PyObject *make_front(PyTypeObject *cls, PyObject *python, vectorcallfunc call) {
    Front *made = (Front *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    made->vectorcall = call;
    made->python = Py_NewRef(python);
    made->frontends = -1;
    return (PyObject *)made;
}

static PyObject *method_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *python, *spec;
    int takes_index;
    if (!PyArg_ParseTuple(args, "O!O!p:Method", &PyFunction_Type, &python, &PyTuple_Type, &spec, &takes_index)) return NULL;
    PyObject *made = make_front(cls, python, method_call);
    if (!made) return NULL;
    ((Method *)made)->takes_index = takes_index;
    if (take_asked(spec, &((Method *)made)->asked) < 0) Py_CLEAR(made);
    return made;
}

static int method_traverse(PyObject *self, visitproc visit, void *arg) {
    int stop = traverse_asked(&((Method *)self)->asked, visit, arg);
    return stop ? stop : front_traverse(self, visit, arg);
}

static int method_clear(PyObject *self) {
    clear_asked(&((Method *)self)->asked);
    return front_clear(self);
}

static void method_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    clear_asked(&((Method *)self)->asked);
    PyObject_GC_Track(self); /* as the front's own expects it */
    front_dealloc(self);
}

PyTypeObject Method_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Method", .tp_basicsize = sizeof(Method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_base = &Front_Type, .tp_getset = front_getset, .tp_new = method_new, .tp_traverse = method_traverse, .tp_clear = method_clear, .tp_dealloc = method_dealloc,
};

/* ---- Items --------------------------------------------------------------------------------------------------------- */

/* The operators of a view: a row, a range, a new dimension, all of it; and the functions in which Python calls them, by
 * which errors go. */
typedef struct {
    Front front;
    Layout *layout;
    PyObject *array_type, *unless, *row, *range, *wrap, *all, *in_range, *in_tuple; /* unless: nothing is served where it is true */
} Item;

#define EACH_OF_ITEM(DO) DO(layout) DO(array_type) DO(unless) DO(row) DO(range) DO(wrap) DO(all) DO(in_range) DO(in_tuple)

static PyObject *s_own_shape;

/* Return whether a part of a slice is None or a number that needs no conversion. */
static inline int is_bound(PyObject *part) {
    int overflow;
    if (part == Py_None) return 1;
    return PyLong_CheckExact(part) && PyLong_AsLongLongAndOverflow(part, &overflow) != LLONG_MIN && !overflow;
}

/* Return whether a slice has plain parts and a step that goes forward. */
static int is_plain_slice(PyObject *index) {
    PySliceObject *slice = (PySliceObject *)index;
    int overflow;
    if (!is_bound(slice->start) || !is_bound(slice->stop)) return 0;
    return slice->step == Py_None || (PyLong_CheckExact(slice->step) && PyLong_AsLongLongAndOverflow(slice->step, &overflow) > 0 && !overflow);
}

/* Return whether a slice keeps everything; a lone one by a step of 1, too. */
static int is_whole(PyObject *index, int is_lone) {
    PySliceObject *slice = (PySliceObject *)index;
    if (slice->start != Py_None || slice->stop != Py_None) return 0;
    return slice->step == Py_None || (is_lone && PyLong_AsLong(slice->step) == 1);
}

/* Return whether an int is an index of a dimension. */
static int fits(PyObject *index, PyObject *shape, Py_ssize_t place) {
    int overflow;
    if (place >= PyTuple_GET_SIZE(shape)) return 0;
    long long at = PyLong_AsLongLongAndOverflow(index, &overflow), size = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, place));
    return !overflow && -size <= at && at < size;
}

/* Return how many dimensions `...` has the place of, or -1 where Python reads the items. */
static Py_ssize_t check_items(PyObject *const *items, Py_ssize_t count, PyObject *shape) {
    Py_ssize_t skipped = PyTuple_GET_SIZE(shape) - count, place = 0, dots = 0;
    if (count > STEPS) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (items[i] == Py_Ellipsis) dots++;
        if (items[i] == Py_None || items[i] == Py_Ellipsis) skipped++;
    }
    if (skipped < 0 || dots > 1) return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (items[i] == Py_Ellipsis) place += skipped;
        else if (PyLong_CheckExact(items[i])) { if (!fits(items[i], shape, place++)) return -1; }
        else if (PySlice_Check(items[i])) { if (!is_plain_slice(items[i])) return -1; place++; }
        else if (items[i] != Py_None) return -1;
    }
    return skipped;
}

/* Add the frame of a Python function to the error's traceback. */
static void add_frame(PyObject *function) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyFrameObject *frame = PyFrame_New(PyThreadState_Get(), (PyCodeObject *)PyFunction_GET_CODE(function), PyFunction_GET_GLOBALS(function), NULL);
    if (!frame) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    if (frame) PyTraceBack_Here(frame);
    Py_XDECREF(frame);
}

/* Return the view of some items of a tensor, all of which `check_items` has checked. */
static PyObject *take_items(Item *own, PyObject *tensor, PyObject *const *items, Py_ssize_t count, Py_ssize_t skipped, int is_lone) {
    PyObject *result = Py_NewRef(tensor), *one = PyLong_FromLong(1), *in = NULL;
    Py_ssize_t dim = 0;
    if (!one) Py_CLEAR(result);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        PyObject *item = items[i], *stack[6] = {NULL, result}, *op = NULL;
        size_t given = 2 | PY_VECTORCALL_ARGUMENTS_OFFSET;
        if (item == Py_Ellipsis) { dim += skipped; continue; }
        if (PySlice_Check(item)) {
            PySliceObject *slice = (PySliceObject *)item;
            dim++;
            if (is_whole(item, is_lone)) continue;
            op = own->range;
            stack[3] = slice->start; stack[4] = slice->stop; stack[5] = slice->step == Py_None ? one : slice->step;
            given += 3;
        } else if (item == Py_None) { dim++; op = own->wrap; }
        else { op = own->row; stack[3] = item; given++; }
        if (!(stack[2] = PyLong_FromSsize_t(op == own->row ? dim : dim - 1))) { Py_CLEAR(result); break; }
        PyObject *made = PyObject_Vectorcall(op, stack + 1, given, NULL);
        if (!made) in = !is_lone ? own->in_tuple : op == own->range ? own->in_range : NULL;
        Py_DECREF(stack[2]);
        Py_SETREF(result, made);
    }
    Py_XDECREF(one);
    if (result == tensor) Py_SETREF(result, PyObject_CallOneArg(own->all, tensor));
    if (!result && in) add_frame(in);
    if (!result) add_frame(own->front.python);
    return result;
}

static PyObject *item_call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Item *own = (Item *)self;
    PyObject *python = own->front.python, *shape = NULL;
    Py_ssize_t skipped = -1;
    if (!is_on || names || PyVectorcall_NARGS(flags) != 2 || !own->layout || Py_TYPE(args[0]) != own->layout->type) goto python;
    PyObject *index = args[1];
    int is_lone = !PyTuple_CheckExact(index);
    if (is_lone && !PyLong_CheckExact(index) && !PySlice_Check(index) && index != Py_None && index != Py_Ellipsis) goto python;
    PyObject *const *items = is_lone ? &index : ((PyTupleObject *)index)->ob_item;
    Py_ssize_t count = is_lone ? 1 : PyTuple_GET_SIZE(index);
    PyObject *data = find_array(own->layout, own->array_type, args[0]);
    if (!data) goto python;
    int is_overridden = PyObject_IsTrue(own->unless);
    if (!is_overridden) shape = PyObject_GetAttr(data, s_own_shape);
    Py_DECREF(data);
    if (shape && PyTuple_CheckExact(shape)) skipped = check_items(items, count, shape);
    Py_XDECREF(shape);
    if (skipped >= 0) {
        Py_INCREF(self); /* `args` may be all that holds it */
        PyObject *made = take_items(own, args[0], items, count, skipped, is_lone);
        Py_DECREF(self);
        return made;
    }
    if (!is_for_python()) return NULL;
python:
    return PyObject_Vectorcall(python, args, flags, names);
}

static PyObject *item_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *python, *layout, *array_type, *unless, *row, *range, *wrap, *all, *in_range, *in_tuple;
    if (!PyArg_ParseTuple(args, "O!O!OOOOOOO!O!:Item", &PyFunction_Type, &python, &Layout_Type, &layout, &array_type, &unless, &row, &range, &wrap, &all,
                          &PyFunction_Type, &in_range, &PyFunction_Type, &in_tuple)) return NULL;
    Item *made = (Item *)make_front(cls, python, item_call);
    if (!made) return NULL;
    made->layout = (Layout *)Py_NewRef(layout);
    made->array_type = Py_NewRef(array_type); made->unless = Py_NewRef(unless);
    made->row = Py_NewRef(row); made->range = Py_NewRef(range); made->wrap = Py_NewRef(wrap); made->all = Py_NewRef(all);
    made->in_range = Py_NewRef(in_range); made->in_tuple = Py_NewRef(in_tuple);
    return (PyObject *)made;
}

static int item_traverse(PyObject *self, visitproc visit, void *arg) {
    Item *own = (Item *)self;
#define VISIT(name) Py_VISIT(own->name);
    EACH_OF_ITEM(VISIT)
#undef VISIT
    return front_traverse(self, visit, arg);
}

static void clear_item(Item *own) {
#define CLEAR(name) Py_CLEAR(own->name);
    EACH_OF_ITEM(CLEAR)
#undef CLEAR
}

static int item_clear(PyObject *self) {
    clear_item((Item *)self);
    return front_clear(self);
}

static void item_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    clear_item((Item *)self);
    PyObject_GC_Track(self);
    front_dealloc(self);
}

PyTypeObject Item_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Item", .tp_basicsize = sizeof(Item),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_base = &Front_Type, .tp_getset = front_getset, .tp_new = item_new, .tp_traverse = item_traverse, .tp_clear = item_clear, .tp_dealloc = item_dealloc,
};

int add_questions(PyObject *module) {
    Question_Type.tp_base = &PyProperty_Type;
    Question_Type.tp_basicsize = PyProperty_Type.tp_basicsize + (Py_ssize_t)sizeof(Asked);
    if (!s_own_shape && !(s_own_shape = PyUnicode_InternFromString("shape"))) return -1;
    struct { const char *name; PyTypeObject *type; } types[] = {{"Question", &Question_Type}, {"Method", &Method_Type}, {"Item", &Item_Type}};
    for (int i = 0; i < 3; i++) {
        if (PyType_Ready(types[i].type) < 0 || PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type) < 0) return -1;
    }
    return 0;
}
