"""Part five: a friend plays too, from far away. Late input is put right by rollback."""

import numpy as np
import pygame

import kickdrift as kd

WIDTH, HEIGHT, SCALE = 12.0, 9.0, 60  # m, m, pixels per metre
BALL, PADDLE, FRIEND = 0, 1, 2  # rows
RADII = [0.15, 1.0, 1.0]  # m
LATE = 12  # ticks that the friend's input is on its way: 0.1 s
BRICKS = 1  # the second of the constraints
START, SPEED = (6.0, 3.0), 7.0  # m, m/s
COLOURS = ("#ef476f", "#ffd166", "#06d6a0", "#4cc9f0")

corners = np.array([(1.0 + 1.25 * column, 6.0 + 0.6 * row) for row in range(4) for column in range(8)])
size = np.array([1.15, 0.45])
drift = np.zeros_like(corners)  # m/s, per brick
drift[:, 0] = 0.6 * (-1.0) ** (np.arange(32) // 8)  # row by row, to the right and to the left
bricks = kd.Boxes(corners, corners + size, radius=RADII, velocity=drift)
there = np.ones(len(corners), bool)
game = np.array([0, 3, 1])  # score, lives and level
world = kd.Stepper(
    [START, (3.0, -0.6), (9.0, -0.6)],
    [(3.0, 6.3), (0.0, 0.0), (0.0, 0.0)],
    mass=[1.0, np.inf, np.inf],
    clock=kd.FixedClock(120, policy="match"),
    constraints=[
        kd.ElasticCollisions(RADII, swept=True, category=[1, 2, 2], mask=[3, 1, 1]),
        bricks,
        kd.Box((0, -HEIGHT), (WIDTH, HEIGHT), radius=RADII),
        kd.Sensor((0, -HEIGHT), (WIDTH, -0.5), category=[1, 2, 2], mask=1),
    ],
    events=kd.Events(),
    state={"there": there, "game": game, "drift": drift},
)
mine, theirs = {}, {}  # what each player wants, by tick
past = kd.Rollback(world, ticks=120)


def steer(paddle, goal):
    """Move a paddle towards where its player wants it."""
    away = np.clip(goal, 1, WIDTH - 1) - world.position[paddle, 0]
    world.velocity[paddle, 0] = np.clip(60 * away, -15, 15)


def rules(tick):
    """Read what happened in the step before this tick."""
    for event in world.events.of(tick):
        if event["kind"] == kd.HIT:
            velocity = world.velocity[BALL]
            velocity *= SPEED / np.linalg.norm(velocity)
        if event["kind"] == kd.HIT and event["source"] == BRICKS:
            there[-1 - event["slot_b"]] = False  # shapes have the numbers -1, -2, -3...
            world.set(bricks, enabled=there)
            game[0] += 10
        elif event["kind"] == kd.ENTER:
            game[1] -= 1
            world.teleport(BALL, START)
            world.velocity[BALL] = (3.0, 6.3)


def level():
    """Turn rows round at the walls; begin a level with faster ones when no brick is left."""
    now = world.current(bricks)
    beyond = ((now.lower[:, 0] < 0.1) & (drift[:, 0] < 0)) | ((now.upper[:, 0] > WIDTH - 0.1) & (drift[:, 0] > 0))
    rows = beyond.reshape(4, 8).any(axis=1).repeat(8)
    if rows.any():
        drift[rows] *= -1
        world.set(bricks, velocity=drift)
    if not there.any():
        game[2] += 1
        there[:] = True
        drift[:] *= 1.5
        world.set(bricks, lower=corners, upper=corners + size, velocity=drift, enabled=there)
        world.teleport(BALL, START)


def inputs(stepper, tick):
    """Do all that happens at a tick. What the friend wants is guessed until it is known: the same as before."""
    rules(tick)
    level()
    steer(PADDLE, mine[tick])
    steer(FRIEND, theirs.get(tick, theirs[max(theirs)] if theirs else 9.0))


def friend(tick):
    """Return what the friend wants: here a script, in your game what comes from the network."""
    return 9.0 + 2.0 * np.sign(np.sin(tick / 50))


def receive():
    """Take the input that arrives; if a guess was wrong, go back and run those ticks again."""
    now, wrong = world.tick, None
    for tick in range(len(theirs), now - LATE):
        guess = theirs[max(theirs)] if theirs else 9.0
        theirs[tick] = friend(tick)
        if wrong is None and theirs[tick] != guess:
            wrong = tick
    if wrong is not None:
        past.rollback(wrong)
        past.resimulate(now, inputs)


screen = pygame.display.set_mode((int(WIDTH * SCALE), int(HEIGHT * SCALE)))
watch = pygame.time.Clock()


def pixels(x, y):
    """On a screen y points down."""
    return x * SCALE, (HEIGHT - y) * SCALE


while game[1] and pygame.QUIT not in [event.type for event in pygame.event.get()]:
    for _ in world.clock.steps(watch.tick(60) / 1000):
        mine[world.tick] = pygame.mouse.get_pos()[0] / SCALE
        past.resimulate(world.tick + world.clock.substeps, inputs)
    receive()
    screen.fill("#10172a")
    low = world.interpolate_shapes(bricks)[:, 0]  # lower corners
    for brick in np.flatnonzero(there).tolist():
        x, y = pixels(low[brick, 0], low[brick, 1] + size[1])  # its upper left corner
        pygame.draw.rect(screen, COLOURS[brick // 8], (x, y, *(size * SCALE)))
    for (x, y), radius in zip(world.interpolate().tolist(), RADII, strict=True):
        pygame.draw.circle(screen, "white", pixels(x, y), radius * SCALE)
    pygame.display.set_caption(f"level {game[2]}: {game[0]} points, {game[1]} lives")
    pygame.display.flip()
