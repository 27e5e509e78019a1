"""Contacts solved in SIMD lanes are bitwise equal to the sequential solve, for every combination of contacts.

A vector has 2 to 16 lanes: the numbers of contacts tested fill the last vector to each possible degree.
"""

from itertools import product

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state, each_isa, outcome, said

import kickdrift as kd

DIMS = (1, 2, 3)
DTYPES = (np.float32, np.float64)
TUBE = 1000.0  # m; the box is so wide that only intended pairs are close across its sides


def compare(monkeypatch, make, steps=4, events=False):
    """Step a scene on the reference and every instruction set: equal bits, errors and events."""
    book = make(kd.reference.Stepper)
    ended = outcome(book, steps)
    told = book.events.take().tobytes() if events else None
    for isa in each_isa(monkeypatch):
        with said(isa=isa):
            ours = make(kd.Stepper)
            assert outcome(ours, steps) == ended
            if ended:
                continue
            assert_same_state(ours, book)
            assert ours.checksum() == book.checksum()
            if told is not None:
                assert ours.events.take().tobytes() == told
    return book


def world(Stepper, position, velocity, mass, dtype, contacts, more=(), **how):
    dim = position.shape[1]
    down = np.zeros(dim)
    down[-1] = -9.81
    return Stepper(
        position.astype(dtype), velocity.astype(dtype), mass, hz=60, forces=[kd.Gravity(down)],
        constraints=[*more, contacts], **how,
    )  # fmt: skip


def couples(count, dim, seed=0):
    """Create pairs of bodies with a small overlap or gap; pairs are far from each other."""
    rng = np.random.default_rng([seed, count, dim])
    way = rng.normal(size=(count, dim))
    way /= np.linalg.norm(way, axis=1)[:, None]
    first = rng.uniform(-0.1, 0.1, (count, dim))
    first[:, 0] += 5 * np.arange(count)
    second = first + way * rng.uniform(0.9, 1.1, count)[:, None]
    position = np.concatenate([first, second])
    return position, rng.normal(size=position.shape), rng.uniform(0.5, 2, 2 * count)


@pytest.mark.parametrize(("dim", "dtype"), list(product(DIMS, DTYPES)))
def test_every_number_of_contacts_equals_the_reference(monkeypatch, dim, dtype):
    """Contacts of one graph colour, with and without events, friction and a periodic box."""
    for count in range(1, 18):
        position, velocity, mass = couples(count, dim)
        friction = np.where(np.arange(2 * count) % 3 == count % 3, 0.0, 0.4)
        more = [kd.Periodic(-TUBE, TUBE)] if count % 3 == 0 else []
        events = kd.Events() if count % 2 else None

        def make(Stepper):
            contacts = kd.Contacts(0.5, restitution=0.3, friction=friction)  # noqa: B023
            return world(Stepper, position, velocity, mass, dtype, contacts, more, events=events)  # noqa: B023

        with said(count=count):
            compare(monkeypatch, make, events=events is not None)


def balls_around(count, dim, radius, rng):
    """Create a central ball, the first, and balls of radius 0.5 around it."""
    way = rng.normal(size=(count, dim))
    way /= np.linalg.norm(way, axis=1)[:, None]
    apart = rng.uniform(radius + 0.4, radius + 0.6, count)
    return np.concatenate([np.zeros((1, dim)), way * apart[:, None]])


@pytest.mark.parametrize(("dim", "dtype"), list(product(DIMS, DTYPES)))
def test_immovable_bodies_may_touch_many_in_one_colour(monkeypatch, dim, dtype):
    """A moving body of infinite mass and walls touch many bodies in one colour; the body keeps its velocity."""
    rng = np.random.default_rng(dim)
    count = 24
    position = balls_around(count, dim, 3.0, rng)
    velocity = rng.normal(size=position.shape)
    mass = np.append(np.inf, rng.uniform(0.5, 2, count))
    radius = np.append(3.0, np.full(count, 0.5))
    up = np.zeros(dim)
    up[-1] = 1

    def make(Stepper):
        walls = [kd.Plane(up, -3.4), kd.Plane(-up, -3.4)]
        return world(Stepper, position, velocity, mass, dtype, kd.Contacts(radius, walls=walls), events=kd.Events())

    there = compare(monkeypatch, make, events=True)
    assert_same_bits(there.velocity[0], velocity[0].astype(dtype))


@pytest.mark.parametrize(("dim", "dtype"), list(product(DIMS, DTYPES)))
def test_more_contacts_than_colours_are_solved_sequentially(monkeypatch, dim, dtype):
    """Two large balls between many small ones: the contacts beyond the last colour are solved one after the other."""
    rng = np.random.default_rng(dim)
    count = 90
    position = np.concatenate([balls_around(count, dim, 10.0, rng), [[20.1] + [0.0] * (dim - 1)]])
    velocity = rng.normal(size=position.shape)
    mass = rng.uniform(0.5, 2, count + 2)
    mass[[0, -1]] = 50
    radius = np.full(count + 2, 0.5)
    if dim == 1:  # as a crowd, 1-D balls would not use all pairs
        position[1:-1] *= rng.uniform(0.97, 1.15, (count, 1))
        radius[:] = 0.01
        velocity[1:-1] = -60 * np.sign(position[1:-1])
    radius[[0, -1]] = 10
    near = np.linalg.norm(position[1:].astype(dtype) - position[0].astype(dtype), axis=1) < 1.2 * (10 + radius[1:])
    assert near.sum() > 64 + 16

    def make(Stepper):
        return world(Stepper, position, velocity, mass, dtype, kd.Contacts(radius, friction=0.7), events=kd.Events())

    there = compare(monkeypatch, make, 3, events=True)
    assert (there.touching()["a"] == there.ids[0]).sum() > 2


@pytest.mark.parametrize("dim", [2, 3])
def test_shapes_walls_and_bodies_in_one_colour(monkeypatch, dim):
    rng = np.random.default_rng(dim)
    position = rng.uniform(-2, 2, (40, dim))
    position[:, -1] = rng.uniform(-0.1, 1.5, 40)
    velocity = rng.normal(size=position.shape)
    lower = np.full((3, dim), -3.0)
    lower[:, 0] = [-3, -1, 1]
    upper = lower + 2
    upper[:, -1] = [-0.5, -0.4, -0.5]
    upper[:, 1:-1] = 3
    aside = np.zeros(dim)
    aside[0] = 1

    def make(Stepper):
        contacts = kd.Contacts(0.4, walls=[kd.Plane(aside, -1.5)], shapes=[kd.Boxes(lower, upper)])
        return world(Stepper, position, velocity, 1.0, np.float64, contacts, events=kd.Events())

    compare(monkeypatch, make, events=True)


def test_coincident_bodies_separate_along_an_axis(monkeypatch):
    for dim, around_it in product(DIMS, (False, True)):
        more = [kd.Periodic(-TUBE, TUBE)] if around_it else []
        position = np.repeat(5.0 * np.arange(9), 2)[:, None] * np.eye(dim)[0]
        velocity = np.zeros(position.shape)

        def make(Stepper):
            return world(Stepper, position, velocity, 1.0, np.float64, kd.Contacts(0.5), more)  # noqa: B023

        with said(dim=dim, around_it=around_it):
            there = compare(monkeypatch, make)
            assert np.linalg.norm(there.position[0] - there.position[1]) > 0.01


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_non_finite_velocities_are_reported_like_in_the_reference(monkeypatch, value):
    """A non-finite velocity in one lane does not affect the other lanes until the step ends."""
    position, velocity, mass = couples(12, 2)

    def make(Stepper):
        stepper = world(Stepper, position, velocity, mass, np.float64, kd.Contacts(0.5))
        stepper.step(1)
        stepper.velocity[5] = value
        return stepper

    assert outcome(make(kd.reference.Stepper), 2)[0] is kd.NonFiniteError
    compare(monkeypatch, make, steps=2)
