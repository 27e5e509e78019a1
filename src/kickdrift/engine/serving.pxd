"""Which bindings of a model can serve a changed one."""

cdef bint is_served(object bound, object old, object now, object model, dict taken, list writes) except -1
cdef bint numbered_alike(object mine, object model) except -1
cdef int keep_idle(object model, dict before, dict known) except -1
