import { parse } from 'content-disposition';

const MAX_LENGTH = 255;
/** Control characters, line breaks, and marks that change the direction in which a name is read. */
const UNSEEN = /[\p{C}\u2028\u2029]+/gu;

/** The name in a `Content-Disposition` header (RFC 6266), as `safeFilename` leaves it. */
export function filenameOf(header: string | undefined): string | null {
  return header === undefined ? null : safeFilename(parse(header).parameters['filename']);
}

/**
 * The last segment of a path, without characters that nobody sees; null if nothing is left. Names are for people only:
 * no file of the server has them.
 */
export function safeFilename(name: string | undefined): string | null {
  const last = (name ?? '').split(/[/\\]/).at(-1) as string;
  const visible = last.toWellFormed().replace(UNSEEN, ' ').trim();
  if (visible === '' || visible === '.' || visible === '..') return null;
  return shortened(visible);
}

/** Keeps the extension of a name that is too long. */
function shortened(name: string): string {
  if (name.length <= MAX_LENGTH) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : '';
  return (name.slice(0, MAX_LENGTH - extension.length) + extension).toWellFormed();
}
