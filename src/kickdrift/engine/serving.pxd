"""Decide which bound objects can be reused when the model changes."""

cdef dict continued(dict bound, object mine, object model, list writes)
cdef bint is_served(object bound, object old, object now, object model, dict taken, list writes) except -1
cdef int keep_idle(object model, dict before, dict known) except -1
