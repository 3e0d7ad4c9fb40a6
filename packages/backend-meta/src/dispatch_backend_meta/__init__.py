"""The meta backend: torch's operators on arrays that have a shape, strides and a dtype, but no data."""
