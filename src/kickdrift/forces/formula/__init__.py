"""Expressions: parser, program, symbolic derivatives, and kernel code."""
