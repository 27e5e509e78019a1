"""Runge-Kutta methods: midpoint, Heun, the classical fourth-order method, and Dormand-Prince of order 8."""

from __future__ import annotations

from typing import ClassVar

from .base import Integrator


class Midpoint(Integrator):
    """Explicit midpoint rule: an Euler half-step, then a full step with the slope found there."""

    name = "midpoint"
    source = "Runge 1895; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.1.2"
    evaluation_shares = ((0, 0.5), (0, 0.5))
    order = 2
    force_evaluations = 2


class Heun(Integrator):
    """Heun's method: the average of the slopes at both ends of an Euler step."""

    name = "heun"
    source = "Heun 1900; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.1"
    evaluation_shares = ((0, 1), (0, 1))
    order = 2
    force_evaluations = 2


class RK4(Integrator):
    """The classical Runge-Kutta method for (x, v), weights 1/6, 1/3, 1/3, 1/6."""

    name = "rk4"
    source = "Kutta 1901; Hairer, Norsett, Wanner 1993, Solving ODEs I, table II.1.2"
    evaluation_shares = ((0, 0.5, 0.5, 1), (0, 0.5, 0.5, 1))
    order = 4
    damping_limit = 2.785
    force_evaluations = 4


class Dopri8(Integrator):
    """Dormand and Prince's method of order 8 in 12 stages, for `ODEStepper` and errors near rounding.

    The method of the program DOP853 without step size control, because steps are fixed.
    """

    name = "dopri8"
    source = "Dormand, Prince 1980; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.5 and II.10 (DOP853)"
    order = 8
    force_evaluations = 12
    #: Weights of the slopes for the state of each next stage; the last row is the step.
    tableau: ClassVar[tuple[dict[int, float], ...]] = (
        {0: 0.05260015195876773},
        {0: 0.0197250569845379, 1: 0.0591751709536137},
        {0: 0.02958758547680685, 2: 0.08876275643042054},
        {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
        {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
        {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
        {
            0: 0.03709200011850479,
            3: 0.17038392571223998,
            4: 0.10726203044637328,
            5: -0.015319437748624402,
            6: 0.008273789163814023,
        },
        {
            0: 0.6241109587160757,
            3: -3.3608926294469414,
            4: -0.868219346841726,
            5: 27.59209969944671,
            6: 20.154067550477894,
            7: -43.48988418106996,
        },
        {
            0: 0.47766253643826434,
            3: -2.4881146199716677,
            4: -0.590290826836843,
            5: 21.230051448181193,
            6: 15.279233632882423,
            7: -33.28821096898486,
            8: -0.020331201708508627,
        },
        {
            0: -0.9371424300859873,
            3: 5.186372428844064,
            4: 1.0914373489967295,
            5: -8.149787010746927,
            6: -18.52006565999696,
            7: 22.739487099350505,
            8: 2.4936055526796523,
            9: -3.0467644718982196,
        },
        {
            0: 2.273310147516538,
            3: -10.53449546673725,
            4: -2.0008720582248625,
            5: -17.9589318631188,
            6: 27.94888452941996,
            7: -2.8589982771350235,
            8: -8.87285693353063,
            9: 12.360567175794303,
            10: 0.6433927460157636,
        },
        {
            0: 0.054293734116568765,
            5: 4.450312892752409,
            6: 1.8915178993145003,
            7: -5.801203960010585,
            8: 0.3111643669578199,
            9: -0.1521609496625161,
            10: 0.20136540080403034,
            11: 0.04471061572777259,
        },
    )
    #: c_i, the sums of the rows.
    evaluation_shares = (
        (
            0.0,
            0.05260015195876773,
            0.0789002279381516,
            0.1183503419072274,
            0.2816496580927726,
            0.3333333333333333,
            0.25,
            0.3076923076923077,
            0.6512820512820513,
            0.6,
            0.8571428571428571,
            1.0,
        ),
    ) * 2
