import { visibleJson } from '../../../packages/client/src/visible-json.js';
import { CopyButton } from '../ui/copy-button.js';
import { formatNumber } from '../ui/format.js';

/**
 * The arguments of a tool call, for somebody who decides about it: every character is visible, lines are broken so that
 * nothing is beside the box, and the length says how much there is to scroll.
 */
export function ToolArguments({ input, toolName }: { readonly input: unknown; readonly toolName: string }) {
  const text = visibleJson(input, 2);
  const hasEscapes = text !== JSON.stringify(input, null, 2);
  const lines = text.split('\n').length;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <p className="text-muted-foreground">
        Arguments ({formatNumber(text.length)} characters in {formatNumber(lines)} {lines === 1 ? 'line' : 'lines'})
      </p>
      {hasEscapes && (
        <p className="text-warning">
          They contain invisible characters or marks that change the direction of text, shown as <code>\u…</code>.
        </p>
      )}
      <div className="flex min-w-0 items-start gap-2">
        {/* Reachable by keyboard, since it can scroll. */}
        <pre
          tabIndex={0}
          role="region"
          aria-label={`Arguments of ${toolName}`}
          dir="ltr"
          className="max-h-96 min-w-0 flex-1 overflow-y-auto rounded-md border bg-muted p-3 font-mono text-[0.8125rem] wrap-anywhere whitespace-pre-wrap"
        >
          {text}
        </pre>
        <CopyButton text={text} />
      </div>
    </div>
  );
}
