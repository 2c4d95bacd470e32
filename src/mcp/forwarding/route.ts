import type { Session } from './session/sealed-sessions.js';

/**
 * The way that a message takes to its upstream: in the caller's own session, opening one, in a session that is shared with
 * other callers who have none, or by itself, as all messages of the modern era go (MCP 2026-07-28).
 */
export type Route =
  | {
      readonly kind: 'session';
      readonly session: Session;
      /** Instead of the caller's own, for a session that was opened in the caller's name. */
      readonly headers?: Readonly<Record<string, string>>;
      /** What an event of the answer is to the caller; undefined for one that is none of the caller's. */
      readonly rewriteEvent?: (event: Buffer) => Buffer | undefined;
      /** Opens another session when the upstream has forgotten this one. */
      readonly renew?: () => Promise<Session>;
    }
  | { readonly kind: 'opening'; readonly key: string }
  | { readonly kind: 'shared' }
  | { readonly kind: 'stateless'; readonly headers?: Readonly<Record<string, string>> };
