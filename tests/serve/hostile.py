"""Requests that nobody would send on purpose, or only for harm: seeded, as many as wanted."""

import json
import random
import socket
import struct

import pyarrow as pa

#: What stands in rows that the store holds, and in cells and labels of hostile requests.
HELD = ("Aurelia Quintanilla", "7.56789123")
SENT = ("Zyxthor8c1f", "31337.4242")

OPERATIONS = ("predict", "learn", "forget", "replace", "explain")
READS = ("metrics", "certificate", "receipts", "log", "")


def arrow_bytes(columns, **options):
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, **options) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def garbage(rng):
    return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 400)))


def cut(rng, data):
    return data[: rng.randrange(len(data))]


def change(rng, data):
    """Some bytes of it are others."""
    found = bytearray(data)
    for _ in range(rng.randrange(1, 12)):
        found[rng.randrange(len(found))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    return bytes(found)


def some_arrow(rng):
    kind = rng.randrange(7)
    text, number = SENT[0], float(SENT[1])
    if kind == 0:
        return cut(rng, arrow_bytes({"name": [text], "sum": [number]}))
    if kind == 1:
        return change(rng, arrow_bytes({"name": [text] * 20, "sum": [number] * 20}))
    if kind == 2:  # a table of a million rows in a few bytes
        return arrow_bytes({"name": pa.nulls(10**6)})
    if kind == 3:
        return arrow_bytes({"name": pa.array([text] * 5).dictionary_encode()})
    if kind == 4:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        return arrow_bytes({"name": ["a" * 10**6] * 9}, options=options)
    if kind == 5:
        return arrow_bytes({"sum": pa.array([[number]]), "name": [{"a": text}]})
    return b"\xff\xff\xff\xff" + struct.pack("<i", rng.choice((-1, 2**31 - 1, 8))) + garbage(rng)


def some_json(rng):
    text, number = SENT[0], SENT[1]
    deep = rng.choice((50, 2000, 100_000))
    choices = [
        lambda: "[" * deep + "]" * deep,
        lambda: '{"rows":' + "[" * deep + "1" + "]" * deep + "}",
        lambda: '{"a":' * 5000 + "1" + "}" * 5000,
        lambda: '{"rows": [[NaN, Infinity, -Infinity]]}',
        lambda: f'{{"rows": [[{"9" * rng.choice((50, 400, 6000))}, {number}, 1]]}}',
        lambda: f'{{"rows": [[1e999, -1e999, {number}]], "y": ["{text}"]}}',
        lambda: json.dumps({"rows": [[text, text, text]], "y": [text], "ids": ["h"]}),
        lambda: json.dumps({"rows": [[float(number)] * 3], "y": [text], "ids": ["h"]}),
        lambda: json.dumps({"rows": [[float(number)] * rng.randrange(1, 9)]}),
        lambda: json.dumps({"rows": [{"name": text, "sum": float(number), "more": 1}]}),
        lambda: json.dumps({"rows": [{"sum": text, "name": float(number)}], "y": [1], "ids": [1]}),
        lambda: '{"rows": [["\\ud800", 1, 2]], "y": ["\\udfff"], "ids": ["\\ud800"]}',
        lambda: '{"rows": [["\\u0000", 1, 2]], "y": ["\\u0000"], "ids": ["\\u0000"]}',
        lambda: '{"rows": [[1]], "rows": [[2]]}',
        lambda: json.dumps({"rows": {"a": 1}, "y": {}, "ids": {}}),
        lambda: json.dumps({"rows": [[[[text]]]], "y": [[text]], "ids": [[1]]}),
        lambda: json.dumps(
            {"ids": rng.choice(([True], [None], [1.5], [{}], [], "x" * 999, 2**70))}
        ),
        lambda: json.dumps({"ids": ["nobody", -1, 10**17]}),
        lambda: json.dumps({"columns": ["a", "a"], "rows": [[1, 2]]}),
        lambda: json.dumps({"columns": [1, None], "rows": [[text, 2]]}),
        lambda: json.dumps({"rows": [["x" * 20_000]], "y": [text]}),
        lambda: json.dumps({"rows": [[True, False, None]], "times": [text], "sample_weight": [-1]}),
        lambda: json.dumps(
            {"rows": [[1, 2, 3]], "y": ["a"], "sample_weight": [-1.0], "ids": ["q"]}
        ),
        lambda: json.dumps({"rows": [[1, 2, 3]], "__proto__": 1, "probabilities": text}),
        lambda: json.dumps({"rows": [[1, 2, 3]], "probabilities": True}),
        lambda: rng.choice(("", "null", "17", '"text"', "{", "[1,", "\ufeff{}", "tru", "\x00")),
    ]
    return rng.choice(choices)().encode()


def some_csv(rng):
    text, number = SENT
    return rng.choice(
        (
            b"",
            b"\n\n",
            f"name,sum\n{text}\n".encode(),
            f'name,sum\n"{text},{number}\n'.encode(),
            f"name,name\n{text},{number}\n".encode(),
            f"sum,name\n{text},{number}\n{number},{text}\n".encode(),
            f"name,sum\n{text},{number}\n".encode("utf-16"),
            b"name,sum\n" + garbage(rng),
            (",".join(f"c{k}" for k in range(12_000)) + "\n").encode(),
        )
    )


def some_request(rng, host, port, token):
    """The bytes of one request, and whether a server can know where it ends."""
    model = rng.choice(
        ("bayes", "svm", "svm", "none", "..%2f..%2fetc", "%00", "a" * 3000, "bayes%20")
    )
    if rng.random() < 0.7:
        model = rng.choice(("bayes", "svm"))
    what = rng.choice(OPERATIONS + READS)
    method = "POST" if what in OPERATIONS else "GET"
    path = f"/v1/models/{model}/{what}"
    kind, body = rng.choice(
        (
            ("application/json", some_json),
            ("application/json", some_json),
            ("application/json", garbage),
            ("text/csv", some_csv),
            ("application/x-ndjson", some_json),
            ("application/vnd.apache.arrow.stream", some_arrow),
            ("application/pickle", garbage),
        )
    )
    body = body(rng)
    query = rng.choice(
        (*[""] * 40, "?y=name&ids=sum", "?y=nothing", "?after=-1", "?after=" + "9" * 40, "?limit=x",
         "?" + "&".join(f"a{k}=1" for k in range(60)), "?%ff%fe=%", "?probabilities=2")
    )  # fmt: skip
    headers = {
        "Host": f"{host}:{port}",
        "Authorization": f"Bearer {token}",
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    more = rng.randrange(30)
    if more == 0:
        headers["Host"] = rng.choice(("evil.example", "", "localhost:99999999", "a b", "[::1"))
    elif more == 1:
        headers["Authorization"] = rng.choice(
            ("Bearer", "Basic YTpi", "Bearer \xff", f"bearer  {token}x")
        )
    elif more == 2:
        del headers["Authorization"]
    elif more == 3:
        headers["Content-Length"] = rng.choice(("-1", "1e3", "9" * 30, "0x10", str(len(body) + 50)))
    elif more == 4:
        headers["Idempotency-Key"] = rng.choice(("\xff", "k" * 5000, " "))
    elif more == 5:
        headers["If-Match"] = rng.choice(("*", '"x"', "-1", "9" * 50))
    elif more == 6:
        headers["Content-Encoding"] = rng.choice(("gzip", "br", "zstd"))
    elif more == 7:
        headers["Accept"] = rng.choice(("image/png", "\xff", "text/csv", "application/*;q=0"))
    elif more == 8:
        headers |= {f"X-{k}": "v" * 200 for k in range(rng.choice((10, 600)))}
    elif more == 9:
        method = rng.choice(("PUT", "DELETE", "TRACE", "CONNECT", "BREW", "get"))
    elif more == 10:
        del headers["Content-Length"]
        headers["Transfer-Encoding"] = rng.choice(("chunked", "gzip, chunked"))
        body = rng.choice(
            (b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), b"zz\r\n", b"fffffffffffff\r\nx")
        )
    elif more == 11:
        headers["Upgrade"], headers["Connection"] = rng.choice(("websocket", "h2c")), "Upgrade"
    lines = [
        f"{method} {path}{query} HTTP/1.1",
        *(f"{name}: {text}" for name, text in headers.items()),
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body, more not in (3, 10, 11)


def send(host, port, data, seconds, is_whole):
    """What comes back within some time; data may be cut off by either side."""
    with socket.create_connection((host, port), timeout=seconds) as plain:
        parts = []
        try:
            plain.sendall(data)
            if not is_whole:
                plain.shutdown(socket.SHUT_WR)  # or the server would wait for more
            while part := plain.recv(65536):
                parts.append(part)
        except OSError:
            pass
    return b"".join(parts)


def play(n, seed, host, port, token, seconds=5.0):
    """Some requests, one after another; each with what came back."""
    rng = random.Random(seed)
    for _ in range(n):
        data, is_whole = some_request(rng, host, port, token)
        if rng.random() < 0.05:
            data = rng.choice((cut(rng, data), change(rng, data), garbage(rng)))
            is_whole = False
        yield data, send(host, port, data, seconds, is_whole)
