/** The theme: the system's, or the one that a person chose in this browser. */
import { store } from "./store.js";

const NAME = "hibernaut-theme";
/** @typedef {"system" | "light" | "dark"} Theme */

const kept = localStorage.getItem(NAME);
export const theme = store(/** @type {Theme} */ (kept === "light" || kept === "dark" ? kept : "system"));

export function applyTheme() {
  const chosen = theme.get();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

/** Change between light and dark. */
export function toggleTheme() {
  const dark = theme.get() === "dark" || (theme.get() === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  const next = dark ? "light" : "dark";
  localStorage.setItem(NAME, next);
  theme.set(next);
  applyTheme();
}
