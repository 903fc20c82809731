// The dialog in the header: under which name one is here, and how to have another one.

import { account, identity, session, setAccount } from "./account.js";
import { introduce } from "./link.js";

const button = document.getElementById("identity");
const dialog = document.getElementById("identity-dialog");
const part = (name) => dialog.querySelector(`[data-part="${name}"]`);

function show() {
  const mine = account();
  const here = session();
  const name = here?.name ?? mine?.name ?? "guest";
  const isGuest = here ? here.guest : !mine;
  button.textContent = name;
  button.setAttribute("aria-label", `You are ${name}. Change your name`);
  button.hidden = false;
  part("name").textContent = name;
  part("guest").hidden = !isGuest;
  part("named").hidden = isGuest;
  part("playing").hidden = !here?.playing.length;
  part("change").hidden = Boolean(here?.playing.length);
  part("take").hidden = !isGuest;
  part("leave").hidden = !mine;
  part("leave").textContent = `Leave the name ${mine?.name}`;
  part("fault").textContent = here?.fault ? `As ${mine?.name}, you were refused: ${here.fault}` : "";
  part("token").value = mine?.token ?? "";
}

/** Register a name or prove it, and be called so from now on. */
async function submit(event) {
  event.preventDefault();
  const form = event.target;
  const error = form.querySelector(".error");
  const { name, token } = Object.fromEntries(new FormData(form));
  const submitter = form.querySelector("button");
  error.textContent = "";
  submitter.disabled = true;
  try {
    setAccount(await introduce(name.trim(), token?.trim()));
    form.reset();
    part("named").querySelector("[tabindex]").focus();
  } catch (fault) {
    error.textContent = fault.message;
  } finally {
    submitter.disabled = false;
  }
}

async function copy() {
  const said = part("copied");
  try {
    await navigator.clipboard.writeText(account().token);
    said.textContent = "Copied.";
  } catch {
    part("shown").open = true;
    part("token").select();
    said.textContent = "Copy it from here:";
  }
}

function leave() {
  const { name } = account();
  const warning = `Without its token, nobody can play as ${name} again. Leave the name?`;
  if (confirm(warning)) setAccount(null);
}

button.addEventListener("click", () => {
  part("shown").open = false;
  part("copied").textContent = "";
  show();
  dialog.showModal();
});
for (const form of dialog.querySelectorAll("form[aria-label]")) form.addEventListener("submit", submit);
part("copy").addEventListener("click", copy);
part("leave").addEventListener("click", leave);
identity.addEventListener("account", show);
identity.addEventListener("session", show);
show();
