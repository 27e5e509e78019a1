"""Formulas: text, its list of operations, derivatives of that, and the list as kernels run it."""
