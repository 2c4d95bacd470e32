/** Stands for what is not shown, whatever its type was. */
export const HIDDEN = '***';

/**
 * What has the form of our API keys (`api-key-value.ts`) or of browser tokens, also if it was cut; not the 12 characters that
 * lists of keys show.
 */
export const CREDENTIAL_FORM = 'sbx_[0-9A-Za-z]{12,}|sbt_[0-9A-Za-z_-]{24,}';
const FORMS = new RegExp(CREDENTIAL_FORM, 'g');
const FORM_IN_TEXT = new RegExp(CREDENTIAL_FORM);
/** A path that was encoded more often than this is no way to any route. */
const MAX_DECODINGS = 3;

/** Does the text hold something of the form of a credential of ours? */
export function holdsCredential(text: string): boolean {
  // Almost no text has these, and to look for them costs a fraction of the expression.
  return (text.includes('sbx_') || text.includes('sbt_')) && FORM_IN_TEXT.test(text);
}

/**
 * The text with everything of the form of a credential of ours replaced: for logs, records, telemetry, error answers and headers
 * that go upstream.
 */
export function withoutCredentials(text: string): string {
  return holdsCredential(text) ? text.replace(FORMS, HIDDEN) : text;
}

/** What cannot stand in a URL, or in a quoted string of a header, as it is. */
const UNSAFE_IN_URLS = /[^\x21\x23-\x5b\x5d-\x7e]+/g;

/** The same for a path or a URL, in which a credential may be percent-encoded, also more than once. The result is ASCII. */
export function urlWithoutCredentials(url: string): string {
  let decoded = url;
  for (let i = 0; i < MAX_DECODINGS && decoded.includes('%'); i++) decoded = decode(decoded);
  if (!holdsCredential(decoded)) return url;
  return withoutCredentials(decoded).toWellFormed().replace(UNSAFE_IN_URLS, encodeURIComponent);
}

/** What cannot be decoded stays, and hides nothing beside it: credentials are ASCII, each sign of which is decoded by itself. */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes.replaceAll(/%[0-7][0-9a-f]/gi, decodeURIComponent);
    }
  });
}
