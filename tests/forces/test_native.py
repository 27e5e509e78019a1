"""Forces as native callbacks (ctypes, Cython, cffi, Numba): bitwise equal to terms, with safe error handling."""

import copy
import ctypes
import gc
import importlib.util
import pickle
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, assert_same_bits, assert_same_state, compare_with_reference, scene

import kickdrift as kd

HERE = Path(__file__).parents[1]
TAKES = [i for i in INTEGRATORS if not isinstance(i, (kd.Exact, kd.EnergyEuler, kd.ImplicitEuler))]
DTYPES = ("float32", "float64")
SHORT = {"float32": "f32", "float64": "f64"}


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Compile native.c and load it."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None or sys.platform == "win32":
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("native") / "native.so"
    flags = ["-O2", "-shared", "-fPIC", "-ffp-contract=off", "-Wall", "-Werror", "-I", kd.get_include()]
    subprocess.run([compiler, *flags, str(HERE / "native.c"), "-o", str(path), "-lm"], check=True)
    return ctypes.CDLL(str(path))


def native(library, name, dtype, *numbers, data_type=None, **options):
    """Create a force from a function of native.c with numbers as its user data."""
    function = kd.NativeForce.prototype(dtype)((f"{name}_{SHORT[dtype]}", library))
    return kd.NativeForce(function, np.array(numbers, data_type or dtype), **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("integrator", TAKES, ids=repr)
def test_native_callbacks_equal_the_terms_they_imitate(Stepper, library, integrator, dtype):
    g, p = (0.5, -9.8125), (0.25, 1.0)
    pairs = [
        (kd.Gravity(g), native(library, "gravity", dtype, *g, velocity_dependent=False, divided_by_mass=False)),
        (kd.LinearDrag(0.5), native(library, "drag", dtype, 0.5)),
        (kd.AnchorSpring(3.0, anchor=p), native(library, "spring", dtype, 3, *p, velocity_dependent=False)),
        (kd.PointGravity(2.0), native(library, "well", dtype, 2, velocity_dependent=False, divided_by_mass=False)),
    ]
    n = 5 if Stepper is kd.reference.Stepper else 500
    for term, function in pairs:
        states = []
        for force in (term, function):
            rng = np.random.default_rng(2)
            position, velocity = (rng.normal(size=(n, 2)).astype(dtype) for _ in range(2))
            stepper = Stepper(position, velocity, dt=0.03, integrator=integrator, forces=[force])
            stepper.step(3)
            stepper.step(9)
            states.append(stepper)
        assert_same_state(states[1], states[0])
        assert states[0].force_evaluations == states[1].force_evaluations


@pytest.mark.parametrize("number", range(0, 60, 12))
def test_kernels_equal_the_reference(monkeypatch, library, number):
    def make(seed, rng):
        drawn = scene(rng, TAKES[seed % len(TAKES)])
        dtype = str(drawn.position.dtype)
        numbers = rng.normal(size=4)
        forces = [native(library, "drag", dtype, 0.5), native(library, "which", dtype)]
        forces.append(native(library, "spring", dtype, *numbers, velocity_dependent=False))
        if seed % 3 == 0:  # all bodies form one tile beside a Python function
            forces.append(kd.Force(lambda t, x, v, out: None))
        drawn.arguments["forces"] += forces
        return drawn

    compare_with_reference(monkeypatch, make, range(number, number + 12))


@pytest.mark.parametrize("threadsafe", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_threads_and_tiles_do_not_change_results(isa, library, layout, threadsafe):
    drawn = scene(np.random.default_rng(8), kd.RK4(), n=70_000, dtype=np.float64)
    forces = [native(library, "which", "float64", threadsafe=threadsafe), kd.LinearDrag(0.5)]
    one, many = drawn.make(kd.Stepper, "row", forces=forces), drawn.make(kd.Stepper, layout, forces=forces, threads=4)
    for n in (3, 2):
        one.step(n)
        many.step(n)
    assert_same_state(many, one)


@pytest.mark.parametrize("body", [0, 3, 191, 192, 700])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "groot_warren", "verlet", "rk4", "yoshida4"])
def test_a_failure_stops_all_bodies_at_the_last_completed_tick(isa, library, integrator, body):
    def make(*forces):
        rng = np.random.default_rng(3)
        return kd.Stepper(*(rng.normal(size=(701, 3)) for _ in range(2)), dt=0.25, integrator=integrator, forces=forces)

    fails = native(library, "fail", "float64", 2.0, body, 7, velocity_dependent=False)
    stepper, sound = (
        make(kd.Gravity((0, 0, -1)), fails),
        make(kd.Gravity((0, 0, -1)), native(library, "drag", "float64", 0)),
    )
    with pytest.raises(kd.CallbackError, match="returned 7; the stepper is at") as caught:
        stepper.step(50)
    assert 6 <= stepper.tick <= 8
    assert caught.value.code == 7
    assert caught.value.function.startswith("NativeForce")
    sound.step(stepper.tick)
    assert_same_state(stepper, sound)
    with pytest.raises(kd.CallbackError):
        stepper.step()
    assert_same_bits(stepper.position, sound.position)
    fails.user_data[0] = 1e9  # lets the callback succeed
    stepper.step(3)
    sound.step(3)
    assert_same_bits(stepper.position, sound.position)


@pytest.mark.parametrize("integrator", ["velocity_verlet", "implicit_euler", "rk4"])
@pytest.mark.parametrize("code", [-1_000_001, -1_000_002, -1_000_003, -1_000_004, -(2**31), 2**31 - 1])
def test_a_callback_may_return_any_code(library, code, integrator):
    """Regression: a callback returned the code of a constraint without a kernel, and the engine crashed."""
    fails = native(library, "fail", "float64", 1.0, 1, code)
    stepper = kd.Stepper(np.ones((3, 2)), dt=0.25, integrator=integrator, forces=[fails], constraints=[kd.Pin(0)])
    with pytest.raises(kd.CallbackError, match=f"returned {code}; the stepper is at") as caught:
        stepper.step(50)
    assert caught.value.code == code


@pytest.mark.parametrize("body", [0, 199_999])
def test_a_failure_in_another_thread_is_reported(library, body):
    sound = native(library, "drag", "float64", 0, threadsafe=True)
    fails = native(library, "fail", "float64", 1.0, body, 7, velocity_dependent=False, threadsafe=True)
    stepper = kd.Stepper(np.zeros((200_000, 1)), dt=0.25, forces=[sound, fails], threads=2)
    with pytest.raises(kd.CallbackError, match="returned 7; the stepper is at") as caught:
        stepper.step(50)
    assert caught.value.code == 7
    assert stepper.tick == 3


def test_a_failure_is_reported_in_the_reference(Stepper, library):
    stepper = Stepper([[0.0], [1.0]], dt=0.25, forces=[native(library, "fail", "float64", 1.0, 1, 3)])
    with pytest.raises(kd.CallbackError, match="returned 3; the stepper is at"):
        stepper.step(50)
    assert stepper.tick == 3


def test_nan_is_reported(Stepper, library):
    stepper = Stepper([[0.0]] * 5, dt=0.25, forces=[native(library, "fail", "float64", 1.0, 3, 0)])
    with pytest.raises(kd.NonFiniteError) as caught:
        stepper.step(20)
    assert caught.value.body == 3


def test_a_cython_extension_built_against_the_installed_package(library, tmp_path):
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    shutil.copy(HERE / "native_user.pyx", tmp_path)
    build = (
        "import kickdrift\n"
        "from Cython.Build import cythonize\n"
        "from setuptools import Extension, setup\n"
        "setup(script_args=['-q', 'build_ext', '--inplace'], ext_modules=cythonize([Extension('native_user', "
        "['native_user.pyx'], include_dirs=[kickdrift.get_include()], "
        "extra_compile_args=['-ffp-contract=off'])], language_level='3', quiet=True))\n"
    )
    done = subprocess.run([sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    path = tmp_path / f"native_user{sysconfig.get_config_var('EXT_SUFFIX')}"
    spec = importlib.util.spec_from_file_location("native_user", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for dtype, capsule in module.FORCES.items():
        states = []
        for force in (kd.NativeForce(capsule, velocity_dependent=False), kd.AnchorSpring(3.0, anchor=(0.5, 0.5))):
            position = np.linspace(0, 1, 1000, dtype=dtype).reshape(500, 2)
            stepper = kd.Stepper(position, dt=0.01, forces=[force])
            stepper.step(20)
            states.append(position)
        assert_same_bits(*states)


def test_cffi(library):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    arguments = "double, int64_t, int64_t, int64_t, int64_t, const float *, const float *, float *, void *"
    address = ctypes.cast(library.drag_f32, ctypes.c_void_p).value
    function = ffi.cast(f"int (*)({arguments})", address)
    coefficient = ffi.new("float *", 0.5)
    ours = kd.Stepper(
        np.ones((3, 2), np.float32), np.ones((3, 2), np.float32), forces=[kd.NativeForce(function, coefficient)]
    )
    term = kd.Stepper(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32), forces=[kd.LinearDrag(0.5)])
    for stepper in (ours, term):
        stepper.step(9)
    assert_same_bits(ours.velocity, term.velocity)
    with pytest.raises(TypeError, match=r"expected a function of type int \(double"):
        kd.NativeForce(ffi.cast("int (*)(double)", address))
    with pytest.raises(ValueError, match="null pointer"):
        kd.NativeForce(ffi.cast(f"int (*)({arguments})", 0))


def test_numba_and_scipy(library):
    numba = pytest.importorskip("numba")
    number, index = numba.types.float64, numba.types.int64
    pointer = numba.types.CPointer(number)
    signature = numba.types.int32(number, index, index, index, index, pointer, pointer, pointer, numba.types.voidptr)

    @numba.cfunc(signature)
    def drag(t, first, count, dim, stride, position, velocity, out, data):
        for j in range(dim):
            for i in range(count):
                out[j * stride + i] = -(0.5 * velocity[j * stride + i])
        return 0

    forces = [kd.LinearDrag(0.5), kd.NativeForce(drag)]
    scipy = pytest.importorskip("scipy")
    plain = kd.NativeForce.prototype("float64")(("drag_f64", library))
    coefficient = np.array([0.5])
    forces.append(kd.NativeForce(scipy.LowLevelCallable(plain, coefficient.ctypes.data_as(ctypes.c_void_p))))
    states = []
    for force in forces:
        stepper = kd.Stepper(np.ones((3, 2)), np.ones((3, 2)), forces=[force])
        stepper.step(9)
        states.append(stepper.velocity)
    assert_same_bits(states[1], states[0])
    assert_same_bits(states[2], states[0])


def test_invalid_functions_are_refused(library):
    def refused(error, match, *arguments, **options):
        with pytest.raises(error, match=match):
            kd.NativeForce(*arguments, **options)

    good = kd.NativeForce.prototype("float64")(("drag_f64", library))
    for bad in (None, 5, print, "drag", library):
        refused(TypeError, r"^NativeForce\(function\): expected a numba cfunc, a function pointer", bad)
    refused(ValueError, "null pointer", kd.NativeForce.prototype("float64")())
    refused(TypeError, r"expected a function of type int \(double, .*got c_long \(c_double\)",
            ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_double)(0x1000))  # fmt: skip
    refused(TypeError, r"^NativeForce\(dtype\): expected float32 or float64, because", library.drag_f64)
    refused(TypeError, r"^NativeForce\(dtype\): expected float64, which the function is for", good, dtype="float32")
    refused(TypeError, r"^NativeForce\(dtype\): expected float32 or float64, got 'int8'", good, dtype="int8")
    refused(TypeError, r"^NativeForce\(dtype\): expected float32 or float64, got 'what'", good, dtype="what")
    refused(TypeError, r"^NativeForce\(user_data\): expected an array", good, "text")
    refused(ValueError, r"^NativeForce\(user_data\): expected a contiguous array", good, np.zeros(9)[::2])
    for flag in ("threadsafe", "velocity_dependent", "divided_by_mass"):
        refused(TypeError, rf"^NativeForce\({flag}\): expected True or False, got 1", good, **{flag: 1})
    refused(TypeError, r"^NativeForce\(potential\): expected a function", good, potential=1)
    get = ctypes.pythonapi.PyCapsule_New
    get.restype, get.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    refused(
        TypeError, "expected a PyCapsule named kickdrift_force_f32 or .*, got b'other'", get(0x1000, b"other", None)
    )
    with pytest.raises(TypeError, match=r"^NativeForce\(dtype\): expected float32, as the state is, got float64"):
        kd.Stepper(np.zeros((1, 1), np.float32), forces=[kd.NativeForce(good, np.zeros(1))])
    with pytest.raises(ValueError, match=r"^NativeForce\(velocity_dependent\): expected True"):
        kd.Stepper(np.zeros((2, 1)), forces=[kd.NativeForce(good, np.ones(1), velocity_dependent=False)])


def test_function_and_data_are_kept_alive(library):
    stepper = kd.Stepper(np.ones((3, 2)), np.ones((3, 2)), forces=[native(library, "drag", "float64", 0.5)])
    sound = kd.Stepper(np.ones((3, 2)), np.ones((3, 2)), forces=[kd.LinearDrag(0.5)])
    gc.collect()
    [np.random.default_rng(1).normal(size=1) for _ in range(1000)]
    for one in (stepper, sound):
        one.step(100)
    assert_same_bits(stepper.velocity, sound.velocity)


def test_functions_that_need_the_gil_can_be_called_from_many_threads():
    calls = []

    @kd.NativeForce.prototype("float64")
    def push(t, first, count, dim, stride, position, velocity, out, user_data):
        calls.append(threading.get_ident())
        return 0

    force = kd.NativeForce(push, threadsafe=True)
    stepper = kd.Stepper(np.zeros((400_000, 1)), forces=[force], threads=2)
    stepper.step(2)
    assert len(calls) >= 2 * 400_000 // 192
    assert stepper.tick == 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("integrator", ["explicit_euler", "implicit_euler", "midpoint", "heun", "rk4"])
def test_native_flows(ODEStepper, library, integrator, dtype):
    lorenz = kd.flows.Native(kd.flows.Native.prototype(dtype)((f"lorenz_{SHORT[dtype]}", library)))
    y = np.random.default_rng(1).normal(size=(7, 3)).astype(dtype)
    ours, built_in = (ODEStepper(y.copy(), rhs, dt=0.01, integrator=integrator) for rhs in (lorenz, kd.flows.Lorenz()))
    for stepper in (ours, built_in):
        stepper.step(5)
    if integrator == "implicit_euler":  # uses difference quotients
        np.testing.assert_allclose(ours.y, built_in.y, rtol=1e-3 if dtype == "float32" else 1e-9)
    else:
        assert_same_bits(ours.y, built_in.y)


def test_a_native_flow_that_fails(ODEStepper, library):
    until = np.array([1.0])
    stop = kd.flows.Native(kd.flows.Native.prototype("float64")(("stop_f64", library)), until)
    stepper = ODEStepper([[0.0], [1.0]], stop, dt=0.25, integrator="explicit_euler")
    with pytest.raises(kd.CallbackError, match="returned 9; the stepper is at"):
        stepper.step(50)
    assert (stepper.tick, stepper.y[0, 0]) == (4, 0.375)
    until[0] = 9
    stepper.step(2)
    assert (stepper.tick, stepper.y[0, 0]) == (6, 0.9375)


@pytest.mark.parametrize("constraints", [[], [kd.Box(-1, 1)]], ids=["alone", "held"])
def test_other_threads_run_during_slow_native_functions(library, constraints):
    force = native(library, "slow", "float64", velocity_dependent=False)
    stepper = kd.Stepper(np.zeros((5, 1)), dt=0.1, forces=[force], constraints=constraints)
    seen, ended = [], threading.Event()

    def watch():
        while not ended.wait(0.01):
            seen.append(stepper.tick)

    watcher = threading.Thread(target=watch)
    watcher.start()
    stepper.step(40)
    ended.set()
    watcher.join()
    assert len(set(seen) - {0, 40}) > 3


@pytest.mark.signals
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_slow_native_flows_can_be_interrupted_within_a_tick(library):
    class Rang(Exception):  # noqa: N818  (a late KeyboardInterrupt would end all tests)
        pass

    def ring(*_):
        rung.append(time.process_time())
        raise Rang

    wait = kd.flows.Native(kd.flows.Native.prototype("float64")(("wait_f64", library)))
    stepper = kd.ODEStepper([[1.0]], wait, dt=0.1, integrator="explicit_euler")
    rung, timer = [], threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    handler = signal.signal(signal.SIGINT, ring)
    try:
        with pytest.raises(Rang):  # noqa: PT012  (it may ring before the step)
            timer.start()
            stepper.step(1000)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    assert time.process_time() - rung[0] < 0.2  # a tick takes 0.05 s of processor time
    assert 0 < stepper.tick <= 20
    assert stepper.evaluations == stepper.tick


def test_invalid_native_flows_are_refused(library):
    force = kd.NativeForce.prototype("float64")(("drag_f64", library))
    with pytest.raises(
        TypeError, match=r"^Native\(function\): expected a function of type int \(double, int64_t, int64_t, "
    ):
        kd.flows.Native(force)
    lorenz = kd.flows.Native(kd.flows.Native.prototype("float64")(("lorenz_f64", library)))
    with pytest.raises(TypeError, match=r"^rhs: expected a function for float32, as y is, got one for float64"):
        kd.ODEStepper(np.zeros((1, 3), np.float32), lorenz, dt=0.1)
    out = np.zeros((1, 3))
    lorenz(0.0, np.ones((1, 3)), out)
    assert out.tolist() == [[0.0, 26.0, 1 - 8 / 3]]


def test_potential_of_a_native_force(library):
    def potential(position):
        return 1.5 * ((position - 0.25) ** 2).sum(axis=1)

    force = native(library, "spring", "float64", 3, 0.25, 0.25, velocity_dependent=False, potential=potential)
    ours = kd.Stepper([[1.0, 2.0]], forces=[force])
    term = kd.Stepper([[1.0, 2.0]], forces=[kd.AnchorSpring(3.0, anchor=(0.25, 0.25))])
    assert ours.energy() == pytest.approx(term.energy(), rel=1e-15)


@pytest.mark.signals
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_slow_native_forces_can_be_interrupted(library):
    """The duration of native callbacks is unknown to the estimate of steps per signal check."""
    stepper = kd.Stepper(
        np.zeros((5, 1)), dt=0.1, forces=[native(library, "slow", "float64", velocity_dependent=False)]
    )
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = time.process_time()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  (it may ring before the step)
            timer.start()
            stepper.step(10_000)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert time.process_time() - started < 3
    assert 0 < stepper.tick < 1000
    assert stepper.force_evaluations == stepper.tick + 1


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_a_stepper_share_code_and_user_data(library, duplicate):
    """Regression: copying raised "cannot be pickled"."""
    drag = native(library, "drag", "float64", 0)
    stepper = kd.Stepper([[0.0, 0.0]], [[1.0, 2.0]], dt=0.1, forces=[drag])
    stepper.step(2)
    twin = duplicate(stepper)
    assert twin.forces[0] is not drag
    assert twin.forces[0].user_data is drag.user_data
    twin.step(3)
    stepper.step(3)
    assert_same_state(stepper, twin)


def test_copies_of_an_ode_stepper_share_code():
    swing = kd.ODEStepper([[1.0, 0.0]], native_flow(), dt=0.1)
    twin = copy.deepcopy(swing)
    swing.step(3)
    twin.step(3)
    assert_same_bits(swing.y, twin.y)


def native_flow():
    @kd.flows.Native.prototype("float64")
    def decay(t, first, count, dim, y, out, user_data):
        for i in range(count * dim):
            out[i] = -y[i]
        return 0

    return kd.flows.Native(decay)


def test_native_code_is_not_pickled(library):
    for stepper in (
        kd.Stepper([[0.0]], forces=[native(library, "drag", "float64", 0)]),
        kd.ODEStepper([[1.0]], native_flow(), dt=0.1),
    ):
        with pytest.raises(TypeError, match=r"(NativeForce|flows\.Native): expected to stay in this process"):
            pickle.dumps(stepper)


@pytest.mark.parametrize(
    ("y", "out", "error", "message"),
    [
        (np.ones((2, 2)), np.zeros((1, 2)), ValueError, "out: expected a writable array of the shape of y"),
        (np.ones((2, 2)), np.zeros((2, 2), np.float32), TypeError, "out: expected an array of float64"),
        (np.ones((2, 2), np.float32), np.zeros((2, 2)), TypeError, "y: expected an array of float64"),
        (np.ones((2, 4))[:, ::2], np.zeros((2, 2)), ValueError, "y: expected a contiguous"),
        (np.ones(2), np.zeros(2), ValueError, r"y: expected .* of shape \(n, dim\)"),
        ([[1.0]], np.zeros((1, 1)), TypeError, "y: expected an array of float64"),
        (np.ones((2, 2)), None, TypeError, "out: expected an array of float64"),
    ],
)
def test_a_native_flow_is_not_called_with_other_arrays(y, out, error, message):
    """Regression: the flow wrote beyond the end of an `out` that is too small."""
    with pytest.raises(error, match=message):
        native_flow()(0.0, y, out)


@pytest.mark.parametrize("dtype", [None, "float16", "int32", ">f8", "<f8x", 3])
def test_prototypes_of_other_dtypes_are_refused(dtype):
    for prototype in (kd.NativeForce.prototype, kd.flows.Native.prototype):
        with pytest.raises(TypeError, match=r"prototype\(dtype\): expected float32 or float64"):
            prototype(dtype)
