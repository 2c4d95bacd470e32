const BASE = 'http://service.invalid';
const MAX_LENGTH = 4096;
/** A path that is percent-encoded more often than this is refused. */
const MAX_DECODINGS = 3;

/**
 * The path that a sign-in returns to, from the `return_to` parameter; undefined unless it is a path of this service.
 * Refuses whatever a browser, or a server that decodes it again, could read as an address of another host: `//host`,
 * `/\host`, `/%2fhost`, `https:host`.
 */
export function localPathOf(text: string): string | undefined {
  if (text.length > MAX_LENGTH || !text.startsWith('/') || hasUnsafeStart(text)) return undefined;
  const url = URL.parse(text, BASE);
  if (url === null || url.origin !== BASE || hasUnsafeStart(url.pathname)) return undefined;
  return `${url.pathname}${url.search}${url.hash}`;
}

/** Browsers drop tabs and line breaks, and read a backslash as a slash. */
function hasUnsafeStart(path: string): boolean {
  let decoded = path;
  for (let i = 0; i <= MAX_DECODINGS; i++) {
    if (/^[/\\][\s\u0000-\u001f]*[/\\]/.test(decoded) || /[\u0000-\u001f\u007f]/.test(decoded)) return true;
    const next = decodedOnce(decoded);
    if (next === decoded) return false;
    decoded = next;
  }
  return true;
}

function decodedOnce(path: string): string {
  const [pathname = ''] = path.split(/[?#]/, 1);
  return pathname.replaceAll(/%[0-9a-f]{2}/gi, (escape) => String.fromCharCode(Number.parseInt(escape.slice(1), 16)));
}
