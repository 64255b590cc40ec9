"""Requests with the app's credentials, for threads and for tasks."""

import base64
import json
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from gatehouse_client import _arguments as arguments
from gatehouse_client._pages import Query
from gatehouse_client._request import Request
from gatehouse_client.authorization import Authorization, begin, read_code


class AppRequests:
    __slots__ = ("_base_url", "_credentials", "_redirect_uri")

    def __init__(self, base_url: str, client_id: object, client_secret: object, redirect_uri: object) -> None:
        self._base_url = base_url
        self._redirect_uri = arguments.read_redirect_uri(redirect_uri)
        self._credentials = _Credentials(
            client_id=arguments.read_text("client_id", client_id),
            client_secret=arguments.read_text("client_secret", client_secret),
        )

    def __repr__(self) -> str:
        return f"base_url={self._base_url!r}, client_id={self._credentials.client_id!r}"

    def begin(self, scopes: object, optional_scopes: object, prompt: object) -> Authorization:
        parameters = {
            "client_id": self._credentials.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(arguments.read_scopes("scopes", scopes)),
        }
        if optional_scopes is not None:
            parameters["optional_scope"] = " ".join(arguments.read_scopes("optional_scopes", optional_scopes))
        if arguments.read_prompt(prompt) is not None:
            parameters["prompt"] = str(prompt)
        return begin(f"{self._base_url}/api/v1/oauth/authorize", parameters)

    def exchange(self, callback_url: object, state: object, code_verifier: object) -> Request:
        if not isinstance(callback_url, str):
            raise TypeError(f"callback_url must be text, not {type(callback_url).__name__}.")
        return self._post(
            "token",
            grant_type="authorization_code",
            redirect_uri=self._redirect_uri,
            code_verifier=arguments.read_text("code_verifier", code_verifier),
            code=read_code(callback_url, arguments.read_text("state", state), self._base_url),
        )

    def refresh(self, refresh_token: object, scopes: object) -> Request:
        narrowed = {} if scopes is None else {"scope": " ".join(arguments.read_scopes("scopes", scopes))}
        token = arguments.read_token("refresh_token", refresh_token)
        return self._post("token", grant_type="refresh_token", refresh_token=token, **narrowed)

    def revoke(self, token: object) -> Request:
        return self._post("revoke", token=arguments.read_token("token", token))

    def introspect(self, token: object) -> Request:
        return self._post("introspect", token=arguments.read_token("token", token))

    def events(self, query: Query) -> Request:
        path = "/api/v1/events" + (f"?{urlencode(query)}" if query else "")
        return Request("GET", path, self._credentials.to_headers())

    def _post(self, endpoint: str, **fields: str) -> Request:
        body = json.dumps(fields | self._credentials.to_fields()).encode()
        return Request("POST", f"/api/v1/oauth/{endpoint}", {"content-type": "application/json"}, body)


@dataclass(frozen=True, slots=True)
class _Credentials:
    client_id: str
    client_secret: str = field(repr=False)

    def to_fields(self) -> dict[str, str]:
        return {"client_id": self.client_id, "client_secret": self.client_secret}

    def to_headers(self) -> dict[str, str]:
        """RFC 6749 §2.3.1: form-encoded, which also makes it ASCII."""
        pair = ":".join(quote(part, safe="") for part in (self.client_id, self.client_secret))
        return {"authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
