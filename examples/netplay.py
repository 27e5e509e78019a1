"""Two players over UDP with rollback: each process simulates both ships, and goes back when an input comes late.

`python examples/netplay.py` starts both players on this machine, with 120 ms of delay and 15 % of all packets lost, and
plays 3,000 ticks at four times the speed of life. Ammunition, headings and bullets belong to the world: going back
takes back shots, births and deaths. Each packet has a checksum of a tick whose inputs both know.
"""

import argparse
import json
import random
import socket
import subprocess
import sys
import time

import numpy as np

import kickdrift as kd

SLOTS, HZ, WINDOW = 64, 60, 60
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
    dice, other, (world, game) = random.Random(me), 1 - me, build()
    past = kd.Rollback(world, ticks=WINDOW)
    known, used, sums = [[], []], {}, {}  # inputs of each player; what was taken for the other's; checksums
    waiting, acknowledged, compared, deepest = [], 0, 0, 0

    def inputs(world, tick):
        """The other's inputs, or the last known one where it is not there yet."""
        used[tick] = known[other][tick] if tick < len(known[other]) else (known[other] or [0])[-1]
        control(world, game, [known[me][tick], used[tick]][:: 1 - 2 * me])

    start = done = time.perf_counter()
    while time.perf_counter() < done + 1:  # a while longer than needed: the other may have lost the last packets
        if compared < ticks or acknowledged < ticks:
            done = time.perf_counter()
            assert done < start + 60 + 10 * ticks / HZ / speed, f"player {me}: the other is gone"
        try:
            while True:
                first, theirs, heard, tick, checksum = json.loads(link.recv(65536))
                acknowledged = max(acknowledged, heard)
                if first <= len(known[other]):
                    known[other] += theirs[len(known[other]) - first :]
                if tick in sums:
                    assert sums[tick] == checksum, f"player {me}: desync at tick {tick}"
                    compared = max(compared, tick)
        except (BlockingIOError, ConnectionRefusedError):
            pass
        here, now = known[other], world.tick
        wrong = [tick for tick in used if tick < len(here) and used[tick] != here[tick]]
        if wrong:
            deepest = max(deepest, now - min(wrong))
            past.rollback(min(wrong))
            past.resimulate(now, inputs)
        used = {tick: keys for tick, keys in used.items() if tick >= len(here)}
        due = min(ticks, int((time.perf_counter() - start) * HZ * speed))
        if now < due and now < len(here) + WINDOW - 10:
            known[me].append(known[me][-1] if known[me] and dice.random() < 0.9 else dice.randrange(16))
            past.resimulate(now + 1, inputs)
        agreed = min(len(here), world.tick)
        if agreed not in sums and (agreed == world.tick or agreed in past.ticks):
            sums[agreed] = world.checksum() if agreed == world.tick else past.checksum(agreed)
        newest = max(sums, default=0)
        packet = [acknowledged, known[me][acknowledged:], len(here), newest, sums.get(newest)]
        waiting.append((time.perf_counter() + delay / speed, json.dumps(packet).encode()))
        while waiting and waiting[0][0] <= time.perf_counter():
            if dice.random() >= loss:
                link.sendto(waiting[0][1], ("127.0.0.1", ports[other]))
            del waiting[0]
        time.sleep(0.25 / HZ / speed)
    return (
        f"player {me}: {world.tick} ticks, back by up to {deepest}, hits {game['hits']}, ammo {game['ammo']}, no desync"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in {"ticks": 3000, "speed": 4.0, "loss": 0.15, "delay": 0.12, "port": 47770, "player": -1}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    given = parser.parse_args()
    both = [subprocess.Popen([sys.executable, *sys.argv, "--player", "1"])] if given.player < 0 else []
    print(play(max(given.player, 0), (given.port, given.port + 1), given.ticks, given.speed, given.loss, given.delay))
    sys.exit(max([each.wait(60) for each in both], default=0))
