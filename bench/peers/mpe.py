"""JaxMARL's simple_tag of the Multi-Particle Environments: four agents and two landmarks, circles that push apart.

Only its physics is stepped (`_world_step`: forces, damping, soft contacts, no walls), in float32, all worlds in one
jitted call. JaxMARL's package itself imports every environment, brax among them, so that its folder is entered here
without it; `pip install --no-deps jaxmarl jax jaxlib ml_dtypes opt_einsum chex flax` and what these ask for is enough.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType


@cache
def environment():
    spec = importlib.util.find_spec("jaxmarl")
    if spec is None or spec.origin is None:
        raise ImportError("jaxmarl")
    folder = Path(spec.origin).parent
    for name in ("jaxmarl", "jaxmarl.environments", "jaxmarl.environments.mpe"):
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    return importlib.import_module("jaxmarl.environments.mpe.simple_tag").SimpleTagMPE()


def stepped(worlds: int) -> Callable[[], object]:
    """Return a function that makes a step of all worlds, compiled and run once."""
    import jax

    game = environment()
    keys = jax.random.split(jax.random.PRNGKey(0), worlds)
    _, state = jax.jit(jax.vmap(game.reset))(keys)
    push = jax.random.normal(keys[0], (worlds, game.num_agents, 2))
    step = jax.jit(jax.vmap(game._world_step))

    def run() -> None:
        nonlocal state
        position, velocity = step(keys, state, push)
        state = jax.block_until_ready(state.replace(p_pos=position, p_vel=velocity))

    run()
    return run
