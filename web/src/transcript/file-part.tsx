import { FileText } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useOrganization } from '../session/organization.js';
import { formatBytes } from '../ui/format.js';
import { type NamedFile, ownFileOf, useOwnFile } from './own-file.js';

/** The pictures that the service lets browsers show. Others, such as SVG, it only lets them save. */
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

/**
 * A file of a message or of the result of a tool: pictures, sound and videos are shown, and others are links. Whatever
 * a part says, nothing but files of the organization is loaded.
 */
export function FilePart({ file }: { readonly file: NamedFile }) {
  const { slug } = useOrganization();
  const own = ownFileOf(file.url, slug);
  if (own === undefined) return <Note file={file}>It is not a file of this organization, so it is not loaded.</Note>;
  const props = { file, id: own.id, signed: own.isSigned ? file.url : undefined };
  return kindOf(file.mediaType) === undefined ? (
    <LinkedFile key={own.id} {...props} />
  ) : (
    <ShownFile key={own.id} {...props} />
  );
}

interface OwnFileProps {
  readonly file: NamedFile;
  readonly id: string;
  /** The address of the part, if it is a signed one. */
  readonly signed: string | undefined;
}

function ShownFile({ file, id, signed }: OwnFileProps) {
  const [isPointedAt, setIsPointedAt] = useState(false);
  const { address, fault, isRenewed, renew } = useOwnFile(id, signed, { isRead: isPointedAt });
  // Stays as it is when the transcript is read again, which signs all addresses anew.
  const [shown, setShown] = useState(signed);
  const [isBroken, setIsBroken] = useState(false);
  if (shown === undefined && address !== undefined) setShown(address);
  if (isBroken) return <LinkedFile file={file} id={id} signed={signed} note="The browser cannot show it." />;
  if (shown === undefined) return <Note file={file}>{fault ?? 'Loading'}</Note>;
  const onError = (): void => {
    setShown(undefined);
    if (isRenewed) setIsBroken(true);
    else renew();
  };
  const name = nameOf(file);
  switch (kindOf(file.mediaType)) {
    case 'audio':
      return (
        <Figure name={name}>
          <audio controls preload="metadata" src={shown} aria-label={name} className="max-w-full" onError={onError} />
        </Figure>
      );
    case 'video':
      return (
        <Figure name={name}>
          <video
            controls
            preload="metadata"
            src={shown}
            aria-label={name}
            className="max-h-80 max-w-full rounded-md border bg-muted"
            onError={onError}
          />
        </Figure>
      );
    default:
      return (
        <Figure name={name}>
          <a
            href={address ?? shown}
            target="_blank"
            rel="noopener noreferrer"
            title="Open in full size"
            className="self-start rounded-md"
            // The link must still work when the picture was loaded long ago.
            onPointerEnter={() => setIsPointedAt(true)}
            onFocus={() => setIsPointedAt(true)}
          >
            <img
              src={shown}
              alt={name}
              loading="lazy"
              className="max-h-80 max-w-full rounded-md border bg-muted object-contain"
              onError={onError}
            />
          </a>
        </Figure>
      );
  }
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <figure className="flex min-w-0 flex-col gap-1">
      {children}
      <figcaption className="text-xs break-words text-muted-foreground">{name}</figcaption>
    </figure>
  );
}

function LinkedFile({ file, id, signed, note }: OwnFileProps & { readonly note?: string }) {
  const { address, size, fault } = useOwnFile(id, signed, { isRead: true });
  if (address === undefined) return <Note file={file}>{fault ?? 'Loading'}</Note>;
  return (
    <p className="flex min-w-0 flex-wrap items-center gap-x-2 text-sm">
      <FileText aria-hidden className="size-4 shrink-0 text-muted-foreground" />
      <a
        href={address}
        target="_blank"
        rel="noopener noreferrer"
        className="min-w-0 text-primary underline wrap-anywhere"
      >
        {nameOf(file)}
      </a>
      <span className="text-muted-foreground">
        {[file.filename !== undefined && file.mediaType, size !== undefined && formatBytes(size), note]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </p>
  );
}

/** A file that is not there to be opened. */
function Note({ file, children }: { readonly file: NamedFile; readonly children: ReactNode }) {
  return (
    <p className="text-sm break-words text-muted-foreground">
      <FileText aria-hidden className="mr-2 inline size-4" />
      {nameOf(file)}: {children}
    </p>
  );
}

function nameOf({ filename, mediaType }: NamedFile): string {
  return filename ?? mediaType;
}

/** How a browser shows files of a type; undefined for types that are links. */
function kindOf(mediaType: string): 'image' | 'audio' | 'video' | undefined {
  if (PICTURES.has(mediaType)) return 'image';
  return (['audio', 'video'] as const).find((kind) => mediaType.startsWith(`${kind}/`));
}
