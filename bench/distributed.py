"""Measure `kickdrift.distributed`: bodies on a cluster of two processes, a sweep on every executor, cost per chunk.

Prints Markdown; `python -m bench.distributed` needs the extra `distributed`, two cores, 4 GB and about two minutes,
with `--quick` a tenth of each. MPI's executor is measured if mpi4py is installed: with mpirun, `mpirun -n 3
--oversubscribe python -m mpi4py.futures -m bench.distributed --mpi`.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np

import kickdrift as kd
from kickdrift import distributed

FORCES = [kd.Gravity((0, -9.81)), kd.LinearDrag(0.1), kd.PointGravity(100.0, center=(50, 50), softening=1.0)]


def start(first, last):
    """Return positions and velocities of bodies by index, computed with + - * / only."""
    number = np.arange(first, last, dtype=np.float64)
    position = np.stack([number % 997 / 10, number % 1009 / 10], axis=1)
    return position, position[:, ::-1] / 100


def peak():
    """Return the peak memory of this process in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bodies(n, rows, steps):
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    position, velocity = start(0, n)
    world = kd.Stepper(position, velocity, dt=0.01, forces=FORCES)
    world.step(1)
    before, used = time.perf_counter(), time.process_time()
    world.step(steps - 1)
    alone, busy_alone = time.perf_counter() - before, time.process_time() - used
    chunks = [(first, min(first + rows, n)) for first in range(0, n, rows)]
    expected = [digest(array[first:last]) for array in (position, velocity) for first, last in chunks]
    del world, position, velocity

    def both(workers):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
            Client(cluster) as client,
        ):
            number = [dask.delayed(start)(first, last) for first, last in chunks]
            parts = [
                da.concatenate(
                    [
                        da.from_delayed(pair[part], (last - first, 2), np.float64)
                        for pair, (first, last) in zip(number, chunks, strict=True)
                    ]
                )
                for part in (0, 1)
            ]
            parts = dask.persist(*parts)
            wait(parts)
            base, used = client.run(peak), client.run(time.process_time)
            before = time.perf_counter()
            moved = dask.persist(*distributed.step(*parts, steps, dt=0.01, forces=FORCES))
            wait(moved)
            took = time.perf_counter() - before
            most, after = client.run(peak), client.run(time.process_time)
            busy = max(after[worker] - used[worker] for worker in used)
            digests = [block for array in moved for block in array.to_delayed().ravel()]
            digests = dask.compute(*[dask.delayed(digest)(block) for block in digests])
        return took, busy, list(digests), max(most.values()), max(base.values())

    print(f"{n:,} bodies, float64, two dimensions, {steps} steps, {len(chunks)} chunks of {rows:,} bodies\n")
    print(
        "| | seconds | times as fast | seconds of the busiest processor | same bits | most memory of a worker |"
        "\n|---|---|---|---|---|---|"
    )
    print(f"| one stepper, one thread | {alone:.2f} | 1 | {busy_alone:.2f} | | |")
    for workers in (1, 2):
        took, busy, digests, most, base = both(workers)
        print(
            f"| LocalCluster, {workers} process{'es' * (workers > 1)} | {took:.2f} | {alone / took:.2f} | {busy:.2f} "
            f"| {'yes' if digests == expected else 'NO'} | {most / 1e6:.0f} MB, {base / 1e6:.0f} before |"
        )


def digest(block):
    import hashlib

    return hashlib.blake2b(np.ascontiguousarray(block).tobytes(), digest_size=16).hexdigest()


def prey(alpha, beta):
    def rhs(t, y, out):
        out[:, 0] = y[:, 0] * (alpha - beta * y[:, 1])
        out[:, 1] = y[:, 1] * (beta * y[:, 0] - 1.0)

    return kd.ODEStepper([[1.0, 1.0], [2.0, 1.0]], rhs, dt=0.01)


def state(world):
    return world.y


def worlds(count):
    return [{"alpha": 0.5 + number / count, "beta": 0.3 + number % 7 / 10} for number in range(count)]


def run(count, steps, **options):
    before = time.perf_counter()
    results = [result.tobytes() for result in distributed.sweep(prey, worlds(count), steps, state, **options)]
    return time.perf_counter() - before, results


def loop(count, steps):
    """Compute the cases in a loop in this process."""
    results = []
    for case in worlds(count):
        world = prey(**case)
        world.step(steps)
        results.append(world.y.tobytes())
    return results


def row(name, took, results, right, count):
    verdict = "yes" if results == right else "NO"
    print(f"| {name} | {took:.2f} | {1000 * took / count:.2f} ms | {verdict} |", flush=True)


def cases(count, steps):
    from distributed import Client, LocalCluster

    before = time.perf_counter()
    right = loop(count, steps)
    alone = time.perf_counter() - before
    print(f"\n{count:,} worlds of Lotka and Volterra, {steps:,} steps of rk4 each, right-hand side in Python\n")
    print("| | seconds | per case | same bits |\n|---|---|---|---|")
    row("a loop", alone, right, right, count)
    for workers in (1, 2):
        with ThreadPoolExecutor(workers) as pool:
            row(f"threads, {workers}", *run(count, steps, executor=pool), right, count)
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            row(f"processes, {workers}, and their start", *run(count, steps, executor=pool), right, count)
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            row(f"Dask, {workers}", *run(count, steps, executor=client.get_executor()), right, count)
    row("no executor, and the start of its processes", *run(count, steps), right, count)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        victim = min(client.run(os.getpid).values())
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        took, results = run(count, steps, executor=client.get_executor())
        row(f"Dask, 2, process {victim} killed after half a second", took, results, right, count)
    with tempfile.TemporaryDirectory() as folder:
        before = time.perf_counter()
        some = distributed.sweep(prey, worlds(count), steps, state, store=folder)
        part = [next(some).tobytes() for _ in range(count // 3)]
        some.close()
        print(f"| stopped after {len(part)} results | {time.perf_counter() - before:.2f} | | |")
        row("resumed", *run(count, steps, store=folder), right, count)


def chunk_costs(repeats):
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    def empty(chunks, client=None):
        """Return wall time and total CPU time per chunk, in seconds."""

        def used():
            return time.process_time() + (sum(client.run(time.process_time).values()) if client else 0)

        x = da.zeros((chunks, 2), chunks=(1, 2))
        moved = distributed.step(x, x, 1)
        before, busy = time.perf_counter(), used()
        dask.compute(moved)
        took = time.perf_counter() - before
        return f"{1e3 * took / chunks:.2f} ms | {1e3 * (used() - busy) / chunks:.2f} ms"

    print("\nWhat a chunk costs beside its steps, with one body and one step in each\n")
    print("| | per chunk | of processors |\n|---|---|---|")
    for scheduler in ("threads", "synchronous"):
        with dask.config.set(scheduler=scheduler):
            print(f"| Dask's {scheduler} | {empty(repeats)} |")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        print(f"| LocalCluster, 2 processes | {empty(repeats, client)} |")


def mpi(count, steps):
    from mpi4py.futures import MPIPoolExecutor

    right = loop(count, steps)
    with MPIPoolExecutor() as pool:
        row(f"MPI, {pool.num_workers}", *run(count, steps, executor=pool), right, count)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--mpi", action="store_true")
    options = parser.parse_args()
    share = 10 if options.quick else 1
    if options.mpi:
        mpi(1000 // share, 200)
        return
    bodies(20_000_000 // share, 1_300_001 // share, 100)
    cases(1000 // share, 200)
    chunk_costs(1000 // share)


if __name__ == "__main__":
    sys.exit(main())
