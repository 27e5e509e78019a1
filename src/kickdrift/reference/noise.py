"""Standard normal numbers that depend only on seed, tick and body; and the Langevin thermostat."""

from __future__ import annotations

from typing import Any

from . import functions
from .vector import sqrt

TURN = 6.283185307179586


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Compute four 32-bit numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw 2011)."""
    a, b, c, d = counter
    k, m = key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & 0xFFFFFFFF, (p >> 32) ^ d ^ m, p & 0xFFFFFFFF
        k, m = (k + 0x9E3779B9) & 0xFFFFFFFF, (m + 0xBB67AE85) & 0xFFFFFFFF
    return [a, b, c, d]


def normals(seed: int, tick: int, body: int, which: int, generation: int = 1) -> tuple[float, float]:
    """Compute two normal numbers (Box and Muller 1958), in float64.

    body: slot; generation: upper half of the id. which: stream, 0 and 1 for `Langevin`, 2 for `noise(k)`, whose seed is
    k.
    """
    last = (which | generation - 1 << 8) & 0xFFFFFFFF
    words = philox([tick & 0xFFFFFFFF, tick >> 32, body, last], [seed & 0xFFFFFFFF, seed >> 32])
    u = float(((words[0] << 32 | words[1]) >> 11) + 1) * 2.0**-53
    angle = TURN * (float((words[2] << 32 | words[3]) >> 11) * 2.0**-53)
    radius = sqrt(-2.0 * functions.call("log", float, u))
    return radius * functions.call("cos", float, angle), radius * functions.call("sin", float, angle)


def thermostat_numbers(
    interaction: Any, real: Any, dim: int, body: int, tick: int, h: Any, generation: int, world: int
) -> tuple[Any, list[Any]]:
    """Return the factor of friction on a velocity in a step, and the noise added to each component."""
    friction, heat = (
        float(field[body if len(field) > 1 else 0]) for field in map(interaction.fields.get, ("friction", "heat"))
    )
    c = functions.call("exp", float, -(friction * float(h)))
    width = sqrt((1.0 - c) * (1.0 + c) * heat)
    seed, pairs = (interaction.term.seed + world) % 2**64, range((dim + 1) // 2)
    z = [number for which in pairs for number in normals(seed, tick, body, which, generation)]
    return real(c), [real(width * number) for number in z[:dim]]
