"""``lindero follow``: models that are kept equal to those of a server."""

from __future__ import annotations

import signal
import ssl
import sys
import threading
from contextlib import suppress
from typing import Any

import click

from lindero.cli.options import host_option, listening_options, output_options
from lindero.cli.output import CommandError, Output

_EXAMPLES = """\b
Examples:
  lindero follow https://models.example:8443 --token-file token
  lindero follow http://localhost:8000 --port 8001
  lindero follow http://localhost:8000 --once --state copy
"""


@click.command(epilog=_EXAMPLES)
@click.argument("url", metavar="URL")
@click.option(
    "--model", "models", multiple=True, metavar="NAME", help="A model to follow; all without it."
)
@click.option(
    "--state",
    default="follower",
    show_default=True,
    type=click.Path(file_okay=False),
    help="A folder for what was reached, to go on from after a stop.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False),
    help="A file with the token to send, which nobody else can read. It needs the right to admin.",
)
@click.option(
    "--allow-http",
    is_flag=True,
    help="Send the token over http to another machine, where the way there is safe otherwise.",
)
@click.option(
    "--tls-ca",
    type=click.Path(exists=True, dir_okay=False),
    help="A file of certificates to trust with https, instead of the usual ones.",
)
@click.option(
    "--wait",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.01, 3600.0),
    help="Seconds between two looks at the log.",
)
@click.option("--once", is_flag=True, help="Catch up and stop.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Answer here, too, as `lindero serve` does, to those who only read; 0 for any that is "
    "free.",
)
@host_option
@click.option(
    "--readers",
    type=click.Path(exists=True, dir_okay=False),
    help="Who may ask here: a file as --token-file of `lindero serve`.",
)
@listening_options
@output_options
@click.pass_obj
def command(
    output: Output,
    url: str,
    models: tuple[str, ...],
    state: str,
    token_file: str | None,
    allow_http: bool,
    tls_ca: str | None,
    wait: float,
    once: bool,
    port: int | None,
    host: str,
    readers: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    behind_proxy: bool,
    allowed_hosts: tuple[str, ...],
) -> None:
    """Keep models equal to those of a server.

    URL is the address of `lindero serve`. Its log is followed: what is learned there is learned
    here, and what is forgotten there is forgotten here, in memory and in --state. Cut off, it
    answers with what it has, tries again and catches up.
    """
    try:
        import httpx  # noqa: F401
    except ImportError:
        raise CommandError("Following needs httpx: pip install 'lindero[serve]'.") from None
    from lindero.serve import Follower

    token = None if token_file is None else read_token(token_file)
    try:
        follower = Follower(
            url,
            state,
            models=models or None,
            token=token,
            allow_http=allow_http,
            verify=_read_certificates(tls_ca),
        )
        if once:
            with follower:
                follower.catch_up()
                _tell(output, url, follower, f"Caught up with {url}")
            return
    except ConnectionError as error:
        raise CommandError(str(error)) from None

    stop = threading.Event()
    if port is None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        with follower:
            _tell(output, url, follower, f"Following {url}")
            follower.follow(stop, wait=wait, tell=output.advise)
        return
    place = (host, port, tls_cert, tls_key, behind_proxy, allowed_hosts)
    with follower:
        with suppress(ConnectionError):  # it answers with what it has, and tries again
            follower.catch_up()
        _serve(output, follower, stop, wait, readers, place)


def _serve(
    output: Output,
    follower: Any,
    stop: threading.Event,
    wait: float,
    readers: str | None,
    place: tuple[Any, ...],
) -> None:
    """Follow in a thread, and answer in this one."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise CommandError(
            "Answering needs starlette and uvicorn: pip install 'lindero[serve]'."
        ) from None
    from lindero.serve.followed_store import FollowedStore
    from lindero.serve.rights import Tokens
    from lindero.serve.server import Address, StoreServer

    tokens = None if readers is None else Tokens.read(readers)
    store: Any = FollowedStore(follower)
    server = StoreServer(store, Address(*place), tokens=tokens)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            follower.follow(stop, wait=wait, tell=output.advise, changed=server.publish)
        except BaseException as error:
            failures.append(error)
            server.stop()

    thread = threading.Thread(target=work)

    def tell(url: str) -> None:
        _tell(output, url, follower, f"Answering at {url}")
        thread.start()

    try:
        server.run(tell)
    finally:
        stop.set()
        if thread.ident is not None:
            thread.join()
    if failures:
        raise failures[0]


def _read_certificates(path: str | None) -> Any:
    """Whom to trust with https."""
    if path is None:
        return True
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise CommandError(f"{path} holds no certificates that can be read: {error}.") from None


def _tell(output: Output, url: str, follower: Any, words: str) -> None:
    reached = {name: follower.sequence_of(name) for name in follower.models}
    listed = ", ".join(f"{name} at {number}" for name, number in reached.items())
    output.show_result({"url": url, "models": reached}, f"{words}: {listed}")
    sys.stdout.flush()  # whoever started it may read from a pipe


def read_token(path: str) -> str:
    """The token in a file: alone, or at the end of a line as `lindero serve` reads them."""
    from lindero.serve.rights import read_private

    lines = [line.split() for line in read_private(path).splitlines()]
    lines = [words for words in lines if words and not words[0].startswith("#")]
    if len(lines) != 1:
        raise CommandError(f"{path} must hold one token, but has {len(lines)} lines.")
    return lines[0][-1]
