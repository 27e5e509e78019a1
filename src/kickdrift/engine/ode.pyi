from typing_extensions import disjoint_base

from .runner import Runner

@disjoint_base
class ODECore(Runner):
    def step(self, n: int = 1, progress: bool = False) -> None: ...
    @property
    def evaluations(self) -> int: ...
