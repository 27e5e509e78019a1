"""Forces and potentials as expressions: parsed once, never evaluated as Python, bitwise reproducible."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from .. import validation
from ..declaration import declaration, once
from .base import Interaction
from .formula.derivatives import gradient, tangent
from .formula.machine import Code, Place, TooManyError, translate
from .formula.parser import CONSTANTS, FUNCTIONS, Parser
from .formula.program import MOST, Builder, Program, TooLongError, finished

if TYPE_CHECKING:
    from ..stepper.model import Plan

AXES = ("x", "y", "z")
SPEEDS = ("vx", "vy", "vz")
#: Kernel code of a program, its constants, and its coefficients with one number per body.
Coded = tuple[Code, list[Any], list[np.ndarray]]
STATE = ("t", *AXES, *SPEEDS, "m")


def parted(title: str, given: dict[str, Any], reserved: tuple[str, ...]) -> tuple[dict[str, str], dict[str, Any]]:
    """Split keyword arguments into (expressions, parameters); reject reserved names."""
    texts, parameters = {}, {}
    for name, value in given.items():
        label = f"{title}({name[:40]})"
        if not (name.isidentifier() and name.isascii()) or name.startswith("_"):
            raise ValueError(f"{title}: expected names of letters, digits and _, not first, got {name[:40]!r}")
        if name in ("and", "or", "not", "if", "else", "in", "is", "lambda", "None", "True", "False"):
            raise ValueError(f"{label}: expected another name, this one is a word of Python")
        if name in FUNCTIONS:
            raise ValueError(f"{label}: expected another name, this one is a function")
        if name in CONSTANTS:
            raise ValueError(f"{label}: expected another name, this one is a constant")
        if isinstance(value, str):
            texts[name] = value
        elif name in reserved:
            raise ValueError(f"{label}: expected another name for a parameter, this one is a variable")
        else:
            array = validation.numbers(label, value)
            if array.ndim > 1:
                raise ValueError(f"{label}: expected a number or one per body, got shape {array.shape}")
            parameters[name] = array
    return texts, parameters


def shown(parameters: dict[str, np.ndarray]) -> list[str]:
    """Format parameters as in a call; long arrays only by their length."""
    return [
        f"{name}={value.tolist()!r}" if value.size <= 8 else f"{name}=<{value.size} numbers>"
        for name, value in parameters.items()
    ]


class Listing(str):
    """A string that the Python prompt prints without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@declaration(init=False)
class Formula(Interaction):
    """Base of forces given as expressions."""

    kind = "formula"

    texts: dict[str, str]
    parameters: dict[str, np.ndarray]

    def _declare(self, texts: dict[str, str], parameters: dict[str, np.ndarray]) -> None:
        super().__post_init__()
        title = type(self).__name__
        for name in parameters:
            if hasattr(type(self), name) or name in ("texts", "parameters"):
                raise ValueError(f"{title}({name}): expected another name, {title} has an attribute of this one")
        object.__setattr__(self, "texts", dict(texts))
        object.__setattr__(self, "parameters", dict(parameters))
        self.operations  # noqa: B018 - parse now: report mistakes in the constructor

    def __getattr__(self, name: str) -> Any:
        parameters = self.__dict__.get("parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"{type(self).__name__} has no attribute or parameter {name!r}")

    def __repr__(self) -> str:
        given = [f"{name}={text!r}" for name, text in self.texts.items()]
        given += shown(self.parameters)
        return f"{type(self).__name__}({', '.join(given)})"

    @property
    def per_body(self) -> dict[str, str]:
        return dict.fromkeys(self.coefficients, "number")

    # Lists of operations.

    @once
    def _nodes(self) -> tuple[Builder, dict[str, int]]:
        """A builder with the parsed expressions, and the nodes of the force components."""
        raise NotImplementedError

    def _finished(self, nodes: dict[str, int]) -> Program:
        try:
            return finished(self._nodes[0], nodes)
        except TooLongError:
            raise ValueError(f"{type(self).__name__}: expected at most {4 * MOST} operations, got more") from None

    @once
    def operations(self) -> Program:
        """The program for the components of the force."""
        return self._finished(self._nodes[1])

    @once
    def changes(self) -> Program:
        """The program for the first-order change of the force for changes `d x` ... of positions and velocities."""
        builder, components = self._nodes
        seeds = {builder.node("name", name): builder.node("name", f"d {name}") for name in (*AXES, *SPEEDS)}
        try:
            found = {name: tangent(builder, node, seeds) for name, node in components.items()}
        except TooLongError:
            raise ValueError(f"{type(self).__name__}: too long for its derivatives") from None
        return self._finished({name: node for name, node in found.items() if node is not None})

    def program(self) -> str:
        """Return the list of operations that a step runs for each body, as text.

        >>> import kickdrift as kd
        >>> print(kd.Expression(x="-k*x*norm(x, y)", k=2.0).program())
        _0 = -k
        _1 = _0 * x
        _2 = x * x
        _3 = y * y
        _4 = _2 + _3
        _5 = sqrt(_4)
        _6 = _1 * _5
        x = _6
        """
        return Listing(self.operations)

    @property
    def digest(self) -> str:
        """A digest of the list of operations: 32 hexadecimal digits, equal on every platform."""
        return self.operations.digest

    @property
    def label(self) -> str:
        return f"{type(self).__name__} {self.digest}"

    @property
    def velocity_dependent(self) -> bool:  # type: ignore[override]
        return not self.operations.names.isdisjoint(SPEEDS)

    @once
    def noisy(self) -> bool:
        """Whether an expression uses noise."""
        return any(node[0] == "noise" for node in self._nodes[0].nodes)

    # Parameters can change at run time; the program does not.

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the parameters, which can be changed at run time."""
        return tuple(self.parameters)

    def changed(self, coefficients: dict[str, Any]) -> Self:
        """Return a copy with other parameters."""
        title = type(self).__name__
        for name, value in coefficients.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none that can be changed"
                raise TypeError(f"{title}: expected parameters ({known}), got {name!r}")
            if isinstance(value, str):
                raise TypeError(f"{title}({name}): expected a number or one per body, got {validation.show(value)}")
        _, parameters = parted(title, coefficients, ())
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        object.__setattr__(other, "parameters", {**self.parameters, **parameters})
        return other

    def declared_values(self) -> dict[str, Any]:
        """Return the values that identify this declaration in comparisons."""
        return {"label": self.label, **self.parameters}

    # In a stepper.

    def compile(self, plan: Plan) -> None:
        title, names = type(self).__name__, self.operations.names
        for number, axis in enumerate(AXES[plan.dim :], plan.dim):
            if axis in dict(self.operations.results) or axis in names or SPEEDS[number] in names:
                raise ValueError(f"{title}: expected at most {plan.dim} dimensions, as bodies have, got {axis}")
        fields = {name: validation.per_body(f"{title}({name})", array, plan.n) for name, array in self._used(plan)}
        plan.add_interaction(self.kind, self, True, **fields)

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        title = type(self).__name__
        return {name: validation.per_body(f"{title}({name})", self.parameters[name], plan.n) for name in names}

    def _used(self, plan: Plan) -> list[tuple[str, np.ndarray]]:
        mass = plan.finite_mass[0] if plan.uniform_mass else plan.finite_mass
        return [*self.parameters.items(), *([("m", mass)] if self._heeds_mass else [])]

    @property
    def _heeds_mass(self) -> bool:
        return "m" in self.operations.names

    def code(self, fields: dict[str, np.ndarray], which: str = "operations") -> Coded:
        """Return the kernel code of a program, its constants, and its coefficients with one number per body."""
        from ..engine.formulas import LIMITS

        places: dict[str, Place] = {"t": ("time", 0)}
        for kind, names in zip(("position", "velocity"), (AXES, SPEEDS), strict=True):
            places |= {name: (kind, number) for number, name in enumerate(names)}
        for kind, names in zip(("moved", "sped"), (AXES, SPEEDS), strict=True):
            places |= {f"d {name}": (kind, number) for number, name in enumerate(names)}
        rows = [name for name, field in fields.items() if len(field) != 1]
        places |= {name: ("each", rows.index(name)) if name in rows else ("known", name) for name in fields}
        return coded(type(self).__name__, getattr(self, which), places, fields, LIMITS)


PLANES = {axis: number for number, axis in enumerate(AXES)}  #: row of each force component in `out`


def coded(
    title: str,
    program: Program,
    places: dict[str, Place],
    fields: dict[str, np.ndarray],
    limits: dict[str, int],
    results: dict[str, int] = PLANES,
    rows: bool = False,
) -> Coded:
    """Return the kernel code of a program, its constants, and its per-body coefficients; for rows see `translate`."""
    try:
        code = translate(program, places, limits, results, rows)
    except TooManyError as error:
        most = limits[str(error)]
        raise ValueError(f"{title}: an expression too long, of more than {most} {error} at once") from None
    known = [fields[preset][0] if isinstance(preset, str) else preset for preset in code.presets]
    return code, known, [field for field in fields.values() if len(field) != 1]


class Expression(Formula):
    """A force in N as expressions, one string per component, bitwise reproducible on every platform.

    x, y, z: the components; a missing one is 0. Other keywords are parameters or definitions. Parameters are
    numbers, or one number per body, shape (n,). Definitions are strings, as in Expression(x="-k*x/r", r="norm(x, y)",
    k=2.0).
    Expressions consist of numbers, + - * / **, the variables t (s), x y z (m), vx vy vz (m/s), m (kg), parameters,
    definitions, pi, and sin cos tan exp log sqrt tanh cbrt pow atan2 abs floor min max clamp(a, low, high),
    norm(a, b, c), dot(a, b, c, d) = a c + b d, where(x < 0 and y >= 1, a, b), and noise(k).

    noise(k), for k = 0, 1, 2 ... up to 2**31 - 1: standard normal numbers, independent for different k, bodies and
    ticks. They depend only on k, the tick and the body's id (counters of Philox 4x32-10, as in `Langevin`). Threads,
    memory layout, spawn and despawn of other bodies and `restore` do not change them. A force a*noise(0) under steps of
    dt is white noise of intensity a² dt. An evaluation at the end of a step has the numbers of the next tick: under
    `velocity_verlet`, `heun` and `groot_warren` a step has the mean of two ticks, thus half the variance, but many
    steps have the same.

    The string is parsed and translated to a list of operations (`program()`). It is never evaluated as Python. Equal
    subexpressions are computed once. Constant or uniform subexpressions are not computed for each body.
    Otherwise sums and products are computed in the order in which they are written. Integer powers up to 64 are
    products, in a fixed order; functions are those of `kd.math`. `implicit_euler` uses symbolic derivatives.
    Several threads may step the bodies.

    Raises ValueError for a mistake in an expression, and its message shows the column; ValueError for parameters of a
    wrong length; TypeError for parameters that are not real numbers.

    >>> import kickdrift as kd
    >>> swirl = kd.Expression(x="-a*y + b*sin(w*t)", y="a*x", a=1.0, b=0.3, w=2.0)
    >>> leaf = kd.Stepper([[1.0, 0.0]], dt=0.5, forces=[swirl], integrator="explicit_euler")
    >>> leaf.step(2)
    >>> leaf.velocity.round(3).tolist()
    [[0.126, 1.0]]
    """

    def __init__(self, **formulas: Any) -> None:
        texts, parameters = parted("Expression", formulas, STATE)
        if not any(axis in texts for axis in AXES):
            raise ValueError("Expression: expected an expression for x, y or z, got none")
        for name in texts:
            if name in STATE and name not in AXES:
                raise ValueError(f"Expression({name}): expected another name for a definition, this one is a variable")
        self._declare(texts, parameters)

    @once
    def _nodes(self) -> tuple[Builder, dict[str, int]]:
        definitions = {name: text for name, text in self.texts.items() if name not in AXES}
        parser = Parser("Expression", [*STATE, *self.parameters], definitions, noisy=True)
        components = {axis: parser.read(axis, self.texts[axis]) for axis in AXES if axis in self.texts}
        for name in definitions:
            parser.look_up(name, 0, ValueError)
        return parser.builder, components


@declaration(init=False)
class EnergyFormula(Formula):
    """Base of potentials: the expression of the energy is that of the empty name."""

    _variables: ClassVar[tuple[str, ...]]

    def _split(self, energy: str, given: dict[str, Any], reserved: tuple[str, ...]) -> tuple[dict[str, str], Any]:
        """Return the expressions, that of the energy first, and the parameters."""
        title = type(self).__name__
        texts, parameters = parted(title, given, reserved)
        for name in texts:
            if name in reserved:
                raise ValueError(f"{title}({name}): expected another name for a definition, this one is a variable")
        return {"": energy, **texts}, parameters

    def _options(self) -> list[str]:
        """Return the other arguments of the constructor, as in a call."""
        return []

    def __repr__(self) -> str:
        energy, *definitions = self.texts.items()
        given = [repr(energy[1]), *self._options(), *(f"{name}={text!r}" for name, text in definitions)]
        return f"{type(self).__name__}({', '.join(given + shown(self.parameters))})"

    @once
    def _energy(self) -> tuple[Builder, int]:
        definitions = {name: text for name, text in self.texts.items() if name}
        noisy = "t" in self._variables
        parser = Parser(type(self).__name__, [*self._variables, *self.parameters], definitions, noisy=noisy)
        energy = parser.read("energy", self.texts[""])
        for name in definitions:
            parser.look_up(name, 0, ValueError)
        return parser.builder, energy

    @once
    def energy(self) -> Program:
        """The program for the energy, of a pair if it is one of pairs; its result is named x."""
        builder, energy = self._energy
        return finished(builder, {"x": energy})


class Potential(EnergyFormula):
    """A potential in J as an expression. The force is minus its symbolic gradient.

    energy: the expression. Other keywords are parameters and definitions, as for `Expression`, but velocities are not
    available. The derivatives of norm, sqrt and abs at 0 are 0: no direction, no force. `energy()` includes
    this potential, and raises ValueError if it depends on t.

    Derivatives use reverse mode: the chain rule, dV = f_u du + f_v dv for V = f(u, v), from the last operation to the
    first, with the rules of forces/formula/derivatives.py. Expressions with choices (where, min, max) use forward mode,
    once for each component. Raises the errors of `Expression`.

    >>> import kickdrift as kd
    >>> well = kd.Potential("k/2*r**2", r="norm(x - cx, y)", k=4.0, cx=1.0)
    >>> ball = kd.Stepper([[1.0, 2.0]], dt=0.25, forces=[well], integrator="semi_implicit_euler")
    >>> ball.energy()
    (0.0, 8.0)
    >>> ball.step()
    >>> ball.velocity.tolist()
    [[0.0, -2.0]]
    """

    _variables = ("t", *AXES, "m")

    def __init__(self, energy: str, /, **given: Any) -> None:
        self._declare(*self._split(energy, given, STATE))

    @once
    def _nodes(self) -> tuple[Builder, dict[str, int]]:
        builder, energy = self._energy
        builder.most = 4 * MOST
        try:
            slopes = gradient(builder, energy, list(AXES))
            found = {axis: slope for axis, slope in zip(AXES, slopes, strict=True) if slope is not None}
            return builder, {axis: builder.apply("neg", slope) for axis, slope in found.items()}
        except TooLongError:
            raise ValueError("Potential: too long for its derivatives") from None

    @property
    def conservative(self) -> bool:  # type: ignore[override]
        return "t" not in self.energy.names and not self.noisy

    @property
    def _heeds_mass(self) -> bool:
        return "m" in self.energy.names

    def potential_energy(self, plan: Plan, position: np.ndarray) -> np.ndarray:
        if not self.conservative:
            raise ValueError("energy: Potential depends on time or noise, therefore energy is not conserved")
        values: dict[str, Any] = dict(zip(AXES, position.T, strict=False))
        values |= {"m": plan.finite_mass, **self.parameters}
        energy = np.asarray(evaluate(self.energy, values)["x"] + np.zeros(plan.n))
        return plan.mobility * energy


def evaluate(program: Program, values: dict[str, Any], real: Any = np.float64) -> dict[str, Any]:
    """Evaluate a program on arrays of a dtype, bitwise equal to the kernels."""
    from .. import math as functions

    whole = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "neg": np.negative,
        "abs": np.abs,
        "floor": np.floor,
        "sqrt": np.sqrt,
        "min": lambda a, b: np.where(b < a, b, a),
        "max": lambda a, b: np.where(a < b, b, a),
        "less": lambda a, b: np.where(a < b, real(1), real(0)),
        "not_less": lambda a, b: np.where(a >= b, real(1), real(0)),
        "equal": lambda a, b: np.where(a == b, real(1), real(0)),
        "where": lambda test, a, b: np.where(test > 0, a, b),
    }
    seen: list[Any] = []
    with np.errstate(all="ignore"):
        for operation, *operands in program.nodes:
            if operation == "const":
                seen.append(operands[0])
            elif operation == "name":
                seen.append(values[operands[0]])
            else:
                function: Any = whole.get(operation) or getattr(functions, operation)
                seen.append(function(*(np.asarray(seen[n], real) for n in operands)))
    return {name: seen[n] for name, n in program.results}
