"""The conformance kit for devices: ``python -m dispatch_core verify DEVICE`` (extra ``testing``).

`samples` makes calls of every operator from the tables of ``calls``, `agreement` compares a device's answers with the
cpu's, `marks` knows what a vendor expects to fail, `report` has it all as data.
"""
