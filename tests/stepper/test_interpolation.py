"""Oracles for interpolation between two states: the defining conditions of each mode, and de Casteljau's algorithm."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.stepper import interpolation

DTYPES = [np.float32, np.float64]


def fractions(rng, size):
    return [Fraction(int(number), 97) for number in rng.integers(-300, 300, size)]


def drawn(mode, alpha, h, x, v, y, w):
    """Apply the interpolation weights to the old state (x, v) and the new one (y, w); exact for exact numbers."""
    if mode == "extrapolate":
        x, v = y, w  # extrapolation starts from the new state
    by_x, by_v, by_w = map(Fraction, interpolation.weights(mode, alpha, h, between=True))
    return x + (by_x * (y - x) + (by_v * v + by_w * w))


def de_casteljau(alpha, h, x, v, y, w):
    """Evaluate the Bézier cubic with points x, x + h v / 3, y - h w / 3, y: its end velocities are v and w."""
    points = [x, x + h * v / 3, y - h * w / 3, y]
    while len(points) > 1:
        points = [(1 - alpha) * a + alpha * b for a, b in pairwise(points)]
    return points[0]


def test_hermite_reproduces_every_cubic():
    """Four conditions define a cubic, so any cubic is reproduced at any time."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        a, b, c, d = fractions(rng, 4)
        h = abs(fractions(rng, 1)[0]) + Fraction(1, 60)

        def place(t, a=a, b=b, c=c, d=d):
            return a + b * t + c * t**2 + d * t**3

        def speed(t, b=b, c=c, d=d):
            return b + 2 * c * t + 3 * d * t**2

        ends = place(0), speed(0), place(h), speed(h)
        for alpha in (Fraction(0), Fraction(1), *fractions(rng, 5)):
            assert drawn("hermite", alpha, h, *ends) == place(alpha * h)
            assert de_casteljau(alpha, h, *ends) == place(alpha * h)


def test_linear_and_extrapolate_are_straight_lines():
    rng = np.random.default_rng(2)
    for _ in range(100):
        x, v, y, w, alpha, h = fractions(rng, 6)
        assert drawn("linear", alpha, h, x, v, y, w) == (1 - alpha) * x + alpha * y
        assert drawn("extrapolate", alpha, h, x, v, y, w) == y + alpha * h * w


def expected(mode, alpha, h, x, v, y, w):
    """Return the exact result as a Fraction of float inputs."""
    x, v, y, w, alpha, h = (Fraction(float(number)) for number in (x, v, y, w, alpha, h))
    if mode == "linear":
        return (1 - alpha) * x + alpha * y
    return y + alpha * h * w if mode == "extrapolate" else de_casteljau(alpha, h, x, v, y, w)


@pytest.mark.parametrize("canvas", [None, *DTYPES])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", interpolation.MODES)
def test_interpolate_equals_the_exact_result(Stepper, mode, dtype, canvas):
    """Interpolation is between the last two states of a frame, which are `substeps` small steps apart."""
    rng = np.random.default_rng(3)
    compared = 0
    for dim, substeps in ((1, 1), (2, 3), (3, 1)):
        x, v = (rng.normal(size=(5, dim)).astype(dtype) for _ in range(2))
        clock = Stepper._clock_type(50, substeps=substeps)
        stepper, twin = (
            Stepper(x.copy(), v.copy(), integrator="rk4", forces=[kd.AnchorSpring(30.0), kd.LinearDrag(0.5)], **timing)
            for timing in ({"clock": clock}, {"dt": Fraction(1, 50 * substeps)})
        )
        for _ in range(4):
            assert stepper.advance(0.029) in (1, 2)
            twin.step(stepper.tick - twin.tick - substeps)
            old = twin.position.copy(), twin.velocity.copy()
            twin.step(substeps)
            assert twin.tick == stepper.tick
            for alpha in (stepper.alpha, 0.0, 1.0, 0.37, 1.25):
                out = None if canvas is None else np.empty_like(x, dtype=canvas)
                picture = stepper.interpolate(alpha, out=out, mode=mode)
                epsilon = float(max(np.finfo(dtype).eps, np.finfo(canvas or dtype).eps))
                for place in np.ndindex(x.shape):
                    numbers = [float(array[place]) for array in (*old, stepper.position, stepper.velocity)]
                    true = expected(mode, alpha, 1 / 50, *numbers)
                    size = abs(numbers[0]) + abs(numbers[2]) + abs(numbers[1]) / 50 + abs(numbers[3]) / 50
                    assert abs(Fraction(float(picture[place])) - true) <= 8 * epsilon * size, (alpha, place)
                    compared += 1
    assert compared == 4 * 5 * 5 * (1 + 2 + 3)


def vertices(text, n):
    """Create a ctypes buffer of vertex structs, like Panda3D's vertex buffers."""
    import ctypes

    kinds = {"f": ctypes.c_float, "d": ctypes.c_double, "i": ctypes.c_int}

    class Vertex(ctypes.Structure):
        _fields_ = [(f"column{number}", kinds[letter]) for number, letter in enumerate(text)]

    return (Vertex * n)()


@pytest.mark.parametrize(("dim", "text"), [(1, "f"), (2, "ff"), (3, "fff"), (3, "ddd"), (2, "fff"), (2, "ddd")])
def test_interpolating_into_vertex_structs(Stepper, dim, text):
    position = np.arange(5.0 * dim).reshape(5, dim)
    world = Stepper(position.copy())
    room = vertices(text, 5)
    view = memoryview(room)
    assert view.shape == (5,)
    assert world.interpolate(out=view) is view
    drawn = np.array([[getattr(vertex, name) for name, _ in vertex._fields_] for vertex in room])
    assert drawn[:, :dim].tolist() == position.tolist()
    assert not drawn[:, dim:].any()
    records = np.zeros(5, [(f"f{number}", "f4") for number in range(len(text))])
    world.interpolate(out=records[::-1])
    assert records["f0"].tolist() == position[::-1, 0].tolist()


def test_two_dimensions_are_written_to_the_first_two_of_three_columns(Stepper):
    position = np.arange(8.0).reshape(4, 2)
    world = Stepper(position.copy())
    for room in (np.full((4, 3), 7.0), np.full((4, 3), 7.0, np.float32, order="F"), np.full((4, 6), 7.0)[:, ::2]):
        assert world.interpolate(out=room) is room
        assert room[:, :2].tolist() == position.tolist()
        assert (room[:, 2] == 7).all()


@pytest.mark.parametrize(
    ("dim", "dtype", "error"),
    [
        (3, "f4,f4", ValueError),
        (2, "f4,f4,f4,f4", ValueError),
        (3, "f4,f8,f4", TypeError),
        (3, "i4,i4,i4", TypeError),
        (1, "f4,f4,f4", ValueError),
        (3, {"names": "abc", "formats": ["f4"] * 3, "offsets": [0, 4, 12]}, TypeError),
        (3, {"names": "abc", "formats": ["f4"] * 3, "offsets": [0, 0, 0]}, ValueError),
    ],
)
def test_unsuitable_vertex_formats_are_refused(Stepper, dim, dtype, error):
    world = Stepper(np.zeros((4, dim)))
    with pytest.raises(error, match="out: expected"):
        world.interpolate(out=np.zeros(4, dtype))
    with pytest.raises(TypeError, match="out: expected"):
        world.interpolate(out=np.zeros((4, dim), "f4,f4"))
    if dim == 3:
        with pytest.raises(ValueError, match="out: expected shape"):
            world.interpolate(out=np.zeros((4, 4)))


@pytest.mark.parametrize("layout", ["row", "component", "apart"])
@pytest.mark.parametrize("what", ["rows", "tiles", "passes", "walls"])
def test_the_previous_state_of_many_bodies_is_unchanged(what, layout):
    rng = np.random.default_rng(3)
    n = 1000  # large enough that the step itself stores the previous state
    given = {"forces": [kd.PointGravity(1.0, (0, 0)) if what == "tiles" else kd.LinearDrag(0.1)], "dt": 0.25}
    if what == "passes":
        given["integrator"] = "groot_warren"
    if what == "walls":
        given["constraints"] = [kd.Plane((0, 1), 0.0)]
    arrays = [rng.normal(size=(n, 2)) for _ in range(2)]
    if layout == "component":
        arrays = [np.asfortranarray(array) for array in arrays]
    elif layout == "apart":
        arrays = [array.repeat(2, axis=1)[:, ::2] for array in arrays]
    world = kd.Stepper(*arrays, threads=2, **given)
    for _ in range(3):
        before = world.position.copy(), world.velocity.copy()
        assert world.advance(0.25) == 1
        assert np.array_equal(world.interpolate(0.0), before[0])
        assert np.array_equal(world._previous[1], before[1])
        assert not np.array_equal(world.position, before[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "rk4", "semi_implicit_euler", "yoshida4"])
def test_the_previous_state_is_complete_up_to_the_end_of_rows(isa, integrator, dtype):
    """Whole blocks of vectors are stored while the step reads them; the rest of a row is copied."""
    for n, dim in ((385, 1), (391, 2), (400, 3), (1003, 2)):
        start = np.random.default_rng(n).normal(size=(2, n, dim)).astype(dtype)
        applied = [kd.AppliedForce(np.ones((n, dim), dtype))] if n % 2 else []
        forces = [kd.Gravity(np.ones(dim)), *applied]
        worlds = [kd.Stepper(*start.copy(), dt=0.25, integrator=integrator, forces=forces) for _ in range(2)]
        for _ in range(2):
            before = [worlds[1].position.copy(), worlds[1].velocity.copy()]
            worlds[0].advance(0.25)
            worlds[1].step()
            assert worlds[0].checksum() == worlds[1].checksum()
            assert worlds[0]._previous[0].tobytes() == before[0].tobytes()
            assert worlds[0]._previous[1].tobytes() == before[1].tobytes()


def test_interpolate_does_not_change_snapshots(Stepper):
    """Even the first call, before any frame, when no clock exists, leaves snapshots unchanged."""
    world = Stepper([[0.0]], [[1.0]])
    before = world.snapshot()
    for mode in ("linear", "hermite", "extrapolate"):
        assert world.interpolate(mode=mode).tolist() == [[0.0]]
    assert world.alpha == 0
    assert world.snapshot() == before
    assert Stepper([[0.0]], dt=1e-12).alpha == 0, "which no clock can count"


@pytest.mark.parametrize("alive", [None, 1])
def test_interpolation_after_restore_ignores_the_discarded_timeline(alive):
    """The stored previous state belongs to the discarded timeline, although it has the same tick."""
    ball = kd.Stepper([[0.0]], [[6.0]], dt=1 / 60, alive=alive)
    start = ball.snapshot()
    ball.step(2)
    saved = ball.snapshot()
    ball.restore(start)
    ball.velocity[:] = -6.0
    assert ball.advance(0.04) == 2
    assert ball.interpolate(0.5) > ball.position
    ball.restore(saved)
    assert ball.interpolate(0.5) == ball.position
