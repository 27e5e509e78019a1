"""Changes between ticks: each method, its refusals, and snapshots across changes."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from changing import play
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import INTEGRATORS, LAYOUTS, assert_same_bits, each_isa, lay_out
from samples import COEFFICIENTS, CONSTRAINTS
from samples import world as sample_world

import kickdrift as kd

GRAVITY = kd.Gravity((0, -9.81))


def scene(cls, **more):
    """Create two balls on a spring in a windy box, and return the handles to change them."""
    wind, spring = kd.LinearDrag(1.0, (2.0, 0.0)), kd.Springs([(0, 1)], 3.0)
    box, rod = kd.Box(-5, 5), kd.Distance([(1, 2)])
    arguments = {"mass": 2.0, "dt": 0.01, "forces": [GRAVITY, wind, spring], "constraints": [box, rod]} | more
    world = cls([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]], [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], **arguments)
    return world, wind, spring, box, rod


# A changed stepper equals a stepper built with the changed declarations.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_changed_worlds_equal_newly_built_ones_in_every_implementation(monkeypatch, integrator, dtype):
    for seed in range(2):
        book = play(kd.reference.Stepper, seed, integrator, dtype, rounds=2)
        for _isa in each_isa(monkeypatch):
            assert play(kd.Stepper, seed, integrator, dtype, rounds=2) == book


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**63), st.sampled_from(INTEGRATORS), st.sampled_from([np.float32, np.float64]), st.integers(1, 8)
)
def test_changed_worlds_equal_newly_built_ones(seed, integrator, dtype, rounds):
    play(kd.Stepper, seed, integrator, dtype, rounds)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_changed_worlds_with_spawns_equal_newly_built_ones_in_every_implementation(monkeypatch, integrator, dtype):
    for seed in range(100, 103):
        book = play(kd.reference.Stepper, seed, integrator, dtype, rounds=5, births=True)
        for _isa in each_isa(monkeypatch):
            assert play(kd.Stepper, seed, integrator, dtype, rounds=5, births=True) == book


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**63), st.sampled_from(INTEGRATORS), st.sampled_from([np.float32, np.float64]), st.integers(1, 12)
)
def test_changed_worlds_with_spawns_equal_newly_built_ones(seed, integrator, dtype, rounds):
    play(kd.Stepper, seed, integrator, dtype, rounds, births=True)


# Each method.


def test_set_accepts_what_the_constructor_accepts(Stepper):
    world, wind, spring, box, rod = scene(Stepper)
    world.set(wind, wind=(8, 0), coefficient=[1.0, 2.0, 3.0])
    assert world.current(wind).wind.tolist() == [8.0, 0.0]
    assert world.current(wind).coefficient.tolist() == [1.0, 2.0, 3.0]
    assert world.forces[1] is world.current(wind)
    assert wind.wind.tolist() == [2.0, 0.0], "what was declared"
    measured = world.current(spring).rest_length
    world.set(spring, stiffness=9)
    world.step(20)
    assert world.current(spring).rest_length == measured
    world.set(spring, rest_length=None)
    assert world.current(spring).rest_length[0] == np.linalg.norm(world.position[1] - world.position[0])
    world.set(box, upper=(7, 8), restitution=0.5)
    world.set(rod, iterations=3, stiffness=0.5)
    world.set(world.forces[1], wind=0)  # an entry of `forces` is a handle as well
    assert world.current(wind).wind == 0
    world.set(wind)


@pytest.mark.parametrize(("one", "name", "value"), COEFFICIENTS)
def test_an_entry_of_forces_or_constraints_is_a_handle_of_every_coefficient(Stepper, one, name, value):
    """`set` replaces the entry; the rest of the call must not look up the old one."""
    by_handle, by_entry = sample_world(Stepper, one), sample_world(Stepper, one)
    by_handle.set(one, **{name: value})
    for _ in range(2):
        _, entry = (*by_entry.forces, *by_entry.constraints)
        by_entry.set(entry, **{name: value})
    assert by_entry.snapshot() == by_handle.snapshot()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            lambda w, wind, *_: w.set(wind, coefficient=-1),
            ValueError,
            r"LinearDrag\(coefficient\): expected numbers of",
        ),
        (lambda w, wind, *_: w.set(wind, wind="a"), TypeError, r"LinearDrag\(wind\): expected real numbers"),
        (
            lambda w, wind, *_: w.set(wind, wind=(1, 2, 3)),
            ValueError,
            r"LinearDrag\(wind\): expected a vector of shape",
        ),
        (
            lambda w, wind, *_: w.set(wind, winds=1),
            TypeError,
            r"LinearDrag: expected coefficients \(coefficient, wind\)",
        ),
        (lambda w, wind, spring, *_: w.set(spring, pairs=[(0, 2)]), TypeError, "'pairs'"),
        (lambda w, wind, spring, box, rod: w.set(box, lower=6), ValueError, r"Box\(lower, upper\): expected lower <="),
        (lambda w, wind, spring, box, rod: w.set(rod, compliance=1, stiffness=0.5), ValueError, "got both"),
        (lambda w, *_: w.set(kd.LinearDrag(1.0, (2.0, 0.0)), wind=0), ValueError, "itself, got another LinearDrag"),
        (lambda w, *_: w.current(kd.Gravity((0, -9.81))), ValueError, "the object itself"),
        (lambda w, *_: w.enable(3), TypeError, r"declaration: expected a force or constraint, got 3 \(int\)"),
        (lambda w, wind, *_: w.enable(wind, 1), TypeError, r"enabled: expected True or False, got 1"),
        (lambda w, *_: w.remove(kd.Pin(0)), ValueError, "the object itself, got another Pin"),
        (lambda w, wind, *_: w.add(wind), ValueError, "expected one that this stepper does not have, got LinearDrag"),
        (lambda w, *_: w.add(kd.Gravity), TypeError, "declaration: expected a force or constraint"),
        (lambda w, *_: w.add(kd.Distance([(0, 9)])), ValueError, r"Distance\(pairs\): expected indices from 0 to 2"),
        (lambda w, *_: w.add(kd.Gravity((1, 2, 3))), ValueError, r"Gravity\(acceleration\)"),
        (lambda w, *_: w.set_mass(0), ValueError, "mass: expected positive numbers"),
        (lambda w, *_: w.set_mass("a"), TypeError, "mass: expected real numbers"),
        (lambda w, *_: w.set_mass("a", 1), TypeError, "value: expected real numbers"),
        (lambda w, *_: w.set_mass(-1, 1), ValueError, "got -1.0 for body 1"),
        (
            lambda w, *_: w.set_mass([1, 2], [0, 1, 2]),
            ValueError,
            r"value: expected a number or shape \(3,\), got shape",
        ),
        (lambda w, *_: w.set_mass(1, 3), IndexError, "out of bounds"),
        (lambda w, *_: w.rebind(np.zeros((3, 2), np.float32), np.zeros((3, 2), np.float32)), TypeError, "float64, in"),
        (lambda w, *_: w.rebind(np.zeros((3, 3)), np.zeros((3, 3))), ValueError, r"expected shape \(n, 2\), as before"),
        (lambda w, *_: w.rebind(np.zeros((2, 2)), np.zeros((2, 2))), ValueError, "expected at least 3 bodies"),
        (lambda w, *_: w.rebind(np.zeros((3, 2)), np.zeros((4, 2))), ValueError, "velocity: expected the shape of"),
    ],
)
def test_refused_changes_leave_the_world_unchanged(Stepper, change, error, message):
    world, *handles = scene(Stepper)
    world.step(3)
    before, now = world.snapshot(), (world.forces, world.constraints, world.mass, world.position)
    with pytest.raises(error, match=message):
        change(world, *handles)
    assert world.snapshot() == before
    assert all(a is b for a, b in zip(now[0] + now[1], world.forces + world.constraints, strict=True))
    assert world.mass == now[2]
    assert world.position is now[3]


@pytest.mark.parametrize(
    ("integrator", "term", "message"),
    [
        (
            "exact",
            kd.PointGravity(1.0),
            "integrator: exact takes Gravity, LinearDrag and AnchorSpring, got PointGravity",
        ),
        ("exact", kd.Damping(1.0), "integrator: exact takes"),
        ("energy_euler", kd.QuadraticDrag(1.0), "integrator: energy_euler takes forces on single bodies"),
    ],
)
def test_the_integrator_s_refusals_hold_for_later_changes(Stepper, integrator, term, message):
    spring = kd.AnchorSpring(1.0)
    world = Stepper([[1.0, 0.0]], integrator=integrator, forces=[spring])
    before = world.snapshot()
    with pytest.raises(ValueError, match=message):
        world.add(term)
    if integrator == "energy_euler":
        with pytest.raises(ValueError, match=message):
            world.set(spring, damping=1)
        world.enable(spring, False)
        before = world.snapshot()
        with pytest.raises(ValueError, match=message):
            world.set(spring, damping=1)  # refused even while the term is disabled
    assert world.snapshot() == before


def test_a_term_listed_twice_is_changed_in_both_positions(Stepper):
    world = Stepper([[0.0]], dt=1, integrator="explicit_euler", forces=[gravity := kd.Gravity((1.0,)), gravity])
    world.set(gravity, acceleration=(3.0,))
    world.step()
    assert world.velocity[0, 0] == 6
    world.enable(gravity, False)
    assert world.forces == ()
    world.remove(gravity)
    with pytest.raises(ValueError, match="which was removed"):
        world.current(gravity)


def test_disabled_terms_keep_their_position_and_do_not_act(Stepper):
    first, last = kd.QuadraticDrag(1.0), kd.PointGravity(2.0, (9.0, 9.0))
    world = Stepper([[1.0, 0.0]], [[1.0, 1.0]], forces=[first, GRAVITY, last])
    world.enable(first, False)
    assert world.forces == (GRAVITY, last)
    world.set(first, coefficient=3)
    world.enable(first)
    assert [type(term) for term in world.forces] == [kd.QuadraticDrag, kd.Gravity, kd.PointGravity]
    assert world.current(first).coefficient == 3
    # A disabled term is not multiplied by 0: inf * 0 would be NaN.
    wild = kd.Force(lambda t, x, v, out: out.fill(np.inf), velocity_dependent=False)
    world.enable(world.add(wild), False)
    world.step(3)
    assert np.isfinite(world.position).all()


def test_added_terms_are_appended_to_their_kind(Stepper):
    world, wind, _spring, _box, _rod = scene(Stepper)
    drag, pin = world.add(kd.QuadraticDrag(1.0)), world.add(kd.Pin(0))
    assert world.forces[-1] is drag
    assert world.constraints[-1] is pin
    world.remove(wind)
    world.add(wind)
    assert world.forces[-1] is wind


def test_set_mass(Stepper):
    world, *_ = scene(Stepper)
    world.set_mass(3.0, index=[0, 2])
    assert world.mass.tolist() == [3, 2, 3]
    world.set_mass([5, 6], index=np.array([True, True, False]))
    world.set_mass(np.inf, index=slice(2, None))
    assert world.mass.tolist() == [5, 6, np.inf]
    world.set_mass(2, 1)
    world.set_mass(2.0, index=[0, 2])
    assert world.mass == 2.0
    world.set_mass([1, 2, 3])
    world.set_mass(4)
    assert world.mass == 4.0


# Coordinates.


def test_coordinates_are_set_relative_to_the_shifted_origin(Stepper):
    spring, plane = kd.AnchorSpring(1.0, anchor=(1.0, 2.0)), kd.Plane((0, 1), -5)
    world = Stepper([[0.0, 0.0]], forces=[spring], constraints=[plane])
    world.shift((0.5, 4.0))
    saved = world.snapshot()
    world.set(spring, anchor=(7, 7))
    world.set(plane, offset=1, normal=(0, 2))
    assert world.current(spring).anchor.tolist() == [7, 7]
    world.shift((-0.5, -4.0))
    assert world.current(spring).anchor.tolist() == [6.5, 3]
    assert world.current(plane).offset == 1 - 2 * 4
    later = world.snapshot()
    world.restore(saved)
    assert world.current(spring).anchor.tolist() == [1.5, 6]
    world.restore(later)
    assert world.current(spring).anchor.tolist() == [6.5, 3]
    assert world.snapshot() == later
    world.shift((0.5, 4.0))
    world.set(spring, anchor=(1.5, 6))
    world.set(plane, offset=-1, normal=(0, 1))
    assert world.snapshot() == saved, "as declared, so nothing is said"


# Snapshots.


def test_restore_undoes_every_change(Stepper):
    world, wind, spring, box, rod = scene(Stepper)
    start, first = world.snapshot(), world.checksum()
    states = [start]
    changes = [
        lambda: world.set(wind, wind=(8, 0)),
        lambda: world.enable(spring, False),
        lambda: world.add(kd.Distance([(0, 2)])),
        lambda: world.set_mass(3, [1]),
        lambda: world.set(rod, length=[0.5]),
        lambda: world.remove(box),
        lambda: world.set(spring, stiffness=2),
        lambda: world.set_mass(7),
    ]
    sums = {first}
    for change in changes:
        change()
        states.append(world.snapshot())
        sums.add(world.checksum())
    assert len(sums) == len(states), "checksums cover changes"
    ends = []
    for state in states:
        world.restore(state)
        assert world.snapshot() == state
        world.step(5)
        ends.append(world.snapshot())
    for state, end in zip(reversed(states), reversed(ends), strict=True):
        world.restore(state)
        world.step(5)
        assert world.snapshot() == end
    world.restore(start)
    assert world.checksum() == first
    assert world.mass == 2.0


def test_equal_worlds_have_equal_bytes(Stepper):
    world, wind, _spring, box, rod = scene(Stepper)
    start = world.snapshot()
    world.set(wind, wind=(8, 0))
    world.set(wind, wind=(2, 0))
    world.enable(box, False)
    world.enable(box)
    world.remove(world.add(kd.Pin(0)))
    world.set_mass(3, 1)
    world.set_mass(2, 1)
    world.remove(rod)
    world.add(rod)
    assert world.snapshot() == start
    # Another sequence of changes leads to an equal state.
    other = scene(Stepper)[0]
    world.set(wind, wind=(1, 1), coefficient=3)
    world.set_mass([1, 1, 1])
    other.set(other.forces[1], coefficient=3)
    other.set(other.forces[1], wind=(1, 1))
    other.set_mass(1)
    assert world.snapshot() == other.snapshot()
    assert world.checksum() == other.checksum()


def test_snapshots_are_restored_by_equal_steppers_with_the_same_declarations(Stepper):
    world, wind, *_ = scene(Stepper)
    world.set(wind, wind=(8, 0))
    world.step(2)
    other = scene(Stepper)[0]
    other.restore(world.snapshot())
    assert other.forces[1].wind.tolist() == [8, 0]
    world.add(kd.Pin(0))
    before = other.snapshot()
    with pytest.raises(kd.SnapshotError, match="was added and is not known here: add it first"):
        other.restore(world.snapshot())
    assert other.snapshot() == before
    pin = other.add(kd.Pin(0))
    other.remove(pin)
    other.restore(world.snapshot())
    assert [type(each) for each in other.constraints] == [kd.Box, kd.Distance, kd.Pin]
    other.remove(pin)  # `pin` is a handle in this stepper, too
    world.step(3)


def test_declarations_added_again_after_a_restore_give_the_same_snapshot_bytes(Stepper):
    world, *_ = scene(Stepper)

    def inputs(world, tick):
        if tick == 3:
            world.add(kd.Pin(0))  # a new object each time
        if tick == 6:
            world.set(world.constraints[-1], indices=1)
        if tick == 9:
            world.remove(world.constraints[-1])
        if tick == 10:
            world.set_mass(tick, 1)

    kd.sync_test(world, frames=15, distance=5, inputs=inputs)


def test_callbacks_are_identified_by_their_label(Stepper):
    def push(t, position, velocity, out):
        out[:] = 1.0

    world, other = (Stepper([[0.0]], integrator="explicit_euler", dt=1) for _ in range(2))
    world.add(kd.Force(push, velocity_dependent=False))
    other.remove(other.add(kd.Force(push, velocity_dependent=False)))
    other.restore(world.snapshot())
    other.step()
    assert other.velocity[0, 0] == 1
    with pytest.raises(TypeError, match=r"Force: expected coefficients \(none that can be changed\)"):
        world.set(world.forces[0], function=push)
    with pytest.raises(ValueError, match="velocity_dependent"):
        world.add(kd.Force(lambda t, x, v, out: out.__setitem__(slice(None), v), velocity_dependent=False))


def test_forged_changes_are_refused_and_leave_the_world_unchanged(Stepper):
    from forge import forge

    world, wind, *_ = scene(Stepper)
    state = [world.position.copy(), world.velocity.copy()]
    plain = world.snapshot()
    world.set(wind, wind=(8, 0))
    before = world.snapshot()
    good = before[len(plain) + 24 :].rstrip(b"\0")

    def section(data):
        return b"changes".ljust(16, b"\0") + len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)

    world.restore(forge(before, arrays=state, sections=section(good)))
    bad = [
        b"{}",
        b"null",
        b"[]",
        b"\xff",
        b"[" * 9999,
        good + b" ",
        good.replace(b'"of":1', b'"of":2'),
        good.replace(b'"of":1', b'"of":-1'),
        good.replace(b'"of":1', b'"of":0'),
        good.replace(b'"of":1', b'"of":9'),
        good.replace(b'"of":1', b'"of":[]'),
        good.replace(b'"of":1', b'"of":"no"'),
        good.replace(b'"of":1', b'"off":false,"of":1'),
        good.replace(b'"wind"', b'"winds"'),
        good.replace(b"[2]", b"[3]"),
        good.replace(b"[2]", b"[-1]"),
        good.replace(b"f8", b"O8"),
        good.replace(b"0x0.0p+0", b"0x1.0p+9999"),
        good.replace(b"0x0.0p+0", b"nan"),
        good.replace(b"00002040", b"0000f07f"),
        b'{"mass":["f8",[1],"0000000000000000"]}',
        b'{"mass":["f8",[1],"0000000000000040"]}',
        b'{"mass":[["i8",[1],"0900000000000000"],["f8",[1],"0000000000000040"]]}',
        b'{"mass":7}',
        b'{"terms":[{"of":0}]}'.replace(b"}]", b"},{}]"),
        b'{"terms":7}',
    ]
    for data in bad:
        with pytest.raises(kd.SnapshotError, match="snapshot: "):
            world.restore(forge(before, arrays=state, sections=section(data)))
        assert world.snapshot() == before


def test_pickles_and_copies_keep_changes_and_handles(Stepper):
    world, wind, spring, _box, _rod = scene(Stepper)
    rope = world.add(kd.Distance([(0, 2)]))
    gone = world.add(kd.Pin(0))
    state = world.snapshot()
    world.remove(gone)
    world.set(wind, wind=(8, 0))
    world.enable(spring, False)
    world.set_mass(3, 0)
    world.step(2)
    twin = pickle.loads(pickle.dumps(world))
    assert twin.snapshot() == world.snapshot()
    assert twin.mass.tolist() == world.mass.tolist()
    twin.restore(state)
    double, wind2, rope2, gone2 = copy.deepcopy((world, wind, rope, gone))
    assert double.snapshot() == world.snapshot()
    assert wind2 is not wind
    double.set(wind2, wind=0)
    double.remove(rope2)
    double.add(gone2)
    assert double.snapshot() != world.snapshot()
    twin.restore(world.snapshot())
    for each in (world, twin):
        each.step(5)
    assert twin.snapshot() == world.snapshot()


# Changes are allowed between ticks only.


def test_changes_are_refused_during_a_step(Stepper):
    seen = []
    wind = kd.LinearDrag(1.0)
    attempts = [
        lambda: world.set(wind, wind=1),
        lambda: world.current(wind),
        lambda: world.enable(wind, False),
        lambda: world.add(kd.Gravity((1.0,))),
        lambda: world.remove(wind),
        lambda: world.set_mass(3),
        lambda: world.rebind(np.zeros((1, 1)), np.zeros((1, 1))),
    ]

    def meddle(t, position, velocity, out):
        for attempt in attempts:
            try:
                attempt()
            except RuntimeError as error:
                seen.append(str(error))

    world = Stepper([[1.0]], forces=[wind])
    world.add(kd.Force(meddle))
    before = world.forces
    seen.clear()
    world.step()
    assert world.forces == before
    assert len(seen) >= len(attempts)
    assert set(seen) == {"this stepper is stepping already: it serves one thread at a time"}


def test_changes_in_a_loop_over_ticks(Stepper):
    wind = kd.LinearDrag(1.0)
    world, other = (Stepper([[0.0]], [[1.0]], hz=10, forces=[wind]) for _ in range(2))
    for tick in world.ticks(0.2):
        world.set(wind, wind=(float(tick),))
        world.set_mass(tick + 1)
    for tick in range(2):
        other.set(wind, wind=(float(tick),))
        other.set_mass(tick + 1)
        other.step()
    assert_same_bits(world.position, other.position)
    assert world.tick == 2


def test_replaced_plans_are_freed():
    spring = kd.Springs([(0, 1)], 3.0)
    world = kd.Stepper(np.zeros((2, 2)), forces=[spring, kd.Force(lambda *_: None, velocity_dependent=False)])
    gone = [weakref.ref(world._plan)]
    for stiffness in range(20):
        world.set(spring, stiffness=stiffness)
        gone.append(weakref.ref(world._plan))
        world.add(kd.Pin(0))
        gone.append(weakref.ref(world._plan))
        world.remove(world.constraints[-1])
        gone.append(weakref.ref(world._plan))
    gc.collect()
    assert sum(plan() is not None for plan in gone) == 2, "what was declared, and what is"


def test_the_oldest_removed_declarations_are_forgotten(monkeypatch):
    from kickdrift.stepper import entries

    monkeypatch.setattr(entries, "MOST_ADDED", 5)
    world = kd.Stepper(np.zeros((20, 1)))
    world.add(keep := kd.Pin(19))
    states = []
    for body in range(10):
        pin = world.add(kd.Pin(body))
        states.append(world.snapshot())
        world.remove(pin)
    world.restore(states[-1])
    with pytest.raises(kd.SnapshotError, match="not known here"):
        world.restore(states[0])
    world.remove(keep)
    world.add(keep)
    assert world.constraints[-1] is keep


def test_adding_and_removing_for_hours_uses_bounded_memory(Stepper, monkeypatch):
    """Add and remove ropes that are new, equal or the same object, and applied forces with equal arrays."""
    from kickdrift.stepper import entries

    monkeypatch.setattr(entries, "MOST_ADDED", 20)
    world = Stepper(np.zeros((2, 1)), forces=[kd.AppliedForce(np.zeros((2, 1)))])
    gone = []

    def play(rounds):
        for number in range(rounds):
            for each in (
                kd.Distance([(0, 1)], 1.0 + number),
                kd.Distance([(0, 1)], 1.0 + number),  # equal to the one before, but another handle
                kd.Pin(0),
                kd.AppliedForce(np.zeros((2, 1))),
            ):
                world.add(each)
                world.remove(each)
                gone.append(weakref.ref(each))

    play(70)
    gc.collect()
    first = sum(one() is not None for one in gone)
    play(70)
    gc.collect()
    assert sum(one() is not None for one in gone) <= first <= 2 * 20 + 64
    assert len(world._by_handle) <= 2 * 20 + 64 + 1
    copied = copy.deepcopy(world)
    assert len(copied._by_handle) <= len(world._by_handle)
    assert copied.snapshot() == world.snapshot()


def test_a_snapshot_with_a_forgotten_applied_force_is_refused(Stepper):
    """A stepper remembers the most recently removed applied forces; a snapshot with an older one is refused."""
    from kickdrift.stepper.entries import MOST_ALIKE

    world = Stepper(np.zeros((2, 1)))
    forces = [kd.AppliedForce(np.zeros((2, 1))) for _ in range(MOST_ALIKE + 5)]
    saved = []
    for force in forces:
        world.add(force)
        saved.append(world.snapshot())
        world.remove(force)
    before = world.snapshot()
    with pytest.raises(kd.SnapshotError, match="is not known here"):
        world.restore(saved[0])
    assert world.snapshot() == before
    world.restore(saved[-1])
    assert world.forces == (forces[-1],)
    world.restore(saved[-9])
    assert world.forces == (forces[-9],)


# rebind() to other arrays.


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("layout", LAYOUTS[:3])
def test_rebind(Stepper, integrator, layout):
    rng = np.random.default_rng(1)
    position, velocity = rng.normal(size=(2, 5, 2))
    world, other = (
        Stepper(position.copy(), velocity.copy(), hz=50, integrator=integrator, forces=[GRAVITY, kd.AnchorSpring(2.0)])
        for _ in range(2)
    )
    for each in (world, other):
        each.advance(0.05)
    x, v = lay_out(world.position, layout), lay_out(world.velocity, layout)
    old = world.position.copy()
    world.rebind(x, v)
    assert (world.position is x, world.velocity is v, world.tick, world.n) == (True, True, 2, 5)
    assert world.time == other.time
    assert world.snapshot() == other.snapshot(), "the same values: the history goes on"
    for each in (world, other):
        each.advance(0.05)
    assert_same_bits(world.position, other.position)
    assert_same_bits(world.interpolate(), other.interpolate())
    assert (old != world.position).any()
    # New values restart the integrator's history.
    x, v = lay_out(world.position * 2, layout), lay_out(world.velocity, layout)
    world.rebind(x, v)
    other.position[:] *= 2
    other.restart()
    for each in (world, other):
        each.step(3)
    assert_same_bits(world.position, other.position)
    assert world.checksum() == other.checksum()


def test_rebind_to_more_rows(Stepper):
    world = Stepper(np.zeros((2, 2)), np.ones((2, 2)), hz=50, integrator="implicit_euler", forces=[GRAVITY])
    saved = world.snapshot()
    world.advance(0.02)
    position = np.zeros((40, 2))
    world.rebind(position, np.ones((40, 2)))
    fresh = Stepper(np.zeros((40, 2)), np.ones((40, 2)), hz=50, integrator="implicit_euler", forces=[GRAVITY])
    world.advance(0.04)
    fresh.advance(0.04)
    assert_same_bits(world.position, fresh.position)
    assert_same_bits(world.interpolate(0.5), fresh.interpolate(0.5))
    assert (world.tick, fresh.tick) == (3, 2)
    with pytest.raises(kd.SnapshotError):
        world.restore(saved)
    fresh.restore(world.snapshot())
    heavy = Stepper(np.zeros((2, 2)), mass=[1.0, 2.0])
    with pytest.raises(ValueError, match="position: expected 2 bodies, as many as there are masses, got 3"):
        heavy.rebind(np.zeros((3, 2)), np.zeros((3, 2)))
    each = Stepper(np.zeros((2, 2)), forces=[kd.LinearDrag([1.0, 2.0])])
    with pytest.raises(ValueError, match=r"LinearDrag\(coefficient\): expected a scalar or shape \(3,\)"):
        each.rebind(np.zeros((3, 2)), np.zeros((3, 2)))
    assert each.n == 2
    with pytest.raises(ValueError, match="a stepper that was made with one number for all bodies can grow"):
        each.rebind(np.zeros((3, 2)), np.zeros((3, 2)))
    # A coefficient set per body becomes uniform, and per body again with more bodies.
    drag = kd.LinearDrag(1.0)
    world = Stepper(np.zeros((2, 2)), forces=[drag])
    world.set(drag, coefficient=3.0, index=[1])
    world.set_mass([2.0, 3.0])
    for way, reset in (("set_mass", lambda: world.set_mass(1.0)), ("set", lambda: world.set(drag, coefficient=1.0))):
        with pytest.raises(ValueError, match=r"`set` or `set_mass` one number .*, rebind, .* index=") as refused:
            world.rebind(np.zeros((3, 2)), np.ones((3, 2)))
        assert ("masses" in str(refused.value)) == (way == "set_mass")
        reset()
    world.rebind(np.zeros((3, 2)), np.ones((3, 2)))
    world.set(drag, coefficient=[3.0, 2.0], index=[1, 2])
    assert world.current(drag).coefficient.tolist() == [1.0, 3.0, 2.0]
    ammo = np.zeros((2, 2))
    armed = Stepper(np.zeros((2, 2)), state={"ammo": ammo})
    with pytest.raises(ValueError, match=r"position, velocity: share memory with state\['ammo'\]"):
        armed.rebind(ammo, np.zeros((2, 2)))


# ODE flows.


def test_flow_parameters_can_be_set(ODEStepper):
    lorenz = kd.flows.Lorenz()
    world = ODEStepper([[1.0, 1.0, 1.0]], lorenz, dt=0.01)
    start = world.snapshot()
    world.step(5)
    world.set(lorenz, rho=14)
    assert world.current(lorenz) == world.rhs == kd.flows.Lorenz(rho=14)
    changed = world.snapshot()
    fresh = ODEStepper(world.y.copy(), kd.flows.Lorenz(rho=14), dt=0.01)
    for each in (world, fresh):
        each.step(5)
    assert_same_bits(world.y, fresh.y)
    twin = pickle.loads(pickle.dumps(world))
    assert twin.current().rho == 14
    assert twin.snapshot() == world.snapshot()
    world.restore(start)
    assert world.current() == lorenz
    assert world.snapshot() == start
    world.restore(changed)
    assert world.current().rho == 14
    assert world.checksum() != ODEStepper(world.y.copy(), lorenz, dt=0.01).checksum()
    before = world.snapshot()
    for error, message, parameters in [
        (TypeError, r"Lorenz: expected parameters \(sigma, rho, beta\), got 'r'", {"r": 1}),
        (ValueError, r"Lorenz\(rho\)", {"rho": float("inf")}),
        (TypeError, r"Lorenz\(rho\)", {"rho": "a"}),
    ]:
        with pytest.raises(error, match=message):
            world.set(**parameters)
    with pytest.raises(ValueError, match="flow: expected Lorenz"):
        world.set(kd.flows.Rossler(), a=1)
    assert world.snapshot() == before
    world.restore(start)
    world.set(kd.flows.Lorenz(), rho=28)
    assert world.snapshot() == start, "as declared"
    function = ODEStepper([[1.0]], lambda t, y, out: None, dt=0.01)
    with pytest.raises(ValueError, match="parameters of functions"):
        function.set(rho=1)


# Changes together with spawns and despawns.


def test_ids_select_bodies_like_rows(Stepper):
    world = Stepper(np.zeros((3, 2)), mass=1.0, alive=1)
    ids = world.spawn([[1.0, 0.0], [2.0, 0.0]])
    world.set_mass([5, 6], index=ids)
    world.teleport(ids[1], (7.0, 0.0))
    world.teleport(int(ids[0]), (6.0, 0.0))
    world.teleport(ids[:0], np.zeros((0, 2)))
    assert world.mass.tolist() == [1, 5, 6]
    assert world.position[:, 0].tolist() == [0, 6, 7]
    world.kill(ids[0])
    before = world.snapshot()
    for call in (lambda: world.set_mass(2.0, index=ids), lambda: world.teleport(ids, np.zeros((2, 2)))):
        with pytest.raises(kd.DeadBodyError):
            call()
    assert world.snapshot() == before


def test_setting_an_unchanged_value_leaves_snapshots_unchanged(Stepper):
    world, wind, *_ = scene(Stepper)
    before = world.snapshot()
    world.set(wind, wind=(2, 0))
    world.set(wind, coefficient=1)
    world.step()
    world.restore(before)
    assert world.snapshot() == before


def test_setting_the_indices_of_a_pin_selects_current_bodies(Stepper):
    pin = kd.Pin(0)
    world = Stepper(np.zeros((3, 2)), np.ones((3, 2)), dt=1, constraints=[pin], alive=3)
    world.kill([0, 1])
    world.spawn([[0.0, 0.0], [0.0, 0.0]], (1.0, 1.0))
    first = world.snapshot()
    world.step()
    assert world.position[0].tolist() == [1, 1], "which is not the one that was pinned"
    world.set(pin, indices=[0, 1])
    saved = world.snapshot()
    world.step()
    assert world.position.tolist() == [[1, 1], [1, 1], [2, 2]]
    twin = pickle.loads(pickle.dumps(world))
    world.restore(first)
    world.step()
    assert world.position[0].tolist() == [1, 1]
    for each in (world, twin):
        each.restore(saved)
        each.step()
        assert each.position.tolist() == [[1, 1], [1, 1], [2, 2]]
    world.set(pin, indices=0)  # the declared index, but of the body that is now in that slot
    world.velocity[:] = 1
    saved = world.snapshot()
    world.step()
    assert world.position[:2].tolist() == [[1, 1], [2, 2]]
    world.restore(saved)
    assert world.snapshot() == saved


def test_applied_forces_can_be_added_and_removed(Stepper):
    first, second = (kd.AppliedForce(np.full((2, 1), value)) for value in (1.0, 10.0))
    world = Stepper([[0.0], [0.0]], dt=1, integrator="explicit_euler", forces=[first])
    start = world.snapshot()
    world.remove(first)
    without = world.snapshot()
    world.add(second)
    world.step()
    assert world.velocity.tolist() == [[10], [10]]
    saved = world.snapshot()
    first.force[:], second.force[:] = 3, 4
    world.restore(without)
    assert world.forces == ()
    world.restore(saved)
    assert second.force.tolist() == [[10], [10]]
    world.restore(start)
    assert world.forces == (first,)
    assert first.force.tolist() == [[1], [1]]


def test_pins_that_were_set_hold_in_corners_of_walls(Stepper):
    start = [[0.5, 0.5], [1.0, 0.5]], [[-4.0, -4.0], [-4.0, -4.0]]
    pin, walls = kd.Pin([0]), [kd.Plane((1.0, 0.2), 0.0), kd.Box(0, 9)]
    world = Stepper(*start, dt=0.25, constraints=[pin, *walls])
    world.set(pin, indices=[1])
    made = Stepper(*start, dt=0.25, constraints=[kd.Pin([1]), *walls])
    for each in (world, made):
        each.step(2)
    assert world.position.tolist() == made.position.tolist()
    assert world._plan.fingerprint == made._plan.fingerprint


def test_snapshots_distinguish_added_applied_forces(Stepper):
    one, other, third = (kd.AppliedForce(np.full((1, 1), value)) for value in (1.0, 10.0, 100.0))
    world = Stepper([[0.0]])
    saved = [world.snapshot()]
    for force in (one, other):
        world.add(force)
        saved.append(world.snapshot())
    one.force[:] = other.force[:] = 7
    for number in (0, 1, 2, 1, 0, 2):
        world.restore(saved[number])
        assert world.forces == (one, other)[:number]
        assert [force.force[0, 0] for force in world.forces] == [1, 10][:number]
    world.remove(one)
    apart = world.snapshot()
    world.add(third)
    later = world.snapshot()
    for twin in (world, pickle.loads(pickle.dumps(world))):
        first, second, last = (one, other, third) if twin is world else _arrays_of(twin, saved[2], later)
        cases = [(apart, (second,)), (saved[1], (first,)), (later, (second, last))]
        for snapshot, expected in (*cases, (saved[2], (first, second)), (saved[0], ())):
            twin.restore(snapshot)
            assert twin.forces == expected
            assert twin.snapshot() == snapshot


def _arrays_of(world, two, later):
    """Return the applied forces of a copied world, from snapshots with two of them and with the last."""
    world.restore(two)
    both = world.forces
    world.restore(later)
    return *both, world.forces[1]


def test_callbacks_with_equal_names_are_distinguished(Stepper):
    def pull(strength):
        def pulled(t, position, velocity, out):
            out[:] = strength

        return pulled

    class Engine:
        def __init__(self, strength):
            self.strength = strength

        def push(self, t, position, velocity, out):
            out[:] = self.strength

    def potential(held):
        return lambda position: held + np.zeros(len(position))

    for make in (pull, lambda strength: Engine(strength).push, lambda strength: pull([strength])):
        one, other = (kd.Force(make(strength), False) for strength in (1.0, 5.0))
        world = Stepper([[0.0]], dt=1, integrator="explicit_euler")
        world.remove(world.add(one))
        world.add(other)
        world.step()
        assert world.velocity[0, 0] == 5.0
    one, other = (kd.Force(pull(1.0), False, potential(energy)) for energy in (2.0, 3.0))
    world = Stepper([[0.0]])
    world.remove(world.add(one))
    world.add(other)
    assert world.energy()[1] == 3.0
    # Callbacks with equal code and closure are equal, so that a replay produces the same snapshot bytes.
    world, origins = Stepper([[0.0]]), []
    for _ in range(3):
        world.remove(world.add(kd.Force(pull(1.0), False)))
        origins.append(len(*world._added.values()))
    assert origins == [1, 1, 1]


def test_rebind_ignores_rows_of_dead_bodies(Stepper):
    world = Stepper(np.zeros((3, 2)), alive=1)
    position, velocity = np.full((4, 2), np.nan), np.full((4, 2), np.inf)
    position[0], velocity[0] = 1, 0
    world.rebind(position, velocity)
    world.step()
    assert world.position.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    position = world.position.copy()
    position[0, 1] = np.nan
    with pytest.raises(ValueError, match="position: expected finite numbers"):
        world.rebind(position, world.velocity.copy())


@pytest.mark.parametrize("alive", [None, [True, True, False]])
@pytest.mark.parametrize("one", CONSTRAINTS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.set(GRAVITY, acceleration=(0, -1)),
        lambda world: world.enable(GRAVITY, False),
        lambda world: world.remove(GRAVITY),
        lambda world: world.add(kd.LinearDrag(1.0)),
        lambda world: world.set_mass(2.0),
        lambda world: world.rebind(world.position.copy(), world.velocity.copy()),
    ],
    ids=["set", "enable", "remove", "add", "set_mass", "rebind"],
)
def test_forces_can_be_changed_in_a_world_with_events(Stepper, one, change, alive):
    x = [[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]]
    world = Stepper(x, forces=[GRAVITY], constraints=[one], events=kd.Events(), alive=alive)
    world.step()
    change(world)
    world.set(one, **{name: getattr(one, name) for name in one.coefficients[:1]})  # equal values
    world.step()
    twin = copy.deepcopy(world)
    for each in (world, twin):
        each.events.take()
        each.step(3)
    assert world.snapshot() == twin.snapshot()
    assert world.events.take().tobytes() == twin.events.take().tobytes()


@pytest.mark.parametrize(
    ("one", "name", "value"),
    [
        (kd.Contacts(0.2), "walls", [kd.Plane((0, 1), 0)]),
        (kd.Contacts(0.2), "joints", []),
        (kd.Distance([(0, 1)]), "pairs", []),
    ],
)
def test_structural_fields_of_constraints_cannot_be_set(Stepper, one, name, value):
    world = Stepper(np.eye(2), constraints=[one])
    with pytest.raises(TypeError, match=rf"expected coefficients \(.*\), got '{name}'"):
        world.set(one, **{name: value})
    assert world.snapshot()


def test_added_contacts_are_identified_by_exact_wall_coordinates(Stepper):
    heights = (1.0, 1.0 + 1e-13)
    added = [kd.Contacts(0.2, walls=[kd.Plane((0, 1), height)]) for height in heights]
    worlds = [Stepper([[0.0, 2.0]]) for _ in heights]
    for world, contacts in zip(worlds, added, strict=True):
        world.add(contacts)
    saved = worlds[0].snapshot()
    assert saved != worlds[1].snapshot()
    worlds[0].restore(saved)
    with pytest.raises(kd.SnapshotError):
        worlds[1].restore(saved)


def test_corner_events_after_the_periodic_box_was_disabled(Stepper):
    """Walls are bound again when the box changes; corners that report events through them must be bound again too."""
    box = kd.Periodic((-3.0, -np.inf), (3.0, np.inf))
    walls = [kd.Box(-1.0, 1.0, restitution=0.5), kd.Plane((1.0, 1.0), -1.0)]
    rng = np.random.default_rng(2)
    state = rng.normal(size=(2, 40, 2))
    told = []
    for constraints in ([*walls, box], walls):
        world = Stepper(*state.copy(), dt=0.05, constraints=constraints, events=kd.Events())
        if box in constraints:
            world.enable(box, False)
        world.step(4)
        told.append(world.events.take())
    corners = np.unique(told[1]["source"])
    assert corners.tolist() == [0, 1]
    assert told[0].tobytes() == told[1].tobytes()
