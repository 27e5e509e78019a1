"""WHAT holds the bodies: one small declaration per constraint.

Constraints are applied after each step, in the order given, but for pins, which come first; `Damping` comes
after them. They keep nothing from one step to the next: a snapshot has no more in it on their account.

Bodies that are pinned or infinitely heavy are moved by no other constraint; the rest share a correction
by the inverse of their masses. Under `verlet`, whose next step follows positions and not velocities, the
previous position is moved so that it agrees with what a constraint has made of both.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from . import arguments
from .declarations import Constraint, numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .plan import Plan

__all__ = ["Box", "Constraint", "Distance", "ElasticCollisions", "Pin", "Plane"]


@dataclass(frozen=True, eq=False)
class Pin(Constraint):
    """Bodies that stay where they are put.

    indices: an int or ints of shape (k,), each once in all pins of a stepper. A pinned body is back where
    it was before the step, at rest, and counts as infinitely heavy in all other constraints. To move it,
    write its position between steps. What it touches then is pushed out of its way and gets no momentum from
    it: to it the pin is at rest. For a bat or a lift take no pin but a body with mass=numpy.inf and a velocity.
    Raises TypeError or ValueError for wrong indices, and for one that is given twice.

    >>> import kickdrift as kd
    >>> lamp = kd.Stepper([[0.0, 2.0]], forces=[kd.Gravity((0, -9.81))], constraints=[Pin(0)])
    >>> lamp.step(60)
    >>> lamp.position.tolist(), lamp.velocity.tolist()
    ([[0.0, 2.0]], [[0.0, 0.0]])
    """

    indices: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "indices", arguments.indices("Pin(indices)", self.indices))

    def compile(self, plan: Plan) -> None:
        pinned(plan)
        plan.add_hold("pin", self, indices=np.asarray(self.indices))


def pinned(plan: Plan) -> np.ndarray:
    """The indices of all bodies that are pinned."""
    given = [np.asarray(pin.indices) for pin in plan.constraints if isinstance(pin, Pin)]
    pins = [arguments.within("Pin(indices)", indices, plan.n) for indices in given]
    indices = np.sort(np.concatenate([np.zeros(0, np.int64), *pins]))
    twice = indices[1:][indices[1:] == indices[:-1]]
    if twice.size:
        raise ValueError(f"Pin(indices): expected each body once in all pins, got {twice[0]} twice")
    return indices


def weights(plan: Plan) -> np.ndarray:
    """1/m of each body, shape (n,); 0 for those that no constraint moves."""
    weight = plan.inverse_mass + np.zeros(plan.n)
    weight[pinned(plan)] = 0
    return weight


def countable(name: str, plan: Plan) -> None:
    """Kernels count bodies that see each other in 32 bits."""
    if plan.n >= 2**31:
        raise ValueError(f"{name}: expected fewer than {2**31} bodies, got {plan.n}")


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """Pairs of bodies at a fixed distance: rods, ropes, cloth (Jakobsen 2001, Advanced Character Physics).

    pairs: ints of shape (k, 2), two different bodies each. length: m, scalar or (k,); left out, it is the
    distance at which the stepper begins. The pairs are corrected one after the other in the order given,
    `iterations` times a step; each correction moves its two bodies along the line between them, the
    lighter one more, by `stiffness` of what the distance is off: 0 < stiffness <= 1, scalar or (k,). How
    stiff that makes a cloth depends on iterations and dt.

    compliance: the inverse of a spring's stiffness in m/N, scalar or (k,); with it this is XPBD (Macklin,
    Müller, Chentanez 2016), whose result, once converged, depends on neither; 0 is rigid.

    Positions are corrected, and velocities follow: v += (x' - x) / h. That suits `verlet` and
    `semi_implicit_euler`, under which what hangs has no velocity; under `velocity_verlet` and others that are
    as far, it reads half a step of gravity, which `Damping` leaves alone but drag feels: what hangs on a compliant link
    is then pulled less by up to the coefficient of drag (in 1/s) times dt. Under `verlet`, drag in a stepper with
    distances feels the velocity of the last step, (x - x_prev) / h. Bodies at the same place have no direction to be
    moved in, and are left. Raises TypeError or ValueError for wrong indices, a body paired with itself, and wrong
    numbers.

    >>> import kickdrift as kd
    >>> bob = kd.Stepper([[0.0, 0.0], [1.0, 0.0]], dt=0.01, integrator="verlet", forces=[kd.Gravity((0, -9.81))],
    ...                  constraints=[Pin(0), Distance([(0, 1)])])
    >>> bob.step(100)
    >>> round(float(bob.position[1] @ bob.position[1]), 9)
    1.0
    """

    pairs: ArrayLike
    length: ArrayLike | None = None
    stiffness: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0)
    iterations: int = 8
    compliance: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pairs", arguments.pairs("Distance(pairs)", self.pairs))
        object.__setattr__(self, "iterations", arguments.integer("Distance(iterations)", self.iterations, 1, 10**6))
        for name in ("length", "compliance"):
            if getattr(self, name) is not None:
                array = arguments.numbers(f"Distance({name})", getattr(self, name), minimum=0.0)
                object.__setattr__(self, name, array)
        if self.compliance is not None and np.any(np.asarray(self.stiffness) != 1):
            raise ValueError("Distance(compliance): expected stiffness or compliance, got both")

    def placed(self, position: np.ndarray) -> Self:
        first, second = arguments.within("Distance(pairs)", np.asarray(self.pairs), len(position)).T
        if self.length is not None:
            return self
        with np.errstate(over="ignore", invalid="ignore"):  # what is no longer finite is refused below
            d = position.astype(np.float64)[second] - position.astype(np.float64)[first]
            square = sum((component * component for component in d.T), np.zeros(len(d)))
        return dataclasses.replace(self, length=np.sqrt(square))

    def compile(self, plan: Plan) -> None:
        countable("Distance", plan)
        first, second = arguments.within("Distance(pairs)", np.asarray(self.pairs), plan.n).T
        weight = weights(plan)
        free = weight[first] + weight[second] > 0  # others are moved by nothing
        first, second = np.ascontiguousarray(first[free]), np.ascontiguousarray(second[free])
        total = weight[first] + weight[second]
        fields = {"first": first, "second": second, "length": self._each("length")[free]}
        if self.compliance is None:
            stiffness = self._each("stiffness")[free]
            fields["move_first"] = stiffness * (weight[first] / total)
            fields["move_second"] = stiffness * (weight[second] / total)
        else:
            fields["move_first"], fields["move_second"], fields["total"] = weight[first], weight[second], total
            fields["compliance"] = self._each("compliance")[free]
        kind = "distance" if self.compliance is None else "compliant_distance"
        plan.add_hold(kind, self, **fields, iterations=np.array([self.iterations]))
        plan.add_links(*(ends[weight[ends] > 0] for ends in (first, second)))

    def _each(self, name: str) -> np.ndarray:
        """One value per pair."""
        array, count = np.asarray(getattr(self, name)), len(np.asarray(self.pairs))
        if array.ndim and array.shape != (count,):
            raise ValueError(
                f"Distance({name}): expected a scalar or shape ({count},), one value per pair, got shape {array.shape}"
            )
        return np.broadcast_to(array, (count,))


@dataclass(frozen=True, eq=False)
class Wall(Constraint):
    """Base of what bodies bounce off."""

    def _compile(self, kind: str, plan: Plan, **places: np.ndarray) -> None:
        each = {name: self._scalars(plan, name) for name in ("restitution", "friction", "radius")}
        plan.add_hold(kind, self, **places, **each, weight=weights(plan), lag=np.array([plan.integrator.velocity_lag]))


@dataclass(frozen=True, eq=False)
class Box(Wall):
    """Walls on all sides: lower + radius <= x <= upper - radius in each component.

    lower, upper: m, a vector of shape (dim,) or one number for all components. restitution: 0 to 1, the
    share of the speed across a wall that a bounce leaves. friction: Coulomb's coefficient >= 0: along the
    wall a bounce takes at most this share of the speed that it changes across, and never turns it back.
    radius: m, >= 0. The last three are scalar or (n,).

    A body found outside has met the wall within the step: it is taken to have come on the parabola that
    the forces of the step bend, turned at the wall, and gone on for the rest of the step. Under uniform
    forces, bounces of restitution 1 so keep the energy to rounding, at any dt and with any integrator but
    `energy_euler`, whose speed does not follow its positions. It comes
    to rest, with no speed across the wall, where it meets the wall with no more speed than the forces of one
    step give, or would meet it again in the same step. One that was outside before is put on the wall.

    Raises TypeError or ValueError for a box that is inside out, or too narrow for a body.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[1.0]], [[4.0]], dt=0.5, constraints=[Box(0, 2.5)])
    >>> ball.step()
    >>> ball.position.tolist(), ball.velocity.tolist()
    ([[2.0]], [[-4.0]])
    """

    lower: ArrayLike = numbers(place=True)
    upper: ArrayLike = numbers(place=True)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0)
    friction: ArrayLike = numbers(minimum=0.0, default=0.0)
    radius: ArrayLike = numbers(minimum=0.0, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper, radius = np.asarray(self.lower), np.asarray(self.upper), np.asarray(self.radius)
        if lower.ndim > 1 or upper.ndim > 1 or (lower.ndim and upper.ndim and lower.shape != upper.shape):
            raise ValueError(
                f"Box(lower, upper): expected numbers or vectors of one shape (dim,), "
                f"got shapes {lower.shape} and {upper.shape}"
            )
        width = np.atleast_1d(upper - lower)
        if (width < 0).any():
            raise ValueError(f"Box(lower, upper): expected lower <= upper, got {lower.tolist()} and {upper.tolist()}")
        if radius.size and width.size and 2 * radius.max() > width.min():
            raise ValueError(f"Box(radius): expected at most half the width of {width.min():g} m, got {radius.max():g}")

    def compile(self, plan: Plan) -> None:
        places = {}
        for name in ("lower", "upper"):
            array = np.asarray(getattr(self, name))
            if array.shape not in ((), (plan.dim,)):
                raise ValueError(
                    f"Box({name}): expected a number or a vector of shape ({plan.dim},), got shape {array.shape}"
                )
            places[name] = np.broadcast_to(array, (1, plan.dim))
        self._compile("box", plan, **places)


@dataclass(frozen=True, eq=False)
class Plane(Wall):
    """A wall with one side: normal · x >= offset, and further in by the radius.

    normal: of shape (dim,), other than zero, pointing to where bodies may be; of any length, by which
    normal and offset are divided. offset: a number, in m where the normal's length is 1. restitution, friction,
    radius and what happens at the wall: as for `Box`. Raises TypeError or ValueError for any other normal or offset.

    >>> import kickdrift as kd
    >>> slope = Plane((-1, 2), 0, restitution=0, friction=0.6)
    >>> crate = kd.Stepper([[2.0, 1.0]], forces=[kd.Gravity((0, -9.81))], constraints=[slope])
    >>> crate.step(600)
    >>> crate.position.round(9).tolist()  # tan of the slope: 0.5
    [[2.0, 1.0]]
    """

    normal: ArrayLike = numbers()
    offset: ArrayLike = numbers()
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0)
    friction: ArrayLike = numbers(minimum=0.0, default=0.0)
    radius: ArrayLike = numbers(minimum=0.0, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        normal = np.asarray(self.normal)
        if normal.ndim != 1 or not normal.any():
            raise ValueError(
                f"Plane(normal): expected a direction of shape (dim,) other than zero, got {normal.tolist()}"
            )
        if np.asarray(self.offset).ndim:
            raise ValueError(f"Plane(offset): expected a number, got shape {np.asarray(self.offset).shape}")

    def shifted(self, offset: np.ndarray) -> Self:
        return dataclasses.replace(self, offset=np.asarray(self.offset) + float(_dot(np.asarray(self.normal), offset)))

    def compile(self, plan: Plan) -> None:
        normal = np.asarray(self.normal)
        if normal.shape != (plan.dim,):
            raise ValueError(f"Plane(normal): expected shape ({plan.dim},), got {normal.shape}")
        size = np.abs(normal).max()  # so that no square overflows
        length = math.sqrt(_dot(normal / size, normal / size))
        self._compile(
            "plane",
            plan,
            normal=(normal / size / length).reshape(1, plan.dim),
            offset=np.asarray(self.offset).reshape(1) / size / length,
        )


@dataclass(frozen=True, eq=False)
class ElasticCollisions(Constraint):
    """Bodies that bounce off each other: spheres, circles in the plane, segments on a line.

    radius: m, >= 0, scalar or (n,). restitution: 0 to 1, what a collision leaves of the speed at which
    two bodies come together.

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

    A body that goes through another within one step is not noticed: keep radii above |v| dt. Bodies i < j at
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

    radius: ArrayLike = numbers(minimum=0.0)
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0)
    iterations: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.asarray(self.restitution).ndim:
            raise ValueError(
                f"ElasticCollisions(restitution): expected a number, got shape {np.asarray(self.restitution).shape}"
            )
        iterations = arguments.integer("ElasticCollisions(iterations)", self.iterations, 1, 10**6)
        object.__setattr__(self, "iterations", iterations)

    def compile(self, plan: Plan) -> None:
        countable("ElasticCollisions", plan)
        plan.add_hold(
            "collisions",
            self,
            radius=self._scalars(plan, "radius"),
            restitution=np.asarray(self.restitution).reshape(1),
            weight=weights(plan),
            iterations=np.array([self.iterations]),
        )


def _dot(u: np.ndarray, v: np.ndarray) -> float:
    return float(sum(float(a) * float(b) for a, b in zip(u, v, strict=True)))
