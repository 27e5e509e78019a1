"""The bound classes: they hold the C structs of a stepper and run the kernels on them."""
