"""Bodies that bounce off each other."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..declaration import declaration, noticed, numbers
from .base import ALL_BITS, Filtered, countable, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


@declaration()
class ElasticCollisions(Filtered):
    """Bodies that bounce off each other: spheres, circles in the plane, segments on a line.

    radius: m, >= 0, scalar or (n,). restitution: 0 to 1, the share of the approach speed that is left after a
    collision. friction: Coulomb's coefficient >= 0. A collision changes the speed of two bodies past each other by at
    most this share of the change along the line between them. Both are scalar or (n,). Of two bodies the larger
    restitution counts, and the geometric mean of the frictions.

    category, mask: bits, a number or (n,), up to 64. Two bodies meet if the category of each is in the mask of the
    other. sensor: a bool or (n,). Such bodies are reported as events, but push nothing, and nothing pushes them.

    After each step, all pairs closer than 5/4 of the sum of their radii are processed in the order of their indices,
    i < j. The next sweep goes backwards, and so on, until no pair overlaps or `iterations` sweeps are done. So a blow
    can run through a row of touching balls within one step (Newton's cradle). After each sweep the walls of the
    stepper hold bodies that were pushed into them. For piles use `Contacts`: here more layers need more iterations,
    or a smaller dt, so that they do not sink into themselves.

    In a crowd the number of pairs is bounded. Each body looks for those of larger radius, and for those as large and of
    higher index, and meets the first 16 of them that are near, in the order of their indices. Bodies that do not
    overlap much have no more. So a step takes time in proportion to n, and such heaps come apart over several steps;
    and a crowd elsewhere changes nothing.

    If two bodies overlap, the moment in the step when they touched is computed. The impulse acts at that moment,
    along the line between their centres, and both move on for the rest of the step. Momentum, angular momentum and,
    at restitution 1, kinetic energy are conserved to rounding, also under uniform forces. Bodies that already
    overlapped before the step are moved apart by the inverse of their masses. This would change their angular
    momentum, so their speed past each other is reduced, and restitution says how much of it they get back as speed of
    parting. Below restitution 1, bodies stay together if they meet no faster than the forces of this step push them
    together.

    Angular momentum is not exact under forces that are not uniform, because these act for the whole step. In a pile
    at rest, velocities are those that some steps' forces give, although no position changes: at most one of two
    bodies, six in a column of ten, more under heavy ones or with `Distance`. In `Contacts` they are zero at rest.

    A body that goes through another within one step is not noticed. So keep radii above |v| dt, or say swept=True.
    Then bodies are followed along their way through the step, with the velocities of its end. The earliest touches
    come first, and their consequences are searched again, up to 64 times. Pairs are those that come near each other on
    the way, in a crowd the first 16 of a body as above: its radius is then its own and half of its way. Put walls after
    this constraint: a body that bounced off a wall is followed from there on.

    Bodies i < j at the same place part along axis (j - i - 1) % dim. Time and memory are proportional to n, however
    far apart bodies are. In each step bodies are sorted into grids, one for each class of size; radii differ by up to
    4 in a class. There are 15 classes, and the last one takes all smaller sizes. Raises TypeError or ValueError for
    wrong numbers, and for fewer than one iteration.

    >>> import kickdrift as kd
    >>> balls = kd.Stepper([[0.0], [2.5]], [[4.0], [0.0]], dt=0.25, constraints=[ElasticCollisions(1.0)])
    >>> balls.step()
    >>> balls.position.tolist(), balls.velocity.tolist()
    ([[0.5], [3.0]], [[0.0], [4.0]])
    """

    kind = "collisions"
    meets = True
    independent = frozenset({"radius", "restitution", "friction"})

    radius: ArrayLike = numbers(minimum=0.0, per_body="number")
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0, per_body="number")
    iterations: int = 8
    friction: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    category: ArrayLike = noticed(1)
    mask: ArrayLike = noticed(ALL_BITS)
    sensor: ArrayLike = noticed(False)
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
        friction = self._scalars(plan, "friction")
        if not set(names) <= {"restitution", "friction"} or bool(friction.any()) != ("friction" in before):
            return None
        return {name: self._scalars(plan, name) for name in names if name in before}

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
