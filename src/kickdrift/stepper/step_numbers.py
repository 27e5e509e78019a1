"""Constants of a plan that depend on dt, in the dtype of the state. Plans have these functions as methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import exact_math
from ..integrators.compositions import Composition

if TYPE_CHECKING:
    from .model import Plan


def still_true(plan: Plan, previous: Plan | None) -> dict[tuple[str, float], np.ndarray]:
    """Return the cached results of `_remember` that remain valid: they are slow to compute and rarely change."""
    if previous is None or not previous._remembered:
        return {}
    changed = {
        name: any(
            plan._columns[symbol] is not previous._columns[symbol]
            and not np.array_equal(plan._columns[symbol].total, previous._columns[symbol].total)
            for symbol in symbols
        )
        for name, symbols in (
            ("decay", ("rate",)),
            ("spin_decay", ("spin",)),
            ("turn", ("omega",)),
            ("flow", ("c", "k")),
        )
    }
    return {key: found for key, found in previous._remembered.items() if not changed[key[0]]}


def _remember(plan: Plan, name: str, dt: float, compute: Callable[[], np.ndarray]) -> np.ndarray:
    if (name, dt) not in plan._remembered:
        found = plan._round({"decay": "rate", "spin_decay": "spin", "turn": "omega"}.get(name, name), compute())
        plan._remembered = {key: old for key, old in plan._remembered.items() if key[0] != name}
        plan._remembered[name, dt] = found
    return plan._remembered[name, dt]


def decay(plan: Plan, dt: float) -> np.ndarray:
    """Return exp(-rate dt), the factor of `Damping` on velocities."""
    return _remember(plan, "decay", dt, lambda: exact_math.decays(plan.rate, dt))


def spin_decay(plan: Plan, dt: float) -> np.ndarray:
    """Return exp(-rate dt), the factor of `Damping(angular=)` on angular velocities."""
    return _remember(plan, "spin_decay", dt, lambda: exact_math.decays(plan.spin, dt))


def turn(plan: Plan, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (t, s) of the rotation over dt/2: v' = v + v x t, v + s v' x t (Boris 1970), t of shape (1|n, 3)."""
    t = _remember(plan, "turn", dt, lambda: exact_math.half_tangents(plan.omega, dt / 2))
    squares = t.astype(np.float64) * t
    return t, plan._round("omega", 2 / (1 + (squares[:, 0] + squares[:, 1] + squares[:, 2])))


def flow(plan: Plan, dt: float) -> np.ndarray:
    """Return (C, S, P, Q) of the exact flow, each with one row or n rows."""
    return _remember(plan, "flow", dt, lambda: exact_math.oscillator_flows(plan._c, plan._k, dt))


def check_direction(plan: Plan, dt: float) -> None:
    """Reject negative dt where steps are not reversible: constraints dissipate energy, noise is irreversible."""
    if dt < 0:
        for record in plan.constraint_records:
            if record.kind == "periodic":
                continue
            name = type(record.constraint).__name__
            raise ValueError(f"dt: expected a positive number where there are constraints ({name}), got {dt}")
        if any(interaction.kind == "langevin" for interaction in plan.interactions):
            raise ValueError(f"dt: expected a positive number under Langevin, got {dt}")


def composition(plan: Plan, dt: float) -> tuple[list[Any], list[Any]]:
    """Return the drifts and kicks of a composition in seconds."""
    assert isinstance(plan.integrator, Composition)
    real = plan.dtype.type
    drifts, kicks = exact_math.scaled(plan.integrator.coefficients, dt)
    return [real(c) for c in drifts], [real(d) for d in kicks]


def evaluation_times(plan: Plan, dt: float) -> list[float]:
    """Return the times of force evaluations in seconds after the start of a step, for time-dependent functions."""
    real = plan.dtype.type
    if isinstance(plan.integrator, Composition):
        drifts, kicks = plan.composition(dt)
        times, after = [], real(0)
        for c, _ in zip(drifts, kicks, strict=False):
            after = after + c
            times += [float(after)] * (int(plan.integrator.order) if plan.velocity_dependent else 1)
        return times
    shares = plan.integrator.evaluation_shares[plan.velocity_dependent]
    return [float(real(dt) * real(share)) for share in shares]
