"""Lines that are read while something else happens."""

from __future__ import annotations

import io
import os
import threading

from playout.players.engines.engine_server import LONGEST_LINE, LineInput


def lines_of(text: bytes) -> list[str]:
    """All lines of an input."""
    source = LineInput(io.BytesIO(text))
    found = []
    while (line := source.next()) is not None:
        found.append(line)
    assert source.next() is None
    return found


def piped() -> tuple[LineInput, int]:
    """An input, and the descriptor that writes into it."""
    reading, writing = os.pipe()
    return LineInput(open(reading, "rb", buffering=0)), writing


def test_lines_come_without_their_ends() -> None:
    assert lines_of(b"") == []
    assert lines_of(b"a\nb\r\n\nc") == ["a", "b", "", "c"]
    assert lines_of(b"\xef\xbb\xbfuci\r\nquit\r\n") == ["uci", "quit"]
    assert lines_of(b"\xff\xfe\n") == ["\ufffd\ufffd"]


def test_a_line_without_an_end_is_cut() -> None:
    first, second = lines_of(b"x" * (3 * LONGEST_LINE + 7) + b"\nnext\n")
    assert set(first) == {"x"}
    assert LONGEST_LINE <= len(first) < 2 * LONGEST_LINE
    assert second == "next"


def test_a_line_calls_when_it_arrives_and_stays() -> None:
    source, writing = piped()
    called = threading.Event()
    with source.watched(called.set, lambda lines: "stop" in lines):
        os.write(writing, b"go on\nstop\n")
        assert called.wait(60)
    assert [source.next(), source.next()] == ["go on", "stop"]
    os.close(writing)
    assert source.next() is None


def test_other_lines_do_not_call() -> None:
    source, writing = piped()
    calls: list[int] = []
    with source.watched(lambda: calls.append(1), lambda lines: "stop" in lines):
        os.write(writing, b"go on\n")
        assert source.wait(60)
        assert source.next() == "go on"
    os.close(writing)
    assert calls == []


def test_a_line_that_arrived_before_calls_at_once() -> None:
    source = LineInput(io.BytesIO(b"a\nstop\n"))
    assert source.wait(60)
    calls: list[int] = []
    while not calls:  # until the thread has read it
        with source.watched(lambda: calls.append(1), lambda lines: "stop" in lines):
            pass
    assert source.next() == "a"


def test_after_the_block_no_line_calls() -> None:
    source, writing = piped()
    calls: list[int] = []
    with source.watched(lambda: calls.append(1), bool):
        pass
    os.write(writing, b"a\n")
    assert source.next() == "a"
    os.close(writing)
    assert source.next() is None
    assert calls == []


def test_a_wait_tells_whether_there_is_a_line() -> None:
    source, writing = piped()
    assert not source.wait(0)
    os.write(writing, b"a\n")
    assert source.wait(60)
    assert source.next() == "a"
    os.close(writing)
    assert source.wait(60)
