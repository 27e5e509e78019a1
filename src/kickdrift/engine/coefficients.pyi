# No Python API: used only by other compiled modules.
from typing_extensions import disjoint_base

@disjoint_base
class AppliedForces: ...
