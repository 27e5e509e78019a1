"""The contacts of a step, their groups, and the order in which they are solved."""

from __future__ import annotations

from ..vector import Vector, dot
from .collisions import near_pairs

#: Number of colours of the contact graph. Contacts for which no colour is free are solved last.
COLOURS = 64


def candidates(system, x, p, radius, weight, normal, offset, alive, seen, through, level):
    """Broad phase: pairs i < j of bodies, and bodies with walls and shapes, which are numbered after the bodies.

    Returns (i, j, whether it is a sensor contact). through: per wall and body, 1 for a sensor contact, 2 for none.
    """
    n = len(x)
    partners: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for i, j in near_pairs(x, radius, alive, system.space, seen):
        if weight[i] + weight[j] > 0 or seen.senses(i, j):
            partners[i].append((j, seen.senses(i, j)))
    for i in range(n):
        for face in range(len(offset)):
            # A body is a candidate if it is near the wall before the step or after it.
            reach = offset[face] + radius[i] + radius[i] / 4
            displacement = Vector(normal[face])
            passes = 0 if through is None else through[face][i]
            if not (weight[i] > 0 if passes == 0 else passes == 1 and alive[i]):
                continue
            if dot(displacement, x[i]) <= reach or dot(displacement, p[i]) <= reach:
                partners[i].append((n + face, passes == 1))
        if level is not None:
            beyond = n + len(offset)
            near = level.near(i, p[i], x[i], weight[i] > 0, alive[i], beyond)
            partners[i] += [(beyond + number, senses) for number, senses in near]
    return [(i, j, senses) for i in range(n) for j, senses in partners[i]]


def in_colours(found, moved):
    """Colour the contact graph: contacts of one colour share no movable body, and can be solved in any order.

    Greedy colouring: in order, each contact gets the lowest colour that is free at both of its bodies.
    """
    taken = [0] * len(moved)
    colours: list[list] = [[] for _ in range(COLOURS + 1)]
    for contact in found:
        ends = [k for k in (contact.i, contact.j) if k < len(moved) and moved[k]]
        mask = 0
        for k in ends:
            mask |= taken[k]
        colour = 0
        while mask >> colour & 1:
            colour += 1
        colours[min(colour, COLOURS)].append(contact)
        for k in ends:
            taken[k] |= (1 << colour) & (2**COLOURS - 1)
    return [contact for colour in colours for contact in colour]


def group(found, rods, moved):
    """Find the connected components of contacts and rods over movable bodies; return the component of each body.

    Relaxation and rest are decided by component, so that results do not depend on distant bodies.
    """
    n, above = len(moved), list(range(len(moved)))

    def top(i):
        while above[i] != i:
            i = above[i]
        return i

    for i, j in [(contact.i, contact.j) for contact in found] + rods:
        if j < n and moved[i] and moved[j]:
            above[top(i)] = top(j)
    groups = [top(i) for i in range(n)]
    for contact in found:
        contact.group = groups[contact.i if moved[contact.i] else contact.j]
    return groups
