"""The Python side of ODEStepper."""
