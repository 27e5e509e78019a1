"""Compiled kernels: a module for each instruction set, and two (scalar, processor) that are compiled once."""
