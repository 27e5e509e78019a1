"""A thousand years of the solar system, under five integrators.

The Sun and eight planets attract each other, with a step of four days: 22 of them make a year of
Mercury. Symplectic methods keep the error of the energy within bounds. The others do not, and lose
planets, although the error of a single step is small.

Masses: the IAU's of 2009 (Luzum et al. 2011, Celest. Mech. Dyn. Astr. 110, 293). Places and speeds:
from the Keplerian elements of 1 January 2000, 12:00 (Standish, Williams: "Approximate Positions of the
Planets", table 1, ssd.jpl.nasa.gov/planets/approx_pos.html); Earth stands for Earth and Moon. Units are
the au, the day and the mass of the Sun. Relativity and moons are left out.

The second part has one planet only: Mercury on its ellipse around a Sun that does not move. The force is
written as a Python function, in numba and in C. All of them give the same bits as kd.PointGravity.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import kickdrift as kd
from kickdrift.forces.base import Term

from ..progress import over
from .options import count
from .pulls import WAYS, AbsentError
from .table import table
from .window import Scene, draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo orbit
  python -m kickdrift demo orbit --dt 1 --years 100
  python -m kickdrift demo orbit --plot orbit.png
"""

GM = 2.959122082855911e-4  #: of the Sun, au^3/day^2
YEAR = 365.25  #: days
NAMES = ("explicit_euler", "rk4", "velocity_verlet", "yoshida4", "yoshida6")


class Planet(NamedTuple):
    """Mass of the Sun as a multiple of its own, and its ellipse: au, angles in degrees."""

    name: str
    ratio: float
    a: float  #: semi-major axis
    e: float  #: eccentricity
    inclination: float
    longitude: float  #: mean
    perihelion: float  #: its longitude
    node: float  #: longitude of the ascending node


PLANETS = (
    Planet("Mercury", 6023600, 0.38709927, 0.20563593, 7.00497902, 252.25032350, 77.45779628, 48.33076593),
    Planet("Venus", 408523.719, 0.72333566, 0.00677672, 3.39467605, 181.97909950, 131.60246718, 76.67984255),
    Planet("Earth", 328900.56, 1.00000261, 0.01671123, -0.00001531, 100.46457166, 102.93768193, 0.0),
    Planet("Mars", 3098703.59, 1.52371034, 0.09339410, 1.84969142, -4.55343205, -23.94362959, 49.55953891),
    Planet("Jupiter", 1047.348644, 5.20288700, 0.04838624, 1.30439695, 34.39644051, 14.72847983, 100.47390909),
    Planet("Saturn", 3497.9018, 9.53667594, 0.05386179, 2.48599187, 49.95424423, 92.59887831, 113.66242448),
    Planet("Uranus", 22902.98, 19.18916464, 0.04725744, 0.77263783, 313.23810451, 170.95427630, 74.01692503),
    Planet("Neptune", 19412.26, 30.06992276, 0.00859048, 1.77004347, -55.12002969, 44.96476227, 131.78422574),
)
MERCURY, EARTH = 1, 3  #: as bodies; the Sun is body 0
MASS = np.array([1.0] + [1 / planet.ratio for planet in PLANETS])


def on_ellipse(planet: Planet, anomaly: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity relative to the Sun, at an eccentric anomaly (radians)."""
    a, e = planet.a, planet.e
    b = a * math.sqrt(1 - e * e)
    rate = math.sqrt(GM * (1 + 1 / planet.ratio) / a**3) / (1 - e * math.cos(anomaly))
    along, across = a * (math.cos(anomaly) - e), b * math.sin(anomaly)
    position = np.array([along, across, 0.0])
    velocity = rate * np.array([-a * math.sin(anomaly), b * math.cos(anomaly), 0.0])
    turn = _about_z(planet.node) @ _about_x(planet.inclination) @ _about_z(planet.perihelion - planet.node)
    return turn @ position, turn @ velocity


def _about_z(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _about_x(degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def anomaly(planet: Planet) -> float:
    """The eccentric one at the start: Kepler's equation E - e sin E = M, by Newton's method."""
    mean = math.radians(planet.longitude - planet.perihelion)
    result = mean
    for _ in range(10):
        result -= (result - planet.e * math.sin(result) - mean) / (1 - planet.e * math.cos(result))
    return result


def solar_system() -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities at the start; the centre of mass rests at the origin."""
    states = np.zeros((2, 1 + len(PLANETS), 3))
    for body, planet in enumerate(PLANETS, start=1):
        states[:, body] = on_ellipse(planet, anomaly(planet))
    position, velocity = (state - MASS @ state / MASS.sum() for state in states)
    return position, velocity


def stepper(name: Any, dt: float) -> kd.Stepper:
    position, velocity = solar_system()
    return kd.Stepper(position, velocity, mass=MASS, dt=dt, integrator=name, forces=[kd.NBody(GM)])


def semi_major_axis(system: kd.Stepper, body: int) -> float:
    """Of the ellipse around the Sun that the body is on now; infinite, if it is on none."""
    x, v = (state[body] - state[0] for state in (system.position, system.velocity))
    mu = GM * (1 + MASS[body])
    energy = v @ v / 2 - mu / math.sqrt(x @ x)
    return float(-mu / (2 * energy)) if energy < 0 else math.inf


@dataclass(frozen=True)
class Run:
    """The solar system, year by year."""

    energy_error: np.ndarray  #: as a share of the energy at the start; more than 0 is a gain
    axes: dict[int, float]  #: semi-major axes of some bodies in the end, au
    seconds: float


def run(name: str, dt: float, years: int) -> Run:
    system = stepper(name, dt)
    at_start = sum(system.energy())
    errors, spent = [0.0], 0.0
    for year in range(1, years + 1):
        begin = time.perf_counter()
        system.step(round(year * YEAR / dt) - system.tick)
        spent += time.perf_counter() - begin
        errors.append((sum(system.energy()) - at_start) / abs(at_start))
    return Run(np.array(errors), {body: semi_major_axis(system, body) for body in (MERCURY, EARTH)}, spent)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dt", type=_days, default=4.0, metavar="DAYS", help="days per step, 0.1 to 30 (default: 4)")
    parser.add_argument(
        "--years", type=count("years", 1000), default=1000, metavar="N", help="how many years (default: 1000)"
    )


def _days(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.1 <= value <= 30:
        raise argparse.ArgumentTypeError(f"expected 0.1 to 30 days, such as 4, got {text!r}")
    return value


def report(options: argparse.Namespace) -> str:
    marks = sorted({min(year, options.years) for year in (1, 10, 100, 1000, options.years)})
    rows = [["integrator", *map(_years, marks), "largest", "Mercury (au)", "Earth (au)", "time (s)"]]
    for name in over(NAMES, "orbit", "integrators"):
        each = run(name, options.dt, options.years)
        errors = [f"{each.energy_error[year]:+.0e}" for year in marks]
        largest = f"{np.abs(each.energy_error).max():.0e}"
        rows.append([name, *errors, largest, *map(_axis, each.axes.values()), f"{each.seconds:.2f}"])
    heading = (
        f"The Sun and eight planets, {_years(options.years)}, dt = {options.dt:g} days. Energy gained after so\n"
        f"many years, as a share of what there was at the start, and the largest at the end of any year; in the\n"
        f"end the semi-major axes of Mercury, at the start {PLANETS[0].a:.3f}, and Earth, {PLANETS[2].a:.3f}."
    )
    return "\n\n".join([heading, table(rows), _look(), _four_ways(options.dt)])


def _years(years: int) -> str:
    return f"{years} year" + "s" * (years > 1)


def _axis(value: float) -> str:
    return f"{value:.3f}" if value < 1000 else "lost"


def _look() -> str:
    symplectic = [name for name in NAMES if kd.INTEGRATORS[name].symplectic]
    return (
        f"Symplectic: {', '.join(symplectic)}. Their errors swing and do not grow; those of the\n"
        f"others do, until planets are lost. Energy that stays does not make the places right."
    )


STEPS = 2000  #: for which Mercury is followed alone


def _four_ways(dt: float) -> str:
    shown = NAMES[1:4]
    rows = [["Mercury's force", *shown, "same bits", "rk4, us/step"]]
    absent = []
    first: list[str] = []
    for way, make in WAYS.items():
        try:
            force = make(GM)
        except AbsentError as reason:
            absent.append(f"{way}: {reason}.")
            continue
        runs = {name: alone(force, name, dt) for name in NAMES}
        sums = [checksum for checksum, _ in runs.values()]
        first = first or sums
        same = "-" if sums is first else "yes" if sums == first else "NO"
        rows.append([way, *(runs[name][0] for name in shown), same, f"{1e6 * runs['rk4'][1]:.2f}"])
    heading = (
        f"Mercury alone, {STEPS:,} steps: checksums of its state, and whether all {len(NAMES)} integrators give the\n"
        f"bits of kd.PointGravity. A Python function costs what calls of NumPy cost, for one body or a thousand."
    )
    return "\n\n".join([heading, table(rows), *absent])


def alone(force: Term, name: Any, dt: float) -> tuple[str, float]:
    """Mercury in its plane, under a force; mass 1, so that force and acceleration are the same number.

    Returns the checksum in the end and the seconds that a step took.
    """
    planet = PLANETS[MERCURY - 1]._replace(inclination=0.0)
    position, velocity = (state[None, :2] for state in on_ellipse(planet, anomaly(planet)))
    mercury = kd.Stepper(position, velocity, dt=dt, integrator=name, forces=[force])
    begin = time.perf_counter()
    mercury.step(STEPS)
    return f"{mercury.checksum():016x}", (time.perf_counter() - begin) / STEPS


COLOURS = ("#f2b705", "#8c8c8c", "#d9a441", "#2f6fb0", "#c1440e", "#b07f4f", "#c9b27c", "#5fb3b3", "#3f54ba")
RADII = np.array([0.2, 0.06, 0.09, 0.09, 0.07, 0.17, 0.15, 0.12, 0.12])  #: in the picture; not to scale


def flat(from_sun: np.ndarray) -> np.ndarray:
    """Seen from above, with the square root of the distance to the Sun, so that all planets are seen."""
    x = from_sun[:, :2]
    return x / np.sqrt(np.sqrt((x * x).sum(axis=1, keepdims=True)) + 1e-12)


def ellipses() -> Iterator[np.ndarray]:
    """The orbits at the start, as lines in the picture."""
    for planet in PLANETS:
        yield flat(np.array([on_ellipse(planet, E)[0] for E in np.linspace(0, 2 * math.pi, 200)]))


def scene(options: argparse.Namespace) -> Scene:
    """60 days a second."""
    position, velocity = solar_system()
    clock = kd.FixedClock(dt=options.dt, scale=60.0, max_steps=10_000)
    return Scene(
        "kickdrift: the solar system, 60 days a second; distances as square roots",
        kd.Stepper(position, velocity, mass=MASS, clock=clock, integrator="yoshida6", forces=[kd.NBody(GM)]),
        view=(-6.3, 6.3, -6.0, 6.0),
        radius=RADII,
        colour=COLOURS,
        backdrop=tuple(ellipses()),
        names={body: planet.name for body, planet in enumerate(PLANETS, start=1)},
        flat=lambda position: flat(position - position[0]),
        mode="hermite",  # four days are a long way for Mercury
    )


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Energy errors over the years, beside the planets as they are in the end."""
    figure.set_size_inches(12.5, 6)
    energy, picture = figure.subplots(1, 2, width_ratios=(1.15, 1))
    colours = dict(zip(NAMES, ("tab:red", "tab:orange", "black", "tab:blue", "tab:green"), strict=True))
    for name, colour in over(colours.items(), "orbit", "curves"):
        each = run(name, options.dt, options.years)
        largest = np.maximum.accumulate(np.abs(each.energy_error))
        label = f"{name} (loses Mercury)" if each.axes[MERCURY] > 1000 else name
        energy.loglog(np.arange(1, len(largest)), largest[1:], color=colour, linewidth=2, label=label)
    energy.set(title=f"Largest error of the energy so far, dt = {options.dt:g} days", xlim=(1, max(options.years, 2)))
    energy.set(xlabel="years", ylabel="share of the energy at the start")
    energy.legend(frameon=False)
    end = scene(options)
    end.stepper.step(round(options.years * YEAR / options.dt))
    draw(picture, end)
    picture.set(title=f"After {_years(options.years)}, under yoshida6", xticks=[], yticks=[])
    picture.set_xlabel("from above; distances to the Sun drawn as square roots,\nand the ellipses of the start")
