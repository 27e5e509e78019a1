"""Uniform coefficients are set in place, and the plan equals a newly built one."""

import dataclasses

import numpy as np
import pytest

import kickdrift as kd

SINGLE = {
    "gravity": (lambda: kd.Gravity((0.5, -9.81)), {"acceleration": (1, -2.5)}),
    "drag": (lambda: kd.LinearDrag(1.0, (2.0, 0.0)), {"wind": (-3.0, 1)}),
    "spring": (lambda: kd.AnchorSpring(2.0, 0.1), {"stiffness": 3, "anchor": (0.5, 0.25)}),
    "point gravity": (lambda: kd.PointGravity(1.0, (3.0, 4.0), 0.1), {"mu": 2.5}),
    "quadratic drag": (lambda: kd.QuadraticDrag(0.1), {"wind": (1.0, 0.0)}),
    "vortex": (lambda: kd.Vortex(1.0, softening=0.2), {"center": (1.0, 1.0)}),
    "a number too small for float32": (lambda: kd.LinearDrag(1.0), {"coefficient": 1e-300}),
    "minus nothing": (lambda: kd.Gravity((0.0, 0.0)), {"acceleration": (-0.0, -0.0)}),
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_setting_single_body_forces_equals_a_newly_built_stepper(Stepper, name, dtype):
    make, change = SINGLE[name]
    rng = np.random.default_rng(1)
    start = rng.normal(size=(2, 7, 2)).astype(dtype)
    term, others = make(), [kd.PointGravity(0.5, softening=0.3), kd.LinearDrag(0.25, (0.0, 1.0))]
    world = Stepper(*start.copy(), dt=0.01, forces=[others[0], term, others[1]])
    world.step(3)
    world.set(term, **change)
    state = [np.array(array) for array in (world.position, world.velocity)]
    made = Stepper(*state, dt=0.01, forces=[others[0], dataclasses.replace(term, **change), others[1]])
    assert world._plan.fingerprint == made._plan.fingerprint
    for each in (world, made):
        each.step(5)
    for mine, theirs in zip((world.position, world.velocity), (made.position, made.velocity), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_setting_one_of_several_forces_leaves_the_others(Stepper):
    first, second = kd.PointGravity(1.0, (3.0, 4.0)), kd.PointGravity(2.0, (-1.0, 0.0))
    worlds = [Stepper([[0.0, 0.0]], [[0.0, 1.0]], dt=0.01, forces=[first, second]) for _ in range(2)]
    for mu in (0.5, 0.25, 0.125):
        worlds[0].set(second, mu=mu)
        worlds[0].step()
        made = Stepper(
            worlds[1].position, worlds[1].velocity, dt=0.01, forces=[first, dataclasses.replace(second, mu=mu)]
        )
        made.step()
        assert worlds[0].position.tobytes() == made.position.tobytes()


@pytest.mark.parametrize("number", [True, 2**53 + 1, 10**400, float("inf"), float("nan"), (1, True), (1.0, "a")])
def test_set_validates_like_the_constructor(Stepper, number):
    gravity = kd.Gravity((0.0, 0.0))
    world = Stepper([[0.0, 0.0]], forces=[gravity])

    def outcome(call):
        try:
            return np.asarray(call().acceleration).tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            return type(error), str(error)

    given = (number, 0) if not isinstance(number, tuple) else number
    expected = outcome(lambda: kd.Gravity(given))
    assert outcome(lambda: (world.set(gravity, acceleration=given), world.current(gravity))[1]) == expected


PAIRS = [(0, 1), (1, 2), (3, 5), (2, 6)]
#: name -> (declaration, changes): forces that couple bodies, and constraints.
COUPLED = {
    "springs": (lambda: kd.Springs(PAIRS, 2.0, 0.5, 0.1), {"stiffness": 3.5, "rest_length": 0.25, "damping": 0.2}),
    "springs, each": (lambda: kd.Springs(PAIRS, [2.0, 1, 2, 3], 0.5), {"stiffness": [1.0, 5, 2, 0.5]}),
    "springs, one for all": (lambda: kd.Springs(PAIRS, [2.0, 1, 2, 3], 0.5), {"stiffness": 1.5}),
    "springs, measured": (lambda: kd.Springs(PAIRS, 2.0, 0.5), {"rest_length": None}),
    "attraction": (lambda: kd.NBody(1.0, 0.3), {"G": -0.5, "softening": 0.5}),
    "pairs": (lambda: kd.PairPotential("e*(q/r)**4", cutoff=2.5, e=1.0, q=0.3), {"e": 0.25, "q": 0.4}),
    "formula": (lambda: kd.Expression(x="-a*x*b", y="sin(b)*y", a=1.0, b=2.0), {"b": -0.5}),
    "potential": (lambda: kd.Potential("k*(x*x + y*y) + u*x", k=1.0, u=0.0), {"k": 0.25, "u": 0.75}),
    "bath": (lambda: kd.Langevin(0.5, 0.25, seed=3), {"friction": 1.5, "temperature": 0.75}),
    "box": (lambda: kd.Box(-1.0, 1.0, restitution=0.5), {"restitution": 0.75, "friction": 0.5, "upper": 0.5}),
    "a corner of the box": (lambda: kd.Box(-1.0, (1.0, 2.0), radius=0.1), {"lower": (-0.25, -0.5), "radius": 0.2}),
    "plane": (lambda: kd.Plane((0, 1), -0.5), {"normal": (1, 2), "offset": -0.25, "friction": 0.25, "radius": 0.1}),
    "segments": (lambda: kd.Segments([[(-2, 0), (2, 0)]], restitution=0.5), {"restitution": 0.25, "friction": 0.5}),
    "balls": (lambda: kd.ElasticCollisions(0.4, 0.5, friction=0.1), {"restitution": 0.25, "friction": 0.5}),
    "contacts": (
        lambda: kd.Contacts(0.4, walls=[kd.Plane((0, 1), -0.5), kd.Plane((1, 0), -2, friction=0.5)]),
        {"friction": 0.8, "restitution": 0.5, "hertz": 20.0, "damping_ratio": 2.0},
    ),
    "rods": (lambda: kd.Distance(PAIRS, 0.5), {"length": 0.75}),
    "compliant rods": (lambda: kd.Distance(PAIRS, 0.5, compliance=0.01), {"length": 0.25}),
}


def built(declaration, Stepper, state, **more):
    """Create a stepper with this declaration among other forces."""
    term = isinstance(declaration, kd.forces.Term)
    forces = [kd.Gravity((0.5, -2.0)), *([declaration] if term else []), kd.LinearDrag(0.25)]
    constraints = [] if term else [declaration]
    return Stepper(*(array.copy() for array in state), dt=0.05, forces=forces, constraints=constraints, **more)


@pytest.mark.parametrize("name", COUPLED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_setting_coupled_forces_and_constraints_needs_no_new_binding(Stepper, name, dtype, monkeypatch):
    make, change = COUPLED[name]
    declaration = make()
    world = built(declaration, Stepper, np.random.default_rng(5).normal(size=(2, 7, 2)).astype(dtype))
    world.step(3)
    saved, seen = world.snapshot(), [np.array(array) for array in (world.position, world.velocity)]
    world.step(2)
    then = [array.copy() for array in (world.position, world.velocity)]
    world.restore(saved)
    with monkeypatch.context() as patch:
        for module in ("constraints.KINDS", "interactions.INTERACTIONS"):
            patch.setattr(f"kickdrift.engine.{module}", {})
        world.set(declaration, **change)
    now = world.current(declaration)
    made = built(now, Stepper, seen)
    made._commit(resume=(world.tick, world._started, world._last_h))
    assert world._plan.fingerprint == made._plan.fingerprint
    if not isinstance(declaration, kd.Contacts):  # their stored impulses are state, not coefficients
        for each in (world, made):
            each.step(4)
        for mine, theirs in zip((world.position, world.velocity), (made.position, made.velocity), strict=True):
            assert mine.tobytes() == theirs.tobytes()
    # restore() also undoes set(); setting again works.
    world.restore(saved)
    world.step(2)
    for mine, before in zip((world.position, world.velocity), then, strict=True):
        assert mine.tobytes() == before.tobytes()


def test_setting_contacts_equals_newly_built_ones(Stepper):
    make, change = COUPLED["contacts"]
    first = make()
    state = np.random.default_rng(5).normal(size=(2, 7, 2))
    world, made = built(first, Stepper, state), built(dataclasses.replace(first, **change), Stepper, state)
    world.set(first, **change)
    for each in (world, made):
        each.step(20)
    assert world.position.tobytes() == made.position.tobytes()
    assert world._plan.fingerprint == made._plan.fingerprint


def test_refused_coefficients_of_springs_change_nothing(Stepper):
    spring = kd.Springs(PAIRS, 2.0, 0.5)
    world = built(spring, Stepper, np.random.default_rng(5).normal(size=(2, 7, 2)).astype(np.float32))
    saved = world.snapshot()
    for wrong in (-1.0, 1e300, [1.0, 2.0], "a"):  # too large for float32, one for each of two springs
        with pytest.raises((TypeError, ValueError)):
            world.set(spring, stiffness=wrong)
        assert world.snapshot() == saved
    assert world.current(spring) is spring


def test_refused_values_are_shown_as_given(Stepper):
    box = kd.Box(-1.0, 1.0, restitution=0.5)
    world = Stepper([[0.0, 0.0]], constraints=[box])
    with pytest.raises(ValueError, match=r"Box\(restitution\): expected .* \[.*\] \(list\)"):
        world.set(box, restitution=[float("nan")])
    assert world.constraints == (box,)


@pytest.mark.parametrize("per_mass", [True, False])
def test_per_mass_of_springs_can_be_toggled(Stepper, per_mass):
    spring = kd.Springs([(0, 1)], 2.0, 0.5, per_mass=not per_mass)
    world = Stepper([[0.0], [1.0]], mass=3.0, forces=[spring])
    for value in (per_mass, not per_mass, not per_mass, per_mass):
        world.set(spring, per_mass=value)
    made = Stepper([[0.0], [1.0]], mass=3.0, forces=[dataclasses.replace(spring, per_mass=per_mass)])
    assert world._plan.fingerprint == made._plan.fingerprint
    for each in (world, made):
        each.step(3)
    assert world.position.tobytes() == made.position.tobytes()


@pytest.mark.parametrize("name", ["springs", "rods", "box", "balls"])
def test_setting_after_a_despawn_keeps_removed_pairs_removed(Stepper, name):
    make, change = COUPLED[name]
    declaration = make()
    state = np.random.default_rng(6).normal(size=(2, 7, 2))
    world, made = (
        built(each, Stepper, state, alive=7) for each in (declaration, dataclasses.replace(declaration, **change))
    )
    for each in (world, made):
        each.kill([1])
    world.set(declaration, **change)
    for each in (world, made):
        each.step(3)
    assert world.position.tobytes() == made.position.tobytes()


def windy(Stepper, dtype, **more):
    rng = np.random.default_rng(8)
    wind, sky = kd.LinearDrag(1.0, (2.0, 0.0)), kd.Gravity((0.0, -9.81))
    state = rng.normal(size=(2, 7, 2)).astype(dtype)
    return Stepper(*state, dt=0.01, forces=[sky, wind, kd.AnchorSpring(0.5)], **more), sky, wind


def rebuilt(Stepper, world):
    state = [np.array(array) for array in (world.position, world.velocity)]
    made = Stepper(*state, dt=0.01, forces=world.forces, mass=world.mass)
    made._commit(resume=(world.tick, world._started, world._last_h))
    return made


def test_set_coefficients_survive_refusals(Stepper):
    world, _, wind = windy(Stepper, np.float32)
    for number in (1.0, 2.0):
        world.set(wind, wind=(number, 0.0))

    for refused in ((1.0,), (1.0, float("nan")), (1e300, 0.0), "east", [1, 2, 3]):
        with pytest.raises((TypeError, ValueError)) as here:
            world.set(wind, wind=refused)
        with pytest.raises((TypeError, ValueError)) as there:
            windy(Stepper, np.float32)[0].add(kd.LinearDrag(1.0, refused))
        assert str(here.value) == str(there.value)
        assert world.current(wind).wind.tolist() == [2.0, 0.0]
        world.set(wind, wind=(2.0, 0.0))
    with pytest.raises(TypeError, match="'gust'"):
        world.set(wind, gust=1.0)
    with pytest.raises(ValueError, match="at least 0"):
        world.set(wind, coefficient=-1.0)
    assert world.current(wind).wind.tolist() == [2.0, 0.0]


def test_set_coefficients_are_copied_restored_and_shifted(Stepper):
    import copy

    world, sky, wind = windy(Stepper, np.float64)
    first = world.snapshot()
    for number in (1.0, 2.0):
        world.set(wind, wind=(number, 0.0))
    twin, saved = copy.deepcopy(world), world.snapshot()
    world.restore(first)
    assert world.current(wind) is wind
    for number in (1.0, 2.0):
        world.set(wind, wind=(number, 0.0))
    assert world.snapshot() == twin.snapshot() == saved
    world.set(wind, wind=(3.0, 0.0))
    world.shift((1.0, 0.0))
    assert world.current(wind).wind.tolist() == [3.0, 0.0]
    for number in (4.0, 5.0):
        world.set(wind, wind=(number, 0.0))
    world.enable(wind, False)
    world.set(wind, wind=(6.0, 0.0))
    assert world.forces[0] is sky
    assert len(world.forces) == 2
    world.enable(wind)
    assert world.current(wind).wind.tolist() == [6.0, 0.0]
    for number in (1.0, 2.0):
        world.set(wind, wind=(number, 0.0))
    world.remove(wind)
    assert len(world.forces) == 2
    world.restore(first)
    assert world.snapshot() == first


def test_a_declaration_listed_twice_is_set_twice(Stepper):
    wind = kd.LinearDrag(1.0, (1.0,))
    world = Stepper([[0.0]], dt=0.5, integrator="explicit_euler", forces=[wind, wind])
    for number in (1.0, 2.0, 3.0):
        world.set(wind, wind=(number,))
    world.step()
    assert world.velocity.tolist() == [[3.0]]
    assert [force.wind.tolist() for force in world.forces] == [[3.0], [3.0]]


def test_reading_forces_in_threads_while_they_are_set(Stepper):
    """Reading needs no lock: a reader sees the values before or after each change, never a mixture."""
    import threading

    world, _, wind = windy(Stepper, np.float64)
    world.set(wind, wind=(0.0, 1.0))
    found, ended = [], threading.Event()

    def read():
        while not ended.is_set():
            found.append(tuple(world.forces[1].wind.tolist()))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(1, 300):
        world.set(wind, wind=(float(number), 1.0))
    ended.set()
    for reader in readers:
        reader.join()
    made = rebuilt(Stepper, world)
    for each in (world, made):
        each.step(3)
    assert world.position.tobytes() == made.position.tobytes()
    assert world._plan.fingerprint == made._plan.fingerprint
    assert {y for _, y in found} <= {1.0}
