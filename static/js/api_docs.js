/* Give the page of the REST API the theme that was chosen, by the class that Swagger UI knows. */
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

function followTheme() {
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen ? chosen === "dark" : prefersDark.matches;
  document.documentElement.classList.toggle("dark-mode", isDark);
}

followTheme();
prefersDark.addEventListener("change", followTheme);
