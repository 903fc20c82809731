"""Hashes passwords and compares them in a thread: each takes 30 ms of processor time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from playout.server.core.effects import CheckPassword

#: Parameters of OWASP's Password Storage Cheat Sheet for Argon2id: 19 MiB, two passes, one lane.
_MEMORY_KIB, _PASSES, _LANES = 19 * 1024, 2, 1
_SALT_BYTES, _HASH_BYTES = 16, 32

_log = Logger(namespace="server")


def checked(password: str, hashed: str) -> str:
    """Return the hash of a password; if `hashed` is given, that, or an empty text if it differs."""
    if not hashed:
        new = Argon2id(
            salt=os.urandom(_SALT_BYTES),
            length=_HASH_BYTES,
            iterations=_PASSES,
            lanes=_LANES,
            memory_cost=_MEMORY_KIB,
        )
        return new.derive_phc_encoded(password.encode())
    try:
        Argon2id.verify_phc_encoded(password.encode(), hashed)
    except InvalidKey:
        return ""
    return hashed


class PasswordChecks:
    """One thread, which ends when the reactor stops."""

    def __init__(self, reactor: Any, told: Callable[[int, str], None]) -> None:
        """`told` is called with the number of each check and its result."""
        self._reactor = reactor
        self._told = told
        self._pool = ThreadPool(0, 1, name="passwords")
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._pool.stop)

    def start(self, order: CheckPassword) -> None:
        """Check a password after those before."""

        def failed(failure: Failure) -> str:
            _log.failure("cannot check a password", failure)
            return ""

        done = deferToThreadPool(self._reactor, self._pool, checked, order.password, order.hashed)
        done.addErrback(failed)
        done.addCallback(lambda result: self._told(order.check, result))
        done.addErrback(failed)
