"""Ropes, rods and chains against analytic mechanics.

Several declarations must act like a single one: results do not depend on how rods are grouped.
"""

import math
from itertools import permutations

import numpy as np
import pytest
from plans import assert_same_state

import kickdrift as kd
from kickdrift import reference

G = 9.81  # m/s²
LINKS = 26


def chain(sag=1.1, width=11.4):
    """Positions and links of a bridge at rest, but not in equilibrium."""
    across = np.linspace(0, width, LINKS + 1)
    links = np.stack([np.arange(LINKS), np.arange(1, LINKS + 1)], axis=1)
    return np.stack([across, sag * (2 * across / width - 1) ** 2 - sag], axis=1), links


def world(position, ropes, hz=240, pins=(0, LINKS), Stepper=kd.Stepper, **more):
    constraints = [kd.Pin(list(pins)), *ropes]
    return Stepper(position.copy(), hz=hz, forces=[kd.Gravity((0, -G))], constraints=constraints, **more)


def total(stepper):
    return sum(stepper.energy())


SPLITS = {
    "middle apart": lambda links: [links[[13]], np.delete(links, 13, axis=0)],
    "odd and even": lambda links: [links[::2], links[1::2]],
    "one by one, from behind": lambda links: list(links[::-1, None]),
}


@pytest.mark.parametrize("split", SPLITS)
def test_a_chain_in_several_declarations_equals_a_single_one(split):
    """Energy is conserved, and results are bitwise independent of the grouping of links."""
    position, links = chain()
    whole = world(position, [kd.Distance(links, iterations=40)])
    parts = world(position, [kd.Distance(part, iterations=40) for part in SPLITS[split](links)])
    before = total(parts)
    weight = (LINKS + 1) * G  # N, of masses of 1 kg
    for stepper in (whole, parts):
        stepper.step(2400)
    assert abs(total(parts) - before) < 0.01 * weight  # J: the energy of sinking by 1 cm
    assert_same_state(parts, whole)


@pytest.mark.parametrize("hz", [120, 240])
def test_adding_a_link_to_a_swinging_chain_conserves_energy(hz):
    """A rigid link does no work: it does not matter that the last one was added during the swing."""
    links, angle, length = 9, 0.6, 0.5
    along = length * np.arange(links + 1)[:, None] * (math.sin(angle), -math.cos(angle))
    pairs = np.stack([np.arange(links), np.arange(1, links + 1)], axis=1)
    swinging = world(along, [kd.Distance(pairs[:-1], iterations=20)], hz, [0])
    swinging.step(6)
    swinging.add(kd.Distance(pairs[-1:], iterations=20))
    swinging.step()  # in this step the new link jerks its two bodies
    before, energies = total(swinging), []
    for _ in range(10 * hz):
        swinging.step()
        energies.append(total(swinging) - before)
    height = links * length * (1 - math.cos(angle))  # m: height of the fall of the last body
    assert max(np.abs(energies)) < 1e-3 * links * G * height


def test_the_period_of_a_pendulum_depends_on_its_amplitude():
    """T = 2 pi sqrt(L / g) / agm(1, cos(amplitude / 2)), and energy (Landau, Lifschitz: Mechanics, paragraph 11)."""
    length, amplitude, hz = 1.0, 1.2, 480
    bob = [length * math.sin(amplitude), -length * math.cos(amplitude)]
    swing = world(np.array([(0.0, 0.0), bob]), [kd.Distance([(0, 1)])], hz, [0])
    before, turns, last = total(swing), [], swing.position[1, 0]
    for tick in range(10 * hz):
        swing.step()
        now = swing.position[1, 0]
        if last > 0 >= now:
            turns.append((tick + last / (last - now)) / hz)
        last = now
    a, b = 1.0, math.cos(amplitude / 2)
    for _ in range(6):
        a, b = (a + b) / 2, math.sqrt(a * b)
    assert np.mean(np.diff(turns)) == pytest.approx(2 * math.pi * math.sqrt(length / G) / a, rel=1e-4)
    assert abs(total(swing) - before) < 1e-3 * G * length


@pytest.mark.parametrize("iterations", [20, 40])
def test_a_bridge_in_equilibrium_stays_at_rest(iterations):
    """In equilibrium the slope grows from link to link by the weight of a plank; nothing may move for a minute."""
    slope = np.linspace(-0.38, 0.38, LINKS)
    along = np.stack([np.ones(LINKS), slope], axis=1) / np.hypot(1, slope)[:, None]
    position = np.concatenate([[(0, 0)], np.cumsum(0.44 * along, axis=0)])
    links = chain()[1]
    ropes = [kd.Distance(links[[13]], iterations=iterations), kd.Distance(np.delete(links, 13, axis=0))]
    bridge = world(position, ropes)
    bridge.add(kd.Damping(0.25))
    bridge.step(60 * 240)
    assert np.linalg.norm(bridge.velocity, axis=1).max() < 0.001  # m/s; a step of gravity is 0.04
    assert abs(bridge.position - position).max() < 0.05


@pytest.mark.parametrize("compliance", [None, 0.0, 1e-4])
@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
def test_bodies_on_two_compliant_ropes_stay_at_rest(Stepper, compliance):
    """Each rope stretches by load times compliance, in any order of declarations."""
    lengths, ropes = (1.0, 1.5), [(0, 1), (1, 2)]
    loads = (2 * G, 1 * G)  # N
    stretch = [load * (compliance or 0.0) for load in loads]
    places = [0.0, -(lengths[0] + stretch[0]), -(sum(lengths) + sum(stretch))]
    position = np.array([(0.0, y) for y in places])
    hung = [kd.Distance([rope], each, compliance=compliance) for rope, each in zip(ropes, lengths, strict=True)]
    still = world(position, hung[::-1], 240, [0], Stepper)
    still.step(240)
    assert abs(still.position - position).max() < 1e-4
    assert abs(still.velocity).max() < 0.01 * G / 240  # 1 % of gravity's velocity change per step


def test_rigid_and_compliant_rods_are_solved_together():
    """A rigid rod below a compliant one, declared before it: each carries the load below."""
    compliance = 1e-3  # m/N
    position = np.array([(0.0, 0.0), (0.0, -1.0 - 2 * G * compliance), (0.0, -2.0 - 2 * G * compliance)])
    rods = [kd.Distance([(1, 2)], 1.0, iterations=40), kd.Distance([(0, 1)], 1.0, compliance=compliance)]
    still = world(position, rods, 240, [0])
    still.step(480)
    assert abs(still.position - position).max() < 1e-3


def test_all_distances_get_the_largest_number_of_iterations():
    position, links = chain()
    often = [kd.Distance(links[:13], iterations=40), kd.Distance(links[13:], iterations=40)]
    mixed = [kd.Distance(links[:13], iterations=40), kd.Distance(links[13:], iterations=1)]
    first, second = (world(position, ropes) for ropes in (often, mixed))
    for stepper in (first, second):
        stepper.step(60)
    assert first.position.tobytes() == second.position.tobytes()


def test_ropes_without_common_bodies_are_independent():
    """Neither a distant rope nor one on a shared pinned body changes any result."""
    position, links = chain()
    far = np.array([(5.0, 50.0), (6.5, 50.0)])
    alone = world(position, [kd.Distance(links, iterations=5)])
    beside = world(
        np.concatenate([position, far]),
        [kd.Distance([(LINKS + 1, LINKS + 2), (LINKS + 1, 0)], iterations=30), kd.Distance(links, iterations=5)],
    )
    for stepper in (alone, beside):
        stepper.step(120)
    assert beside.position[: LINKS + 1].tobytes() == alone.position.tobytes()


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
def test_a_platform_supports_a_body_on_a_rope_in_any_order(Stepper):
    """Two bodies on a rope, one on a platform, the other hanging beside it: the platform is solved last."""
    position, rope = np.array([(0.0, 0.5), (3.0, 0.5)]), kd.Distance([(0, 1)], 3.0)
    plank = kd.Boxes([(-1.0, -1.0)], [(1.0, 0.0)])
    held = {"contacts": kd.Contacts(0.5, shapes=[plank]), "walls": kd.Boxes([(-1.0, -1.0)], [(1.0, 0.0)], radius=0.5)}
    for solid in held.values():
        found = []
        for constraints in ([rope, solid], [solid, rope]):
            two = Stepper(position.copy(), hz=60, forces=[kd.Gravity((0, -G))], constraints=constraints)
            two.step(20)
            assert two.position[0, 1] > 0.49
            found.append(two.position.tobytes() + two.velocity.tobytes())
        late = Stepper(position.copy(), hz=60, forces=[kd.Gravity((0, -G))], constraints=[solid])
        late.add(rope)
        late.step(20)
        assert found == [late.position.tobytes() + late.velocity.tobytes()] * 2


def test_the_order_of_different_constraints_does_not_matter():
    position = np.array([(0.0, 0.3), (0.55, 0.3), (1.1, 0.45)])
    kinds = [
        kd.Pin(0),
        kd.Distance([(0, 1), (1, 2)], 0.5),
        kd.ElasticCollisions(0.3, restitution=0.0),
        kd.Plane((0, 1), 0.0, radius=0.3),
        kd.Periodic((-5, -5), (5, 5)),
    ]
    found = set()
    for constraints in permutations(kinds):
        three = kd.Stepper(position.copy(), hz=60, forces=[kd.Gravity((0, -G))], constraints=constraints)
        three.step(30)
        found.add(three.position.tobytes() + three.velocity.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("ratio", [1, 4, 12])
@pytest.mark.parametrize("kind", ["plane", "boxes", "segments"])
def test_a_stack_on_a_wall_is_supported_within_one_step(kind, ratio):
    """A heavy ball on a light one on any floor: each iteration leaves the fraction M / (m + M) of the velocity.

    k iterations leave the fraction q, its k-th power. At rest v = q (v - g h), so v = -q / (1 - q) g h. The
    iteration that finds the two separated may be lost.
    """
    sweeps, hz, radius = 8, 240, [0.06, 0.11]
    floor = {
        "plane": lambda: kd.Plane((0, 1), 0.0, restitution=0.0, radius=radius),
        "boxes": lambda: kd.Boxes([(-5.0, -2.0)], [(5.0, 0.0)], restitution=0.0, radius=radius),
        "segments": lambda: kd.Segments([[(-5.0, 0.0), (5.0, 0.0)]], restitution=0.0, radius=radius),
    }[kind]()
    balls = kd.ElasticCollisions(radius, restitution=0.0, iterations=sweeps)
    pile = kd.Stepper(
        [(0.0, 0.06), (0.0, 0.23)], mass=[1.0, ratio], hz=hz, forces=[kd.Gravity((0, -G))], constraints=[balls, floor]
    )
    pile.step(4000)
    left = (ratio / (1 + ratio)) ** (sweeps - 1)
    speed = abs(pile.velocity[:, 1]).max() * hz / G
    assert speed < left / (1 - left) + 0.01


@pytest.mark.parametrize("iterations", [8, 40])
def test_a_bridge_restarted_at_rest_stays_at_rest(iterations):
    """Distances have no state: after the sag of unconverged iterations, nothing moves from the first step on."""
    position, links = chain()
    lengths = np.linalg.norm(np.diff(position, axis=0), axis=1)
    settled = world(position, [kd.Distance(links, lengths, iterations=iterations)])
    settled.add(kd.Damping(8.0))
    settled.step(10 * 240)
    again = world(settled.position, [kd.Distance(links, lengths, iterations=iterations)])
    for _ in range(240):
        again.step()
        assert np.linalg.norm(again.velocity, axis=1).max() < 0.001  # m/s
    assert abs(again.position - settled.position).max() < 1e-4


@pytest.mark.parametrize("factor", [8, 2, 0.5, 0.125])
@pytest.mark.parametrize("joined", [False, True], ids=["alone", "in Contacts"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper])
def test_a_hanging_load_reads_its_weight_when_dt_changes(Stepper, dtype, joined, factor):
    """x' = x + (x - x_prev) h/last + a h (h + last)/2: forces act for (h + last)/2, and a rope is loaded by m g."""
    mass, hz = 2.0, 64
    weight, epsilon = mass * G, float(np.finfo(dtype).eps)
    for integrator in (kd.Verlet(), kd.Verlet(velocity="central"), kd.VelocityVerlet()):
        for compliance in (None, 2.0**-16):
            for limits in ({"length": 1.0}, {"max_length": 1.0}):
                rope = kd.Distance([(0, 1)], compliance=compliance, breaks_at=1.5 * weight, **limits)
                tied = kd.Contacts(0.1, joints=[rope]) if joined else rope
                place = [(0, 0), (0, -1 - (compliance or 0) * weight)]
                bob = Stepper(
                    np.array(place, dtype),
                    mass=mass,
                    hz=hz,
                    integrator=integrator,
                    forces=[kd.Gravity((0, -G))],
                    constraints=[kd.Pin(0), tied],
                )
                bob.step(hz)
                at_rest = bob.position.copy()
                for rate in (factor * hz, hz):
                    bob.dt = 1 / rate
                    for _ in range(4):
                        bob.step()
                        assert bob.load(rope)[0] == pytest.approx(weight, rel=1e-4 + 4 * rate**2 * epsilon)
                assert bob.whole(rope).all()
                assert abs(bob.position - at_rest).max() < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_connected_bodies_on_a_floor_have_no_velocity_in_contacts(seed):
    """Rods, contacts and floor are solved together: velocities in a resting heap are close to 0."""
    rng, radius, count = np.random.default_rng(seed), 0.1, 12
    corners = np.array([(0.0, 0.0), (0.4, 0.0), (0.2, 0.35), (0.8, 0.0)])  # a triangle with a tail
    position = (corners + np.stack([rng.uniform(0, 2, count), 0.3 + 0.6 * np.arange(count)], axis=1)[:, None]).reshape(
        -1, 2
    )
    pairs = (np.array([(0, 1), (1, 2), (0, 2), (1, 3)]) + 4 * np.arange(count)[:, None, None]).reshape(-1, 2)
    floor = kd.Boxes([(-1.0, -1.0), (0.5, -1.0)], [(9.0, 0.0), (1.0, 0.2)])
    contacts = kd.Contacts(
        radius,
        friction=0.4,
        joints=[kd.Distance(pairs, iterations=16)],
        shapes=[floor],
        walls=[kd.Box((-0.5, -1), (3.5, 99))],
        substeps=8,
    )
    heap = kd.Stepper(
        position,
        mass=rng.uniform(1, 6, 4 * count),
        hz=60,
        forces=[kd.Gravity((0, -G)), kd.Damping(0.3)],
        constraints=[contacts],
    )
    heap.step(30 * 60)
    before = heap.position.copy()
    for _ in range(60):
        heap.step()
        assert np.linalg.norm(heap.velocity, axis=1).max() < G / 240  # m/s
    assert abs(heap.position - before).max() < 0.001


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["given", "coloured"])
@pytest.mark.parametrize("up", [False, True], ids=["hanging", "pulled up"])
def test_light_links_that_bear_a_heavy_body_have_no_velocity(Stepper, order, up, dtype):
    """Each step corrects the links by more than their length, for which their velocities were once left alone."""
    links, away = 3, 1.0 if up else -1.0
    position = np.zeros((links + 1, 2), dtype)
    position[:, 1] = away * 0.1 * np.arange(links + 1)
    mass = [0.01] * links + [1.0]
    rods = kd.Distance([(k, k + 1) for k in range(links)], 0.1, iterations=64, order=order)
    gravity = kd.Gravity((0, away * G))
    rope = Stepper(position, mass=mass, hz=60, forces=[gravity, kd.Damping(1.0)], constraints=[kd.Pin(0), rods])
    rope.step(90)
    for _ in range(3):
        rope.step()
        scale = 1e-3 if dtype == np.float32 else 1e-9
        assert abs(rope.velocity).max() < scale * G / 60
        below = np.cumsum(mass[:0:-1])[::-1]
        assert rope.load(rods) == pytest.approx(below * G, rel=1e-2 * scale + 1e-3)


@pytest.mark.parametrize("links", [100, 150])
def test_a_long_chain_hangs_at_rest_and_falls_straight_when_cut(links):
    position = np.zeros((links + 1, 2))
    position[:, 1] = -0.1 * np.arange(links + 1)
    pairs = np.stack([np.arange(links), np.arange(1, links + 1)], axis=1)
    chain = kd.Distance(pairs, 0.1)
    world = kd.Stepper(position, hz=60, forces=[kd.Gravity((0, -G)), kd.Damping(1.0)], constraints=[kd.Pin([0]), chain])
    world.step(60 * 60)
    assert abs(world.velocity).max() < 1e-9
    assert world.load(chain) == pytest.approx(G * np.arange(links, 0, -1), rel=1e-9)
    world.remove(chain)
    at_cut = world.position.copy()
    world.step()
    assert world.position[1:, 1] == pytest.approx(at_cut[1:, 1] - 0.5 * G / 60**2, abs=1e-9)
