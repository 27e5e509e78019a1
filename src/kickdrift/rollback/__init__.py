"""Snapshots, and the ring buffer of them for rollback."""
