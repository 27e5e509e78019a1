/* The nearest float to sin, cos, tan, exp, log, tanh and cbrt of float: what tools/functions.py compares with. The C
 * library's double decides where it is 32 units of its last place from the middle of two floats, which is many times
 * its error; its long double elsewhere; and where that is nearer than 16 of its own units, this one asks. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if LDBL_MANT_DIG != 64
#error "long double is no oracle here"
#endif

static double quick_value(int function, float x) {
    switch (function) {
    case 0: return sin(x);
    case 1: return cos(x);
    case 2: return tan(x);
    case 3: return exp(x);
    case 4: return log(x);
    case 5: return tanh(x);
    default: return cbrt(x);
    }
}

/* Does a double say which float is nearest? */
static int decides(double y) {
    uint64_t bits;
    memcpy(&bits, &y, 8);
    return fabs(y) >= FLT_MIN && fabs(y) < FLT_MAX && ((bits - ((uint64_t)1 << 28) + 32) & (((uint64_t)1 << 29) - 1)) > 64;
}

static long double value(int function, float x) {
    switch (function) {
    case 0: return sinl(x);
    case 1: return cosl(x);
    case 2: return tanl(x);
    case 3: return x > 89 ? INFINITY : x < -104 ? 0 : expl(x); /* beyond what floats hold */
    case 4: return logl(x);
    case 5: return fabsf(x) > 10 ? copysignf(1, x) : tanhl(x); /* nearer to 1 than the float beside it */
    default: return cbrtl(x);
    }
}

/* Is a number, but for 2^-60 of itself, in the middle of two floats? */
static int near_middle(long double y, float f) {
    long double size = fabsl(y), wide, other;
    uint64_t mantissa;
    if (!(size <= 2 * (long double)FLT_MAX)) return 0;
    if (size >= FLT_MIN) { /* 40 bits more than a float has */
        memcpy(&mantissa, &y, 8);
        return (mantissa + 16 - ((uint64_t)1 << 39) & (((uint64_t)1 << 40) - 1)) <= 32;
    }
    if (y == 0) return 0;
    wide = f;
    other = nextafterf(f, y < wide ? -INFINITY : INFINITY);
    return fabsl(y - (wide + other) / 2) <= size * 0x1p-60L;
}

/* For the patterns from `first` on; returns how many are doubtful, of which the first `room` are told. */
long nearest(int function, uint32_t first, long count, float *out, uint32_t *doubtful, long room) {
    long found = 0;
    for (long n = 0; n < count; n++) {
        uint32_t pattern = first + (uint32_t)n;
        float x;
        memcpy(&x, &pattern, 4);
        double near = quick_value(function, x);
        if (decides(near)) {
            out[n] = (float)near;
            continue;
        }
        long double y = value(function, x);
        out[n] = (float)y;
        if (x == x && near_middle(y, out[n])) {
            if (found < room) doubtful[found] = pattern;
            found++;
        }
    }
    return found;
}
