"""Beyond one machine: bodies in Dask's arrays, and many worlds on any executor. Needs the extra `distributed`.

`step` and `step_ode` step bodies, or trajectories, that do not see each other, chunk by chunk. `sweep` runs a
world for each of many cases. No bit of a result depends on how bodies are cut into chunks, on how many
workers there are or on which of them ran what.
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
