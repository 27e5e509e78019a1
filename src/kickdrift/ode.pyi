from typing_extensions import disjoint_base

from .odebase import ODEBase
from .sharing import Sharing

@disjoint_base
class ODECore(Sharing):
    def step(self, n: int = 1) -> None: ...
    @property
    def tick(self) -> int: ...
    @property
    def evaluations(self) -> int: ...

class ODEStepper(ODEBase, ODECore): ...
