"""The demo of the ODE stepper says what is known from the books."""

import pytest

from kickdrift.demos import attractor


def test_neighbours_part_as_in_the_books():
    options = type("Options", (), {"trajectories": 4000, "threads": 1})
    weather = attractor.cloud(options)
    weather.step(attractor.MIXED * attractor.HZ)
    rate, error = attractor.lyapunov(weather)
    assert rate == pytest.approx(attractor.LYAPUNOV, abs=4 * error + 0.003)
