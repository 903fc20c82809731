// The pages of the queue of tests: they stay up to date, and an author hands in, stops, reads logs.

import { packed } from "/static/folder.js";
import { RefreshedSection } from "/static/refreshed_section.js";
import { told } from "/static/texts.js";

const REFRESH_MS = 2000;

const at = (id) => document.getElementById(id);
const section = new RefreshedSection(at("tests") ? "tests" : "test");
setInterval(() => {
  if (!document.querySelector('[data-over="yes"]')) section.refreshIn(0);
}, REFRESH_MS);

/** Sends a request as the account in the form; returns the answer as JSON. */
async function ask(path, options = {}) {
  const bytes = new TextEncoder().encode(`${at("name").value}:${at("token").value}`);
  const authorization = `Basic ${btoa(String.fromCharCode(...bytes))}`;
  const headers = { Authorization: authorization };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  const found = await answer.json();
  if (!answer.ok) throw new Error(told(found.error));
  return found;
}

/** Does something for a form, and shows why it fails. */
function onSubmit(form, action) {
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    at("message").textContent = "";
    try {
      await action(event.submitter.value);
    } catch (error) {
      at("message").textContent = error.message;
    }
  });
}

/** The files of a chosen folder, below the folder of a version. */
function filesOf(id) {
  return [...at(id).files].map((file) => ({
    path: `${id}/${file.webkitRelativePath.split("/").slice(1).join("/")}`, file,
  }));
}

onSubmit(at("hand-in"), async () => {
  const { name, body } = await packed([...filesOf("base"), ...filesOf("new")]);
  const { test } = await ask(`/api/tests/${encodeURIComponent(name)}`, { method: "PUT", body });
  location.assign(`/tests/${test}`);
});

onSubmit(at("author"), async (action) => {
  const { test } = at("test").dataset;
  if (action === "stop") {
    await ask(`/api/tests/${test}/stop`, { method: "PUT" });
    section.refreshIn(0);
    return;
  }
  const { log, builds, outputs } = await ask(`/api/tests/${test}/log`);
  const parts = Object.entries({ ...builds, ...outputs }).map(([version, text]) => `${version}:\n${text}`);
  at("log").textContent = [log, ...parts].filter(Boolean).join("\n");
  at("log").hidden = false;
});
