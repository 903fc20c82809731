// Dark or light, as the person has chosen. A classic script in <head>: it runs before anything is
// painted, so that no page flashes in the wrong colours.

{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  try {
    const kept = localStorage.getItem("theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch {
    // Nothing may be kept here: the system's choice holds.
  }

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // It holds for this page only.
      }
      show();
    });
    system.addEventListener("change", show);
    show();
    button.hidden = false;
  });
}
