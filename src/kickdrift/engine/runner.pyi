from typing_extensions import disjoint_base

@disjoint_base
class Watch: ...

@disjoint_base
class Runner:
    _tape: object
    @property
    def tick(self) -> int: ...
