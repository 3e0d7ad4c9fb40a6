"""Calls of aclnn: the tables of its functions and of the operators that they compute, and the two phases of a call."""
