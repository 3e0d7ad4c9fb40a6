"""The modules of devices, ``torchlike.<device>``: what users get for a device of any backend, by torch's names."""
