/** What differs from the start of a form. The rest is not sent: somebody else may have changed it since. */
export function changesOf<Data extends object>(data: Data, start: Data): Partial<Data> {
  const isChanged = ([name, value]: [string, unknown]): boolean =>
    JSON.stringify(value) !== JSON.stringify(start[name as keyof Data]);
  return Object.fromEntries(Object.entries(data).filter(isChanged)) as Partial<Data>;
}
