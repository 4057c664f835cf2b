"""``lindero play``: a page on which points are drawn, and machines show what they make of them."""

from __future__ import annotations

import click

from lindero.cli.output import Output

#: The port, unless it is taken.
_PORT = 8642

_EXAMPLES = """\b
Examples:
  lindero play
  lindero play --port 9000 --no-open
"""


@click.command(epilog=_EXAMPLES)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Where to listen, on this computer only.  [default: {_PORT}, or any that is free]",
)
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.pass_obj
def command(output: Output, port: int | None, no_open: bool) -> None:
    """Draw points, and see what every machine makes of them.

    Opens a page in the browser: boundaries with margins and support vectors, exact updates while
    points are dragged, costs, concepts that move with time, unlabelled points, regressions and
    Bayesian networks. Needs the packages of the extra "play". Ctrl-C ends it.
    """
    import threading
    import webbrowser

    from lindero.play.server import require_extra, serve
    from lindero.play.studio import StudioProcess

    require_extra()

    def announce(address: str) -> None:
        click.echo(address)
        output.note("Only this computer can open it, with this address. Ctrl-C ends it.")
        if not no_open:  # beside the server, which has to answer: some browsers return late
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    serve(StudioProcess(), port, _PORT, announce)
