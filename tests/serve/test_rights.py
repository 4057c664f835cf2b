"""Who may come in, and what they may do."""

import hashlib
import socket
import ssl
import subprocess
from urllib.parse import urlsplit

import pytest

from lindero.errors import DataError
from lindero.serve import Client, OnlineStore
from lindero.serve.operations import OPERATIONS
from lindero.serve.rights import RIGHTS, Gate, Tokens
from lindero.serve.server import Address, StoreServer
from lindero.svm import IncrementalSVC
from tests.serve.running import Asking, serving
from tests.serve.test_store import KERNEL, make_rows

TOKENS = {right: f"{right}-0123456789abcdefghijklm" for right in RIGHTS}
TEXT = "\n".join(
    ["# who may do what", *(f"{right} {right} {token}" for right, token in TOKENS.items())]
)
BOTH = "both-0123456789abcdefghijklm"
TEXT += f"\n\nboth learn,forget sha256:{hashlib.sha256(BOTH.encode()).hexdigest()}\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    X, y = make_rows(20)
    store = OnlineStore(tmp_path_factory.mktemp("rights") / "store.db", IncrementalSVC(**KERNEL))
    store.learn(X, y)
    with serving(store, tokens=TEXT) as server:
        yield server.url


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_each_operation_wants_its_own_rights_and_no_other_helps(url, operation):
    path = operation.path.replace("{name}", "model")
    body = None if operation.method == "GET" else "{}"
    refused = {401, 403}
    for right in RIGHTS:
        status = Asking(url, TOKENS[right])(operation.method, path, body)[0]
        allowed = set(operation.rights) <= {right}
        assert (status not in refused) == allowed, (right, status)
        assert allowed or status == 403
    status = Asking(url, BOTH)(operation.method, path, body)[0]
    assert (status not in refused) == (set(operation.rights) <= {"learn", "forget"})
    for token in (None, "guessed", TOKENS["read"][:-1], TOKENS["read"] + "x", ""):
        status = Asking(url, token)(operation.method, path, body)[0]
        assert (status == 401) == bool(operation.rights), token


def test_a_client_has_the_rights_of_its_token(url):
    with Client(url, token=TOKENS["read"], model="model", retries=0) as client:
        assert client.models == ["model"]
        with pytest.raises(PermissionError, match="no right to forget"):
            client.forget(3)
    with (
        Client(url, model="model") as client,
        pytest.raises(PermissionError, match="token is wanted"),
    ):
        client.predict([[1.0, 2.0, 3.0]])


def test_the_page_is_for_everybody_and_says_nothing(url):
    for path in ("/", "/page.js", "/page.css", "/icon.svg"):
        status, headers, data = Asking(url)("GET", path)
        assert status == 200
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert b"http://" not in data.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in data
    assert Asking(url)("POST", "/", "{}")[0] == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:80"}, 200),
        ({"Host": "[::1]"}, 200),
        ({"Host": "LOCALHOST"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "evil.example:8000@localhost"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_only_expected_hosts_and_origins_are_answered(url, headers, status):
    for path in ("/health", "/"):
        assert Asking(url)("GET", path, headers=headers)[0] == status
    own = {"Origin": f"http://{urlsplit(url).netloc}"}
    assert Asking(url)("GET", "/health", headers=own)[0] == 200


def test_two_hosts_or_none_are_refused(url):
    parts = urlsplit(url)
    for lines in ("", "Host: localhost\r\nHost: localhost\r\n"):
        with socket.create_connection((parts.hostname, parts.port)) as plain:
            plain.sendall(f"GET /health HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())
            assert plain.recv(1000).split()[1] in (b"421", b"400")


def test_forms_of_other_pages_are_not_read(tmp_path):
    """What a browser sends without asking first is never JSON."""
    with serving(OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL))) as server:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            headers = {"Content-Type": kind}
            status, _, told = Asking(server.url)(
                "POST", "/v1/models/model/forget", '{"ids":[1]}', headers
            )
            assert (status, told["error"]) == (415, "unknown_format")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no tokens"),
        ("board read", "Line 1 of the tokens has 2 words"),
        ("# x\nboard read,write 0123456789abcdef01234567", "Line 2 of the tokens: rights are"),
        ("board read short", "at least 24 characters"),
        ("board read sha256:12", "64 digits"),
        ("a read 0123456789abcdef01234567\nb read 0123456789abcdef01234567", "same token"),
    ],
)
def test_a_file_of_tokens_that_cannot_be_meant_is_refused(text, message):
    with pytest.raises(DataError, match=message) as found:
        Tokens.parse(text)
    assert "0123456789abcdef" not in str(found.value)


def test_a_file_of_tokens_is_for_its_owner_only(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(TEXT)
    path.chmod(0o640)
    with pytest.raises(DataError, match="chmod 600"):
        Tokens.read(path)
    path.chmod(0o600)
    tokens = Tokens.read(path)
    assert tokens.find(f"bearer {BOTH}".encode()).rights == {"learn", "forget"}
    assert not any(token in repr(vars(tokens)) for token in TOKENS.values())  # hashes only


@pytest.mark.parametrize(
    ("address", "tokens", "message"),
    [
        (Address("0.0.0.0"), None, "file of tokens"),
        (Address("192.0.2.1"), None, "file of tokens"),
        (Address("::", allowed_hosts=("a",)), None, "file of tokens"),
        (Address("models.example"), None, "file of tokens"),
        (Address("192.0.2.1"), TEXT, "plain sight"),
        (Address("0.0.0.0", behind_proxy=True), TEXT, "by which names"),
        (Address("192.0.2.1", certificate="c.pem"), TEXT, "both"),
    ],
)
def test_the_network_wants_tokens_and_tls(tmp_path, address, tokens, message):
    known = None if tokens is None else Tokens.parse(tokens)
    with pytest.raises(ValueError, match=message):
        address.require_safe(known)
    with (
        OnlineStore(tmp_path / "store.db") as store,
        pytest.raises(ValueError, match=message),
    ):
        StoreServer(store, address, tokens=known)


def test_what_is_safe_may_listen():
    tokens = Tokens.parse(TEXT)
    for address in (Address(), Address("localhost"), Address("::1"), Address("127.0.0.9")):
        address.require_safe(None)
    proxied = Address("10.0.0.5", behind_proxy=True, allowed_hosts=("models.example",))
    proxied.require_safe(tokens)
    assert proxied.hosts == ["localhost", "127.0.0.1", "[::1]", "10.0.0.5", "models.example"]
    Address("10.0.0.5", certificate="c.pem", key="k.pem").require_safe(tokens)


def test_every_token_is_compared_in_constant_time(monkeypatch):
    """As often as there are tokens, wherever the right one stands."""
    tokens, calls = Tokens.parse(TEXT), []
    import hmac

    real = hmac.compare_digest
    monkeypatch.setattr(
        "lindero.serve.rights.hmac.compare_digest",
        lambda a, b: calls.append((len(a), len(b))) or real(a, b),
    )
    for token in (TOKENS["read"], BOTH, "guessed"):
        calls.clear()
        Gate(tokens)._tokens.find(f"Bearer {token}".encode())
        assert calls == [(32, 32)] * 5


def test_tls_keeps_tokens_from_being_read(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl cannot make a certificate here")
    X, y = make_rows(20)
    store = OnlineStore(tmp_path / "store.db", IncrementalSVC(**KERNEL))
    store.learn(X, y)
    address = Address(port=0, certificate=str(certificate), key=str(key))
    with serving(store, tokens=TEXT, address=address) as server:
        assert server.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate)
        with Client(server.url, token=TOKENS["read"], verify=trusted) as client:
            assert client.predict(X).shape == (20,)
        with (
            Client(server.url, token=TOKENS["read"], retries=0) as client,
            pytest.raises(ConnectionError, match="no answer"),
        ):
            _ = client.models
