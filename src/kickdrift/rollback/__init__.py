"""Going back in time: snapshots, and the ring of them."""
