"""Sensor regions, which record the bodies in them."""

from __future__ import annotations

from ..vector import Vector, dot, sqrt


def sensor(system, before, lower, upper, ball, watched, weight=None):
    """Record when each body enters and leaves the region, assuming straight motion in the step."""
    x, _, _ = system.rows()
    low, high = (Vector([system.real(a) for a in rows[0]]) for rows in (lower, upper))
    for i in range(len(x)):
        if not watched[i] or not system.alive[i]:
            continue
        motion = x[i] - before[i]
        found = (through_ball if ball[0] else through_box)(system, before[i], motion, low, high)
        if found is None:
            continue
        enters, leaves = found
        one = system.real(1)
        speed = sqrt(dot(motion, motion)) / system.h
        point, zero = before[i] + enters * motion, 0 * motion
        time_since, left = (one - enters) * system.h, (one - leaves) * system.h
        system.report(i, -1, time_since, left, speed, system.real(0), system.real(0), point, zero)


def through_box(system, start, motion, low, high):
    enters, leaves = system.real(0), system.real(1)
    for x, d, a, b in zip(start, motion, low, high, strict=True):
        if not (d > 0 or d < 0):
            if not (a <= x <= b):
                return None
            continue
        first, last = ((a - x) / d, (b - x) / d) if d > 0 else ((b - x) / d, (a - x) / d)
        enters = first if first > enters else enters
        leaves = last if last < leaves else leaves
    return (enters, leaves) if enters <= leaves else None


def through_ball(system, start, motion, center, radius):
    zero, one = system.real(0), system.real(1)
    d = start - center
    square, along, outside = dot(motion, motion), dot(d, motion), dot(d, d) - radius[0] * radius[0]
    if not square > 0:
        return (zero, one) if outside <= 0 else None
    under_root = along * along - square * outside
    if not under_root >= 0:
        return None
    root = sqrt(under_root)
    first, last = (zero - along - root) / square, (root - along) / square
    enters, leaves = first if first > 0 else zero, last if last < 1 else one
    return (enters, leaves) if enters <= leaves else None
