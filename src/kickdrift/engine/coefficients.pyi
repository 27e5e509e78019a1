# What is compiled here is for the other compiled modules alone.
from typing_extensions import disjoint_base

@disjoint_base
class AppliedForces: ...
