"""The demos of the ODE stepper say what is known from the books."""

import numpy as np
import pytest

from kickdrift.demos import attractor, growth
from kickdrift.reference import ODEStepper


def test_the_standard_run_is_that_of_the_book():
    """World Dynamics, figure 4-1: population peaks in 2020 at 5.3e9, quality of life before 1950."""
    standard = growth.run(every=1)["standard"]
    people = standard.stocks[:, 0]
    assert standard.year[standard.peak] == pytest.approx(2020, abs=2)
    assert people.max() == pytest.approx(5.3e9, rel=0.01)
    assert people[70] == pytest.approx(3.6e9, rel=0.03)  # 1970
    assert 1940 <= standard.year[standard.ratios.quality.argmax()] <= 1950
    assert standard.ratios.pollution.max() == pytest.approx(5.7, abs=0.1)
    assert standard.stocks[-1, 1] / growth.RESOURCES == pytest.approx(0.31, abs=0.01)


def test_the_other_futures():
    """Figure 4-5: the pollution crisis, more than forty times the standard of 1970; figure 6-1: an equilibrium."""
    runs = growth.run(every=1)
    assert runs["frugal"].ratios.pollution.max() > 40
    people = runs["frugal"].stocks[:, 0]
    assert people[150:].min() < people.max() / 5
    equilibrium = runs["equilibrium"].stocks[90:, 0]  # from 1990 on
    assert equilibrium.max() / equilibrium.min() < 1.03


def test_all_futures_share_the_past():
    runs = growth.run(every=1)
    for each in runs.values():
        np.testing.assert_array_equal(each.stocks[:71], runs["standard"].stocks[:71])


def test_the_reference_agrees():
    start = np.tile([1.65e9, growth.RESOURCES, 0.4e9, 0.2e9, 0.2], (3, 1))
    book = ODEStepper(start, growth.world, hz=growth.PER_YEAR)
    book.step(75 * growth.PER_YEAR)
    for i, each in enumerate(growth.run(every=75).values()):
        np.testing.assert_array_equal(book.y[i], each.stocks[1])


def test_neighbours_part_as_in_the_books():
    options = type("Options", (), {"trajectories": 4000, "threads": 1})
    weather = attractor.cloud(options)
    weather.step(attractor.MIXED * attractor.HZ)
    growth_ = attractor.lyapunov(weather)
    assert growth_.rate == pytest.approx(attractor.LYAPUNOV, abs=4 * growth_.error + 0.003)
