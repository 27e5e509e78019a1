"""Benchmarks against alternatives: `python -m bench`.

A `Scene` is a workload, a peer is a module in `peers` that implements it with another library, and a case in
`cases.py` compares a scene with peers and goals. All run interleaved in one process, after a check that their results
agree.
"""
