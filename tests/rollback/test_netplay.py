"""Rollback netplay of two peers over a lossy line, in one process; tools/prove.py runs a million ticks."""

import netplay
import pytest


@pytest.mark.parametrize("seed", [0, 1])
def test_peers_never_diverge(seed):
    found = netplay.run(600, seed)
    assert found["rollbacks"] > 50
    assert found["resimulated"] > 200
    assert found["compared"] > 100
    assert found["born"] > 20


def test_a_desync_is_detected(monkeypatch):
    play = netplay.Peer.inputs

    def inputs(self, world, tick):
        play(self, world, tick)
        if self.me == 1 and tick == 100:
            world.velocity[0, 0] += 1e-12

    monkeypatch.setattr(netplay.Peer, "inputs", inputs)
    with pytest.raises(AssertionError, match="desync at tick"):
        netplay.run(300)
