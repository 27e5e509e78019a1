"""Bodies in Dask arrays: each chunk has its own stepper, on the worker that Dask chooses."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np

from .. import flows, validation
from ..constraints.base import Constraint
from ..declaration import declared, lazy
from ..errors import ConvergenceError, NonFiniteError
from ..forces.base import Term
from ..forces.callbacks import PythonFunction
from ..integrators import INTEGRATORS, EquationName, Name, resolve
from ..integrators.base import Integrator
from ..integrators.euler import ImplicitEuler
from ..ode.stepper import ODEStepper
from ..stepper.stepper import Stepper
from . import workers

if TYPE_CHECKING:
    from ..flows import Flow
    from ..ode.base import Function

WHAT_TO_DO = (
    "here each chunk of bodies is stepped on its own; step bodies that interact with one kd.Stepper(..., "
    "threads=...), or run many such worlds with kickdrift.distributed.sweep"
)


def step(
    position: da.Array,
    velocity: da.Array | None,
    steps: int,
    dt: float | Fraction | str | None = None,
    integrator: Name | Integrator | type[Integrator] = "velocity_verlet",
    mass: Any = 1.0,
    forces: Iterable[Term] = (),
    constraints: Iterable[Constraint] = (),
) -> tuple[da.Array, da.Array]:
    """Step bodies that do not interact, in Dask arrays: return (position, velocity) after `steps` steps from time 0.

    position: a dask array of shape (n, dim) in m, dim 1 to 3, float32 or float64, in chunks of any number of bodies.
    velocity: m/s, shape and dtype of position, or None for zeros. mass: kg, a number or (dask) array of shape (n,).
    dt, integrator, forces: as for `Stepper`; coefficients with one row per body may be arrays or dask arrays.
    constraints: `Box` and `Plane`.

    Evaluation is lazy, and the given arrays are not changed. Results are bitwise equal to those of one `Stepper`. Each
    chunk needs four times its own memory.

    Raises TypeError or ValueError, naming the argument, for unsupported arguments. Interactions are refused:
    `NBody`, `Springs`, constraints between bodies, and functions under `implicit_euler`, which solves for all bodies
    at once. Python functions are called with a chunk at a time; a function whose values differ for half of
    a chunk raises ValueError when that chunk is computed. `WorkerError` is raised on a worker with another kickdrift.
    Thread-safety: any number of threads may call it and compute its arrays.

    >>> import dask.array as da, kickdrift as kd
    >>> from kickdrift import distributed
    >>> height = da.linspace(0, 9, 10, chunks=4).reshape(10, 1)
    >>> speed = da.zeros_like(height)
    >>> height, speed = distributed.step(height, speed, 60, dt=1/60, forces=[kd.Gravity((-9.81,))])
    >>> height.compute().ravel().round(3).tolist()[:3]
    [-4.905, -3.905, -2.905]
    """
    position = _rows("position", position, 3)
    n, dim = position.shape
    if velocity is None:
        velocity = da.zeros_like(position)
    velocity = _rows("velocity", velocity, 3, position)
    steps = validation.integer("steps", steps, 0)
    scheme = resolve(integrator, INTEGRATORS)
    kinds: list[tuple[str, tuple[Any, ...]]] = [
        ("forces", declared("forces", "forces", Term, forces, compute=False)),
        ("constraints", declared("constraints", "constraints", Constraint, constraints, compute=False)),
    ]
    rows: list[da.Array] = []

    def cut(name: str, value: Any) -> int | None:
        """Return the index in `rows` of an array with a row per body, negative for scalars per body; None if shared."""
        if value.shape in ((), (dim,), (3,)) and value.shape != (n,):
            return None
        if value.shape not in ((n,), (n, dim)):
            raise ValueError(
                f"{name}: expected one value for all bodies, or one for each of the {n} bodies, got shape {value.shape}"
            )
        table = value if value.ndim == 2 else value[:, None]
        chunks = (position.chunks[0], (table.shape[1],))
        rows.append(table.rechunk(chunks) if lazy(table) else da.from_array(table, chunks=chunks))
        return len(rows) - 1 if value.ndim == 2 else -len(rows)

    def plain(value: Any) -> Any:
        """Return the value as an array; dask arrays stay lazy if they have a row per body."""
        return value if lazy(value) and value.shape in ((n,), (n, dim)) else np.asarray(value)

    mass = plain(mass)
    recipe: dict[str, Any] = {"steps": steps, "dt": dt, "integrator": scheme}
    place = cut("mass", mass)
    recipe["mass"] = (mass if place is None else np.float64(1), place)
    for argument, given in kinds:
        recipe[argument] = []
        for declaration in given:
            name = type(declaration).__name__
            if not declaration.alone:
                raise ValueError(f"{argument}: {name} couples bodies, or refers to them by index: {WHAT_TO_DO}")
            if isinstance(declaration, PythonFunction):
                if isinstance(scheme, ImplicitEuler):
                    raise ValueError(f"integrator: implicit_euler couples bodies under {name}: {WHAT_TO_DO}")
                recipe[argument].append((declaration, {}))
                continue
            named = {field.name: field.metadata for field in dataclasses.fields(declaration)}
            fields = [field for field, says in named.items() if says.keys() & {"bounds", "per_body"}]
            values = {field: plain(getattr(declaration, field)) for field in fields}
            places = {field: cut(f"{name}({field})", value) for field, value in values.items()}
            places = {field: place for field, place in places.items() if place is not None}
            rest = values | {field: values[field].dtype.type(0) for field in places}
            recipe[argument].append((dataclasses.replace(declaration, **rest), places))
    # A trial stepper reports wrong arguments now, not when a chunk is computed.
    trial = [[given for given, _ in recipe[kind] if not isinstance(given, PythonFunction)] for kind, _ in kinds]
    Stepper(np.ones((1, dim), position.dtype), None, recipe["mass"][0], dt=dt, integrator=scheme, forces=trial[0],
            constraints=trial[1])  # fmt: skip
    state = _by_chunk(_step_chunk, [position, velocity], rows, recipe)
    return state[0], state[1]


def step_ode(
    y: da.Array,
    rhs: Flow | Function,
    steps: int,
    dt: float | Fraction | str,
    integrator: EquationName | Integrator = "rk4",
) -> da.Array:
    """Step independent trajectories of y' = f(t, y), in a dask array: y after `steps` steps from time 0.

    y: a dask array of shape (n, dim), float32 or float64, in chunks of any number of trajectories.
    rhs, dt, integrator: as for `ODEStepper`; a Python function is called with a chunk at a time, and must treat
    trajectories independently, else ValueError is raised when a chunk is computed.

    Lazy, and bitwise equal to one `ODEStepper`. Raises TypeError or ValueError for unsupported arguments, and
    `WorkerError` on a worker with another kickdrift. Thread-safety: as for `step`.

    >>> import dask.array as da, kickdrift as kd
    >>> from kickdrift import distributed
    >>> y = da.ones((10, 3), chunks=(4, 3))
    >>> distributed.step_ode(y, kd.flows.Lorenz(), 100, dt=0.01).compute().shape
    (10, 3)
    """
    y = _rows("y", y, None)
    recipe = {"steps": validation.integer("steps", steps, 0), "rhs": rhs, "dt": dt, "integrator": integrator}
    ODEStepper(np.ones((1, y.shape[1]), y.dtype), rhs, dt=dt, integrator=integrator)  # reports wrong arguments now
    state: da.Array = _by_chunk(_step_ode_chunk, [y], [], recipe)[0]
    return state


def _rows(name: str, array: Any, most: int | None, like: da.Array | None = None) -> da.Array:
    """Return a dask array with one row per body, chunked along rows only."""
    if not isinstance(array, da.Array):
        raise TypeError(
            f"{name}: expected a dask array, got {type(array).__name__}; da.from_array({name}, chunks=(100_000, -1)) "
            f"makes one, and kd.Stepper takes NumPy's"
        )
    if array.ndim != 2 or not 1 <= array.shape[1] <= (most or array.shape[1]):
        raise ValueError(f"{name}: expected shape (n, dim){f' with dim 1 to {most}' * bool(most)}, got {array.shape}")
    if any(np.isnan(size) for size in array.shape):
        raise ValueError(f"{name}: expected chunks of known sizes; call {name}.compute_chunk_sizes() first")
    if array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"{name}: expected float32 or float64, got {array.dtype}")
    if like is None:
        # For n <= 3, a vector and scalars per body can have the same shape: keep one chunk.
        return array.rechunk({0: -1, 1: -1} if array.shape[0] <= 3 else {1: -1})
    if array.shape != like.shape:
        raise ValueError(f"{name}: expected the shape of position, {like.shape}, got {array.shape}")
    if array.dtype != like.dtype:
        raise TypeError(f"{name}: expected the dtype of position, {like.dtype}, got {array.dtype}")
    return array.rechunk(like.chunks)


def _by_chunk(function: Any, state: list[da.Array], rows: list[da.Array], recipe: dict[str, Any]) -> da.Array:
    """Return the results of `function` for all chunks, as one array of shape (len(state), n, dim)."""
    return da.map_blocks(
        function,
        *state,
        *rows,
        recipe=recipe,
        expected=workers.identity(),
        new_axis=0,
        chunks=((len(state),), *state[0].chunks),
        dtype=state[0].dtype,
        meta=np.empty((0, 0, 0), state[0].dtype),
    )


def _step_chunk(
    position: np.ndarray,
    velocity: np.ndarray,
    *rows: np.ndarray,
    recipe: dict[str, Any],
    expected: dict[str, object],
    block_info: Any = None,
) -> np.ndarray:
    workers.require(expected)
    state = np.stack([position, velocity])
    if not len(position):
        return state

    def part(place: int) -> np.ndarray:
        return rows[place] if place >= 0 else rows[-place - 1][:, 0]

    def parts(kind: str) -> list[Any]:
        return [
            dataclasses.replace(given, **{name: part(place) for name, place in places.items()}) if places else given
            for given, places in recipe[kind]
        ]

    mass, place = recipe["mass"]
    forces = parts("forces")
    for term in forces:
        if isinstance(term, PythonFunction):
            _require_alone(f"{type(term).__name__}(function)", term.evaluate, state)
    with _named(block_info):
        world = Stepper(
            state[0],
            state[1],
            mass if place is None else part(place),
            dt=recipe["dt"],
            integrator=recipe["integrator"],
            forces=forces,
            constraints=parts("constraints"),
        )
        world.step(recipe["steps"])
    return state


def _step_ode_chunk(
    y: np.ndarray, *, recipe: dict[str, Any], expected: dict[str, object], block_info: Any = None
) -> np.ndarray:
    workers.require(expected)
    state = np.array(y[None])
    if not len(y):
        return state
    if _is_python(recipe["rhs"]):
        _require_alone("rhs", recipe["rhs"], state)
    with _named(block_info):
        ODEStepper(state[0], recipe["rhs"], dt=recipe["dt"], integrator=recipe["integrator"]).step(recipe["steps"])
    return state


def _is_python(rhs: Any) -> bool:
    """Return whether a right-hand side is a Python function, or another object that is called like one."""
    return not isinstance(rhs, (flows.Flow, flows.Expression, flows.Native, type))


@contextlib.contextmanager
def _named(block_info: Any) -> Iterator[None]:
    """Convert body indices in errors from chunk to global indices."""
    (first, last), _ = block_info[0]["array-location"]
    try:
        yield
    except (NonFiniteError, ConvergenceError) as error:
        made: Any = error.__reduce__()
        raise made[0](error.body + first, *made[1][1:]) from None
    except Exception as error:
        error.add_note(f"in the chunk of bodies {first} to {last - 1}, which are counted from 0 there")
        raise


def _require_alone(name: str, function: Any, state: np.ndarray) -> None:
    """Refuse a function whose values for the first half of a chunk depend on the other half."""
    half = state.shape[1] // 2
    if not half:
        return
    whole, part = np.zeros_like(state[0]), np.zeros_like(state[0][:half])
    for out, given in ((whole, state.copy()), (part, state[:, :half].copy())):
        given.flags.writeable = False
        function(0.0, *given, out)
    # A tolerance, because rounding of NumPy's functions may depend on memory alignment.
    if not np.allclose(whole[:half], part, rtol=1e-5, atol=0, equal_nan=True):
        raise ValueError(f"{name}: gives other values for a part of the bodies, so it couples them: {WHAT_TO_DO}")
