import type { Session } from '../session/sealed-sessions.service.js';

/**
 * The way that a message takes to its upstream: in the caller's own session, opening one, in a session that is shared with
 * other callers who have none, or by itself, as all messages of the modern era go (MCP 2026-07-28).
 */
export type Route =
  | { readonly kind: 'session'; readonly session: Session }
  | { readonly kind: 'opening'; readonly key: string }
  | { readonly kind: 'shared' }
  | { readonly kind: 'stateless' };
