"""The kernels under the Autograd keys, generated for each overload from its schema and derivative formula.

A kernel runs the operator below autograd and, where grad mode is on and an input requires grad, makes one node with what the
formula needs. Both the kernel and its node class are Python source made for the overload, so nothing is looked up in a call:

    def kernel(self, other, *, alpha):
        if grad_enabled():
            (edges of the inputs that require grad)
            if any:
                result = redispatch(BELOW, self, other, alpha=alpha)
                (node, with saved tensors and their versions)
                return result
        return redispatch(BELOW, self, other, alpha=alpha)

``inplace`` says what differs where the operator writes to its first argument.
"""
