# Slot masks of worlds that spawn and remove bodies, padded to whole rows.

from libc.stdint cimport uint8_t

ctypedef struct SlotArrays:
    const uint8_t* alive    # per slot: 1 if active
    const uint8_t* needs_start    # per slot: 1 if spawned since the last step
    const void* weight      # `alive` as numbers of the state's dtype
    Py_ssize_t end          # end of the slots in use: last active slot + 1
    Py_ssize_t spans
    const Py_ssize_t* span  # ranges of whole rows with active bodies: first and end of each
    int item                # bytes of a number
