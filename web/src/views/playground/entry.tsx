import { type ReactNode, useRef } from 'react';
import { useCallFacts } from '../../trace/use-call-facts.js';
import { CallFactsOfAnswer } from '../../transcript/call-facts.js';
import type { ChatMessage } from '../../transcript/message.js';
import { Button } from '../../ui/button.js';
import { useSeen } from '../../ui/use-seen.js';

/** A message in a conversation. What its tool calls took is read when it comes into sight. */
export function Entry({ message, children }: { readonly message: ChatMessage; readonly children: ReactNode }) {
  const root = useRef<HTMLLIElement>(null);
  const { facts, isError, isReading, retry } = useCallFacts(message, useSeen(root));
  return (
    <li ref={root} className="min-w-0">
      <CallFactsOfAnswer value={facts}>{children}</CallFactsOfAnswer>
      {isError && (
        <p role="status" className="flex flex-wrap items-center gap-2 pt-1 text-xs text-muted-foreground">
          What the tool calls took could not be read.
          <Button variant="ghost" size="small" isBusy={isReading} onClick={retry}>
            Read it again
          </Button>
        </p>
      )}
    </li>
  );
}
