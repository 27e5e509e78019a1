"""Joints: constraints that fix bodies to a position, or their distance to each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import validation
from ..declaration import declaration, generations, numbers, once
from .base import ABSENT, NEVER_BREAKS, Constraint, countable, generation_fields, pinned, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan
    from ..stepper.slots import Slots
    from .periodic import Periodic


@declaration()
class Pin(Constraint):
    """Bodies that stay where you put them.

    indices: an int or ints of shape (k,). Each body may be in one pin of a stepper only.

    After each step a pinned body is reset to its previous position, at rest. All other constraints treat it as
    infinitely heavy. To move it, write its position between steps. It then displaces bodies that it overlaps, without
    momentum. For a bat, a lift, or a hook from which something swings, use a body with mass=numpy.inf and a velocity
    instead. Forces between bodies see it in its position throughout the step, so that integrators keep their order.
    Raises TypeError or ValueError for wrong indices, and for an index that is given twice.

    >>> import kickdrift as kd
    >>> lamp = kd.Stepper([[0.0, 2.0]], forces=[kd.Gravity((0, -9.81))], constraints=[Pin(0)])
    >>> lamp.step(60)
    >>> lamp.position.tolist(), lamp.velocity.tolist()
    ([[0.0, 2.0]], [[0.0, 0.0]])
    """

    kind = "pin"
    turn = 0

    indices: ArrayLike
    generations: np.ndarray | None = generations()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "indices", validation.indices("Pin(indices)", self.indices))

    @property
    def pins(self) -> np.ndarray:
        return np.asarray(self.indices)

    def compile(self, plan: Plan) -> None:
        pinned(plan)
        plan.add_constraint(self.kind, self, indices=np.asarray(self.indices), **generation_fields(self.generations))

    def bound_to(self, slots: Slots) -> Self:
        return self._with(generations=slots.generations("Pin(indices)", np.asarray(self.indices)))


@declaration()
class Distance(Constraint):
    """Pairs of bodies at a fixed distance: rods, ropes, cloth (SHAKE and RATTLE, or Jakobsen's relaxation).

    pairs: ints of shape (k, 2), two different bodies each. length: m, scalar or (k,); if left out, the distance when
    the stepper is made. iterations: how often all pairs are corrected in each step, one after the other.
    stiffness: 0 <= stiffness <= 1, scalar or (k,), the share of the error that one correction removes. A correction
    moves both bodies, the lighter one more. How stiff a cloth is then depends on iterations and dt.

    direction: the line along which bodies are moved. "before" is the line between them before the step (SHAKE:
    Ryckaert, Ciccotti, Berendsen 1977). It is as exact as `verlet` itself, second order in dt, and keeps the energy
    of what swings if the iterations have converged. Beside drag it is of order 1. Exception: a pair
    that rotated by more than 60 degrees in the step, or stretched by more than half of its length, is corrected along
    the line after the step. Otherwise bodies under high tension would gain energy. "after" uses the line after the step
    for all pairs (Jakobsen 2001, Advanced Character Physics). It is first order, and loses energy.

    order: "given" solves pairs in the order given, "coloured" by a greedy edge colouring of their graph, and in the
    order given within a colour. Pairs of a colour share no body and are solved in vectors, in some two thirds of the
    time for cloth. Both orders converge to the same lengths, through different intermediate positions. Both are bitwise
    reproducible on every machine and for any number of threads. In the order given, a correction propagates from the
    first pair of a rope to its end in one iteration; coloured, it takes many. Removal of a body does not change the
    colours of other pairs. `Contacts` uses this order for its `joints` too.

    Several `Distance` constraints that share a movable body form one system. Its pairs are sorted by their bodies,
    lower index first, independent of declaration order; then "coloured" ones by colour. All use the largest of the
    iterations. A `Distance` that shares no movable body keeps its own order.

    compliance: the inverse of a spring's stiffness in m/N, scalar or (k,); 0 is rigid. With it this is XPBD (Macklin,
    Müller, Chentanez 2016). Its length at rest, once converged, depends neither on iterations nor on dt. Its motion
    does: an oscillation of w rad/s decays at the rate w² dt / 2. At 5 rad/s 0.1 m become 0.012 m in 10 s at 60 Hz,
    0.059 at 240 Hz, 0.088 at 960 Hz. For rigid rods leave it out: a hanging chain of 12 bodies with 8 iterations then
    rests to rounding, but shows velocities of 0.07 m/s and loads 2 % off with a compliance of 0 or 1e-6.

    max_length, min_length: m, scalar or (k,), instead of a fixed length. A rope has a max_length: it only pulls, and
    hangs slack below it. A strut has a min_length: it only pushes. With both the distance is free in between. If length
    is given too, it must be in this range, and has no other effect. The impulse of a rope in a step is never negative,
    that of a strut never positive (projected Gauss-Seidel). A rope that becomes taut stops bodies without rebound. A
    pair within 1/1024 of its limit counts as at it. Shorten a rope by small steps, as a winch does: integrators whose
    velocity lags by half a step, such as `semi_implicit_euler` and `verlet`, take a correction for a velocity. With the
    others, such as `velocity_verlet`, it moves positions alone: neither velocities nor loads have its pull.

    breaks_at: N, above 0, scalar or (k,). A pair whose load passes it, in tension or compression, ends with that step:
    it has no effect from then on. `world.load` returns the loads, `world.whole` which pairs are not broken. With
    `events` each break is a BREAK. Snapshots contain both. numpy.inf never breaks. To mend a pair, `remove` the
    constraint and `add` it again; a joint of `Contacts` then is a constraint beside it.

    Positions are corrected, and velocities follow: v += (x' - x) / h. With integrators whose velocity belongs to the
    end of the step, such as `velocity_verlet`, each pair gets the same impulse in the second half of the step as in the
    first, and the remaining relative velocity along it is removed, in as many iterations (RATTLE: Andersen 1983). A
    body that hangs at rest has velocity zero.

    For connected bodies that also rest on others, put the pairs into `joints` of `Contacts`. As separate constraints
    each undoes a part of the other's corrections, and velocities at rest are not bounded.

    Forces that depend on position and act along a pair change its angular momentum. A free rod of 1 m, with a spring
    of 40 N/m between its ends, has 0.65 of it after a minute under `velocity_verlet` at 60 Hz, 0.993 at 240 Hz.
    `semi_implicit_euler` keeps it to rounding. Do not use `implicit_euler` for rods that forces compress: a spring of
    10 N/m raised the energy of such a rod from 1 to 360 J in 10 s. Under `energy_euler` a pendulum loses its height.

    A rod that falls upright on a separate wall or shape does not rebound, at any restitution. In `joints` of `Contacts`
    it does in part.

    Otherwise a hanging body shows a velocity of up to one step of gravity: with direction="after", and for pairs with
    compliance under `explicit_euler`, `energy_euler`, `verlet` with "central" velocities and `semi_implicit_euler`
    other than "kick_drift". `Damping` ignores this velocity, drag does not. Under `verlet`, drag in a stepper with
    distances uses the velocity of the last step, (x - x_prev) / h. Two bodies at the same position have no direction,
    and are not moved.

    Raises TypeError or ValueError for wrong indices, a body paired with itself, and wrong numbers.

    >>> import kickdrift as kd
    >>> bob = kd.Stepper([[0.0, 0.0], [1.0, 0.0]], dt=0.01, integrator="verlet", forces=[kd.Gravity((0, -9.81))],
    ...                  constraints=[Pin(0), Distance([(0, 1)])])
    >>> bob.step(100)
    >>> round(float(bob.position[1] @ bob.position[1]), 9)
    1.0
    """

    kind = ("distance", "compliant_distance")
    turn = 1

    pairs: ArrayLike
    length: ArrayLike | None = None
    stiffness: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=1.0)
    iterations: int = 8
    compliance: ArrayLike | None = None
    direction: str = "before"
    order: str = "given"
    max_length: ArrayLike | None = None
    min_length: ArrayLike | None = None
    breaks_at: ArrayLike | None = None
    generations: np.ndarray | None = generations()

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.one_of("Distance(direction)", self.direction, ("before", "after"))
        validation.one_of("Distance(order)", self.order, ("given", "coloured"))
        object.__setattr__(self, "pairs", validation.pairs("Distance(pairs)", self.pairs))
        object.__setattr__(self, "iterations", validation.integer("Distance(iterations)", self.iterations, 1, 10**6))
        for name in ("length", "compliance", "max_length", "min_length"):
            if getattr(self, name) is not None:
                array = validation.numbers(f"Distance({name})", getattr(self, name), minimum=0.0)
                object.__setattr__(self, name, array)
        if self.compliance is not None and np.any(np.asarray(self.stiffness) != 1):
            raise ValueError("Distance(compliance): expected stiffness or compliance, got both")
        for low, high in (("min_length", "max_length"), ("min_length", "length"), ("length", "max_length")):
            least, most = getattr(self, low), getattr(self, high)
            if least is not None and most is not None and np.any(self._each(low) > self._each(high)):
                raise ValueError(f"Distance({high}): expected at least {low}, {least}, got {most}")
        if self.breaks_at is not None:
            given = validation.plain("Distance(breaks_at)", self.breaks_at)
            finite = np.where(given == np.inf, 1.0, given) if given.dtype.kind == "f" else given
            finite = validation.numbers("Distance(breaks_at)", finite)
            if not (finite > 0).all():
                raise ValueError(f"Distance(breaks_at): expected loads above 0, got {validation.show(self.breaks_at)}")
            array = validation.in_float64(given)
            array.flags.writeable = False
            object.__setattr__(self, "breaks_at", array)

    @property
    def distances(self) -> tuple[Distance, ...]:
        return (self,)

    @property
    def weighed(self) -> Any:
        return self.pairs

    @property
    def limited(self) -> bool:
        """Whether pairs have length limits instead of a fixed length."""
        return self.max_length is not None or self.min_length is not None

    def changed(self, coefficients: dict[str, Any]) -> Self:
        length = coefficients.get("length")
        if length is None or len(coefficients) > 1 or self.limited:
            other = super().changed(coefficients)
            if "_colours" in vars(self):  # pairs are unchanged
                other.__dict__["_colours"] = self._colours
            return other
        return self._with(length=validation.numbers("Distance(length)", length, minimum=0.0))  # keeps `_colours`

    def placed(self, position: np.ndarray, periodic: Periodic | None = None) -> Self:
        if self.length is not None or self.limited:
            return self
        first, second = validation.within("Distance(pairs)", np.asarray(self.pairs), len(position)).T
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused below
            d = position.astype(np.float64)[second] - position.astype(np.float64)[first]
            if periodic is not None:
                d = periodic.torus(position.shape[1]).nearest(d)
            square = sum((component * component for component in d.T), np.zeros(len(d)))
        return dataclasses.replace(self, length=np.sqrt(square))

    def bound_to(self, slots: Slots) -> Self:
        return self._with(generations=slots.generations("Distance(pairs)", np.asarray(self.pairs)))

    def compile(self, plan: Plan) -> None:
        countable("Distance", plan, 2**28)
        pairs = validation.within("Distance(pairs)", np.asarray(self.pairs), plan.n)
        weight = weights(plan, pairs, self.generations)
        free = self._moved(weight)
        first, second = np.ascontiguousarray(pairs[free].T)
        weight_first, weight_second = np.ascontiguousarray(weight[free].T)
        total = weight_first + weight_second
        fields = {"first": first, "second": second, **self._lengths(plan, free), "pair": free}
        if self.compliance is None:
            stiffness = self._each("stiffness")[free]
            fields["move_first"] = stiffness * (weight_first / total)
            fields["move_second"] = stiffness * (weight_second / total)
            fields["unit"] = stiffness / total
        else:
            splits = self.direction == "before" and plan.integrator.splits_pulls
            fields["move_first"], fields["move_second"] = weight_first, weight_second
            # Placeholders: the plan knows the drag only after all forces are merged.
            fields["drag_first"] = fields["drag_second"] = np.zeros(len(first))
            fields["response"] = np.array(plan.integrator.responses_to_drag)
            # Compliance is doubled where the impulse is split into two halves: only the first half changes positions.
            fields["compliance"] = self._each("compliance")[free] * (2 if splits else 1)
        fields |= generation_fields(None if self.generations is None else self.generations[free])
        kind = self.kind[self.compliance is not None]
        direction = 0
        if self.direction == "before":
            ahead = plan.integrator.velocity_lag < 0.5 if self.compliance is None else plan.integrator.splits_pulls
            direction = 2 if ahead else 1
        plan.add_constraint(
            kind, self, **fields, direction=np.array([direction]), iterations=np.array([self.iterations])
        )
        plan.add_links(first[weight_first > 0], second[weight_second > 0], at_rest=direction < 2)

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        if not set(names) <= {"length", "max_length", "min_length"}:
            return None
        fields = self._lengths(plan, before["pair"])
        return fields if fields.keys() <= before.keys() and ("upper" in fields) == ("upper" in before) else None

    def _lengths(self, plan: Plan, pairs: np.ndarray) -> dict[str, np.ndarray]:
        """Return record fields of pairs: the length, and limits if pairs have limits or may break."""
        if self.limited:
            most = np.broadcast_to(np.finfo(plan.dtype).max, (len(pairs),))
            upper = most if self.max_length is None else self._each("max_length")[pairs]
            lower = 0 * upper if self.min_length is None else self._each("min_length")[pairs]
            length = lower if self.max_length is None else upper
        else:
            lower = upper = length = self._each("length")[pairs]
        if not self.limited and self.breaks_at is None:
            return {"length": length}
        limit = np.full(len(pairs), ABSENT["limit"]) if self.breaks_at is None else self._each("breaks_at")[pairs]
        limit = np.where(np.isfinite(limit), limit, NEVER_BREAKS)
        return {"length": length, "lower": lower, "upper": upper, "limit": limit}

    def rods(self, plan: Plan) -> dict[str, np.ndarray]:
        """Return record fields of movable pairs, for `Contacts`."""
        pairs = validation.within("Distance(pairs)", np.asarray(self.pairs), plan.n)
        free = self._moved(weights(plan, pairs, self.generations))
        compliance = np.zeros(len(pairs)) if self.compliance is None else self._each("compliance")
        generations = np.ones((len(pairs), 2), np.int64) if self.generations is None else self.generations
        first, second = pairs[free].T
        rods = {"first": first, "second": second, "compliance": compliance[free], "generations": generations[free]}
        return rods | {"pair": free} | self._lengths(plan, free)

    def _moved(self, weight: np.ndarray) -> np.ndarray:
        """Return the indices of movable pairs, in the order of solution."""
        moved = np.flatnonzero(weight.sum(axis=1) > 0)
        return moved if self.order == "given" else moved[np.argsort(self._colours[moved], kind="stable")]

    @once
    def _colours(self) -> np.ndarray:
        return colours(np.asarray(self.pairs))

    def _each(self, name: str) -> np.ndarray:
        """Broadcast a coefficient to one value per pair."""
        array, count = np.asarray(getattr(self, name)), len(np.asarray(self.pairs))
        if array.ndim and array.shape != (count,):
            raise ValueError(
                f"Distance({name}): expected a scalar or shape ({count},), one value per pair, got shape {array.shape}"
            )
        return array if array.ndim else np.full(count, array)


def colours(pairs: np.ndarray) -> np.ndarray:
    """Return a greedy edge colouring: each pair gets the lowest colour free at both of its bodies."""
    taken = [0] * (int(pairs.max(initial=-1)) + 1)  # colours in use at each body, as bits
    found = []
    for first, second in zip(*pairs.T.tolist(), strict=True):
        ones, others = taken[first], taken[second]
        both = ones | others
        colour = ~both & (both + 1)  # the lowest clear bit
        taken[first], taken[second] = ones | colour, others | colour
        found.append(colour.bit_length() - 1)
    return np.array(found, np.int64)
