"""Side by side with what a user would pick instead: `python -m bench`.

A `Scene` is work that ours and the peers all do, a peer is a module in `peers` that does it its way, a case in
`cases.py` sets a scene against peers and goals. Everything runs interleaved in one process, and only after it was
checked that it computes the same thing.
"""
