import type { Connection } from './connection.js';

/** By connection object, which is cached for less than a second: the same object again keeps what is cached by it. */
const ofMembers = new WeakMap<Connection, Map<string, Connection>>();

/** True if each person uses an own account at the upstream. */
export function hasMemberAccounts({ oauth }: Pick<Connection, 'oauth'>): boolean {
  return oauth?.account === 'member';
}

/**
 * The connection as this person uses it: with the person's own account, if the connection has one for each member.
 * Everything that depends on the account (sessions with the upstream, tokens, lists of tools) is kept by the result. An
 * agent is bound to the person too, because its connections can have accounts of members.
 */
export function connectionFor(connection: Connection, userId: string | null | undefined): Connection {
  if (userId == null || connection.accountUserId === userId) return connection;
  if (connection.type !== 'VIRTUAL' && !hasMemberAccounts(connection)) return connection;
  let bound = ofMembers.get(connection);
  if (bound === undefined) {
    bound = new Map();
    ofMembers.set(connection, bound);
  }
  let own = bound.get(userId);
  if (own === undefined) {
    own = { ...connection, accountUserId: userId };
    bound.set(userId, own);
  }
  return own;
}

/** The key of what is kept for the account that the connection uses. */
export function accountKey({ id, accountUserId }: Pick<Connection, 'id' | 'accountUserId'>): string {
  return accountUserId === undefined ? id : `${id}/${accountUserId}`;
}
