"""Runs: blocks and their sessions, when recorded steps run, and the executors that run them."""
