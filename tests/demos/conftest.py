"""What the demos compute, once for all tests of a process."""

from functools import cache

import pytest

from kickdrift.demos import cloth, orbit


@pytest.fixture(scope="session", autouse=True)
def long_runs_once():
    """What is printed, plotted and looked at are the same runs: they depend on nothing but their arguments."""
    with pytest.MonkeyPatch.context() as patch:
        for demo in (cloth, orbit):
            patch.setattr(demo, "run", cache(demo.run))
        yield
