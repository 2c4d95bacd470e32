import type { IncomingMessage } from 'node:http';
import type { Provider, Session } from 'oidc-provider';
import type { SignedInUser } from '../browser-sessions/browser-session.repository.js';

/** Finds the person who is signed in with the browser that sent a request. */
type UserOf = (request: IncomingMessage) => Promise<SignedInUser | undefined>;

/**
 * Makes the library's session a view of the browser session of the service: no record and no cookie of its own. The
 * library replaces the cookie with every authorization, so that of several clients that sign in at the same time only
 * the last would get its code. The session is identified by the person: an authorization request continues after the
 * person has signed in again.
 */
export function useBrowserSessions(provider: Provider, userOf: UserOf): void {
  const { Session: Model } = provider;
  Model.get = async (ctx) => {
    const user = await userOf(ctx.req);
    const session = user === undefined ? new Model() : sessionOf(Model, user.id, user.signedInAt);
    // The library neither stores a destroyed session nor sends a cookie for it.
    Object.defineProperty(session, 'destroyed', { value: true });
    (ctx as typeof ctx & { oidc: { entity(name: string, value: Session): void } }).oidc.entity('Session', session);
    return session;
  };
  Model.findByUid = async (userId) => sessionOf(Model, userId);
  // Only the sign-in of the service signs in: the result of an interaction cannot.
  Object.defineProperty(Model.prototype, 'loginAccount', { value: () => undefined });
}

function sessionOf(Model: typeof Session, userId: string, signedInAt?: Date): Session {
  const loginTs = signedInAt && { loginTs: Math.floor(signedInAt.getTime() / 1000) };
  return Object.assign(new Model(), { uid: userId, accountId: userId, ...loginTs });
}
