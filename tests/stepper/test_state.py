"""State of a stepper: arrays, tick, exact time, energy, records, integrator history."""

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from plans import LAYOUTS, assert_same_bits, assert_same_state, lay_out

import kickdrift as kd

GRAVITY = kd.Gravity((0, -9.81))


def ball(cls, **options):
    return cls([[0.0, 10.0]], [[1.0, 2.0]], **{"forces": [GRAVITY], **options})


# Arrays.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_strides_are_stepped_in_place(Stepper, layout, dtype):
    first, second = ("component", "sliced") if layout == "mixed" else (layout, layout)
    x, v = (lay_out(np.arange(12, dtype=dtype).reshape(4, 3), which) for which in (first, second))
    stepper = Stepper(x, v, dt=0.5, integrator="semi_implicit_euler", forces=[kd.Gravity((0, 2, 0))])
    assert stepper.position is x
    assert stepper.velocity is v
    stepper.step(2)
    start = np.arange(12).reshape(4, 3)
    assert v.tolist() == (start + [0, 2, 0]).tolist()  # noqa: RUF005
    assert x.tolist() == (start * 2 + [0, 1.5, 0]).tolist()


def test_only_the_items_of_a_slice_are_changed(Stepper):
    room = np.full((9, 5), 7.0)
    Stepper(room[1::2, 1:3], room[0:8:2, 3:], forces=[GRAVITY]).step(3)
    untouched = np.ones_like(room, bool)
    untouched[1::2, 1:3] = untouched[0:8:2, 3:] = False
    assert (room[untouched] == 7).all()


@pytest.mark.parametrize("numbers", [[[1, 2], [3, 4]], [(1.0, 2), (3, 4)], np.array([[1, 2], [3, 4]], np.int8)])
def test_lists_and_integers_are_copied_to_float64(Stepper, numbers):
    stepper = Stepper(numbers, numbers, dt=0.5)
    stepper.step()
    assert stepper.dtype == stepper.position.dtype == stepper.velocity.dtype == np.float64
    assert stepper.position.tolist() == [[1.5, 3], [4.5, 6]]
    assert np.array(numbers).tolist() == [[1, 2], [3, 4]]


def test_lists_of_float32_are_copied_to_float64(Stepper):
    assert Stepper([np.ones(2, np.float32)]).dtype == np.float64


def test_a_writable_buffer_is_stepped_in_place(Stepper):
    store = np.ones((2, 2), np.float32)
    Stepper(memoryview(store), np.ones((2, 2), np.float32), dt=1).step()
    assert store.tolist() == [[2, 2], [2, 2]]


def test_velocity_defaults_to_zero(Stepper):
    for x in (np.ones((2, 3), np.float32), np.ones((2, 3), order="F")):
        stepper = Stepper(x, forces=[])
        assert stepper.velocity.tolist() == [[0, 0, 0]] * 2
        assert stepper.velocity.dtype == x.dtype
        assert stepper.velocity.strides == x.strides


def test_values_written_between_calls_are_used(Stepper):
    stepper = ball(Stepper, dt=0.5, forces=[])
    stepper.step()
    stepper.position[0] = 5, 5
    stepper.velocity[0] = 2, 0
    stepper.step()
    assert stepper.position.tolist() == [[6, 5]]


@pytest.mark.parametrize("integrator", list(kd.INTEGRATORS))
def test_steppers_without_bodies(Stepper, integrator):
    terms = [kd.Gravity(np.zeros((0, 3))), kd.AnchorSpring([], anchor=np.zeros((0, 3)))]
    if integrator != "exact":
        terms += [kd.Damping([]), kd.PointGravity([])]
    for dtype in (np.float32, np.float64):
        stepper = Stepper(np.zeros((0, 3), dtype), None, [], integrator=integrator, forces=terms, threads=2)
        stepper.step(60)
        assert (stepper.n, stepper.tick, stepper.time) == (0, 60, 1.0)
        assert stepper.position.shape == (0, 3)
        assert stepper.energy() == (0.0, 0.0)
        assert stepper.force_evaluations == 0
        stepper.dt = 0.5
        assert len(stepper.record(2)) == 3


# Attributes.


def test_attributes(Stepper):
    forces = [GRAVITY, kd.LinearDrag(0.1)]
    stepper = Stepper(np.zeros((3, 2), np.float32), integrator="rk4", forces=forces, threads=2)
    assert (stepper.n, stepper.dim, stepper.dtype, stepper.threads) == (3, 2, np.float32, 2)
    assert (stepper.dt, stepper.tick, stepper.time, stepper.force_evaluations) == (1 / 60, 0, 0.0, 0)
    assert stepper.integrator == kd.RK4()
    assert stepper.forces == tuple(forces)
    assert stepper.constraints == ()
    assert stepper.step() is None
    forces.clear()
    assert len(stepper.forces) == 2
    for name in ("position", "velocity", "mass", "n", "dim", "time", "integrator", "forces", "threads"):
        with pytest.raises(AttributeError):
            setattr(stepper, name, copy.copy(getattr(stepper, name)))


def test_arrays_are_changed_in_place_and_not_replaced(Stepper):
    """`world.velocity *= 0.5` changes the array, and then assigns it: an error would come after the change."""
    x, v = np.ones((2, 2)), np.ones((2, 2))
    world = Stepper(x, v, hz=60, angular_velocity=2.0, inertia=1.0)
    world.position += (1, 2)
    world.velocity *= 0.5
    world.angular_velocity -= 1
    world.angle += 3
    assert world.position is x
    assert world.velocity is v
    assert (x.tolist(), v.tolist()) == ([[2, 3], [2, 3]], [[0.5, 0.5], [0.5, 0.5]])
    assert (world.angular_velocity.tolist(), world.angle.tolist()) == ([1, 1], [3, 3])
    message = r"position: expected to be changed in place, as in position\[:\] = ... or position \*= ..., got array"
    for other in (x.copy(), x[::-1], x.astype(np.float32), x[:1]):
        with pytest.raises(AttributeError, match=message):
            world.position = other
    with pytest.raises(AttributeError, match=r"velocity: expected to be changed in place, .* got 3"):
        world.velocity = 3
    with pytest.raises(AttributeError, match="orientation: expected none in this world"):
        world.orientation = x


def test_mass(Stepper):
    assert Stepper([[0.0]]).mass == 1.0
    assert type(Stepper([[0.0]], mass=np.float32(2)).mass) is float
    assert Stepper([[0.0]], mass=math.inf).mass == math.inf
    masses = Stepper([[0.0], [0.0]], mass=[1, math.inf]).mass
    assert masses.tolist() == [1, math.inf]
    assert masses.dtype == np.float64


def test_repr(Stepper):
    stepper = ball(Stepper, integrator=kd.GrootWarren(lam=0.65), dt=0.25)
    stepper.step(7)
    assert repr(stepper).endswith(
        "Stepper: 1 bodies, dim 2, float64, GrootWarren(lam=0.65), dt=0.25, forces=[Gravity], tick 7>"
    )
    assert repr(stepper).startswith("<kickdrift.")


# Time.


@pytest.mark.parametrize("hz", [30, 50, 60, 90, 120, 144, 240, 1000])
def test_time_is_an_integer_after_hz_steps(Stepper, hz):
    for options in ({"hz": hz}, {"dt": 1 / hz}, {"dt": Fraction(1, hz)}):
        stepper = Stepper(np.zeros((0, 1)), **options)
        stepper.step(hz)
        assert stepper.time == 1.0
        stepper.step(hz * 3600 * 24 * 365 - hz)
        assert stepper.time == 3600 * 24 * 365
    assert stepper.dt == 1 / hz


def test_time_is_exact_after_dt_changes(Stepper):
    stepper = Stepper([[0.0]], [[1.0]], dt=1 / 60)
    stepper.step(20)
    stepper.dt = Fraction(1, 30)
    assert (stepper.dt, stepper.time) == (1 / 30, 1 / 3)
    stepper.step(10)
    stepper.dt = 0.1
    stepper.dt = 1 / 7
    stepper.step(7)
    assert stepper.time == float(Fraction(2, 3) + 1)
    assert stepper.tick == 37
    assert stepper.position.item() == pytest.approx(5 / 3, rel=1e-14)


def test_the_rate_can_be_read_and_set_as_dt(Stepper):
    stepper = Stepper([[0.0]], [[1.0]], clock=Stepper._clock_type(60))
    stepper.step(20)
    stepper.hz = 30
    assert (stepper.hz, stepper.dt, stepper.clock.hz, stepper.time) == (30.0, 1 / 30, 30, 1 / 3)
    stepper.hz = "60000/1001"
    stepper.step(60)
    assert stepper.time == float(Fraction(1, 3) + Fraction(1001, 1000))
    for wrong, error in ((0, ValueError), (-60, ValueError), ("fast", ValueError), (None, TypeError)):
        with pytest.raises(error):
            stepper.hz = wrong
    assert Stepper([[0.0]], dt=-0.5).hz == -2
    assert kd.ODEStepper([[0.0, 1.0]], kd.flows.VanDerPol(), dt=0.25).hz == 4


def test_a_dt_that_is_no_simple_fraction_is_used_exactly(Stepper):
    dt = 0.016666  # rounded by the user: not 1/60
    odd = math.pi / 100
    for h, exact in ((dt, Fraction(16666, 10**6)), (odd, Fraction(odd))):
        stepper = Stepper(np.zeros((0, 1)), dt=h)
        stepper.step(1000)
        assert stepper.time == float(1000 * exact)


@pytest.mark.parametrize("integrator", sorted(set(kd.INTEGRATORS) - {"verlet", "groot_warren", "energy_euler"}))
def test_a_change_of_dt_starts_like_a_new_stepper(Stepper, integrator):
    forces = [GRAVITY, kd.LinearDrag(0.5), kd.AnchorSpring(2.0)] + [kd.Damping(0.3)] * (integrator != "exact")
    changed = ball(Stepper, integrator=integrator, forces=forces, dt=0.1)
    changed.step(4)
    fresh = Stepper(changed.position.copy(), changed.velocity.copy(), integrator=integrator, forces=forces, dt=0.03)
    changed.dt = 0.03
    changed.step(4)
    fresh.step(4)
    assert_same_state(changed, fresh)


# Energy.


def test_energy(Stepper):
    x, v = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])
    forces = [kd.Gravity((0, -10)), kd.AnchorSpring(3.0, anchor=(1, 1)), kd.PointGravity(5.0), kd.Damping(1.0)]
    kinetic, potential = Stepper(x, v, [2.0, 4.0], forces=forces).energy()
    assert kinetic == 1 + 8
    wells = -2 * 5 / math.sqrt(5) - 4 * 5 / 5
    assert potential == pytest.approx(2 * 10 * 2 + 4 * 10 * 4 + 1.5 * (1 + 4 + 9) + wells, rel=1e-15)
    assert isinstance(kinetic, float)
    assert isinstance(potential, float)


def test_energy_is_in_float64_and_leaves_out_infinite_masses(Stepper):
    x, v = np.full((2, 1), 1e30, np.float32), np.full((2, 1), 1e30, np.float32)
    kinetic, potential = Stepper(x, v, [2.0, math.inf], forces=[kd.AnchorSpring(2.0)]).energy()
    assert kinetic == pytest.approx(1e60, rel=1e-6)
    assert potential == pytest.approx(1e60, rel=1e-6)


@pytest.mark.parametrize("term", [kd.LinearDrag(1), kd.QuadraticDrag(1), kd.Vortex(1)])
def test_energy_is_refused_for_forces_without_a_potential(Stepper, term):
    with pytest.raises(ValueError, match=rf"^energy: {type(term).__name__} has no potential"):
        ball(Stepper, forces=[GRAVITY, term]).energy()


def test_a_damped_spring_keeps_its_potential(Stepper):
    assert Stepper([[2.0]], forces=[kd.AnchorSpring(3.0, damping=1.0)]).energy() == (0.0, 6.0)


# Records.


def test_record(Stepper):
    ours, other = ball(Stepper, dt=0.125), ball(Stepper, dt=0.125)
    record = ours.record(10, every=3)
    assert isinstance(record, kd.Trajectory)
    assert len(record) == 4
    assert record.time.tolist() == [0, 0.375, 0.75, 1.125]
    assert record.position.shape == record.velocity.shape == (4, 1, 2)
    for sample in range(4):
        assert_same_bits(record.position[sample], other.position)
        assert_same_bits(record.velocity[sample], other.velocity)
        other.step(3)
    # All steps are taken, including those after the last sample.
    assert (ours.tick, ours.time) == (10, 1.25)
    record.position[...] = 0  # a copy
    assert ours.position[0, 0] == 1.25
    assert len(ours.record(0)) == 1
    assert len(ours.record(2, every=5)) == 1
    assert ours.tick == 12


def test_record_keeps_the_dtype(Stepper):
    record = Stepper(np.ones((2, 3), np.float32)).record(1)
    assert record.position.dtype == record.velocity.dtype == np.float32
    assert record.time.dtype == np.float64


# History.


def test_verlet_uses_its_history_until_restart(Stepper):
    stepper = ball(Stepper, integrator="verlet", forces=[], dt=0.5)
    stepper.step()
    stepper.velocity[...] = 100
    stepper.step()
    assert stepper.position.tolist() == [[1, 12]]
    stepper.velocity[...] = 100
    stepper.restart()
    stepper.step()
    assert stepper.position.tolist() == [[51, 62]]


@pytest.mark.parametrize("integrator", list(kd.INTEGRATORS))
def test_restart_uses_the_arrays_only(Stepper, integrator):
    forces = [GRAVITY, kd.AnchorSpring(2.0)]
    stepper = ball(Stepper, integrator=integrator, forces=forces, dt=0.1)
    stepper.step(3)
    stepper.dt = 0.05
    stepper.position[0] = 3, 4
    stepper.velocity[0] = 1, -1
    stepper.restart()
    stepper.step(3)
    fresh = Stepper([[3.0, 4.0]], [[1.0, -1.0]], integrator=integrator, forces=forces, dt=0.05)
    fresh.step(3)
    assert_same_state(stepper, fresh)
    assert stepper.tick == 6
    assert stepper.time == pytest.approx(0.45, rel=1e-15)


def test_groot_warren_keeps_its_acceleration(Stepper):
    stepper = ball(Stepper, integrator="groot_warren", forces=[kd.AnchorSpring(1.0)], dt=0.5)
    stepper.step()
    stepper.position[...] = 0  # no force here; the stored acceleration is that of the old position
    stepper.velocity[...] = 0
    stepper.step()
    assert (stepper.position != 0).all()
    stepper.position[...] = 0
    stepper.velocity[...] = 0
    stepper.restart()
    stepper.step()
    assert (stepper.position == 0).all()


class InputLostError(Exception):
    pass


def test_an_error_after_the_last_sample_carries_the_trajectory(Stepper):
    def fail(t, x, v, out):
        if t >= 5:
            raise InputLostError

    bodies = Stepper([[0.0]], dt=1, forces=[kd.Force(fail, velocity_dependent=False)])
    with pytest.raises(InputLostError) as caught:
        bodies.record(8, every=3)  # samples at 0 and 3; the callback fails in the step to 5 or 6
    assert caught.value.trajectory.time.tolist() == [0.0, 3.0]
    bodies = Stepper([[0.0]], dt=1, forces=[kd.Force(fail, velocity_dependent=False)])
    with pytest.raises(InputLostError) as caught:
        bodies.record(5, every=4)
    assert caught.value.trajectory.time.tolist() == [0.0, 4.0]


def test_an_error_in_a_sample_carries_the_trajectory(Stepper):
    class Torn(Stepper):
        left = 4

        def _sampled(self):
            self.left -= 1
            if self.left == 0:
                raise InputLostError
            return super()._sampled()

    bodies = Torn([[0.0]], [[1.0]], dt=1)
    with pytest.raises(InputLostError) as caught:
        bodies.record(5)  # `_sampled` is called once before the first sample
    assert caught.value.trajectory.time.tolist() == [0.0, 1.0]


def test_record_is_locked_between_a_step_and_its_sample(Stepper):
    seen = []

    class Watched(Stepper):
        def _sampled(self):
            if self.tick:
                with pytest.raises(RuntimeError, match="stepping already"):
                    self.step()
            return super()._sampled()

        def _exclusively(self, function, *given):
            before = self.tick
            try:
                return super()._exclusively(function, *given)
            finally:
                if given:
                    seen.append((function.__name__, before, self.tick))

    bodies = Watched([[0.0]], dt=1)
    bodies.record(4, every=2)
    sampled = [ticks for name, *ticks in seen if "sample" in name]
    assert sampled == [[0, 0], [0, 2], [2, 4]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_shift_that_overflows_is_refused(Stepper, dtype):
    world = Stepper(np.full((2, 1), np.finfo(dtype).max / 2, dtype))
    before = world.snapshot()
    for offset in (1e300, 1.7e308) if dtype == np.float32 else (1.7e308,):
        with pytest.raises(ValueError, match="offset: expected one that leaves positions finite"):
            world.shift([offset])
        assert world.snapshot() == before


def test_lengths_that_overflow_are_refused(Stepper):
    for x in (1e300, 1.7e308):
        for more in ({"constraints": [kd.Distance([(0, 1)])]}, {"forces": [kd.Springs([(0, 1)], 1.0)]}):
            with pytest.raises(ValueError, match=r"length\): expected finite numbers"):
                Stepper([[x], [-x]], **more)


def test_an_error_while_recording_carries_the_trajectory(Stepper):
    bodies = Stepper([[1.0]], dt=1.0, integrator="explicit_euler", forces=[kd.AnchorSpring(1e40)])
    with pytest.raises(kd.NonFiniteError) as caught:
        bodies.record(1000)
    trajectory = caught.value.trajectory
    assert 3 < len(trajectory) < 1000
    assert trajectory.time.tolist() == list(range(len(trajectory)))
    assert np.isfinite(trajectory.position).all()


def test_energies_that_overflow_are_infinite(Stepper):
    bodies = Stepper([[1e200], [1e200]], [[1e200], [0.0]], forces=[kd.AnchorSpring(1.0), kd.Gravity([1.0])])
    assert bodies.energy() == (np.inf, np.inf)


def test_a_list_of_velocities_takes_the_dtype_of_the_positions(Stepper):
    bodies = Stepper(np.zeros((2, 2), np.float32), [[1, 2], [3, 4]])
    assert bodies.velocity.dtype == np.float32
    assert bodies.velocity.tolist() == [[1, 2], [3, 4]]


def test_init_cannot_be_called_again(Stepper):
    bodies = Stepper([[1.0]])
    position = bodies.position
    with pytest.raises(RuntimeError, match="made once"):
        bodies.__init__([[2.0]])
    assert bodies.position is position


def test_overflow_of_a_velocity_before_its_position_is_found(Stepper):
    pull = kd.Gravity([[0.0], [1e308], [0.0]])
    world = Stepper(np.zeros((3, 1)), dt=10.0, integrator="explicit_euler", forces=[pull])
    with pytest.raises(kd.NonFiniteError) as caught:
        world.step()
    assert caught.value.body == 1
    assert np.isfinite(world.position).all()
