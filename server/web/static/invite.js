// The page of an invitation: its address ends in `#NAME:TOKEN`, which no browser sends to a server.

import { account, setAccount } from "./account.js";
import { askAs } from "./server_connection.js";
import { gettext } from "./texts.js";

const find = (id) => document.getElementById(id);

/** The name and the token in the address, null if there are none. */
function invitation() {
  const [name, token] = location.hash.slice(1).split(":");
  try {
    return name && token ? { name: decodeURIComponent(name), token } : null;
  } catch {
    return null;
  }
}

async function use({ name, token }) {
  find("use").disabled = true;
  try {
    // The link works once: its token is replaced.
    const { token: fresh } = await askAs({ name, token }, { type: "end_logins" });
    setAccount({ name, token: fresh });
    location.replace("/");
  } catch ({ message }) {
    find("error").textContent = message;
    find("use").disabled = false;
  }
}

const invited = invitation();
if (invited) {
  const mine = account();
  find("text").textContent = gettext("The name %(name)s is registered for you. This browser keeps it.", invited);
  find("other").textContent = gettext("In this browser you are %(name)s. Keep a copy of the token of that name before.", { name: mine?.name });
  find("other").hidden = !mine || mine.name === invited.name;
  find("use").textContent = gettext("Play as %(name)s", invited);
  find("use").hidden = false;
  find("use").addEventListener("click", () => use(invited));
}
