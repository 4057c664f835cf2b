"""--cluster: commands that work on a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from lindero.cli.output import CommandError

cluster_option = click.option(
    "--cluster",
    metavar="local|ADDRESS",
    help="Work on a Dask cluster: on processes of this machine, or at the address of a scheduler, "
    "such as tcp://node:8786.",
)


@contextmanager
def open_cluster(where: str | None) -> Iterator[Any]:
    """A client of the cluster that --cluster names; None without one."""
    if where is None:
        yield None
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise CommandError("--cluster needs Dask: pip install 'lindero[dask]'.") from None
    if where == "local":
        with (
            LocalCluster(dashboard_address=None, silence_logs=logging.ERROR) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(where, timeout="10s")
    except (OSError, ValueError) as error:
        raise CommandError(f"There is no Dask scheduler at {where!r}: {error}") from None
    with client:
        yield client


@contextmanager
def use_cluster(where: str) -> Iterator[None]:
    """Have joblib, and so searches and comparisons, work on the cluster that --cluster names."""
    from joblib import parallel_config

    with open_cluster(where), parallel_config(backend="dask"):
        yield
