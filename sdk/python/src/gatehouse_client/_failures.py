"""Attempts that gave no usable answer, as errors that hold no secret."""

from email.message import Message
from http.client import HTTPException

from gatehouse_client._request import LARGEST_ANSWER
from gatehouse_client.errors import GatehouseError


def too_large(status: int, headers: "Message[str, str]") -> GatehouseError:
    description = f"The answer is over {LARGEST_ANSWER} bytes, and was not read further."
    return GatehouseError("answer_too_large", description, status=status, request_id=headers.get("x-request-id"))


def explain_failure(cause: Exception, timeout: float) -> GatehouseError:
    if isinstance(cause, TimeoutError):
        error = GatehouseError("timeout", f"No whole answer came within {timeout:g} seconds.")
    elif isinstance(cause, OSError) and not isinstance(cause, HTTPException):
        error = GatehouseError("network_error", f"No answer came: {cause}.")
    else:
        # It may hold a part of the answer, or a proxy's password, so neither its text nor itself goes further.
        troubles = f"The answer is broken off or not HTTP, or a proxy's address is wrong ({type(cause).__name__})."
        return GatehouseError("network_error", troubles)
    error.__cause__ = _stripped(cause)
    return error


def _stripped(cause: OSError) -> OSError:
    """Its traceback leads through frames that hold the request, and error reporters record what is in frames."""
    cause.__traceback__ = cause.__context__ = cause.__cause__ = None
    return cause
