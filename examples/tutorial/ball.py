"""Part one: a ball in a box. Close the window to end."""

import pygame

import kickdrift as kd

WIDTH, HEIGHT, SCALE = 12.0, 9.0, 60  # m, m, pixels per metre
BALL = 0.15  # m, the radius

world = kd.Stepper(
    [(6.0, 3.0)],  # position in m, y points up
    [(3.0, 6.5)],  # velocity in m/s
    clock=kd.FixedClock(120, policy="match"),
    constraints=[kd.Box((0, 0), (WIDTH, HEIGHT), radius=BALL)],
)

screen = pygame.display.set_mode((int(WIDTH * SCALE), int(HEIGHT * SCALE)))
watch = pygame.time.Clock()


def pixels(x, y):
    """On a screen y points down."""
    return x * SCALE, (HEIGHT - y) * SCALE


while pygame.QUIT not in [event.type for event in pygame.event.get()]:
    world.advance(watch.tick(60) / 1000)  # the time of the frame in seconds
    screen.fill("#10172a")
    x, y = world.interpolate()[0].tolist()
    pygame.draw.circle(screen, "white", pixels(x, y), BALL * SCALE)
    pygame.display.flip()
