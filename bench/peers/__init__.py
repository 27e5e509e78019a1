"""Peers, one module each. `contestant(scene)` runs a scene of `cases.py`; others serve a case of `together.py`.

A peer whose package is missing cannot be imported; the table says so.
"""

from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from ..scene import Contestant, Scene

# Peer in the tables: module and package.
PEERS = {
    "plain Python": ("plain", ""),
    "pygame-ce": ("vectors", "pygame-ce"),
    "NumPy": ("arrays", "numpy"),
    "numba": ("numba_loops", "numba"),
    "numba expert": ("numba_expert", "numba"),
    "numba, pair by pair": ("numba_pairs", "numba"),
    "jax.jit": ("jax_jit", "jax"),
    "C": ("limit", ""),
    "SciPy": ("orbits", "scipy"),
    "REBOUND": ("gravity", "rebound"),
    "pymunk": ("circles", "pymunk"),
}
#: Peers that are bitwise equal to kickdrift.
EXACT = {"C"}


@cache
def module(name: str):
    try:
        return import_module(f".{PEERS[name][0]}", __name__)
    except ImportError:
        return None


def installed(name: str) -> bool:
    return module(name) is not None


def contestant(name: str, scene: Scene) -> Contestant:
    """Return a peer's implementation of a scene, in its own best layout if it has one."""
    return module(name).contestant(scene)


def versions() -> dict[str, str]:
    """Return the versions of the installed packages."""
    found = {}
    for _, package in PEERS.values():
        try:
            found[package] = version(package) if package else ""
        except PackageNotFoundError:
            found[package] = "not installed"
    return {package: text for package, text in found.items() if package}
