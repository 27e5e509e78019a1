from typing_extensions import disjoint_base

from .sharing import Sharing

@disjoint_base
class Runner(Sharing):
    @property
    def tick(self) -> int: ...

@disjoint_base
class Writes: ...
