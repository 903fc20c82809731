// The dialog behind the name in the header: shows this person's name and token, and changes them.

import { account, accountEvents, session, setAccount } from "./account.js";
import { signIn } from "./server_connection.js";
import { gettext } from "./texts.js";

const button = document.getElementById("identity");
const dialog = document.getElementById("identity-dialog");
const part = (name) => dialog.querySelector(`[data-part="${name}"]`);

function show() {
  const mine = account();
  const current = session();
  const name = current?.name ?? mine?.name ?? gettext("guest");
  const isGuest = current ? current.guest : !mine;
  button.textContent = name;
  button.setAttribute("aria-label", gettext("You are %(name)s. Change your name", { name }));
  button.hidden = false;
  part("name").textContent = name;
  part("guest").hidden = !isGuest;
  part("named").hidden = isGuest;
  part("administration").hidden = !current?.administrator;
  part("playing").hidden = !current?.playing.length;
  part("change").hidden = Boolean(current?.playing.length);
  part("take").hidden = !isGuest;
  part("leave").hidden = !mine;
  part("log-out").textContent = gettext("Log out as %(name)s in this browser", { name: mine?.name });
  const refusal = { name: mine?.name, reason: current?.fault };
  part("fault").textContent = current?.fault ? gettext("The server refused the name %(name)s: %(reason)s", refusal) : "";
  part("token").value = mine?.token ?? "";
}

/** Register a name or prove it with its token, and store it as this browser's account. */
async function submit(event) {
  event.preventDefault();
  const form = event.target;
  const error = form.querySelector(".error");
  const { name, token } = Object.fromEntries(new FormData(form));
  const submitter = form.querySelector("button");
  error.textContent = "";
  submitter.disabled = true;
  try {
    setAccount(await signIn(name.trim(), token?.trim()));
    form.reset();
    part("named").querySelector("[tabindex]").focus();
    import("./logins.js").then(({ showLogins }) => showLogins());
  } catch (failure) {
    error.textContent = failure.message;
  } finally {
    submitter.disabled = false;
  }
}

async function copy() {
  const status = part("copied");
  try {
    await navigator.clipboard.writeText(account().token);
    status.textContent = gettext("Copied.");
  } catch {
    part("shown").open = true;
    part("token").select();
    status.textContent = gettext("Copy it from here:");
  }
}

function logOut() {
  const { name } = account();
  const warning = gettext(
    "Log out as %(name)s? Nothing is deleted, but without a password or a copy of the token you cannot play as %(name)s again.",
    { name },
  );
  if (confirm(warning)) setAccount(null);
}

button.addEventListener("click", () => {
  part("shown").open = false;
  part("copied").textContent = "";
  show();
  dialog.showModal();
  if (account()) import("./logins.js").then(({ showLogins }) => showLogins());
});
for (const form of dialog.querySelectorAll("form[aria-label]:not([data-part])")) form.addEventListener("submit", submit);
part("copy").addEventListener("click", copy);
part("log-out").addEventListener("click", logOut);
accountEvents.addEventListener("account", show);
accountEvents.addEventListener("session", show);
show();
