"""The errors, one class for each kind.

Every class derives from `KickdriftError` and from the closest built-in, so that
handlers for the built-in exceptions catch them too.
"""


class KickdriftError(Exception):
    """Base of all errors that kickdrift defines."""


class NonFiniteError(KickdriftError, FloatingPointError):
    """A state has infinite or NaN components.

    `body` is the first such body (of an ODEStepper: trajectory). It was finite at `first_tick` and is not at
    the next tick, `last_tick`. The stepper stays at `last_tick`.
    """

    def __init__(self, body: int, first_tick: int, last_tick: int, kind: str = "body", history: bool = False):
        remedy = "that body's position and velocity" if kind == "body" else f"that {kind}'s state"
        if history:
            remedy += ", and call restart(),"
        super().__init__(
            f"the state of {kind} {body} is no longer finite (between tick {first_tick} and tick {last_tick}); "
            f"the stepper is at tick {last_tick}, set {remedy} to go on"
        )
        self.body, self.kind, self.history = body, kind, history
        self.first_tick = first_tick
        self.last_tick = last_tick

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.body, self.first_tick, self.last_tick, self.kind, self.history)


class ConvergenceError(KickdriftError, ArithmeticError):
    """An implicit step did not converge.

    `body` is the first body that failed (of an ODEStepper: trajectory), `tick` the tick at which the
    step began (the stepper remains there) and `residual` the largest component of
    v' - v - h a(x', v') in m/s (of y' - y - h f(t', y')).
    """

    def __init__(self, body: int, tick: int, residual: float, kind: str = "body"):
        unit = " m/s" if kind == "body" else ""
        super().__init__(
            f"implicit step not solved for {kind} {body} at tick {tick}: residual {residual:.3g}{unit}; "
            f"take a smaller dt, more iterations or a larger tolerance"
        )
        self.body, self.kind = body, kind
        self.tick = tick
        self.residual = residual

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.body, self.tick, self.residual, self.kind)


class DesyncError(KickdriftError, RuntimeError):
    """Two runs that must be bitwise equal differ. `tick` is the first compared tick that differs.

    `expected` and `got` are the checksums. `player` is the number of the other player of `Inputs`, else None.
    """

    def __init__(self, tick: int, expected: int, got: int, player: int | None = None):
        differs = "what it was the first time" if player is None else f"that of player {player}"
        first, also = (
            ("first", "")
            if player is None
            else ("here", "they began with another state, play another version or level, or ")
        )
        super().__init__(
            f"the state at tick {tick} is not {differs} (checksum {got:#018x}, {first} {expected:#018x}): {also}a "
            f"force or an input depends on something that no snapshot contains: a Python variable instead of an array "
            f"in state=, random numbers, or events that were not read by stepper.events.of(tick)"
        )
        self.tick = tick
        self.expected = expected
        self.got = got
        self.player = player

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.tick, self.expected, self.got, self.player)


class CallbackError(KickdriftError, RuntimeError):
    """A native function, named by `function`, returned `code`, which is not 0."""

    def __init__(self, function: str, code: int):
        super().__init__(f"{function} returned {code}; the stepper is at the last completed tick")
        self.function = function
        self.code = code

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.function, self.code)


class CapacityError(KickdriftError, RuntimeError):
    """More bodies were spawned than slots are free: `wanted` and `free` are the numbers."""

    def __init__(self, wanted: int, free: int) -> None:
        super().__init__(
            f"position: expected at most {free} bodies, for which there are free slots, got {wanted}; for more room "
            f"make larger arrays, and pass alive=n, the number of active rows"
        )
        self.wanted = wanted
        self.free = free

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.wanted, self.free)


class DeadBodyError(KickdriftError, KeyError):
    """The body with the id or row `body` is not alive."""

    def __init__(self, body: int) -> None:
        super().__init__(body)
        self.body = body

    def __str__(self) -> str:
        if self.body < 0:
            return f"{self.body} is a wall or shape of an event, not a body; choose bodies by slot_b >= 0"
        if self.body < 2**32:
            return f"no active body is in slot {self.body}"
        return f"body {self.body} (slot {self.body % 2**32}, generation {self.body >> 32}) is not alive"


class SnapshotError(KickdriftError, ValueError):
    """A snapshot is damaged or belongs to another stepper."""


class OverloadError(KickdriftError, RuntimeError):
    """More steps are due than `max_steps` allows; `steps` is their number."""

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.steps = steps

    def __str__(self) -> str:
        return f"{self.steps} steps are due, more than max_steps"


def in_world(world: int, error: Exception) -> Exception:
    """Return an error of one of many worlds: it names the world, whose number is its attribute `world`."""
    error.world = world  # type: ignore[attr-defined]
    if isinstance(error, KickdriftError):
        error.args = (f"world {world}: {error}", *error.args[1:])
    else:
        error.add_note(f"in world {world} of kickdrift.Worlds")
    return error
