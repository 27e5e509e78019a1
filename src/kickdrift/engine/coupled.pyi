from typing_extensions import disjoint_base

from .sharing import Watch

@disjoint_base
class Coupled(Watch): ...
