"""Rollback netplay with `kd.Inputs` on a level with moving platforms: two peers in one process over a lossy line.

    python tools/prove.py netplay --level --frames 1000000

The scene is that of a platformer: two players, lifts, one-way ledges, a conveyor belt, crates, and coins that respawn
after they are collected. Jumps query `grounded`, `set` reverses lifts, scores read events. Peers start at different
times, and their clocks run at different rates. `Inputs` raises DesyncError if their states differ.
"""

import argparse
import random
import sys
import time

import numpy as np

import kickdrift as kd

LEFT, RIGHT, JUMP = 1, 2, 4
PLAYERS, CRATES, COINS = 2, 3, 4  # rows, in this order
SIZE, HZ, WINDOW = 960.0, 60, 40
RUN, HOP, GRAVITY = 260.0, 620.0, 1500.0  # px, with y downwards
START = np.array([(60.0, 400.0), (500.0, 400.0), (640, 420), (672, 420), (656, 388), (460, 380), (700, 300)])
START = np.concatenate([START, [(330.0, 300.0), (880.0, 250.0)]])
UPPER = np.array([(420.0, 350.0), (560.0, 300.0)])  # corners of the lifts in px, travel in px and speed in px/s
WAYS, SPEEDS = np.array([(0.0, 80.0), (160.0, 0.0)]), np.array([(0.0, 70.0), (90.0, 0.0)])
LEDGES, WIDE = np.array([(300.0, 340.0), (760.0, 320.0), (840.0, 270.0)]), np.array([120.0, 16.0])


class Peer:
    """The world of one player."""

    def __init__(self, me, delay):
        self.me, self.controls, self.deep = me, 0, []
        self.lifts = kd.Boxes(UPPER, UPPER + WIDE, velocity=SPEEDS)
        floor = kd.Boxes([(0, 440), (560, 440)], [(300, 520), (SIZE, 520)])
        belt = kd.Boxes([(300, 440)], [(400, 520)], surface_speed=(120.0, 0.0))
        slope, ledges = kd.Segments([[(720, 440), (840, 400)]]), kd.Boxes(LEDGES, LEDGES + WIDE, one_way=(0, -1))
        n = len(START)
        sensor = np.arange(n) >= PLAYERS + CRATES
        self.hits = kd.Contacts(
            np.where(sensor, 10.0, 16.0),
            friction=np.where(np.arange(n) < PLAYERS, 0.0, 0.6),
            walls=[kd.Box((0.0, -1e9), (SIZE, 1e9))],
            shapes=[floor, slope, ledges, self.lifts, belt],
            sensor=sensor,
        )
        self.gone, self.score = np.zeros(n, np.int64), np.zeros(PLAYERS, np.int64)
        self.world = kd.Stepper(
            START.copy(),
            mass=np.where(sensor, np.inf, np.where(np.arange(n) < PLAYERS, 2.0, 1.0)),
            hz=HZ,
            forces=[kd.Gravity(np.where(sensor[:, None], 0.0, (0, GRAVITY)))],
            constraints=[self.hits],
            events=kd.Events(end=False),
            alive=n,
            state={"gone": self.gone, "score": self.score},
        )
        self.past = kd.Rollback(self.world, ticks=WINDOW)
        self.table = kd.Inputs(2, delay, me=me)

    def control(self, world, keys):
        """Game logic of a tick: depends only on the state, its events and the inputs, as rollback requires."""
        self.controls += 1
        tick, velocity, position = world.tick, world.velocity, world.position
        hits = world.events.of(tick) if tick > 0 else ()
        for event in hits:
            player, coin = event["slot_a"], event["slot_b"]
            if event["kind"] == kd.HIT and player < PLAYERS and coin >= PLAYERS + CRATES and world.alive[coin]:
                world.kill(int(coin))
                self.gone[coin], self.score[player] = tick + 240, self.score[player] + 1
        for coin in np.flatnonzero(~world.alive & (self.gone <= tick)):
            world.spawn(START[coin], 0.0, rows=[coin])
        grounded = world.grounded(up=(0, -1))
        for player, pressed in enumerate(keys):
            most = (3000.0 if grounded[player] else 1200.0) / HZ
            run = RUN * (bool(pressed & RIGHT) - bool(pressed & LEFT))
            velocity[player, 0] += min(max(run - velocity[player, 0], -most), most)
            if pressed & JUMP and grounded[player]:
                velocity[player, 1] = -HOP
        for body in np.flatnonzero(position[: PLAYERS + CRATES, 1] > 600):  # it fell
            world.teleport(body, START[body])
            velocity[body] = 0
        now = world.current(self.lifts)
        way = now.lower - UPPER
        back = ((way >= WAYS) & (SPEEDS != 0)).any(axis=1) & (now.velocity > 0).any(axis=1)
        forth = ((way <= 0) & (SPEEDS != 0)).any(axis=1) & (now.velocity < 0).any(axis=1)
        if back.any() or forth.any():
            turned = np.where((back | forth)[:, None], -now.velocity, now.velocity)
            world.set(self.lifts, velocity=turned)


def run(frames, seed=0, loss=0.15, delay=(2, 10), late=40, fast=1.0005, control=Peer.control, say=None):
    """Play until both peers have confirmed all frames. Raises DesyncError if their states differ.

    delay: range of packet delays. late: start delay of the second peer, in frames; fast: relative rate of its clock.
    """
    dice = random.Random(seed)
    peers = [Peer(0, 2), Peer(1, 2)]
    line, keys, due = [{}, {}], [0, 0], [0.0, -float(late)]
    deepest, again = [0, 0], [0, 0]  # deepest rollback, total of resimulated ticks: after clocks have adjusted
    frame, waits, settled = 0, 0, min(20 * (late + 10), frames // 2)
    while min(min(peer.world.tick, peer.table.confirmed) for peer in peers) < frames:
        for me, peer in enumerate(peers):
            world, table = peer.world, peer.table
            for packet in line[me].pop(frame, ()):
                table.receive(packet)
            due[me] += table.rate * (fast if me else 1.0)
            if due[me] >= 1:
                due[me] -= 1
                if dice.random() < 0.1:
                    keys[me] = dice.choice([LEFT, RIGHT, RIGHT | JUMP, LEFT | JUMP, JUMP, 0])
                before, played = peer.controls, world.tick
                pressed = keys[me] if played < frames else None
                went = table.play(peer.past, pressed, lambda world, both, peer=peer: control(peer, world, both))
                waits += pressed is not None and not went
                if frame > settled:
                    depth = peer.controls - before - went
                    deepest[me], again[me] = max(deepest[me], depth), again[me] + depth
            if due[me] >= 0 and dice.random() >= loss:
                line[1 - me].setdefault(frame + dice.randint(*delay), []).append(table.packet())
        frame += 1
        if say is not None and frame % 50_000 == 0:
            say(
                f"{min(peer.table.confirmed for peer in peers):,} frames, {sum(again):,} again, back by up to {deepest}"
            )
    if peers[0].world.snapshot() != peers[1].world.snapshot():
        raise kd.DesyncError(frames, *(peer.world.checksum() for peer in peers))
    return {"frames": frames, "again": again, "deepest": deepest, "waits": waits, "coins": int(peers[0].score.sum())}


def main(*arguments):
    parser = argparse.ArgumentParser(prog="python tools/prove.py netplay --level", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000, help="of each peer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--loss", type=float, default=0.15, help="share of packets")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    found = run(chosen.frames, chosen.seed, chosen.loss, say=lambda text: print(text, flush=True))
    print(*(f"{name} {number}" for name, number in found.items()), f"in {time.perf_counter() - start:.0f} s", sep=", ")


if __name__ == "__main__":
    main(*sys.argv[1:])
