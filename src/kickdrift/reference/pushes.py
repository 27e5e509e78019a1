"""What is evaluated for all bodies at once: functions of the user, and terms by which bodies see each other.

Each is a function of the system, the push of its plan, the time, and the positions and velocities as
lists of vectors; it returns a vector for each body.
"""

from __future__ import annotations

import numpy as np

from .pairs import n_body, springs
from .vector import Vector


def function(system, push, t, x, v):
    """A function of the user: it is shown arrays and writes into one of zeros."""
    arrays = [np.array(vectors, dtype=system.plan.dtype) for vectors in (x, v)]
    for array in arrays:
        array.flags.writeable = False
    out = np.zeros_like(arrays[0])
    push.term.evaluate(t, *arrays, out)
    return [Vector([system.real(number) for number in row]) for row in out]


PUSHES = {"python": function, "native": function, "springs": springs, "n_body": n_body}
