"""Forces that are evaluated for all bodies at once: Python functions, native callbacks, forces between bodies.

Each is a function of the system, the interaction of its plan, the time, and the positions and velocities as
lists of vectors. It returns the acceleration of each body. A tangent function takes in addition the largest
displacement (far) and speed (fast). It returns a function of changes dx of the positions and dv of the
velocities, which computes the change of the accelerations.
"""

from __future__ import annotations

import numpy as np

from ..declaration import require_entries
from ..forces.base import Interaction
from .formulas import formula, formula_energy, formula_tangent
from .interactions import n_body, n_body_tangent, nothing, nothing_tangent, pair_potential, springs, springs_tangent
from .vector import Vector, largest, sqrt


def function(system, interaction, t, x, v):
    """Evaluate a user's function for all bodies, see `shown`."""
    return shown(system, interaction.term.evaluate, t, x, v)


def shown(system, evaluate, t, *vectors):
    """Call a function with read-only arrays; return the rows that it writes into a zeroed array."""
    arrays = [np.array(rows, dtype=system.plan.dtype) for rows in vectors]
    for array in arrays:
        array.flags.writeable = False
    out = np.zeros_like(arrays[0])
    evaluate(t, *arrays, out)
    return [Vector([system.real(number) for number in row]) for row in out]


def function_tangent(system, interaction, t, x, v, far, fast):
    """Return the tangent by the user's `jacobian`, or by finite differences (Knoll, Keyes 2004, 2.2)."""
    if interaction.term.jacobian is not None:
        return lambda dx, dv: shown(system, interaction.term.evaluate_jacobian, t, x, v, dx, dv)
    return differences(function, system, interaction, t, x, v, far, fast)


def pair_tangent(system, interaction, t, x, v, far, fast):
    return differences(pair_potential, system, interaction, t, x, v, far, fast)


def differences(function, system, interaction, t, x, v, far, fast):
    here, half = function(system, interaction, t, x, v), sqrt(system.epsilon)

    def change(dx, dv):
        e = half * far / size(dx)
        there = function(system, interaction, t, [a + e * d for a, d in zip(x, dx, strict=True)], v)
        changes = [(a - b) / e for a, b in zip(there, here, strict=True)]
        if interaction.term.velocity_dependent:
            e = half * fast / size(dv)
            there = function(system, interaction, t, x, [a + e * d for a, d in zip(v, dv, strict=True)])
            changes = [c + (a - b) / e for c, a, b in zip(changes, there, here, strict=True)]
        return changes

    return change


def size(vectors):
    """Return the largest magnitude of any component."""
    return largest([largest(vector) for vector in vectors])


INTERACTIONS = {
    "python": function,
    "native": function,
    "formula": formula,
    "springs": springs,
    "n_body": n_body,
    "pair_potential": pair_potential,
    "langevin": nothing,
}
ENERGIES = {"formula": formula_energy}
TANGENTS = {
    "python": function_tangent,
    "native": function_tangent,
    "formula": formula_tangent,
    "springs": springs_tangent,
    "n_body": n_body_tangent,
    "pair_potential": pair_tangent,
    "langevin": nothing_tangent,
}
require_entries(__name__, INTERACTIONS, Interaction)
require_entries(__name__, TANGENTS, Interaction)
