"""Subscriptions of browsers are written in a thread, one state at a time, the last one always."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from playout.server.core.effects import KeepPush
from playout.server.net import push_sender
from playout.server.net.push_sender import PushSender
from support.threads import Loop

TIMEOUT_S = 60.0


class SlowDisk:
    """Lets a write go on when it is told to, and keeps what each has written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written: list[set[str]] = []
        self.threads: set[int] = set()
        self.begun = threading.Semaphore(0)
        self.allowed = threading.Semaphore(0)
        monkeypatch.setattr(push_sender.os, "replace", self.replace)
        self._replace = os.rename

    def replace(self, new: str, file: Path) -> None:
        self.begun.release()
        assert self.allowed.acquire(timeout=TIMEOUT_S)
        self.threads.add(threading.get_ident())
        self.written.append(set(json.loads(Path(new).read_bytes())))
        self._replace(new, file)

    def await_write(self) -> None:
        assert self.begun.acquire(timeout=TIMEOUT_S)


def started(loop: Loop, folder: Path) -> PushSender:
    return PushSender(loop, folder, "mailto:me@example.org", lambda _, text: text)


def subscribe(sender: PushSender, *accounts: str) -> None:
    for account in accounts:
        sender.keep(KeepPush(account, "https://push.example.org/1", {"auth": account}))


def stored(folder: Path) -> set[str]:
    return set(json.loads((folder / "subscriptions.json").read_bytes()))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


def test_the_last_change_during_a_write_is_written(disk: SlowDisk, tmp_path: Path) -> None:
    loop = Loop()
    sender = started(loop, tmp_path)
    subscribe(sender, "Ann")
    disk.await_write()
    subscribe(sender, "Bob", "Cid")
    disk.allowed.release(2)
    loop.run_one()
    loop.run_one()
    assert disk.written == [{"Ann"}, {"Ann", "Bob", "Cid"}]
    assert threading.get_ident() not in disk.threads
    loop.stop()
    assert len(disk.written) == 2
    assert stored(tmp_path) == {"Ann", "Bob", "Cid"}


def test_the_end_of_the_server_waits_for_the_last_state(disk: SlowDisk, tmp_path: Path) -> None:
    loop = Loop()
    sender = started(loop, tmp_path)
    subscribe(sender, "Ann")
    disk.await_write()
    subscribe(sender, "Bob")
    disk.allowed.release(2)
    loop.stop()
    assert stored(tmp_path) == {"Ann", "Bob"}
    assert started(loop, tmp_path)._subscriptions.keys() == {"Ann", "Bob"}
