# Constants of the elementary functions; kickdrift/reference/functions.py derives them.

from libc.stdint cimport int64_t, uint32_t

cdef extern from *:
    """
    #include <stdint.h>  /* below: polynomials in ascending powers, and the leading bits of 2 / pi */
    static const double kd_exp_polynomial[] = {
        0.5, 0.1666666666666667, 0.04166666666666667, 0.00833333333332612,
        0.0013888888888883737, 0.00019841269874873975, 2.480158732558584e-05, 2.755725533255441e-06,
        2.7557273594799413e-07, 2.510524515390137e-08, 2.0914707069612355e-09,
    };
    static const double kd_log_polynomial[] = {
        0.666666666666667, 0.39999999999899444, 0.2857142862600327, 0.22222211130259878,
        0.18182889455674947, 0.15331710618210773, 0.14616585424888623,
    };
    static const double kd_pow_polynomial[] = {
        0.6, 0.4285714285714405, 0.3333333333248383, 0.272727275030892,
        0.23076892443777647, 0.20002207040770967, 0.1755935450923681, 0.17584767935814777,
    };
    static const double kd_sin_polynomial[] = {
        -0.16666666666666666, 0.008333333333330946, -0.0001984126983675497, 2.755731610068303e-06,
        -2.5051131455427946e-08, 1.591810123027412e-10,
    };
    static const double kd_cos_polynomial[] = {
        0.041666666666666664, -0.0013888888888887395, 2.4801587298763433e-05, -2.7557317270560326e-07,
        2.0876146024689747e-09, -1.1382614868556325e-11,
    };
    static const double kd_atan_polynomial[] = {
        -0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588,
        -0.09090908753259112, 0.07692296368042296, -0.0666642476020052, 0.05878927554473807,
        -0.05230443640686948, 0.045515447340221615, -0.03456931506332609, 0.016284375050043393,
    };
    static const double kd_cbrt_polynomial[] = {
        0.44864263080415745, 0.9437338117552575, -0.655068561722188, 0.3751475301420356,
        -0.13924853171031618, 0.029496704251914946, -0.002703333870412061,
    };
    static const uint32_t kd_two_over_pi[] = {
        0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
        0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
        0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
        0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
        0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
    };
    """
    const double* EXP "kd_exp_polynomial"
    const double* LOG "kd_log_polynomial"
    const double* POW "kd_pow_polynomial"
    const double* SIN "kd_sin_polynomial"
    const double* COS "kd_cos_polynomial"
    const double* ATAN "kd_atan_polynomial"
    const double* CBRT "kd_cbrt_polynomial"
    const uint32_t* TWO_OVER_PI_WORDS "kd_two_over_pi"
    const double ROUND "6755399441055744.0"  # 1.5 * 2**52, whose addition rounds to an integer
    const double SMALLEST "2.2250738585072014e-308"  # least normal number
    const double LN2_HI "0.6931471806019545"
    const double LN2_LO "(-4.2009150726810846e-11)"
    const double INVERSE_LN2 "1.4426950408889634"
    const double THIRD "0.3333333333333333"
    const double TWO_THIRDS "0.6666666567325592"
    const double TWO_THIRDS_LO "9.934107462565104e-09"
    const double TWO_OVER_PI "0.6366197723675814"
    const double HALF_PI_1 "1.5707963267341256"
    const double HALF_PI_2 "6.077100506303966e-11"
    const double HALF_PI_3 "2.0222662487959506e-21"
    const double HALF_PI_HI "1.5707963267948966"
    const double HALF_PI_LO "6.123233995736766e-17"
    const double FAR "400000.0"
    const double NEAR "6.103515625e-05"
    const double TAN_EIGHTH "0.41421356237309503"
    const double QUARTER_PI "0.7853981633974492"
    const double QUARTER_PI_LO "(-8.575622497214414e-16)"
    const double ROOT_2 "1.2599210498948732"
    const double ROOT_4 "1.5874010519681996"
    const double TWO_54 "1.8014398509481984e+16"
    const double EXPONENT_BIAS "4503599627371519.0"
    const double MOST "8.452712498170644e+270"
    const double LARGE "3.273390607896142e+150"
    const double SMALL "3.054936363499605e-151"
    const double TINY "1.1830521861667747e-271"
    const double DOWN "2.409919865102884e-181"
    const double UP "4.149515568880993e+180"
    const int64_t SIGN "(-0x7fffffffffffffff - 1)"
    const int64_t MANTISSA "0x000fffffffffffff"
    const int64_t EXPONENT "(-0x0010000000000000)"  # with the sign bit
    const int64_t TRAILING "0x0000000007ffffff"
    const int64_t ONE_BITS "0x3ff0000000000000"
    const int64_t TWO_52_BITS "0x4330000000000000"
    const int64_t LOG_OFFSET "0x3fe6a09e00000000"
