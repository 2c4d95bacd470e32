const MAX_LENGTH = 255;
/** Control characters, line breaks, and marks that change the direction in which a name is read. */
const UNSEEN = /[\p{C}\u2028\u2029]+/gu;

/** The name in a `Content-Disposition` header (RFC 6266), as `safeFilename` leaves it. */
export async function filenameOf(header: string | undefined): Promise<string | null> {
  if (header === undefined) return null;
  const { parse } = await contentDisposition();
  return safeFilename(parse(header).parameters['filename']);
}

/** The header under which a browser shows a file (`inline`) or saves it. */
export async function dispositionOf(type: 'inline' | 'attachment', filename: string | null): Promise<string> {
  const { create } = await contentDisposition();
  return create(filename ?? undefined, { type });
}

/**
 * Loaded when it is needed: `@fastify/static` requires the same ES module, which Node.js refuses while an import of it
 * is in progress.
 */
function contentDisposition(): Promise<typeof import('content-disposition')> {
  return import('content-disposition');
}

/**
 * The last segment of a path, without invisible characters; null if nothing is left. Names are for people only:
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
