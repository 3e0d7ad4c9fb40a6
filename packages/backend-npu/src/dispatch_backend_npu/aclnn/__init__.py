"""Calling aclnn operators: tables of what there is to call, and the call in its two phases."""
