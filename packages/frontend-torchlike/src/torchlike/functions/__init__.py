"""Functions of torch: those of operators, and those that take or return something else."""
