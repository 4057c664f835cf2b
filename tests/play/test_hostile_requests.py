"""Requests that nobody sends by accident are refused with a reason, and the server lives on."""

import asyncio
import json
import random
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack

import pytest

from lindero.play.protocol import MOST_BYTES, MOST_POINTS, read_frame

GOOD = {
    "kind": "picture", "sequence": 1, "view": [-2, 2, -2, 2], "resolution": 16,
    "points": [[0, -1.0, 0.0, 0, -1], [1, 1.0, 0.5, 1, -1]],
    "machines": [{"name": "svc", "parameters": {}}],
}  # fmt: skip


def send_raw(server, data, wait=3.0):
    """Bytes as they are; what comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(data)
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
                if b"\r\n\r\n" in found:
                    break
        except (TimeoutError, ConnectionError):
            pass
    return found


def ask(server, path="", host=None, more="", method="GET"):
    """The status of a request that is made by hand."""
    host = host if host is not None else f"127.0.0.1:{server.port}"
    lines = f"{method} {path or '/' + server.token + '/'} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"
    answer = send_raw(server, lines.encode("latin-1"))
    return int(answer.split(b" ")[1]) if answer else None


def connect(server, **given):
    """A WebSocket as the page opens it, unless `given` says otherwise."""
    client = pytest.importorskip("websockets.sync.client")
    origin = given.pop("origin", f"http://127.0.0.1:{server.port}")
    path = given.pop("path", f"/{server.token}/socket")
    address = f"ws://127.0.0.1:{server.port}{path}"
    return client.connect(
        address, origin=origin, compression=None, open_timeout=60, close_timeout=1, **given
    )


def assert_alive(server):
    """The page is there, and a picture is drawn."""
    with urllib.request.urlopen(server.address, timeout=30) as answer:
        assert answer.status == 200
        policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    with connect(server) as page:
        assert json.loads(page.recv(timeout=60))["kind"] == "welcome"
        page.send(json.dumps(GOOD))
        assert read_frame(page.recv(timeout=120))[0]["kind"] == "picture"


# -- over HTTP -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["example.org", "127.0.0.1", "localhost:1", "127.0.0.1.example.org:{port}", "0.0.0.0:{port}",
     "[::1]:{port}", "evil@127.0.0.1:{port}", ""],
)  # fmt: skip
def test_another_host_is_refused(server, host):
    assert ask(server, host=host.format(port=server.port)) in (400, 403)


@pytest.mark.parametrize(
    "origin", ["http://example.org", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", ""]
)
def test_another_origin_is_refused(server, origin):
    line = f"Origin: {origin.format(port=server.port)}\r\n"
    assert ask(server, more=line) == 403


def test_without_the_token_there_is_nothing(server):
    token = server.token
    for path in (
        "/", "/main.js", "/socket", f"/{token[:-1]}/", f"/{token}x/", f"/{token.lower()}x/",
        f"/x/{token}/", f"//{token}/", "/%2e%2e/", "/" + "a" * 3000,
    ):  # fmt: skip
        assert ask(server, path) == 403, path


def test_only_files_of_the_page_are_sent(server):
    for name in (
        "../server.py", "..%2fserver.py", "%2e%2e/server.py", "static/../../server.py", "server.py",
        "/etc/passwd", "main.js/", "main.js%00", ".", "..", "C:\\", "~", "index.html/../main.js",
    ):  # fmt: skip
        assert ask(server, f"/{server.token}/{name}") in (400, 404), name
    assert ask(server, f"/{server.token}/main.js") == 200
    assert ask(server, f"/{server.token}/main.js", method="POST") == 405


def test_every_answer_forbids_what_the_page_does_not_need(server):
    for path in ("", "main.js", "nothing"):
        request = urllib.request.Request(server.address + path)
        try:
            headers = urllib.request.urlopen(request, timeout=30).headers
        except urllib.error.HTTPError as error:
            headers = error.headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_no_script_or_style_stands_in_the_page(server):
    with urllib.request.urlopen(server.address, timeout=30) as answer:
        page = answer.read().decode()
    assert page.count("<script") == 1
    assert '<script type="module" src="main.js"></script>' in page
    assert " style=" not in page
    assert "<style" not in page
    assert " on" not in page.replace(" one", "").split("<body>")[0]
    assert "http" not in page.replace("http-equiv", "")


def test_only_one_address_is_served(server):
    for address, is_served in (("127.0.0.2", False), ("127.0.0.1", True)):
        with socket.socket() as probe:
            probe.settimeout(2)
            assert (probe.connect_ex((address, server.port)) == 0) == is_served


# -- over the WebSocket ----------------------------------------------------------------------------


def test_a_websocket_needs_host_origin_and_token(server):
    exceptions = pytest.importorskip("websockets.exceptions")
    port, token = server.port, server.token
    for given in (
        {"origin": None}, {"origin": "null"}, {"origin": "http://example.org"},
        {"origin": f"http://127.0.0.1:{port + 1}"}, {"origin": f"https://127.0.0.1:{port}"},
        {"path": "/socket"}, {"path": f"/{token[:-2]}/socket"}, {"path": f"/{'x' * 32}/socket"},
        {"path": f"/{token}/other"},
    ):  # fmt: skip
        with (
            pytest.raises((exceptions.InvalidStatus, exceptions.ConnectionClosed)),
            connect(server, **given) as page,
        ):
            page.recv(timeout=5)
    lines = (
        f"GET /{token}/socket HTTP/1.1\r\nHost: example.org\r\nOrigin: http://127.0.0.1:{port}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    assert b" 101 " not in send_raw(server, lines.encode())[:20]


def damage(random_, good):
    """A message with something wrong."""
    message = json.loads(json.dumps(good))
    wrong = [
        None, True, -1, 1e300, -0.5, 2**70, "", "svc", "\u0000", "../../etc/passwd", [], {},
        [[]] * 3, {"a": 1}, "__class__", [None] * 5, "x" * 1000,
    ]  # fmt: skip
    kind = random_.randrange(8)
    if kind == 0:
        message[random_.choice(list(message))] = random_.choice(wrong[:5] + wrong[9:])
        message.pop("sequence") if random_.random() < 0.3 else None
    elif kind == 1:
        message.pop(random_.choice([name for name in message if name != "points"]))
    elif kind == 2:
        message[random_.choice(["__proto__", "file", "path", "pickle", "x" * 50])] = 1
    elif kind == 3:
        place = random_.randrange(5)
        bad = [-1, 1e7, 1e300, 7, 7][place]
        message["points"][0][place] = random_.choice([bad, None, "0", [], {}, True])
    elif kind == 4:
        message["points"] = [[k, 0, 0, 0, -1] for k in range(MOST_POINTS + 1)]
    elif kind == 5:
        message["machines"] = random_.choice([
            [], [{}], [{"name": "os.system"}], [{"name": "svc", "parameters": {"C": -1}}],
            [{"name": "svc", "parameters": {"kernel": "precomputed"}}],
            [{"name": "svc", "parameters": {"time_limit": 1e9}}],
            [{"name": "svc", "parameters": {"gamma": "inf"}}], [{"name": "svc"}] * 3,
            [{"name": "svc", "parameters": {"degree": 2.5}}], [{"name": ["svc"]}],
        ])  # fmt: skip
    elif kind == 6:
        message["resolution"] = random_.choice([0, 15, 161, 10**9, -5, 20.5, "64", None])
    else:
        message["view"] = random_.choice([
            [0, 0, 0, 0], [1, -1, 1, -1], [0, 1e9, 0, 1], [0, 1, 2], "view", [None] * 4, {}, None,
        ])  # fmt: skip
    return json.dumps(message)


def test_five_hundred_bad_messages_get_five_hundred_reasons(server):
    random_ = random.Random(0)
    plain = [
        "", "null", "[]", "0", '"x"', "{", "{}", "NaN", "[" * 50_000, "9" * 5000, '{"kind": NaN}',
        '{"kind": "picture"}', '{"kind": "preset", "sequence": 1, "name": "../x"}',
        '{"kind": "exec", "sequence": 1}', "x" * (MOST_BYTES + 1), '{"a":' * 10_000,
        '{"kind": "preset", "sequence": 1, "name": ["xor"]}', "\ud7ff" * 100, "\u0000",
        json.dumps({**GOOD, "without": 5}), json.dumps({**GOOD, "without": "0"}),
        json.dumps({**GOOD, "points": [[0, 0, 0, 0, -1], [0, 1, 1, 1, -1]]}),
        json.dumps(GOOD).replace("-1.0", "Infinity"), json.dumps(GOOD).replace("-1.0", "1e999"),
    ]  # fmt: skip
    messages = [*plain, *(damage(random_, GOOD) for _ in range(476)), b"binary", b"\x80\x04."]
    assert len(messages) >= 500
    for start in range(0, len(messages), 90):  # the hundredth ends a connection
        part = messages[start : start + 90]
        with connect(server) as page:
            page.recv(timeout=60)
            for message in part:
                page.send(message)
                answer = page.recv(timeout=60)
                assert isinstance(answer, str), message[:300]
                found = json.loads(answer)
                assert found["kind"] == "bad", message[:300]
                assert len(found["reason"]) > 10
    assert_alive(server)


def test_one_page_that_sends_nothing_but_rubbish_is_closed(server):
    exceptions = pytest.importorskip("websockets.exceptions")
    with connect(server) as page:
        page.recv(timeout=60)

        def send_all():
            for _ in range(150):
                page.send("rubbish")
                page.recv(timeout=60)

        with pytest.raises(exceptions.ConnectionClosed):
            send_all()
    assert_alive(server)


def test_a_frame_beyond_all_limits_ends_its_own_connection_only(server):
    exceptions = pytest.importorskip("websockets.exceptions")
    with connect(server) as page:
        page.recv(timeout=60)
        page.send("x" * (10 * MOST_BYTES))
        with pytest.raises(exceptions.ConnectionClosed):
            page.recv(timeout=60)
    assert_alive(server)


def test_slow_and_broken_connections_do_not_keep_others_waiting(server):
    beginnings = [
        b"", b"G", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"\x00" * 200,
        b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n", b"GET /" + b"a" * 60_000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 4000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]  # fmt: skip
    held = []
    try:
        for k in range(120):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            connection.sendall(beginnings[k % len(beginnings)])
            held.append(connection)
        assert_alive(server)
    finally:
        for connection in held:
            connection.close()
    assert_alive(server)


def test_a_connection_that_sends_no_whole_request_is_closed():
    uvicorn = pytest.importorskip("uvicorn")
    from lindero.play.server import make_protocol

    async def say_hello(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})

    async def try_it():
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            port = listening.getsockname()[1]
            config = uvicorn.Config(
                say_hello, http=make_protocol(0.2), log_level="error", lifespan="off"
            )
            server = uvicorn.Server(config)
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            for beginning in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(beginning)
                assert await asyncio.wait_for(reader.read(), 20) == b""
                writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" in await asyncio.wait_for(reader.readline(), 20)
            writer.close()
            server.should_exit = True
            await serving

    asyncio.run(try_it())


def test_too_many_pages_are_refused_and_room_is_made_again(server):
    exceptions = pytest.importorskip("websockets.exceptions")
    n_open = 0
    with ExitStack() as pages:
        try:
            while n_open < 40:
                pages.enter_context(connect(server)).recv(timeout=60)
                n_open += 1
        except (exceptions.InvalidStatus, exceptions.ConnectionClosed):
            pass
    assert 10 < n_open <= 16
    assert_alive(server)


def test_a_flood_of_pictures_is_answered_by_the_latest(server):
    with connect(server) as page:
        page.recv(timeout=60)
        for sequence in range(1, 301):
            page.send(json.dumps({**GOOD, "sequence": sequence}))
        answers = []
        while not answers or not (answers[-1]["sequence"] == 300 and answers[-1]["fine"]):
            answers.append(read_frame(page.recv(timeout=60))[0])
    assert len(answers) < 400
    assert [a["sequence"] for a in answers] == sorted(a["sequence"] for a in answers)


def test_a_fit_that_takes_too_long_is_ended_and_the_next_one_answered():
    from lindero.play.protocol import read_request
    from lindero.play.studio import StudioProcess, TooLongError

    async def try_it():
        studio = StudioProcess(patience=1e-9, first_patience=1e-9)
        studio.start()
        try:
            request = read_request(json.dumps(GOOD))
            first = studio._process
            with pytest.raises(TooLongError):
                await studio.ask(0, request, True)
            assert not first.is_alive()
            studio._first_patience = 120.0
            frames = await studio.ask(0, request, True)
            assert read_frame(frames[0])[0]["kind"] == "picture"
        finally:
            studio.stop()

    asyncio.run(try_it())
