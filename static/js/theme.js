// Loaded in <head> before the style sheets, as a classic script: the theme is set before first paint.
(() => {
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");

  // A browser may refuse storage (private mode, blocked cookies); the system theme then holds.
  const read = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  };

  const write = (theme) => {
    try {
      localStorage.setItem("theme", theme);
    } catch {
      return;
    }
  };

  const saved = read();
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const current = root.dataset.theme ?? (systemDark.matches ? "dark" : "light");
    root.dataset.theme = current === "dark" ? "light" : "dark";
    write(root.dataset.theme);
  });
})();
