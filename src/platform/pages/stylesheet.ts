import { hash } from 'node:crypto';

/** The stylesheet of all pages, for light and dark themes. The contrast of all text is at least 4.5:1 (WCAG 2.2 AA). */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --canvas: #f4f5f7; --card: #ffffff; --line: #d5d9e0; --field: #ffffff; --edge: #7b8494;
  --text: #1b2330; --muted: #525c6b; --accent: #1f55c4; --on-accent: #ffffff; --accent-strong: #18459f;
  --danger: #b3261e; --danger-back: #fdf1f0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --canvas: #10141b; --card: #1a202a; --line: #313a48; --field: #10141b; --edge: #7f8a9c;
    --text: #e8ebf0; --muted: #a9b2c0; --accent: #8db4ff; --on-accent: #0c1526; --accent-strong: #b3cdff;
    --danger: #ffb3ac; --danger-back: #33191a;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; display: grid; place-items: start center; padding: 3rem 1rem;
  background: var(--canvas); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
}
main {
  width: 100%; max-width: 27rem; padding: 2rem;
  background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem;
}
.brand { margin: 0 0 1.25rem; color: var(--muted); font-size: 0.875rem; font-weight: 600; letter-spacing: 0.02em; }
.brand::before {
  content: ""; display: inline-block; width: 0.6rem; height: 0.6rem; margin-right: 0.5rem;
  border-radius: 50%; background: var(--accent);
}
h1 { margin: 0 0 0.75rem; font-size: 1.5rem; line-height: 1.25; font-weight: 650; overflow-wrap: anywhere; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
ul, dl { margin: 0 0 1rem; }
ul { padding-left: 1.25rem; }
dt { color: var(--muted); font-size: 0.875rem; }
dd { margin: 0 0 0.75rem; font-weight: 500; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: 0.15em; }
.field { margin: 0 0 1.125rem; }
label { display: block; margin-bottom: 0.25rem; font-weight: 600; }
.hint { margin: 0 0 0.375rem; color: var(--muted); font-size: 0.875rem; }
.error { margin: 0 0 0.375rem; color: var(--danger); font-size: 0.875rem; font-weight: 600; }
input:not([type="hidden"]):not([type="checkbox"]) {
  display: block; width: 100%; min-height: 2.75rem; padding: 0.5rem 0.75rem; font: inherit; color: inherit;
  background: var(--field); border: 1px solid var(--edge); border-radius: 0.5rem;
}
input[aria-invalid="true"] { border-color: var(--danger) !important; box-shadow: inset 0 0 0 1px var(--danger); }
input[readonly] { background: var(--canvas) !important; color: var(--muted) !important; }
button, .button {
  display: block; width: 100%; min-height: 2.75rem; padding: 0.5rem 1rem; font: inherit; font-weight: 600;
  text-align: center; text-decoration: none; border-radius: 0.5rem; cursor: pointer;
}
.primary { color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); }
.primary:hover { background: var(--accent-strong); border-color: var(--accent-strong); }
.secondary { color: var(--text); background: transparent; border: 1px solid var(--edge); }
.secondary:hover { border-color: var(--text); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.buttons { display: grid; gap: 0.75rem; margin-top: 1.5rem; }
.alert {
  margin: 0 0 1.25rem; padding: 0.75rem 1rem; color: var(--danger); background: var(--danger-back);
  border: 1px solid var(--danger); border-radius: 0.5rem;
}
.alert a { color: inherit; }
.alert > :last-child { margin-bottom: 0; }
.or { display: flex; align-items: center; gap: 0.75rem; margin: 1.25rem 0; color: var(--muted); font-size: 0.875rem; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.after { margin-top: 1.25rem; }
.note { color: var(--muted); font-size: 0.875rem; }
main > :last-child { margin-bottom: 0; }
@media (max-width: 30rem) {
  body { padding: 0; background: var(--card); }
  main { padding: 1.5rem 1.25rem; border: 0; border-radius: 0; }
}
`;

/** Contains the hash of the text, so that browsers can keep the file forever. */
export const STYLESHEET_FILE = `${hash('sha256', STYLESHEET).slice(0, 16)}.css`;
export const STYLESHEET_PATH = `/pages/${STYLESHEET_FILE}`;
