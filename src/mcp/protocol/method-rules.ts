import { DomainError } from '../../common/domain-error.js';
import type { InboundMessage } from './inbound-message.js';
import { credentialMissing, type ProxyCaller } from './proxy-caller.js';

/** Whoever may use the connection at all may send these. `tools/call` is judged by tool, `tools/list` is filtered. */
const OPEN_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'logging/setLevel',
  'subscriptions/listen',
]);
/** Beyond tools the connection's `*` or this word in its list is needed. */
const GRANTS: readonly (readonly [prefix: string, grant: string])[] = [
  ['resources/', 'resources'],
  ['prompts/', 'prompts'],
];
const LEGACY_TASK_RESULT = 'tasks/result';
/** They change or read the state of a session, which callers without one would share. */
const NEED_SESSION = ['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tasks/'];

/**
 * May the caller send this message to the connection? Tool calls are let through: they are judged where the tool is known.
 * @throws DomainError `permission_denied`, `credential_missing`, `unknown_method`
 */
export function requireMethod({ method = '', params }: InboundMessage, caller: ProxyCaller): void {
  if (method === '' || method.startsWith('notifications/')) return;
  if (caller.holdsAll) return;
  const grant = grantFor(method, params);
  if (grant !== undefined) {
    if (!caller.mayCall(grant)) throw denied(caller, `This needs the permission "${grant}" on the connection.`);
    return;
  }
  if (method === 'subscriptions/listen') requireGrant(caller);
  if (OPEN_METHODS.has(method)) return;
  // Only on tasks of the caller's own, which is judged where they are known (`tasks/`).
  if (method.startsWith('tasks/') && caller.principal !== undefined) return;
  throw new DomainError(
    'unknown_method',
    'The method is not known to this service; to send it all the same, hold "*".',
  );
}

/**
 * Listening holds a socket to the upstream for as long as the caller likes, so it takes a grant of any kind: a public tool is none.
 * @throws DomainError `permission_denied`, `credential_missing`
 */
export function requireGrant(caller: ProxyCaller): void {
  if (!caller.holdsAny) throw denied(caller, 'Listening needs a permission on the connection.');
}

/** @throws DomainError `invalid_rpc_request` for what makes no sense outside a session */
export function requireSessionless({ kind, method = '' }: InboundMessage): void {
  const needsSession = kind === 'answer' || NEED_SESSION.some((prefix) => method.startsWith(prefix));
  if (needsSession) throw new DomainError('invalid_rpc_request', 'This needs a session: send `initialize` first.');
}

/**
 * The modern revision reads the result of a task with `tasks/get` (SEP-2663).
 * @throws DomainError `unknown_method`
 */
export function refuseLegacyTaskMethod({ method }: InboundMessage): void {
  if (method !== LEGACY_TASK_RESULT) return;
  throw new DomainError('unknown_method', 'This revision of the protocol has no such method.');
}

function grantFor(method: string, params: InboundMessage['params']): string | undefined {
  if (method === 'completion/complete') return isPromptRef(params['ref']) ? 'prompts' : 'resources';
  if (method === 'subscriptions/listen' && 'resourceSubscriptions' in notificationsOf(params)) return 'resources';
  return GRANTS.find(([prefix]) => method.startsWith(prefix))?.[1];
}

function isPromptRef(ref: unknown): boolean {
  return typeof ref === 'object' && ref !== null && 'type' in ref && ref.type === 'ref/prompt';
}

function notificationsOf(params: InboundMessage['params']): object {
  const { notifications } = params;
  return typeof notifications === 'object' && notifications !== null ? notifications : {};
}

function denied({ principal }: ProxyCaller, detail: string): DomainError {
  return principal === undefined ? credentialMissing() : new DomainError('permission_denied', detail);
}
