"""Distributed computing: bodies in Dask arrays, and parameter sweeps on any executor. Needs the extra `distributed`.

`step` and `step_ode` step bodies, or trajectories, that do not interact, chunk by chunk. `sweep` runs a
world for each of many cases. Results are bitwise reproducible for any chunks and any number of workers.
"""

try:
    import dask.array  # noqa: F401
except ImportError as error:
    raise ImportError(
        "kickdrift.distributed needs Dask, the extra `distributed`: pip install 'kickdrift[distributed]'"
    ) from error

from .arrays import step, step_ode
from .cases import CaseError
from .sweeping import sweep
from .workers import WorkerError

__all__ = ["CaseError", "WorkerError", "step", "step_ode", "sweep"]
