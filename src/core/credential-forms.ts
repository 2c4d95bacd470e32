/** Replaces hidden values of any type. */
export const HIDDEN = '***';

/**
 * Matches the form of API keys (`api-key-value.ts`), browser tokens, OAuth tokens and secrets of OAuth clients,
 * including truncated ones, but not the 12-character prefix that lists of keys show.
 */
export const CREDENTIAL_FORM = 'sbx_[0-9A-Za-z]{12,}|sb[ots]_[0-9A-Za-z_-]{24,}';
const FORMS = new RegExp(CREDENTIAL_FORM, 'g');
const FORM_IN_TEXT = new RegExp(CREDENTIAL_FORM);
/** A path that is percent-encoded more often than this cannot match a route. */
const MAX_DECODINGS = 3;

/** True if the text contains anything in the form of our credentials. */
export function holdsCredential(text: string): boolean {
  // Few texts contain the start of the prefixes, and searching for it costs a fraction of the expression.
  return text.includes('sb') && FORM_IN_TEXT.test(text);
}

/**
 * Replaces everything in the form of our credentials: for logs, records, telemetry, error responses and headers sent
 * upstream.
 */
export function withoutCredentials(text: string): string {
  return holdsCredential(text) ? text.replace(FORMS, HIDDEN) : text;
}

/** Characters that cannot occur unescaped in a URL or in a quoted string of a header. */
const UNSAFE_IN_URLS = /[^\x21\x23-\x5b\x5d-\x7e]+/g;

/** The same for a path or URL, in which a credential can be percent-encoded, even repeatedly. The result is ASCII. */
export function urlWithoutCredentials(url: string): string {
  let decoded = url;
  for (let i = 0; i < MAX_DECODINGS && decoded.includes('%'); i++) decoded = decode(decoded);
  if (!holdsCredential(decoded)) return url;
  return withoutCredentials(decoded).toWellFormed().replace(UNSAFE_IN_URLS, encodeURIComponent);
}

/**
 * Sequences that cannot be decoded are kept and hide nothing next to them: credentials are ASCII, and each of their
 * characters is decoded separately.
 */
function decode(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes.replaceAll(/%[0-7][0-9a-f]/gi, decodeURIComponent);
    }
  });
}
