"""Demo of elastic balls: results of kinetic gas theory."""

import math

import numpy as np
import pytest

from kickdrift import cli
from kickdrift.demos import balls


def rows(report, title):
    """Return the cells of the table with this title, without its header."""
    block = next(block for block in report.split("\n\n") if block.startswith(title))
    return [line.split() for line in block.splitlines()[2:]]


def test_the_report_shows_the_relaxation_of_a_gas(capsys):
    assert cli.main(["demo", "balls"]) == 0
    report = capsys.readouterr().out
    table = np.array([[float(cell) for cell in row] for row in rows(report, "time (s)")])
    time, energy, px, py, slowest, fastest, distance = table.T
    assert time.tolist() == list(balls.TIMES)
    assert np.abs(energy).max() < 1e-12
    assert np.ptp(px) > 1  # changed by the walls
    assert np.ptp(py) > 1
    assert slowest[0] == fastest[0] == 1
    # Initially all move at 1 m/s; in the Maxwell-Boltzmann distribution, the fraction 1 - 1/e is slower.
    assert distance[0] == pytest.approx(1 - math.exp(-1), abs=1e-3)
    assert distance[-1] < 0.05
    assert distance[-1] < distance[1] < distance[0]


def test_without_walls_momentum_is_conserved():
    gas = balls.gas(500, walls=False)
    before, energy, start = balls.momentum(gas), sum(gas.energy()), gas.velocity.copy()
    gas.step(300)
    assert (np.abs(gas.velocity - start).max(axis=1) > 1e-9).mean() > 0.9  # had collisions
    assert np.abs(balls.momentum(gas) - before).max() < 1e-10
    assert sum(gas.energy()) == pytest.approx(energy, rel=1e-13)


def test_speeds_reach_the_maxwell_boltzmann_distribution():
    """<v^4> = 2 <v^2>^2 in two dimensions."""
    gas = balls.gas(1000)
    gas.step(20 * balls.HZ)
    fourth = []
    for _ in range(20):
        gas.step(balls.HZ)
        fourth.append(np.mean(balls.speeds(gas) ** 4) / np.mean(balls.speeds(gas) ** 2) ** 2)
    assert np.mean(fourth) == pytest.approx(2, abs=0.06)


def test_the_distance_is_that_of_kolmogorov_and_smirnov():
    quantiles = np.sqrt(-2 * np.log1p(-(np.arange(1000) + 0.5) / 1000))
    assert balls.distance(quantiles, 1.0) == pytest.approx(0.0005)
    assert balls.distance(2 * quantiles, 2.0) == pytest.approx(0.0005)
