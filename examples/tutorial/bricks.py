"""Part three: bricks, a score, P for pause and R for restart."""

import numpy as np
import pygame

import kickdrift as kd

WIDTH, HEIGHT, SCALE = 12.0, 9.0, 60  # m, m, pixels per metre
BALL, PADDLE = 0, 1  # rows
RADII = [0.15, 1.2]  # m
BRICKS = 1  # the second of the constraints
START, SPEED = (6.0, 3.0), 7.0  # m, m/s
COLOURS = ("#ef476f", "#ffd166", "#06d6a0", "#4cc9f0")

corners = np.array([(1.0 + 1.25 * column, 6.0 + 0.6 * row) for row in range(4) for column in range(8)])
size = np.array([1.15, 0.45])
bricks = kd.Boxes(corners, corners + size, radius=RADII)
there = np.ones(len(corners), bool)
game = np.array([0, 3])  # score and lives
world = kd.Stepper(
    [START, (6.0, -0.8)],
    [(3.0, 6.3), (0.0, 0.0)],
    mass=[1.0, np.inf],
    clock=kd.FixedClock(120, policy="match"),
    constraints=[
        kd.ElasticCollisions(RADII, swept=True),
        bricks,
        kd.Box((0, -HEIGHT), (WIDTH, HEIGHT), radius=RADII),
        kd.Sensor((0, -HEIGHT), (WIDTH, -0.5), category=[1, 2], mask=1),
    ],
    events=kd.Events(),
    state={"there": there, "game": game},
)
start = world.snapshot()


def steer(goal):
    """Move the paddle towards the mouse, by its velocity, so that it hits the ball as it should."""
    away = np.clip(goal, 1.2, WIDTH - 1.2) - world.position[PADDLE, 0]
    world.velocity[PADDLE, 0] = np.clip(60 * away, -15, 15)


def rules():
    """Read what happened in the last step."""
    for event in world.events.take():
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


def keys():
    """Handle the window's events; return whether the game goes on."""
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            return False
        if event.type == pygame.KEYDOWN and event.key == pygame.K_p:
            world.clock.resume() if world.clock.paused else world.clock.pause()
        if event.type == pygame.KEYDOWN and event.key == pygame.K_r:
            world.restore(start, clock=True)
    return True


screen = pygame.display.set_mode((int(WIDTH * SCALE), int(HEIGHT * SCALE)))
watch = pygame.time.Clock()


def pixels(x, y):
    """On a screen y points down."""
    return x * SCALE, (HEIGHT - y) * SCALE


while keys():
    for _ in world.ticks(watch.tick(60) / 1000 if game[1] and there.any() else 0.0):
        rules()
        steer(pygame.mouse.get_pos()[0] / SCALE)
    screen.fill("#10172a")
    for brick in np.flatnonzero(there).tolist():
        x, y = pixels(corners[brick, 0], corners[brick, 1] + size[1])  # its upper left corner
        pygame.draw.rect(screen, COLOURS[brick // 8], (x, y, *(size * SCALE)))
    for (x, y), radius in zip(world.interpolate().tolist(), RADII, strict=True):
        pygame.draw.circle(screen, "white", pixels(x, y), radius * SCALE)
    pygame.display.set_caption(f"{game[0]} points, {game[1]} lives, [P] pause, [R] restart")
    pygame.display.flip()
