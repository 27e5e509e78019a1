from typing_extensions import disjoint_base

from .runner import Watch

@disjoint_base
class Coupled(Watch): ...
