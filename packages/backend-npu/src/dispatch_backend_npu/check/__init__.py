"""The first run on a chip: ``python -m dispatch_backend_npu check`` tries everything, and writes one file to send back.

`environment` looks at files, the other parts run in processes of their own: `functions` finds every function that the
backend may call, `memory` and `streams` try the runtime, `draws` the random numbers, `cells` compares operators with the
cpu, dtype by dtype, and `steps` trains. `running` starts them in that order, `report` has it all as data without names of
users, machines and folders, and `summary` says it on a screen.
"""
