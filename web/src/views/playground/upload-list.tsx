import { Paperclip, X } from 'lucide-react';
import { StateBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { ErrorMessage } from '../../ui/states.js';
import { formatBytes } from '../../ui/format.js';
import type { Upload, Uploads } from './use-uploads.js';

/** The files of the message that is being written. */
export function UploadList({
  uploads,
  onRemoved,
}: {
  readonly uploads: Uploads;
  /** Called when a file was removed. The button with the focus is gone then. */
  readonly onRemoved: () => void;
}) {
  const { all, parts } = uploads;
  return (
    <>
      {all.length > 0 && (
        <ul aria-label="Files of the message" className="flex max-h-48 flex-wrap items-start gap-2 overflow-y-auto">
          {all.map((upload) => (
            <Chip
              key={upload.id}
              upload={upload}
              onRemove={() => {
                uploads.remove(upload.id);
                onRemoved();
              }}
            />
          ))}
        </ul>
      )}
      <p role="status" aria-live="polite" className="sr-only">
        {all.length > 0 && `${parts.length} of ${all.length} files uploaded.`}
      </p>
    </>
  );
}

function Chip({ upload, onRemove }: { readonly upload: Upload; readonly onRemove: () => void }) {
  const { name, size, part, error } = upload;
  return (
    <li className="flex max-w-full min-w-0 flex-col gap-1 rounded-md border bg-card py-1 pr-1 pl-2.5 text-sm">
      <div className="flex min-w-0 items-center gap-2">
        <Paperclip aria-hidden className="size-3.5 shrink-0 text-muted-foreground" />
        <span className="min-w-0 truncate" title={name}>
          {name}
        </span>
        <span className="text-xs whitespace-nowrap text-muted-foreground">{formatBytes(size)}</span>
        {error !== undefined ? (
          <StateBadge state="failed">not uploaded</StateBadge>
        ) : part === undefined ? (
          <StateBadge state="running">uploading</StateBadge>
        ) : (
          <StateBadge state="ready">uploaded</StateBadge>
        )}
        <Button
          variant="ghost"
          size="icon"
          className="size-7 shrink-0"
          aria-label={`Remove ${name}`}
          onClick={onRemove}
        >
          <X aria-hidden className="size-4" />
        </Button>
      </div>
      <ErrorMessage error={error} />
    </li>
  );
}
