"""``lindero serve``: the models of a store behind an address."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from lindero.cli.options import (
    count_option,
    host_option,
    listening_options,
    output_options,
    settings_option,
)
from lindero.cli.output import CommandError, Output

_EXAMPLES = """\b
Examples:
  lindero serve fraud.db --create fraud=incremental-svc --classes ok,fraud
  lindero serve fraud.db --model fraud=trained.lin --token-file tokens
  lindero serve fraud.db --host 10.0.0.5 --tls-cert cert.pem --tls-key key.pem
      --token-file tokens

\b
Machines to create: incremental-svc, incremental-svr,
incremental-one-class-svm, adaptive-svc, adaptive-svr, naive-bayes, tan, kdb,
aode. Then, for example:
  curl localhost:8000/v1/models/fraud/predict
      -H 'Content-Type: application/json' -d '{"rows": [[1.5, 2.0]]}'
"""


@click.command(epilog=_EXAMPLES)
@click.argument("store", metavar="STORE", type=click.Path(dir_okay=False))
@host_option
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Where to listen; 0 for any that is free.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME=FILE",
    help="A saved model to begin with, where the store has none of that name yet.",
)
@click.option(
    "--create",
    "created",
    multiple=True,
    metavar="NAME=MACHINE",
    help="A machine to begin with that has learned nothing, where the store has none of that name.",
)
@settings_option
@click.option(
    "--classes",
    metavar="A,B",
    help="The classes to expect of new models, where the first rows may not have all.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="Who may do what: a name, rights and a token on each line (docs/serving.md). Without it "
    "anybody on this machine may do anything.",
)
@listening_options
@click.option(
    "--durability",
    type=click.Choice(["full", "normal"]),
    default="full",
    show_default=True,
    help="Whether writes survive a loss of power, or only the end of the process.",
)
@count_option("--max-rows", "Rows of one request.", 100_000)
@count_option("--max-columns", "Columns of one request.", 10_000)
@count_option("--max-megabytes", "Size of one request.", 32)
@count_option("--max-waiting", "Writes that may wait; the next gets 429.", 64)
@count_option("--time-limit", "Seconds for a request to arrive, or a write to begin.", 30)
@click.option(
    "--log-reads",
    is_flag=True,
    help="A line in the log for each request, not only for writes and refusals.",
)
@output_options
@click.pass_obj
def command(
    output: Output,
    store: str,
    host: str,
    port: int,
    models: tuple[str, ...],
    created: tuple[str, ...],
    settings: tuple[str, ...],
    classes: str | None,
    token_file: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    behind_proxy: bool,
    allowed_hosts: tuple[str, ...],
    durability: str,
    max_rows: int,
    max_columns: int,
    max_megabytes: int,
    max_waiting: int,
    time_limit: int,
    log_reads: bool,
) -> None:
    """Serve models that go on learning, over HTTP.

    Requests predict, learn and forget; a page shows people how the models are doing. STORE is made
    where there is none. The page is at the address that is printed, what can be asked at
    /openapi.json. The log goes to standard error, a line of JSON for each write and refusal.
    """
    from lindero.serve import OnlineStore
    from lindero.serve.limits import RequestLimits
    from lindero.serve.rights import Tokens
    from lindero.serve.server import Address, StoreServer

    tokens = None if token_file is None else Tokens.read(token_file)
    address = Address(host, port, tls_cert, tls_key, behind_proxy, allowed_hosts)
    address.require_safe(tokens)
    limits = RequestLimits(
        megabytes=max_megabytes,
        rows=max_rows,
        columns=max_columns,
        seconds=time_limit,
        waiting=max_waiting,
    )
    named = _read_models(models, created, settings)
    expected = None if classes is None else [_read_label(text) for text in classes.split(",")]
    # What can be refused is refused before there is a store.
    with address.bind() as listening, OnlineStore(store, durability=durability) as opened:
        for name, estimator in named:
            if name not in opened.models:
                opened.add(name, estimator, classes=expected)
        if not opened.models:
            raise CommandError(
                "The store has no models: begin with one, as in --create fraud=incremental-svc or "
                "--model fraud=trained.lin."
            )
        server = StoreServer(
            opened,
            address,
            limits=limits,
            tokens=tokens,
            log_reads=log_reads,
            listening=listening,
        )
        if tokens is None:
            output.advise("Anybody on this machine may ask: --token-file says who may do what.")
        result = {"url": server.url, "models": opened.models, "sequence": opened.sequence}

        def tell(url: str) -> None:
            output.show_result(result, f"Serving {', '.join(opened.models)} at {url}")
            sys.stdout.flush()  # whoever started it may read from a pipe

        server.run(tell)


def _read_models(
    models: Sequence[str], created: Sequence[str], settings: Sequence[str]
) -> list[tuple[str, Any]]:
    """Names and estimators to begin with."""
    from lindero.evaluation import find_machine, parse_settings
    from lindero.persist import load
    from lindero.serve.store import require_learner

    found: list[tuple[str, Any]] = []
    for text in models:
        name, path = _split(text, "--model", "FILE")
        found.append((name, load(path)))
    for text in created:
        name, machine = _split(text, "--create", "MACHINE")
        spec = find_machine(machine)
        params = parse_settings(settings, spec)
        found.append((name, spec.load()(**{**spec.preset, **params})))
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise click.UsageError("The same name is given to two models.")
    for _, estimator in found:
        require_learner(estimator)
    return found


def _split(text: str, option: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value) or "/" in name:
        raise click.UsageError(f"{option} is NAME={what}, with a name without '/', not {text!r}.")
    return name, value


def _read_label(text: str) -> Any:
    """A label as it is typed: a number where it is one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(text) if text.lstrip("-").isdecimal() else number
