import { DomainError } from '../../core/domain-error.js';

/** As much of a file as its type is recognized by. */
export const SNIFFED_BYTES = 4100;
const UNKNOWN_TYPE = 'application/octet-stream';

/** What clients send when nobody has said what the file is. */
const UNDECLARED = new Set(['', UNKNOWN_TYPE, 'application/x-www-form-urlencoded', 'binary/octet-stream']);
/** Tab, line feed, form feed, carriage return and escape. */
const TEXT_CONTROLS = new Set([0x09, 0x0a, 0x0c, 0x0d, 0x1b]);
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
/** Forms of one container, which names of audio and video types do not tell apart. */
const OF_MEDIA = /^(?:audio|video)\/|^application\/ogg$/;
/** Containers of many formats: the beginning of a file does not always tell which one it is. */
const OPEN_CONTAINERS: Readonly<Record<string, RegExp>> = {
  'application/zip': /openxmlformats|opendocument|epub|\+zip$|java-archive|vnd\.android|x-zip-compressed/,
  'application/x-cfb': /msword|ms-excel|ms-powerpoint|ms-outlook|vnd\.visio|x-msi/,
  'application/xml': /^text\/xml$|\+xml$|^text\/html$|^text\/plain$/,
  'application/gzip': /^application\/x-(?:gzip|tgz|gtar)$/,
};
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'application/x-pdf': 'application/pdf',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/mp3': 'audio/mpeg',
  'audio/x-mp3': 'audio/mpeg',
  'audio/mpeg3': 'audio/mpeg',
};
/** Formats whose files are text as well. Those of all others only begin with letters that a text can begin with. */
const TEXT_FORMATS = /\bxml$|^application\/(?:pdf|rtf|postscript)$|^text\//;
/** What browsers take files of TypeScript for, by the ending of their names. */
const TYPESCRIPT = 'video/mp2t';
const TEXT =
  /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|javascript|sql|x-ndjson|jsonl|x-sh)$|\+(?:json|xml|yaml)$/;
/** What browsers can show without executing anything in it. */
const SHOWN = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/pdf)$/;

/**
 * The type of a file: what its first bytes show, and otherwise what the client declares. Text is what text it is
 * declared as, and plain text if nobody has declared it.
 * @param head the first `SNIFFED_BYTES` bytes, or all of a shorter file
 * @param declared a `Content-Type`, with or without parameters
 * @throws DomainError `file_type_mismatch` if the bytes contradict the declaration, `invalid_request` if that is no
 *   media type
 */
export async function mediaTypeOf(head: Buffer, declared: string): Promise<string> {
  // Loaded when it is needed: it takes longer than most of the service's other modules.
  const { fileTypeFromBuffer, supportedMimeTypes } = await import('file-type');
  const claimed = normalized(declared);
  const isUndeclared = UNDECLARED.has(claimed);
  if (!isUndeclared && !MEDIA_TYPE.test(claimed)) {
    throw new DomainError('invalid_request', 'The Content-Type must be a media type, such as image/png.');
  }
  const mime = (await fileTypeFromBuffer(head).catch(() => undefined))?.mime;
  const found = mime === undefined ? undefined : normalized(mime);
  if (looksLikeText(head)) {
    if (isText(claimed)) return claimed;
    if (claimed === TYPESCRIPT || (isUndeclared && !TEXT_FORMATS.test(found ?? ''))) return 'text/plain';
  }
  if (isUndeclared) return found ?? UNKNOWN_TYPE;
  if (found === undefined ? supportedMimeTypes.has(claimed) && !isText(claimed) : contradicts(found, claimed)) {
    const what = found === undefined ? 'its bytes are not of this type' : `its bytes are ${found}`;
    throw new DomainError('file_type_mismatch', `The file is declared as ${claimed}, but ${what}.`);
  }
  return claimed;
}

/** UTF-8 without control characters that no text has. The last character can be cut. */
function looksLikeText(head: Buffer): boolean {
  if (head.some((byte) => byte < 0x20 && !TEXT_CONTROLS.has(byte))) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function normalized(declared: string): string {
  const type = (declared.split(';')[0] as string).trim().toLowerCase();
  return ALIASES[type] ?? type;
}

function contradicts(found: string, claimed: string): boolean {
  if (found === claimed || (OF_MEDIA.test(found) && OF_MEDIA.test(claimed))) return false;
  return OPEN_CONTAINERS[found]?.test(claimed) !== true;
}

/** Whether models can get a file of this type as text. */
export function isText(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/** Whether browsers may show a file of this type in place of saving it. */
export function isShown(mediaType: string): boolean {
  return SHOWN.test(mediaType);
}
