/** Begins the console. */
import { html, render } from "../vendor/htm-preact-3.1.1.js";
import { Shell } from "./shell.js";
import { applyTheme } from "./theme.js";

applyTheme();
const place = /** @type {HTMLElement} */ (document.getElementById("console"));
place.replaceChildren();
render(html`<${Shell} />`, place);
