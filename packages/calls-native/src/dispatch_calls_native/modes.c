/* Calls that a mode handles: what the kernels do that `dispatch_core.layers.mode_kernels` generates, where one mode is on, in
 * the state of the context in which it was called last. Every other call is the generated kernel's, before anything was done. */
#include "front.h"

/* top: the variable of the innermost entry; tensor: the class of a result that is right as it stands, or NULL. */
struct Step {
    PyObject *top, *entry_type, *registry, *split, *refuse, *accept, *tensor;
    PyObject *left_out[MOST]; /* the default of an argument that may be left out, else NULL */
    Py_ssize_t handler, is_alone, owner, states; /* of an entry */
    int required;
};

#define EACH_OF_STEP(DO) DO(top) DO(entry_type) DO(registry) DO(split) DO(refuse) DO(accept)

static PyObject *s_handler, *s_is_alone, *s_registry, *s_states, *nothing;

/* Return the state that the handler runs in, as a new reference; NULL where the generated kernel looks closer. */
static PyObject *find_inner(Step *step, PyObject *entry, PyObject *state) {
    if ((PyObject *)Py_TYPE(entry) != step->entry_type || AT(entry, step->is_alone) != Py_True || AT(entry, step->owner) != step->registry) return NULL;
    PyObject *states = AT(entry, step->states);
    if (!states || !PyTuple_CheckExact(states) || PyTuple_GET_SIZE(states) != 2 || PyTuple_GET_ITEM(states, 0) != state) return NULL;
    return Py_NewRef(PyTuple_GET_ITEM(states, 1));
}

/* Set `parts` to the arguments by position and those by name, as a caller would write them; -1 for an error. */
static int split_arguments(Target *target, PyObject **values, PyObject **parts) {
    Step *step = target->step;
    int is_usual = 1;
    for (int i = 0; is_usual && i < target->count; i++) is_usual = !step->left_out[i] || values[i] == step->left_out[i];
    if (is_usual) {
        parts[0] = PyTuple_New(step->required);
        for (int i = 0, k = 0; parts[0] && i < target->count; i++)
            if (!step->left_out[i]) PyTuple_SET_ITEM(parts[0], k++, Py_NewRef(values[i]));
        parts[1] = parts[0] ? PyDict_New() : NULL;
        return parts[1] ? 0 : -1;
    }
    PyObject *all = pack(target, values, -1), *both = all ? PyObject_CallFunctionObjArgs(step->split, all, Py_None, NULL) : NULL;
    int is_good = both && PyArg_ParseTuple(both, "OO", &parts[0], &parts[1]);
    if (is_good) { Py_INCREF(parts[0]); Py_INCREF(parts[1]); }
    Py_XDECREF(all); Py_XDECREF(both);
    return is_good ? 0 : -1;
}

/* Call the handler with the mode off. */
static PyObject *call_handler(Target *target, PyObject *handler, PyObject *inner, PyObject **parts) {
    PyObject *stack[] = {NULL, target->op, nothing, parts[0], parts[1]};
    PyObject *token = PyContextVar_Set(state_var, inner);
    if (!token) return NULL;
    PyObject *result = PyObject_Vectorcall(handler, stack + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    PyObject *error = result ? NULL : take_error();
    if (PyContextVar_Reset(state_var, token) < 0) { Py_CLEAR(result); Py_CLEAR(error); }
    Py_DECREF(token);
    if (error) set_error(error);
    return result;
}

PyObject *run_mode(Target *target, PyObject **values, PyObject *state, int *is_native) {
    Step *step = target->step;
    PyObject *entry = NULL, *parts[2] = {NULL, NULL}, *result = NULL;
    *is_native = 0;
    if (PyContextVar_Get(step->top, NULL, &entry) < 0) return NULL;
    PyObject *inner = entry ? find_inner(step, entry, state) : NULL, *handler = inner ? Py_XNewRef(AT(entry, step->handler)) : NULL;
    if (!handler) {
        Py_XDECREF(inner); Py_XDECREF(entry);
        return PyObject_Vectorcall(target->runner, values, target->count, NULL);
    }
    *is_native = 1;
    if (split_arguments(target, values, parts) == 0) result = call_handler(target, handler, inner, parts);
    if (result && (!step->tensor || (PyObject *)Py_TYPE(result) != step->tensor)) {
        int is_refused = result == Py_NotImplemented;
        PyObject *all = pack(target, values, -1), *given = result;
        result = all ? PyObject_CallFunctionObjArgs(is_refused ? step->refuse : step->accept, is_refused ? entry : given, all, NULL) : NULL;
        Py_XDECREF(all);
        Py_DECREF(given);
    }
    Py_XDECREF(parts[0]); Py_XDECREF(parts[1]);
    Py_DECREF(handler); Py_DECREF(inner); Py_DECREF(entry);
    return result;
}

/* ---- Making it of specs ------------------------------------------------------------------------------------------- */

/* Read the spec of a target whose calls a mode handles. */
int take_step(PyObject *spec, Target *target) {
    PyObject *left_out = NULL;
    int bad = 1;
    Step *step = target->step = PyMem_Calloc(1, sizeof(Step));
    if (!step) { PyErr_NoMemory(); return -1; }
#define TAKE(name) if (take_object(spec, #name, &step->name) || !step->name) goto done;
    EACH_OF_STEP(TAKE)
#undef TAKE
    if (take_object(spec, "tensor", &step->tensor) || take_object(spec, "op", &target->op) || take_object(spec, "left_out", &left_out)) goto done;
    if (!target->op || !left_out || !PyTuple_CheckExact(left_out) || PyTuple_GET_SIZE(left_out) != target->count) goto done;
    if (!PyContextVar_CheckExact(step->top) || !PyType_Check(step->entry_type)) goto done;
    PyTypeObject *entry = (PyTypeObject *)step->entry_type;
    if (!find_member(entry, s_handler, &step->handler) || !find_member(entry, s_is_alone, &step->is_alone)) goto done;
    if (!find_member(entry, s_registry, &step->owner) || !find_member(entry, s_states, &step->states)) goto done;
    for (int i = 0; i < target->count; i++) {
        PyObject *each = PyTuple_GET_ITEM(left_out, i); /* a tuple of the default, or an empty one */
        if (!PyTuple_CheckExact(each) || PyTuple_GET_SIZE(each) > 1) goto done;
        step->left_out[i] = PyTuple_GET_SIZE(each) ? Py_NewRef(PyTuple_GET_ITEM(each, 0)) : NULL;
        step->required += !step->left_out[i];
    }
    bad = take_object(spec, "runner", &target->runner) || take_object(spec, "thrower", &target->thrower);
done:
    if (bad && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a mode's spec is not one that this front takes");
    Py_XDECREF(left_out);
    return bad ? -1 : 0;
}

int traverse_step(Step *step, visitproc visit, void *arg) {
#define VISIT(name) Py_VISIT(step->name);
    EACH_OF_STEP(VISIT) VISIT(tensor)
#undef VISIT
    for (int i = 0; i < MOST; i++) Py_VISIT(step->left_out[i]);
    return 0;
}

void clear_step(Step *step) {
#define CLEAR(name) Py_CLEAR(step->name);
    EACH_OF_STEP(CLEAR) CLEAR(tensor)
#undef CLEAR
    for (int i = 0; i < MOST; i++) Py_CLEAR(step->left_out[i]);
}

int begin_modes(void) {
    struct { PyObject **to; const char *text; } names[] = {
        {&s_handler, "handler"}, {&s_is_alone, "is_alone"}, {&s_registry, "registry"}, {&s_states, "states"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
    }
    return nothing || (nothing = PyTuple_New(0)) ? 0 : -1;
}
