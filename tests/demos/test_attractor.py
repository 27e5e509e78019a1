"""Demo of the ODE stepper: its Lyapunov exponent equals the published one."""

import pytest

from kickdrift.demos import attractor


def test_the_lyapunov_exponent_equals_the_published_one():
    options = type("Options", (), {"trajectories": 4000, "threads": 1})
    weather = attractor.cloud(options)
    weather.step(attractor.MIXED * attractor.HZ)
    rate, error = attractor.lyapunov(weather)
    assert rate == pytest.approx(attractor.LYAPUNOV, abs=4 * error + 0.003)
