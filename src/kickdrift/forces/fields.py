"""Forces on single bodies, one small declaration each.

A declaration validates coefficients and adds them to a `Plan`. The affine forces (gravity,
linear drag, anchored springs) are merged there into one acceleration

    a = g - c (v - w) - k (x - p)        per component.

Every other force becomes a `Record` that the reference and the kernels evaluate after it, in declared
order. Forces that are evaluated for many bodies at once are in `callbacks.py` and `interactions.py`. Forces are
divided by the mass of each body; gravity and accelerations are not.

Units are SI: metres, seconds, kilograms, newtons.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .. import exact_math, validation
from ..constraints.base import AfterStep
from ..declaration import NO_MASS, declaration, numbers
from .base import Elastic, FieldTerm, Term

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


def _squared_length(vectors: np.ndarray) -> np.ndarray:
    return (vectors * vectors).sum(axis=1)


@declaration()
class Gravity(Term):
    """Uniform gravity or any other constant acceleration: a = g.

    acceleration: m/s², shape (dim,) or (n, dim). Not divided by mass.
    Potential: -m g·x, zero at the origin.

    >>> import kickdrift as kd
    >>> kd.Stepper([[0.0, 10.0]], forces=[kd.Gravity((0, -9.81))]).step(60)
    """

    affine = alone = True
    weighed = NO_MASS

    acceleration: ArrayLike = numbers(per_body="vector")
    conservative: ClassVar[bool] = True

    def compile(self, plan: Plan) -> None:
        plan.add_gravity(self._vectors(plan, "acceleration"))

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return -plan.finite_mass * (self._vectors(plan, "acceleration") * position).sum(axis=1)


@declaration()
class LinearDrag(Term):
    """Drag proportional to the velocity relative to the air: F = -c (v - w) (Stokes).

    coefficient: c >= 0 in kg/s, scalar or (n,). wind: w in m/s, 0, (dim,) or (n, dim).
    It dissipates, so there is no potential.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[0.0]], [[8.0]], mass=2.0, dt=1, integrator="exact", forces=[LinearDrag(1.0)])
    >>> ball.step()
    >>> ball.velocity.round(4).tolist()  # 8 exp(-1/2)
    [[4.8522]]
    """

    affine = alone = True

    coefficient: ArrayLike = numbers(minimum=0.0, per_body="number")
    wind: ArrayLike = numbers(default=0.0, per_body="vector")
    velocity_dependent: ClassVar[bool] = True
    dissipative: ClassVar[bool] = True

    def compile(self, plan: Plan) -> None:
        plan.add_drag(self._scaled(plan, "coefficient", "inverse_mass"), self._vectors(plan, "wind"))


@declaration()
class QuadraticDrag(FieldTerm):
    """Drag proportional to the square of the airspeed: F = -c |v - w| (v - w) (Rayleigh).

    coefficient: c >= 0 in kg/m (half of air density times drag coefficient times area), scalar or
    (n,). wind: w in m/s, 0, (dim,) or (n, dim). It dissipates, so there is no potential.

    >>> import kickdrift as kd
    >>> ball = kd.Stepper([[0.0]], [[8.0]], dt=0.01, integrator="rk4", forces=[QuadraticDrag(1.0)])
    >>> ball.step(100)
    >>> ball.velocity.round(4).tolist()  # 8 / (1 + 8 t)
    [[0.8889]]
    """

    kind = "quadratic_drag"

    coefficient: ArrayLike = numbers(minimum=0.0, per_body="number")
    wind: ArrayLike = numbers(default=0.0, per_body="vector")
    velocity_dependent: ClassVar[bool] = True
    dissipative: ClassVar[bool] = True

    def compile(self, plan: Plan) -> None:
        coefficient = self._scalars(plan, "coefficient") * plan.inverse_mass
        plan.add_record(self.kind, self, c=coefficient, w=self._vectors(plan, "wind"))


@declaration()
class AnchorSpring(Elastic):
    """A spring and damper from each body to a fixed anchor: F = -k (x - p) - d v (Hooke).

    stiffness: k >= 0 in N/m, scalar or (n,). damping: d >= 0 in kg/s, scalar or (n,).
    anchor: p in m, 0, (dim,) or (n, dim). per_mass: whether stiffness and damping are divided by the mass of each body,
    in 1/s² and 1/s, as `from_frequency` gives them.

    Potential: k |x - p|² / 2.

    >>> import kickdrift as kd
    >>> bob = kd.Stepper([[3.0]], mass=2.0, forces=[AnchorSpring(4.0, anchor=(1.0,))])
    >>> bob.energy()
    (0.0, 8.0)
    """

    affine = alone = True
    independent = frozenset({"stiffness", "damping", "anchor"})

    stiffness: ArrayLike = numbers(minimum=0.0, per_body="number")
    damping: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    anchor: ArrayLike = numbers(default=0.0, place=True, per_body="vector")
    per_mass: bool = dataclasses.field(default=False, kw_only=True)  # stiffness and damping are per unit of mass

    @classmethod
    def from_frequency(cls, hertz: ArrayLike, damping_ratio: ArrayLike = 0.0, anchor: ArrayLike = 0.0) -> AnchorSpring:
        """Return the spring that makes a body of any mass oscillate `hertz` times a second.

        hertz: undamped frequency >= 0 in Hz, scalar or (n,). damping_ratio: 0 never stops swinging, 1 returns fastest
        without overshoot (critical); scalar or (n,). anchor: as for `AnchorSpring`.

        >>> AnchorSpring.from_frequency(2.0, damping_ratio=1.0)
        AnchorSpring(stiffness=array(157.91367042), damping=array(25.13274123), anchor=array(0.), per_mass=True)
        """
        stiffness, damping = cls._of_frequency(hertz, damping_ratio)
        return cls(stiffness, damping, anchor, per_mass=True)

    def compile(self, plan: Plan) -> None:
        share: Literal["mobility", "inverse_mass"] = "mobility" if self.per_mass else "inverse_mass"
        plan.add_spring(self._scaled(plan, "stiffness", share), self._vectors(plan, "anchor"))
        plan.add_drag(self._scaled(plan, "damping", share), np.zeros((1, plan.dim)))

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        stiffness = self._scalars(plan, "stiffness") * (plan.finite_mass if self.per_mass else plan.mobility)
        return stiffness * _squared_length(position - self._vectors(plan, "anchor")) / 2


@declaration()
class PointGravity(FieldTerm):
    """Attraction by a fixed point mass: a = -mu d / (|d|² + e²)^(3/2), d = x - center (Newton, Plummer).

    mu: G M in m³/s² (negative repels), scalar or (n,). center: m, 0, (dim,) or (n, dim).
    softening: e >= 0 in m, scalar or (n,). Not divided by mass.
    Potential: -m mu / sqrt(|d|² + e²). At the centre the direction is undefined, and without softening the
    acceleration is zero there.

    >>> import kickdrift as kd
    >>> planet = kd.Stepper([[1.0, 0.0]], [[0.0, 1.0]], dt=0.01, integrator="pefrl", forces=[PointGravity(1.0)])
    >>> planet.step(100)
    >>> planet.position.round(4).tolist()  # cos 1, sin 1
    [[0.5403, 0.8415]]
    """

    kind = "point_gravity"

    mu: ArrayLike = numbers(per_body="number")
    center: ArrayLike = numbers(default=0.0, place=True, per_body="vector")
    softening: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    conservative: ClassVar[bool] = True

    def compile(self, plan: Plan) -> None:
        softening = self._scalars(plan, "softening")
        mu = self._scalars(plan, "mu") * plan.mobility
        plan.add_record(self.kind, self, mu=mu, e2=softening * softening, center=self._vectors(plan, "center"))

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        softening = self._scalars(plan, "softening")
        distance = np.sqrt(_squared_length(position - self._vectors(plan, "center")) + softening * softening)
        well = np.divide(self._scalars(plan, "mu"), distance, out=np.zeros_like(distance), where=distance > 0)
        return -plan.finite_mass * well


@declaration()
class Vortex(FieldTerm):
    """A vortex about an axis: a = s t / (|t|² + e²), t = axis x (x - center), for dim 2 and 3.

    strength: s in m²/s² (positive: counter-clockwise), scalar or (n,). center: m, 0, (dim,) or (n, dim). axis: a
    direction of shape (3,), of any length; in two dimensions it is the z axis. softening: e >= 0 in m, scalar or (n,).

    The acceleration is s / r along the circle about the axis (the field of a line vortex), softened near it. Not
    divided by mass. It does work along a circle, so there is no potential.

    >>> import kickdrift as kd
    >>> leaf = kd.Stepper([[2.0, 0.0]], dt=0.01, integrator="explicit_euler", forces=[Vortex(1.0)])
    >>> leaf.step()
    >>> leaf.velocity.tolist()  # 1/2 m/s² across the radius
    [[0.0, 0.005]]
    """

    kind = "vortex"

    strength: ArrayLike = numbers(per_body="number")
    center: ArrayLike = numbers(default=0.0, place=True, per_body="vector")
    axis: ArrayLike = numbers(default=(0.0, 0.0, 1.0))
    softening: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")

    def compile(self, plan: Plan) -> None:
        axis = np.asarray(self.axis)
        if axis.shape != (3,) or not axis.any():
            raise ValueError(f"Vortex(axis): expected a direction of shape (3,) other than zero, got {axis.tolist()}")
        if plan.dim == 1:
            raise ValueError("Vortex: expected dim 2 or 3, got 1 (there is no circle on a line)")
        if plan.dim == 2 and (axis[0] or axis[1]):
            raise ValueError(f"Vortex(axis): expected the z axis in two dimensions, got {axis.tolist()}")
        softening = self._scalars(plan, "softening")
        strength = self._scalars(plan, "strength") * plan.mobility
        if plan.dim == 2:
            strength, axis = strength * np.sign(axis[2]), np.array([0.0, 0.0, 1.0])
        plan.add_record(
            self.kind,
            self,
            s=strength,
            e2=softening * softening,
            center=self._vectors(plan, "center"),
            axis=validation.unit(axis).reshape(1, 3),
        )


@declaration()
class Damping(Term):
    """Exact decay of velocities, v *= exp(-rate h) after a step and its constraints; no force (Lol Engine blog, 2015).

    rate: >= 0 in 1/s, scalar or (n,). A velocity decays alike at every dt, unlike `v -= v * loss` in each frame; the
    way that a body slides is v / rate (1 + rate dt / 2). Beside other forces every integrator is of order 1 in dt:
    `LinearDrag` keeps its order.
    angular: >= 0 in 1/s, scalar or (n,), for angular velocities. Bodies of infinite mass
    keep both velocities.

    >>> import kickdrift as kd
    >>> puck = kd.Stepper([[0.0]], [[1.0]], dt=0.25, forces=[Damping(2.0)])
    >>> puck.step(2)
    >>> puck.velocity.round(4).tolist()  # exp(-1)
    [[0.3679]]
    """

    alone = True

    rate: ArrayLike = numbers(minimum=0.0, per_body="number")
    angular: ArrayLike = numbers(minimum=0.0, per_body="number", default=0.0)
    conservative: ClassVar[bool] = True  # energy is lost between steps, not by a force

    @classmethod
    def per_frame(cls, loss: ArrayLike, fps: float = 60) -> Damping:
        """Return the damping that equals `v -= v * loss` once per frame at `fps`, at any step rate.

        loss: share of the velocity lost per frame, 0 <= loss < 1. fps: frames per second.

        >>> Damping.per_frame(0.05)
        Damping(rate=array(3.07759766), angular=array(0.))
        """
        share = validation.numbers("Damping(loss)", loss, minimum=0.0)
        if share.size and share.max() >= 1:
            raise ValueError(f"Damping(loss): expected numbers below 1, got {share.max():g}")
        with np.errstate(over="ignore"):  # infinity by overflow is rejected later
            rate = exact_math.decay_rates(share) * validation.real("Damping(fps)", fps, above=0)
        return cls(rate)

    def compile(self, plan: Plan) -> None:
        plan.add_damping(self._scaled(plan, "rate", "mobility"))
        angular = self._scaled(plan, "angular", "mobility")
        if angular.any():
            plan.add_spin_damping(angular)

    def declared_values(self) -> dict[str, Any]:
        """Leave out `angular` if it is 0: snapshots of worlds without rotation do not contain it."""
        described = super().declared_values()
        return described if np.any(self.angular) else {"rate": described["rate"]}

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return np.zeros(1)


@declaration()
class FloorFriction(Term, AfterStep):
    """Coulomb friction on a floor, for worlds seen from above: v *= max(0, 1 - d h / |v|) after a step (Coulomb 1785).

    deceleration: d >= 0 in m/s², scalar or (n,): the coefficient of friction times gravity. A sliding body loses d per
    second, comes to rest after |v| / d seconds, and stays there until other forces exceed d. It acts after the forces
    of a step and before its constraints, and corrects positions too: by d h² / 2, and in the step in which a body comes
    to rest to where it stops. Without other forces a body slides v² / (2 d) under every integrator, at any dt. In a
    step in which it bounces, friction acts along the way before the bounce: an error of up to 2 d h of its speed.
    Infinitely heavy bodies feel none. A world with it cannot run backwards. Angular velocities stay the same: see
    `Damping(angular)`. It is for two dimensions: in three, |v| includes the speed that gravity adds in a step, and
    bodies on a floor slide too far. There give the floor friction, and `Contacts` rolling resistance.

    >>> import kickdrift as kd
    >>> puck = kd.Stepper([[0.0, 0.0]], [[3.0, 4.0]], forces=[FloorFriction(2.0)])
    >>> puck.step(180)
    >>> puck.position.round(6).tolist(), puck.velocity.tolist()
    ([[3.75, 5.0]], [[0.0, 0.0]])
    """

    affine = alone = True
    kind = "floor_friction"
    turn = 0
    weighed = NO_MASS

    deceleration: ArrayLike = numbers(minimum=0.0, per_body="number")
    conservative: ClassVar[bool] = True  # energy is lost between steps, not by a force

    def compile(self, plan: Plan) -> None:
        plan.add_constraint(self.kind, self, deceleration=self._scaled(plan, "deceleration", "mobility"))

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        return {"deceleration": self._scaled(plan, "deceleration", "mobility")}

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        return np.zeros(1)
