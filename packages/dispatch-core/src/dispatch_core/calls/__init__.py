"""Calls: what a schema makes of arguments and results, in plain code and in generated code."""
