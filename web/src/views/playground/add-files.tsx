import { Paperclip } from 'lucide-react';
import { type ChangeEvent, useRef } from 'react';
import { Button } from '../../ui/button.js';

/** A button with which files are chosen. */
export function AddFilesButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const choose = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    onFiles([...(target.files ?? [])]);
    // Otherwise the same file could not be chosen again.
    target.value = '';
  };
  return (
    <>
      <Button variant="ghost" size="small" onClick={() => input.current?.click()}>
        <Paperclip aria-hidden className="size-3.5" />
        <span className="max-sm:sr-only">Add files</span>
      </Button>
      <input ref={input} type="file" multiple hidden aria-label="Files" onChange={choose} />
    </>
  );
}
