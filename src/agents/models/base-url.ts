/** The most characters that a stored base URL may have. */
export const MAX_BASE_URL_LENGTH = 2048;

/**
 * The canonical form in which a provider's base URL is stored and used: as the WHATWG URL standard serializes it,
 * without a trailing slash, because paths such as `/chat/completions` are appended as text. Undefined for an invalid
 * base URL: not http or https, with credentials, a query or a fragment, or too long.
 */
export function canonicalBaseUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  // A lone `?` or `#` leaves `search` and `hash` empty but stays in `href`.
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href)) return undefined;
  const canonical = url.href.replace(/\/+$/, '');
  return canonical.length <= MAX_BASE_URL_LENGTH ? canonical : undefined;
}
