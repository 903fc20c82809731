// The devices that use this person's name: their list, a password, a code, and logging them out.
// It is loaded when the dialog of the name is opened.

import { account, setAccount } from "./account.js";
import { html } from "./elements.js";
import { askAs } from "./server_connection.js";
import { gettext, ngettext } from "./texts.js";

const dialog = document.getElementById("identity-dialog");
const part = (name) => dialog.querySelector(`[data-part="${name}"]`);

/** Send a request of the own account, and show in the dialog why it failed. */
async function ask(request) {
  part("logins-error").textContent = "";
  try {
    return await askAs(account(), request);
  } catch ({ message }) {
    part("logins-error").textContent = message;
    return null;
  }
}

/** Show the devices, and whether a password is set. */
export async function showLogins() {
  part("code-text").textContent = part("password-done").textContent = "";
  if (!account()) return;
  const answer = await ask({ type: "list_logins" });
  if (!answer) return;
  part("password-state").textContent = answer.has_password ? gettext("A password is set.") : gettext("No password is set.");
  part("remove-password").hidden = !answer.has_password;
  part("username").value = account().name; // for password managers
  part("logins").replaceChildren(...answer.logins.map(item));
}

function item({ login, at, software, own }) {
  const since = new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ");
  const name = software || gettext("The token of the name");
  const text = html("span", { class: "name" }, gettext("%(name)s, since %(time)s UTC", { name, time: since }));
  if (own) return html("li", { class: "row apart" }, text, html("span", { class: "chip accent" }, gettext("this browser")));
  if (!login) return html("li", { class: "row apart" }, text);
  const button = html("button", { type: "button", class: "button small", "aria-label": gettext("Log out %(name)s", { name }) }, gettext("Log out"));
  button.addEventListener("click", async () => {
    if (await ask({ type: "end_logins", login })) showLogins();
  });
  return html("li", { class: "row apart" }, text, button);
}

async function setPassword(password) {
  if (!(await ask({ type: "set_password", ...(password && { password }) }))) return;
  await showLogins();
  part("password-done").textContent = password ? gettext("The password is set.") : gettext("The password is removed.");
}

async function makeCode() {
  const answer = await ask({ type: "make_code" });
  if (!answer) return;
  const minutes = Math.round(answer.seconds / 60);
  const text = ngettext("valid once, for %(num)s minute", "valid once, for %(num)s minutes", minutes);
  part("code-text").replaceChildren(html("code", {}, answer.code), gettext(", "), text);
}

async function logOutOthers() {
  if (!confirm(gettext("Log out all other devices? Links and tokens of this name stop working; the password stays."))) return;
  const answer = await ask({ type: "end_logins" });
  if (!answer) return;
  setAccount({ name: answer.name, token: answer.token });
  location.reload(); // the connection of the page is of a session that has ended, too
}

part("password").addEventListener("submit", (event) => {
  event.preventDefault();
  const { password } = Object.fromEntries(new FormData(event.target));
  event.target.reset();
  setPassword(password);
});
part("remove-password").addEventListener("click", () => setPassword(null));
part("make-code").addEventListener("click", makeCode);
part("log-out-others").addEventListener("click", logOutOthers);
