"""An application with the official Python client: a line of output for each authorize URL, and at the end what the tools say.

The redirect that follows is read from the standard input, as an application would receive it at its redirect URI. MCP_STORED is
what an earlier run has stored, if anything.
"""

import asyncio
import json
import os
import sys
from urllib.parse import parse_qsl, urlsplit

from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

URL = os.environ["MCP_URL"]


class Storage:
    """Keeps the tokens and the registration for as long as the program runs."""

    def __init__(self, stored: dict) -> None:
        self.tokens = OAuthToken(**stored["tokens"]) if stored else None
        self.client = OAuthClientInformationFull(**stored["client"]) if stored else None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def open_browser(url: str) -> None:
    print(json.dumps({"open": url}), flush=True)


async def wait_for_redirect() -> AuthorizationCodeResult:
    redirect = await asyncio.to_thread(input)
    return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(redirect).query)))


async def main() -> None:
    metadata = OAuthClientMetadata(
        client_name="Python assistant",
        redirect_uris=["http://127.0.0.1:33419/callback"],
        token_endpoint_auth_method="none",
    )
    storage = Storage(json.loads(os.environ["MCP_STORED"]))
    auth = OAuthClientProvider(URL, metadata, storage, open_browser, wait_for_redirect)
    async with create_mcp_http_client(auth=auth) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=os.environ["MCP_MODE"]) as client:
            listed = await client.list_tools()
            results = [await client.call_tool(name, arguments) for name, arguments in json.loads(sys.argv[1])]
            said = {
                "revision": client.protocol_version,
                "tools": len(listed.tools),
                "results": [result.structured_content for result in results],
                "client": storage.client.client_id,
                "scope": storage.tokens.scope,
            }
            print(json.dumps(said), flush=True)


asyncio.run(main())
