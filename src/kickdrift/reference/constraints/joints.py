"""What ties bodies: to a place, and to each other."""

from __future__ import annotations

from ..vector import Vector, dot, sqrt


def pin(system, before, indices):
    x, v, s = system.rows()
    for i in indices:
        x[i] = before[i]
        v[i] = Vector([system.real(0)] * system.dim)
        if s is not None:
            s[i] = x[i]
    system.put(x, v, s)


def distance(system, before, first, second, length, move_first, move_second, iterations):
    """Jakobsen's relaxation: move each pair to its length, one after the other."""
    x, v, s = system.rows()
    length, move_first, move_second = numbers(system, length, move_first, move_second)
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(zip(first, second, strict=True)):
            d = x[j] - x[i]
            r = sqrt(dot(d, d))
            f = (r - length[pair]) / r if r > 0 else system.real(0)
            x[i] = x[i] + move_first[pair] * (f * d)
            x[j] = x[j] - move_second[pair] * (f * d)
    follow(system, x, v, s)


def compliant_distance(system, before, first, second, length, move_first, move_second, total, compliance, iterations):
    """XPBD: `force` is Lagrange's multiplier, times h², that each pair has been given in this step."""
    x, v, s = system.rows()
    length, move_first, move_second, total, compliance = numbers(
        system, length, move_first, move_second, total, compliance
    )
    force = [system.real(0)] * len(length)
    for _ in range(iterations[0]):
        for pair, (i, j) in enumerate(zip(first, second, strict=True)):
            alpha = compliance[pair] / (system.h * system.h)
            d = x[j] - x[i]
            r = sqrt(dot(d, d))
            change = (r - length[pair] + alpha * force[pair]) / (total[pair] + alpha) if r > 0 else system.real(0)
            f = change / r if r > 0 else system.real(0)
            force[pair] = force[pair] - change
            x[i] = x[i] + move_first[pair] * (f * d)
            x[j] = x[j] - move_second[pair] * (f * d)
    follow(system, x, v, s)


def follow(system, x, v, s):
    """Velocities that go with new positions. Verlet's next step follows by itself."""
    was = system.x.rows(system.dim)
    v = [v[i] + (x[i] - was[i]) / system.h for i in range(len(x))]
    system.put(x, v, s)


def numbers(system, *arrays):
    """Arrays as lists of numbers to compute with."""
    return [[system.real(number) for number in array] for array in arrays]
