/* What the parts of the front share: layouts of tensors, and the object in the place of a function. See `_front.c`. */
#ifndef DISPATCH_FRONT_H
#define DISPATCH_FRONT_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <structmember.h>

typedef unsigned long long Mask;

#define AT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

typedef struct {
    PyObject_HEAD
    PyTypeObject *type, *known; /* known: the class derived from it that was met last, only ever compared */
    PyObject *mask_member, *data_member, *make; /* make: NULL where an object is made as object.__new__ does */
    Py_ssize_t mask, data;
    unsigned version; /* of the known class: any change of it or of its bases gives it another one */
} Layout;

typedef struct Plan Plan;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python, *make_plan, *weak;
    Plan *plan;
    long frontends; /* those that the plan is for; -1 before there was one */
} Front;

extern PyTypeObject Layout_Type, Front_Type, Question_Type, Method_Type, Item_Type;
extern PyObject *s_mask, *s_data;
extern int is_on;

/* Return a member's descriptor, borrowed, and the place of its value. */
PyObject *find_member(PyTypeObject *type, PyObject *name, Py_ssize_t *offset);
/* Ready the types of `questions.c`, and add them to the module. */
int add_questions(PyObject *module);
/* Ready the type of `backward.c`, and add it. */
int add_backward(PyObject *module);
/* The parts of a front that types derived from it use. */
int front_traverse(PyObject *self, visitproc visit, void *arg);
int front_clear(PyObject *self);
void front_dealloc(PyObject *self);
extern PyGetSetDef front_getset[];
int is_kind_of_tensor(Layout *layout, PyTypeObject *type);

/* Return whether an object is a tensor whose two attributes are read as those of the class are. */
static inline int is_tensor(Layout *layout, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type == layout->type || (type == layout->known && type->tp_version_tag == layout->version) || is_kind_of_tensor(layout, type);
}

static inline int is_int(PyObject *value) {
    int overflow;
    if (!PyLong_CheckExact(value)) return 0;
    PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow;
}

#endif
