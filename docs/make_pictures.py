"""Draw the pictures of these pages into docs/pictures: python docs/make_pictures.py."""

import argparse
from pathlib import Path

from matplotlib.figure import Figure

from kickdrift.demos import compare

FOLDER = Path(__file__).parent / "pictures"


def main():
    for name in ("spring", "orbit", "throw"):
        parser = argparse.ArgumentParser()
        compare.add_arguments(parser)
        figure = Figure(layout="constrained")
        compare.plot(parser.parse_args([name]), figure)
        figure.savefig(FOLDER / f"compare-{name}.png", dpi=100)


if __name__ == "__main__":
    main()
