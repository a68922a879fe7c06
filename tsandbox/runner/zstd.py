"""Zstandard, which this Python's library does not know: the C library reads it, which the runner brings along."""

import ctypes
import io
from functools import cache
from typing import Any, BinaryIO

LIBRARY = "libzstd.so.1"
_CHUNK = 1 << 17


class _Buffer(ctypes.Structure):
    """ZSTD_inBuffer and ZSTD_outBuffer, which have the same shape."""

    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t), ("position", ctypes.c_size_t))


@cache
def library() -> Any:
    """The C library, or None where there is none."""
    try:
        found = ctypes.CDLL(LIBRARY)
        found.ZSTD_createDStream.restype = ctypes.c_void_p
        found.ZSTD_freeDStream.argtypes = (ctypes.c_void_p,)
        buffer = ctypes.POINTER(_Buffer)
        found.ZSTD_decompressStream.argtypes = (ctypes.c_void_p, buffer, buffer)
        found.ZSTD_decompressStream.restype = ctypes.c_size_t
        found.ZSTD_isError.argtypes = (ctypes.c_size_t,)
        found.ZSTD_getErrorName.argtypes = (ctypes.c_size_t,)
        found.ZSTD_getErrorName.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None
    return found


class Decompressed(io.RawIOBase):
    """What is inside of a compressed file, as a file."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._stream = library().ZSTD_createDStream()
        self._data = b""
        self._packed = _Buffer(None, 0, 0)
        self._whole = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            library().ZSTD_freeDStream(self._stream)
        super().close()

    def readinto(self, target: Any) -> int:
        plain = _Buffer(ctypes.addressof(ctypes.c_char.from_buffer(target)), len(target), 0)
        while not self._advance(plain):
            # `_data` is named so that it lives as long as the pointer to it.
            self._data = self._source.read(_CHUNK)
            if not self._data and not self._whole:
                raise EOFError("it ends before its end")
            if not self._data:
                return 0
            start = ctypes.cast(ctypes.c_char_p(self._data), ctypes.c_void_p)
            self._packed = _Buffer(start, len(self._data), 0)
        return int(plain.position)

    def _advance(self, plain: _Buffer) -> bool:
        """Decompress what there is; whether something came of it. Output may wait in the library without new input."""
        before = self._packed.position
        left = library().ZSTD_decompressStream(self._stream, ctypes.byref(plain), ctypes.byref(self._packed))
        if library().ZSTD_isError(left):
            raise OSError(library().ZSTD_getErrorName(left).decode())
        if plain.position or self._packed.position > before:
            self._whole = left == 0
        return bool(plain.position)
