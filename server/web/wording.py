"""What people call games, clocks and durations, as `static/wording.js` writes them as well."""

from __future__ import annotations

from playout import games
from playout.protocol.messages import TimeControl
from playout.protocol.time_control import decimal, parse_time_controls
from playout.server.web.texts import ENGLISH, Language


def game_title(text: str, language: Language = ENGLISH) -> str:
    """What people call the game of a specification: "Go (size 9)"."""
    title, _, parameters = games.title(text).removesuffix(")").partition(" (")
    words = [language.told(each) for each in parameters.split(", ") if each]
    separator = language.gettext(", ")
    known = language.told(title)
    return f"{known} ({separator.join(words)})" if words else known


def clock_in_words(text: str, language: Language = ENGLISH) -> str:
    """A clock as people say it: "5 minutes + 3 seconds", or "no clock"."""
    both = parse_time_controls(text)
    if both is None:
        return language.gettext("no clock")
    first, second = (_time_in_words(each, language) for each in both)
    return first if first == second else f"{first} | {second}"


def _time_in_words(time: TimeControl, language: Language) -> str:
    main, period = _duration(time.main_s, language), _duration(time.period_s, language)
    if time.delay_s:
        texts = {"main": main, "delay": _duration(time.delay_s, language)}
        return language.gettext("%(main)s, delay %(delay)s") % texts
    if not time.periods:
        if not time.increment_s:
            return main
        return f"{main} + {_duration(time.increment_s, language)}"
    if time.periods == 1:
        periods = language.gettext("%(time)s a move") % {"time": period}
    else:
        periods = f"{time.periods} \N{MULTIPLICATION SIGN} {period}"
    if not time.main_s:
        return periods
    return language.gettext("%(main)s, then %(periods)s") % {"main": main, "periods": periods}


def _duration(seconds: float, language: Language) -> str:
    """A duration in the largest unit of which it is a multiple."""
    if seconds >= 86_400 and seconds % 86_400 == 0:
        return _days(int(seconds // 86_400), language)
    if seconds >= 3600 and seconds % 3600 == 0:
        return _hours(int(seconds // 3600), language)
    if seconds >= 60 and seconds % 60 == 0:
        return _minutes(int(seconds // 60), language)
    number = int(seconds) if seconds == int(seconds) else 2  # fractions have the plural
    written = decimal(seconds).replace(".", language.decimal_sign)
    return language.ngettext("%(num)s second", "%(num)s seconds", number) % {"num": written}


def about(seconds: float, language: Language = ENGLISH) -> str:
    """A duration in round numbers, such as "about 3 hours"."""
    for unit, words in ((86_400, _days), (3600, _hours), (60, _minutes)):
        if seconds >= unit:
            time = words(round(seconds / unit), language)
            return language.gettext("about %(time)s") % {"time": time}
    return language.gettext("less than a minute")


def _days(number: int, language: Language) -> str:
    return language.ngettext("%(num)s day", "%(num)s days", number) % {"num": number}


def _hours(number: int, language: Language) -> str:
    return language.ngettext("%(num)s hour", "%(num)s hours", number) % {"num": number}


def _minutes(number: int, language: Language) -> str:
    return language.ngettext("%(num)s minute", "%(num)s minutes", number) % {"num": number}
