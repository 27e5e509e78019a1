"""Worlds in which bodies of one size roll, slide and bounce, for tests against formulas."""

import math

import numpy as np

import kickdrift as kd

#: Gravity in m/s², radius in m and mass in kg of the bodies.
G, R, MASS = 9.81, 0.5, 2.0
#: Inertia of solid discs and spheres divided by m r², by dimension.
BETA = {2: 1 / 2, 3: 2 / 5}
GROUNDS = ["plane", "box", "boxes", "segments", "contacts", "contacts with boxes", "contacts with segments"]


def gravity(dim, degrees=0.0):
    """Return the force of gravity above a slope that descends along x; its normal is y."""
    a = math.radians(degrees)
    return kd.Gravity(np.array([G * math.sin(a), -G * math.cos(a), 0.0][:dim]))


def has_ground(dim, name):
    """True if this kind of ground exists in `dim` dimensions: segments are 2-D only."""
    return dim == 2 or "segments" not in name


def ground(dim, name, friction, restitution=0.0, **contacts):
    """Return the constraints of one kind of ground at y = 0 for bodies of radius R."""
    surface = {"friction": friction, "restitution": restitution}
    normal, low, high = (0, 1, 0)[:dim], (-1e3, 0, -1e3)[:dim], (1e3, 1e3, 1e3)[:dim]
    boxes = [(-1e3, -5, -1e3)[:dim]], [(1e3, 0, 1e3)[:dim]]
    line = [[(-1e3, 0), (1e3, 0)]]
    if name.startswith("contacts"):
        solid = {
            "contacts": {"walls": [kd.Plane(normal, 0.0)]},
            "contacts with boxes": {"shapes": [kd.Boxes(*boxes)]},
            "contacts with segments": {"shapes": [kd.Segments(line)] if dim == 2 else []},
        }[name]
        return [kd.Contacts(R, **surface, **solid, **contacts)]
    surface["radius"] = R
    if name == "segments":
        return [kd.Segments(line, **surface)]
    return {
        "plane": [kd.Plane(normal, 0.0, **surface)],
        "box": [kd.Box(low, high, **surface)],
        "boxes": [kd.Boxes(*boxes, **surface)],
    }[name]


def bodies(dim, constraints, count=1, dtype=np.float64, velocity=0.0, spin=0.0, height=0.0, **how):
    """Return a stepper of bodies in a row on the ground, or above it; velocity along x, spin about z."""
    position = np.zeros((count, dim), dtype)
    position[:, 0] = 10 * np.arange(count) - 5 * (count - 1)  # near the origin, where float32 is precise
    position[:, 1] = R + height
    v = np.zeros((count, dim), dtype)
    v[:, 0] = velocity
    w = np.zeros(count if dim == 2 else (count, 3), dtype)
    w.reshape(count, -1)[:, -1] = spin
    return kd.Stepper(position, v, mass=MASS, constraints=constraints, angular_velocity=w, **how)


def about_z(stepper):
    """Return a copy of the angular velocities about z in float64."""
    w = stepper.angular_velocity
    return np.array(w if w.ndim == 1 else w[:, 2], np.float64)


def angular_momentum(stepper):
    """Return the angular momentum about the origin, spins included: a number in the plane, a vector in space."""
    x, v, w = stepper.position, stepper.velocity, stepper.angular_velocity
    m, inertia = np.broadcast_to(stepper.mass, len(x)), np.asarray(stepper.inertia)
    if x.shape[1] == 2:
        return math.fsum(m * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) + inertia * w)
    return np.array([math.fsum(row) for row in (m[:, None] * np.cross(x, v) + inertia[:, None] * w).T])
