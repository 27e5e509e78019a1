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


def build():
    game = {"heading": np.zeros(2), "ammo": np.full(2, 200), "hits": np.zeros(2, np.int64), "fuse": np.zeros(SLOTS)}
    world = kd.Stepper(np.zeros((SLOTS, 2)), hz=HZ, alive=0, forces=[kd.Damping(0.2)], state=game)
    world.spawn([[-100.0, 0.0], [100.0, 0.0]])  # the ships: slots 0 and 1
    return world, game


def control(world, game, keys):
    """What the players do at a tick: the same on both machines, to the bit."""
    game["fuse"] -= 1
    spent = np.flatnonzero(world.alive & (game["fuse"] < 0) & (np.arange(SLOTS) > 1))
    for player, pressed in enumerate(keys):
        game["heading"][player] += 0.1 * (bool(pressed & RIGHT) - bool(pressed & LEFT))
        angle = game["heading"][player]
        nose = np.array([kd.math.cos(angle), kd.math.sin(angle)])  # libm may differ from machine to machine
        if pressed & THRUST:
            world.velocity[player] += 2.0 * nose
        if pressed & FIRE and game["ammo"][player] > 0 and world.count < SLOTS:
            game["ammo"][player] -= 1
            slot = world.slots(world.spawn(world.position[player] + 12 * nose, 200.0 * nose))
            game["fuse"][slot] = 90
        way = world.position[2:] - world.position[player]
        hit = 2 + np.flatnonzero(world.alive[2:] & ((way * way).sum(axis=1) < 100))
        game["hits"][player] += len(hit)
        spent = np.union1d(spent, hit)
    if len(spent):
        world.kill(spent)


def play(me, ports, ticks, speed, loss, delay):
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("127.0.0.1", ports[me]))
    link.setblocking(False)
    dice, other = random.Random(me), 1 - me
    world, game = build()
    past = kd.Rollback(world, ticks=WINDOW)
    known, used, sums = [[], []], {}, {}  # inputs of each player; what was taken for the other's; checksums
    waiting, acknowledged, compared, deepest = [], 0, 0, 0

    def inputs(world, tick):
        """The other's inputs, or the last known one where it is not there yet."""
        theirs = known[other][tick] if tick < len(known[other]) else (known[other] or [0])[-1]
        used[tick] = theirs
        control(world, game, [known[me][tick], theirs] if me == 0 else [theirs, known[me][tick]])

    start = done = time.perf_counter()
    while time.perf_counter() < done + 0.5:  # a while longer than needed: the other may have lost the last packets
        if compared < ticks or acknowledged < ticks:
            done = time.perf_counter()
        try:
            while True:
                first, theirs, acknowledged_now, tick, checksum = json.loads(link.recv(65536))
                acknowledged = max(acknowledged, acknowledged_now)
                if first <= len(known[other]):
                    known[other] += theirs[len(known[other]) - first :]
                if tick in sums:
                    assert sums[tick] == checksum, f"player {me}: desync at tick {tick}"
                    compared = max(compared, tick)
        except (BlockingIOError, ConnectionRefusedError):
            pass
        here = known[other]
        wrong = min((tick for tick in used if tick < len(here) and used[tick] != here[tick]), default=None)
        if wrong is not None:
            deepest, now = max(deepest, world.tick - wrong), world.tick
            past.rollback(wrong)
            past.resimulate(now, inputs)
        used = {tick: keys for tick, keys in used.items() if tick >= len(here)}
        due = min(ticks, int((time.perf_counter() - start) * HZ * speed))
        if world.tick < due and world.tick < len(here) + WINDOW - 10:
            stay = known[me] and dice.random() < 0.9
            known[me].append(known[me][-1] if stay else dice.randrange(16))
            past.resimulate(world.tick + 1, inputs)
        agreed = min(len(here), world.tick)
        if agreed not in sums and (agreed == world.tick or agreed in past.ticks):
            sums[agreed] = world.checksum() if agreed == world.tick else past.checksum(agreed)
        newest = max(sums, default=0)
        packet = [acknowledged, known[me][acknowledged:], len(here), newest, sums.get(newest)]
        waiting.append((time.perf_counter() + delay / speed, json.dumps(packet).encode()))
        while waiting and waiting[0][0] <= time.perf_counter():
            _, packet = waiting.pop(0)
            if dice.random() >= loss:
                link.sendto(packet, ("127.0.0.1", ports[other]))
        time.sleep(0.25 / HZ / speed)
    return f"player {me}: {world.tick} ticks, back by up to {deepest}, hits {game['hits']}, ammo {game['ammo']}, no desync"


def main(*arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=3000)
    parser.add_argument("--speed", type=float, default=4, help="how much faster than life")
    parser.add_argument("--loss", type=float, default=0.15, help="share of packets")
    parser.add_argument("--delay", type=float, default=0.12, help="of packets, in s of the game")
    parser.add_argument("--player", type=int, choices=(0, 1), help="play one side alone, from ports 47770 and 47771")
    chosen = parser.parse_args(arguments or None)
    rest = (47770, 47771), chosen.ticks, chosen.speed, chosen.loss, chosen.delay
    if chosen.player is not None:
        print(play(chosen.player, *rest))
        return
    other = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--player", "1"])
    try:
        print(play(0, *rest))
    finally:
        other.wait(30)
    if other.returncode:
        raise SystemExit(other.returncode)


if __name__ == "__main__":
    main()
