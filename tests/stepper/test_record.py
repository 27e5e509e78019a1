"""`record`: destinations of samples, ends of runs, and files of trajectories."""

import math
from functools import partial

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import progress

GRAVITY = kd.Gravity((0, -9.81))


class InputLostError(Exception):
    pass


def world(Stepper, dtype=np.float64, n=3, **options):
    position = np.arange(2 * n, dtype=dtype).reshape(n, 2)
    return Stepper(position, np.ones_like(position), hz=64, forces=[GRAVITY], **options)


def lorenz(ODEStepper):
    return ODEStepper([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]], kd.flows.Lorenz(), dt=0.01)


def same(run, other):
    """Compare all arrays of two trajectories by their bits."""
    ours, theirs = run.arrays(), other.arrays()
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype, name
        assert np.asarray(array).tobytes() == np.asarray(theirs[name]).tobytes(), name


class Chunked:
    """An array like those of Zarr, with shape, dtype and assignment of rows, but not a NumPy array."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.rows = shape, dtype, {}

    def __setitem__(self, number, row):
        self.rows[number] = np.array(row, self.dtype)


# Where samples go.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_memory_maps_and_other_arrays_get_the_same_samples(Stepper, tmp_path, dtype, order):
    made = world(Stepper, dtype)
    made = Stepper(np.array(made.position, order=order), np.ones_like(made.position), hz=64, forces=[GRAVITY])
    expected = world(Stepper, dtype).record(10, every=3)
    mapped = np.lib.format.open_memmap(tmp_path / "v.npy", "w+", dtype, (4, 3, 2))
    run = made.record(10, every=3, out={"position": tmp_path / "x.npy", "velocity": mapped})
    same(run, expected)
    assert isinstance(run.position, np.memmap)
    assert run.velocity.base is mapped
    assert np.load(tmp_path / "x.npy").tobytes() == expected.position.tobytes()
    chunked = Chunked((4, 3, 2), np.dtype(dtype))
    assert world(Stepper, dtype).record(10, every=3, out=chunked).position is chunked
    assert np.stack(list(chunked.rows.values())).tobytes() == expected.position.tobytes()
    assert list(chunked.rows) == [0, 1, 2, 3]


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    store = zarr.create_array(str(tmp_path / "x.zarr"), shape=(5, 3, 2), chunks=(2, 3, 2), dtype="f8")
    run = world(kd.Stepper).record(4, out=store)
    assert run.position is store
    assert store[:].tobytes() == world(kd.Stepper).record(4).position.tobytes()


def test_what_out_leaves_out_is_not_recorded(Stepper, tmp_path):
    run = world(Stepper).record(4, out=tmp_path / "x.npy")
    assert run.velocity is None
    assert run.position.shape == (5, 3, 2)
    assert run.time.tolist() == [0, 1 / 64, 2 / 64, 3 / 64, 4 / 64]
    assert run.tick.tolist() == [0, 1, 2, 3, 4]
    assert world(Stepper).record(2, out={}).position is None


@pytest.mark.parametrize("constraints", [(), [kd.ElasticCollisions(0.1)]], ids=["alone", "coupled"])
def test_what_is_written_to_rows_of_dead_bodies_is_not_recorded(Stepper, constraints):
    """Rows of dead bodies are recorded as zeros, even those after the last body, which coupled steps skip."""
    there = world(Stepper, alive=3, constraints=constraints)
    there.kill(2)
    for array in (there.position, there.velocity):
        array[2] = 7.0
    run = there.record(2)
    assert not run.position[:, 2].any()
    assert not run.velocity[:, 2].any()


def test_an_equation_records_into_a_file(ODEStepper, tmp_path):
    run = lorenz(ODEStepper).record(6, every=2, out=str(tmp_path / "y.npy"))
    assert np.load(tmp_path / "y.npy").tobytes() == lorenz(ODEStepper).record(6, every=2).y.tobytes()
    assert isinstance(run.y, np.memmap)
    assert repr(run) == "<kickdrift.ODETrajectory: 4 samples of y 2x3, float64, 0 to 0.06 s>"


def test_samples_may_have_another_precision(Stepper):
    narrow = np.zeros((3, 3, 2), np.float32)
    run = world(Stepper).record(2, out=narrow)
    assert run.position.dtype == np.float32
    assert np.array_equal(narrow, world(Stepper).record(2).position.astype(np.float32))


def test_times_and_energies_may_go_into_arrays_too(Stepper):
    arrays = {"time": np.zeros(4), "tick": np.zeros(4, np.int64), "energy": np.zeros((4, 2))}
    run = world(Stepper).record(3, out=arrays, energy=True)
    assert run.tick.tolist() == [0, 1, 2, 3]
    assert run.energy.base is arrays["energy"]
    assert run.position is None


READ_ONLY = np.zeros((3, 3, 2))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        ("x.zarr", ValueError, r"out: expected a path that ends in \.npy for position, got 'x.zarr'"),
        (np.zeros((4, 3, 2)), ValueError, r"out: expected shape \(3, 3, 2\) for position, got \(4, 3, 2\)"),
        (np.zeros((3, 3, 2), int), TypeError, "out: expected float64 for position, got int64"),
        (READ_ONLY, ValueError, "out: expected an array that can be written for position, got one that is read-only"),
        ([1.0], TypeError, r"out: expected a path, or an array that can be written, for position, got \[1\.0\]"),
        ({"speed": "v.npy"}, ValueError, "out: expected names among time, tick, position, velocity, got 'speed'"),
        ({"energy": "e.npy"}, ValueError, "out: expected names among time, tick, position, velocity, got 'energy'"),
        ({"position": "x.npy", "velocity": 3}, TypeError, "out: expected a path, .* for velocity, got 3"),
        ({"velocity": "x.npy", "position": "./x.npy"}, ValueError, "out: expected places .* for velocity and position"),
    ],
)
def test_out_that_does_not_fit_is_refused(Stepper, tmp_path, monkeypatch, out, error, message):
    monkeypatch.chdir(tmp_path)
    ours = world(Stepper)
    with pytest.raises(error, match=f"^{message}"):
        ours.record(2, out=out)
    assert ours.tick == 0
    assert list(tmp_path.iterdir()) == []


def test_out_that_the_stepper_uses_is_refused(Stepper):
    memory = np.zeros((3, 3, 2))
    ours = Stepper(memory[1])
    with pytest.raises(ValueError, match=r"^out: expected memory of its own for position"):
        ours.record(2, out=memory)


@pytest.mark.parametrize("strides", [(0, 16, 8), (8, 16, 8), (16, 8, 8), (24, 16, 8)])
def test_samples_that_overlap_in_memory_are_refused(Stepper, strides):
    memory = np.lib.stride_tricks.as_strided(np.zeros(20), (3, 2, 2), strides)
    with pytest.raises(ValueError, match=r"^out: expected memory of its own for each sample of position"):
        Stepper(np.zeros((2, 2))).record(2, out=memory)


def test_one_array_for_two_quantities_is_refused_unless_they_are_columns_of_it(Stepper):
    ours = Stepper([[0.0, 0.0]], [[1.0, 2.0]])
    memory = np.zeros((3, 1, 4))
    expected = Stepper([[0.0, 0.0]], [[1.0, 2.0]]).record(2)
    for columns in (slice(2), slice(1, 3)):
        with pytest.raises(ValueError, match=r"^out: expected places of their own for position and velocity"):
            ours.record(2, out={"position": memory[..., :2], "velocity": memory[..., columns]})
    assert ours.tick == 0
    run = ours.record(2, out={"position": memory[..., :2], "velocity": memory[..., 2:]})
    assert run.position.tobytes() == expected.position.tobytes()
    assert run.velocity.tobytes() == expected.velocity.tobytes()


def test_a_folder_that_is_not_there(Stepper, tmp_path):
    ours = world(Stepper)
    with pytest.raises(FileNotFoundError):
        ours.record(2, out=tmp_path / "none" / "x.npy")
    assert ours.tick == 0


# What ends a run.


def test_a_callback_sees_each_sample_and_ends_the_run(Stepper, tmp_path):
    seen = []

    def see(stepper):
        seen.append((stepper.tick, float(stepper.position[0, 0])))
        return stepper.tick >= 6

    ours = world(Stepper)
    run = ours.record(1000, every=3, callback=see, out=tmp_path / "x.npy")
    assert [tick for tick, _ in seen] == [0, 3, 6] == run.tick.tolist()
    assert [x for _, x in seen] == run.position[:, 0, 0].tolist()
    assert ours.tick == 6
    assert np.load(tmp_path / "x.npy").shape == (3, 3, 2)
    assert len(ours.record(7, every=5, callback=lambda stepper: None)) == 2
    assert ours.tick == 13


def test_a_callback_ends_an_equation(ODEStepper):
    run = lorenz(ODEStepper).record(1000, callback=lambda stepper: np.any(stepper.y > 5))
    assert 1 < len(run) < 1000
    assert (run.y[:-1] <= 5).all()
    assert (run.y[-1] > 5).any()


def test_errors_of_a_callback_carry_the_samples(Stepper, tmp_path):
    def fail(stepper):
        if stepper.tick == 2:
            raise InputLostError

    ours = world(Stepper)
    with pytest.raises(InputLostError) as caught:
        ours.record(5, callback=fail, out=tmp_path / "x.npy")
    assert caught.value.trajectory.tick.tolist() == [0, 1, 2]
    assert len(np.load(tmp_path / "x.npy")) == 3
    ours.step()
    with pytest.raises(TypeError, match=r"^callback: expected it to return True, False or None, got 1"):
        ours.record(5, callback=lambda stepper: 1)
    with pytest.raises(TypeError, match=r"^callback: expected a function of the stepper, or None, got 3"):
        ours.record(5, callback=3)
    assert ours.tick == 3


def test_a_callback_must_keep_the_number_of_bodies(Stepper):
    ours = world(Stepper, n=1)
    with pytest.raises(ValueError, match=r"^callback: expected it to keep 1 bodies, got 2"):
        ours.record(3, callback=lambda stepper: stepper.rebind(np.zeros((2, 2)), np.zeros((2, 2))))


def test_a_full_disk_keeps_what_was_written(Stepper):
    class Full(Chunked):
        def __setitem__(self, number, row):
            if number == 3:
                raise OSError(28, "No space left on device")

    ours = world(Stepper)
    with pytest.raises(OSError, match="No space left") as caught:
        ours.record(10, out=Full((11, 3, 2), np.dtype(float)))
    assert caught.value.trajectory.tick.tolist() == [0, 1, 2]
    assert ours.tick == 3  # the step before the failed sample is complete
    ours.step()


def test_energies_are_those_of_the_stepper(Stepper):
    ours, other = world(Stepper, mass=2.0), world(Stepper, mass=2.0)
    run = ours.record(6, every=2, energy=True)
    for sample in range(4):
        assert run.energy[sample].tolist() == list(other.energy())
        other.step(2)
    drag = Stepper([[0.0]], forces=[kd.LinearDrag(1.0)])
    with pytest.raises(ValueError, match=r"^energy: LinearDrag has no potential"):
        drag.record(3, energy=True)
    assert drag.tick == 0
    assert ours.record(1).energy is None


def test_an_equation_has_no_energy(ODEStepper):
    with pytest.raises(ValueError, match=r"^energy: expected False, an ODEStepper has none"):
        lorenz(ODEStepper).record(3, energy=True)


def test_progress_is_shown_when_asked(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    world(kd.Stepper).record(2, progress=True)
    assert [line.partition(" samples")[0] for line in capsys.readouterr().err.splitlines()] == [
        f"record: {done} of 3" for done in (1, 2, 3)
    ]
    world(kd.Stepper).record(2)
    monkeypatch.setattr(progress, "PATIENCE", math.inf)
    world(kd.Stepper).record(2, progress=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("patience", "part", "shown"),
    [(0.0, math.inf, (1, 3, 7, 15, 20)), (0.0, 0.0, range(1, 21)), (math.inf, math.inf, ())],
)
def test_a_long_step_shows_progress_and_has_equal_results(
    Stepper, ODEStepper, capsys, monkeypatch, patience, part, shown
):
    """A run with progress is split into parts, whose length grows until each takes long enough."""
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(progress, "PART", part)
    for make in (partial(world, Stepper), partial(lorenz, ODEStepper)):
        seen, other = make(), make()
        seen.step(20, progress=True)
        other.step(20)
        assert seen.tick == 20
        assert seen.checksum() == other.checksum()
        lines = capsys.readouterr().err.splitlines()
        assert [line.partition(",")[0] for line in lines] == [f"step: {done} of 20 steps" for done in shown]
        seen.step(progress=False)
        other.step(0, progress=True)
        assert (seen.tick, other.tick, capsys.readouterr().err) == (21, 20, "")
        for bad in ({"n": -1}, {"n": 1.5}, {"progress": 1}):
            with pytest.raises((TypeError, ValueError), match=f"^{next(iter(bad))}: expected"):
                seen.step(**{"n": 2, "progress": True, **bad})
        assert seen.tick == 21


def test_a_long_step_of_many_worlds_shows_progress(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PART", math.inf)
    seen, other = (kd.Worlds(world(kd.Stepper), 3) for _ in range(2))
    seen.step(5, np.array([True, False, True]), progress=True)
    other.step(5, np.array([True, False, True]))
    assert seen.tick.tolist() == [5, 0, 5]
    assert seen.checksum().tolist() == other.checksum().tolist()
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_long_step_ends_at_an_error(Stepper, monkeypatch):
    """The error is at the same tick as without progress, and the next call continues there."""
    runaway = Stepper([[1.0]], dt=1.0, forces=[kd.AnchorSpring(1e5)])
    with pytest.raises(kd.NonFiniteError) as caught:
        runaway.step(10**6, progress=True)
    single = Stepper([[1.0]], dt=1.0, forces=[kd.AnchorSpring(1e5)])
    with pytest.raises(kd.NonFiniteError) as alone:
        single.step(10**6)
    assert str(caught.value) == str(alone.value)
    assert runaway.tick == single.tick


def test_progress_in_a_frame_loop_keeps_interpolation(Stepper):
    seen, other = (world(Stepper) for _ in range(2))
    for stepper, shown in ((seen, True), (other, False)):
        for _ in stepper.clock.steps(2.5 * stepper.dt):
            stepper.step(progress=shown)
    assert seen.interpolate().tolist() == other.interpolate().tolist()


# Files of trajectories.


def test_save_and_load(Stepper, ODEStepper, tmp_path):
    for number, (run, cls) in enumerate(
        [
            (world(Stepper, np.float32).record(5, energy=True), kd.Trajectory),
            (world(Stepper).record(5, out={}), kd.Trajectory),
            (Stepper([[0.0, 0.0]], angular_velocity=[1.0], inertia=1.0).record(5), kd.Trajectory),
            (lorenz(ODEStepper).record(5), kd.ODETrajectory),
        ]
    ):
        path = tmp_path / f"run{number}.any"
        run.save(path)
        loaded = cls.load(path)
        assert type(loaded) is cls
        same(loaded, run)
        assert repr(loaded) == repr(run)
    with pytest.raises(ValueError, match=r"^path: expected a file of Trajectory.save, got one with time"):
        kd.Trajectory.load(path)


def test_what_is_no_trajectory_is_refused(tmp_path):
    class Harmful:
        def __reduce__(self):
            raise AssertionError

    files = {"text": b"x", "empty": b"", "zip": b"PK\3\4" + bytes(40)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "lengths.npz", time=np.zeros(3), position=np.zeros((2, 1, 1)))
    np.savez(tmp_path / "single.npz", time=np.float64(3))
    np.savez(tmp_path / "objects.npz", time=np.array([{}], object))
    for path in tmp_path.iterdir():
        with pytest.raises(ValueError, match=r"^path: expected a file of Trajectory\.save"):
            kd.Trajectory.load(path)
    with pytest.raises(FileNotFoundError):
        kd.Trajectory.load(tmp_path / "none.npz")


def test_a_damaged_file_is_refused_whatever_zipfile_and_numpy_raise(tmp_path):
    path = tmp_path / "run.npz"
    world(kd.Stepper).record(1).save(path)
    whole, refused = path.read_bytes(), 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            kd.Trajectory.load(path)  # some bytes have no meaning, such as dates
        except ValueError as error:
            refused += str(error).startswith("path: expected a file of Trajectory.save, got")
    assert refused > len(whole) / 2


def test_reprs_are_short():
    run = world(kd.Stepper, np.float32, n=1000).record(1000, every=10)
    assert repr(run) == "<kickdrift.Trajectory: 101 samples of position 1000x2, float32, 0 to 15.625 s>"
    assert repr(world(kd.Stepper).record(0, out={})) == "<kickdrift.Trajectory: 1 samples, 0 to 0 s>"
