"""Failed attempts, as errors without secrets."""

from email.message import Message
from http.client import HTTPException

from gatehouse_client._request import MAX_RESPONSE_BYTES
from gatehouse_client.errors import GatehouseError


def too_large(status: int, headers: "Message[str, str]") -> GatehouseError:
    description = f"The response is over {MAX_RESPONSE_BYTES} bytes."
    return GatehouseError("response_too_large", description, status=status, request_id=headers.get("x-request-id"))


def explain_failure(cause: Exception, timeout: float) -> GatehouseError:
    if isinstance(cause, TimeoutError):
        error = GatehouseError("timeout", f"There was no complete response within {timeout:g} seconds.")
    elif isinstance(cause, OSError) and not isinstance(cause, HTTPException):
        error = GatehouseError("network_error", f"There was no response: {cause}.")
    else:
        # It may contain a part of the response, or a proxy's password, so neither its text nor itself is passed on.
        troubles = f"The response is incomplete or not HTTP, or a proxy's address is wrong ({type(cause).__name__})."
        return GatehouseError("network_error", troubles)
    error.__cause__ = _stripped(cause)
    return error


def _stripped(cause: OSError) -> OSError:
    """Removes the traceback: its frames contain the request, and error reporters record frames."""
    cause.__traceback__ = cause.__context__ = cause.__cause__ = None
    return cause
