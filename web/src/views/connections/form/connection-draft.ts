import type { ListItem, ToolInput } from '../../../../../packages/client/src/api.js';

export type Connection = ListItem<'COLLECTION_CONNECTIONS_LIST'>;
type CreateData = ToolInput<'COLLECTION_CONNECTIONS_CREATE'>['data'];

/** How the service shows a stored secret, and how a request keeps it. */
const MASK = '***';

/** A header or a variable. */
export interface Pair {
  readonly name: string;
  readonly value: string;
}

/** What the form for an HTTP connection holds. */
export interface HttpDraft {
  readonly url: string;
  readonly auth: 'none' | 'token' | 'oauth' | 'enterprise' | 'client_credentials';
  /** Empty: keep the stored one. */
  readonly token: string;
  readonly hasToken: boolean;
  readonly account: 'connection' | 'member';
  readonly scope: string;
  readonly clientId: string;
  /** Empty: keep the stored one. */
  readonly clientSecret: string;
  readonly hasClientSecret: boolean;
  /** How a client that acts for itself authenticates. */
  readonly credential: 'client_secret' | 'private_key';
  /** Empty: keep the stored one. */
  readonly privateKey: string;
  readonly hasPrivateKey: boolean;
  readonly headers: readonly Pair[];
}

/** What the form for a program holds. */
export interface ProgramDraft {
  readonly command: string;
  /** One argument per line. */
  readonly args: string;
  readonly env: readonly Pair[];
  readonly cwd: string;
}

export function httpDraftOf(connection?: Connection): HttpDraft {
  const auth = connection?.auth;
  return {
    url: connection?.connection_url ?? '',
    auth: auth?.type ?? 'none',
    token: '',
    hasToken: connection?.connection_token != null,
    account: auth?.account ?? 'connection',
    scope: auth?.scope ?? '',
    clientId: auth?.client_id ?? '',
    clientSecret: '',
    hasClientSecret: auth?.client_secret != null,
    credential: auth?.private_key == null ? 'client_secret' : 'private_key',
    privateKey: '',
    hasPrivateKey: auth?.private_key != null,
    headers: pairsOf(connection?.connection_headers?.headers),
  };
}

export function programDraftOf(connection?: Connection): ProgramDraft {
  const program = connection?.stdio;
  return {
    command: program?.command ?? '',
    args: program?.args.join('\n') ?? '',
    env: pairsOf(program?.env),
    cwd: program?.cwd ?? '',
  };
}

/** The properties of an HTTP connection that the form sets. */
export function httpDataOf(draft: HttpDraft): Partial<CreateData> {
  const headers = recordOf(draft.headers);
  return {
    connection_url: draft.url.trim(),
    auth: authOf(draft),
    ...(draft.auth === 'token' && draft.token !== '' && { connection_token: draft.token.trim() }),
    connection_headers: Object.keys(headers).length === 0 ? null : { headers },
  };
}

function authOf({
  auth: type,
  account,
  scope,
  clientId,
  clientSecret,
  hasClientSecret,
  credential,
  privateKey,
  hasPrivateKey,
}: HttpDraft): CreateData['auth'] {
  if (type === 'none' || type === 'token') return { type };
  const id = clientId.trim() || null;
  const settings = { scope: scope.trim() || null, client_id: id };
  if (type === 'client_credentials' && credential === 'private_key') {
    return { type, ...settings, private_key: privateKey.trim() || (hasPrivateKey ? MASK : null) };
  }
  const stored = hasClientSecret && id !== null ? MASK : null;
  const client = { ...settings, client_secret: clientSecret || stored };
  return type === 'oauth' ? { type, account, ...client } : { type, ...client };
}

/** The properties of a STDIO connection that the form sets. */
export function programDataOf({ command, args, env, cwd }: ProgramDraft): Partial<CreateData> {
  return {
    stdio: {
      command: command.trim(),
      args: args.split('\n').filter((argument) => argument !== ''),
      env: recordOf(env),
      cwd: cwd.trim() || null,
    },
  };
}

function pairsOf(record: Readonly<Record<string, string>> = {}): readonly Pair[] {
  return Object.entries(record).map(([name, value]) => ({ name, value }));
}

function recordOf(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(
    pairs.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]),
  );
}
