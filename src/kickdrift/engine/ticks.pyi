from collections.abc import Iterator

from typing_extensions import disjoint_base

from .frames import Frames, _Real

@disjoint_base
class Looped(Frames):
    def ticks(self, seconds: _Real) -> Iterator[int]: ...
