# Slot data for kernels of worlds that spawn and remove bodies. Masks reach to the end of the last whole row.

from libc.stdint cimport uint8_t

ctypedef struct Living:
    const uint8_t* alive    # 1 where a body lives
    const uint8_t* young    # 1 where it was born after the last step
    const void* weight      # as `alive`, in numbers of the state's dtype
    Py_ssize_t end          # behind the last that lives
    Py_ssize_t spans
    const Py_ssize_t* span  # from where to where whole rows have any that live, one pair after the other
    int item                # bytes of a number
