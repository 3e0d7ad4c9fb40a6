"""The conformance kit for devices: ``python -m dispatch_core verify DEVICE`` (extra ``testing``).

`samples` makes calls of every operator from the tables of ``calls``, `agreement` compares a device's answers with the
cpu's, `marks` has the failures that a vendor expects, `report` has it all as data.
"""
