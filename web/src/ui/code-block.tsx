import { cn } from './class-names.js';
import { CopyButton } from './copy-button.js';

/** Text as it is, with a button that copies it. Long lines scroll within the block. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div className={cn('flex min-w-0 gap-2 max-sm:flex-col', text.includes('\n') ? 'items-start' : 'sm:items-center')}>
      {/* Reachable by keyboard, since it can scroll. */}
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-96 w-full min-w-0 flex-1 overflow-auto rounded-md border bg-muted p-3 font-mono text-[0.8125rem] whitespace-pre"
      >
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}

/** A JSON value, indented. */
export function JsonBlock({ value, label }: { readonly value: unknown; readonly label: string }) {
  return <CodeBlock label={label} text={JSON.stringify(value, null, 2) ?? 'null'} />;
}
