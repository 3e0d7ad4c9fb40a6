"""The device ``opencl``: the processors that OpenCL finds, which no program imports."""
