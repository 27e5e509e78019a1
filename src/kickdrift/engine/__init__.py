"""Extension classes that convert a stepper's model to C structs, own these, and run the kernels on them."""
