import { isRecord } from '../core/is-record.js';
import { inspectInput, summarize } from '../core/validation/validate-input.js';
import { ConnectionCreateData } from './connection.dto.js';

const URL_NAMES = ['url', 'serverUrl', 'httpUrl'] as const;
const STDIO_TYPES = ['stdio'];
const HTTP_TYPES = ['http', 'streamable-http', 'streamable_http', 'streamableHttp'];
const BEARER = /^bearer +(\S+)$/i;
/** A placeholder that clients replace, such as `${TOKEN}` or `${input:token}`. */
const PLACEHOLDER = /\$\{[^}]*\}/;

/** An entry of `mcpServers` as the input of a new connection, or why it cannot be one. */
type ServerEntry =
  | { readonly data: ConnectionCreateData; readonly reason?: undefined }
  | { readonly data?: undefined; readonly reason: string };

/**
 * Reads an entry of `mcpServers`, as the configuration files of MCP clients have it: `command`, `args`, `env` and
 * `cwd`, or `url` (`serverUrl`, `httpUrl`) and `headers`; in addition `shared_state` and `pin`. Null counts as absent,
 * and properties of other programs are ignored. The reason never quotes a value.
 */
export function readServerEntry(name: string, value: unknown): ServerEntry {
  if (!isRecord(value)) return { reason: 'The entry must be an object.' };
  const entry = Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
  const fault = faultOf(entry);
  if (fault !== undefined) return { reason: fault };
  const status = entry['disabled'] === true ? 'inactive' : 'active';
  const target = 'command' in entry ? programOf(entry) : addressOf(entry);
  const { value: data, faults } = inspectInput(ConnectionCreateData, {
    title: name,
    status,
    shared_state: entry['shared_state'],
    pin: entry['pin'],
    ...target,
  });
  return faults.length === 0 ? { data } : { reason: withoutPrefix(summarize(faults)) };
}

/** Paths begin with `data.` in the tools that create and update one connection. */
export function withoutPrefix(detail: string): string {
  return detail.replace(/^data\./, '');
}

type Entry = Readonly<Record<string, unknown>>;

function faultOf(entry: Entry): string | undefined {
  const { disabled, type = entry['transport'] } = entry;
  const urls = URL_NAMES.filter((name) => name in entry);
  const isProgram = 'command' in entry;
  if (isProgram === urls.length > 0) {
    return isProgram
      ? 'The entry has both a command and an address.'
      : 'The entry has neither a command nor an address.';
  }
  if (urls.length > 1) return `The entry has several addresses: ${urls.join(', ')}.`;
  if (disabled !== undefined && typeof disabled !== 'boolean') return 'disabled must be true or false.';
  if (type === 'sse') return 'The transport HTTP+SSE is not supported; use the address for streamable HTTP.';
  if (type !== undefined && !(isProgram ? STDIO_TYPES : HTTP_TYPES).includes(String(type))) {
    return isProgram ? 'A command has the type stdio.' : 'An address has the type http.';
  }
  const used = isProgram ? ['command', 'args', 'env', 'cwd'] : [...urls, 'headers'];
  const place = used.map((name) => placeholderIn(entry[name], name)).find((found) => found !== undefined);
  return place === undefined ? undefined : `${place} has a placeholder that is not resolved.`;
}

function placeholderIn(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return PLACEHOLDER.test(value) ? path : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    // A long name could be a secret in the wrong place.
    const memberPath = /^[\w-]{1,64}$/.test(name) ? `${path}.${name}` : path;
    const found = PLACEHOLDER.test(name) ? path : placeholderIn(member, memberPath);
    if (found !== undefined) return found;
  }
  return undefined;
}

function programOf({ command, args, env, cwd }: Entry): object {
  const stdio = { command, ...(args !== undefined && { args }), ...(env !== undefined && { env }), cwd: cwd ?? null };
  return { connection_type: 'STDIO', stdio };
}

/** A bearer token among the headers becomes the token of the connection. */
function addressOf(entry: Entry): object {
  const url = URL_NAMES.map((name) => entry[name]).find((value) => value !== undefined);
  const { headers = {} } = entry;
  const address = { connection_type: 'HTTP', connection_url: url };
  if (!isRecord(headers)) return { ...address, connection_headers: { headers } };
  const names = Object.keys(headers);
  const authorization = names.find((name) => name.toLowerCase() === 'authorization');
  const value = authorization === undefined ? undefined : headers[authorization];
  const token = typeof value === 'string' ? BEARER.exec(value)?.[1] : undefined;
  const others = names.filter((name) => token === undefined || name !== authorization);
  return {
    ...address,
    connection_token: token ?? null,
    connection_headers:
      others.length === 0 ? null : { headers: Object.fromEntries(others.map((name) => [name, headers[name]])) },
  };
}
