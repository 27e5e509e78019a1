"""Limits to growth: a world model of five coupled stocks, 1900 to 2100.

World2 is the model that led to "The Limits to Growth" (Meadows et al. 1972). Here it is the user's own
right-hand side for kd.ODEStepper: a Python function, three futures side by side as trajectories.

Stocks, with their rates per year:

  P    population           P' = P (0.04 brm(MSL) brc(CR) brf(FR) brp(POLR)
                                 - 0.028 drm(MSL) drc(CR) drf(FR) drp(POLR))
  NR   natural resources    NR' = -P nrmm(MSL), in years of one person's use in 1970
  CI   capital              CI' = 0.05 P cim(MSL) - 0.025 CI, in units of one person's in 1970
  POL  pollution            POL' = P polcm(CI/P) - POL / polat(POLR), in one person's a year in 1970
  CIAF share of capital     CIAF' = (cfifr(FR) ciqr(QLM/QLF) - CIAF) / 15
       in agriculture

Feedback runs through

  CR = P / (26.5/km2 x 135e6 km2)                                           crowding
  MSL = CI/P (1 - CIAF) / 0.7 nrem(NR/900e9)                                material standard of living
  POLR = POL / 3.6e9                                                        pollution
  FR = fpci(CI/P CIAF/0.3) fcm(CR) fpm(POLR)                                food per person
  QL = qlm(MSL) qlc(CR) qlf(FR) qlp(POLR) = QLM x ... x QLF x ...           quality of life

and names in small letters are tables, interpolated linearly. All ratios are 1 for the world of 1970.

Source: Forrester 1971, World Dynamics, chapter 3 and appendix B; the futures are its figures 4-1, 4-5
and 6-1: nothing changes; from 1970 on resources are used at a quarter of the rate; from 1970 on also
pollution -50 %, investment -40 %, food -20 % and births -30 %. It is a demonstration of how such models
are solved, and no forecast.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import kickdrift as kd

from .table import fixed, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLES = """\
  python -m kickdrift demo growth
  python -m kickdrift demo growth --future equilibrium --plot growth.png
"""

START, END, CHANGE = 1900, 2100, 1970  #: years
PER_YEAR = 5  #: steps
RESOURCES, POLLUTION, LAND = 900e9, 3.6e9, 26.5 * 135e6


class Policy(NamedTuple):
    """Rates that a future may change."""

    births: float = 0.04
    resources: float = 1.0
    investment: float = 0.05
    pollution: float = 1.0
    food: float = 1.0


FUTURES = {
    "standard": Policy(),
    "frugal": Policy(resources=0.25),
    "equilibrium": Policy(births=0.028, resources=0.25, investment=0.03, pollution=0.5, food=0.8),
}


@dataclass(frozen=True)
class Table:
    """A function given at equal distances, constant beyond the last."""

    step: float
    values: tuple[float, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.interp(x, self.step * np.arange(len(self.values)), self.values)


BIRTHS_MATERIAL = Table(1, (1.2, 1, 0.85, 0.75, 0.7, 0.7))
BIRTHS_CROWDING = Table(1, (1.05, 1, 0.9, 0.7, 0.6, 0.55))
BIRTHS_FOOD = Table(1, (0, 1, 1.6, 1.9, 2))
BIRTHS_POLLUTION = Table(10, (1.02, 0.9, 0.7, 0.4, 0.25, 0.15, 0.1))
DEATHS_MATERIAL = Table(0.5, (3, 1.8, 1, 0.8, 0.7, 0.6, 0.53, 0.5, 0.5, 0.5, 0.5))
DEATHS_CROWDING = Table(1, (0.9, 1, 1.2, 1.5, 1.9, 3))
DEATHS_FOOD = Table(0.25, (30, 3, 2, 1.4, 1, 0.7, 0.6, 0.5, 0.5))
DEATHS_POLLUTION = Table(10, (0.92, 1.3, 2, 3.2, 4.8, 6.8, 9.2))
RESOURCES_MATERIAL = Table(1, (0, 1, 1.8, 2.4, 2.9, 3.3, 3.6, 3.8, 3.9, 3.95, 4))
EXTRACTION = Table(0.25, (0, 0.15, 0.5, 0.85, 1))
INVESTMENT_MATERIAL = Table(1, (0.1, 1, 1.8, 2.4, 2.8, 3))
POLLUTION_CAPITAL = Table(1, (0.05, 1, 3, 5.4, 7.4, 8))
POLLUTION_YEARS = Table(10, (0.6, 2.5, 5, 8, 11.5, 15.5, 20))
FOOD_CAPITAL = Table(1, (0.5, 1, 1.4, 1.7, 1.9, 2.05, 2.2))
FOOD_CROWDING = Table(1, (2.4, 1, 0.6, 0.4, 0.3, 0.2))
FOOD_POLLUTION = Table(10, (1.02, 0.9, 0.65, 0.35, 0.2, 0.1, 0.05))
SHARE_FOOD = Table(0.5, (1, 0.6, 0.3, 0.15, 0.1))
SHARE_QUALITY = Table(0.5, (0.7, 0.8, 1, 1.5, 2))
QUALITY_MATERIAL = Table(1, (0.2, 1, 1.7, 2.3, 2.7, 2.9))
QUALITY_CROWDING = Table(0.5, (2, 1.3, 1, 0.75, 0.55, 0.45, 0.38, 0.3, 0.25, 0.22, 0.2))
QUALITY_FOOD = Table(1, (0, 1, 1.8, 2.4, 2.7))
QUALITY_POLLUTION = Table(10, (1.04, 0.85, 0.6, 0.3, 0.15, 0.05, 0.02))


@dataclass(frozen=True)
class Ratios:
    """The quantities that the rates depend on."""

    capital: np.ndarray
    crowding: np.ndarray
    material: np.ndarray
    pollution: np.ndarray
    food: np.ndarray

    @property
    def quality(self) -> np.ndarray:
        return (
            QUALITY_MATERIAL(self.material)
            * QUALITY_CROWDING(self.crowding)
            * QUALITY_FOOD(self.food)
            * QUALITY_POLLUTION(self.pollution)
        )


def ratios(y: np.ndarray, food_coefficient: np.ndarray) -> Ratios:
    people, resources, capital, pollution, share = y.T
    each, crowding, dirt = capital / people, people / LAND, pollution / POLLUTION
    food = FOOD_CAPITAL(each * share / 0.3) * FOOD_CROWDING(crowding) * FOOD_POLLUTION(dirt) * food_coefficient
    return Ratios(each, crowding, each * (1 - share) * EXTRACTION(resources / RESOURCES) / 0.7, dirt, food)


def policies(t: float) -> np.ndarray:
    """The rates of all futures t years after 1900: a row per rate, a column per future."""
    now = FUTURES.values() if START + t > CHANGE else [FUTURES["standard"]] * len(FUTURES)
    return np.array(list(now)).T


def world(t: float, y: np.ndarray, out: np.ndarray) -> None:
    """The right-hand side: a row per future, a column per stock."""
    people, _, capital, pollution, share = y.T
    birth_rate, usage, investing, polluting, feeding = policies(t)
    now = ratios(y, feeding)
    births = birth_rate * BIRTHS_MATERIAL(now.material) * BIRTHS_CROWDING(now.crowding)
    births = births * BIRTHS_FOOD(now.food) * BIRTHS_POLLUTION(now.pollution)
    deaths = 0.028 * DEATHS_MATERIAL(now.material) * DEATHS_CROWDING(now.crowding)
    deaths = deaths * DEATHS_FOOD(now.food) * DEATHS_POLLUTION(now.pollution)
    quality = QUALITY_MATERIAL(now.material) / QUALITY_FOOD(now.food)
    out[:, 0] = people * (births - deaths)
    out[:, 1] = -people * usage * RESOURCES_MATERIAL(now.material)
    out[:, 2] = people * investing * INVESTMENT_MATERIAL(now.material) - 0.025 * capital
    out[:, 3] = people * polluting * POLLUTION_CAPITAL(now.capital) - pollution / POLLUTION_YEARS(now.pollution)
    out[:, 4] = (SHARE_FOOD(now.food) * SHARE_QUALITY(quality) - share) / 15


@dataclass(frozen=True)
class Run:
    """One future, sampled."""

    year: np.ndarray
    stocks: np.ndarray  #: (k, 5)
    ratios: Ratios

    @property
    def peak(self) -> int:
        """The sample at which most people live."""
        return int(self.stocks[:, 0].argmax())


def run(every: int) -> dict[str, Run]:
    """All futures, with a sample each `every` years."""
    stepper = kd.ODEStepper(np.tile([1.65e9, RESOURCES, 0.4e9, 0.2e9, 0.2], (len(FUTURES), 1)), world, hz=PER_YEAR)
    record = stepper.record((END - START) * PER_YEAR, every=every * PER_YEAR)
    food = np.array([policies(t)[-1] for t in record.time])
    return {
        name: Run(START + record.time, record.y[:, i], ratios(record.y[:, i], food[:, i]))
        for i, name in enumerate(FUTURES)
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--future", choices=list(FUTURES), default="standard", help="which one to print (default: standard)"
    )


def report(options: argparse.Namespace) -> str:
    chosen = run(every=10)[options.future]
    now = chosen.ratios
    rows = [["year", "people (1e9)", "capital", "in farming", "resources", "pollution", "material", "food", "quality"]]
    for i, year in enumerate(chosen.year):
        people, resources, capital, _, share = chosen.stocks[i]
        rows.append(
            [
                f"{year:.0f}",
                fixed(people / 1e9, 2),
                fixed(capital / 1e9, 2),
                f"{100 * share:.1f}%",
                f"{100 * resources / RESOURCES:.1f}%",
                *(fixed(ratio[i], 2) for ratio in (now.pollution, now.material, now.food, now.quality)),
            ]
        )
    heading = (
        f"World2 (Forrester 1971), the future named {options.future!r}. Capital in 1e9 units of a person's share in\n"
        f"1970, resources left of those of 1900; pollution, material standard of living, food and quality of\n"
        f"life as multiples of 1970's."
    )
    return "\n\n".join([heading, table(rows), _comparison()])


def _comparison() -> str:
    rows = [["future", "most people (1e9)", "in", "people in 2100 (1e9)", "pollution at most", "quality in 2100"]]
    for name, each in run(every=1).items():
        rows.append(
            [
                name,
                fixed(each.stocks[each.peak, 0] / 1e9, 2),
                f"{each.year[each.peak]:.0f}",
                fixed(each.stocks[-1, 0] / 1e9, 2),
                fixed(each.ratios.pollution.max(), 1),
                fixed(each.ratios.quality[-1], 2),
            ]
        )
    return "The three futures:\n\n" + table(rows)


def plot(options: argparse.Namespace, figure: Figure) -> None:
    """Two panels per future, scaled alike: what there is above, and how it is lived below."""
    figure.set_size_inches(12, 7)
    panels = figure.subplots(2, len(FUTURES), sharex=True, sharey="row", squeeze=False)
    for (upper, lower), (name, each) in zip(panels.T, run(every=1).items(), strict=True):
        people, resources, capital, _, _ = each.stocks.T
        upper.plot(each.year, people / 1e9, color="black", label="people, in billions")
        upper.plot(each.year, 10 * resources / RESOURCES, color="tab:green", label="resources, in tenths of 1900's")
        upper.plot(each.year, capital / 2e9, color="tab:blue", label="capital, in 2 billion units")
        lower.semilogy(each.year, each.ratios.pollution, color="tab:red", label="pollution, as a multiple of 1970's")
        lower.semilogy(each.year, each.ratios.quality, color="tab:orange", label="quality of life, likewise")
        for panel in (upper, lower):
            panel.axvline(CHANGE, color="0.8", linewidth=0.8, zorder=0)
            panel.set(xlim=(START, END))
        upper.set(title=name, ylim=(0, None))
        lower.set(xlabel="year")
    panels[0, 0].set_ylabel("people, resources, capital")
    panels[1, 0].set_ylabel("times 1970's")
    lines = [line for panel in panels[:, 0] for line in panel.get_legend_handles_labels()[0]]
    figure.legend(lines, [line.get_label() for line in lines], loc="outside upper center", ncols=3, frameon=False)
