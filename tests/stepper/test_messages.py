"""Error messages for beginners: what was wrong and what to write instead."""

import copy
import dataclasses
import pickle
from decimal import Decimal

import numpy as np
import pytest
from samples import POSITION, SAMPLES, TERMS, VELOCITY

import kickdrift as kd

STEPPERS = pytest.mark.parametrize("stepper", [kd.Stepper, kd.reference.Stepper])


def test_assigning_to_a_coefficient_suggests_set():
    gravity, spring = kd.Gravity((0, -9.81)), kd.AnchorSpring(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"write world.set\(gravity, acceleration=...\)"):
        gravity.acceleration = (0, -5)
    with pytest.raises(AttributeError, match=r"write world.set\(anchor_spring, stiffness=...\)"):
        spring.stiffness = 2
    with pytest.raises(AttributeError, match="'weight' is none of its coefficients"):
        gravity.weight = 2
    assert gravity.acceleration.tolist() == [0, -9.81]


def test_every_declaration_suggests_set():
    for made in (kd.Pin(0), kd.Distance([(0, 1)]), kd.Expression(x="-k*x", k=1.0), kd.AppliedForce(np.zeros((1, 2)))):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"{type(made).__name__} cannot be changed"):
            made.kind = 1


@pytest.mark.parametrize("one", SAMPLES, ids=lambda one: type(one).__name__)
def test_set_names_each_coefficient_that_a_declaration_lacks(one):
    world = kd.Stepper(POSITION, VELOCITY, **{"forces" if one in TERMS else "constraints": [one]})
    for name in {name for other in SAMPLES for name in other.coefficients} - {*one.coefficients}:
        for index in (None, 1):
            with pytest.raises(TypeError, match=f"got '{name}'"):
                world.set(one, index=index, **{name: 1})


@STEPPERS
def test_positional_coefficients_suggest_keywords(stepper):
    gravity = kd.Gravity((0, -9.81))
    world = stepper([[0.0, 0.0]], forces=[gravity])
    with pytest.raises(TypeError, match=r"write acceleration=\.\.\."):
        world.set(gravity, (0, -5))


@STEPPERS
def test_capacity_errors_explain_how_to_get_more_slots(stepper):
    with pytest.raises(kd.CapacityError, match="larger arrays, and pass alive=n"):
        stepper([[0.0]]).spawn([[1.0]])


@STEPPERS
def test_wall_ids_of_events_are_refused_as_bodies(stepper):
    asked = kd.Events()
    world = stepper([[1.0]], [[4.0]], dt=0.5, constraints=[kd.Box(0, 2.5)], events=asked)
    world.step()
    hits = world.events.take()
    with pytest.raises(kd.DeadBodyError, match="-2 is a wall or shape of an event, not a body"):
        world.kill(hits["b"])
    with pytest.raises(KeyError, match="wall or shape"):
        world.slots(hits["b"])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda world: pickle.loads(pickle.dumps(world))])
def test_handles_of_the_original_suggest_those_of_the_copy(duplicate):
    drag, gravity, box = kd.LinearDrag(1.0), kd.Gravity((0, -9.81)), kd.Box(-9, 9)
    world = kd.Stepper([[0.0, 0.0]], forces=[drag, gravity], constraints=[box])
    again = duplicate(world)
    with pytest.raises(ValueError, match=r"here forces\[1\] is a Gravity"):
        again.set(gravity, acceleration=(0, -5))
    with pytest.raises(ValueError, match=r"here constraints\[0\] is a Box"):
        again.enable(box, False)
    again.set(again.forces[1], acceleration=(0, -5))
    assert again.forces[1].acceleration.tolist() == [0, -5]


def made(state=None, drag=1.0, **options):
    forces = [kd.Gravity((0, -9.81)), kd.LinearDrag(drag)]
    return kd.Stepper(np.ones((3, 2)), forces=forces, constraints=[kd.Box(-9, 9)], state=state, **options)


def test_truncated_snapshots_are_reported():
    saved = made({"score": np.arange(40)}).snapshot()
    world = made({"score": np.zeros(40, int)})
    for size in range(0, len(saved), 7):
        with pytest.raises(kd.SnapshotError, match=r"damaged or cut off|is damaged|bytes too many"):
            world.restore(saved[:size])
    with pytest.raises(kd.SnapshotError, match=r"expected at least \d+ bytes, got 300"):
        world.restore(saved[:300])
    with pytest.raises(kd.SnapshotError, match="expected a multiple of 8 bytes, got"):
        world.restore(saved[:-3])


def test_snapshots_of_other_forces_list_what_to_compare():
    with pytest.raises(kd.SnapshotError, match=r"masses, here Gravity, LinearDrag, Box: .*same order"):
        made().restore(made(drag=2.0).snapshot())


def test_snapshots_of_another_user_state_show_both_states():
    ammo, score = {"ammo": np.zeros(2, np.int32)}, {"score": np.zeros((3, 2))}
    with pytest.raises(kd.SnapshotError, match=r"with 'score' \(float64 of shape \(3, 2\)\) in .* 'ammo' \(int32 of"):
        made(ammo).restore(made(score).snapshot())
    with pytest.raises(kd.SnapshotError, match=r"with 'ammo' \(int32 .* 'score' \(float64"):
        made(score).restore(made(ammo).snapshot())
    with pytest.raises(kd.SnapshotError, match="no arrays in state=, here 'ammo'"):
        made(ammo).restore(made().snapshot())
    with pytest.raises(kd.SnapshotError, match="made with state=, this one was made without"):
        made().restore(made(ammo).snapshot())


@STEPPERS
def test_touching_reports_current_ids(stepper):
    balls = kd.ElasticCollisions(1.0, restitution=0)
    world = stepper([[0.0], [5.0]], hz=60, constraints=[balls], events=kd.Events(), alive=2)
    world.kill(0)
    first = world.spawn([[2.9]], velocity=1.0)
    world.step(20)
    (pair,) = world.touching()
    assert pair["a"] == first[0] == world.ids[0]
    assert (pair["slot_a"], pair["slot_b"]) == (0, 1)


@STEPPERS
def test_touching_reports_the_last_of_more_walls_than_bodies(stepper):
    world = stepper([[5.0, 9.0]], [[0.0, 1.0]], hz=60, constraints=[kd.Box(0, 9, restitution=0)], events=kd.Events())
    world.step()
    (pair,) = world.touching()
    assert (pair["b"], pair["slot_b"]) == (-4, -4)


@STEPPERS
def test_touching_is_empty_without_enabled_reporters(stepper):
    box = kd.Box(0, 9, restitution=0)
    world = stepper([[0.0], [5.0]], [[-1.0], [0.0]], hz=60, constraints=[kd.Pin(1), box], events=kd.Events())
    world.step()
    assert len(world.touching()) == 1
    world.enable(box, False)
    assert len(world.touching()) == 0


@STEPPERS
def test_kill_leaves_rows_of_applied_forces_unchanged(stepper):
    """The array belongs to the caller and is never cleared, as documented."""
    engine = np.zeros((2, 1))
    world = stepper(np.zeros((2, 1)), dt=0.5, forces=[kd.AppliedForce(engine)], alive=1)
    engine[0] = 4
    world.kill(0)
    world.spawn([0.0])
    world.step()
    assert engine[0] == 4
    assert world.velocity[0] == 2


@STEPPERS
def test_restore_resets_dt_and_the_clock_rate(stepper):
    world = stepper([[0.0]], hz=60)
    saved = world.snapshot()
    world.clock.hz = 10
    world.advance(0.25)
    assert (world.tick, world.dt) == (2, 0.1)
    world.restore(saved)
    assert (world.tick, world.dt, world.clock.hz) == (0, 1 / 60, 60)


@STEPPERS
def test_restore_drops_pending_events(stepper):
    ball = stepper([[1.0]], [[4.0]], dt=0.5, constraints=[kd.Box(0, 2.5)], events=kd.Events())
    saved = ball.snapshot()
    ball.step(3)
    ball.restore(saved)
    assert len(ball.events.take()) == 0


def moved_goal(upper):
    goal = kd.Sensor((0, 0), (1, 1))
    kd.Stepper([[0.0, 0.0]], constraints=[goal], events=kd.Events()).set(goal, upper=upper)


def equation():
    return kd.ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)


@STEPPERS
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda w: w.teleport("x", (0.0,)), IndexError, "index: expected an int, slice, array of ints or mask"),
        (lambda w: w.teleport(None, (0.0,)), IndexError, "index: expected an int, slice, .*, got None"),
        (lambda w: w.set_mass(5.0, index=(slice(None), True)), IndexError, "index: expected an int, slice, .*, got"),
        (lambda w: w.teleport(True, (0.0,)), IndexError, "index: expected an int, slice, .*, got True"),
        (lambda w: w.set_mass(5.0, index=False), IndexError, "index: expected an int, slice, .*, got False"),
        (lambda w: w.set(w.constraints[0], radius=1.0, index=np.True_), IndexError, "index: expected .* got np.True_"),
        (lambda w: w.set_mass(5.0, index=np.array(True)), IndexError, r"index: expected .* got array\(True\)"),
        (lambda w: w.teleport((1, 2), (0.0,)), IndexError, "index: expected an int, .*got 1 .*out of bounds"),
        (lambda w: w.teleport((0, 2), 0.0), IndexError, "index: expected an int"),
        (lambda w: w.teleport(3, (0.0,)), IndexError, "index: expected an int, .*got 3 .*out of bounds"),
        (lambda w: w.teleport(-(10**30), (0.0,)), IndexError, "index: expected an int"),
        (lambda w: w.teleport([[0], [0, 0]], (0.0,)), IndexError, "index: expected an int"),
        (lambda w: w.teleport([0], [[1.0], [2.0]]), ValueError, r"position: expected shape \(1, 1\), .*got \(2, 1\)"),
        (lambda w: w.teleport(0, (1.0, 2.0)), ValueError, r"position: expected shape \(1,\), .*got \(2,\)"),
        (lambda w: w.teleport((0, 0), (1.0, 2.0)), ValueError, r"position: expected shape \(\), .*got \(2,\)"),
        (lambda w: w.teleport(0, 10**400), TypeError, "position: expected real numbers"),
        (lambda w: w.teleport(0, "a"), TypeError, "position: expected real numbers"),
        (lambda w: w.teleport(0, [[1.0], [2.0, 3.0]]), ValueError, "position: expected numbers in a regular array"),
        (lambda w: w.kill([[0], [0, 1]]), ValueError, "ids: expected numbers in a regular array"),
        (lambda w: w.spawn([[1.0]], mass=[[1], [1, 2]]), ValueError, "mass: expected numbers in a regular array"),
        (lambda w: kd.math.sin([[1], [1, 2]]), ValueError, "sin: expected numbers in a regular array"),
        (lambda w: kd.Box(0, 1, mask=[[1], [1, 2]]), ValueError, r"Box\(mask\): expected numbers in a regular array"),
        (lambda w: kd.Box(0, 1, sensor=[[True], []]), ValueError, r"\(sensor\): expected numbers in a regular array"),
        (lambda w: kd.Sensor([[0], []], 1), ValueError, r"Sensor\(lower\): expected numbers in a regular array"),
        (lambda w: kd.Sensor((0, 0), (1, 1, 1)), ValueError, r"Sensor\(lower, upper\): .* shapes \(2,\) and \(3,\)"),
        (lambda w: w.set_mass(1.0, index="x"), IndexError, "index: expected an int"),
        (lambda w: w.set(w.constraints[0], radius=1.0, index="x"), IndexError, "index: expected an int"),
        (lambda w: kd.ElasticCollisions(0.1, category=[np.nan]), ValueError, r"\(category\): expected ints from 0"),
        (lambda w: kd.Box(0, 1, mask=[np.inf]), ValueError, r"\(mask\): expected ints from 0"),
        (lambda w: kd.Box(0, 1, mask=[Decimal("nan")]), TypeError, r"\(mask\): expected ints of up to 64 bits"),
        (lambda w: w.teleport(0, "1"), TypeError, "position: expected real numbers"),
        (lambda w: w.teleport(0, ["1"]), TypeError, "position: expected real numbers"),
        (lambda w: w.teleport(0, [2 + 1j]), TypeError, "position: expected real numbers"),
        (lambda w: w.teleport(0, [True]), TypeError, "position: expected real numbers"),
        (lambda w: w.interpolate(0.5, living=[1, 2]), TypeError, "living: expected True or False"),
        (lambda w: kd.Distance([(0, 1)], order=np.ones(2)), ValueError, r"Distance\(order\): expected one of"),
        (lambda w: kd.Periodic(10**400, 1), TypeError, r"Periodic\(lower\): expected real numbers"),
        (lambda w: kd.Periodic(0, 1j), TypeError, r"Periodic\(upper\): expected real numbers"),
        (lambda w: kd.Neighbours([[0.0]], 1.0).nearest([0.0], k=2**63), ValueError, "k: expected an int of at most"),
        (lambda w: kd.Neighbours([[0.0]], 1.0).cast([[1], [1, 2]], 1.0), ValueError, "origin: expected numbers in a"),
        (lambda w: kd.compare("spring", 1), TypeError, "integrators: expected names or instances"),
        (lambda w: moved_goal([[1, 2], [3]]), ValueError, r"Sensor\(upper\): expected numbers in a regular array"),
        (lambda w: equation().set(np.ones(2), rho=1), ValueError, "flow: expected Lorenz"),
        (lambda w: equation().current([1, 2]), ValueError, "flow: expected Lorenz"),
    ],
)
def test_errors_raised_by_numpy_name_the_argument(stepper, call, error, message):
    world = stepper([[0.5]], constraints=[kd.ElasticCollisions(0.1)])
    before = world.snapshot()
    with pytest.raises(error, match=message):
        call(world)
    assert world.snapshot() == before


@STEPPERS
@pytest.mark.parametrize("alive", [None, 2])
@pytest.mark.parametrize("bodies", [[0, 4], [0, -1]])
def test_bodies_that_a_stepper_lacks_are_named_with_free_rows_too(stepper, alive, bodies):
    world = stepper([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], alive=alive)
    pin = world.add(kd.Pin(0))
    before = world.snapshot()
    pairs = [tuple(bodies)]
    with pytest.raises(ValueError, match=r"Pin\(indices\): expected indices from 0 to 2, got"):
        world.set(pin, indices=bodies)
    for declared in (
        kd.Pin(bodies[1]),
        kd.Distance(pairs, 1.0),
        kd.Springs(pairs, 1.0, 1.0),
        kd.Contacts(0.1, joints=[kd.Distance(pairs, 1.0)]),
    ):
        with pytest.raises(ValueError, match=r"\((indices|pairs)\): expected indices from 0 to 2, got"):
            world.add(declared)
    assert world.snapshot() == before


HUGE, SIGNALLING = np.finfo(np.longdouble).max, np.array([0x7F800001], np.uint32).view(np.float32)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("array", [np.array([HUGE]), SIGNALLING])
def test_conversions_warn_of_nothing(array):
    """Conversions that overflow or quiet a NaN must not warn: kickdrift's errors explain the mistake."""
    for call in (
        lambda: kd.Gravity(array),
        lambda: kd.Periodic(0.0, array),
        lambda: kd.Distance([(0, 1)], breaks_at=array),
        lambda: kd.Stepper([[0.0]], mass=-array),
        lambda: kd.Stepper([[HUGE]]),
        lambda: kd.Stepper([[0.0]], [[HUGE]]),
        lambda: kd.Stepper([[0.0]], angular_velocity=[HUGE]),
        lambda: kd.FixedClock(60).plan(array),
    ):
        with pytest.raises(ValueError, match="expected"):
            call()
    assert len(kd.Neighbours(array[:, None], 1.0).pairs()[0]) == 0


@pytest.mark.filterwarnings("error")
def test_numbers_near_the_largest_are_refused_in_our_words():
    with pytest.raises(ValueError, match=r"^Box\(radius\): expected at most half the width"):
        kd.Box(-1, 1, radius=1e308)
    kd.Box(-1e308, 1e308)
    with pytest.raises(RuntimeWarning, match=r"^Springs\(damping\): 1e\+308 kg/s of pair 0"):
        kd.Stepper([[0.0], [1.0]], forces=[kd.Springs([(0, 1)], 1.0, damping=1e308)])


@pytest.mark.filterwarnings("error")
def test_a_place_far_from_all_bodies_overlaps_none():
    world = kd.Stepper([[0.0, 0.0]], constraints=[kd.ElasticCollisions(0.1)])
    assert len(world.overlap((1e308, -1e308), radius=1e307)) == 0
