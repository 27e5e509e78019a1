"""Elastic collisions between bodies."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..declaration import declaration, filter_field, numbers
from .base import ALL_BITS, Filtered, countable, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


@declaration()
class ElasticCollisions(Filtered):
    """Collisions between bodies in free flight; for balls that pile up or lie on each other use `Contacts`.

    Bodies are spheres, circles in the plane, or segments on a line.

    radius: m, >= 0, a number or (n,). restitution: the ratio of separation speed to approach speed, 0 to 1.
    iterations: sweeps over all pairs in a step, at most.
    friction: Coulomb's coefficient, a number >= 0 or (n,), which limits the tangent impulse to this multiple of the
    normal impulse. Two bodies use the larger restitution and the geometric mean of the frictions.

    category, mask: bits, a number or (n,), up to 64. Two bodies collide if the category of each is in the mask of
    the other. sensor: a bool or (n,). Collisions of sensors are recorded as events, without impulses. swept: whether
    collisions are detected along the displacement of each step, for fast bodies.

    After each step, all pairs closer than 5/4 of the sum of their radii are processed in the order of their indices,
    i < j. The order alternates between sweeps, until no pair overlaps or `iterations` sweeps are done. An impact can
    propagate through a row of touching balls within one step (Newton's cradle). After each sweep the walls of the
    stepper are applied too. In piles more layers need more iterations, or a smaller dt, to
    avoid overlap.

    The number of pairs is bounded: at most 16 per body, with bodies of larger radius, or of equal radius and higher
    index, in the order of their indices. Bodies that do not overlap much have fewer. A step therefore takes time
    proportional to n, and dense heaps separate over several steps, without effect on bodies elsewhere.

    If two bodies overlap, the moment in the step when they touched is computed. The impulse acts at that moment,
    along the line between their centres, and both move on for the rest of the step. Momentum, angular momentum and,
    at restitution 1, kinetic energy are conserved to rounding, also under uniform forces. Bodies that already
    overlapped before the step are moved apart by the inverse of their masses. To conserve angular
    momentum their tangential speed is reduced, and restitution is the share that they get back as separation speed.
    Below restitution 1, bodies stay together if the forces of this step account for their approach speed.

    Angular momentum is not exact under nonuniform forces, because these act for the whole step. A pile at rest shows
    velocities of a few steps of gravity, although no position changes: at most one step for two bodies, six in a
    column of ten, more under heavy bodies or with `Distance`. With `Contacts` they are zero at rest.

    Tunnelling, a pass through another body within one step, is not detected: keep radii above |v| dt, or use
    swept=True for continuous collision detection. It follows bodies along their displacement in the step, with the
    velocities at its end. Impacts are processed in order of time, and searched again after each round, up to 64 times.
    Pairs, at most 16 per body, are those that come near each other in the step: the radius of a body is then enlarged
    by half of its displacement. Put walls after this constraint: a body is followed from its last bounce off a wall.

    Bodies i < j at the same position separate along axis (j - i - 1) % dim. Time and memory are proportional to n,
    however far apart bodies are. Each step sorts bodies into grids, one per size class; radii in a class differ by a
    factor of up to 4. There are 15 classes, and the last one includes all smaller sizes. Raises TypeError or ValueError
    for wrong numbers, and for fewer than one iteration.

    >>> import kickdrift as kd
    >>> balls = kd.Stepper([[0.0], [2.5]], [[4.0], [0.0]], dt=0.25, constraints=[ElasticCollisions(1.0)])
    >>> balls.step()
    >>> balls.position.tolist(), balls.velocity.tolist()
    ([[0.5], [3.0]], [[0.0], [4.0]])
    """

    kind = "collisions"
    turn = 2
    radius_rank = 2
    reports_pairs = True
    independent = Filtered.independent | {"radius", "restitution", "friction"}

    radius: ArrayLike = numbers(minimum=0.0, per_body="number")
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    iterations: int = 8
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    sensor: ArrayLike = filter_field(False)
    swept: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        iterations = validation.integer("ElasticCollisions(iterations)", self.iterations, 1, 10**6)
        object.__setattr__(self, "iterations", iterations)
        object.__setattr__(self, "swept", validation.flag("ElasticCollisions(swept)", self.swept))

    def sides(self, plan: Plan) -> int:
        return 0

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        if not self.independent.union(("mass",)).issuperset(names):
            return None
        friction, fields = self._scalars(plan, "friction"), self._changed_filters(plan, names, before)
        if fields is None or bool(friction.any()) != ("friction" in before):
            return None
        if "mass" in names:
            fields["weight"] = weights(plan)
        return fields | {name: self._scalars(plan, name) for name in names if name in before and name not in fields}

    def compile(self, plan: Plan) -> None:
        countable("ElasticCollisions", plan)
        friction = self._scalars(plan, "friction")
        plan.add_constraint(
            self.kind,
            self,
            radius=self._scalars(plan, "radius"),
            restitution=self._scalars(plan, "restitution"),
            weight=weights(plan),
            iterations=np.array([self.iterations]),
            lag=np.array([plan.integrator.velocity_lag]),
            **({"friction": friction} if friction.any() else {}),
            **({"swept": np.ones(1, np.uint8)} if self.swept else {}),
            **self._filters(plan),
        )
