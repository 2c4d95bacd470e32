/** Characters that a query may hold as they are, and that are read more easily so. */
const PLAIN: Readonly<Record<string, string>> = { '%3A': ':', '%2F': '/', '%2C': ',', '%40': '@' };

/** The filters of a view as words of its address: `?status=failed&q=late+order`, without quotes and JSON. */
export function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' || typeof value === 'number') words.append(name, String(value));
  }
  const text = words.toString().replaceAll(/%3A|%2F|%2C|%40/g, (code) => PLAIN[code] ?? code);
  return text === '' ? '' : `?${text}`;
}

/**
 * The words of an address; of a name that is there several times, the last. Addresses from before wrote the flag 1 as
 * `"1"`.
 */
export function readSearch(search: string): Record<string, string> {
  return Object.fromEntries(
    [...new URLSearchParams(search)].map(([name, text]) => [name, text === '"1"' ? '1' : text]),
  );
}
