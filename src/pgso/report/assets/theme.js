"use strict";
// Light and dark colours: one button, and what the system says.

{
  const button = document.getElementById("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "☾ Dark" : "☀ Light";
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();
}
