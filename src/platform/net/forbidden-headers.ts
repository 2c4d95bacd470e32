/** One fault of the stored headers. The message never contains a value. */
interface HeaderFault {
  /** The invalid header, or null if the fault concerns all headers together. */
  name: string | null;
  message: string;
}

const MAX_HEADERS = 64;
/** Total bytes of names and values. Common servers accept this much for all headers of a request. */
const MAX_TOTAL_BYTES = 16 * 1024;

/** RFC 9110 §5.6.2: a field name is a token. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 9110 §5.5: visible characters, space and tab, and the upper half of Latin-1; no CR, LF or NUL. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

const FORBIDDEN_NAMES: ReadonlySet<string> = new Set([
  // Hop-by-hop, RFC 9110 §7.6.1.
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  // Framing and routing of a request.
  'content-length',
  'content-encoding',
  'expect',
  'host',
  // Owned by the MCP transport.
  'accept',
  'accept-encoding',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
]);

const FORBIDDEN_PREFIXES = ['mcp-param-', 'x-signalbox-'];

/** Whether connections cannot set this header. Case-insensitive. */
export function isForbiddenHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return FORBIDDEN_NAMES.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/** All faults of a connection's stored headers (`connection_headers.headers`); empty if they are valid. */
export function headerFaults(headers: Readonly<Record<string, string>>): HeaderFault[] {
  const faults: HeaderFault[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const message = faultOf(name, value, seen);
    if (message !== undefined) faults.push({ name, message });
    seen.add(name.toLowerCase());
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  }
  if (seen.size > MAX_HEADERS) faults.push({ name: null, message: `The number of headers exceeds ${MAX_HEADERS}.` });
  if (bytes > MAX_TOTAL_BYTES) {
    faults.push({ name: null, message: `The headers exceed ${MAX_TOTAL_BYTES} bytes in total.` });
  }
  return faults;
}

function faultOf(name: string, value: string, seen: ReadonlySet<string>): string | undefined {
  if (!TOKEN.test(name)) return 'The name is not a valid header name.';
  if (isForbiddenHeader(name)) return 'The service sets this header; it cannot be stored.';
  if (seen.has(name.toLowerCase())) return 'The header is duplicated.';
  if (!FIELD_VALUE.test(value)) return 'The value contains a character that is not allowed in a header.';
  return undefined;
}
