/* Calls of a frontend's function that are given no tensor, and make one of an operator's array: `zeros(2, 3)`.
 *
 * A Factory has the place of a plan. It serves calls on the usual device outside of all modes: those for which the operator's
 * own tables have the runners that its target was made of, the one that goes by the device and the one of the device's kernel.
 * All others are Python's, before anything was done. */
#include "front.h"

#define MOST_WAITED 16 /* calls that are left to Python before it is asked again for a target */

typedef struct {
    PyObject_HEAD
    int count, positional, star, device; /* device: the argument that the runner goes by */
    int wait, waited;
    PyObject *table, *explicit, *zero, *make_target;
    PyObject *select, *home, *key; /* what the target is for: the runners' keys are zero and `key` */
    PyObject *fill[MOST];          /* functions that give an argument where it is None, or NULL */
    Parameter parameter[MOST];
    Target *target;
} Factory;

static PyObject *factory_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs) {
    PyObject *spec, *parameters = NULL, *fill = NULL;
    if (!PyArg_ParseTuple(args, "O!:Factory", &PyDict_Type, &spec)) return NULL;
    Factory *made = (Factory *)cls->tp_alloc(cls, 0);
    if (!made) return NULL;
    int bad = take_object(spec, "parameters", &parameters) || take_object(spec, "fill", &fill) || take_object(spec, "table", &made->table)
        || take_object(spec, "explicit", &made->explicit) || take_object(spec, "make_target", &made->make_target)
        || take_int(spec, "positional", &made->positional) || take_int(spec, "star", &made->star);
    if (!bad) {
        bad = !parameters || !PyTuple_Check(parameters) || PyTuple_GET_SIZE(parameters) > MOST || !fill || !PyTuple_Check(fill)
            || PyTuple_GET_SIZE(fill) != PyTuple_GET_SIZE(parameters) || !made->table || !PyDict_Check(made->table) || !made->explicit
            || !PyDict_Check(made->explicit) || !made->make_target || made->positional > PyTuple_GET_SIZE(parameters) || made->star >= made->positional;
        if (bad) PyErr_SetString(PyExc_ValueError, "a factory's spec is not one that this front takes");
    }
    for (Py_ssize_t i = 0; !bad && i < PyTuple_GET_SIZE(parameters); i++) {
        bad = take_parameter(PyTuple_GET_ITEM(parameters, i), &made->parameter[i]);
        PyObject *each = PyTuple_GET_ITEM(fill, i);
        made->fill[i] = each == Py_None ? NULL : Py_NewRef(each);
        made->count = (int)i + 1;
    }
    Py_XDECREF(parameters); Py_XDECREF(fill);
    if (!bad) bad = !(made->zero = PyLong_FromLong(0));
    if (bad) { Py_DECREF(made); return NULL; }
    made->wait = 1;
    return (PyObject *)made;
}

static int factory_traverse(PyObject *self, visitproc visit, void *arg) {
    Factory *own = (Factory *)self;
    for (int i = 0; i < MOST; i++) { Py_VISIT(own->parameter[i].value); Py_VISIT(own->parameter[i].one); Py_VISIT(own->fill[i]); }
    Py_VISIT(own->table); Py_VISIT(own->explicit); Py_VISIT(own->make_target); Py_VISIT(own->select); Py_VISIT(own->home); Py_VISIT(own->target);
    return 0;
}

static void drop_target(Factory *own) {
    PyObject *select = own->select, *home = own->home, *key = own->key, *target = (PyObject *)own->target;
    own->select = own->home = own->key = NULL;
    own->target = NULL;
    own->wait = 1;
    own->waited = 0;
    Py_XDECREF(select); Py_XDECREF(home); Py_XDECREF(key); Py_XDECREF(target);
}

static int factory_clear(PyObject *self) {
    Factory *own = (Factory *)self;
    for (int i = 0; i < MOST; i++) { Py_CLEAR(own->parameter[i].name); Py_CLEAR(own->parameter[i].value); Py_CLEAR(own->parameter[i].one); Py_CLEAR(own->fill[i]); }
    drop_target(own);
    Py_CLEAR(own->table); Py_CLEAR(own->explicit); Py_CLEAR(own->make_target); Py_CLEAR(own->zero);
    return 0;
}

static void factory_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    factory_clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject Factory_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dispatch_calls_native._front.Factory",
    .tp_doc = "How the arguments of a function that is given no tensor are written, made of a spec.",
    .tp_basicsize = sizeof(Factory), .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .tp_new = factory_new,
    .tp_traverse = factory_traverse, .tp_clear = factory_clear, .tp_dealloc = factory_dealloc,
};

void forget_factory(PyObject *factory) { drop_target((Factory *)factory); }

PyObject *target_of_factory(PyObject *factory) { return (PyObject *)((Factory *)factory)->target; }

/* Ask for a target: 1, 0 where there is none now, -1 for an error. It is asked for less and less often in vain. */
static int make_target(Factory *own) {
    if (!own->make_target || ++own->waited < own->wait) return 0;
    own->waited = 0;
    PyObject *select, *home, *key, *target, *found = PyObject_CallNoArgs(own->make_target);
    if (!found) return -1;
    if (found == Py_None) {
        own->wait = own->wait < MOST_WAITED ? 2 * own->wait : MOST_WAITED;
        Py_DECREF(found);
        return 0;
    }
    int device, bad = !PyArg_ParseTuple(found, "OOOiO!:a factory's target", &select, &home, &key, &device, &Target_Type, &target);
    if (!bad && (device < 0 || device >= own->count || ((Target *)target)->count != own->count || ((Target *)target)->way != BODY)) {
        PyErr_SetString(PyExc_ValueError, "a factory's target is not one that this front takes");
        bad = 1;
    }
    if (!bad) {
        drop_target(own);
        own->select = Py_NewRef(select);
        own->home = Py_NewRef(home);
        own->key = Py_NewRef(key);
        own->device = device;
        own->target = (Target *)Py_NewRef(target);
    }
    Py_DECREF(found);
    return bad ? -1 : 1;
}

/* Return the target of the runners that the tables have, as a new reference; NULL where there is none, or with an error. */
static Target *find_target(Factory *own) {
    if (own->target) {
        Target *target = (Target *)Py_NewRef(own->target);
        PyObject *select = Py_NewRef(own->select), *key = Py_NewRef(own->key);
        int is_same = PyDict_GetItemWithError(own->table, own->zero) == select
            && PyDict_GetItemWithError(own->explicit, key) == target->runner;
        Py_DECREF(select); Py_DECREF(key);
        if (is_same) return target;
        Py_DECREF(target);
        if (PyErr_Occurred()) return NULL;
        drop_target(own);
    }
    return make_target(own) > 0 ? (Target *)Py_XNewRef(own->target) : NULL;
}

/* Bind the arguments, as `front_call` does: 1, 0 where Python serves the call, -1 for an error. */
static int bind(Factory *own, PyObject *const *args, Py_ssize_t given, PyObject *names, PyObject **values, PyObject **held, int *count) {
    Py_ssize_t placed = given, named = names ? PyTuple_GET_SIZE(names) : 0;
    for (int i = 0; i < own->count; i++) values[i] = NULL;
    if (own->star >= 0) {
        Py_ssize_t rest = given - own->star;
        if (rest < 1) return 0;
        if (rest > 1 || PyLong_CheckExact(args[own->star])) {
            PyObject *items = PyTuple_New(rest);
            if (!items) return -1;
            for (Py_ssize_t i = 0; i < rest; i++) PyTuple_SET_ITEM(items, i, Py_NewRef(args[own->star + i]));
            values[own->star] = held[(*count)++] = items;
            placed = own->star;
        } else if (!PyTuple_Check(args[own->star]) && !PyList_Check(args[own->star])) return 0;
    }
    if (placed > own->positional) return 0;
    for (Py_ssize_t i = 0; i < placed; i++) values[i] = args[i];
    for (Py_ssize_t i = 0; i < named; i++) {
        int at = 0;
        while (at < own->count && own->parameter[at].name != PyTuple_GET_ITEM(names, i)) at++;
        if (at == own->count || values[at]) return 0;
        values[at] = args[given + i];
    }
    for (int i = 0; i < own->count; i++) {
        Parameter *parameter = &own->parameter[i];
        if (!values[i]) {
            if (parameter->is_required) return 0;
            values[i] = parameter->value;
        } else if (parameter->is_required || values[i] != parameter->value) {
            PyObject *made = NULL;
            int is_good = check_value(parameter, values[i], &made);
            if (is_good < 1) return is_good;
            if (is_good == 2) values[i] = held[(*count)++] = made;
        }
    }
    for (int i = 0; i < own->count; i++) {
        if (!own->fill[i] || values[i] != Py_None) continue;
        PyObject *made = PyObject_CallNoArgs(own->fill[i]);
        if (!made) return -1;
        values[i] = held[(*count)++] = made;
    }
    return 1;
}

PyObject *call_factory(PyObject *factory, PyObject *python, PyObject *const *args, size_t flags, PyObject *names) {
    Factory *own = (Factory *)Py_NewRef(factory);
    PyObject *stack[MOST + 1], **values = stack + 1, *held[2 * MOST + 1], *result = NULL;
    int count = 0, is_served = 1;
    Target *target = find_target(own);
    if (!target) {
        is_served = PyErr_Occurred() != NULL;
        goto done;
    }
    int is_bound = bind(own, args, PyVectorcall_NARGS(flags), names, values, held, &count);
    is_served = is_bound != 0;
    if (is_bound > 0) {
        PyObject *device = values[own->device];
        is_served = device == Py_None || device == own->home;
        if (is_served && !(result = run_body(target, values))) raise_again(target, 1);
    }
done:
    Py_XDECREF(target);
    while (count) { --count; Py_DECREF(held[count]); }
    Py_DECREF(own);
    return is_served ? result : PyObject_Vectorcall(python, args, flags, names);
}

int add_factories(PyObject *module) {
    return PyType_Ready(&Factory_Type) < 0 ? -1 : PyModule_AddObjectRef(module, "Factory", (PyObject *)&Factory_Type);
}
