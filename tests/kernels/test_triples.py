"""Array-of-structures states of shape (n, 3) are transposed in vectors: correct for every n."""

import numpy as np
import pytest
from plans import assert_same_state, each_isa, said

import kickdrift as kd


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_and_column_layouts_move_equally(dtype, monkeypatch):
    rng = np.random.default_rng(3)
    for n in (*range(1, 36), 191, 192, 193, 209, 400):
        x, v = rng.normal(size=(2, n, 3)).astype(dtype)
        forces = [kd.Magnetic(1.0, (0.3, 0.2, 1.0)), kd.Gravity((1, 2, 3))]
        for isa in each_isa(monkeypatch):
            rows, columns = (
                kd.Stepper(np.array(x, order=order), np.array(v, order=order), dt=0.01, integrator="rk4", forces=forces)
                for order in "CF"
            )
            for stepper in (rows, columns):
                stepper.step(2)
            with said(isa=isa, n=n):
                assert_same_state(rows, columns)
                assert (rows.position != x).all()
