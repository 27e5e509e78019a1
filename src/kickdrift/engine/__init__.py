"""Bound classes: they own the C structs of a stepper and run the kernels on them."""
