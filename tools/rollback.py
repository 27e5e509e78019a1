"""Two peers play a million ticks with rollback over a bad line: see tests/netplay.py."""

import sys

import common

sys.path[:0] = [str(common.ROOT / "tests"), str(common.ROOT / "src")]


def main(*arguments):
    import netplay

    netplay.main(*arguments)
