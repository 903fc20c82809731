// The choice of the language, which the server learns from a cookie.

const YEAR_S = 365 * 24 * 3600;

const choice = document.getElementById("language");
choice.addEventListener("change", () => {
  document.cookie = `language=${choice.value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax`;
  location.reload();
});
choice.hidden = false;
