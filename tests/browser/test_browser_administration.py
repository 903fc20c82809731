"""The page of administrators in a real browser: an administrator's round, and strangers."""

from __future__ import annotations

import re
import secrets
import tomllib

import pytest
from msgspec import structs
from playwright.sync_api import Dialog, Locator, Page, expect

from playout.commands.text import counted
from playout.server.core.accounts import digest
from playout.server.model.records import Account
from playout.server.storage import Database
from support.accessibility import accessibility_faults, require_axe
from support.browser import BrowserSite, BrowserUsers, start_match
from support.raw_client import RawClient
from support.waiting import wait_until

#: Names that must be shown as text.
NAMES = ("Ada", "<b>Bob</b>", "Cy : d#e%")


@pytest.fixture
def boss(site: BrowserSite) -> str:
    """The address of the invitation of an administrator."""
    token = secrets.token_hex(16)
    database = Database(site.database)
    database.put_account(
        Account(id="boss", name="Boss", digest=digest(token), created_at=0.0, administrator=True)
    )
    database.close()
    wait_until(lambda: is_known(site, "Boss", token))
    return f"/invite#Boss:{token}"


def is_known(site: BrowserSite, name: str, token: str) -> bool:
    """Whether the server knows an account, which it finds within seconds."""
    with RawClient(site.server.host, site.server.port) as client:
        return client.hello(name, token=token)["type"] == "welcome"


def log_in(people: BrowserUsers, invitation: str, name: str) -> Page:
    page = people.come(invitation, reduced_motion="reduce")
    page.get_by_role("button", name=f"Play as {name}").click()
    page.wait_for_url("**/")
    expect(page.locator("#identity")).to_have_text(name)
    return page


def answer(page: Page, text: str = "") -> None:
    """Accept the next dialog."""

    def accept(dialog: Dialog) -> None:
        dialog.accept(text) if text else dialog.accept()

    page.once("dialog", accept)


def row_of(page: Page, name: str) -> Locator:
    return (
        page.get_by_role("group", name="Accounts", exact=True)
        .get_by_role("row")
        .filter(has=page.get_by_role("link", name=name, exact=True))
    )


def test_an_administrators_round(people: BrowserUsers, site: BrowserSite, boss: str) -> None:
    page = log_in(people, boss, "Boss")
    page.locator("#identity").click()
    page.get_by_role("link", name="Administration of this server").click()
    expect(page.locator("#health")).to_have_text("The server is healthy.")

    # Accounts are created, and one of them is used by its link.
    page.get_by_text("Create accounts").click()
    page.get_by_label("Names, one on each line").fill("\n".join((*NAMES, "BOSS")))
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("'Boss' is registered")
    page.get_by_label("Names, one on each line").fill("\n\n".join(NAMES))
    page.get_by_role("button", name="Create", exact=True).click()
    links = page.get_by_role("group", name="Links of accounts").get_by_role("row")
    expect(links).to_have_count(1 + len(NAMES))
    expect(page.locator("#found")).to_have_text(f"{1 + len(NAMES)} found")
    addresses = [each.inner_text() for each in links.locator("code").all()]
    page.emulate_media(media="print")
    expect(page.locator("#links")).to_be_visible()
    expect(page.locator("#health")).not_to_be_visible()
    page.emulate_media(media="screen")
    for name, address in zip(NAMES[1:], addresses[1:], strict=True):
        log_in(people, address, name)
    ada = log_in(people, addresses[0], "Ada")
    again = people.come(addresses[0])
    again.get_by_role("button", name="Play as Ada").click()
    expect(again.get_by_role("alert")).to_contain_text("this is not the token")
    page.get_by_role("button", name="Hide them").click()

    # A match is aborted, and a player kicked.
    match = start_match(ada, "go", size=5)
    running = page.locator("#running").get_by_role("listitem").filter(has_text="Ada")
    expect(running.get_by_role("link")).to_have_attribute("href", f"/matches/{match}")
    expect(page.locator("#jobs")).to_contain_text(counted(1, "bot"))
    answer(page)
    running.get_by_role("button", name="Abort").click()
    expect(ada.locator("#status")).to_have_text("No result")
    answer(page)
    page.get_by_role("button", name="Kick Ada").click()
    expect(ada.locator("#connection")).to_contain_text("administrator has ended your session")

    # The account is found, renamed, locked, and its link replaced.
    page.get_by_label("Name contains").fill("ada")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#found")).to_have_text("1 found")
    answer(page, "Ava")
    page.get_by_role("button", name="Rename Ada").click()
    page.get_by_label("Name contains").fill("")
    page.get_by_role("button", name="Search").click()
    answer(page)
    page.get_by_role("button", name="Lock Ava").click()
    expect(row_of(page, "Ava")).to_contain_text("locked")
    page.get_by_role("button", name="Unlock Ava").click()
    answer(page)
    page.get_by_role("button", name="New link Ava").click()
    log_in(people, links.locator("code").inner_text(), "Ava")

    # The state of the server, and no markup of a name.
    page.get_by_text("The limits and terms in force").click()
    expect(page.get_by_role("group", name="Limits")).to_contain_text("--bots-per-account")
    expect(page.get_by_role("group", name="Metrics")).to_contain_text("playout_sessions")
    expect(page.locator("#bots")).to_contain_text("random")
    assert page.locator("#administration b:text-is('Bob')").count() == 0
    require_axe()
    for width, scheme in ((1280, "light"), (360, "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert accessibility_faults(page) == []
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0
    assert people.faults == []


def test_a_password_and_a_code_let_other_devices_in_which_are_logged_out(
    people: BrowserUsers, site: BrowserSite
) -> None:
    require_axe()
    page = people.come(reduced_motion="reduce")
    page.locator("#identity").click()
    page.get_by_label("A name of your own").fill("Eve")
    page.get_by_role("button", name="Take it").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Password", exact=True).click()
    expect(dialog.get_by_text("No password is set.")).to_be_visible()
    dialog.get_by_label("A new password").fill("correct horse")
    dialog.get_by_role("button", name="Set it").click()
    expect(dialog.get_by_text("The password is set.")).to_be_visible()
    dialog.get_by_role("button", name="Code for another device").click()
    code = dialog.locator("code").inner_text()
    phones = []
    for secret in ("correct horse", code):
        phone = people.come(reduced_motion="reduce")
        phone.locator("#identity").click()
        phone.get_by_text("I already have a name").click()
        phone.get_by_label("Name", exact=True).fill("Eve")
        phone.get_by_label("Its password").fill("wrong horse")
        phone.get_by_role("button", name="Use it").click()
        expect(phone.get_by_role("alert").filter(visible=True)).to_contain_text("not the password")
        phone.get_by_label("Its password").fill(secret)
        phone.get_by_role("button", name="Use it").click()
        expect(phone.locator("#identity")).to_have_text("Eve")
        phone.get_by_role("button", name="Close").click()
        phones.append(phone)
    # Each is listed, and ends at a click; the others go on.
    page.reload()
    page.locator("#identity").click()
    dialog.get_by_text("Where you are logged in").click()
    devices = dialog.get_by_role("listitem")
    expect(devices).to_have_count(3)
    expect(devices.first).to_contain_text("this browser")
    assert accessibility_faults(page) == []
    dialog.get_by_role("button", name="Log out Chrome, Linux").first.click()
    expect(devices).to_have_count(2)
    expect(phones[0].locator("#connection")).to_contain_text("this device was logged out")
    expect(phones[1].locator("#connection")).to_be_hidden()
    answer(phones[1])
    phones[1].locator("#identity").click()
    phones[1].get_by_text("Where you are logged in").click()
    phones[1].get_by_role("button", name="Log out everywhere else").click()
    expect(page.locator("#connection")).to_contain_text("this device was logged out")
    expect(phones[1].get_by_role("dialog")).to_be_hidden()
    expect(phones[1].locator("#identity")).to_have_text("Eve")
    assert people.faults == []


def test_a_teacher_runs_a_tournament_without_a_terminal(
    people: BrowserUsers, site: BrowserSite, boss: str
) -> None:
    page = log_in(people, boss, "Boss")
    page.goto("/ladders")
    page.get_by_text("Enter a bot", exact=True).click()
    page.get_by_role("link", name="Organise a ladder").click()

    # Errors stand beside the fields; the file has the values of the form.
    form = page.locator("#organize")
    form.get_by_label("name").first.fill("Friday")
    form.get_by_label("games").fill("nimm")
    expect(form.get_by_label("format")).to_have_value("ladder")
    form.get_by_label("format").select_option("swiss")
    form.get_by_label("Time of the start").fill("2026-01-02T03:04")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("[data-path='games'] .error")).to_contain_text("nimm")
    expect(page.locator("[data-path='entrants'] > .error")).to_contain_text("two or more entrants")
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    form.get_by_label("games").fill("nim")
    form.get_by_label("rounds").first.fill("2")  # Zoe plays in one of them, so that it waits
    form.get_by_label("clock").first.fill("30/move")
    rows = page.locator("#entrants > fieldset")
    for number, name in enumerate(("Ann", "Bob")):
        if number:
            page.get_by_role("button", name="Add an entrant").click()
        rows.nth(number).get_by_label("name").fill(name)
        rows.nth(number).get_by_label("Bot").select_option("random")
    page.get_by_role("button", name="Add an entrant").click()
    rows.nth(2).get_by_label("name").fill("Zoe")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#done")).to_have_text("There are no faults: it can start.")
    expect(page.locator("#toml")).to_have_value(re.compile('name = "Friday"'))
    require_axe()
    assert accessibility_faults(page) == []

    # A text that is no TOML stays, and so does the form; a file is uploaded in its place.
    text = page.locator("#toml").input_value().replace("Friday", "Monday")
    page.locator("#toml").fill("name = ")
    page.get_by_role("button", name="Check this file").click()
    expect(page.locator("#error")).to_contain_text("Line 1")
    expect(page.locator("#toml")).to_have_value("name = ")
    expect(form.get_by_label("name").first).to_have_value("Friday")
    page.locator("#upload").set_input_files(
        {"name": "monday.toml", "mimeType": "text/plain", "buffer": text.encode()}
    )
    expect(form.get_by_label("name").first).to_have_value("Monday")
    expect(form.get_by_label("Time of the start")).to_have_value("2026-01-02T03:04")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url("**/tournaments/*")

    # Zoe does not come: a bot takes her place, and the tournament is played.
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    assert accessibility_faults(page) == []
    page.get_by_label("Place").select_option("Zoe")
    page.locator("#new-name").fill("Joan")
    page.get_by_label("Bot", exact=True).select_option("random")
    page.get_by_role("button", name="Enter", exact=True).click()
    expect(page.get_by_label("Place")).to_contain_text("in place of Joan")
    page.get_by_role("button", name="Add a round").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("[data-over='yes']")).to_be_visible()
    expect(page.locator("#tables")).to_contain_text("Round 3")
    table = page.request.get(f"{page.url}?part=csv").text()
    assert {"Ann", "Bob", "Joan"} <= set(re.findall(r"[A-Z][a-z]+", table))
    file = tomllib.loads(page.request.get(f"{page.url}?part=toml").text())
    assert file["rounds"] == 3
    assert file["entrants"][2]["name"] == "Joan"
    assert people.faults == []


def test_a_stranger_and_an_ordinary_account_see_nothing(people: BrowserUsers) -> None:
    page = people.come("/admin")
    policy = page.request.get("/admin").headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy  # no other site leads a click there
    expect(page.locator("#gate")).to_contain_text("This page is for administrators of the server.")
    expect(page.locator("#administration")).not_to_be_visible()
    page.locator("#identity").click()
    page.get_by_label("A name of your own").fill("Zoe")
    page.get_by_role("button", name="Take it").click()
    expect(page.locator("#gate")).to_contain_text("Zoe is not one")
    expect(page.get_by_role("link", name="Administration of this server")).not_to_be_visible()


def test_a_locked_administrator_loses_the_page(
    people: BrowserUsers, site: BrowserSite, boss: str
) -> None:
    page = log_in(people, boss, "Boss")
    page.goto("/admin")
    expect(page.locator("#health")).to_be_visible()
    database = Database(site.database)
    (account,) = (each for each in database.accounts()[0] if each.name == "Boss")
    database.put_account(structs.replace(account, revoked=True))
    database.close()
    expect(page.locator("#connection")).to_contain_text("revoked")
    page.reload()
    expect(page.locator("#gate")).to_contain_text("is not one")
    expect(page.locator("#administration")).not_to_be_visible()
