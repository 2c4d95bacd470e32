/** What each audit event says, by its name in the API. */
const EVENT_WORDS: Readonly<Record<string, string>> = {
  'login.succeeded': 'Signed in',
  'login.failed': 'Sign-in failed',
  'password.changed': 'Password changed',
  'member.invited': 'Member invited',
  'member.joined': 'Member joined',
  'member.updated': 'Member changed',
  'member.removed': 'Member removed',
  'member.reset': 'Password reset link made',
  'role.created': 'Role created',
  'role.updated': 'Role changed',
  'role.deleted': 'Role deleted',
  'organization.updated': 'Settings of the organization changed',
  'key.created': 'API key created',
  'key.updated': 'API key changed',
  'key.deleted': 'API key deleted',
  'grant.created': 'OAuth sign-in of a program',
  'grant.revoked': 'OAuth sign-in ended',
  'client.created': 'OAuth client created',
  'client.deleted': 'OAuth client deleted',
  'connection.authorized': 'Connection logged in',
  'connection.deauthorized': 'Connection logged out',
  'provider.created': 'AI provider created',
  'provider.updated': 'AI provider changed',
  'provider.deleted': 'AI provider deleted',
  'provider.tiers_set': 'Model tiers changed',
  'approval.answered': 'Approval answered',
  'run.steered': 'Run steered',
  'records.exported': 'Records exported',
};

/** A name without words, of a later version of the service, stands for itself. */
export function eventInWords(event: string): string {
  return EVENT_WORDS[event] ?? event;
}

export const EVENT_OPTIONS = [
  { value: '', label: 'Any event' },
  ...Object.entries(EVENT_WORDS).map(([value, label]) => ({ value, label })),
];
