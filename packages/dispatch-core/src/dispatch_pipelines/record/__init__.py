"""Recorded calls: pending values, steps, the recorders of operators, the steps that a value needs."""
