"""Rollback netplay of two peers on a level with moving platforms; tools/prove.py runs a million frames."""

import netplay_level
import pytest

import kickdrift as kd


def test_peers_never_diverge_and_go_back_as_far():
    found = netplay_level.run(3000)
    assert found["coins"] > 5
    assert min(found["again"]) > 20
    assert max(found["deepest"]) <= 10  # latency minus delay: the late start of a peer adds nothing


def test_a_desync_is_detected():
    def control(self, world, keys):
        netplay_level.Peer.control(self, world, keys)
        if self.me == 1 and world.tick == 100:  # a crate
            world.position[2, 0] += 1e-9

    with pytest.raises(kd.DesyncError):
        netplay_level.run(300, control=control)
