import type { ListItem } from '../../../packages/client/src/api.js';
import { SignalboxError } from '../../../packages/client/src/signalbox-error.js';
import type { Organization } from '../session/organization.js';

/** A file that the service has stored. */
export type StoredFile = ListItem<'FILE_LIST'>;

const UNKNOWN_TYPE = 'application/octet-stream';

/** Stores a file, for a part of a message. Aborting the signal ends the request. @throws SignalboxError */
export async function uploadFile(
  { slug, fetch }: Pick<Organization, 'slug' | 'fetch'>,
  file: File,
  signal: AbortSignal,
): Promise<StoredFile> {
  const response = await fetch(`/api/${slug}/files`, {
    method: 'POST',
    headers: {
      'content-type': file.type || UNKNOWN_TYPE,
      'content-disposition': `attachment; filename*=UTF-8''${encodedName(file.name)}`,
    },
    body: file,
    signal,
  });
  if (!response.ok) throw await SignalboxError.of(response);
  return ((await response.json()) as { item: StoredFile }).item;
}

/** The extended value of a header parameter (RFC 8187), which allows fewer characters than a URI. */
function encodedName(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
