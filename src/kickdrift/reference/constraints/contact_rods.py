"""Rods, ropes and struts that are solved together with contacts."""

from __future__ import annotations

from ..vector import dot, sqrt
from .impacts import apply


class Rod:
    """A joint between bodies i and j in a step.

    number: its index among the declared joints, and in `pull`, the list of impulses, which are negative in tension.
    limits: see `limits_of`. limit: the load that breaks it, in N. displacement, length: unit vector from i to j and
    distance at the start of the substep; the length of a slack rod is updated after the drift. slack: whether it is
    free between limits. used: whether it had an impulse in the step. total: sum of the impulses of the substeps.
    """

    def __init__(self, i, j, number, wanted, compliance, limits, limit, cell):
        self.i, self.j, self.number, self.compliance, self.cell = i, j, number, compliance, cell
        self.low, self.high = (wanted, wanted) if limits is None else limits
        self.slack, self.limit, self.used, self.total = self.low < self.high, limit, False, 0 * wanted

    def compute_normals(self, system, p):
        d = system.space.nearest(p[self.j] - p[self.i])
        self.length = r = sqrt(dot(d, d))
        self.displacement = d / r if r > 0 else 0 * r * d

    def act(self, pull, u, weight, h, span, soft=None, scale=None):
        """Apply an impulse that corrects the length; without `soft`, one that stops the change of the length."""
        i, j, now = self.i, self.j, pull[self.number]
        given = now, weight[i] + weight[j], dot(u[j] - u[i], self.displacement), h, span, soft, scale
        change = self.change(self.high, *given)
        if self.slack and not now - change < 0:
            change = self.change(self.low, *given)
            if not now - change > 0:
                change = now
        pull[self.number] = now - change
        self.used = self.used or pull[self.number] != 0
        apply(u, i, j, weight[i], weight[j], -change * self.displacement)

    def change(self, wanted, now, total, speed, h, span, soft, scale):
        """Return the change of the impulse that corrects the length to `wanted`, or without `soft` stops its change.

        A rod within its limits may reach the limit in the substep, but not pass it. span: see `Body.span`, per substep.
        """
        off = self.length - wanted
        if self.compliance > 0:
            give = self.compliance / (h * span)
            return (speed + off / h + give * now) / (total + give)
        if self.slack and (off < 0 if wanted == self.high else off > 0):
            return (speed + off / h) / total
        if soft is None:
            return speed / total
        change = (speed + soft * off) / total
        return now - scale * (now - change)


def to_and_fro(rods, sweeps):
    """Iterate over the rods, alternating in direction: a sweep propagates an impulse along a whole chain."""
    for sweep in range(sweeps):
        yield from rods if sweep % 2 == 0 else reversed(rods)


def stop_rods(rods, pull, u, weight, h, span, sweeps):
    """Remove velocities along rigid rods in alternating sweeps; compliant rods are skipped."""
    for rod in to_and_fro(rods, sweeps):
        if not rod.compliance > 0:
            rod.act(pull, u, weight, h, span)
