"""An example of a vendor's backend: the device ``toy``, which no program imports."""
