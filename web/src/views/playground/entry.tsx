import { type ReactNode, useRef } from 'react';
import { useCallFacts } from '../../trace/use-call-facts.js';
import { CallFactsOfAnswer } from '../../transcript/call-facts.js';
import type { ChatMessage } from '../../transcript/message.js';
import { useSeen } from '../../ui/use-seen.js';

/** A message in a conversation. What its tool calls took is read when it comes into sight. */
export function Entry({ message, children }: { readonly message: ChatMessage; readonly children: ReactNode }) {
  const root = useRef<HTMLLIElement>(null);
  const facts = useCallFacts(message, useSeen(root));
  return (
    <li ref={root} className="min-w-0">
      <CallFactsOfAnswer value={facts}>{children}</CallFactsOfAnswer>
    </li>
  );
}
