"""Uploads and downloads of files."""

from __future__ import annotations

import http.client
import mimetypes
import os
import urllib.parse
from typing import BinaryIO, Dict, Iterator, Mapping, Optional, Union, cast

from .content import Content
from .http import HttpClient, quote
from .types import FileItem

_PIECE_BYTES = 64 * 1024
#: Python's own table. Those of systems differ, and have types that nobody expects, such as one of Excel for CSV.
_TYPES = mimetypes.MimeTypes()


class Download:
    """
    The bytes of a file, in pieces as they arrive: ``for piece in download``. Read it once. Use it as a context manager to close the
    connection early.
    """

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        #: Such as ``image/png``.
        self.media_type: str = response.headers["content-type"]
        #: How many bytes arrive; ``None`` if a proxy in between does not tell.
        self.size: Optional[int] = response.length

    def read(self) -> bytes:
        """Returns all bytes. Raises ``OSError`` if the download breaks off."""
        return b"".join(self)

    def close(self) -> None:
        self._response.close()

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        """Raises ``OSError`` if the download breaks off: continue it with the ``start`` of another one."""
        received = 0
        with self:
            try:
                while piece := self._response.read(_PIECE_BYTES):
                    received += len(piece)
                    yield piece
            except http.client.HTTPException as error:
                raise ConnectionError("The download broke off.") from error
        # ``HTTPResponse`` does not tell the end of the connection from that of the body.
        if self.size is not None and received < self.size:
            raise ConnectionError(f"The download broke off after {received} of {self.size} bytes.")


class Files:
    """Uploads and downloads. ``FILE_GET``, ``FILE_LIST`` and ``FILE_DELETE`` are management tools."""

    def __init__(self, http_client: HttpClient) -> None:
        self._http = http_client

    def upload(
        self,
        source: Union[bytes, str, "os.PathLike[str]", BinaryIO],
        media_type: Optional[str] = None,
        filename: Optional[str] = None,
    ) -> FileItem:
        """
        Stores a file, for messages: these bytes, the file at this path, or what a binary file has from its position on, which is sent as
        it is read. An upload that breaks off leaves nothing, and is not repeated.

        Raises ``SignalboxError``, such as ``file_type_mismatch`` if the bytes contradict the type.

        :param media_type: by default what the name stands for; without a name, the service recognizes images, PDFs, sound and the like
            by their first bytes, and takes every other text for text/plain
        :param filename: for people; by default that of the path
        """
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as file:
                return self.upload(file, media_type, filename or os.path.basename(source))
        headers = {"content-type": media_type or _type_of(filename), **_disposition_of(filename)}
        return cast(FileItem, self._http.json("files", content=Content(source), headers=headers)["item"])

    def download(self, file_id: str, start: int = 0, end: Optional[int] = None) -> Download:
        """
        Reads a file, or its bytes from ``start`` up to, but not including, ``end``. Returns when they begin.

        Raises ``SignalboxError``, such as ``file_deleted``, or ``range_not_satisfiable`` if the file ends before ``start``.
        """
        return Download(self._http.send(f"files/{quote(file_id)}", headers=_range_of(start, end)))


def _type_of(filename: Optional[str]) -> str:
    media_type, encoding = _TYPES.guess_type(filename or "")
    # The type of a name such as ``a.csv.gz`` is that of what is compressed.
    return "application/octet-stream" if media_type is None or encoding is not None else media_type


def _disposition_of(filename: Optional[str]) -> Dict[str, str]:
    """RFC 6266, with the name in the form of RFC 8187, which has room for every character."""
    if filename is None:
        return {}
    encoded = urllib.parse.quote(filename, safe="", errors="replace")
    return {"content-disposition": f"attachment; filename*=UTF-8''{encoded}"}


def _range_of(start: int, end: Optional[int]) -> Mapping[str, str]:
    """The service ignores a range that it does not understand, and would send the whole file."""
    if start < 0 or (end is not None and end <= start):
        raise ValueError(f"There are no bytes from {start} up to {end}.")
    if start == 0 and end is None:
        return {}
    return {"range": f"bytes={start}-{'' if end is None else end - 1}"}
