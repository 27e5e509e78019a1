"""Bodies that bounce off each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import validation
from ..declaration import numbers
from .base import ALL_BITS, Filtered, countable, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


@dataclass(frozen=True, eq=False)
class ElasticCollisions(Filtered):
    """Bodies that bounce off each other: spheres, circles in the plane, segments on a line.

    radius: m, >= 0, scalar or (n,). restitution: 0 to 1, what a collision leaves of the speed at which
    two bodies come together. friction: Coulomb's coefficient >= 0: a collision takes of the speed past each other at
    most this share of what it changes along the line between them. Both are scalar or (n,): of two bodies the larger
    restitution counts, and the geometric mean of the frictions.

    category, mask: bits, a number or (n,), up to 64: two bodies meet where the category of each is in the mask of the
    other. sensor: a bool or (n,): such bodies are reported as events, push nothing and are pushed by none.

    Pairs closer than 5/4 of their radii's sum after the step are gone through in the order of
    their indices, i < j, and backwards in the next sweep, until none of them overlaps or `iterations`
    sweeps are done, so that a blow runs through a row of touching balls within a step (Newton's
    cradle). After each sweep the walls of the stepper hold what was pushed into them, so that piles stand:
    the more layers they have, the more iterations (or the smaller dt) keep them from sinking into themselves.
    Where there are more than 16 n such pairs, as where many bodies begin at one place, each body looks at the first 16
    in each cell of the grid around it, at those of higher index only if they are of its class of size, and meets the
    first 16 of them that are near. So a step takes time in proportion to n, and heaps come apart over some steps.

    Of two that overlap, the moment in the step at which they touched is found: there the impulse acts
    along the line between their centres, and they go on for the rest of the step. Momentum, angular
    momentum and, at restitution 1, kinetic energy stay what they were to rounding, also under uniform
    forces. Those that overlapped before the step already are moved apart by the inverse of their masses; what
    that would add to their angular momentum is taken from their speed past each other, and given to
    that of parting by as much as restitution says. Below restitution 1 bodies stay together when they meet
    with no more speed than the forces of this step gave to both, added up.

    Uniform forces leave angular momentum alone; others act for the whole step, at places that the blow has changed.
    In a pile at rest velocities are what the forces of the step give until the next contact takes it, though no
    position changes.

    A body that goes through another within one step is not noticed: keep radii above |v| dt, or say swept=True. Then
    bodies are followed along their velocities of the step's end, back to its beginning: the earliest touches come
    first, and what follows from them is looked for anew, up to 64 times; of a crowd those alone that are near at the
    end. Put walls behind it: what is turned back by a wall first is followed from there on. Bodies i < j at
    the same place part along axis (j - i - 1) % dim. Time and memory are proportional to n, however far
    bodies are apart: grids whose cells hold the largest body of a class of size are sorted anew in each step. Radii
    differ by up to 4 in a class. What is not bounded is sizes beyond 15 classes: the last holds all smaller ones.
    Raises TypeError or ValueError for wrong numbers, and for fewer than one iteration.

    >>> import kickdrift as kd
    >>> balls = kd.Stepper([[0.0], [2.5]], [[4.0], [0.0]], dt=0.25, constraints=[ElasticCollisions(1.0)])
    >>> balls.step()
    >>> balls.position.tolist(), balls.velocity.tolist()
    ([[0.5], [3.0]], [[0.0], [4.0]])
    """

    kind = "collisions"
    meets = True

    radius: ArrayLike = numbers(minimum=0.0)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0)
    iterations: int = 8
    friction: ArrayLike = numbers(minimum=0.0, default=0.0)
    category: ArrayLike = 1
    mask: ArrayLike = ALL_BITS
    sensor: ArrayLike = False
    swept: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        iterations = validation.integer("ElasticCollisions(iterations)", self.iterations, 1, 10**6)
        object.__setattr__(self, "iterations", iterations)
        if not isinstance(self.swept, (bool, np.bool_)):
            raise TypeError(f"ElasticCollisions(swept): expected True or False, got {validation.show(self.swept)}")

    def sides(self, plan: Plan) -> int:
        return 0

    def compile(self, plan: Plan) -> None:
        countable("ElasticCollisions", plan)
        friction = self._scalars(plan, "friction")
        plan.add_hold(
            self.kind,
            self,
            radius=self._scalars(plan, "radius"),
            restitution=self._scalars(plan, "restitution"),
            weight=weights(plan),
            iterations=np.array([self.iterations]),
            **({"friction": friction} if friction.any() else {}),
            **({"swept": np.ones(1, np.uint8)} if self.swept else {}),
            **self._filters(plan),
        )
