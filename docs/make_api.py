"""Generate the pages of docs/api: one for each class or group. conf.py calls it before Sphinx reads."""

import dataclasses
import inspect
import math
import re
from pathlib import Path

import kickdrift as kd

FOLDER = Path(__file__).parent / "api"

#: Members of `Stepper`, grouped by purpose.
STEPPER = {
    "run": ("Run", "step advance ticks record restart"),
    "draw": ("Draw", "interpolate interpolate_angles interpolate_shapes alpha clock"),
    "read": (
        "Read",
        (
            "position velocity mass angular_velocity angle orientation inertia n dim dtype tick time dt hz energy "
            "state integrator threads force_evaluations load whole"
        ),
    ),
    "change": ("Change", "forces constraints set current enable add remove set_mass teleport shift rebind"),
    "bodies": ("Bodies that come and go", "spawn kill alive ids slots count"),
    "events": ("Events, contacts and casts", "events touching grounded cast overlap"),
    "save": ("Save and go back", "snapshot restore checksum"),
}

ERRORS = (
    "KickdriftError NonFiniteError ConvergenceError DesyncError CallbackError SnapshotError CapacityError "
    "DeadBodyError OverloadError"
)

#: Page: title, names, pages that explain them. Pages appear in this order.
PAGES = {
    "Stepper": {
        "stepper": ("Stepper", "Stepper", "first-ten-minutes game-loop"),
        "worlds": ("Worlds", "Worlds", "many-worlds"),
        "trajectory": ("Trajectory and ODETrajectory", "Trajectory ODETrajectory", "recording"),
        "steps": ("kick, drift, damp", "kick drift damp", "integrators"),
    },
    "Equations": {
        "odestepper": ("ODEStepper", "ODEStepper", "equations"),
    },
    "Time": {
        "fixedclock": ("FixedClock", "FixedClock", "clock game-loop"),
        "clock-policies": ("Policies of the clock", "ExactSteps Match Locked Variable", "clock"),
        "clock-overload": ("Overload rules of the clock", "Drop Backlog Resync Raise Budget", "clock"),
    },
    "Forces": {
        "gravity": ("Gravity and PointGravity", "Gravity PointGravity", "forces"),
        "drag": ("Drag, damping and friction", "LinearDrag QuadraticDrag Damping FloorFriction", "forces"),
        "springs": ("AnchorSpring and Springs", "AnchorSpring Springs", "forces which-constraint"),
        "fields": ("Vortex, Magnetic, RotatingFrame", "Vortex Magnetic RotatingFrame", "forces"),
        "nbody": ("NBody", "NBody", "forces"),
        "pairpotential": ("PairPotential", "PairPotential", "formulas"),
        "langevin": ("Langevin", "Langevin", "forces"),
        "expressions": ("Expression and Potential", "Expression Potential", "formulas"),
        "own-forces": (
            "AppliedForce, AppliedTorque, Force, Acceleration, NativeForce",
            "AppliedForce AppliedTorque Force Acceleration NativeForce get_include",
            "forces own-code rotation",
        ),
    },
    "Constraints": {
        "pin": ("Pin", "Pin", "constraints"),
        "distance": ("Distance", "Distance", "constraints which-constraint"),
        "walls": ("Box and Plane", "Box Plane", "constraints"),
        "collisions": ("ElasticCollisions", "ElasticCollisions", "constraints which-constraint"),
        "contacts": ("Contacts", "Contacts", "constraints which-constraint rolling"),
        "shapes": ("Segments and Boxes", "Segments Boxes", "constraints"),
        "periodic": ("Periodic", "Periodic", "periodic"),
        "sensor": ("Sensor", "Sensor", "events"),
    },
    "Integrators": {
        "integrators": ("Second order and first", "VelocityVerlet Leapfrog Verlet GrootWarren SemiImplicitEuler Exact",
                        "integrators"),
        "integrators-higher": ("Higher order", "RK4 PEFRL Yoshida4 Yoshida6 Dopri8", "integrators"),
        "integrators-stiff": ("Implicit", "ImplicitEuler", "integrators"),
        "integrators-teaching": ("For teaching", "ExplicitEuler Midpoint Heun EnergyEuler", "integrators"),
        "compare": ("compare and Comparison", "compare Comparison", "integrators"),
    },
    "Events": {
        "events": ("Events and their kinds", "Events BEGIN BREAK END ENTER HIT LEAVE", "events"),
        "neighbours": ("Neighbours", "Neighbours", "events"),
    },
    "Going back": {
        "rollback": ("Rollback, Inputs and sync_test", "Rollback Inputs sync_test", "rollback"),
        "tape": ("Tape", "Tape", "rollback"),
    },
    "Others": {
        "errors": ("Errors", ERRORS, "errors"),
        "build": ("build_info", "build_info", "inside"),
    },
}  # fmt: skip
MODULES = {
    "flows": ("kickdrift.flows", "Lorenz Rossler Thomas Halvorsen Aizawa LotkaVolterra VanDerPol Native Expression"),
    "math": ("kickdrift.math", ""),
    "distributed": ("kickdrift.distributed", "step step_ode sweep CaseError WorkerError"),
}
#: Members of these modules' classes that only other layers use.
INTERNAL = "kind, constants, code, fields, derivatives, operations, identity, failure"
#: Members that are shown after the class itself.
MEMBERS = {
    "AnchorSpring": "from_frequency", "Springs": "from_frequency", "Damping": "per_frame",
    "Expression": "program digest", "Potential": "program digest", "PairPotential": "program digest",
    "NativeForce": "prototype",
}  # fmt: skip
WHOLE = {
    "Comparison",
    "Trajectory",
    "ODETrajectory",
    "ODEStepper",
    "FixedClock",
    "Events",
    "Neighbours",
    "Rollback",
    "Inputs",
    "Tape",
}  #: shown with all their members

#: Cost, where it does not grow with the number of bodies.
COST = {
    "NBody": "grows with the square of the number of bodies",
    "Springs": "grows with the number of springs",
    "PairPotential": "grows with the number of bodies and of pairs within the cutoff",
    "Distance": "grows with the number of pairs, times `iterations`",
    "ElasticCollisions": "grows with the number of bodies and of pairs that are near each other, which a grid finds",
    "Contacts": "grows with the number of contacts, times `substeps`; a grid finds them",
    "Neighbours": "grows with the number of points; a grid finds the pairs",
    "Force": "a call into Python for each evaluation, and passes over all arrays",
    "Acceleration": "a call into Python for each evaluation, and passes over all arrays",
}
#: A unit at the start of a text, or with "in" in its first sentence.
UNIT = r"m³/\(kg s²\)|m³/s²|m²/s²|m/s²|m/s|kg/m|kg/s|kg m²|rad/s|1/s|N/m|m/N|N m|kg|rad|Hz|C|T|m|N|J|s"
IN_UNIT = re.compile(rf"\bin ({UNIT})(?=[\s,;.:)]|$)")
BEFORE = re.compile(rf"(seconds|simulated seconds|steps per second|bits|{UNIT})(?=[\s,;.:]|$)")


def undocumented(item):
    """Return the parameters of a class or function that would have no row, if others have one."""
    try:
        parameters = inspect.signature(item).parameters
    except (TypeError, ValueError):  # compiled
        return set()
    _, found = arguments((inspect.getdoc(item) or "").splitlines(), set(parameters))
    rows = {name for key in found for name in key.split(", ")}
    named = {name for name, value in parameters.items() if value.kind not in (value.VAR_POSITIONAL, value.VAR_KEYWORD)}
    return named - rows - {"self", "generations"} if rows else set()


def public():
    """Return all names that are shown on some page."""
    return {name for group in PAGES.values() for _, names, _ in group.values() for name in names.split()}


def write():
    FOLDER.mkdir(exist_ok=True)
    wanted = {}
    for group in PAGES.values():
        for page, (title, names, see) in group.items():
            wanted[page] = heading(title) + also(see) + "\n".join(map(directive, names.split()))
    wanted["stepper"] += "\n\n.. toctree::\n   :maxdepth: 1\n\n"
    for page, (title, names) in STEPPER.items():
        wanted["stepper"] += f"   stepper-{page}\n"
        body = "".join(f"\n.. {kind(name)}:: Stepper.{name}\n" for name in names.split())
        wanted[f"stepper-{page}"] = heading(f"Stepper: {title.lower()}") + also("api/stepper") + body
    for page, (module, names) in MODULES.items():
        members = f"   :members: {names.replace(' ', ', ')}\n" if names else "   :members:\n"
        members += f"   :exclude-members: {INTERNAL}\n"
        wanted[page] = heading(module) + f".. automodule:: {module}\n{members}"
    for page, text in wanted.items():
        path = FOLDER / f"{page}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.rst"):
        if path.stem not in wanted:
            path.unlink()


def heading(title):
    return f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: kickdrift\n\n"


def also(pages):
    return "See also: " + ", ".join(f":doc:`/{page}`" for page in pages.split()) + ".\n\n"


def directive(name):
    value = getattr(kd, name)
    if inspect.isclass(value) and issubclass(value, Exception):
        return f".. autoexception:: {name}\n"
    if not inspect.isclass(value):
        return f".. autofunction:: {name}\n" if callable(value) else f".. autodata:: {name}\n   :no-value:\n"
    members = MEMBERS.get(name, "").replace(" ", ", ")
    options = (
        "   :members:\n   :inherited-members:\n" if name in WHOLE else f"   :members: {members}\n" if members else ""
    )
    return f".. autoclass:: {name}\n{options}"


def kind(name):
    value = inspect.getattr_static(kd.Stepper, name)
    return "autoproperty" if isinstance(value, property) else "automethod" if callable(value) else "autoattribute"


def arguments(lines, names):
    """Split a docstring's lines: return those without parameters, and {names: text} of these.

    A parameter begins a line or a sentence with its name, several names, or a call such as `potential(position)`, and a
    colon. Its text ends with the paragraph.
    """
    rest, found, key, code = [], {}, None, False
    pattern = re.compile(r"(?:^|(?<=[.)] ))(?:Or )?(\w+(?:\([\w, ]*\))?(?:, \w+)*): ")
    text = re.sub(r"(\w,)\n(?=\w+(?:, \w+)*: )", r"\1 ", "\n".join(lines))  # names on two lines
    text = re.sub(r"(?<=\. )Raises (?=\w)", "\n\nRaises ", text)
    for line in text.split("\n"):
        code = line.startswith((" ", ">>>")) or (code and bool(line))
        if code or not line:
            key = None
            rest.append(line)
            continue
        before, *parts = pattern.split(line)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            given = re.sub(r"\(.*?\)", "", name)
            if set(given.split(", ")) <= names:
                if before:
                    rest, found = (rest, found | {key: f"{found[key]} {before}"}) if key else ([*rest, before], found)
                key, before = given, text if name == given else f"called as {name}: {text}"
                found, before = found | {key: before.strip()}, ""
            else:
                before += f"{name}: {text}"
        if before and key:
            found[key] += f" {before.strip()}"
        elif before:
            rest.append(before)
    return rest, {key: " ".join(text.split()) for key, text in found.items()}


def table(item, found):
    """Return the parameters as a list-table: unit, default and range, as far as known."""
    parameters = inspect.signature(item).parameters
    bounds = {}
    if dataclasses.is_dataclass(item):
        bounds = {field.name: field.metadata.get("bounds") for field in dataclasses.fields(item)}
    rows = ["", ".. list-table:: Parameters", "   :header-rows: 1", "   :class: parameters", ""]
    rows += ["   * - name", "     - unit", "     - default", "     - range", "     - meaning"]
    for key, text in found.items():
        names = key.split(", ")
        defaults = dict.fromkeys(shown(parameters[name].default) for name in names)
        ranges = dict.fromkeys(between(bounds.get(name)) for name in names)
        rows += [f"   * - {', '.join(f'``{name}``' for name in names)}", f"     - {unit(text)}"]
        rows += [f"     - {', '.join(defaults)}", f"     - {', '.join(ranges)}", f"     - {text}"]
    return [*rows, ""]


def unit(text):
    """Return the unit of a parameter, from its text."""
    found = IN_UNIT.search(re.split(r"(?<=[.;]) ", text)[0]) or BEFORE.match(text)
    if not found or text.startswith("called as"):
        return "–"
    return {"seconds": "s", "simulated seconds": "s", "steps per second": "Hz"}.get(found[1], found[1])


def shown(default):
    if default is inspect.Parameter.empty:
        return "required"
    return "all bits" if default == 2**64 - 1 else f"``{default!r}``"


def between(bounds):
    if not bounds or all(map(math.isinf, bounds)):
        return "–"
    low, high = bounds
    return f"≥ {low:g}" if math.isinf(high) else f"≤ {high:g}" if math.isinf(low) else f"{low:g} to {high:g}"
