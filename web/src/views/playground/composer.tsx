import { SendHorizontal, Square } from 'lucide-react';
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, type ReactNode, type RefObject, useId } from 'react';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { cn } from '../../ui/class-names.js';
import { AddFilesButton } from './add-files.js';
import { ToolOptions } from './tool-options.js';
import { UploadList } from './upload-list.js';
import { useCallCompletion } from './use-call-completion.js';
import { useFileDrop } from './use-file-drop.js';
import type { Uploads } from './use-uploads.js';

const NO_TOOLS: readonly string[] = [];

const STEERING_HINT = 'The agent reads your message before its next step.';

/**
 * Where the next message is written. Enter sends it, Shift and Enter begin a new line. Files are chosen, pasted, or
 * dropped here.
 */
export function Composer({
  text,
  onText,
  uploads,
  onSend,
  onSteer,
  onStop,
  isRunning,
  isStopping = false,
  disabledReason,
  inputRef,
  callableTools = NO_TOOLS,
  actions,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly uploads: Uploads;
  readonly onSend: () => void;
  /** Adds the message to the run in progress. Undefined if messages wait for its end. */
  readonly onSteer?: ((interrupt: boolean) => void) | undefined;
  /** Cancels the run. Undefined while there is nothing to stop. */
  readonly onStop?: (() => void) | undefined;
  readonly isRunning: boolean;
  readonly isStopping?: boolean;
  /** Why nothing can be sent. */
  readonly disabledReason?: string | undefined;
  readonly inputRef: RefObject<HTMLTextAreaElement | null>;
  /** What the built-in model can be told to call. */
  readonly callableTools?: readonly string[];
  readonly actions?: ReactNode;
}) {
  const id = useId();
  const completion = useCallCompletion({ text, onText, names: callableTools, inputRef });
  const { may } = useOrganization();
  const mayUpload = may('FILE_CREATE');
  const drop = useFileDrop(mayUpload ? uploads.add : undefined);
  const reason = disabledReason ?? reasonOf(uploads);
  const says = reason ?? (isRunning && onSteer ? STEERING_HINT : undefined);
  const canSend =
    (!isRunning || onSteer !== undefined) && reason === undefined && (text.trim() !== '' || uploads.parts.length > 0);
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (!canSend) return;
    if (isRunning) onSteer?.(false);
    else onSend();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (completion.onKeyDown(event)) return;
    // While a word is being composed (Japanese, for example), Enter belongs to the input method.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onPaste = (event: ClipboardEvent): void => {
    const { files, types } = event.clipboardData;
    // Office programs add a picture of the text that was copied.
    const isText = types.includes('text/plain') && types.includes('text/html');
    if (!mayUpload || files.length === 0 || isText) return;
    event.preventDefault();
    uploads.add(files);
  };
  return (
    <form
      onSubmit={submit}
      {...drop.handlers}
      className={cn(
        'sticky bottom-0 z-5 -mx-1 flex flex-col gap-2 border-t bg-background px-1 pt-3 pb-4',
        drop.isOver && 'rounded-md outline-2 outline-ring outline-dashed',
      )}
    >
      <label htmlFor={id} className="sr-only">
        Message
      </label>
      <UploadList uploads={uploads} onRemoved={() => inputRef.current?.focus()} />
      <div className="relative flex">
        <textarea
          id={id}
          ref={inputRef}
          rows={3}
          value={text}
          placeholder={drop.isOver ? 'Drop the files here' : 'Write a message'}
          aria-describedby={`${id}-hint`}
          {...completion.field}
          className="max-h-72 w-full resize-y rounded-md border border-input bg-card px-3 py-2 placeholder:text-muted-foreground"
          onChange={(event) => {
            onText(event.target.value);
            completion.field.onSelect(event);
          }}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <ToolOptions completion={completion} />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {mayUpload && <AddFilesButton onFiles={uploads.add} />}
        {actions}
        {/* The hint about keys is not for phones, which have few of them. */}
        <p id={`${id}-hint`} className={cn('text-xs text-muted-foreground', says === undefined && 'hidden md:block')}>
          {says ?? 'Enter sends, Shift+Enter begins a new line.'}
        </p>
        <div className="ml-auto flex flex-wrap justify-end gap-2">
          {isRunning && onStop && (
            <Button variant="secondary" isBusy={isStopping} onClick={onStop}>
              <Square aria-hidden className="size-3.5" />
              Stop
            </Button>
          )}
          {isRunning && onSteer && (
            <Button type="button" variant="secondary" disabled={!canSend} onClick={() => onSteer(true)}>
              Interrupt and send
            </Button>
          )}
          <Button type="submit" disabled={!canSend}>
            <SendHorizontal aria-hidden className="size-4" />
            Send
          </Button>
        </div>
      </div>
    </form>
  );
}

/** Why a message with these files cannot be sent. */
function reasonOf({ all, areStored }: Uploads): string | undefined {
  if (areStored) return undefined;
  if (all.some(({ error }) => error !== undefined)) return 'Remove what was not uploaded, then send.';
  return 'The files are being uploaded.';
}
