"""A PostgreSQL server of Debian's package for some tests, in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path


def find_programs():
    """The folder with initdb and postgres, the latest version; None if there is none."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not found and shutil.which("initdb") and shutil.which("postgres"):
        return Path(shutil.which("initdb")).parent
    return max(found, key=lambda path: int(path.parent.name), default=None)


def why_not():
    """Why no server can be started; an empty text if one can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if os.name != "posix" or find_programs() is None:
        return "there are no programs of a PostgreSQL server (Debian: apt install postgresql)"
    if os.geteuid() == 0 and (_find_user() is None or shutil.which("setpriv") is None):
        return "PostgreSQL does not run as root, and there is no user postgres, or no setpriv"
    return ""


def _find_user():
    import pwd  # not on Windows

    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


@contextlib.contextmanager
def running_server():
    """A server of its own; the folder of its data and its address."""
    programs, user = find_programs(), _find_user()
    folder = Path(tempfile.mkdtemp(prefix="lindero-postgres-"))
    as_user = []
    if os.geteuid() == 0:
        shutil.chown(folder, user.pw_name)
        ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        as_user = ["setpriv", *ids]
    data = folder / "data"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    initdb = [programs / "initdb", "-D", data, "-A", "trust", "-U", "tester", "--no-sync"]
    control = [*as_user, programs / "pg_ctl", "-D", data, "-w"]
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    log = folder / "log"
    try:
        subprocess.run([*as_user, *initdb], **run)
        subprocess.run([*control, "-l", log, "-o", settings, "start"], **run)
        try:
            yield data, f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
