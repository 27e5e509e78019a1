"""The demos of bodies that pull, touch and hold each other say what is known of such bodies."""

import math
import re
import sys

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import cli
from kickdrift.demos import balls, cloth, orbit, pulls, ragdoll


def options(*arguments):
    return cli._parser().parse_args(["demo", *arguments])


def rows(report, title):
    """The cells of the table with such a title, without its head."""
    block = next(block for block in report.split("\n\n") if block.startswith(title))
    return [line.split() for line in block.splitlines()[2:]]


# The solar system.


def test_the_planets_are_where_they_were():
    """Heliocentric, on 1 January 2000 at noon, as the JPL's ephemerides have it (au)."""
    position, velocity = orbit.solar_system()
    from_sun = position - position[0]
    assert from_sun[orbit.EARTH] == pytest.approx([-0.1771, 0.9672, 0.0], abs=1e-3)
    assert from_sun[5] == pytest.approx([4.001, 2.939, -0.102], abs=0.02)  # Jupiter
    km_per_s = 149597870.7 / 86400
    assert np.linalg.norm(velocity[orbit.EARTH] - velocity[0]) * km_per_s == pytest.approx(30.29, abs=0.02)
    for body, planet in enumerate(orbit.PLANETS, start=1):
        assert orbit.semi_major_axis(orbit.stepper("rk4", 4), body) == pytest.approx(planet.a, rel=1e-4)
    for total in (orbit.MASS @ position, orbit.MASS @ velocity):
        assert np.abs(total).max() < 1e-15


def test_earth_takes_a_year():
    system = orbit.stepper("yoshida6", 0.25)
    before = system.position[orbit.EARTH] - system.position[0]
    system.step(round(365.256 / 0.25))  # a sidereal year
    after = system.position[orbit.EARTH] - system.position[0]
    assert np.linalg.norm(after - before) < 0.005


@pytest.fixture(scope="module")
def centuries():
    return {name: orbit.run(name, 4.0, 300) for name in orbit.NAMES}


def test_who_keeps_the_energy(centuries):
    largest = {}
    for name, run in centuries.items():
        error = np.abs(run.energy_error)
        largest[name] = error.max()
        if kd.INTEGRATORS[name].symplectic:
            assert error[150:].max() < 1.2 * error[:150].max()
            assert run.axes[orbit.MERCURY] == pytest.approx(0.387, abs=0.01)
            assert run.axes[orbit.EARTH] == pytest.approx(1.0, abs=0.002)
    assert largest["velocity_verlet"] < 5e-5
    assert largest["yoshida4"] < largest["velocity_verlet"] / 4
    assert largest["yoshida6"] < largest["yoshida4"] / 40
    assert (np.diff(centuries["explicit_euler"].energy_error) > 0).all()
    assert centuries["explicit_euler"].energy_error[-1] > 0.3
    assert (np.diff(centuries["rk4"].energy_error[:40]) < 0).all()  # until Mercury falls into the Sun
    assert largest["rk4"] > 0.01


def test_orbit_prints_what_was_measured(centuries):
    printed = {row[0]: row[1:] for row in rows(orbit.report(options("orbit", "--years", "300")), "integrator ")}
    assert list(printed) == list(orbit.NAMES)
    for name, run in centuries.items():
        errors, (largest, mercury, earth, _) = printed[name][:4], printed[name][4:]
        assert [float(cell) for cell in errors] == pytest.approx(run.energy_error[[1, 10, 100, 300]], rel=0.5)
        assert float(largest) == pytest.approx(np.abs(run.energy_error).max(), rel=0.5)
        for cell, body in ((mercury, orbit.MERCURY), (earth, orbit.EARTH)):
            axis = run.axes[body]
            assert cell == "lost" if axis > 1000 else float(cell) == pytest.approx(axis, abs=1e-3)


@pytest.mark.parametrize("dt", ["0", "31", "nan", "soon"])
def test_bad_dt(capsys, dt):
    with pytest.raises(SystemExit):
        options("orbit", "--dt", dt)
    assert f"argument --dt: expected 0.1 to 30 days, such as 4, got '{dt}'" in capsys.readouterr().err


# One force, four times.


def four_ways():
    report = orbit.report(options("orbit", "--years", "1"))
    table = next(block for block in report.split("\n\n") if block.startswith("Mercury's force"))
    cells = [re.split("  +", line) for line in table.splitlines()[2:]]
    return {way: rest for way, *rest in cells}, report[report.index(table) + len(table) :]


def test_all_ways_give_the_same_bits():
    cells, absent = four_ways()
    for way in ["kd.PointGravity", "kd.Force, in Python", *(way for way in pulls.WAYS if way not in absent)]:
        assert cells[way][:3] == cells["kd.PointGravity"][:3]
        assert cells[way][3] == ("-" if way == "kd.PointGravity" else "yes")
    assert len(set(cells["kd.PointGravity"][:3])) == 3
    assert len(cells) + absent.count("kd.NativeForce") == 4


def test_other_bits_are_seen(monkeypatch):
    monkeypatch.setitem(pulls.WAYS, "kd.Force, in Python", lambda mu: pulls.in_python(math.nextafter(mu, 1)))
    cells, _ = four_ways()
    assert cells["kd.Force, in Python"][3] == "NO"


def test_what_is_absent_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(pulls.shutil, "which", lambda name: None)
    cells, absent = four_ways()
    assert list(cells) == ["kd.PointGravity", "kd.Force, in Python"]
    assert absent.strip().split("\n\n") == [
        "kd.NativeForce, by numba: not installed: pip install numba.",
        "kd.NativeForce, C by ctypes: no C compiler: cc, gcc or clang.",
    ]


def test_a_compiler_that_fails_is_said(monkeypatch):
    monkeypatch.setattr(pulls.shutil, "which", lambda name: sys.executable)
    with pytest.raises(pulls.AbsentError, match="fails: "):
        pulls.in_c(1.0)


# Balls.


def test_the_gas(capsys):
    assert cli.main(["demo", "balls"]) == 0
    report = capsys.readouterr().out
    table = np.array([[float(cell) for cell in row] for row in rows(report, "time (s)")])
    time, energy, px, py, slowest, fastest, distance = table.T
    assert time.tolist() == list(balls.TIMES)
    assert np.abs(energy).max() < 1e-12
    assert np.ptp(px) > 1  # the walls
    assert np.ptp(py) > 1
    assert slowest[0] == fastest[0] == 1
    # All at 1 m/s, where of Maxwell's and Boltzmann's 1 - 1/e are slower.
    assert distance[0] == pytest.approx(1 - math.exp(-1), abs=1e-3)
    assert distance[-1] < 0.05
    assert distance[-1] < distance[1] < distance[0]


def test_without_walls_momentum_stays():
    gas = balls.gas(500, walls=False)
    before, energy, start = balls.momentum(gas), sum(gas.energy()), gas.velocity.copy()
    gas.step(300)
    assert (np.abs(gas.velocity - start).max(axis=1) > 1e-9).mean() > 0.9  # hit
    assert np.abs(balls.momentum(gas) - before).max() < 1e-10
    assert sum(gas.energy()) == pytest.approx(energy, rel=1e-13)


def test_speeds_in_the_long_run():
    """<v^4> = 2 <v^2>^2 in two dimensions."""
    gas = balls.gas(1000)
    gas.step(20 * balls.HZ)
    fourth = []
    for _ in range(20):
        gas.step(balls.HZ)
        fourth.append(np.mean(balls.speeds(gas) ** 4) / np.mean(balls.speeds(gas) ** 2) ** 2)
    assert np.mean(fourth) == pytest.approx(2, abs=0.06)


def test_the_distance_is_kolmogorovs():
    quantiles = np.sqrt(-2 * np.log1p(-(np.arange(1000) + 0.5) / 1000))
    assert balls.distance(quantiles, 1.0) == pytest.approx(0.0005)
    assert balls.distance(2 * quantiles, 2.0) == pytest.approx(0.0005)


# Cloth.


def test_what_makes_cloth_stiff():
    longest = {plan: cloth.run(*plan).stretch.max() for plan in cloth.PLANS}
    stiff = {plan[:2]: value for plan, value in longest.items() if plan[2] is None}
    assert stiff[60, 4] > 2 * stiff[60, 16] > 4 * stiff[60, 64] > 0
    assert stiff[240, 4] < stiff[60, 16] / 2  # at the same cost
    soft = [value for plan, value in longest.items() if plan[2] is not None]
    assert len(soft) == 3
    assert max(soft) < 1.1 * min(soft)
    assert min(soft) > 0.2


def test_the_cloth_hangs_on_its_hooks_and_lies_on_the_floor(capsys):
    piece = cloth.scene(options("cloth")).stepper
    hooks = piece.position[cloth.HUNG]
    piece.step(cloth.SECONDS * 240)
    np.testing.assert_array_equal(piece.position[cloth.HUNG], hooks)
    z = piece.position[:, 2]
    assert z.min() == 0
    assert cloth.SIDE <= np.count_nonzero(z < 1e-9) < 5 * cloth.SIDE  # the front edge and little more
    assert cli.main(["demo", "cloth"]) == 0
    for row in rows(capsys.readouterr().out, "threads"):
        *_, fastest, lowest, _ = row
        assert float(lowest) == 0
        assert float(fastest) < 0.2


# Ragdolls.


def test_ragdolls_come_to_rest(capsys):
    assert cli.main(["demo", "ragdoll"]) == 0
    report = capsys.readouterr().out
    table = np.array([[float(cell.rstrip("%")) for cell in row] for row in rows(report, "time (s)")])
    time, energy, fastest, head, gap, off = table.T
    assert time.tolist() == list(ragdoll.TIMES)
    assert (np.diff(energy) < 0).all()
    assert fastest[1] > 3
    assert fastest[time >= 5].max() < 0.05
    assert (gap >= 0).all()
    assert head[0] > 1.5
    assert head[-1] < 1
    assert off.max() < 20
    assert off[time >= 2].max() < 1
    assert report.endswith("The pinned hand has moved by 0 m.\n")


def test_dolls_are_turned_and_not_bent():
    dolls = ragdoll.crowd(20)
    assert ragdoll.bones_off(dolls) < 1e-12
    places = dolls.position.reshape(20, -1, 3)
    one = ragdoll.PLACES - ragdoll.PLACES[0]
    handed = np.linalg.det(one[[2, 8, 10]])  # left shoulder, hip and knee
    for doll in places - places[:, :1]:
        assert np.linalg.det(doll[[2, 8, 10]]) == pytest.approx(handed)  # none is a mirror image
    distances = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1)
    np.testing.assert_allclose(distances, np.broadcast_to(distances[0], distances.shape), atol=1e-12)
