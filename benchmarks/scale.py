"""Tables in partitions: time, memory and objectives beside the same in memory.

    python benchmarks/scale.py --only dask --rows 2000000
    python benchmarks/scale.py --only parquet --rows 20000000
    python benchmarks/scale.py --only tan --rows 10000000
    python benchmarks/scale.py --only learning --rows 1000000
    python benchmarks/scale.py --only plan

Each part is a function of its own. Times are of the wall and of the processor, since machines are
shared; memory is the largest resident size, of this process or of the worker that had most.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PARTITION_ROWS = 200_000


def make_rows(n, d, seed):
    """Two overlapping clouds: about one row in six on the wrong side."""
    random = np.random.default_rng([7, seed])
    y = np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
    direction = np.random.default_rng(7).normal(size=d)
    X = random.standard_normal((n, d))
    X += np.outer(y, direction / np.linalg.norm(direction))
    return X, y


def clock(call):
    """What a call returns, and its seconds on the wall and of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class MemoryWatch:
    """The largest resident size of some processes while it is open."""

    def __init__(self, pids):
        import psutil

        self._processes = [psutil.Process(pid) for pid in pids]
        self._before = [process.memory_info().rss for process in self._processes]
        self._seconds = self._sum_seconds()
        self._most = list(self._before)
        self._done = threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()
        self.most = max(self._most) / 2**20
        self.seconds = self._sum_seconds() - self._seconds
        grown = zip(self._most, self._before, strict=True)
        self.grown = max(most - before for most, before in grown) / 2**20

    def _sum_seconds(self):
        """Seconds of the processor that all have had."""
        times = [process.cpu_times() for process in self._processes]
        return sum(time.user + time.system for time in times)

    def _watch(self):
        while not self._done.wait(0.02):
            for k, process in enumerate(self._processes):
                self._most[k] = max(self._most[k], process.memory_info().rss)


def measure_dask(rows):
    """Two local workers beside the same fit in memory."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from lindero.svm import SVC

    n, d = rows or 2_000_000, 50
    size = min(PARTITION_ROWS, -(-n // 8))
    blocks = [make_rows(size, d, 1 + number) for number in range(n // size)]
    X, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    n = len(X)
    SVC(kernel="linear").fit(X[:5000], y[:5000])
    whole, wall, cpu = clock(lambda: SVC(kernel="linear").fit(X, y))
    print(f"SVC(kernel='linear'), {n} rows × {d}, tol 1e-3")
    print(f"  in memory            {wall:7.2f} s wall {cpu:7.2f} s processor", flush=True)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        dX = da.map_blocks(
            _make_block, chunks=((size,) * (n // size), (d,)), dtype=float, d=d, size=size
        )
        dy = da.map_blocks(_make_labels, chunks=((size,) * (n // size),), dtype=np.int8,
                           d=d, size=size)  # fmt: skip
        dX, dy = client.persist([dX, dy])
        wait([dX, dy])
        SVC(kernel="linear").fit(dX[: 2 * size], dy[: 2 * size])  # loads and compiles
        pids = [worker.pid for worker in cluster.workers.values()]
        with MemoryWatch(pids) as watch:
            model, wall2, cpu2 = clock(lambda: SVC(kernel="linear").fit(dX, dy))
    print(f"  two workers          {wall2:7.2f} s wall {cpu2:7.2f} s processor of the client, "
          f"{watch.seconds:.2f} s of the workers")  # fmt: skip
    print(f"  ratio of wall times  {wall2 / wall:7.2f}   (wanted: at most 1.3); of processor times "
          f"{(cpu2 + watch.seconds) / cpu:.2f}")  # fmt: skip
    print(f"  passes {model.n_iter_[0]}; objectives {whole.certificate_.primal:.10g} and "
          f"{model.certificate_.primal:.10g}, gap {model.certificate_.kkt_gap:.2g}")  # fmt: skip
    partition = size * d * 8 / 2**20
    print(f"  worker memory {watch.most:.0f} MB, {watch.grown:.0f} MB more than before the fit; a "
          f"partition has {partition:.0f} MB")  # fmt: skip


def _make_block(block_info=None, d=50, size=1):
    return make_rows(size, d, 1 + block_info[None]["chunk-location"][0])[0]


def _make_labels(block_info=None, d=50, size=1):
    return make_rows(size, d, 1 + block_info[None]["chunk-location"][0])[1]


def write_parquet(folder, n, d):
    """Files of row groups of PARTITION_ROWS rows."""
    names = [f"x{k}" for k in range(d)]
    for start in range(0, n, PARTITION_ROWS):
        size = min(PARTITION_ROWS, n - start)
        X, y = make_rows(size, d, 1 + start)
        columns = [*(pa.array(X[:, k]) for k in range(d)), pa.array(y)]
        table = pa.Table.from_arrays(columns, names=[*names, "y"])
        path = Path(folder) / f"part-{start:010d}.parquet"
        pq.write_table(table, path, compression="none", use_dictionary=False)


def measure_parquet(rows):
    """Row groups of Parquet in threads, one for each thread in memory at a time."""
    from lindero import scale
    from lindero.svm import SVC

    n, d = rows or 20_000_000, 50
    folder = tempfile.mkdtemp(prefix="lindero-scale-")
    try:
        write_parquet(folder, n, d)
        before = peak_megabytes()
        model, wall, cpu = clock(lambda: scale.fit(SVC(kernel="linear"), folder, "y"))
        print(f"SVC(kernel='linear') over Parquet, {n} rows × {d} ({n * d * 8 / 2**30:.2f} GiB)")
        print(f"  {wall:.1f} s wall, {cpu:.1f} s processor, {model.n_iter_[0]} passes and 2 before")
        print(f"  peak {peak_megabytes():.0f} MB, {before:.0f} MB before the fit; a row group has "
              f"{PARTITION_ROWS * d * 8 / 2**20:.0f} MB")  # fmt: skip
        print(f"  {model.certificate_}".replace("\n", "\n  "))
    finally:
        shutil.rmtree(folder)


def write_words(folder, n, d):
    """Files of columns of text, of eight values each, and of numbers, by their names `d`."""
    random = np.random.default_rng(0)
    words = pa.array([f"value {letter}" for letter in "abcdefgh"])
    for start in range(0, n, PARTITION_ROWS):
        size = min(PARTITION_ROWS, n - start)
        y = random.integers(0, 2, size)
        table = {}
        for name in d:
            if name.startswith("number"):
                table[name] = random.normal(size=size) + 0.3 * y
            else:
                codes = (random.random(size) * 6 + 2 * y * (random.random(size) < 0.6)).astype("i1")
                table[name] = pa.DictionaryArray.from_arrays(codes, words).cast(pa.string())
        table["y"] = y
        pq.write_table(pa.table(table), Path(folder) / f"part-{start:010d}.parquet")


def measure_tan(rows):
    """TAN over Parquet: one pass over columns of text; two if cuts of numbers are learned."""
    from lindero import scale
    from lindero.bayes import TAN
    from lindero.scale.runner import ThreadRunner

    n, d = rows or 10_000_000, 20
    tables = {
        "text": [f"word{k}" for k in range(d)],
        "half of them numbers": [f"{'number' if k % 2 else 'word'}{k}" for k in range(d)],
    }
    passes = []
    reduce = ThreadRunner.reduce
    ThreadRunner.reduce = lambda *given: (passes.append(1), reduce(*given))[1]
    for kind, columns in tables.items():
        folder = tempfile.mkdtemp(prefix="lindero-scale-")
        try:
            write_words(folder, n, columns)
            scale.fit(TAN(), str(Path(folder) / "part-0000000000.parquet"), "y")  # compiles
            before = peak_megabytes()
            passes.clear()
            model, wall, cpu = clock(lambda: scale.fit(TAN(), folder, "y"))  # noqa: B023
            print(f"TAN over Parquet, {n} rows × {d}, {kind}: {wall:.1f} s wall, {cpu:.1f} s "
                  f"processor, {len(passes)} passes")  # fmt: skip
            print(f"  peak {peak_megabytes():.0f} MB, {before:.0f} MB before (wanted: under 2000); "
                  f"{model.class_count_.sum():.0f} rows counted", flush=True)  # fmt: skip
        finally:
            shutil.rmtree(folder)


def measure_learning(rows):
    """Discriminative learning over Parquet beside the same in memory."""
    from lindero import scale
    from lindero.bayes import TAN, NaiveBayes

    n, d = rows or 1_000_000, 20
    folder = tempfile.mkdtemp(prefix="lindero-scale-")
    try:
        write_words(folder, n, [f"word{k}" for k in range(d)])
        first = pq.read_table(Path(folder) / "part-0000000000.parquet").slice(0, 5000)
        for kind in (NaiveBayes, TAN):
            machine = {"learning": "discriminative", "penalty": 1.0, "tol": 1e-12}
            kind(**machine).fit(first.drop(["y"]), first["y"].to_numpy())  # compiles
            passes = set()
            alone, apart = kind(**machine), partial(scale.fit, kind(**machine))
            note = partial(_note_pass, passes)
            model, wall, cpu = clock(partial(apart, folder, "y", callback=note))
            peak = peak_megabytes()
            table = pq.read_table(folder)
            rows_and_classes = table.drop(["y"]), table["y"].to_numpy()
            whole, wall2, cpu2 = clock(partial(alone.fit, *rows_and_classes))
            del table, rows_and_classes
            print(f"{kind.__name__}, discriminative, {n} rows × {d}, text")
            print(f"  Parquet    {wall:7.1f} s wall {cpu:7.1f} s processor, {len(passes)} passes, "
                  f"peak {peak:.0f} MB")  # fmt: skip
            print(f"  in memory  {wall2:7.1f} s wall {cpu2:7.1f} s processor, "
                  f"{whole.n_iter_} iterations, peak {peak_megabytes():.0f} MB")  # fmt: skip
            one, two = model.convergence_.objective[-1], whole.convergence_.objective[-1]
            print(f"  objectives {one:.10g} and {two:.10g}: {abs(one - two) / abs(two):.1e} apart",
                  flush=True)  # fmt: skip
    finally:
        shutil.rmtree(folder)


def _note_pass(passes, report):
    passes.add(report.n_pass)


def measure_plan(rows):
    """The plan for 10⁹ × 100 rows on 100 nodes at 1/1000: passes and bytes are counted, and the
    time of one partition's sums is measured."""
    import pickle
    from dataclasses import replace

    from lindero.scale import linear
    from lindero.scale.numbers import Reader
    from lindero.scale.partitions import Rows, Source
    from lindero.scale.runner import ThreadRunner
    from lindero.svm import SVC

    n, d, n_parts = rows or 1_000_000, 100, 100
    size = n // n_parts
    sent = []

    class Made:
        def __init__(self, number):
            self.label, self.number = f"Partition {number}", number

        def load(self):
            X, y = make_rows(size, d, 1 + self.number)
            return Rows(X.astype(np.float32), y, None)

    class CountingRunner(ThreadRunner):
        def reduce(self, prepare, work, merge):
            answers = []

            def count(prepared):
                begun = time.process_time()
                answer = work(prepared)
                answers.append((len(pickle.dumps(answer)), time.process_time() - begun))
                return answer

            result = super().reduce(prepare, count, merge)
            kind = getattr(work, "keywords", {}).get("questions")
            name = work.func.__name__ if kind is None else type(kind[0][1]).__name__
            bytes_up = max(size for size, _ in answers)
            seconds = sum(seconds for _, seconds in answers)
            sent.append((name, bytes_up, len(pickle.dumps(work)), seconds))
            print(f"  {name:14s} {bytes_up:9d} bytes up at most, {sent[-1][2]:9d} down, "
                  f"{1e9 * seconds / n:7.0f} ns of a core a row", flush=True)  # fmt: skip
            return result

    source = Source("array", tuple(map(Made, range(n_parts))), (size,) * n_parts, None, d)
    model = SVC(kernel="linear")
    print(f"The plan at {n} rows × {d} in {n_parts} partitions, float32")
    _, wall, cpu = clock(
        lambda: linear.fit_linear(model, source, CountingRunner(replace(source), 1), Reader())
    )
    print(f"  {len(sent)} passes, {wall:.1f} s wall, {cpu:.1f} s processor")
    print(f"  {model.certificate_}".replace("\n", "\n  "))


PARTS = {
    "dask": measure_dask,
    "parquet": measure_parquet,
    "tan": measure_tan,
    "learning": measure_learning,
    "plan": measure_plan,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    for name in given.only or PARTS:
        PARTS[name](given.rows)


if __name__ == "__main__":
    main()
