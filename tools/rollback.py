"""Rollback netplay of two peers over a lossy line for a million ticks: see tests/netplay.py and netplay_level.py."""

import sys

import common

sys.path[:0] = [str(common.ROOT / "tests"), str(common.ROOT / "src")]


def main(*arguments):
    import netplay
    import netplay_level

    own = [argument for argument in arguments if argument != "--level"]
    (netplay_level if "--level" in arguments else netplay).main(*own)
