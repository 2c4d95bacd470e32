import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { DomainError } from '../../core/domain-error.js';
import type { InboundMessage } from './inbound-message.js';

/** The requests with the same meaning in both protocol eras. */
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

/** The capabilities of these requests. */
const TRANSLATABLE_CAPABILITIES = ['tools', 'resources', 'prompts', 'completions'] as const;

/** @throws DomainError `unknown_method` for a method that cannot be translated between the eras */
export function requireTranslatable({ method = '' }: Pick<InboundMessage, 'method'>): void {
  if (TRANSLATABLE.has(method)) return;
  throw new DomainError(
    'unknown_method',
    'This method is not available in this session, because its requests are sent in a shared upstream session.',
  );
}

/**
 * The capabilities that a client and an upstream of different eras can use. They declare no `listChanged`, because
 * there is no channel for such notifications.
 */
export function translatableCapabilities(capabilities: ServerCapabilities): ServerCapabilities {
  const offered = TRANSLATABLE_CAPABILITIES.filter((name) => capabilities[name] !== undefined);
  return Object.fromEntries(offered.map((name) => [name, {}]));
}

/** The changes that an upstream of the legacy era can report to a client of the modern one (`subscriptions/listen`). */
export function reportedChanges({ tools, prompts, resources }: ServerCapabilities): ServerCapabilities {
  const isReported = (list: { listChanged?: boolean | undefined }) =>
    list.listChanged === true && { listChanged: true };
  return {
    ...(tools && { tools: { ...isReported(tools) } }),
    ...(prompts && { prompts: { ...isReported(prompts) } }),
    ...(resources && {
      resources: { ...isReported(resources), ...(resources.subscribe === true && { subscribe: true }) },
    }),
  };
}
