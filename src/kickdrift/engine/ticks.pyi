from collections.abc import Iterator

from .frames import Frames, _Real

class Looped(Frames):
    def ticks(self, seconds: _Real) -> Iterator[int]: ...
