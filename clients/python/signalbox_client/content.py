"""Bodies of requests that are not JSON."""

from __future__ import annotations

from typing import BinaryIO, Optional, Union


class Content:
    """A body that is sent as it is: bytes, or what a file has from its position on."""

    def __init__(self, source: Union[bytes, BinaryIO]) -> None:
        self._source = source
        self._start = None if isinstance(source, bytes) else _position_of(source)
        #: False for a file that cannot go back, such as a pipe.
        self.can_be_repeated = isinstance(source, bytes) or self._start is not None

    def rewound(self) -> Union[bytes, BinaryIO]:
        """The source, at the position from which it is sent."""
        if not isinstance(self._source, bytes) and self._start is not None:
            self._source.seek(self._start)
        return self._source


def _position_of(file: BinaryIO) -> Optional[int]:
    try:
        return file.tell()
    except (AttributeError, OSError):
        return None
