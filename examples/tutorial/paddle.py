"""Part two: a paddle that follows the mouse, and three lives."""

import numpy as np
import pygame

import kickdrift as kd

WIDTH, HEIGHT, SCALE = 12.0, 9.0, 60  # m, m, pixels per metre
BALL, PADDLE = 0, 1  # rows
RADII = [0.15, 1.2]  # m
START, SPEED = (6.0, 3.0), 7.0  # m, m/s

world = kd.Stepper(
    [START, (6.0, -0.8)],
    [(3.0, 6.3), (0.0, 0.0)],
    mass=[1.0, np.inf],
    clock=kd.FixedClock(120, policy="match"),
    constraints=[
        kd.ElasticCollisions(RADII, swept=True),
        kd.Box((0, -HEIGHT), (WIDTH, HEIGHT), radius=RADII),
        kd.Sensor((0, -HEIGHT), (WIDTH, -0.5), category=[1, 2], mask=1),
    ],
    events=kd.Events(),
)
lives = 3


def steer(goal):
    """Move the paddle towards the mouse, by its velocity, so that it hits the ball as it should."""
    away = np.clip(goal, 1.2, WIDTH - 1.2) - world.position[PADDLE, 0]
    world.velocity[PADDLE, 0] = np.clip(60 * away, -15, 15)


def rules():
    """Read what happened in the last step."""
    global lives
    for event in world.events.take():
        if event["kind"] == kd.HIT:  # as fast as before: a paddle that moves gives and takes speed
            velocity = world.velocity[BALL]
            velocity *= SPEED / np.linalg.norm(velocity)
        elif event["kind"] == kd.ENTER:  # below the floor
            lives -= 1
            world.teleport(BALL, START)
            world.velocity[BALL] = (3.0, 6.3)


screen = pygame.display.set_mode((int(WIDTH * SCALE), int(HEIGHT * SCALE)))
watch = pygame.time.Clock()


def pixels(x, y):
    """On a screen y points down."""
    return x * SCALE, (HEIGHT - y) * SCALE


while lives and pygame.QUIT not in [event.type for event in pygame.event.get()]:
    for _ in world.ticks(watch.tick(60) / 1000):
        rules()
        steer(pygame.mouse.get_pos()[0] / SCALE)
    screen.fill("#10172a")
    for (x, y), radius in zip(world.interpolate().tolist(), RADII, strict=True):
        pygame.draw.circle(screen, "white", pixels(x, y), radius * SCALE)
    pygame.display.set_caption(f"{lives} lives")
    pygame.display.flip()
