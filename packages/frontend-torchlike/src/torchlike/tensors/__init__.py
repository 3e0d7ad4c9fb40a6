"""The tensor class, and its ways to memory and text: NumPy's arrays, DLPack, storages, copies, printing."""
