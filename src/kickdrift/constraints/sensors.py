"""Sensor regions, which record events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import validation
from ..declaration import NO_MASS, declaration, filter_field, place
from .base import ALL_BITS, Filtered

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan


@declaration()
class Sensor(Filtered):
    """A region that records an event for each body that enters or leaves. It changes no motion.

    lower, upper: the corners of a box in m, vectors of shape (dim,) or numbers for all components.
    center, radius: a ball instead, a vector and a number >= 0 in m. Both forms may be given by position: Sensor(lower,
    upper), Sensor(center, radius). A vector and a number are a ball also if they are named lower and upper.
    category, mask: bits, a number or (n,): only bodies whose category is in the mask are recorded.

    A body counts as a point, and its displacement in a step as straight; even the fastest body is detected. The events
    have the kinds `ENTER` and `LEAVE`, with b = -1. The stepper needs `events=`; without it a sensor does nothing. A
    body that is inside when the first step begins enters at that time.

    Raises TypeError or ValueError for anything that is not a region.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0]], [[8.0]], dt=1, constraints=[kd.Sensor(lower=2, upper=4)], events=kd.Events())
    >>> world.step()
    >>> world.events.take()[["kind", "time"]].tolist() == [(kd.ENTER, 0.25), (kd.LEAVE, 0.5)]
    True
    """

    kind = "sensor"
    turn = 4
    independent = Filtered.independent - {"sensor"}  # no coefficient of a region
    weighed = NO_MASS

    lower: ArrayLike | None = place(default=None)
    upper: ArrayLike | None = place(default=None)
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    center: ArrayLike | None = place(default=None)
    radius: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        lower, upper = self.lower, self.upper
        numbers = self.center is self.radius is None and lower is not None and upper is not None
        dims = [validation.plain(f"Sensor({name})", getattr(self, name)).ndim for name in ("lower", "upper")]
        if numbers and dims == [1, 0]:
            # A vector and a number, given by position, are center and radius.
            for name, value in (("center", lower), ("radius", upper), ("lower", None), ("upper", None)):
                object.__setattr__(self, name, value)
        given = {name: getattr(self, name) for name in ("lower", "upper", "center", "radius")}
        names = tuple(name for name, value in given.items() if value is not None)
        if names not in (("lower", "upper"), ("center", "radius")):
            raise TypeError(
                f"Sensor: expected lower and upper, or center and radius, got {', '.join(names) or 'neither'}"
            )
        for name in names:
            array = validation.numbers(f"Sensor({name})", given[name], 0.0 if name == "radius" else -np.inf)
            if array.ndim > (0 if name == "radius" else 1):
                expected = "a number" if name == "radius" else "a number or a vector of shape (dim,)"
                raise ValueError(f"Sensor({name}): expected {expected}, got shape {array.shape}")
            object.__setattr__(self, name, array)
        if self.radius is not None:
            return
        shapes = np.shape(self.lower), np.shape(self.upper)  # type: ignore[arg-type]
        if () not in shapes and shapes[0] != shapes[1]:
            raise ValueError(
                f"Sensor(lower, upper): expected numbers or vectors of one shape (dim,), "
                f"got shapes {shapes[0]} and {shapes[1]}"
            )
        if (np.asarray(self.lower) > np.asarray(self.upper)).any():
            raise ValueError(
                f"Sensor(lower, upper): expected lower <= upper, got {given['lower']} and {given['upper']}"
            )

    def sides(self, plan: Plan) -> int:
        return 1

    def changed(self, coefficients: dict[str, Any]) -> Self:
        given = {name: coefficients.get(name, getattr(self, name)) for name in ("lower", "upper", "radius")}
        dims = [validation.plain(f"Sensor({name})", given[name]).ndim for name in ("lower", "upper")]
        if given["radius"] is None and dims == [1, 0]:
            # Broadcast: the constructor would interpret a vector and a number as a ball.
            coefficients = {**coefficients, "upper": np.broadcast_to(given["upper"], np.shape(given["lower"]))}
        return super().changed(coefficients)

    def compile(self, plan: Plan) -> None:
        ball = self.lower is None
        places: dict[str, Any] = {}
        for field, name in (("lower", "center" if ball else "lower"), ("upper", "radius" if ball else "upper")):
            array = np.asarray(getattr(self, name))
            if array.shape not in ((), (plan.dim,)):
                raise ValueError(f"Sensor({name}): expected a number or shape ({plan.dim},), got shape {array.shape}")
            places[field] = np.broadcast_to(array, (1, plan.dim))
        watched = self._selected(plan).astype(np.uint8)
        plan.add_constraint(self.kind, self, **places, ball=np.array([ball], np.uint8), watched=watched)
