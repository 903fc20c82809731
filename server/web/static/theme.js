// The dark or the light theme. A classic script in <head>: it runs before the first paint, so that
// no page flashes in the wrong colours.

{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  try {
    const stored = localStorage.getItem("theme");
    if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  } catch {
    // The browser forbids storage: the theme of the system is used.
  }

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // The browser forbids storage: the choice lasts as long as the page.
      }
      show();
    });
    system.addEventListener("change", show);
    show();
    button.hidden = false;
  });
}
