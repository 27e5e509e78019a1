"""Rotation of discs and spheres: angular velocities, angles or orientations, and moments of inertia."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels, validation
from ..errors import SnapshotError
from ..rollback.parts import Part
from .energies import total
from .interpolation import canvas_of
from .slots import ROW, spawns

if TYPE_CHECKING:
    from .base import StepperBase
    from .model import Plan

#: Inertia / (m r^2) of a solid disc (2-D) and of a solid sphere (3-D).
SHARES = {2: 1 / 2, 3: 2 / 5}
#: Tolerance for the length of a given orientation. Each step normalizes orientations.
UNIT = 1e-4


class Spin:
    """Work memory of kernels in a step: angular velocities by plane (structure of arrays), and 1/I, of n bodies."""

    def __init__(self, n: int, dim: int, dtype: np.dtype) -> None:
        rows = -(-max(n, 1) // ROW) * ROW + 64  # padding: vector access may exceed n
        self.planes = kernels.aligned_zeros((1 if dim == 2 else 3, rows), dtype)
        self.inverse_inertia = kernels.aligned_zeros((1, rows), dtype)[0]


class Rotation:
    """The arrays of a world with rotating bodies.

    given: angular velocity, and angle or orientation, in the user's shapes. `velocity` and `turned` are views of these
    two arrays with two axes: (n, 1) and (n, 1) in 2-D, (n, 3) and (n, 4) in 3-D.
    """

    def __init__(self, given: tuple[np.ndarray, np.ndarray], dim: int, declared: np.ndarray | None, spin: Any) -> None:
        self.given = given
        self.velocity, self.turned = (validation.as_rows(array.view()) for array in given)
        self.dim = dim
        self.declared = declared  #: inertia given by the user, (1,) or (n,); None: inertia of solid bodies
        self.spin = Spin(len(given[0]), dim, given[0].dtype) if spin is None else spin

    @property
    def name(self) -> str:
        """Name of the array `turned`: "angle" in 2-D, "orientation" in 3-D."""
        return "angle" if self.dim == 2 else "orientation"

    def inertia_of(self, plan: Plan) -> np.ndarray:
        """Return the inertia of each body in kg m2, float64 of shape (n,)."""
        if self.declared is not None:
            return np.broadcast_to(self.declared, (plan.n,))  # a read-only view
        radius = radii(plan)
        if plan.n and not radius.any():
            raise ValueError("inertia: expected inertia=, or a constraint with a radius (for a solid disc or sphere)")
        with np.errstate(over="ignore", under="ignore"):
            inertia = np.broadcast_to(SHARES[self.dim] * plan.mass * (radius * radius), (plan.n,))
        bad = ~(inertia > 0) | (np.isinf(inertia) & np.isfinite(plan.mass))
        if bad.any():
            body = int(np.argmax(bad))
            raise ValueError(
                f"inertia: expected inertia= for this stepper, as that of a solid body is {inertia[body]} kg m2 for a "
                f"mass of {float(np.broadcast_to(plan.mass, plan.n)[body])} kg and a radius of {radius[body]} m (body "
                f"{body})"
            )
        return inertia

    @property
    def fingerprint(self) -> str:
        """Identify the declared inertia in snapshots: a snapshot fits only a stepper with equal inertia."""
        if self.declared is None:
            return "solid"
        from hashlib import blake2b  # imported late: it loads OpenSSL, which is slow

        return blake2b(self.declared.astype("<f8").tobytes(), digest_size=16).hexdigest()

    def arguments(self) -> dict[str, Any]:
        """Return constructor arguments for a copy: new arrays of equal layout, to be filled from a snapshot."""
        w, turned = (np.zeros_like(array) for array in self.given)
        if self.dim == 3:
            turned[:, 0] = 1
        declared = self.declared
        inertia = float(declared[0]) if declared is not None and len(declared) == 1 else declared
        return {"angular_velocity": w, self.name: turned, "inertia": inertia}

    def energy(self, plan: Plan) -> float:
        """Return the kinetic energy of the rotation in J, in float64; rows of inactive bodies are zero."""
        inertia = np.where(np.isinf(plan.mass), 0.0, self.inertia_of(plan))
        inertia = np.where(np.isinf(inertia), 0.0, inertia)
        with np.errstate(over="ignore", invalid="ignore"):
            return total(inertia * (self.velocity.astype(np.float64) ** 2).sum(axis=1) / 2)

    def inverse_of(self, plan: Plan) -> np.ndarray:
        """Return 1/I of each body in the dtype of the state; 0 for infinite mass or inertia."""
        with np.errstate(over="ignore", under="ignore"):
            inverse = np.where(np.isinf(plan.mass), 0.0, 1 / self.inertia_of(plan)).astype(plan.dtype)
        if not np.isfinite(inverse).all():
            body = int(np.argmin(np.isfinite(inverse)))
            raise ValueError(
                f"inertia: expected numbers whose reciprocal is finite in {plan.dtype}, got less for body {body}"
            )
        return inverse


def radii(plan: Plan) -> np.ndarray:
    """Return the radius of each body in m, float64, from the constraint of lowest `radius_rank` that has one, or 0."""
    radius = np.zeros(plan.n)
    # Disabled constraints count: a body keeps its size.
    constraints: tuple[Any, ...] = (*plan.constraints, *plan.disabled)
    sized = [each for each in constraints if each.radius_rank]
    for constraint in sorted(sized, key=lambda each: each.radius_rank):
        if not radius.all():
            own = np.broadcast_to(np.asarray(constraint.radius, np.float64), (plan.n,))
            radius = np.where(radius > 0, radius, own)
    return radius


def rotation_of(
    position: np.ndarray,
    velocity: np.ndarray,
    angular_velocity: Any,
    angle: Any = None,
    orientation: Any = None,
    inertia: Any = None,
    alive: np.ndarray | None = None,
    spin: Spin | None = None,
) -> Rotation | None:
    """Create the Rotation from the arguments of a stepper; return None if none of them is given."""
    n, dim = position.shape
    if angular_velocity is None:
        if angle is None and orientation is None and inertia is None:
            return None
        for name, value in (("angle", angle), ("orientation", orientation), ("inertia", inertia)):
            if value is not None:
                raise ValueError(f"{name}: expected angular_velocity too (0.0 makes an array)")
    if dim == 1:
        raise ValueError("angular_velocity: expected bodies in two or three dimensions, got dim 1")
    name, turned, other, unused = "angle", angle, "orientation", orientation
    if dim == 3:
        name, turned, other, unused = other, unused, name, turned
    if unused is not None:
        raise ValueError(f"{other}: expected {name} in {dim} dimensions, got {validation.show(unused)}")
    if turned is None:
        turned = 0.0 if dim == 2 else (1.0, 0.0, 0.0, 0.0)
    shapes = ((n,), (n,)) if dim == 2 else ((n, 3), (n, 4))
    w = validation.array_of_bodies("angular_velocity", angular_velocity, shapes[0], position.dtype, alive)
    a = validation.array_of_bodies(name, turned, shapes[1], position.dtype, alive)
    if dim == 3:
        check_unit(a, alive)
    arrays = {"position": position, "velocity": velocity, "angular_velocity": w, name: a}
    for mine in ("angular_velocity", name):
        for others, array in arrays.items():
            if others != mine and np.shares_memory(array, arrays[mine]):
                raise ValueError(f"{mine}: shares memory with {others}, expected an array of its own")
    declared = None if inertia is None else validation.masses(inertia, n, "inertia")
    return Rotation((w, a), dim, declared, spin)


def check_unit(orientation: np.ndarray, alive: np.ndarray | None = None) -> None:
    """Raise ValueError if a quaternion is not of length 1."""
    with np.errstate(over="ignore"):
        length = np.sqrt((orientation.astype(np.float64) ** 2).sum(axis=-1))
    bad = ~(abs(length - 1) <= UNIT)
    if alive is not None:
        bad &= alive
    if bad.any():
        body = int(np.argmax(bad))
        raise ValueError(
            f"orientation: expected unit quaternions, of length 1 within {UNIT:g}, got {orientation[body]} of length "
            f"{length[body]:.6g} for body {body}"
        )


class RotationPart(Part):
    """Snapshot section "rotation": angular velocities, then angles or orientations, row by row."""

    name = "rotation"

    def _arrays(self, stepper: Any) -> tuple[np.ndarray, np.ndarray]:
        return stepper._rotation.velocity, stepper._rotation.turned

    def save(self, stepper: Any) -> bytes:
        return b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in self._arrays(stepper))

    def most(self, stepper: Any) -> int:
        return sum(array.nbytes for array in self._arrays(stepper))

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        if len(data) != self.most(stepper):
            raise SnapshotError(f"snapshot: expected a rotation of {self.most(stepper)} bytes, got {len(data)}")
        writes, place = [], 0
        for array in self._arrays(stepper):
            values = np.frombuffer(data, array.dtype.newbyteorder("<"), array.size, place).astype(array.dtype)
            writes.append((array, None, values.reshape(array.shape)))
            place += array.nbytes
        return {"writes": writes}

    def check(self, stepper: Any, saved: Any) -> None:
        """Check that inactive rows are zero."""
        alive = saved.changes["slots"][0] if "slots" in saved.changes else None
        if alive is None and stepper._slots is not None:
            alive = stepper._slots.alive
        mine = self._arrays(stepper)
        for array, _, values in saved.changes["writes"]:
            if alive is not None and any(array is own for own in mine) and values[~alive].tobytes().strip(b"\0"):
                raise SnapshotError("snapshot: the rows of inactive bodies are not zeros")


# Properties and methods of steppers.


def angular_velocity(self: StepperBase) -> np.ndarray | None:
    """Angular velocities in rad/s, (n,) or (n, 3): the caller's own array if one was given. None without rotation."""
    return None if self._rotation is None else self._rotation.given[0]


def angle(self: StepperBase) -> np.ndarray | None:
    """Angles in rad, (n,), of bodies that rotate in the plane, not reduced to one turn. Else None."""
    return self._rotation.given[1] if self._rotation is not None and self.dim == 2 else None


def orientation(self: StepperBase) -> np.ndarray | None:
    """Unit quaternions w, x, y, z, (n, 4), from body to world, of bodies that rotate in space. Else None."""
    return self._rotation.given[1] if self._rotation is not None and self.dim == 3 else None


def keep(getter: Callable[[StepperBase], np.ndarray | None]) -> Callable[[StepperBase, np.ndarray | None], None]:
    """Return a property setter that accepts only the array itself, for in-place operators such as `+=`."""

    def set_array(self: StepperBase, value: np.ndarray | None) -> None:
        validation.in_place(getter.__name__, value, getter(self))

    return set_array


def inertia(self: StepperBase) -> np.ndarray | None:
    """Moments of inertia in kg m2, a read-only float64 array of shape (n,). None without rotation."""
    return None if self._rotation is None else self._rotation.inertia_of(self._plan)


def turning_arrays(self: StepperBase) -> dict[str, np.ndarray]:
    """Return the arrays of the rotation by name; empty without rotation."""
    rotation = self._rotation
    return {} if rotation is None else dict(zip(("angular_velocity", rotation.name), rotation.given, strict=True))


def inverse_inertia_of(self: StepperBase, plan: Plan) -> np.ndarray | None:
    """Return 1/I of each body for a plan; None without rotation. Raise ValueError for torques without rotation."""
    if self._rotation is not None:
        return self._rotation.inverse_of(plan)
    if plan.torques:
        raise ValueError("AppliedTorque: expected a stepper with angular_velocity (0.0 makes an array)")
    return None


def turning_of(
    self: StepperBase, k: int, angular_velocity: Any = None, angle: Any = None, orientation: Any = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rotation rows of k spawned bodies; default: at rest, with angle 0 or the identity orientation."""
    if self._rotation is not None and angular_velocity is None:
        angular_velocity = 0.0
    nothing = np.zeros((k, self.dim), self.dtype)
    if self._rotation is None:
        for name, value in (("angular_velocity", angular_velocity), ("angle", angle), ("orientation", orientation)):
            if value is not None:
                raise ValueError(f"{name}: expected a stepper with angular_velocity (0.0 makes an array)")
        return None
    given = {"angular_velocity": angular_velocity, "angle": angle, "orientation": orientation}
    # The values are copied: they may be read-only and of any dtype.
    own: dict[str, Any] = {
        name: None if value is None else validation.numbers(name, value).astype(self.dtype)
        for name, value in given.items()
    }
    new = rotation_of(nothing, nothing.copy(), **own)
    assert new is not None
    return new.velocity, new.turned


def write_turning(self: StepperBase, rows: np.ndarray, values: tuple[np.ndarray, np.ndarray] | None) -> None:
    """Write angular velocities and angles or orientations of spawned bodies into their rows."""
    if values is not None:
        assert self._rotation is not None
        self._rotation.velocity[rows], self._rotation.turned[rows] = values


def rebound(self: StepperBase, given: tuple[np.ndarray, np.ndarray], turning: dict[str, Any]) -> Rotation | None:
    """Return the Rotation for rebound positions and velocities; omitted rotation arrays are kept."""
    old, n = self._rotation, len(given[0])
    if old is None:
        for name, value in turning.items():
            if value is not None:
                raise ValueError(f"{name}: expected a stepper that was made with angular_velocity")
        return None
    if old.declared is not None and len(old.declared) not in (1, n):
        raise ValueError(
            f"position: expected {len(old.declared)} bodies, as many as there are moments of inertia, got {n}"
        )
    alive = None
    if self._slots is not None and spawns(self):
        alive = np.concatenate([self._slots.alive, np.zeros(n - self.n, np.bool_)])
    turning = {name: self._turning_arrays().get(name) if value is None else value for name, value in turning.items()}
    new = rotation_of(*given, **turning, alive=alive, spin=old.spin if n == self.n else None)
    assert new is not None
    return Rotation(new.given, old.dim, old.declared, new.spin)


def interpolate_angles(
    self: StepperBase, alpha: float | None = None, out: Any = None, living: bool = False
) -> np.ndarray:
    """Return angles or orientations for drawing, between the states before and after the last step of the frame.

    Shape (n,) in rad, or (n, 4): unit quaternions. They match the positions that `interpolate` returns. Angles are
    interpolated linearly, not modulo full turns. Orientations are interpolated linearly to q or -q, whichever is
    nearer, then normalized. alpha, out, living: as for `interpolate`.

    Raises ValueError without rotation, TypeError or ValueError for a wrong argument. Thread-safety: as `step`.

    >>> import kickdrift as kd
    >>> coin = kd.Stepper([[0.0, 0.0]], dt=1/60, angular_velocity=6.0, inertia=1.0)
    >>> steps = coin.advance(0.025)
    >>> coin.interpolate_angles().round(4).tolist()
    [0.05]
    """
    return self._exclusively(_drawn, self, alpha, out, validation.flag("living", living))


def _drawn(self: StepperBase, alpha: Any, out: Any, living: Any) -> Any:
    rotation = self._rotation
    if rotation is None:
        raise ValueError("interpolate_angles: expected a stepper with angular_velocity (0.0 makes an array)")
    share = self.dtype.type(self.alpha if alpha is None else validation.real("alpha", alpha))
    alive = None if self._slots is None else self._slots.alive
    rows = np.flatnonzero(alive) if alive is not None and living else slice(None)
    now = rotation.turned[rows]
    before = now if self._previous is None else self._previous[2][rows]
    if self._slots is not None:  # bodies spawned after the last step have no previous orientation
        before = np.where(self._slots.needs_start[: self.n][rows, None] != 0, now, before)
    with np.errstate(all="ignore"):
        if rotation.dim == 3:
            behind = (before * now).sum(axis=1, keepdims=True) < 0
            drawn = before + share * (np.where(behind, -now, now) - before)
            drawn = drawn / np.sqrt((drawn * drawn).sum(axis=1, keepdims=True))
        else:
            drawn = before + share * (now - before)
    if alive is not None:
        drawn[~alive[rows]] = np.nan
    shape = (len(drawn), *rotation.given[1].shape[1:])
    if out is None:
        return drawn.reshape(shape)
    canvas_of(out, self, shape)[...] = drawn.reshape(shape)
    return out
