"""Loops over the steps of a frame, each of which runs after the body of the loop."""

cimport cython
from libc.stdint cimport int64_t

from ..clock.fixed_clock cimport FixedClock
from ..kernels.simd.rounding cimport require_rounding
from .frames cimport Frames

require_rounding(__name__)


cdef class Looped(Frames):
    """The part of a Stepper that is looped over."""

    def ticks(self, object seconds):
        """Give the clock the time of a frame, and loop over its steps: each runs after the body of the loop.

        Yields `tick`, the tick before the step. The step uses all changes that the body makes, and `interpolate`
        draws as after `advance`. After `break`, or an exception in the body, the step does not run. It is still due
        in the next frame, with those after it. Changes of the clock take effect in the next frame.

        Raises what `advance` raises, and RuntimeError for another frame inside the loop.

        >>> import kickdrift as kd
        >>> ship = kd.Stepper([[0.0]], [[0.0]], dt=1/60)
        >>> for tick in ship.ticks(0.04):
        ...     ship.velocity[0] += 3.0
        >>> ship.tick, ship.interpolate().round(4).tolist()
        (2, [[0.09]])
        """
        cdef Frames world = self
        cdef Ticks loop = Ticks.__new__(Ticks)
        loop.world = world
        loop.clock = self.clock if world.own is None else world.own
        loop.clock._feed(seconds)
        return loop


@cython.final
cdef class Ticks:
    """The loop over the steps of a frame that `ticks` returns."""

    cdef Frames world
    cdef FixedClock clock
    cdef bint begun, pending, ended     # is it inside the frame; is a step to be run after the body; is it over?

    def __iter__(self):
        return self

    def __next__(self):
        if self.ended:
            raise StopIteration
        if not self.begun:
            self.clock._refuse_reentry()
            self.clock._running = self.begun = True
        try:
            if self.pending:
                self.run()
            if self.clock.may_step():
                # If the body of the loop drops waiting time, this step is kept.
                self.clock._taken = 1
                self.pending = True
                return self.world.ticks
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    cdef int run(self) except -1:
        """The step that the body has been run for."""
        cdef Frames world = self.world
        cdef int64_t first
        world.lock()
        first = world.ticks
        self.pending = False
        try:
            world.follow(self.clock)
            world.last_step(self.clock._substeps)
        finally:
            # A step that is done counts, also where it raised: its state may be no longer finite.
            self.clock.count((world.ticks - first) // self.clock._substeps)
            self.clock._taken = 0
            world.unlock()
        return 0

    cdef int close(self) except -1:
        """Leave the frame. A step that was not run stays owed."""
        if self.begun and not self.ended:
            self.ended = True
            self.clock.end_frame()
        return 0

    def __del__(self):
        self.close()
