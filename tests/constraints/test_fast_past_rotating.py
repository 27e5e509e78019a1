"""Fast bodies near a shape that rotates within the step, compared with sampled moments of the motion."""

import numpy as np
import pytest

import kickdrift as kd

HERTZ = 60


def least_gap(ends, center, angle, way, radius, moments=2000):
    """Return the first and the least gap between a moving body and a segment that rotates by `angle` meanwhile."""
    share = np.linspace(0, 1, moments)
    arm = way[0] + (way[1] - way[0]) * share[:, None] - center
    c, s = np.cos(angle * share), np.sin(angle * share)
    place = np.stack([c * arm[:, 0] + s * arm[:, 1], c * arm[:, 1] - s * arm[:, 0]], axis=1) + center
    side = ends[1] - ends[0]
    along = np.clip((place - ends[0]) @ side / (side @ side), 0, 1)
    gaps = np.linalg.norm(place - ends[0] - along[:, None] * side, axis=1) - radius
    return gaps[0], gaps.min()


@pytest.mark.parametrize("angle", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("length", [0.3, 3, 30, 300])
def test_a_fast_body_hits_what_it_meets_and_nothing_else(Stepper, angle, length):
    """A body hits exactly those segments that come closer than its radius of 0.3 m at some moment of the step."""
    rng = np.random.default_rng([1, int(100 * angle), int(10 * length)])
    radius, met, passed = 0.3, 0, 0
    for _ in range(300 if length < 1 else 150):
        ends = rng.normal(size=2) + np.array([np.zeros(2), 2 * rng.normal(size=2)])
        center = rng.normal(size=2) * rng.choice([0, 1, 5])
        middle, direction = rng.normal(size=2) * rng.choice([0.5, 2, 5]), rng.normal(size=2)
        direction *= length / np.linalg.norm(direction)
        begin = middle - rng.uniform(0.1, 0.9) * direction
        way = np.array([begin, begin + direction])
        first, least = least_gap(ends, center, angle, way, radius)
        if first < 0.01 or abs(least + radius / 4) < radius / 2:
            continue
        rotor = kd.Segments([ends], 1.0, 0.0, radius, angular_velocity=angle * HERTZ, center=center)
        body = Stepper([way[0]], [direction * HERTZ], hz=HERTZ, constraints=[rotor])
        body.step()
        if least > 0:
            passed += 1
            np.testing.assert_allclose(body.position[0], way[1], atol=1e-9 * length)
        else:
            met += 1
            assert abs(body.position[0] - way[1]).max() > 1e-3
    assert met > 0
    assert passed > 10


def test_a_body_that_passes_a_rotor_far_away_is_not_touched(Stepper):
    """In the rotor's frame the body moves along an arc; the chord of that arc is 50 m closer to the rotor."""
    rotor = kd.Segments([[(0, 0), (60, 0)]], 1.0, 0.0, 0.1, angular_velocity=-HERTZ, center=(0, 0))
    body = Stepper([[0.0, 100.0]], [[200.0 * HERTZ, 0.0]], hz=HERTZ, constraints=[rotor])
    body.step()
    assert body.position.tolist() == [[200.0, 100.0]]


@pytest.mark.parametrize("seed", [3133, 4175, 8087, 8654])
def test_a_way_of_too_many_pieces_touches_nothing_that_it_only_comes_near(Stepper, seed):
    """In a step of 1 km past a rotor, chords of pieces of the arc cut through the rotor; the arc itself does not."""
    rng = np.random.default_rng(seed)
    ends, angle = np.array([[0.0, 0.0], [1.0, 0.0]]), rng.choice([0.3, 0.5, 1.0])
    direction = rng.normal(size=2)
    direction *= 1000 / np.linalg.norm(direction)
    middle = 1.2 * rng.normal(size=2)
    way = np.array([middle - 0.5 * direction, middle + 0.5 * direction])
    assert least_gap(ends, np.zeros(2), angle, way, 0.02, 20000)[1] > 0.05
    rotor = kd.Segments([ends], 1.0, 0.0, 0.02, angular_velocity=angle * HERTZ, center=(0, 0))
    body = Stepper([way[0]], [direction * HERTZ], hz=HERTZ, constraints=[rotor])
    body.step()
    np.testing.assert_allclose(body.position[0], way[1], atol=1e-9)
