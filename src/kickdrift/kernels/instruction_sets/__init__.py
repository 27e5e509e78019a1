"""The kernels once more for each instruction set, and what is compiled once for all."""
