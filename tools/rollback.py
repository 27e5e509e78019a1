"""Rollback netplay of two peers over a lossy line for a million ticks: see tests/netplay.py."""

import sys

import common

sys.path[:0] = [str(common.ROOT / "tests"), str(common.ROOT / "src")]


def main(*arguments):
    import netplay

    netplay.main(*arguments)
