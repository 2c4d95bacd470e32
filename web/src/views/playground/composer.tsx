import { SendHorizontal, SlidersHorizontal, Square } from 'lucide-react';
import { type FormEvent, type KeyboardEvent, type ReactNode, type Ref, useId, useState } from 'react';
import { Button } from '../../ui/button.js';
import { RunOptionFields, useRunOptions } from './run-options.js';

/** Where the next message is written. Enter sends it, Shift and Enter begin a new line. */
export function Composer({
  text,
  onText,
  onSend,
  onStop,
  isRunning,
  isStopping = false,
  disabledReason,
  inputRef,
  actions,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onSend: (text: string) => void;
  /** Cancels the run. Undefined while there is nothing to stop. */
  readonly onStop?: (() => void) | undefined;
  readonly isRunning: boolean;
  readonly isStopping?: boolean;
  /** Why nothing can be sent. */
  readonly disabledReason?: string | undefined;
  readonly inputRef?: Ref<HTMLTextAreaElement>;
  readonly actions?: ReactNode;
}) {
  const id = useId();
  const [showsOptions, setShowsOptions] = useState(false);
  const { tier, temperature } = useRunOptions();
  const chosen = [tier, temperature !== undefined && `temperature ${temperature}`].filter(Boolean).join(', ');
  const canSend = !isRunning && disabledReason === undefined && text.trim() !== '';
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    if (canSend) onSend(text);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // While a word is being composed (Japanese, for example), Enter belongs to the input method.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      onSubmit={submit}
      className="sticky bottom-0 z-5 -mx-1 flex flex-col gap-2 border-t bg-background px-1 pt-3 pb-4"
    >
      {showsOptions && <RunOptionFields />}
      <label htmlFor={id} className="sr-only">
        Message
      </label>
      <textarea
        id={id}
        ref={inputRef}
        rows={3}
        value={text}
        placeholder="Write a message"
        aria-describedby={`${id}-hint`}
        className="max-h-72 w-full resize-y rounded-md border border-input bg-card px-3 py-2 placeholder:text-muted-foreground"
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="flex flex-wrap items-center gap-2">
        <Button
          variant="ghost"
          size="small"
          aria-expanded={showsOptions}
          onClick={() => setShowsOptions(!showsOptions)}
        >
          <SlidersHorizontal aria-hidden className="size-3.5" />
          Options{chosen && `: ${chosen}`}
        </Button>
        {actions}
        <p id={`${id}-hint`} className="hidden text-xs text-muted-foreground md:block">
          {disabledReason ?? 'Enter sends, Shift+Enter begins a new line.'}
        </p>
        <div className="flex-1" />
        {isRunning && onStop && (
          <Button variant="secondary" isBusy={isStopping} onClick={onStop}>
            <Square aria-hidden className="size-3.5" />
            Stop
          </Button>
        )}
        <Button type="submit" disabled={!canSend}>
          <SendHorizontal aria-hidden className="size-4" />
          Send
        </Button>
      </div>
    </form>
  );
}
