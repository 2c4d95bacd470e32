import { hash } from 'node:crypto';

/** The icon that browsers show next to the title of a page. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f55c4"/>' +
  '<circle cx="16" cy="16" r="7" fill="#ffffff"/></svg>\n';

/** Contains the hash of the text, so that browsers can keep the file forever. */
export const ICON_FILE = `${hash('sha256', ICON).slice(0, 16)}.svg`;
export const ICON_PATH = `/pages/${ICON_FILE}`;
