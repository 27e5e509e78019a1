"""Friction on a floor."""

from __future__ import annotations

import numpy as np

from ..vector import dot, sqrt


def floor_friction(system, before, deceleration, **_weight):
    """Decelerate bodies at a constant rate. A body that stops within the step stays where it stops."""
    x, v, s = system.rows()
    zero, one, half = system.real(0), system.real(1), system.real(0.5) * system.h
    for i, each in enumerate(np.broadcast_to(deceleration, (len(x),))):
        fall = each * system.h  # loss of speed in this step, m/s
        if not fall > 0:
            continue
        first = v[i] - system.delta_v[i]
        motion = v[i] if s is None else (x[i] - s[i]) / system.h
        speed, read = sqrt(dot(motion, motion)), sqrt(dot(v[i], v[i]))
        if speed <= fall:
            left = zero
            start = sqrt(dot(first, first))
            x[i] = before[i] + half * (start / (start + (fall - speed)) if start > 0 else zero) * first
        else:
            x[i] = x[i] - half * (fall / speed) * motion
            left = one - fall / speed
        if s is not None:
            s[i] = x[i] - system.h * (left * motion)
            left = zero if left == 0 or read <= fall else one - fall / read
        v[i] = left * v[i]
        system.delta_v[i] = v[i] - first
    system.put(x, v, s)
