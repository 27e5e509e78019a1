"""Air hockey in Gymnasium's interface, 4,096 tables at once, and a policy that learns to score in two minutes.

`AirHockey` is a `gymnasium.vector.VectorEnv`: all of it is views and masks of one `kd.Worlds`. `learn` improves a small
network by evolution strategies (Salimans et al. 2017, arXiv 1703.03864), in plain NumPy: each of 256 changed networks
plays on 16 tables. The curve is shown at the end. `--frames 30` is for 30 generations, `--threads 2` for two cores.
"""

import argparse

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

import kickdrift as kd

PADDLE, PUCK = 0, 1
RADIUS = np.array([0.12, 0.08])  # m
GOAL, PUSH, ACTIONS, TICKS = 0.2, 12.0, 60, 4  # half of a goal's width in m, N, of an episode, of an action


def table(push):
    """A table of 2 m by 1 m: a paddle that is pushed, and a puck."""
    walls = kd.Box((-1.0, -0.5), (1.0, 0.5), restitution=0.9, radius=RADIUS)
    return kd.Stepper(
        [[-0.6, 0.0], [0.0, 0.0]],
        mass=[1.0, 0.2],
        dt=1 / 60,
        integrator="semi_implicit_euler",
        forces=[kd.LinearDrag([3.0, 0.05]), push],
        constraints=[kd.ElasticCollisions(RADIUS, restitution=0.9), walls],
        events=kd.Events(64, hits_above=0.0, begin=False, end=False),
    )


class AirHockey(VectorEnv):
    """Shoot the puck into the right goal: +1; into the left one: -1. Moving the puck to the right by a metre: +0.1."""

    def __init__(self, num_envs=1, threads=1, autoreset_mode=AutoresetMode.NEXT_STEP):
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": []}
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.observation_space, self.action_space = (
            gymnasium.vector.utils.batch_space(space, num_envs)
            for space in (self.single_observation_space, self.single_action_space)
        )
        push = kd.AppliedForce(np.zeros((2, 2)))
        world = table(push)
        self.start, self.worlds = world.snapshot(), kd.Worlds(world, num_envs, threads=threads)
        self.push = np.zeros((num_envs, 2, 2))
        self.worlds.set(push, force=self.push)
        self.played, self.done = np.zeros(num_envs, np.int64), np.zeros(num_envs, bool)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        self.begin(mask)
        return self.observed(), {}

    def begin(self, mask):
        """New episodes in the worlds of a mask: bodies at random places, the puck slow."""
        count = int(mask.sum())
        self.worlds.restore(self.start, where=mask)
        self.worlds.position[mask, PADDLE] = self.np_random.uniform((-0.8, -0.3), (-0.4, 0.3), (count, 2))
        self.worlds.position[mask, PUCK] = self.np_random.uniform((-0.2, -0.4), (0.4, 0.4), (count, 2))
        self.worlds.velocity[mask, PUCK] = self.np_random.uniform(-0.3, 0.3, (count, 2))
        self.played[mask], self.done[mask] = 0, False

    def step(self, actions):
        mode = self.metadata["autoreset_mode"]
        begun = self.done.copy() if mode is AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, bool)
        if begun.any():
            self.begin(begun)
        runs = ~(self.done | begun)  # where episodes ended, nothing moves until the reset
        before = self.worlds.position[:, PUCK, 0].copy()
        self.push[:, PADDLE] = PUSH * np.clip(actions, -1, 1)
        self.worlds.step(TICKS, active=runs)
        scored = self.scored()
        rewards = np.where(runs, scored + 0.1 * (self.worlds.position[:, PUCK, 0] - before), 0.0)
        self.played += runs
        terminations, truncations = runs & (scored != 0), runs & (scored == 0) & (self.played >= ACTIONS)
        self.done |= terminations | truncations
        info = {}
        if mode is AutoresetMode.SAME_STEP and self.done.any():
            info = {"final_obs": self.observed(), "_final_obs": self.done.copy()}
            self.begin(self.done.copy())
        return self.observed(), rewards, terminations, truncations, info

    def scored(self):
        """+1 where the puck hit the right wall between the posts, -1 where it hit the left one."""
        hits = self.worlds.events.take()
        hits = hits[(hits["slot_a"] == PUCK) & (abs(hits["point"][:, 1]) < GOAL)]
        scored = np.zeros(self.num_envs)
        scored[hits["world"][hits["slot_b"] == -2]] = 1.0
        scored[hits["world"][hits["slot_b"] == -1]] = -1.0
        return scored

    def observed(self):
        worlds = self.worlds
        return np.concatenate([worlds.position, worlds.velocity], axis=1).reshape(self.num_envs, 8).astype(np.float32)


class Single(gymnasium.Env):
    """One table as an environment of its own, for those who take no vectors; and for Gymnasium's checker."""

    def __init__(self):
        self.tables = AirHockey(1, autoreset_mode=AutoresetMode.DISABLED)
        self.observation_space = self.tables.single_observation_space
        self.action_space = self.tables.single_action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observed, info = self.tables.reset(seed=seed)
        return observed[0], info

    def step(self, action):
        observed, rewards, terminations, truncations, info = self.tables.step(action[None])
        return observed[0], float(rewards[0]), bool(terminations[0]), bool(truncations[0]), info


HIDDEN = 16
SHAPES = [(8, HIDDEN), (HIDDEN,), (HIDDEN, 2), (2,)]
SIZES = np.cumsum([0, *map(np.prod, SHAPES)])


def act(networks, observed):
    """The actions of each network, (k, parameters), on its tables: observed (k, tables, 8)."""
    parts = [networks[:, a:b].reshape(-1, *s) for a, b, s in zip(SIZES, SIZES[1:], SHAPES, strict=False)]
    hidden = np.tanh(observed @ parts[0] + parts[1][:, None])
    return np.tanh(hidden @ parts[2] + parts[3][:, None])


def returns(env, networks, seed):
    """The mean return of each network on as many tables as there are for it; and how often it scores."""
    observed, _ = env.reset(seed=seed)
    total, goals = np.zeros(env.num_envs), np.zeros(env.num_envs)
    for _ in range(ACTIONS):
        actions = act(networks, observed.reshape(len(networks), -1, 8)).reshape(-1, 2)
        observed, rewards, terminations, _, _ = env.step(actions)
        total += rewards
        goals += terminations & (rewards > 0.5)
    return total.reshape(len(networks), -1).mean(axis=1), goals.reshape(len(networks), -1).mean(axis=1)


def learn(generations=120, tables=4096, changed=256, threads=1, seed=0, tell=print):
    """Evolution strategies with mirrored samples and ranks; returns the network, and of each generation its goals."""
    env = AirHockey(tables, threads, AutoresetMode.DISABLED)
    rng, curve = np.random.default_rng(seed), []
    network, speed = 0.3 * rng.normal(size=SIZES[-1]), np.zeros(SIZES[-1])
    for generation in range(generations):
        noise = rng.normal(size=(changed // 2, len(network)))
        noise = np.concatenate([noise, -noise])
        found, goals = returns(env, network + 0.1 * noise, seed=seed * 10_000 + generation)
        ranks = found.argsort().argsort() / (changed - 1) - 0.5
        speed = 0.9 * speed + ranks @ noise / changed
        network = network + 0.5 * speed
        curve.append(goals.mean())
        if generation % 10 == 0:
            tell(f"generation {generation}: {100 * goals.mean():.0f} % of the episodes end with a goal")
    return network, np.array(curve)


def draw(network, curve, picture=None):
    """The curve, and some episodes of the network."""
    import matplotlib

    if picture:
        matplotlib.use("agg")
    import matplotlib.pyplot as plt

    env = AirHockey(6, autoreset_mode=AutoresetMode.DISABLED)
    observed, _ = env.reset(seed=1)
    places = [env.worlds.position.copy()]
    for _ in range(ACTIONS):
        observed, *_ = env.step(act(network[None], observed[None])[0])
        places.append(env.worlds.position.copy())
    places = np.array(places)
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.plot(100 * curve, color="#2a6fdb")
    axes.set(xlabel="generation", ylabel="episodes that end with a goal, %", ylim=(0, 100))
    for k, axes in enumerate(right.subplots(3, 2).flat):
        axes.plot(*places[:, k, PADDLE].T, color="#999999")
        axes.plot(*places[:, k, PUCK].T, color="#d1495b")
        axes.add_patch(plt.Circle(places[0, k, PADDLE], RADIUS[PADDLE], color="#999999"))
        axes.add_patch(plt.Circle(places[0, k, PUCK], RADIUS[PUCK], color="#d1495b"))
        axes.plot([1, 1], [-GOAL, GOAL], color="#2a6fdb", linewidth=5)
        axes.set(xlim=(-1, 1), ylim=(-0.5, 0.5), aspect="equal", xticks=[], yticks=[])
    if picture:
        figure.savefig(picture, dpi=60)
    else:
        plt.show()


def main(frames=120, picture=None, threads=1):
    network, curve = learn(frames, threads=threads)
    draw(network, curve, picture)
    return curve


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=120, help="generations")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    main(arguments.frames, threads=arguments.threads)
