"""Two players over UDP with rollback: each process simulates both ships, and goes back when an input comes late.

`python examples/netplay.py` starts both players on this machine, with 120 ms of delay and 15 % of all packets lost, and
plays 3,000 ticks at four times the speed of life. Ammunition, headings and bullets belong to the world: going back
takes back shots, births and deaths. Each packet has a checksum of a tick whose inputs both know.
"""

import argparse
import random
import socket
import subprocess
import sys
import time

import numpy as np

import kickdrift as kd

SLOTS, HZ = 64, 60
LEFT, RIGHT, THRUST, FIRE = 1, 2, 4, 8
NOSES = [np.array([1.0, 0.0])]  # 64 headings, made by products and sums: cos may differ from machine to machine
while len(NOSES) < 64:
    (x, y), (c, s) = NOSES[-1].tolist(), (0.9951847266721969, 0.0980171403295606)  # of 2 pi / 64
    NOSES.append(np.array([x * c - y * s, x * s + y * c]))


def build():
    game = {name: np.zeros(2, np.int64) for name in ("heading", "hits")}
    game |= {"ammo": np.full(2, 200), "fuse": np.zeros(SLOTS, np.int64)}
    held = {"forces": [kd.Damping(0.2)], "constraints": [kd.Box(-150.0, 150.0, restitution=1.0)]}
    world = kd.Stepper(np.zeros((SLOTS, 2)), hz=HZ, alive=0, state=game, **held)
    world.spawn([[-100.0, 0.0], [100.0, 0.0]])  # the ships: slots 0 and 1
    return world, game


def control(world, game, keys):
    """What the players do at a tick: the same on both machines, to the bit."""
    game["fuse"] -= 1
    spent = world.alive & (game["fuse"] < 0)
    for player, pressed in enumerate(keys):
        game["heading"][player] += bool(pressed & RIGHT) - bool(pressed & LEFT)
        nose = NOSES[game["heading"][player] % 64]
        if pressed & THRUST:
            world.velocity[player] += 2.0 * nose
        if pressed & FIRE and game["ammo"][player] > 0 and world.count < SLOTS:
            game["ammo"][player] -= 1
            game["fuse"][world.slots(world.spawn(world.position[player] + 12 * nose, 200.0 * nose))] = 90
        way = world.position - world.position[player]
        hit = world.alive & ((way * way).sum(axis=1) < 100)
        game["hits"][player] += hit[2:].sum()
        spent |= hit
    spent[:2] = False  # ships last
    world.kill(spent)


def play(me, ports, ticks, speed, loss, delay):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("127.0.0.1", ports[me])), link.setblocking(False)
    dice, keys, sent, (world, game) = random.Random(me), 0, [], build()
    past, table = kd.Rollback(world), kd.Inputs(2, delay=3, me=me)
    due, last = 0.0, time.perf_counter()
    end = last + 60 + 10 * ticks / HZ / speed
    done = None
    while done is None or last < done + 1:  # a while longer than needed: the other may have lost the last packets
        try:
            while True:
                table.receive(link.recv(65536))
        except (BlockingIOError, ConnectionRefusedError):
            pass
        now = time.perf_counter()
        due, last = due + (now - last) * HZ * speed * table.rate, now
        if due >= 1:
            due -= int(due)
            keys = keys if dice.random() < 0.9 else dice.randrange(16)
            pressed = keys if world.tick < ticks else None
            table.play(past, pressed, lambda world, both: control(world, game, both))
            sent.append((now + delay / speed, table.packet()))
        if done is None and min(world.tick, table.confirmed) >= ticks:
            done = now
        assert now < end, f"player {me}: the other is gone"
        while sent and sent[0][0] <= now:
            if dice.random() >= loss:
                link.sendto(sent[0][1], ("127.0.0.1", ports[1 - me]))
            del sent[0]
        time.sleep(0.25 / HZ / speed)
    deepest, hits, ammo = table.deepest, game["hits"], game["ammo"]
    return f"player {me}: {world.tick} ticks, back by up to {deepest}, hits {hits}, ammo {ammo}, no desync"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in {"ticks": 3000, "speed": 4.0, "loss": 0.15, "delay": 0.12, "port": 47770, "player": -1}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    given = parser.parse_args()
    both = [subprocess.Popen([sys.executable, *sys.argv, "--player", "1"])] if given.player < 0 else []
    print(play(max(given.player, 0), (given.port, given.port + 1), given.ticks, given.speed, given.loss, given.delay))
    sys.exit(max([each.wait(60) for each in both], default=0))
