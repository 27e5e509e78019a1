"""Bodies far outside of a periodic box: kernels and reference find the same pairs."""

import numpy as np
import pytest
from plans import each_isa

import kickdrift as kd

KINDS = {
    "alike": lambda rng, n: ([], [kd.ElasticCollisions(0.15)]),
    "unlike": lambda rng, n: ([], [kd.ElasticCollisions(rng.uniform(0, 0.3, n))]),
    "swept": lambda rng, n: ([], [kd.ElasticCollisions(0.15, swept=True)]),
    "contacts": lambda rng, n: ([], [kd.Contacts(rng.uniform(0.05, 0.3, n))]),
    "pairs": lambda rng, n: ([kd.PairPotential("k/2*(r - 1)**2", cutoff=1.0, k=3.0)], []),
}


def play(cls, kind, dtype, seed):
    rng = np.random.default_rng(seed)
    dim, n, side = 1 + seed % 3, int(rng.integers(3, 24)), 6.0
    x = rng.uniform(-3, 3, (n, dim))
    out = 10.0 ** rng.uniform(0, 9 if dtype == np.float32 else 17, (n, 1))
    placed = [x + side * np.round(out * rng.normal(size=x.shape)), x * out, np.sign(x) * out][seed % 3]
    x = np.where(rng.random((n, 1)) < 0.4, placed, x).astype(dtype)
    x[1] = x[0]
    v = (rng.normal(size=x.shape) * rng.choice([1.0, 1e4])).astype(dtype)
    forces, held = KINDS[kind](rng, n)
    integrator = str(rng.choice(["velocity_verlet", "rk4", "verlet", "semi_implicit_euler"]))
    options = {"dt": 0.01, "integrator": integrator, "forces": forces, "alive": n - 1 if rng.integers(2) else None}
    world = cls(x, v, constraints=[*held, kd.Periodic(-side / 2, side / 2)], **options)
    seen = []
    for _ in range(4):
        try:
            world.step()
        except kd.NonFiniteError as error:
            return [*seen, str(error)]
        seen += [world.position.tobytes(), world.velocity.tobytes()]
        body = int(rng.integers(n - 1))
        world.position[body] *= dtype(10.0 ** rng.uniform(0, 9))  # far outside again
    return seen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_of_far_out_bodies_equal_the_reference(monkeypatch, kind, dtype):
    for seed in range(40):
        book = play(kd.reference.Stepper, kind, dtype, seed)
        for _isa in each_isa(monkeypatch):
            assert play(kd.Stepper, kind, dtype, seed) == book, seed


def test_bodies_too_far_out_do_not_collide_until_they_are_wrapped(Stepper):
    for dtype, far, farther in [(np.float32, 250, 260), (np.float64, 2.0**36, 2.0**38)]:
        for widths, met in [(1, True), (far, True), (farther, False)]:
            x = np.array([[0.25], [0.5 + 8 * widths]], dtype)
            world = Stepper(
                x, np.array([[1.0], [-1.0]], dtype), constraints=[kd.ElasticCollisions(0.2), kd.Periodic(-4, 4)]
            )
            world.step()
            assert (world.velocity[0, 0] < 0) == met
            world.step()
            assert world.velocity[0, 0] < 0
            assert (np.abs(world.position) < 4).all()


def test_a_box_moves_no_body_without_a_position(Stepper):
    """A NaN coordinate means no contact, even if the other coordinates are inside the box."""
    world = Stepper([[0.5, 0.2]], constraints=[kd.Boxes([(0, 0)], [(1, 1)], radius=0.5)])
    world.position[0, 1] = np.nan
    with pytest.raises(kd.NonFiniteError):
        world.step()
    assert world.position[0, 0] == 0.5
