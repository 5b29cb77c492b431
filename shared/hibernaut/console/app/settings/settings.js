/** Settings: models and providers, API keys, budgets, what was used, tool policies, identities and the audit log. */
import { html } from "../../vendor/htm-preact-3.1.1.js";
import { useCommands } from "../commands.js";
import { go } from "../router.js";
import { useTitle } from "../ui.js";
import { Audit } from "./audit.js";
import { Budgets } from "./budgets.js";
import { Identities } from "./identities.js";
import { Keys } from "./keys.js";
import { Models } from "./models.js";
import { Policies } from "./policies.js";
import { Usage } from "./usage.js";

/** @type {[string, string, () => any][]} */
const PARTS = [["models", "Models", Models], ["keys", "API keys", Keys], ["budgets", "Budgets", Budgets], ["usage", "Usage", Usage], ["policies", "Tool policies", Policies], ["identities", "Identities", Identities], ["audit", "Audit log", Audit]];

/** @param {{route: import("../router.js").Route}} props */
export function Settings({ route: { id } }) {
  const [name, title, Part] = PARTS.find(([part]) => part === id) ?? PARTS[0];
  useTitle(title);
  useCommands(() => PARTS.map(([part, called]) => ({ name: `Open ${called}`, hint: "Settings", act: () => go(`#/settings/${part}`) })), []);
  return html`<nav class="tabs place-tabs" aria-label="Settings">
      ${PARTS.map(([part, called]) => html`<a href=${`#/settings/${part}`} aria-current=${part === name ? "page" : undefined}>${called}</a>`)}
    </nav>
    <div class="page"><${Part} key=${name} /></div>`;
}
