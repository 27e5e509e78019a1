"""The worked tables printed in the texts, row by row: mass 10, stiffness 5, x = 20, v = 0."""

import csv
import math
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

import kickdrift as kd

TABLES = Path(__file__).parents[1] / "tables"
MASS, STIFFNESS, START = 10, 5, 20.0


def rows(name):
    with open(TABLES / name, newline="") as file:
        return [{key: Decimal(text) for key, text in row.items()} for row in csv.DictReader(file)]


def printed(value):
    """Round like the Notes: one decimal, halves away from zero."""
    return Decimal(value).quantize(Decimal("0.1"), ROUND_HALF_UP)


def assert_row(row, t, x, v):
    acceleration = -STIFFNESS * x / MASS
    assert (row["t"], row["x"], row["v"], row["a"]) == tuple(map(printed, (t, x, v, acceleration)))


def spring(cls, dt, integrator):
    return cls([[START]], mass=MASS, dt=dt, integrator=integrator, forces=[kd.AnchorSpring(STIFFNESS)])


def rk4_with_the_slip(x, v, h):
    """RK4 as coded in the Notes: the new v is stored before the new x uses it in place of k1's velocity."""

    def a(x):
        return -STIFFNESS * x / MASS

    a1 = a(x)
    v2 = v + h / 2 * a1
    a2 = a(x + h / 2 * v)
    v3 = v + h / 2 * a2
    a3 = a(x + h / 2 * v2)
    v4 = v + h * a3
    a4 = a(x + h * v3)
    v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return x + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v


REPRODUCED = [path.name for path in sorted(TABLES.glob("*.csv")) if not path.name.startswith("rk4")]
RK4 = [path.name for path in sorted(TABLES.glob("rk4_as_printed_*.csv"))]


def test_all_tables_are_covered():
    assert len(REPRODUCED) == 6
    assert len(RK4) == 2
    assert sum(len(rows(name)) for name in REPRODUCED + RK4) == 73


@pytest.mark.parametrize("name", REPRODUCED)
def test_every_row_of_the_tables_is_reproduced(Stepper, name):
    integrator = next(known for known in kd.INTEGRATORS if name.startswith(known + "_dt"))
    table = rows(name)
    dt = table[1]["t"] - table[0]["t"]
    stepper = spring(Stepper, float(dt), integrator)
    for row in table:
        assert_row(row, stepper.time, stepper.position.item(), stepper.velocity.item())
        stepper.step()


@pytest.mark.parametrize("name", RK4)
def test_rk4_as_printed_is_reproduced_with_the_error_in_its_code(name):
    table = rows(name)
    h = float(table[1]["t"])
    x, v = START, 0.0
    for number, row in enumerate(table):
        assert_row(row, number * h, x, v)
        x, v = rk4_with_the_slip(x, v, h)


def test_correct_rk4_gives_15_2083_where_the_notes_print_13_7(Stepper):
    stepper = spring(Stepper, 1, "rk4")
    stepper.step()
    x = stepper.position.item()
    assert round(x, 4) == 15.2083
    assert round(20 * math.cos(math.sqrt(0.5)), 3) == 15.205
    assert rows("rk4_as_printed_dt1.csv")[1]["x"] == Decimal("13.7")
    # The error does not affect velocities of the first step.
    assert printed(stepper.velocity.item()) == rows("rk4_as_printed_dt1.csv")[1]["v"]


def test_verlet_started_backward_equals_semi_implicit_euler_positions(Stepper):
    verlet = spring(Stepper, 1, kd.Verlet(start="backward"))
    euler = spring(Stepper, 1, "semi_implicit_euler")
    for row in rows("semi_implicit_euler_dt1.csv"):
        assert_row(row, verlet.time, verlet.position.item(), verlet.velocity.item())
        verlet.step()
        euler.step()
        assert verlet.position.item() == pytest.approx(euler.position.item(), rel=1e-13)
