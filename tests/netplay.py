"""Rollback netplay of two peers in one process over a lossy line: their states must never differ.

    python tools/prove.py netplay --frames 1000000

Each peer has its own world and predicts the other's inputs. Packets arrive late, out of order or never; after a
wrong prediction a peer rolls back and resimulates. Ships shoot, so bodies spawn and die; wind, springs, ropes,
masses and forces change. Both checksums are compared for every tick whose inputs both peers know.
"""

import argparse
import random
import sys
import time

import numpy as np

import kickdrift as kd

SLOTS, WINDOW = 16, 16
FIRE, THRUST, WIND = 1, 2, 4  # bits of an input; the remaining bits request rare actions
RARE = 8


class Peer:
    """World of one player, and all inputs that this player knows."""

    def __init__(self, me, frames):
        self.me = me
        self.pressed = [bytearray(frames), bytearray(frames)]
        self.count = [0, 0]  #: number of ticks whose inputs are known, for each player
        self.used = bytearray(frames)  #: inputs assumed for the other player in each tick
        self.sums = {}
        self.checked = 0  #: tick up to which the assumed inputs are confirmed
        self.resimulated = self.rollbacks = 0
        self.ammo = np.full(2, 50, np.int64)
        self.fuse = np.zeros(SLOTS, np.int64)
        self.push = np.zeros((SLOTS, 2))
        self.wind, self.spring = kd.LinearDrag(0.5, (0.0, 0.0)), kd.Springs([(0, 1)], 2.0, rest_length=3.0)
        self.world = kd.Stepper(
            np.zeros((SLOTS, 2)),
            mass=1.0,
            hz=60,
            alive=0,
            integrator="semi_implicit_euler",
            forces=[self.wind, self.spring, kd.AppliedForce(self.push)],
            constraints=[kd.Box(-20.0, 20.0, restitution=0.8)],
            state={"ammo": self.ammo, "fuse": self.fuse},
        )
        self.world.spawn([[-5.0, 0.0], [5.0, 0.0]])
        self.rope = None
        self.past = kd.Rollback(self.world, ticks=WINDOW)

    def inputs(self, world, tick):
        """Apply the inputs of a tick: depends only on the tick, the state and both players' inputs."""
        me, other = self.me, 1 - self.me
        known = self.count[other]
        theirs = self.pressed[other][tick] if tick < known else (self.pressed[other][known - 1] if known else 0)
        self.used[tick] = theirs
        fuse = self.fuse
        fuse -= 1
        if (fuse == 0).any():
            dead = np.flatnonzero(fuse == 0)
            world.kill(dead[world.alive[dead]])
        for player in (0, 1):
            key = self.pressed[me][tick] if player == me else theirs
            if key & FIRE and self.ammo[player] > 0 and world.count < SLOTS:
                self.ammo[player] -= 1
                speed = (9.0 - 18.0 * player, float(tick % 7 - 3))
                slot = world.slots(world.spawn(world.position[player], speed, **({"mass": 0.5} if key & RARE else {})))
                fuse[slot] = 20 + tick % 11
            self.push[player, tick % 2] = 4.0 if key & THRUST else 0.0
            if key & WIND:
                world.set(self.wind, wind=(float(key - 6), float(player)))
            if key >= RARE:
                self.rare(world, tick, player, key)

    def rare(self, world, tick, player, key):
        what = (tick + key) % 5
        if what == 0:
            world.enable(self.spring, bool(key & FIRE))
        elif what == 1:
            ropes = [each for each in world.constraints if isinstance(each, kd.Distance)]
            if ropes:
                world.remove(ropes[0])
            else:
                world.add(kd.Distance([(0, 1)], length=4.0 + player, iterations=2))
        elif what == 2:
            world.set_mass(1.0 + player, index=world.ids[[player]])
        elif what == 3:
            world.teleport(player, (float(tick % 9), 1.0))
        else:
            self.ammo[player] += 20

    def hear(self, count):
        """Receive the other player's inputs up to a tick, and roll back to the first one that was predicted wrongly."""
        other = 1 - self.me
        if count <= self.count[other]:
            return
        self.count[other] = count
        now = self.world.tick
        end = min(count, now)
        theirs, used = self.pressed[other][self.checked : end], self.used[self.checked : end]
        if theirs != used:
            wrong = self.checked + next(i for i, (a, b) in enumerate(zip(theirs, used, strict=True)) if a != b)
            self.past.rollback(wrong)
            self.past.resimulate(now, self.inputs)
            self.rollbacks += 1
            self.resimulated += now - wrong
        self.checked = end

    def play(self):
        """Simulate one tick, unless the other player is too far behind."""
        tick = self.world.tick
        if tick < len(self.used) and tick - self.checked < WINDOW - 2:
            self.past.resimulate(tick + 1, self.inputs)

    def sum(self):
        """Store the checksum of the last tick whose inputs are all known."""
        tick, world = self.checked, self.world
        if tick not in self.sums:
            self.sums[tick] = world.checksum() if tick == world.tick else self.past.checksum(tick)


def press(dice, before):
    draw = dice.random()
    if draw < 0.8:
        return before & 3
    key = dice.randrange(4)
    return key | (WIND if draw < 0.84 else 0) | (RARE if draw < 0.82 else 0)


def run(frames, seed=0, loss=0.15, delay=(1, 7), say=None):
    """Run both peers until both have simulated all frames; raise AssertionError if their states diverge."""
    dice = random.Random(seed)
    peers = Peer(0, frames), Peer(1, frames)
    line = [{}, {}]  #: packets by frame of arrival, for each peer
    frame = compared = 0
    while min(peer.checked for peer in peers) < frames:
        for me, peer in enumerate(peers):
            other = peers[1 - me]
            for count in line[me].pop(frame, ()):
                # A packet contains all inputs that are not yet acknowledged.
                peer.pressed[1 - me][peer.count[1 - me] : count] = other.pressed[1 - me][peer.count[1 - me] : count]
                peer.hear(count)
            tick = peer.world.tick
            if tick == peer.count[me] < frames:
                peer.pressed[me][tick] = press(dice, peer.pressed[me][tick - 1] if tick else 0)
                peer.count[me] += 1
            peer.play()
            # Inputs that were received before the tick was simulated are confirmed as well.
            if peer.count[1 - me] > peer.checked:
                peer.checked = min(peer.count[1 - me], peer.world.tick)
            peer.sum()
            if dice.random() >= loss:
                line[1 - me].setdefault(frame + dice.randint(*delay), []).append(peer.count[me])
        first, second = (peer.sums for peer in peers)
        for tick in first.keys() & second.keys():
            assert first[tick] == second[tick], f"seed {seed}: desync at tick {tick}"
            compared += 1
        agreed = min(peer.checked for peer in peers)
        for sums in (first, second):
            for tick in [tick for tick in sums if tick < agreed]:
                del sums[tick]
        frame += 1
        if say is not None and frame % 100_000 == 0:
            say(f"{agreed:,} ticks, {sum(peer.resimulated for peer in peers):,} of them again")
    assert peers[0].world.snapshot() == peers[1].world.snapshot()
    assert peers[0].world.checksum() == peers[1].world.checksum()
    return {
        "ticks": frames,
        "compared": compared,
        "rollbacks": sum(peer.rollbacks for peer in peers),
        "resimulated": sum(peer.resimulated for peer in peers),
        "born": int(peers[0].world._slots.generation.sum()),
    }


def main(*arguments):
    parser = argparse.ArgumentParser(prog="python tools/prove.py netplay", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000, help="ticks of each peer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loss", type=float, default=0.15, help="share of packets")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    found = run(chosen.frames, chosen.seed, chosen.loss, say=lambda text: print(text, flush=True))
    print(", ".join(f"{name} {number:,}" for name, number in found.items()), f"in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
