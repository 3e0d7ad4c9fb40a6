"""Autograd kernels, made of the operator library's derivatives, and the fallbacks of operators without one."""
