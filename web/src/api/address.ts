/** The search parameters of an address. */
export type Search = Readonly<Record<string, string | undefined>>;

/** Addresses carry only the filters that are set. */
export function withoutEmpty(search: Search): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined && value !== ''));
}
