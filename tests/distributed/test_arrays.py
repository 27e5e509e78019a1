"""Bodies in Dask arrays: bitwise equal to one stepper for any chunks; interactions are refused."""

import functools
import pickle

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import dask  # noqa: E402

import kickdrift as kd  # noqa: E402
from kickdrift import distributed  # noqa: E402
from kickdrift.distributed import workers  # noqa: E402

N = 1000


def numbers(dtype=np.float64, dim=3, n=N):
    rng = np.random.default_rng(1)
    return {
        "x": rng.normal(size=(n, dim)).astype(dtype),
        "v": rng.normal(size=(n, dim)).astype(dtype),
        "mass": rng.uniform(1, 2, n),
        "c": rng.uniform(0.1, 1, n),
        "wind": rng.normal(size=(n, dim)),
    }


def forces(c, wind):
    gravity = kd.Gravity([0.0] * (wind.shape[1] - 1) + [-9.81])
    return [
        gravity,
        kd.LinearDrag(c, wind=wind),
        kd.PointGravity(2.0, softening=0.1),
        kd.AnchorSpring(c),
        kd.Damping(c),
    ]


def bits(*arrays):
    return [array.tobytes() for array in arrays]


def same(integrator="velocity_verlet", dtype=np.float64, dim=3, n=N, rows=171):
    given = numbers(dtype, dim, n)
    box = {"constraints": [kd.Box(-3, 3, radius=given["c"] / 10)], "integrator": integrator, "dt": 0.01}
    one = kd.Stepper(
        given["x"].copy(), given["v"].copy(), given["mass"], forces=forces(given["c"], given["wind"]), **box
    )
    one.step(20)
    position, velocity = distributed.step(
        da.from_array(given["x"], chunks=(rows, 2)),
        da.from_array(given["v"], chunks=(300, dim)),
        20,
        mass=da.from_array(given["mass"], chunks=77),
        forces=forces(da.from_array(given["c"], chunks=99), given["wind"]),
        **box,
    )
    assert position.dtype == velocity.dtype == dtype
    assert position.shape == (n, dim)
    assert bits(*dask.compute(position, velocity)) == bits(one.position, one.velocity)


@pytest.mark.parametrize("integrator", [name for name in kd.INTEGRATORS if name not in ("exact", "energy_euler")])
def test_chunks_equal_one_stepper(integrator):
    same(integrator)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 50])
def test_small_arrays(dim, n):
    same(dim=dim, n=n, rows=1)


def test_float32_chunks_equal_one_stepper():
    same(dtype=np.float32, dim=2)


def test_filters_of_each_body_in_chunks_equal_one_stepper():
    given = numbers()
    n = len(given["x"])
    box = kd.Box(-1.0, 1.0, category=np.arange(n) % 3 + 1, mask=2, sensor=np.arange(n) % 5 == 0)
    plane = kd.Plane((0, 0, 1), -0.5, category=np.arange(n) % 3 + 1, mask=np.arange(n) % 2 + 1)
    one = kd.Stepper(given["x"].copy(), given["v"].copy(), dt=0.1, constraints=[box, plane])
    one.step(30)
    state = [da.from_array(given[name], chunks=(171, 3)) for name in ("x", "v")]
    assert bits(*dask.compute(*distributed.step(*state, 30, dt=0.1, constraints=[box, plane]))) == bits(
        one.position, one.velocity
    )


def test_callbacks_in_chunks_equal_one_stepper():
    given = numbers()

    def pull(t, position, velocity, out):
        out[:] = -position * np.sqrt(1 + t)

    one = kd.Stepper(given["x"].copy(), dt=0.01, forces=[kd.Force(pull)])
    one.step(30)
    position, _ = distributed.step(
        da.from_array(given["x"], chunks=(171, 3)), None, 30, dt=0.01, forces=[kd.Force(pull)]
    )
    assert bits(position.compute()) == bits(one.position)


def butterfly(t, y, out):
    out[:, 0] = 10 * (y[:, 1] - y[:, 0])
    out[:, 1] = y[:, 0] * (28 - y[:, 2]) - y[:, 1]
    out[:, 2] = y[:, 0] * y[:, 1] - 8 / 3 * y[:, 2]


@pytest.mark.parametrize("integrator", ["rk4", "implicit_euler"])
@pytest.mark.parametrize("rhs", [kd.flows.Lorenz(), butterfly], ids=["flow", "function"])
def test_flows_in_chunks_equal_one_stepper(rhs, integrator):
    y = numbers()["x"]
    one = kd.ODEStepper(y.copy(), rhs, dt=0.001, integrator=integrator)
    one.step(50)
    many = distributed.step_ode(da.from_array(y, chunks=(333, 1)), rhs, 50, dt=0.001, integrator=integrator)
    assert bits(many.compute()) == bits(one.y)


def test_evaluation_is_lazy():
    computed = []

    def part(block):
        computed.append(len(block))
        return block

    given = numbers()
    x = da.from_array(given["x"], chunks=(250, 3)).map_blocks(part, meta=np.empty((0, 0)), dtype=np.float64)
    c = da.from_array(given["c"], chunks=250).map_blocks(part, meta=np.empty(0), dtype=np.float64)
    position, velocity = distributed.step(x, da.zeros_like(x), 2, mass=c + 1, forces=[kd.LinearDrag(c)])
    later = distributed.step(position, velocity, 2)[0]
    assert computed == []
    later[:10].compute()
    assert sorted(computed) == [250, 250]  # only the requested chunk of each array


def test_input_arrays_are_not_changed():
    given = numbers()
    x = da.from_array(given["x"], chunks=(250, 3))
    before = given["x"].copy()
    distributed.step(x, x, 10)[0].compute()
    assert (given["x"] == before).all()
    assert (x.compute() == before).all()


def test_a_stepper_computes_dask_coefficients():
    c = da.full(5, 2.0, chunks=2)
    world = kd.Stepper(np.zeros((5, 1)), np.ones((5, 1)), forces=[kd.LinearDrag(c)])
    assert type(world.forces[0].coefficient) is np.ndarray
    with pytest.raises(ValueError, match="LinearDrag"):
        kd.Stepper(np.zeros((5, 1)), forces=[kd.LinearDrag(-c)])


X = da.zeros((10, 2), chunks=(3, 2))


def other(t, position, velocity, out):
    out[:] = -position


def crowd(t, position, velocity, out):
    out[:] = position.mean(axis=0) - position


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forces": [kd.NBody()]}, "forces: NBody couples bodies.*kd.Stepper.*sweep"),
        ({"forces": [kd.Springs([[0, 1]], 1.0)]}, "forces: Springs couples bodies.*kd.Stepper.*sweep"),
        ({"constraints": [kd.Distance([[0, 1]])]}, "constraints: Distance couples bodies.*kd.Stepper.*sweep"),
        ({"constraints": [kd.ElasticCollisions(0.1)]}, "constraints: ElasticCollisions couples.*kd.Stepper.*sweep"),
        ({"constraints": [kd.Pin([0])]}, "constraints: Pin .*refers to them by index"),
        ({"forces": [kd.Force(other)], "integrator": "implicit_euler"}, "implicit_euler couples bodies under Force"),
        ({"mass": np.ones(4)}, r"mass: expected one value for all bodies.* \(4,\)"),
        ({"forces": [kd.LinearDrag(np.ones(7))]}, r"LinearDrag\(coefficient\): .* 10 bodies, got shape \(7,\)"),
        ({"forces": [kd.Gravity((0, 0, 1))]}, r"Gravity\(acceleration\)"),
        ({"dt": 0}, "dt"),
        ({"integrator": "magic"}, "integrator: got 'magic'.* expected one of"),
    ],
)
def test_interactions_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        distributed.step(X, X, 1, **options)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros((10, 2)), X, 1), TypeError, "position: expected a dask array.*from_array"),
        ((X, X[:5], 1), ValueError, "velocity: expected the shape of position"),
        ((X, X.astype(np.float32), 1), TypeError, "velocity: expected the dtype of position"),
        ((da.zeros((10, 4)), None, 1), ValueError, "position: expected shape"),
        ((X[X[:, 0] > 0], None, 1), ValueError, "compute_chunk_sizes"),
        ((X, X, -1), ValueError, "steps"),
    ],
)
def test_invalid_arrays_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        distributed.step(*arguments)


def test_callbacks_that_couple_bodies_are_refused_when_they_run():
    x = da.from_array(numbers()["x"], chunks=(250, 3))
    position, _ = distributed.step(x, None, 3, forces=[kd.Force(crowd)])
    with pytest.raises(ValueError, match=r"Force\(function\).*couples them.*kd.Stepper"):
        position.compute()

    def rhs(t, y, out):
        out[:] = y.mean(axis=0) - y

    with pytest.raises(ValueError, match=r"rhs: .*couples them"):
        distributed.step_ode(x, rhs, 3, dt=0.1).compute()
    with pytest.raises(ValueError, match=r"rhs: .*couples them"):
        distributed.step_ode(x, functools.partial(rhs), 3, dt=0.1).compute()


def test_errors_give_the_global_index_of_a_body():
    x, v = np.zeros((100, 1)), np.zeros((100, 1))
    v[77] = 1e308
    position, _ = distributed.step(da.from_array(x, chunks=(30, 1)), da.from_array(v, chunks=(30, 1)), 5, dt=1000)
    with pytest.raises(kd.NonFiniteError, match="body 77") as raised:
        position.compute()
    assert raised.value.body == 77
    x[77] = np.nan
    with pytest.raises(ValueError, match="finite") as refused:
        distributed.step(da.from_array(x, chunks=(30, 1)), None, 5)[0].compute()
    assert "bodies 60 to 89" in refused.value.__notes__[0]


# Two processes on this machine.


@pytest.fixture(scope="module")
def client():
    dd = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.admin.tick.limit": "30s"}),
        dd.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        dd.Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_processes(client):
    same(rows=171)
    ran = {workers.identity()["digest"], *client.run(lambda: workers.identity()["digest"]).values()}
    assert len(ran) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(len(kd.build_info()["isas"]) == 1, reason="there is no other instruction set to force")
def test_workers_with_another_build_are_refused_by_name():
    dd = pytest.importorskip("distributed")
    other_isa = next(isa for isa in kd.build_info()["isas"] if isa != kd.build_info()["isa"])
    with (
        dd.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, env={"KICKDRIFT_ISA": other_isa}
        ) as cluster,
        dd.Client(cluster) as client,
    ):
        (address,) = client.scheduler_info()["workers"]
        with pytest.raises(distributed.WorkerError, match="forced isa") as raised:
            distributed.step(X, X, 1)[0].compute()
    assert address in raised.value.worker


def test_worker_errors_list_the_differences():
    expected = {**workers.identity(), "version": "9.9", "digest": "0x0"}
    with pytest.raises(distributed.WorkerError, match=r"version '9\.9' here, .* there; digest") as raised:
        workers.require(expected)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert str(copy) == str(raised.value)
    assert set(copy.differences) == {"version", "digest"}
    workers.require(workers.identity())
