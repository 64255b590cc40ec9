"""Authorization requests and their callbacks."""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from gatehouse_client.errors import GatehouseError, to_one_line

_OURS = ("code", "state", "iss", "error", "error_description", "error_uri", "reason")
_MAX_ISSUER = 200

# Anything but a bare query: a URL, a path, or a query with its question mark.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|[/?]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """Send the visitor to `url`; keep `state` and `code_verifier` in their session until they come back."""

    url: str
    state: str
    code_verifier: str = field(repr=False)


def begin(endpoint: str, parameters: dict[str, str]) -> Authorization:
    """With a fresh state, and PKCE (RFC 7636)."""
    state = secrets.token_urlsafe(32)
    code_verifier = secrets.token_urlsafe(32)
    digest = hashlib.sha256(code_verifier.encode()).digest()
    query = parameters | {
        "response_type": "code",
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    return Authorization(url=f"{endpoint}?{urlencode(query)}", state=state, code_verifier=code_verifier)


def read_code(callback_url: str, state: str, issuer: str) -> str:
    """Checks the state and issuer of a callback before anything else."""
    response = _Callback(callback_url)
    if response.get("state") != state:
        raise GatehouseError("state_mismatch", "The state of the callback is not that of this visitor.")
    # RFC 9207 §2.4: prevents sending another server's code to this one.
    if response.get("iss") != issuer:
        named = to_one_line(response.get("iss") or "no issuer", _MAX_ISSUER)
        raise GatehouseError("issuer_mismatch", f"The callback names {named} where it should name {issuer} (base_url).")
    error = response.get("error")
    if error:
        raise GatehouseError(
            error, response.get("error_description"), reason=response.get("reason"), uri=response.get("error_uri")
        )
    code = response.get("code")
    if not code:
        raise GatehouseError("invalid_response", "The callback has neither a code nor an error.")
    return code


class _Callback:
    __slots__ = ("_parameters",)

    def __init__(self, callback_url: str) -> None:
        address = callback_url.partition("#")[0]
        query = address.partition("?")[2] if _ADDRESS.match(address) else address
        pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] in _OURS]
        self._parameters = dict(pairs)
        # RFC 6749 §3.1: no parameter may be repeated.
        if len(pairs) > len(self._parameters):
            raise GatehouseError("invalid_response", "The callback has a repeated parameter.")

    def get(self, name: str) -> str | None:
        """RFC 6749 §3.1: a parameter without a value counts as absent."""
        return self._parameters.get(name) or None

