"""What a stepper does, as numbers: the one description that the reference and the kernels both run.

A `Plan` is made once, when a stepper is built: terms are checked against the bodies, forces are
divided by masses, the affine terms are merged into one acceleration per component,

    a = g - c (v - w) - k (x - p),

and all coefficients are rounded to the dtype of the state. Accelerations are summed in one order: the
affine part, the records, the pushes, each in the order given. After each step the holds follow, in
theirs. An array of a plan has one row for all bodies or one row per body, where nothing else is said.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import exact_math
from ..constraints.base import Constraint
from ..declaration import declared
from ..forces.base import Term
from ..integrators import Composition, EnergyEuler, Exact, Integrator, Verlet


@dataclass(frozen=True)
class Record:
    """A term that is evaluated after the affine part: its kind and its coefficients by symbol."""

    kind: str
    velocity_dependent: bool  #: as its term declares
    fields: dict[str, np.ndarray]


@dataclass(frozen=True)
class Push:
    """A term that writes what it does to many bodies into zeros, which are added then.

    That is a function of the user, or a term by which bodies see each other.
    """

    kind: str
    term: Any
    factor: np.ndarray  #: what its numbers are multiplied with: 1/m, or 1 where it is an acceleration
    fields: dict[str, np.ndarray]


@dataclass(frozen=True)
class Hold:
    """A constraint: its kind and its coefficients."""

    kind: str
    constraint: Any
    fields: dict[str, np.ndarray]


class Plan:
    """The compiled form of integrator, forces, constraints and masses for n bodies in dim dimensions."""

    def __init__(
        self,
        n: int,
        dim: int,
        dtype: np.dtype,
        mass: np.ndarray,
        integrator: Integrator,
        forces: Iterable[Term],
        constraints: Iterable[Constraint] = (),
    ) -> None:
        self.n, self.dim, self.dtype = n, dim, dtype
        self.mass = mass
        self.uniform_mass = len(mass) == 1
        self.integrator = integrator
        #: 1/m; zero for infinitely heavy bodies, which no force moves.
        self.inverse_mass = 1 / mass
        #: 1, or 0 for infinitely heavy bodies: what gravities are multiplied with.
        self.mobility = np.where(np.isinf(mass), 0.0, 1.0)
        #: m, or 0 for infinitely heavy bodies: they take no part in the energy.
        self.finite_mass = np.where(np.isinf(mass), 0.0, mass)

        self.g, self.w, self.p = (np.zeros((1, dim)) for _ in range(3))
        self.c, self.k, self.rate = (np.zeros(1) for _ in range(3))
        self.records: list[Record] = []
        self.pushes: list[Push] = []
        self.holds: list[Hold] = []
        #: Of each body, where links hold any: see `add_links`.
        self.at_rest: np.ndarray | None = None
        self.forces = declared("forces", "terms", Term, forces)
        self.constraints = declared("constraints", "constraints", Constraint, constraints)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
            for declaration in (*self.forces, *self.constraints):
                declaration.compile(self)
        # Other constraints lean on what is pinned.
        self.holds.sort(key=lambda hold: hold.kind != "pin")
        _check_finite("rate", self.rate, np.dtype(np.float64))

        self.drag = bool(self.c.any())
        self.wind = bool(self.w.any())
        self.spring = bool(self.k.any())
        self.damped = bool(self.rate.any())
        self.velocity_dependent = (
            self.drag
            or any(record.velocity_dependent for record in self.records)
            or any(push.term.velocity_dependent for push in self.pushes)
        )
        # What hangs on links has the velocity of its last step: half a step of gravity more would be felt as wind.
        backward = isinstance(self.integrator, Verlet) and self.integrator.velocity == "backward"
        if backward and self.at_rest is not None:
            self.velocity_dependent = False
        self._check_integrator()
        # Merged in float64, stepped in the dtype of the state; Exact needs c and k before rounding.
        self._c, self._k = self.c, self.k
        for name in ("g", "c", "w", "k", "p"):
            setattr(self, name, self._round(name, getattr(self, name)))
        self.records = [dataclasses.replace(record, fields=self._rounded(record.fields)) for record in self.records]
        self.pushes = [
            dataclasses.replace(push, factor=self._round("1/mass", push.factor), fields=self._rounded(push.fields))
            for push in self.pushes
        ]
        self.holds = [dataclasses.replace(hold, fields=self._rounded(hold.fields)) for hold in self.holds]

    # How terms add themselves. All arrays are float64 here, with one row or n rows.

    def add_gravity(self, g: np.ndarray) -> None:
        self.g = self.g + g * self.mobility[:, None]

    def add_drag(self, c: np.ndarray, w: np.ndarray) -> None:
        """-c (v - w): of several drags the coefficients add up and the wind is their weighted mean."""
        self.c, self.w = _weighted(self.c, self.w, c, w)

    def add_spring(self, k: np.ndarray, p: np.ndarray) -> None:
        """-k (x - p): of several springs the stiffnesses add up and the anchor is their weighted mean."""
        self.k, self.p = _weighted(self.k, self.p, k, p)

    def add_damping(self, rate: np.ndarray) -> None:
        self.rate = self.rate + rate

    def add_record(self, kind: str, term: Term, **fields: np.ndarray) -> None:
        self.records.append(Record(kind, term.velocity_dependent, fields))

    def add_push(self, kind: str, term: Term, divided_by_mass: bool, **fields: np.ndarray) -> None:
        self.pushes.append(Push(kind, term, self.inverse_mass if divided_by_mass else self.mobility, fields))

    def add_hold(self, kind: str, constraint: Constraint, **fields: np.ndarray) -> None:
        self.holds.append(Hold(kind, constraint, fields))

    def source(self, hold: Hold) -> int:
        """The number of the constraint that a hold is of."""
        return next(i for i, constraint in enumerate(self.constraints) if constraint is hold.constraint)

    def add_links(self, *bodies: np.ndarray) -> None:
        """Bodies that links hold up: at rest they read this share of what forces add to their velocity in a step."""
        if self.at_rest is None:
            self.at_rest = np.zeros(self.n, self.dtype)
        for ends in bodies:
            self.at_rest[ends] = 0.5 - self.integrator.velocity_lag

    # Numbers that depend on dt, in the dtype of the state.

    @cached_property
    def weight(self) -> np.ndarray:
        """The share of each mass in the largest one: what scalar products over all bodies are weighted with."""
        return self._round("mass", self.finite_mass / (self.finite_mass.max(initial=0) or 1))

    def decay(self, dt: float) -> np.ndarray:
        """exp(-rate dt): what `Damping` leaves of a velocity."""
        return self._round("rate", exact_math.decays(self.rate, dt))

    def flow(self, dt: float) -> np.ndarray:
        """(C, S, P, Q) of the exact flow, each with one row or n rows."""
        return self._round("flow", exact_math.oscillator_flows(self._c, self._k, dt))

    def composition(self, dt: float) -> tuple[list[Any], list[Any]]:
        """The drifts and the kicks of a composition in seconds."""
        assert isinstance(self.integrator, Composition)
        real = self.dtype.type
        drifts, kicks = exact_math.scaled(self.integrator.coefficients, dt)
        return [real(c) for c in drifts], [real(d) for d in kicks]

    def evaluation_times(self, dt: float) -> list[float]:
        """When a step evaluates the forces, in seconds after its beginning; functions are told."""
        real = self.dtype.type
        if isinstance(self.integrator, Composition):
            drifts, kicks = self.composition(dt)
            times, after = [], real(0)
            for c, _ in zip(drifts, kicks, strict=False):
                after = after + c
                times += [float(after)] * (int(self.integrator.order) if self.velocity_dependent else 1)
            return times
        shares = self.integrator.evaluation_shares[self.velocity_dependent]
        return [float(real(dt) * real(share)) for share in shares]

    def energy(self, position: np.ndarray, velocity: np.ndarray) -> tuple[float, float]:
        """(kinetic, potential) energy in J, of float64 copies, summed without rounding errors."""
        position, velocity = position.astype(np.float64), velocity.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            kinetic = self.finite_mass * (velocity * velocity).sum(axis=1) / 2
            potential = [term.potential_energy(self, position) + np.zeros(self.n) for term in self.forces]
            return _total(kinetic), _total(np.concatenate(potential) if potential else np.zeros(0))

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that steps are computed from but the state and dt."""
        import hashlib  # takes as long to import as half of this package, and few programs save

        digest = hashlib.blake2b(f"{self.n} {self.dim} {self.dtype} {self.integrator}".encode(), digest_size=16)
        affine = [self.mass, self.g, self.c, self.w, self.k, self.p, self.rate]
        described: list[Record | Push | Hold] = [*self.records, *self.pushes, *self.holds]
        records = [(record.kind, list(record.fields.values())) for record in described]
        for name, arrays in [("affine", affine), *records]:
            digest.update(name.encode())
            for array in arrays:
                digest.update(f"{array.shape}".encode())
                digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        for push in self.pushes:
            digest.update(f"{push.term.label} {push.term.velocity_dependent}".encode())
        return digest.hexdigest()

    def _rounded(self, fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Real coefficients in the dtype of the state; indices stay what they are."""
        return {name: self._round(name, field) if field.dtype.kind == "f" else field for name, field in fields.items()}

    def _round(self, name: str, array: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            array = np.ascontiguousarray(array.astype(self.dtype))
        _check_finite(name, array, self.dtype)
        array.flags.writeable = False
        return array

    def _check_integrator(self) -> None:
        name = self.integrator.name
        if isinstance(self.integrator, Exact):
            for term in self.forces:
                if not term.affine:
                    raise ValueError(
                        f"integrator: {name} takes Gravity, LinearDrag and AnchorSpring, got {type(term).__name__}"
                    )
        if isinstance(self.integrator, EnergyEuler):
            for term in self.forces:
                if not term.conservative or any(push.term is term for push in self.pushes):
                    raise ValueError(
                        f"integrator: {name} takes terms of single bodies with a potential and no friction, "
                        f"got {type(term).__name__}"
                    )


def _total(energies: np.ndarray) -> float:
    try:
        return math.fsum(energies)
    except (OverflowError, ValueError):  # beyond a float, or infinities of both signs
        return float(energies.sum())


def _check_finite(name: str, array: np.ndarray, dtype: np.dtype) -> None:
    if not np.isfinite(array).all():
        raise ValueError(f"forces: the merged coefficient {name} overflows {dtype}")


def _weighted(
    total: np.ndarray, mean: np.ndarray, weight: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add a weight and its value to a running total and weighted mean."""
    total = total + weight
    # In this form equal values stay what they are and a single one is taken over unrounded.
    share = np.divide(weight + np.zeros_like(total), total, out=np.zeros_like(total), where=total > 0)
    return total, mean + share[:, None] * (value - mean)
