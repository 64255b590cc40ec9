"""What an error reporter finds in an error."""

from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_TESTS = str(Path(__file__).resolve().parent)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    if error is not None:
        yield error
        yield from chain(error.__cause__)
        yield from chain(error.__context__)


def library_frames(error: BaseException) -> Iterator[FrameType]:
    """All but those of the tests, which know every secret."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_TESTS):
            yield trace.tb_frame
        trace = trace.tb_next
