/** A connection of an agent with the tools that the agent takes from it. */
interface NamedMember {
  readonly connectionId: string;
  readonly prefix: string;
  readonly tools: readonly string[];
}

/** Tools of several connections that have the same name, and so get the prefix of their connection. */
interface NameConflict {
  readonly name: string;
  readonly becomes: readonly string[];
}

/** The conflicts of an agent's tool names before it is saved; the service decides the names. */
export function nameConflicts(members: readonly NamedMember[]): readonly NameConflict[] {
  const prefixes = new Map<string, string[]>();
  for (const { prefix, tools } of members) {
    for (const name of tools) prefixes.set(name, [...(prefixes.get(name) ?? []), prefix]);
  }
  return [...prefixes]
    .filter(([, of]) => of.length > 1)
    .map(([name, of]) => ({ name, becomes: of.map((prefix) => `${prefix}_${name}`) }));
}

/** The prefix that a connection's title gives. */
export function prefixOf(title: string): string {
  const slug = title
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'connection' : slug.slice(0, 32);
}
