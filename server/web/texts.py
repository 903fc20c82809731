"""The languages of the pages: their catalogues, and the language of a request.

A text is written in English where it is used: in a block `trans` of a template, or in a call of
`gettext`, `ngettext` (with a number) or `pgettext` (with a context). The catalogue of a language,
`languages/CODE.po`, has the translations; a text without one is shown in English. Texts that come
as data, such as names of games and errors of the server, are lines of `languages/data.txt`, or in
descriptions of games; `Language.told` translates them. `scripts/languages` collects all texts for
the catalogues.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from gettext import GNUTranslations, NullTranslations, c2py
from importlib.resources import files
from io import BytesIO
from typing import Any

import msgspec
from babel import Locale
from babel.dates import format_date, format_time
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, get_decimal_symbol

from playout import games
from playout.commands.text import utc
from playout.protocol.messages import TimeControl
from playout.protocol.time_control import decimal, parse_time_controls

#: The context of the texts that come as data.
DATA = "data"
#: The context of the texts with the rules of games.
RULES = "rules"
#: The cookie with the language that a person has chosen.
COOKIE = b"language"
_FOLDER = files("playout.server.web").joinpath("languages")
#: A value within a text, as in "%(name)s resigned".
_VALUE = re.compile(r"%\((\w+)\)s")
#: A number, maybe with a limit, an error or a total, as in "+12.3 ± 4.5", "95.8%" or "12.5/20".
_FIGURE = re.compile(r"([<>] )?[-+]?\d+(\.\d+)?%?( ± \d+(\.\d+)?)?(/\d+)?")
#: Numbers that have all plural forms of a language.
_SAMPLES = range(200)


class Language:
    """A language of the pages; `code` is a tag such as `zh-Hans`, `name` what its speakers call it.

    `script_texts` are the texts of scripts as JSON, and `version` is a hash of them; `data` has the
    texts that come as data.
    """

    def __init__(self, code: str, catalog: Catalog | None = None) -> None:
        """Without a catalogue, all texts stay in English."""
        self.code = code
        self._locale = Locale.parse(code, sep="-")
        name = self._locale.get_display_name() or code
        self.name = name[0].upper() + name[1:]
        self._translations = NullTranslations()
        self.script_texts = b""
        self.data: dict[str, str] = {}
        if catalog is not None:
            usable = _complete(catalog)
            compiled = BytesIO()
            write_mo(compiled, catalog)
            compiled.seek(0)
            self._translations = GNUTranslations(compiled)
            self.script_texts = msgspec.json.encode(self._for_scripts(usable, catalog.plural_expr))
            self.data = {_plain(each.id): each.string for each in usable if _is_data(each)}
        self.version = hashlib.sha256(self.script_texts).hexdigest()[:16]
        self.decimal_sign = get_decimal_symbol(self._locale)
        self.gettext = self._translations.gettext
        self.ngettext = self._translations.ngettext
        self.pgettext = self._translations.pgettext
        self.npgettext = self._translations.npgettext

    @property
    def is_translated(self) -> bool:
        """Whether the language has a catalogue."""
        return bool(self.script_texts)

    def told(self, text: str) -> str:
        """Translate a text that comes as data; it stays as it is if it is not known."""
        if text in self.data:
            return _plain(self.data[text])
        for pattern, translation in self._patterns:
            if found := pattern.fullmatch(text):
                values = found.groupdict()
                return translation % {name: self.figure(text) for name, text in values.items()}
        return text

    def figure(self, text: str) -> str:
        """A number as text, with the decimal sign of the language; other texts stay."""
        return text.replace(".", self.decimal_sign) if _FIGURE.fullmatch(text) else text

    def rules(self, text: str) -> str:
        """Translate a text with the rules of a game; one of a game that is not known stays."""
        return self.pgettext(RULES, text) if text else text

    def number(
        self, value: float, digits: int = 0, *, sign: bool = False, grouped: bool = False
    ) -> str:
        """A number with `digits` decimals, optionally with a plus sign and groups of digits."""
        value = round(value, digits) or 0.0  # not -0
        shape = ("#,##0" if grouped else "0") + ("." + "0" * digits if digits else "")
        return format_decimal(value, f"+{shape};-{shape}" if sign else shape, self._locale)

    def moment(self, at: float) -> str:
        """The UTC date and time of seconds since 1970."""
        if not self.is_translated:
            return f"{utc(at):%Y-%m-%d %H:%M}"
        return f"{self.day(at)} {format_time(utc(at), 'short', locale=self._locale)}"

    def day(self, at: float) -> str:
        """The UTC date of seconds since 1970; in English as ISO 8601 has it, for any country."""
        if not self.is_translated:
            return f"{utc(at):%Y-%m-%d}"
        return format_date(utc(at), "medium", self._locale)

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """The texts of data with placeholders, those with the most fixed words first."""
        found = []
        longest_first = sorted(self.data.items(), key=lambda each: -len(_VALUE.sub("", each[0])))
        for text, translation in longest_first:
            if _VALUE.search(text):
                parts = _VALUE.split(text)
                parts[::2] = map(re.escape, parts[::2])
                parts[1::2] = [f"(?P<{name}>.+)" for name in parts[1::2]]
                found.append((re.compile("".join(parts)), translation))
        return found

    def _for_scripts(
        self, messages: Iterable[Any], plural_expr: str
    ) -> Mapping[str, str | Mapping[str, str]]:
        """The texts of scripts by message; those with a number by the category of its plural."""
        index_of, form_of = c2py(plural_expr), self._locale.plural_form
        categories = {form_of(number): index_of(number) for number in _SAMPLES}
        found: dict[str, str | Mapping[str, str]] = {}
        for each in messages:
            if not (_is_data(each) or any(file.endswith(".js") for file, _ in each.locations)):
                continue
            if each.pluralizable:
                forms = each.string
                found[each.id[0]] = {name: forms[at] for name, at in categories.items()}
            elif _is_data(each):
                found[f"{DATA}\4{_plain(each.id)}"] = each.string
            else:
                found[f"{each.context}\4{each.id}" if each.context else each.id] = each.string
        return found


def _complete(catalog: Catalog) -> list[Any]:
    """The messages of a catalogue that have a translation; the others are removed."""
    found: list[Any] = []
    for each in list(catalog):
        strings: Any = each.string if each.pluralizable else (each.string,)
        if each.id and all(strings) and not each.fuzzy:
            found.append(each)
        elif each.id:
            catalog.delete(each.id, each.context)
    return found


def _is_data(message: Message) -> bool:
    return message.context == DATA


def _plain(text: str) -> str:
    """A text with its per cent signs."""
    return text.replace("%%", "%")


def _languages() -> dict[str, Language]:
    catalogs = {}
    for file in sorted(_FOLDER.iterdir(), key=lambda file: file.name):
        name, _, suffix = file.name.partition(".")
        if suffix == "po":
            with file.open("rb") as opened:
                code = name.replace("_", "-")
                catalogs[code] = Language(code, read_po(opened, locale=name))
    return {ENGLISH.code: ENGLISH, **catalogs}


ENGLISH = Language("en")
#: The languages by code.
LANGUAGES = _languages()


def language_of(chosen: str | None, accepted: str) -> Language:
    """The language of a request: the chosen one, or the first one of `Accept-Language`."""
    if chosen in LANGUAGES:
        return LANGUAGES[chosen]
    for tag in _by_preference(accepted):
        for language in LANGUAGES.values():
            if tag.split("-")[0] == language.code.split("-")[0]:
                return language
    return ENGLISH


def told_in(code: str, text: str) -> str:
    """Translate a text that comes as data into the language of a code; English if unknown."""
    return language_of(code, "").told(text)


def _by_preference(accepted: str) -> list[str]:
    """The tags of an `Accept-Language`, in lower case, the most wanted first."""
    wanted = []
    for each in accepted.split(","):
        tag, _, quality = each.strip().lower().partition(";")
        weight = re.fullmatch(r"\s*q\s*=\s*([01](?:\.\d*)?)\s*", quality)
        wanted.append((float(weight[1]) if weight else float(not quality), tag.strip()))
    return [tag for weight, tag in sorted(wanted, key=lambda each: -each[0]) if weight]


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
