/**
 * The words of a title in a-z and 0-9, joined by -. Empty if the title has none.
 * @param maxLength in characters
 */
export function titleSlug(title: string, maxLength: number): string {
  return title
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, maxLength)
    .replace(/-$/, '');
}
