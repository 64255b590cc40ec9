"""The one error that this library raises for whatever comes, or does not come, from Gatehouse."""


class GatehouseError(Exception):
    """Gatehouse refused, or no answer came that can be used.

    `code` is the answer's `error`, or one of `timeout`, `network_error`, `unreadable_answer`, `answer_too_large`,
    `state_mismatch` and `issuer_mismatch`. `reason` says more finely which thing went wrong; where the answer gave
    none, it is the code. `status` is None if no answer came at all. `retry_after` is in seconds.
    """

    code: str
    reason: str
    status: int | None
    description: str | None
    uri: str | None
    request_id: str | None
    retry_after: float | None

    def __init__(
        self,
        code: str,
        description: str | None = None,
        status: int | None = None,
        reason: str | None = None,
        uri: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        message = code if description is None else f"{code}: {description}"
        super().__init__(message if request_id is None else f"{message} (request {request_id})")
        self.code = code
        self.reason = code if reason is None else reason
        self.status = status
        self.description = description
        self.uri = uri
        self.request_id = request_id
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type["GatehouseError"], tuple[object, ...]]:
        # An exception is otherwise rebuilt from its message alone, and could not cross to another process.
        return type(self), (
            self.code,
            self.description,
            self.status,
            self.reason,
            self.uri,
            self.request_id,
            self.retry_after,
        )
