import { Streamdown } from 'streamdown';

/**
 * Markdown of models and tools, also while it streams. Streamdown sanitizes it: no HTML that runs or frames, no addresses but
 * http, https and mailto. Pictures of other sites do not load (Content-Security-Policy).
 */
export function Markdown({ text, isStreaming = false }: { readonly text: string; readonly isStreaming?: boolean }) {
  return (
    <Streamdown className="min-w-0 break-words" isAnimating={isStreaming} parseIncompleteMarkdown={isStreaming}>
      {text}
    </Streamdown>
  );
}
