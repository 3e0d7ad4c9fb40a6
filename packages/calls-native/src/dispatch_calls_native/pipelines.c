/* Recording calls in a pipeline: what the recorders do that `dispatch_pipelines.record.recorder_source` generates, for calls
 * that make one array of arrays which are there, or which calls of the same pipeline will make.
 *
 * The answers of an operator's shape rule are Python's: a call whose answer is not known yet is recorded by the generated
 * recorder, and its result tells. Calls of any other kind are its, too, before anything was done. */
#include "front.h"

#define ANSWERS 8 /* of one target */

/* key: for a tensor its array spec, for an argument of which the type counts alone that type, for any other the object
 * itself; state: an attribute of the settings on which answers depend. */
typedef struct { PyObject *key[MOST], *state, *meta; } Answer;

struct Later {
    PyObject *blocks, *block_type, *made, *step, *specs, *lent, *inside, *settings, *attribute; /* required */
    PyObject *user; /* the code of the user's line at the last call, or NULL */
    Py_ssize_t session, takes_records;            /* of a block */
    Py_ssize_t meta, shared, owner, value, error; /* of a pending value */
    signed char by_type[MOST];
    Answer answer[ANSWERS];
    int next;
};

#define EACH_OF_LATER(DO) DO(blocks) DO(block_type) DO(made) DO(step) DO(specs) DO(lent) DO(inside) DO(settings) DO(attribute)

static PyObject *s_records, *s_remaining, *s_session, *s_takes_records, *s_meta, *s_shared, *s_value, *s_error;

/* The arguments as a step keeps them, and the key of the answer; all of it is held. */
typedef struct { PyObject *values, *state, *key[MOST]; int count; } Taken;

static void drop_taken(Taken *taken) {
    Py_CLEAR(taken->values);
    Py_CLEAR(taken->state);
    while (taken->count) { --taken->count; Py_DECREF(taken->key[taken->count]); }
}

/* Return the array spec of a tensor's data, borrowed; NULL where the generated recorder looks closer. */
static PyObject *find_spec(Later *later, PyObject *session, PyObject *data) {
    if ((PyObject *)Py_TYPE(data) == later->made) {
        int is_waiting = AT(data, later->owner) == session && AT(data, later->value) == Py_None && AT(data, later->error) == Py_None;
        return is_waiting ? AT(data, later->meta) : NULL;
    }
    PyObject *id = PyLong_FromVoidPtr(data), *entry = id ? PyDict_GetItemWithError(later->specs, id) : NULL;
    Py_XDECREF(id);
    if (!entry || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 3) return NULL;
    if (PyDict_GET_SIZE(later->lent) && PyDict_Contains(later->lent, PyTuple_GET_ITEM(entry, 2))) return NULL;
    return PyTuple_GET_ITEM(entry, 1);
}

/* Take the arguments of a call; 0 where the generated recorder looks closer. */
static int take_arguments(Target *target, PyObject *session, PyObject **values, Taken *taken) {
    Later *later = target->later;
    if (!(taken->values = PyTuple_New(target->count)) || !(taken->state = PyObject_GetAttr(later->settings, later->attribute))) return 0;
    for (int i = 0; i < target->count; i++) {
        PyObject *value = values[i], *key = value;
        if (!target->tensors[i]) {
            if (PyList_Check(value)) return 0;
            if (later->by_type[i]) key = (PyObject *)Py_TYPE(value);
            Py_INCREF(value);
        } else if (value == Py_None && target->tensors[i] == OPTIONAL_TENSOR) {
            Py_INCREF(value);
        } else {
            if (!(value = array_of(target->layout, value))) return 0;
            if (!(key = find_spec(later, session, value))) { Py_DECREF(value); return 0; }
        }
        PyTuple_SET_ITEM(taken->values, i, value);
        taken->key[taken->count++] = Py_NewRef(key);
    }
    return 1;
}

/* Return the shape rule's answer, borrowed, or NULL where it is not known. */
static PyObject *find_answer(Target *target, Taken *taken) {
    for (int k = 0; k < ANSWERS; k++) {
        Answer *answer = &target->later->answer[k];
        if (answer->state != taken->state) continue;
        int i = 0;
        while (i < target->count && answer->key[i] == taken->key[i]) i++;
        if (i == target->count) return answer->meta;
    }
    return NULL;
}

static void clear_answer(Answer *own) {
    Answer before = *own;
    *own = (Answer){0};
    Py_XDECREF(before.state); Py_XDECREF(before.meta);
    for (int i = 0; i < MOST; i++) Py_XDECREF(before.key[i]);
}

/* Keep the answer that a call's result tells which the generated recorder has recorded. */
static int learn(Target *target, PyObject *session, PyObject *records, Taken *taken, PyObject *result) {
    Later *later = target->later;
    Py_ssize_t count = PyList_GET_SIZE(records);
    PyObject *data = Py_TYPE(result) == target->layout->type ? AT(result, target->layout->data) : NULL;
    PyObject *last = count ? PyList_GET_ITEM(records, count - 1) : NULL;
    if (!data || (PyObject *)Py_TYPE(data) != later->made || AT(data, later->owner) != session || !AT(data, later->meta)) return 0;
    if (!last || !PyTuple_CheckExact(last) || PyTuple_GET_SIZE(last) != 6 || PyTuple_GET_ITEM(last, 0) != later->step || PyTuple_GET_ITEM(last, 2) != data) return 0;
    PyObject *meta = Py_NewRef(AT(data, later->meta)), *state = PyObject_GetAttr(later->settings, later->attribute);
    /* It was asked under settings that have not changed since. */
    if (state == taken->state) {
        Answer *own = &later->answer[later->next];
        later->next = (later->next + 1) % ANSWERS;
        clear_answer(own); /* which may run a finalizer that comes here, too */
        if (!own->state) {
            own->state = Py_NewRef(state);
            own->meta = Py_NewRef(meta);
            for (int i = 0; i < target->count; i++) own->key[i] = Py_NewRef(taken->key[i]);
        }
    }
    Py_XDECREF(state);
    Py_DECREF(meta);
    return state ? 0 : -1;
}

/* Find the user's code, and the instruction in it: see Note [The user's line] in `dispatch_pipelines.record.callers`. */
static PyObject *find_user(Later *later, PyObject **instruction) {
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *code = NULL;
    Py_XINCREF(frame);
    while (frame) {
        Py_XSETREF(code, (PyObject *)PyFrame_GetCode(frame));
        if (code == later->user) break;
        PyObject *file = ((PyCodeObject *)code)->co_filename, *found = Py_XNewRef(PyDict_GetItemWithError(later->inside, file));
        if (!found && !PyErr_Occurred()) found = PyObject_GetItem(later->inside, file);
        int is_inside = found ? PyObject_IsTrue(found) : -1;
        Py_XDECREF(found);
        if (is_inside < 0) { Py_CLEAR(code); break; }
        PyFrameObject *back = is_inside ? PyFrame_GetBack(frame) : NULL;
        if (!back) {
            Py_XSETREF(later->user, Py_NewRef(code));
            break;
        }
        Py_SETREF(frame, back);
    }
    *instruction = code ? PyLong_FromLong(PyFrame_GetLasti(frame)) : NULL;
    Py_XDECREF(frame);
    if (!*instruction) Py_CLEAR(code);
    return code;
}

/* Return a tensor of a pending value, and record the call that will make it. */
static PyObject *record(Target *target, PyObject *session, PyObject *records, Taken *taken, PyObject *meta, PyObject *state) {
    Later *later = target->later;
    PyTypeObject *type = (PyTypeObject *)later->made;
    PyObject *instruction = NULL, *code = find_user(later, &instruction), *made = NULL, *call = NULL, *result = NULL;
    if (code && (made = type->tp_alloc(type, 0))) {
        AT(made, later->meta) = Py_NewRef(meta);
        AT(made, later->shared) = Py_NewRef(Py_None);
        AT(made, later->owner) = Py_NewRef(session);
        AT(made, later->value) = Py_NewRef(Py_None);
        AT(made, later->error) = Py_NewRef(Py_None);
        call = PyTuple_Pack(6, later->step, taken->values, made, code, instruction, state);
    }
    if (call && PyList_Append(records, call) == 0) result = new_tensor(target->layout, target->mask, Py_NewRef(made));
    Py_XDECREF(code); Py_XDECREF(instruction); Py_XDECREF(made); Py_XDECREF(call);
    return result;
}

/* Return the records of a session, as a new reference; NULL where one more may reach a limit, or another thread has ended it. */
static PyObject *find_records(PyObject *session) {
    PyObject *records = PyObject_GetAttr(session, s_records), *remaining = records ? PyObject_GetAttr(session, s_remaining) : NULL;
    int is_plain = remaining && PyList_CheckExact(records) && PyLong_CheckExact(remaining);
    Py_ssize_t most = is_plain ? PyLong_AsSsize_t(remaining) : 0;
    if (is_plain && PyList_GET_SIZE(records) + 1 >= most) is_plain = 0;
    Py_XDECREF(remaining);
    if (!is_plain) Py_CLEAR(records);
    return records;
}

PyObject *run_later(Target *target, PyObject **values, PyObject *state) {
    Later *later = target->later;
    PyObject *block = NULL, *session = NULL, *records = NULL, *meta = NULL, *result = NULL;
    Taken taken = {NULL, NULL, {NULL}, 0};
    if (PyContextVar_Get(later->blocks, NULL, &block) < 0) return NULL;
    if (block && (PyObject *)Py_TYPE(block) == later->block_type && AT(block, later->takes_records) == Py_True) session = Py_XNewRef(AT(block, later->session));
    int is_plain = session && (records = find_records(session)) && take_arguments(target, session, values, &taken);
    /* What was asked for in vain the recorder asks for again. */
    if (!is_plain && PyErr_Occurred()) { if (!PyErr_ExceptionMatches(PyExc_Exception)) goto done; PyErr_Clear(); }
    if (is_plain) meta = Py_XNewRef(find_answer(target, &taken));
    if (meta) result = record(target, session, records, &taken, meta, state);
    else result = PyObject_Vectorcall(target->runner, values, target->count, NULL);
    if (!meta && is_plain && result && learn(target, session, records, &taken, result) < 0) PyErr_Clear();
done:
    drop_taken(&taken);
    Py_XDECREF(meta); Py_XDECREF(records); Py_XDECREF(session); Py_XDECREF(block);
    return result;
}

/* ---- Making it of specs ------------------------------------------------------------------------------------------- */

static int is_type(PyObject *object) { return object && PyType_Check(object); }

/* Read the spec of a target that records in pipelines. */
int take_later(PyObject *spec, Target *target) {
    PyObject *layout = NULL;
    int bad = 1, count;
    Later *later = target->later = PyMem_Calloc(1, sizeof(Later));
    if (!later) { PyErr_NoMemory(); return -1; }
#define TAKE(name) if (take_object(spec, #name, &later->name) || !later->name) goto done;
    EACH_OF_LATER(TAKE)
#undef TAKE
    if (take_object(spec, "layout", &layout) || take_object(spec, "mask", &target->mask)) goto done;
    if (take_numbers(spec, "tensors", target->tensors, MOST, OPTIONAL_TENSOR, &count) || count != target->count) goto done;
    if (take_numbers(spec, "by_type", later->by_type, MOST, 1, &count) || count != target->count) goto done;
    if (!layout || Py_TYPE(layout) != &Layout_Type || !target->mask || !PyContextVar_CheckExact(later->blocks) || !PyUnicode_Check(later->attribute)) goto done;
    if (!is_type(later->block_type) || !is_type(later->made) || !PyDict_Check(later->specs) || !PyDict_Check(later->lent) || !PyDict_Check(later->inside)) goto done;
    target->layout = (Layout *)Py_NewRef(layout);
    PyUnicode_InternInPlace(&later->attribute);
    PyTypeObject *block = (PyTypeObject *)later->block_type, *made = (PyTypeObject *)later->made;
    if (!find_member(block, s_session, &later->session) || !find_member(block, s_takes_records, &later->takes_records)) goto done;
    if (!find_member(made, s_meta, &later->meta) || !find_member(made, s_shared, &later->shared) || !find_member(made, s_session, &later->owner)) goto done;
    if (!find_member(made, s_value, &later->value) || !find_member(made, s_error, &later->error)) goto done;
    bad = take_object(spec, "runner", &target->runner) || take_object(spec, "thrower", &target->thrower);
done:
    if (bad && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a recorder's spec is not one that this front takes");
    Py_XDECREF(layout);
    return bad ? -1 : 0;
}

int traverse_later(Later *later, visitproc visit, void *arg) {
#define VISIT(name) Py_VISIT(later->name);
    EACH_OF_LATER(VISIT) VISIT(user)
#undef VISIT
    for (int k = 0; k < ANSWERS; k++) {
        Answer *answer = &later->answer[k];
        Py_VISIT(answer->state); Py_VISIT(answer->meta);
        for (int i = 0; i < MOST; i++) Py_VISIT(answer->key[i]);
    }
    return 0;
}

void clear_later(Later *later) {
    for (int k = 0; k < ANSWERS; k++) clear_answer(&later->answer[k]);
#define CLEAR(name) Py_CLEAR(later->name);
    EACH_OF_LATER(CLEAR) CLEAR(user)
#undef CLEAR
}

int begin_pipelines(void) {
    struct { PyObject **to; const char *text; } names[] = {
        {&s_records, "records"}, {&s_remaining, "remaining"}, {&s_session, "session"}, {&s_takes_records, "takes_records"},
        {&s_meta, "meta"}, {&s_shared, "shared"}, {&s_value, "value"}, {&s_error, "error"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!*names[i].to && !(*names[i].to = PyUnicode_InternFromString(names[i].text))) return -1;
    }
    return 0;
}
