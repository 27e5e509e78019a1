from typing_extensions import disjoint_base

from .runner import Runner

@disjoint_base
class Core(Runner):
    def step(self, n: int = 1) -> None: ...
    def restart(self) -> None: ...
    @property
    def force_evaluations(self) -> int: ...
