# Langevin thermostat: the formulas of kickdrift/reference/noise.py, and of `apply_thermostat` and `thermostatted` in
# kickdrift/reference/system.py.

from libc.stdint cimport int64_t, uint32_t

from .abi.coupled cimport Coupling, Workspace
from .abi.formulas cimport COS, EXP, LOG, SIN
from .abi.plan cimport MAX_DIM, S, V, Noise, Plan
from .forces.fields cimport root
from .functions.normals cimport AT_ONCE, draw
from .integrators.traits cimport verlet
from .simd.vec cimport real, vec, width


cdef inline void apply(const Noise* noise, int code, double* out, const double* a) noexcept nogil:
    noise.operate(code, AT_ONCE // noise.width, <char*> out, <const char*> a, 1, NULL, 1)


cdef inline void normals(
    const Noise* noise, int64_t tick, int64_t first, Py_ssize_t count, uint32_t which, double* z, double* angle,
) noexcept nogil:
    """Compute two rows of normally distributed numbers (Box-Muller) for `count` bodies in z. angle: work row."""
    cdef double minus_two = -2
    cdef Py_ssize_t n
    cdef double radius
    draw(noise.seed, tick, first, count, which, noise.generation, z, angle)
    apply(noise, LOG, z + AT_ONCE, z)
    apply(noise, COS, z, angle)
    for n in range(count):
        radius = root(minus_two * z[AT_ONCE + n])
        z[n] = radius * z[n]
        z[AT_ONCE + n] = radius
    apply(noise, SIN, angle, angle)
    for n in range(count):
        z[AT_ONCE + n] = z[AT_ONCE + n] * angle[n]


cdef inline void apply_thermostats(
    const Coupling* coupling, const Workspace* workspace, int64_t tick, bint midway, Py_ssize_t begin,
    Py_ssize_t count, double* memory,
    const real* like, Py_ssize_t row,
) noexcept nogil:
    cdef const Plan* plan = coupling.plan
    cdef const Noise* noise = coupling.noise
    cdef double* c = memory
    cdef double* wide = memory + AT_ONCE
    cdef double* z = memory + 2 * AT_ONCE   # rows of normal numbers, drawn in pairs: the last is unused if dim is odd
    cdef real* x = <real*> workspace.next
    cdef real* v = x + V * row
    cdef real* s = x + S * row
    cdef const real* a = <const real*> workspace.start
    cdef const real* moves = <const real*> coupling.moves
    cdef real h = <real> plan.h
    cdef real half = h / 2
    cdef real keep, kick, u, w
    cdef double minus, one = 1
    cdef int64_t body
    cdef Py_ssize_t n, i
    cdef uint32_t which
    cdef int j
    for n in range(AT_ONCE):
        wide[n] = 0
    for n in range(count):
        minus = noise.friction[(workspace.first + begin + n) * noise.friction_step] * <double> h
        wide[n] = -minus
    apply(noise, EXP, c, wide)
    for n in range(count):
        minus = one - c[n]
        wide[n] = root(minus * (one + c[n]) * noise.heat[(workspace.first + begin + n) * noise.heat_step])
        if moves != NULL and not moves[begin + n] > 0:
            wide[n] = 0
    for which in range(<uint32_t> (plan.dim + 1) // 2):
        normals(
            noise, tick, workspace.first + begin, count, which, z + 2 * which * AT_ONCE,
            memory + (2 + MAX_DIM + 1) * AT_ONCE
        )
    for j in range(plan.dim):
        for n in range(count):
            body = workspace.first + begin + n
            if plan.slots != NULL and not plan.slots.alive[body]:
                continue
            i = j * workspace.plane + begin + n
            keep = <real> c[n]
            kick = <real> (wide[n] * z[j * AT_ONCE + n])
            if midway:
                u = v[i] - half * a[i]
                w = keep * u + kick
                x[i] = x[i] + half * (w - u)
                v[i] = w + half * a[i]
                continue
            v[i] = keep * v[i] + kick
            if verlet(plan.scheme):
                u = keep * (x[i] - s[i])
                s[i] = x[i] - (u + h * kick)


cdef inline void apply_thermostat(
    const Coupling* coupling, const Workspace* workspace, int64_t tick, bint midway, const vec* like,
) noexcept nogil:
    """Apply friction and noise to the state in `workspace.next`. midway: in velocity Verlet, before its evaluation."""
    cdef double room_for_rows[(3 + MAX_DIM + 1) * AT_ONCE + 8]
    cdef double* memory = <double*> (<size_t> (<char*> room_for_rows + 63) & ~<size_t> 63)
    cdef const float* narrow = NULL
    cdef const double* wide = NULL
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t count
    while begin < workspace.count:
        count = min(<Py_ssize_t> AT_ONCE, workspace.count - begin)
        if sizeof(vec) // width(like) == sizeof(float):
            apply_thermostats(coupling, workspace, tick, midway, begin, count, memory, narrow, workspace.row)
        else:
            apply_thermostats(coupling, workspace, tick, midway, begin, count, memory, wide, workspace.row)
        begin += AT_ONCE
