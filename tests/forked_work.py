"""Source that programs of tests begin with, which run work in processes of their own."""

FORKED = r"""
import os, sys, traceback

def forked(work):
    "Run work in a process of its own; return its process number."
    if number := os.fork():
        return number
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
"""
