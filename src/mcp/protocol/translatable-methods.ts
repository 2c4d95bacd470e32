import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { DomainError } from '../../common/domain-error.js';
import type { InboundMessage } from './inbound-message.js';

/** The requests that mean the same in both protocol eras. */
const TRANSLATABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]);

/** The capabilities that stand for them. */
const TRANSLATABLE_CAPABILITIES = ['tools', 'resources', 'prompts', 'completions'] as const;

/** @throws DomainError `unknown_method` for what does not go from one era to the other */
export function requireTranslatable({ method = '' }: Pick<InboundMessage, 'method'>): void {
  if (TRANSLATABLE.has(method)) return;
  throw new DomainError(
    'unknown_method',
    'This session does not have the method: its requests go to an upstream session that is shared.',
  );
}

/** What a client and an upstream of different eras can do together. No list is announced to change: there is no way to say so. */
export function translatableCapabilities(capabilities: ServerCapabilities): ServerCapabilities {
  const offered = TRANSLATABLE_CAPABILITIES.filter((name) => capabilities[name] !== undefined);
  return Object.fromEntries(offered.map((name) => [name, {}]));
}
