"""Sends HTTP requests to `/mcp` that no client library sends: without or with another token, from other hosts and
origins, and the messages of 2026-07-28 byte for byte.

Usage: access.py CORK URL FOLDER. The server at URL serves FOLDER/cork.db; CORK_TOKEN is its admin's token.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import urllib.parse

CORK, URL, FOLDER = sys.argv[1:]
TOKEN = os.environ.pop("CORK_TOKEN")
ADDRESS = urllib.parse.urlsplit(URL)
MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        body = response.read().decode()
        if self.headers.get_content_type() == "text/event-stream":
            events = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
            # The last message is the answer. Before it, there may be an empty event.
            body = events[-1] if events else ""
        self.json = json.loads(body) if body.startswith(("{", "[")) else None

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.json}"


def send(method, path="/mcp", message=None, token=TOKEN, **headers):
    connection = http.client.HTTPConnection(ADDRESS.hostname, ADDRESS.port, timeout=120)
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    connection.request(method, path, json.dumps(message) if message is not None else None, sent)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def rpc(method, params=None, **headers):
    """A request with a session, of an older revision."""
    params = {} if params is None else {"params": params}
    return send("POST", message={"jsonrpc": "2.0", "id": 1, "method": method, **params}, **headers)


def modern(method, params=None, name=None, **headers):
    """A request of 2026-07-28: no session, and everything that the server needs to know is in it."""
    message = {"jsonrpc": "2.0", "id": "one", "method": method, "params": {"_meta": META, **(params or {})}}
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method} | ({"Mcp_Name": name} if name else {}) | headers
    return send("POST", message=message, **headers)


def token_of(name, *grants):
    environment = {"HOME": FOLDER, "CORK_URL": URL, "CORK_TOKEN": TOKEN, "PATH": os.environ["PATH"]}
    command = [CORK, "token", "create", "--principal", name, "--json", *grants]
    ran = subprocess.run(command, env=environment, cwd=FOLDER, capture_output=True, text=True)
    assert ran.returncode == 0, ran
    return json.loads(ran.stdout)["secret"]


def without_a_token():
    for token in (None, "cork_wrong"):
        refused = rpc("initialize", CLIENT, token=token)
        assert refused.status == 401, refused
        challenge = refused.headers["WWW-Authenticate"]
        metadata = re.fullmatch(r'Bearer .*resource_metadata="([^"]+)".*', challenge)[1]
        assert metadata.startswith(URL), (metadata, URL)
        for path in (urllib.parse.urlsplit(metadata).path, "/.well-known/oauth-protected-resource"):
            document = send("GET", path, token=None)
            assert document.status == 200, document
            assert document.json["resource"] == f"{URL}/mcp", document
            assert document.json["bearer_methods_supported"] == ["header"], document


def other_hosts_and_origins():
    for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        refused = rpc("initialize", CLIENT, **header)
        assert refused.status == 403, (header, refused)
        refused = modern("server/discover", **header)
        assert refused.status == 403, (header, refused)
    assert rpc("initialize", CLIENT, Origin=URL).status == 200


def sessions():
    ada, ben = token_of("ada", "--agents", "ada"), token_of("ben", "--agents", "ben")
    begun = rpc("initialize", CLIENT, token=ada)
    session = begun.headers["Mcp-Session-Id"]
    assert begun.status == 200 and session, begun
    send("POST", message={"jsonrpc": "2.0", "method": "notifications/initialized"}, token=ada, Mcp_Session_Id=session)
    own = rpc("tools/list", token=ada, Mcp_Session_Id=session)
    assert own.status == 200 and own.json["result"]["tools"], own
    # Neither another token nor an admin's may use or end the session.
    for other in (ben, TOKEN):
        for refused in (
            rpc("tools/list", token=other, Mcp_Session_Id=session),
            send("DELETE", token=other, Mcp_Session_Id=session),
            send("GET", token=other, Mcp_Session_Id=session),
        ):
            assert refused.status == 404, refused
    assert rpc("tools/list", token=None, Mcp_Session_Id=session).status == 401
    assert rpc("tools/list", token=ada, Mcp_Session_Id="no-such-session").status == 404
    # A token opens only the memory that it was granted.
    written = {"name": "write_memory", "arguments": {"key": "secret", "content": "ada's"}}
    assert not rpc("tools/call", written, token=ada, Mcp_Session_Id=session).json["result"]["isError"]
    for token, path in ((ben, "/mcp?agent=ada"), (ada, "/mcp?agent=ben")):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": META, **written}}
        headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": "write_memory"}
        refused = send("POST", path, call, token, **headers)
        assert refused.json["result"]["isError"], refused
        assert "may not" in str(refused.json) or "access" in str(refused.json), refused
    assert send("DELETE", token=ada, Mcp_Session_Id=session).status in (200, 202, 204)
    assert rpc("tools/list", token=ada, Mcp_Session_Id=session).status == 404


def without_a_session():
    discovered = modern("server/discover")
    result = discovered.json["result"]
    assert discovered.status == 200 and discovered.json["id"] == "one", discovered
    assert MODERN in result["supportedVersions"] and result["resultType"] == "complete", result
    assert "memory" in result["instructions"] and result["capabilities"]["resources"]["subscribe"], result
    assert "Mcp-Session-Id" not in discovered.headers, discovered
    listed = modern("tools/list").json["result"]
    assert listed["tools"] and listed["ttlMs"] >= 0 and listed["cacheScope"] in ("private", "public"), listed
    assert [tool["name"] for tool in modern("tools/list").json["result"]["tools"]] == [tool["name"] for tool in listed["tools"]]
    call = {"name": "write_memory", "arguments": {"key": "colour", "content": "ultramarine"}}
    written = modern("tools/call", call, "write_memory")
    assert written.status == 200 and not written.json["result"]["isError"], written
    read = modern("tools/call", {"name": "read_memory", "arguments": {"key": "colour"}}, "read_memory")
    assert "ultramarine" in read.json["result"]["content"][0]["text"], read
    # The headers must say what the body says.
    for wrong in (
        modern("tools/call", call, "another_tool"),
        modern("tools/call", call),
        modern("tools/list", Mcp_Method="prompts/list"),
        modern("tools/list", MCP_Protocol_Version="2025-11-25"),
    ):
        assert wrong.status == 400 and wrong.json["error"]["code"] == -32020, wrong
    future = {"_meta": META | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
    unknown = modern("tools/list", future, MCP_Protocol_Version="2099-01-01")
    assert unknown.status == 400 and unknown.json["error"]["code"] == -32022, unknown
    assert MODERN in unknown.json["error"]["data"]["supported"], unknown
    for removed in ("ping", "logging/setLevel", "no/such/method"):
        gone = modern(removed)
        assert gone.status == 404 and gone.json["error"]["code"] == -32601, gone


for check in (without_a_token, other_hosts_and_origins, sessions, without_a_session):
    check()
    print(f"access, {check.__name__.replace('_', ' ')}: ok")
