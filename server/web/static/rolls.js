// The page of the rolls of a match: verifies them, or those of a file, in the browser.

import { wrongRolls } from "./dice.js";
import { gettext, ngettext } from "./texts.js";

const find = (id) => document.getElementById(id);

/** Verify the rolls of a match and show the result; `rows` are those of the table, if it is this match. */
async function verify(data, rows) {
  const report = find("verified");
  report.classList.remove("error");
  try {
    const wrong = await wrongRolls(data);
    const count = data.rolls.length;
    report.textContent = wrong.length
      ? gettext("Rolls that do not follow from the key: %(wrong)s of %(count)s.", { wrong: wrong.length, count })
      : ngettext("%(num)s roll of match %(match)s: it follows from the key.", "%(num)s rolls of match %(match)s: all follow from the key.", count, { match: data.match });
    report.classList.toggle("error", wrong.length > 0);
    for (const row of rows) row.querySelector(".verified").textContent = wrong.includes(Number(row.dataset.ply)) ? gettext("wrong") : "✓";
  } catch (error) {
    report.textContent = error.message;
    report.classList.add("error");
  }
}

find("verify").addEventListener("click", () => {
  verify(JSON.parse(find("data").textContent), document.querySelectorAll("tr[data-ply]"));
});
find("file").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  if (!file) return;
  let data = {};
  try {
    data = JSON.parse(await file.text()) ?? {};
  } catch {
    // no JSON, which is reported below
  }
  await verify(data, []);
  target.value = "";
});
