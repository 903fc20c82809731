"""A Python function that compiled code calls, once for each batch of leaves."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from numba import types

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


class Callback(types.WrapperAddressProtocol):  # type: ignore[misc]
    """Wraps a function of a whole number, for compiled code and for its uncompiled version.

    Called by compiled code, it returns 1, or 0 if the function raised an exception, which
    `raise_error` raises again: no exception passes through compiled code.
    """

    def __init__(self, function: Callable[[int], None]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._pointer = _PROTOTYPE(self)

    def __call__(self, n: int) -> int:
        try:
            self._function(n)
        except BaseException as error:  # Ctrl-C, too
            self._error = error
            return 0
        return 1

    def raise_error(self) -> None:
        """Raise the exception that the last calls have stored, if any."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __wrapper_address__(self) -> int:
        return ctypes.cast(self._pointer, ctypes.c_void_p).value or 0

    def signature(self) -> object:
        """Return the signature by which compiled code calls the function."""
        return types.int64(types.int64)
