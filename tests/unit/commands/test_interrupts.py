"""Ctrl-C with a text of a command's own."""

from __future__ import annotations

import signal

import pytest

from playout.commands import interrupts


def test_a_command_exits_with_its_own_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited, interrupts.with_text("The rest is stored."):
        raise KeyboardInterrupt
    assert exited.value.code == 130
    assert capsys.readouterr().err == "\nThe rest is stored.\n"


def test_the_exit_of_other_code_is_an_error_and_that_of_ctrl_c_is_none() -> None:
    told = r"it ends the program by sys.exit\('no key'\)"
    with pytest.raises(ValueError, match=told), interrupts.exit_as(ValueError):
        raise SystemExit("no key")
    with (
        pytest.raises(SystemExit),
        interrupts.exit_as(ValueError),
        interrupts.with_text("The rest is stored."),
    ):
        raise KeyboardInterrupt


def test_ctrl_c_is_delayed_until_what_was_stored_is_counted() -> None:
    counted = list[int]()

    def store() -> None:
        with interrupts.delayed():
            press = signal.getsignal(signal.SIGINT)  # a signal may end the process of the tests
            assert callable(press)
            press(signal.SIGINT, None)
            counted.append(1)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            store()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert counted == [1]
